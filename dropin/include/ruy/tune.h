// Drop-in for ruy: Tuning, a choice among loops of Arm kernels.
#ifndef RUY_LIKE_DROPIN_RUY_TUNE_H_
#define RUY_LIKE_DROPIN_RUY_TUNE_H_

#include "ruy/cpuinfo.h"
#include "ruy/dropin_visibility.h"

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

// From a Tuning that may be kAuto to one that is not. For one thread at a time.
class RUY_LIKE_DROPIN_EXPORT TuningResolver final {
 public:
  TuningResolver();
  RUY_LIKE_LOCAL ~TuningResolver() = default;
  TuningResolver(const TuningResolver&) = delete;
  TuningResolver& operator=(const TuningResolver&) = delete;

  // kAuto at first.
  void SetTuning(Tuning tuning);

  // The tuning that was set; for kAuto, the one for the core that this thread
  // runs on.
  Tuning Resolve(CpuInfo* cpuinfo);

 private:
  Tuning tuning_ = Tuning::kAuto;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_TUNE_H_
