// Drop-in for ruy: PerformanceAdvisory, hints of Context::performance_advisory.
#ifndef RUY_LIKE_DROPIN_RUY_PERFORMANCE_ADVISORY_H_
#define RUY_LIKE_DROPIN_RUY_PERFORMANCE_ADVISORY_H_

#include "ruy/dropin_visibility.h"

namespace ruy {

enum class PerformanceAdvisory {
  kNone = 0,
  // That per-channel arrays had to be copied; ruy_like never does that.
  kReallocatedPerChannelBuffer = 1,
};

RUY_LIKE_LOCAL constexpr PerformanceAdvisory operator|(PerformanceAdvisory a,
                                                       PerformanceAdvisory b) {
  return static_cast<PerformanceAdvisory>(static_cast<int>(a) |
                                          static_cast<int>(b));
}
RUY_LIKE_LOCAL constexpr PerformanceAdvisory operator&(PerformanceAdvisory a,
                                                       PerformanceAdvisory b) {
  return static_cast<PerformanceAdvisory>(static_cast<int>(a) &
                                          static_cast<int>(b));
}

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_PERFORMANCE_ADVISORY_H_
