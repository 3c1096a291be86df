#include "ruy/ctx.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ruy_like/base/env.h"
#include "ruy_like/path.h"

namespace ruy {
namespace {

#if RUY_PLATFORM_X86
constexpr Path kOlderPaths = Path::kAvx2Fma;
constexpr Path kNewerPaths = Path::kAvx512;
constexpr ruy_like::Path kOlderRuyLikePaths =
    ruy_like::Path::kAvx2 | ruy_like::Path::kAvxVnni;
#else
// All that ruy_like has beyond its portable path.
constexpr Path kOlderPaths = Path::kNone;
constexpr Path kNewerPaths = kDefaultArchPaths;
constexpr ruy_like::Path kOlderRuyLikePaths = ruy_like::Path::kNone;
#endif

// Whatever is added to ruy_like counts as newer, and so is in use by default.
constexpr ruy_like::Path kNewerRuyLikePaths =
    ~(kOlderRuyLikePaths | ruy_like::Path::kPortable);

constexpr bool Intersect(ruy_like::Path a, ruy_like::Path b) {
  return (a & b) != ruy_like::Path::kNone;
}

ruy_like::Path ToRuyLike(Path paths) {
  ruy_like::Path result = ruy_like::Path::kPortable;
  if (!Disjoint(paths, kOlderPaths)) result |= kOlderRuyLikePaths;
  if (!Disjoint(paths, kNewerPaths)) result |= kNewerRuyLikePaths;
  return result;
}

Path FromRuyLike(ruy_like::Path paths) {
  Path result = Path::kNone;
  if (Intersect(paths, ruy_like::Path::kPortable)) {
    result = result | Path::kStandardCpp;
  }
  if (Intersect(paths, kOlderRuyLikePaths)) result = result | kOlderPaths;
  if (Intersect(paths, kNewerRuyLikePaths)) result = result | kNewerPaths;
  return result;
}

// The value of RUY_PATHS; kNone if it is not set or 0, or, with a warning, no
// number.
Path PathsOfEnvironment() {
  const std::string value = ruy_like::GetEnv(ruy_like::EnvVar::kRuyPaths);
  if (value.empty()) return Path::kNone;
  char* end = nullptr;
  errno = 0;
  const unsigned long bits = std::strtoul(value.c_str(), &end, 16);
  if (*end != '\0' || errno != 0 || bits > 0xff) {
    std::fprintf(stderr,
                 "ruy_like: RUY_PATHS: '%s' is no set of paths in hexadecimal; "
                 "passed over\n",
                 value.c_str());
    return Path::kNone;
  }
  return static_cast<Path>(bits);
}

}  // namespace

Ctx::Ctx()
    : thread_pool_(context_.mutable_thread_pool()),
      prepacked_cache_(&context_),
      detected_paths_(FromRuyLike(context_.runtime_enabled_paths()) |
                      kNonArchPathsIncludingInternalVariants) {
  context_.set_prepacked_cache_limit_bytes(
      PrepackedCache::kDefaultMaxBuffersBytes);
}

Path Ctx::last_used_path() const {
  return FromRuyLike(context_.last_used_path());
}

NumThreadsStrategy Ctx::num_threads_strategy() const {
  return context_.num_threads_strategy() ==
                 ruy_like::NumThreadsStrategy::kForceMaxNumThreads
             ? NumThreadsStrategy::kForceMaxNumThreads
             : NumThreadsStrategy::kDefault;
}

void Ctx::set_num_threads_strategy(NumThreadsStrategy value) {
  context_.set_num_threads_strategy(
      value == NumThreadsStrategy::kForceMaxNumThreads
          ? ruy_like::NumThreadsStrategy::kForceMaxNumThreads
          : ruy_like::NumThreadsStrategy::kDefault);
}

Path Ctx::GetRuntimeEnabledPaths() {
  if (enabled_paths_ == Path::kNone) {
    const Path paths = PathsOfEnvironment();
    enabled_paths_ = paths == Path::kNone
                         ? detected_paths_
                         : (paths & detected_paths_) | kNonArchPaths;
  }
  return enabled_paths_;
}

void Ctx::SetRuntimeEnabledPaths(Path paths) {
  enabled_paths_ = paths == Path::kNone
                       ? Path::kNone
                       : (paths & detected_paths_) | kNonArchPaths;
}

ruy_like::Context* Ctx::ContextForPaths(Path compiled_paths) {
  const Path paths =
      (compiled_paths & GetRuntimeEnabledPaths()) | kNonArchPaths;
  if (paths != permitted_paths_) {
    context_.set_runtime_enabled_paths(ToRuyLike(paths));
    permitted_paths_ = paths;
  }
  return &context_;
}

}  // namespace ruy
