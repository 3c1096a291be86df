// Tested in test/executor_test.cc.
#include "ruy_like/run/parallel.h"

#include <algorithm>
#include <optional>

#include "absl/container/fixed_array.h"
#include "ruy_like/base/cpu_limits.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/base/parallel_calls.h"
#include "ruy_like/diagnostics/trace.h"

namespace ruy_like {
namespace {

// The Context whose calls this thread makes, or has an Executor make: a host's
// pool may run other tasks of its own while it waits in ParallelFor.
thread_local const ContextImpl* in_calls_of = nullptr;

class CallTask final : public Task {
 public:
  CallTask() = default;
  CallTask(ParallelCalls* calls, int index) : calls_(calls), index_(index) {}
  void Run() override {
    calls_->MakeOwn(index_);
    if (wait != nullptr) {
      wait->emplace(TraceSpan::kWait, "wait for threads", threads - 1);
    }
  }
  // For the caller's task: opened when it is done, with `threads` at work.
  std::optional<TraceSpan>* wait = nullptr;
  int threads = 0;

 private:
  ParallelCalls* calls_ = nullptr;
  int index_ = 0;
};

// On this thread and, if `threads` are more than one, the Executor's.
void RunWithoutPool(int threads, ParallelCalls* calls, ContextImpl* context) {
  const ContextImpl* const outer = in_calls_of;
  in_calls_of = context;
  if (threads > 1) {
    Executor* const executor = context->executor;
    context->executor_gate.Open(calls);
    try {
      executor->ParallelFor(threads, &ExecutorGate::Enter,
                            &context->executor_gate);
    } catch (...) {
      // It must not; but the calls can be made all the same.
    }
  }
  // A host's pool that is being shut down may have dropped its calls.
  calls->Draw();
  context->executor_gate.Close();
  in_calls_of = outer;
}

}  // namespace

int PermittedThreads(const ContextImpl& context) {
  const int threads = context.max_num_threads;
  const Executor* const executor = context.executor;
  if (executor == nullptr) return std::max(threads, 1);
  const int available = std::max(executor->max_concurrency(), 1);
  return threads == 0 ? available : std::min(threads, available);
}

int MaxThreads(const ContextImpl& context, int call_limit) {
  int threads = PermittedThreads(context);
  if (threads > 1 && context.executor == nullptr &&
      context.num_threads_strategy == NumThreadsStrategy::kDefault) {
    threads = std::min(threads, PermittedCpus());
  }
  return call_limit == 0 ? threads : std::min(threads, call_limit);
}

absl::Status RunParallel(int count, void (*function)(void* argument, int i),
                         void* argument, ContextImpl* context, int* threads) {
  *threads = count == 1 ? 1 : std::min(count, MaxThreads(*context, 0));
  if (*threads == 1 || context->executor != nullptr) {
    ParallelCalls calls(count, /*dealt=*/0, function, argument);
    RunWithoutPool(*threads, &calls, context);
    return calls.status();
  }
  ParallelCalls calls(count, /*dealt=*/*threads, function, argument);
  // Inline storage for 64: more threads than that pay for an allocation.
  absl::FixedArray<CallTask, 64> tasks(*threads);
  for (int i = 0; i < *threads; ++i) tasks[i] = CallTask(&calls, i);
  std::optional<TraceSpan> wait;
  tasks[0].wait = &wait;
  tasks[0].threads = *threads;
  *threads = context->thread_pool->Execute(*threads, tasks.data());
  return calls.status();
}

RUY_LIKE_HOT bool LockForCall(ContextImpl* context) {
  if (context->mutex.TryLock()) return true;
  if (in_calls_of == context || context->thread_pool->RunsThisThread()) {
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
