// Plan: what a Context holds between calls of Mul.
//
// Used by front/, run/ and plan/; not public.
#ifndef RUY_LIKE_PLAN_CONTEXT_IMPL_H_
#define RUY_LIKE_PLAN_CONTEXT_IMPL_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/mutex.h"
#include "ruy_like/base/parallel_calls.h"
#include "ruy_like/context.h"
#include "ruy_like/executor.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/machine/processor.h"
#include "ruy_like/packed/prepacked_cache.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/advisor.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/thread_pool.h"

namespace ruy_like {

class KeptCalls;  // front/kept_calls.h

// A value that is written under the Context's lock and read by any thread at
// any time, also by tasks of a product that holds the lock. Reads of two of
// them are not atomic together.
template <typename T>
class RelaxedAtomic final {
 public:
  explicit RelaxedAtomic(T value) : value_(value) {}
  // Reads as the value that it holds.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator T() const { return value_.load(std::memory_order_relaxed); }
  void operator=(T value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<T> value_;
};

struct ContextImpl {
  explicit ContextImpl(std::shared_ptr<ThreadPool> pool)
      : thread_pool(std::move(pool)) {}

  // For Context's last_used functions.
  void SetLastUsed(const KernelChoice& choice, int num_threads) {
    last_path = choice.path;
    last_kernel = choice.kernel->name;
    last_num_threads = num_threads;
  }

  // Held for the length of a Mul: calls with one Context take turns.
  Mutex mutex;

  // As set by the caller; 0 if not set. See MaxThreads().
  RelaxedAtomic<int> max_num_threads{0};
  // Where work runs instead of in the pool; null: in the pool.
  RelaxedAtomic<Executor*> executor{nullptr};
  ExecutorGate executor_gate;
  RelaxedAtomic<NumThreadsStrategy> num_threads_strategy{
      NumThreadsStrategy::kDefault};
  RelaxedAtomic<FloatSums> float_sums{FloatSums::kInOrder};
  RelaxedAtomic<Tuning> tuning{Tuning::kAuto};
  RelaxedAtomic<bool> in_order{IssuesInOrder()};  // as the tuning says
  // Already intersected with what the machine has. Loses a path when the
  // operating system refuses it to the first product that needs it.
  RelaxedAtomic<Path> permitted_paths{MachinePaths()};
  // Guarded by the mutex but for its bytes() and limit_bytes().
  PrepackedCache prepacked_cache;
  // Scratch of one product; reused, so that the steady state allocates nothing.
  ScratchArena arena ABSL_GUARDED_BY(mutex);
  // For one call of MulBatch or MulGroup: the front-end's description of its
  // products, and the products that run.
  ScratchArena calls_arena ABSL_GUARDED_BY(mutex);
  ScratchArena products_arena ABSL_GUARDED_BY(mutex);

  // For products on the Context's own threads.
  KeptPlans plans ABSL_GUARDED_BY(mutex);
  // Small products that have been called with; null before the first call.
  // Shared, so that their class need not be known here.
  std::shared_ptr<KeptCalls> kept_calls ABSL_GUARDED_BY(mutex);
  // For calls of MulGroup with more products than `plans` has places; or null.
  std::unique_ptr<KeptPlans> group_plans ABSL_GUARDED_BY(mutex);

  Advisor advisor;  // Note: under the mutex

  RelaxedAtomic<Path> last_path{Path::kNone};
  RelaxedAtomic<const char*> last_kernel{""};
  RelaxedAtomic<int> last_num_threads{0};

  // Serialises its callers. May be shared with other Contexts. Never null.
  const std::shared_ptr<ThreadPool> thread_pool;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_CONTEXT_IMPL_H_
