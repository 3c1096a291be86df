#include "ruy_like/middle/parallel.h"

#include <algorithm>

#include "absl/container/fixed_array.h"

namespace ruy_like {
namespace {

// The Context whose call this thread has handed to an Executor: a host's pool
// may run other tasks of its own while it waits in ParallelFor.
thread_local const ContextImpl* in_executor_of = nullptr;

class CallTask final : public Task {
 public:
  CallTask() = default;
  CallTask(void (*function)(void*, int), void* argument, int index)
      : function_(function), argument_(argument), index_(index) {}
  void Run() override { function_(argument_, index_); }

 private:
  void (*function_)(void*, int) = nullptr;
  void* argument_ = nullptr;
  int index_ = 0;
};

}  // namespace

int MaxThreads(const ContextImpl& context, int call_limit) {
  int threads = context.max_num_threads;
  const Executor* const executor = context.executor;
  if (executor != nullptr) {
    const int available = std::max(executor->max_concurrency(), 1);
    threads = threads == 0 ? available : std::min(threads, available);
  } else {
    threads = std::max(threads, 1);
  }
  return call_limit == 0 ? threads : std::min(threads, call_limit);
}

void RunParallel(int count, void (*function)(void* argument, int i),
                 void* argument, ContextImpl* context) {
  if (count == 1) {
    function(argument, 0);
    return;
  }
  Executor* const executor = context->executor;
  if (executor != nullptr) {
    const ContextImpl* const outer = in_executor_of;
    in_executor_of = context;
    executor->ParallelFor(count, function, argument);
    in_executor_of = outer;
    // A host's pool that is being shut down may have dropped calls.
    function(argument, 0);
    return;
  }
  // Inline storage for 64: more threads than that pay for an allocation.
  absl::FixedArray<CallTask, 64> tasks(count);
  for (int i = 0; i < count; ++i) tasks[i] = CallTask(function, argument, i);
  context->thread_pool->Execute(count, tasks.data());
}

bool LockForCall(ContextImpl* context) {
  if (context->mutex.TryLock()) return true;
  if (in_executor_of == context || context->thread_pool->RunsThisThread()) {
    return false;
  }
  context->mutex.Lock();
  return true;
}

absl::Status DeadlockError() {
  return absl::FailedPreconditionError(
      "a task of a Context's own threads called Mul with that Context while "
      "another call used it, which could wait for ever: use another Context");
}

}  // namespace ruy_like
