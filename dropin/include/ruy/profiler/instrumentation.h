// Drop-in for ruy: ScopeLabel, which names a scope for a ScopeProfile.
//
// As in ruy, with RUY_PROFILER defined; else a label is nothing at run time.
#ifndef RUY_LIKE_DROPIN_RUY_PROFILER_INSTRUMENTATION_H_
#define RUY_LIKE_DROPIN_RUY_PROFILER_INSTRUMENTATION_H_

#include <atomic>

#include "ruy/dropin_visibility.h"

namespace ruy::profiler {

namespace detail {
// Set while there is a ScopeProfile.
RUY_LIKE_DROPIN_EXPORT extern std::atomic<bool> is_profiling;
RUY_LIKE_DROPIN_EXPORT void BeginLabel(const char* format, ...);
RUY_LIKE_DROPIN_EXPORT void EndLabel();
}  // namespace detail

#ifdef RUY_PROFILER
inline namespace with_profiler {

class ScopeLabel {
 public:
  // A printf format and what it formats, which happens while there is a
  // ScopeProfile.
  template <typename... Args>
  RUY_LIKE_LOCAL explicit ScopeLabel(const char* format, const Args&... args)
      : is_on_(detail::is_profiling.load(std::memory_order_relaxed)) {
    if (is_on_) detail::BeginLabel(format, args...);
  }
  RUY_LIKE_LOCAL ~ScopeLabel() {
    if (is_on_) detail::EndLabel();
  }
  ScopeLabel(const ScopeLabel&) = delete;
  ScopeLabel& operator=(const ScopeLabel&) = delete;

 private:
  const bool is_on_;
};

}  // namespace with_profiler
#else
inline namespace without_profiler {

class ScopeLabel {
 public:
  template <typename... Args>
  RUY_LIKE_LOCAL explicit ScopeLabel(const Args&...) {}
  // Not trivial, or compilers would call a label an unused variable.
  RUY_LIKE_LOCAL ~ScopeLabel() {}  // NOLINT(modernize-use-equals-default)
};

}  // namespace without_profiler
#endif

}  // namespace ruy::profiler

#endif  // RUY_LIKE_DROPIN_RUY_PROFILER_INSTRUMENTATION_H_
