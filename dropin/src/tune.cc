#include "ruy/tune.h"

namespace ruy {

TuningResolver::TuningResolver() = default;

void TuningResolver::SetTuning(Tuning tuning) { tuning_ = tuning; }

Tuning TuningResolver::Resolve(CpuInfo* cpuinfo) {
  if (tuning_ != Tuning::kAuto) return tuning_;
  if (cpuinfo->CurrentCpuIsA55ish()) return Tuning::kA55ish;
  return cpuinfo->CurrentCpuIsX1() ? Tuning::kX1 : Tuning::kGeneric;
}

}  // namespace ruy
