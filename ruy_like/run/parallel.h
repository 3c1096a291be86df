// Run: the threads of a Context, be they its pool's or an Executor's.
//
// Used by products, batches and packing. Does not decide how many
// threads pay off.
#ifndef RUY_LIKE_RUN_PARALLEL_H_
#define RUY_LIKE_RUN_PARALLEL_H_

#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/base/mutex.h"
#include "ruy_like/plan/context_impl.h"

namespace ruy_like {

// Threads that the host has permitted, at least 1.
int PermittedThreads(const ContextImpl& context);
// Threads that one call may use, at least 1: of a pool, by the default
// strategy, no more than processors. `call_limit` is the call's own limit, 0
// for none.
int MaxThreads(const ContextImpl& context, int call_limit);

// Calls function(argument, i) for i = 0, ..., count - 1, exactly once each, on
// at most MaxThreads(*context, 0) threads, and returns when all calls have.
// Calls may run one after the other, so none may wait for one that has not
// begun. This holds whatever an Executor does: calls that it drops, or does not
// reach because of an exception, run on this thread. Sets *threads to the
// number of threads.
//
// A call that throws does not keep the others from running; the first exception
// is then the result, ResourceExhausted for std::bad_alloc, else Internal.
// Throws std::bad_alloc only for more than 64 threads, and before any call.
absl::Status RunParallel(int count, void (*function)(void* argument, int i),
                         void* argument, ContextImpl* context, int* threads)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
// The same with function(i); `threads` may be null.
template <typename Function>
absl::Status RunParallel(int count, const Function& function,
                         ContextImpl* context, int* threads = nullptr)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  const auto call = [](void* argument, int i) {
    (*static_cast<const Function*>(argument))(i);
  };
  int ignored;
  return RunParallel(count, call, const_cast<Function*>(&function), context,
                     threads == nullptr ? &ignored : threads);
}

// Locks the Context for a call. False, with nothing locked, if waiting could
// deadlock, since this thread runs a task that the call which holds the Context
// may wait for. The error is then DeadlockError().
[[nodiscard]] bool LockForCall(ContextImpl* context)
    ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true, context->mutex);
absl::Status DeadlockError();
// Locks it for the rest of the scope, or ends the function with that error.
#define RUY_LIKE_LOCK_FOR_CALL(context)              \
  if (!LockForCall(context)) return DeadlockError(); \
  MutexLock lock(&(context)->mutex, std::adopt_lock)

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_PARALLEL_H_
