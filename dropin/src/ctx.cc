#include "ruy/ctx.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "ruy/check_macros.h"
#include "ruy_like/base/env.h"
#include "ruy_like/path.h"

namespace ruy {
namespace {

// ruy's paths of this processor's kind and what they stand for, oldest first.
// Whatever is added to ruy_like counts as newest, and so is in use by default.
struct Generation {
  Path ruy;
  ruy_like::Path ruy_like;
};
constexpr Generation kGenerations[] = {
#if RUY_PLATFORM_X86
    {Path::kAvx, ruy_like::Path::kAvx},
    {Path::kAvx2Fma, ruy_like::Path::kAvx2 | ruy_like::Path::kAvxVnni},
    {Path::kAvx512, ~(ruy_like::Path::kPortable | ruy_like::Path::kAvx |
                      ruy_like::Path::kAvx2 | ruy_like::Path::kAvxVnni)},
#elif RUY_PLATFORM_NEON_64
    {Path::kNeon, ruy_like::Path::kNeon},
    {Path::kNeonDotprod, ~(ruy_like::Path::kPortable | ruy_like::Path::kNeon)},
#else
    {kDefaultArchPaths, ~ruy_like::Path::kPortable},
#endif
};

ruy_like::Path ToRuyLike(Path paths) {
  ruy_like::Path result = ruy_like::Path::kPortable;
  for (const Generation& generation : kGenerations) {
    if (!Disjoint(paths, generation.ruy)) result |= generation.ruy_like;
  }
  return result;
}

// ruy's paths on this machine, where ruy_like may use `paths`.
Path FromRuyLike(ruy_like::Path paths) {
  Path result = kNonArchPathsIncludingInternalVariants;
  for (const Generation& generation : kGenerations) {
    if ((paths & generation.ruy_like) != ruy_like::Path::kNone) {
      result = result | generation.ruy;
    }
  }
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

// ruy promises no order, and one column takes a fraction of the time in any
// order; who wants the same bits for any batch says so.
ruy_like::FloatSums FloatSumsOfEnvironment() {
  const std::string value = ruy_like::GetEnv(ruy_like::EnvVar::kRuySums);
  if (value == "in_order") return ruy_like::FloatSums::kInOrder;
  if (value == "any_order") return ruy_like::FloatSums::kAnyOrder;
  if (!value.empty()) {
    std::fprintf(stderr,
                 "ruy_like: RUY_LIKE_RUY_SUMS: '%s' is neither in_order nor "
                 "any_order; passed over\n",
                 value.c_str());
  }
  return ruy_like::FloatSums::RUY_LIKE_DROPIN_SUMS;
}

}  // namespace

Ctx::Ctx()
    : thread_pool_(context_.mutable_thread_pool()),
      prepacked_cache_(&context_),
      detected_paths_(FromRuyLike(context_.runtime_enabled_paths())) {
  context_.set_prepacked_cache_limit_bytes(
      PrepackedCache::kDefaultMaxBuffersBytes);
  context_.set_float_sums(FloatSumsOfEnvironment());
}

Ctx::~Ctx() = default;

Path Ctx::last_used_path() const { return last_used_path_; }
Tuning Ctx::explicit_tuning() const { return explicit_tuning_; }
void Ctx::set_explicit_tuning(Tuning value) {
  explicit_tuning_ = value;
  context_.set_tuning(value == Tuning::kAuto ? ruy_like::Tuning::kAuto
                      : value == Tuning::kA55ish
                          ? ruy_like::Tuning::kInOrder
                          : ruy_like::Tuning::kOutOfOrder);
}
const ThreadPool& Ctx::thread_pool() const { return thread_pool_; }
ThreadPool* Ctx::mutable_thread_pool() { return &thread_pool_; }
int Ctx::max_num_threads() const { return context_.max_num_threads(); }
void Ctx::set_max_num_threads(int value) {
  context_.set_max_num_threads(value);
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

bool Ctx::performance_advisory(PerformanceAdvisory) const { return false; }
PrepackedCache* Ctx::GetPrepackedCache() { return &prepacked_cache_; }
void Ctx::ClearPrepackedCache() { context_.ClearPrepackedCache(); }
CpuInfo* Ctx::mutable_cpuinfo() { return &cpuinfo_; }

Path Ctx::GetRuntimeEnabledPaths() {
  if (enabled_paths_ == Path::kNone) {
    const Path asked_for = PathsOfEnvironment();
    const Path paths = asked_for & detected_paths_;
    if (asked_for == Path::kNone) {
      enabled_paths_ = detected_paths_;
    } else {
      enabled_paths_ = paths == Path::kNone ? kNonArchPaths : paths;
    }
  }
  return enabled_paths_;
}

void Ctx::SetRuntimeEnabledPaths(Path paths) {
  enabled_paths_ = paths == Path::kNone
                       ? Path::kNone
                       : (paths & detected_paths_) | kNonArchPaths;
}

Path Ctx::SelectPath(Path compiled_paths) {
  const Path paths = compiled_paths & GetRuntimeEnabledPaths();
  last_used_path_ =
      paths == Path::kNone ? kNonArchPaths : GetMostSignificantPath(paths);
  return last_used_path_;
}

void Ctx::EnsureThreadSpecificResources(int thread_count) {
  while (static_cast<int>(tuning_resolvers_.size()) < thread_count) {
    tuning_resolvers_.push_back(std::make_unique<TuningResolver>());
  }
}

TuningResolver* Ctx::GetThreadSpecificTuningResolver(int thread_index) const {
  RUY_DCHECK_LT(thread_index, tuning_resolvers_.size());
  return tuning_resolvers_[static_cast<std::size_t>(thread_index)].get();
}

Tuning Ctx::GetMainThreadTuning() {
  EnsureThreadSpecificResources(1);
  TuningResolver* const resolver = GetThreadSpecificTuningResolver(0);
  resolver->SetTuning(explicit_tuning_);
  return resolver->Resolve(&cpuinfo_);
}

ruy_like::Context* Ctx::ruy_like_context() { return &context_; }

ruy_like::Context* Ctx::ContextForPaths(Path compiled_paths) {
  SelectPath(compiled_paths);
  const Path paths =
      (compiled_paths & GetRuntimeEnabledPaths()) | kNonArchPaths;
  if (paths != permitted_paths_) {
    context_.set_runtime_enabled_paths(ToRuyLike(paths));
    permitted_paths_ = paths;
  }
  return &context_;
}

}  // namespace ruy
