// Tested in test/executor_test.cc.
#include "ruy_like/middle/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "absl/container/fixed_array.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/base/wait.h"

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

// The calls of an Executor. One that throws may leave some running, and others
// to begin any moment.
class ExecutorCalls final {
 public:
  ExecutorCalls(void (*function)(void*, int), void* argument)
      : function_(function), argument_(argument) {}

  // The order of the two sides' accesses is that of Dekker's algorithm, hence
  // sequentially consistent: either End() waits for this call or this call does
  // nothing.
  static void Run(void* calls, int i) {
    ExecutorCalls* const self = static_cast<ExecutorCalls*>(calls);
    self->running_.fetch_add(1);
    if (!self->ended_.load()) self->function_(self->argument_, i);
    self->running_.fetch_sub(1);
  }
  // Returns when none is running; those that begin later do nothing.
  void End() {
    ended_.store(true);
    SpinPacer pacer(std::chrono::hours(1));
    while (running_.load() != 0) pacer.Pause();
  }

 private:
  void (*const function_)(void*, int);
  void* const argument_;
  std::atomic<int> running_{0};
  std::atomic<bool> ended_{false};
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

int RunParallel(int count, void (*function)(void* argument, int i),
                void* argument, ContextImpl* context) {
  if (count == 1) {
    function(argument, 0);
    return 1;
  }
  Executor* const executor = context->executor;
  if (executor != nullptr) {
    ExecutorCalls calls(function, argument);
    const ContextImpl* const outer = in_executor_of;
    in_executor_of = context;
    try {
      executor->ParallelFor(count, &ExecutorCalls::Run, &calls);
    } catch (...) {
      // It must not; but a product can be finished all the same.
    }
    in_executor_of = outer;
    // A host's pool that is being shut down may have dropped calls. Not before
    // the others have ended: a call with i = 0 may be one of them.
    calls.End();
    function(argument, 0);
    return count;
  }
  // Inline storage for 64: more threads than that pay for an allocation.
  absl::FixedArray<CallTask, 64> tasks(count);
  for (int i = 0; i < count; ++i) tasks[i] = CallTask(function, argument, i);
  return context->thread_pool->Execute(count, tasks.data());
}

RUY_LIKE_HOT bool LockForCall(ContextImpl* context) {
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
      "another call used it, which could deadlock: use another Context");
}

}  // namespace ruy_like
