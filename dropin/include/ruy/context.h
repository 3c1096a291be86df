// Drop-in for ruy: Context, what calls of Mul share.
#ifndef RUY_LIKE_DROPIN_RUY_CONTEXT_H_
#define RUY_LIKE_DROPIN_RUY_CONTEXT_H_

#include <memory>

#include "ruy/dropin_visibility.h"
#include "ruy/path.h"
#include "ruy/performance_advisory.h"
#include "ruy/strategy_controls.h"
#include "ruy/tune.h"

namespace ruy {

class Ctx;
class ThreadPool;

// Not for use by several threads at once, as in ruy.
class RUY_LIKE_DROPIN_EXPORT Context final {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The path that ruy would have taken for the last product: the best of those
  // enabled, whatever the types; kNone before the first.
  Path last_used_path() const;

  // kA55ish: kernels' loops for in-order cores, where they have some.
  Tuning explicit_tuning() const;
  void set_explicit_tuning(Tuning value);

  const ThreadPool& thread_pool() const;
  ThreadPool* mutable_thread_pool();

  // Threads that Mul may use, the caller included; 1 by default.
  int max_num_threads() const;
  void set_max_num_threads(int value);
  NumThreadsStrategy num_threads_strategy() const;
  void set_num_threads_strategy(NumThreadsStrategy value);

  // True if the last product had cause for such advice: never.
  bool performance_advisory(PerformanceAdvisory advisory) const;

  // To be called before the data of a cached operand changes or goes away.
  void ClearPrepackedCache();

  // The paths that Mul may use. kStandardCpp is always among them, those that
  // the machine lacks never; kNone means all again.
  Path get_runtime_enabled_paths();
  void set_runtime_enabled_paths(Path paths);

 private:
  friend RUY_LIKE_DROPIN_EXPORT const Ctx* get_ctx(const Context* context);
  friend RUY_LIKE_DROPIN_EXPORT Ctx* get_ctx(Context* context);

  const std::unique_ptr<Ctx> ctx_;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_CONTEXT_H_
