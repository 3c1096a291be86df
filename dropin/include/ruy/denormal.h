// Drop-in for ruy: ScopedSuppressDenormals.
#ifndef RUY_LIKE_DROPIN_RUY_DENORMAL_H_
#define RUY_LIKE_DROPIN_RUY_DENORMAL_H_

#include "ruy/dropin_visibility.h"
#include "ruy_like/base/float_state.h"

namespace ruy {

// While it lives, this thread's denormal operands and results count as zero.
class ScopedSuppressDenormals final {
 public:
  RUY_LIKE_LOCAL ScopedSuppressDenormals()
      : state_(ruy_like::FloatState::kOnlyFlushDenormals) {}
  // Declared, so that it is hidden, too.
  RUY_LIKE_LOCAL ~ScopedSuppressDenormals() = default;

 private:
  ruy_like::ScopedFloatState state_;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_DENORMAL_H_
