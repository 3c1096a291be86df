// Drop-in for ruy: Ctx, what is inside of a Context. Got from get_ctx().
//
// Holds the ruy_like::Context that does the work, and the little that ruy
// keeps and ruy_like does not.
#ifndef RUY_LIKE_DROPIN_RUY_CTX_H_
#define RUY_LIKE_DROPIN_RUY_CTX_H_

#include "ruy/path.h"
#include "ruy/performance_advisory.h"
#include "ruy/prepacked_cache.h"
#include "ruy/strategy_controls.h"
#include "ruy/thread_pool.h"
#include "ruy/tune.h"
#include "ruy_like/context.h"

namespace ruy {

class Ctx final {
 public:
  Ctx();
  Ctx(const Ctx&) = delete;
  Ctx& operator=(const Ctx&) = delete;

  Path last_used_path() const;
  Tuning explicit_tuning() const { return explicit_tuning_; }
  void set_explicit_tuning(Tuning value) { explicit_tuning_ = value; }
  const ThreadPool& thread_pool() const { return thread_pool_; }
  ThreadPool* mutable_thread_pool() { return &thread_pool_; }
  int max_num_threads() const { return context_.max_num_threads(); }
  void set_max_num_threads(int value) { context_.set_max_num_threads(value); }
  NumThreadsStrategy num_threads_strategy() const;
  void set_num_threads_strategy(NumThreadsStrategy value);
  // No product gives cause for one.
  bool performance_advisory(PerformanceAdvisory) const { return false; }
  PrepackedCache* GetPrepackedCache() { return &prepacked_cache_; }
  void ClearPrepackedCache() { context_.ClearPrepackedCache(); }

  // The paths that Mul may use: those set here, else those of the environment
  // variable RUY_PATHS (hexadecimal bits), else all; of these, what is there.
  // Without a set, RUY_PATHS is read at the first use.
  Path GetRuntimeEnabledPaths();
  // kNone: as if nothing had been set.
  void SetRuntimeEnabledPaths(Path paths);

  // Not in ruy: the context that does the work, for what ruy has no name for.
  ruy_like::Context* ruy_like_context() { return &context_; }

  // For Mul: that context, made ready for a product that may use only those of
  // the enabled paths that are in `compiled_paths`.
  ruy_like::Context* ContextForPaths(Path compiled_paths);

 private:
  ruy_like::Context context_;
  ThreadPool thread_pool_;
  PrepackedCache prepacked_cache_;
  Tuning explicit_tuning_ = Tuning::kAuto;
  const Path detected_paths_;
  Path enabled_paths_ = Path::kNone;    // kNone: not yet decided
  Path permitted_paths_ = Path::kNone;  // what context_ was last told
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_CTX_H_
