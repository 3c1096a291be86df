// Test support: a product for several threads, and Executors of all sorts.
#ifndef RUY_LIKE_TEST_SUPPORT_EXECUTORS_H_
#define RUY_LIKE_TEST_SUPPORT_EXECUTORS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/executor.h"
#include "ruy_like/mul.h"
#include "ruy_like/thread_pool.h"
#include "test/support/on_threads.h"
#include "test/support/product.h"

namespace ruy_like {

// A product large enough for several threads.
struct ThreadedProduct : RawProduct {
  ThreadedProduct() : RawProduct(190, 130, 120, Order::kColMajor, -128, 127) {
    lhs.set_zero_point(5);
    expected_ = Expected();
  }

  void ExpectRight() { ExpectIs(expected_); }
  // Since the last ExpectRight.
  void ExpectUntouched() {
    EXPECT_EQ(dst_values, std::vector<std::int32_t>(dst_values.size(), 0));
  }
  void MulOn(Context* context, const MulOptions& options = {}) {
    EXPECT_OK(Run(context, options));
    ExpectRight();
  }

 private:
  std::vector<std::int32_t> expected_;
};

using Function = void (*)(void* argument, int i);

// Each test says what its ParallelFor does.
class TestExecutor final : public Executor {
 public:
  using ParallelForFn = std::function<void(int, Function, void*)>;

  TestExecutor(int concurrency, ParallelForFn parallel_for)
      : concurrency_(concurrency), parallel_for_(std::move(parallel_for)) {}

  int max_concurrency() const override { return concurrency_; }
  void ParallelFor(int count, Function function, void* argument) override {
    ++calls;
    last_count = count;
    parallel_for_(count, function, argument);
  }

  int calls = 0;
  int last_count = 0;

 private:
  const int concurrency_;
  const ParallelForFn parallel_for_;
};

inline void RunInOrder(int count, Function function, void* argument) {
  for (int i = 0; i < count; ++i) function(argument, i);
}
inline void RunBackwards(int count, Function function, void* argument) {
  for (int i = count - 1; i >= 0; --i) function(argument, i);
}
inline void RunOnThreads(int count, Function function, void* argument) {
  OnThreads(count, [=](int i) { function(argument, i); });
}
// Two threads, however many tasks.
inline void RunOnFewerThreads(int count, Function function, void* argument) {
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i; (i = next.fetch_add(1)) < count;) function(argument, i);
  };
  std::thread other(work);
  work();
  other.join();
}
// Against the contract, but no reason to hang or to leave holes.
inline void RunOnlyTheLast(int count, Function function, void* argument) {
  function(argument, count - 1);
}
inline void RunNone(int, Function, void*) {}
inline void RunTwice(int count, Function function, void* argument) {
  RunOnThreads(count, function, argument);
  RunBackwards(count, function, argument);
}
inline void RunOthers(int count, Function function, void* argument) {
  for (const int i : {-1, count, count + 1000}) function(argument, i);
}
inline void ThrowBefore(int, Function, void*) {
  throw std::runtime_error("before");
}
inline void ThrowInTheMiddle(int count, Function function, void* argument) {
  RunOnThreads(count / 2, function, argument);
  throw std::runtime_error("in the middle");
}
inline void ThrowAfter(int count, Function function, void* argument) {
  RunOnThreads(count, function, argument);
  throw std::runtime_error("after");
}
constexpr void (*kAllSorts[])(int, Function, void*) = {
    RunInOrder,     RunBackwards,     RunOnThreads, RunOnFewerThreads,
    RunOnlyTheLast, RunNone,          RunTwice,     RunOthers,
    ThrowBefore,    ThrowInTheMiddle, ThrowAfter};

// As many threads as are allowed, or some fewer, where a path's blocks are too
// large for so many. (Exactly how many: TheNumberOfThreads, block_map_test.)
inline void ExpectThreads(int threads, int allowed) {
  EXPECT_LE(threads, allowed);
  EXPECT_GE(threads, std::min(allowed, 2));
}
// Runs a function as a task.
struct FunctionTask final : Task {
  std::function<void()> function;
  void Run() override { function(); }
};
// Executes run(0) and run(1), each as a task.
inline void ExecuteTwo(ThreadPool* pool, const std::function<void(int)>& run) {
  FunctionTask tasks[2];
  for (int i = 0; i < 2; ++i) tasks[i].function = [&run, i] { run(i); };
  pool->Execute(2, tasks);
}

// A suite whose Context uses as many threads as it may.
class ThreadedProductTest : public testing::Test {
 protected:
  ThreadedProductTest() {
    context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  }

  // A product on an Executor that does `first` and then the tasks.
  void MulAfter(const std::function<void()>& first) {
    TestExecutor executor(2, [&](int count, Function function, void* argument) {
      first();
      RunInOrder(count, function, argument);
    });
    context_.set_executor(&executor);
    product_.MulOn(&context_);
    EXPECT_EQ(executor.calls, 1);
    context_.set_executor(nullptr);
  }

  ThreadedProduct product_;
  Context context_;
};

// On the caller's thread, the pool, and whatever an Executor does.
template <typename Test>
void OnAllSortsOfThreads(Context* context, const Test& test) {
  for (const int threads : {1, 2, 5}) {
    context->set_max_num_threads(threads);
    {
      SCOPED_TRACE(testing::Message() << "a pool, " << threads << " threads");
      test();
    }
    for (std::size_t sort = 0; sort < std::size(kAllSorts); ++sort) {
      SCOPED_TRACE(testing::Message()
                   << "sort " << sort << ", " << threads << " threads");
      TestExecutor executor(threads, kAllSorts[sort]);
      context->set_executor(&executor);
      test();
      EXPECT_LE(executor.last_count, threads);
      context->set_executor(nullptr);
    }
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_EXECUTORS_H_
