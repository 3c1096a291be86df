// Middle-end: what a Context holds between calls of Mul.
//
// Used by context.cc and tr_mul.cc; not public.
#ifndef RUY_LIKE_MIDDLE_CONTEXT_IMPL_H_
#define RUY_LIKE_MIDDLE_CONTEXT_IMPL_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/mutex.h"
#include "ruy_like/context.h"
#include "ruy_like/executor.h"
#include "ruy_like/middle/prepacked_cache.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/cpu_features.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/thread_pool.h"

namespace ruy_like {

struct ContextImpl {
  explicit ContextImpl(std::shared_ptr<ThreadPool> pool)
      : thread_pool(std::move(pool)) {}

  // Held for the length of a Mul: calls with one Context take turns.
  mutable Mutex mutex;

  // As set; 0 before. See MaxThreads.
  int max_num_threads ABSL_GUARDED_BY(mutex) = 0;
  // Where work runs instead of in the pool; null: in the pool.
  Executor* executor ABSL_GUARDED_BY(mutex) = nullptr;
  NumThreadsStrategy num_threads_strategy ABSL_GUARDED_BY(mutex) =
      NumThreadsStrategy::kDefault;
  // Already intersected with what the machine has.
  Path permitted_paths ABSL_GUARDED_BY(mutex) = DetectedPaths();
  PrepackedCache prepacked_cache ABSL_GUARDED_BY(mutex);
  // Scratch of one product; reused, so that the steady state allocates nothing.
  ScratchArena arena ABSL_GUARDED_BY(mutex);

  // The last selection of a kernel: loops repeat one shape, and looking through
  // the tables takes as long as a tenth of a small product.
  KernelQuery last_query ABSL_GUARDED_BY(mutex) = {};
  Path last_permitted_paths ABSL_GUARDED_BY(mutex) = Path::kNone;
  KernelChoice last_choice ABSL_GUARDED_BY(mutex) = {};

  Path last_path ABSL_GUARDED_BY(mutex) = Path::kNone;
  const char* last_kernel ABSL_GUARDED_BY(mutex) = "";
  int last_num_threads ABSL_GUARDED_BY(mutex) = 0;

  // Serialises its own callers. May be other Contexts' too. Never null.
  const std::shared_ptr<ThreadPool> thread_pool;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_MIDDLE_CONTEXT_IMPL_H_
