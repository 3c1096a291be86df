// Drop-in for ruy: Tuning, a choice among variants of ruy's Arm kernels.
//
// Context keeps the value and nothing looks at it.
#ifndef RUY_LIKE_DROPIN_RUY_TUNE_H_
#define RUY_LIKE_DROPIN_RUY_TUNE_H_

namespace ruy {

enum class Tuning {
  kAuto,
  kGeneric,
  kA55ish,
  kX1,
  // As older versions call them.
  kOutOfOrder = kGeneric,
  kInOrder = kA55ish,
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_TUNE_H_
