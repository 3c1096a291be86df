// Drop-in for ruy: ScopeProfile, which would profile a scope. It does nothing:
// see instrumentation.h.
#ifndef RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_
#define RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_

#include "ruy/profiler/instrumentation.h"

namespace ruy {
namespace profiler {

class ScopeProfile {
 public:
  ScopeProfile() {}  // NOLINT(modernize-use-equals-default): as for ScopeLabel
  explicit ScopeProfile(bool /*enable*/) {}
};

}  // namespace profiler
}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_
