// Drop-in for ruy: Ctx, what is inside of a Context. Got from get_ctx().
//
// Holds the ruy_like::Context that does the work, and the little that ruy
// keeps and ruy_like does not.
#ifndef RUY_LIKE_DROPIN_RUY_CTX_H_
#define RUY_LIKE_DROPIN_RUY_CTX_H_

#include <memory>
#include <vector>

#include "ruy/cpuinfo.h"
#include "ruy/dropin_visibility.h"
#include "ruy/path.h"
#include "ruy/performance_advisory.h"
#include "ruy/prepacked_cache.h"
#include "ruy/strategy_controls.h"
#include "ruy/thread_pool.h"
#include "ruy/tune.h"
#include "ruy_like/context.h"

namespace ruy {

class RUY_LIKE_DROPIN_EXPORT Ctx final {
 public:
  Ctx();
  ~Ctx();
  Ctx(const Ctx&) = delete;
  Ctx& operator=(const Ctx&) = delete;

  // SelectPath's last result; kNone before the first.
  Path last_used_path() const;
  Tuning explicit_tuning() const;
  void set_explicit_tuning(Tuning value);
  const ThreadPool& thread_pool() const;
  ThreadPool* mutable_thread_pool();
  int max_num_threads() const;
  void set_max_num_threads(int value);
  NumThreadsStrategy num_threads_strategy() const;
  void set_num_threads_strategy(NumThreadsStrategy value);
  // No product gives cause for one: always false.
  bool performance_advisory(PerformanceAdvisory advisory) const;
  PrepackedCache* GetPrepackedCache();
  void ClearPrepackedCache();
  CpuInfo* mutable_cpuinfo();

  // The paths that Mul may use: those set here, else those of the environment
  // variable RUY_PATHS (hexadecimal bits), else all; of these, what is there.
  // Without a set, RUY_PATHS is read at the first use. The internal variants of
  // kStandardCpp are always there.
  Path GetRuntimeEnabledPaths();
  // kNone: as if nothing had been set.
  void SetRuntimeEnabledPaths(Path paths);
  // The best of these that is enabled, as ruy ranks them, whatever the types of
  // a product; kStandardCpp if there is none.
  Path SelectPath(Path compiled_paths);

  // Makes a TuningResolver for each of the threads 0 to thread_count - 1, which
  // stays until this is destroyed. The second function needs it to be there.
  void EnsureThreadSpecificResources(int thread_count);
  TuningResolver* GetThreadSpecificTuningResolver(int thread_index) const;
  // explicit_tuning(), resolved for the calling thread, the main one.
  Tuning GetMainThreadTuning();

  // Not in ruy: the context that does the work, for what ruy has no name for.
  ruy_like::Context* ruy_like_context();

  // For Mul: SelectPath, and that context, made ready for a product that may
  // use only those of the enabled paths that are in `compiled_paths`.
  ruy_like::Context* ContextForPaths(Path compiled_paths);

 private:
  ruy_like::Context context_;
  ThreadPool thread_pool_;
  PrepackedCache prepacked_cache_;
  CpuInfo cpuinfo_;
  std::vector<std::unique_ptr<TuningResolver>> tuning_resolvers_;
  Tuning explicit_tuning_ = Tuning::kAuto;
  const Path detected_paths_;
  Path enabled_paths_ = Path::kNone;    // kNone: not yet decided
  Path permitted_paths_ = Path::kNone;  // what context_ was last told
  Path last_used_path_ = Path::kNone;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_CTX_H_
