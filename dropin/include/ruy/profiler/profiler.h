// Drop-in for ruy: ScopeProfile, which would profile a scope. It does nothing:
// see instrumentation.h.
#ifndef RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_
#define RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_

#include "ruy/dropin_visibility.h"
#include "ruy/profiler/instrumentation.h"

namespace ruy::profiler {

class ScopeProfile {
 public:
  RUY_LIKE_LOCAL ScopeProfile() {
  }  // NOLINT(modernize-use-equals-default): as for ScopeLabel
  RUY_LIKE_LOCAL explicit ScopeProfile(bool /*enable*/) {}
};

}  // namespace ruy::profiler

#endif  // RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_
