// Drop-in for ruy: ScopeLabel, which names a scope for ruy's profiler.
//
// There is no such profiler here, with or without RUY_PROFILER: a label is
// nothing at run time.
#ifndef RUY_LIKE_DROPIN_RUY_PROFILER_INSTRUMENTATION_H_
#define RUY_LIKE_DROPIN_RUY_PROFILER_INSTRUMENTATION_H_

#include "ruy/dropin_visibility.h"

namespace ruy::profiler {

class ScopeLabel {
 public:
  // A printf format and what it formats.
  template <typename... Args>
  RUY_LIKE_LOCAL explicit ScopeLabel(const Args&...) {}
  // Not trivial, or compilers would call a label an unused variable.
  RUY_LIKE_LOCAL ~ScopeLabel() {}  // NOLINT(modernize-use-equals-default)
};

}  // namespace ruy::profiler

#endif  // RUY_LIKE_DROPIN_RUY_PROFILER_INSTRUMENTATION_H_
