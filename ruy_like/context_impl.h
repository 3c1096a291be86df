// Middle-end: what a Context holds between calls of Mul.
//
// Used by context.cc and tr_mul.cc; not public.
#ifndef RUY_LIKE_CONTEXT_IMPL_H_
#define RUY_LIKE_CONTEXT_IMPL_H_

#include <mutex>

#include "absl/base/thread_annotations.h"
#include "ruy_like/allocator.h"
#include "ruy_like/context.h"
#include "ruy_like/cpu_features.h"
#include "ruy_like/path.h"
#include "ruy_like/prepacked_cache.h"
#include "ruy_like/registry.h"
#include "ruy_like/thread_pool.h"

namespace ruy_like {

// std::mutex with the annotations that clang's thread-safety analysis reads.
// Not absl::Mutex, whose distribution builds may come with deadlock detection:
// 360 instructions for an uncontended lock and unlock, against 50.
class ABSL_LOCKABLE ContextMutex final {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE ContextLock final {
 public:
  explicit ContextLock(ContextMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  ~ContextLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  ContextLock(const ContextLock&) = delete;
  ContextLock& operator=(const ContextLock&) = delete;

 private:
  ContextMutex* mutex_;
};

struct ContextImpl {
  // Held for the length of a Mul: calls with one Context take turns.
  ContextMutex mutex;

  int max_num_threads ABSL_GUARDED_BY(mutex) = 1;
  NumThreadsStrategy num_threads_strategy ABSL_GUARDED_BY(mutex) =
      NumThreadsStrategy::kDefault;
  // Already intersected with what the machine has.
  Path permitted_paths ABSL_GUARDED_BY(mutex) = DetectedPaths();
  PrepackedCache prepacked_cache ABSL_GUARDED_BY(mutex);
  // Scratch of one product; reused, so that the steady state allocates nothing.
  ScratchArena arena ABSL_GUARDED_BY(mutex);

  Path last_path ABSL_GUARDED_BY(mutex) = Path::kNone;
  const char* last_kernel ABSL_GUARDED_BY(mutex) = "";
  int last_num_threads ABSL_GUARDED_BY(mutex) = 0;

  // Serialises its own callers.
  ThreadPool thread_pool;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_CONTEXT_IMPL_H_
