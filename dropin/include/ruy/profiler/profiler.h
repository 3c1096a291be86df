// Drop-in for ruy: ScopeProfile, which prints where a scope's time went.
//
// As in ruy, with RUY_PROFILER defined; else it does nothing. ruy's is a
// sampling profiler; this one takes the time at both ends of each ScopeLabel,
// and of each product, packing, kernel and wait of ruy_like.
#ifndef RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_
#define RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_

#include "ruy/dropin_visibility.h"
#include "ruy/profiler/instrumentation.h"

namespace ruy::profiler {

namespace detail {
RUY_LIKE_DROPIN_EXPORT void BeginProfile();
RUY_LIKE_DROPIN_EXPORT void EndProfile();
}  // namespace detail

#ifdef RUY_PROFILER
inline namespace with_profiler {

// One at a time. At its end it prints to stdout, for each thread that had
// labels, a tree of them with their times and counts.
class ScopeProfile {
 public:
  RUY_LIKE_LOCAL ScopeProfile() : ScopeProfile(true) {}
  RUY_LIKE_LOCAL explicit ScopeProfile(bool enable) : is_on_(enable) {
    if (is_on_) detail::BeginProfile();
  }
  RUY_LIKE_LOCAL ~ScopeProfile() {
    if (is_on_) detail::EndProfile();
  }
  ScopeProfile(const ScopeProfile&) = delete;
  ScopeProfile& operator=(const ScopeProfile&) = delete;

 private:
  const bool is_on_;
};

}  // namespace with_profiler
#else
inline namespace without_profiler {

class ScopeProfile {
 public:
  RUY_LIKE_LOCAL ScopeProfile() {
  }  // NOLINT(modernize-use-equals-default): as for ScopeLabel
  RUY_LIKE_LOCAL explicit ScopeProfile(bool /*enable*/) {}
};

}  // namespace without_profiler
#endif

}  // namespace ruy::profiler

#endif  // RUY_LIKE_DROPIN_RUY_PROFILER_PROFILER_H_
