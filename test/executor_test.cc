// The host's threads: Executors of all sorts, pools that Contexts share, limits
// per call, and the deadlocks that are reported instead of entered. Runs under
// ThreadSanitizer too (label "concurrency").
#include "ruy_like/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/thread_pool.h"
#include "test/support/executors.h"
#include "test/support/on_threads.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class ExecutorTest : public ThreadedProductTest {};

TEST_F(ExecutorTest, AnyWayToRunTheTasks) {
  for (const auto& parallel_for : kAllSorts) {
    for (int threads = 2; threads <= 5; ++threads) {
      TestExecutor executor(threads, parallel_for);
      context_.set_executor(&executor);
      EXPECT_EQ(context_.executor(), &executor);
      product_.MulOn(&context_);
      EXPECT_EQ(executor.calls, 1);
      ExpectThreads(executor.last_count, threads);
      EXPECT_EQ(context_.last_used_num_threads(), executor.last_count);
    }
  }
  context_.set_executor(nullptr);
  product_.MulOn(&context_);
  EXPECT_EQ(context_.last_used_num_threads(), 1);
}

TEST_F(ExecutorTest, ManyProductsOnThreads) {
  TestExecutor executor(3, RunOnThreads);
  context_.set_executor(&executor);
  product_.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  for (int i = 0; i < 30; ++i) product_.MulOn(&context_);
}

// On a path that is everywhere, whose blocks are small.
TEST_F(ExecutorTest, TheNumberOfThreads) {
  context_.set_runtime_enabled_paths(Path::kPortable);
  TestExecutor executor(6, RunInOrder);
  EXPECT_EQ(context_.max_num_threads(), 1);
  context_.set_executor(&executor);
  EXPECT_EQ(context_.max_num_threads(), 6);
  context_.set_max_num_threads(4);
  EXPECT_EQ(context_.max_num_threads(), 4);
  product_.MulOn(&context_);
  EXPECT_EQ(executor.last_count, 4);
  context_.set_max_num_threads(100);
  EXPECT_EQ(context_.max_num_threads(), 6);
  TestExecutor none(0, RunInOrder);
  context_.set_executor(&none);
  EXPECT_EQ(context_.max_num_threads(), 1);
  product_.MulOn(&context_);
  EXPECT_EQ(none.calls, 0);
}

TEST_F(ExecutorTest, SmallProductsDoNotAskIt) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kDefault);
  TestExecutor executor(6, RunInOrder);
  context_.set_executor(&executor);
  FloatProduct small(8, 8, 8);
  EXPECT_OK(small.Run(&context_));
  EXPECT_EQ(executor.calls, 0);
  small.ExpectIs(small.Expected());
}

TEST_F(ExecutorTest, PacksOnIt) {
  const auto weights = RandomVector<std::int8_t>(2000 * 900, 3);
  const auto matrix = RowMajorOf(weights, 2000, 900);
  ASSERT_VALUE(auto alone, Pack(matrix, Side::kLhs, {}, &context_));
  for (const auto& parallel_for : kAllSorts) {
    TestExecutor executor(3, parallel_for);
    context_.set_executor(&executor);
    ASSERT_VALUE(auto packed, Pack(matrix, Side::kLhs, {}, &context_));
    EXPECT_EQ(executor.last_count, 3);
    EXPECT_TRUE(packed.Serialize() == alone.Serialize());
  }
}

// Threads that make the first calls of an Executor that then throws.
class BegunCalls {
 public:
  // Returns when all are at work, or done: a call that began after Mul had
  // returned would find nothing there.
  void Begin(int calls, Function function, void* argument) {
    std::atomic<int> begun{0};
    for (int i = 0; i < calls; ++i) {
      threads_.emplace_back([&begun, function, argument, i] {
        ++begun;
        function(argument, i);
      });
    }
    while (begun != calls) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

// Against the contract too: what it has begun, it is to finish; what it has
// not, the caller does, and the next call is not taken for a task of this one.
TEST_F(ExecutorTest, AnExecutorThatThrows) {
  for (const int most : {0, 1, 5}) {
    BegunCalls begun;
    TestExecutor executor(5, [&](int count, Function function, void* argument) {
      begun.Begin(std::min(most, count), function, argument);
      throw std::runtime_error("no threads today");
    });
    context_.set_executor(&executor);
    product_.MulOn(&context_);
    begun.Join();
    context_.set_executor(nullptr);
    product_.MulOn(&context_);
  }
}

// The caller, who then does what was not begun, does not use what a call that
// is running uses.
TEST_F(ExecutorTest, AnExecutorThatThrowsInTheMiddle) {
  context_.set_runtime_enabled_paths(Path::kPortable);
  // Some 10 ms by the slowest path.
  RawProduct product(500, 500, 500, Order::kColMajor, -128, 127);
  EXPECT_OK(product.Run(&context_));
  const std::vector<std::int32_t> expected = product.dst_values;
  BegunCalls begun;
  TestExecutor executor(3, [&](int count, Function function, void* argument) {
    ASSERT_EQ(count, 3);
    begun.Begin(2, function, argument);
    throw std::runtime_error("no more threads today");
  });
  context_.set_executor(&executor);
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_OK(product.Run(&context_));
    begun.Join();
    product.ExpectIs(expected);
  }
}

// However long it takes them.
TEST_F(ExecutorTest, CallsThatAnExecutorThatThrowsHasBegunAreWaitedFor) {
  struct Calls {
    std::atomic<bool> is_begun{false}, is_finished{false};
    static void Run(void* argument, int i) {
      if (i == 0) return;
      Calls* const calls = static_cast<Calls*>(argument);
      calls->is_begun = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      calls->is_finished = true;
    }
  };
  Calls calls;
  std::thread thread;
  TestExecutor executor(2, [&](int, Function function, void* argument) {
    thread = std::thread(function, argument, 1);
    while (!calls.is_begun) std::this_thread::yield();
    throw std::runtime_error("no more threads today");
  });
  context_.set_executor(&executor);
  EXPECT_OK(context_.ParallelFor(2, &Calls::Run, &calls));
  EXPECT_TRUE(calls.is_finished);
  thread.join();
}

// Its thread is no longer one that runs the Context's tasks: as any other, it
// waits for its turn.
TEST_F(ExecutorTest, AThreadWhoseExecutorThrewWaitsForItsTurn) {
  TestExecutor throwing(2, [](int, Function, void*) {
    throw std::runtime_error("no threads today");
  });
  context_.set_executor(&throwing);
  product_.MulOn(&context_);
  std::atomic<bool> is_held{false};
  TestExecutor slow(2, [&](int count, Function function, void* argument) {
    is_held = true;
    // The other thread's Mul comes meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    RunInOrder(count, function, argument);
  });
  context_.set_executor(&slow);
  ThreadedProduct other;
  std::thread holder([&] { other.MulOn(&context_); });
  while (!is_held) std::this_thread::yield();
  product_.MulOn(&context_);
  holder.join();
  EXPECT_EQ(slow.calls, 2);
}

// Where the threads that can be had are fewer than asked for.
TEST_F(ExecutorTest, ThreadsThatWereUsed) {
  context_.set_max_num_threads(ThreadPool::kMaxWorkers + 1000);
  product_.MulOn(&context_, {3});
  EXPECT_EQ(context_.last_used_num_threads(), 3);
  // Inline, as all that a task executes.
  ThreadedProduct products[2];
  Context contexts[2];
  ThreadPool pool;
  ExecuteTwo(&pool, [&](int i) {
    UseThreads(4, &contexts[i]);
    products[i].MulOn(&contexts[i]);
  });
  EXPECT_EQ(contexts[0].last_used_num_threads(), 1);
  EXPECT_EQ(contexts[1].last_used_num_threads(), 1);
}

// ## Limits per call

TEST_F(ExecutorTest, ACallsOwnLimit) {
  context_.set_max_num_threads(4);
  for (const int limit : {0, 1, 2, 9}) {
    product_.MulOn(&context_, {limit});
    ExpectThreads(context_.last_used_num_threads(),
                  limit == 0 ? 4 : std::min(limit, 4));
  }
  EXPECT_CODE(kInvalid, product_.Run(&context_, {-1}));
}

// ## PackedMatrix on many threads

TEST_F(ExecutorTest, OnePackedMatrixForManyContexts) {
  ASSERT_VALUE(const auto packed,
               Pack(product_.lhs, Side::kLhs, {}, &context_));
  OnThreads(4, [&packed](int) {
    ThreadedProduct product;
    Context context;
    context.set_max_num_threads(2);
    for (int repeat = 0; repeat < 5; ++repeat) {
      const PackedMatrix<std::int8_t> copy = packed;
      EXPECT_OK(Mul(copy, product.rhs, product.params, &context, &product.dst));
      product.ExpectRight();
    }
  });
}

// ## Shared pools

TEST_F(ExecutorTest, ContextsShareAPool) {
  const auto pool = std::make_shared<ThreadPool>();
  Context first(pool), second(pool);
  EXPECT_EQ(first.mutable_thread_pool(), pool.get());
  EXPECT_EQ(second.mutable_thread_pool(), pool.get());
  OnThreads(4, [&](int caller) {
    Context* const context = caller % 2 == 0 ? &first : &second;
    ThreadedProduct product;
    UseThreads(3, context);
    for (int i = 0; i < 10; ++i) product.MulOn(context);
  });
}

TEST_F(ExecutorTest, APoolOutlivesItsContexts) {
  auto pool = std::make_shared<ThreadPool>();
  auto context = std::make_unique<Context>(pool);
  UseThreads(3, context.get());
  product_.MulOn(context.get());
  context.reset();
  EXPECT_EQ(pool.use_count(), 1);
  EXPECT_GE(pool->EnsureWorkers(1), 1);
}

// ## The host's own work on a Context's threads

// Draws numbers below `total` and marks them.
struct MarkedNumbers {
  explicit MarkedNumbers(int total) : marks(total) {}
  static void Run(void* argument, int /*i*/) {
    auto* const self = static_cast<MarkedNumbers*>(argument);
    const int total = static_cast<int>(self->marks.size());
    for (int n; (n = self->next.fetch_add(1)) < total;) ++self->marks[n];
  }
  std::atomic<int> next{0};
  std::vector<int> marks;
};

TEST_F(ExecutorTest, ParallelForRunsOnThePoolOrTheExecutor) {
  context_.set_max_num_threads(3);
  MarkedNumbers on_pool(1000);
  ASSERT_OK(context_.ParallelFor(3, MarkedNumbers::Run, &on_pool));
  EXPECT_EQ(on_pool.marks, std::vector<int>(1000, 1));

  TestExecutor executor(2, RunInOrder);
  context_.set_executor(&executor);
  MarkedNumbers on_executor(1000);
  ASSERT_OK(context_.ParallelFor(2, MarkedNumbers::Run, &on_executor));
  EXPECT_EQ(on_executor.marks, std::vector<int>(1000, 1));
  EXPECT_EQ(executor.calls, 1);

  EXPECT_OK(context_.ParallelFor(0, MarkedNumbers::Run, nullptr));
  EXPECT_CODE(kInvalid, context_.ParallelFor(2, nullptr, nullptr));
}

// Counts the calls with each i, of which some may throw.
struct CountedCalls {
  explicit CountedCalls(int count) : counts(count) {}
  static void Run(void* argument, int i) {
    auto* const self = static_cast<CountedCalls*>(argument);
    ++self->counts.at(i);
    if (self->throw_at != nullptr) self->throw_at(i);
  }
  void ExpectEachOnce() const {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      EXPECT_EQ(counts[i], 1) << "i = " << i;
    }
  }
  std::vector<std::atomic<int>> counts;
  void (*throw_at)(int i) = nullptr;
};

TEST_F(ExecutorTest, ParallelForMakesEachCallOnce) {
  OnAllSortsOfThreads(&context_, [&] {
    for (const int count : {1, 2, 5, 100}) {
      CountedCalls calls(count);
      EXPECT_OK(context_.ParallelFor(count, CountedCalls::Run, &calls));
      calls.ExpectEachOnce();
    }
  });
}

// The other calls are made all the same, the Context is free afterwards, and
// no exception reaches the Executor, or the pool, which would not survive it.
TEST_F(ExecutorTest, AFunctionThatThrowsGivesAnError) {
  const auto run = [&](void (*throw_at)(int)) {
    CountedCalls calls(5);
    calls.throw_at = throw_at;
    const absl::Status status =
        context_.ParallelFor(5, CountedCalls::Run, &calls);
    calls.ExpectEachOnce();
    return status;
  };
  OnAllSortsOfThreads(&context_, [&] {
    const absl::Status one = run([](int i) {
      if (i == 3) throw std::runtime_error("no luck today");
    });
    ExpectStatus(one, absl::StatusCode::kInternal, {"no luck today"});
    EXPECT_CODE(kExhausted, run([](int) { throw std::bad_alloc(); }));
    EXPECT_CODE(absl::StatusCode::kInternal, run([](int i) {
                  if (i == 0) throw i;
                }));
    EXPECT_OK(run(nullptr));
    product_.MulOn(&context_);
  });
}

// What an Executor begins after its ParallelFor threw finds nothing to do, or
// helps with what the Context does then.
TEST_F(ExecutorTest, CallsThatBeginTooLate) {
  Function function = nullptr;
  void* argument = nullptr;
  TestExecutor executor(4, [&](int, Function given, void* given_argument) {
    if (function == nullptr) {
      function = given;
      argument = given_argument;
      throw std::runtime_error("later");
    }
    std::thread late(function, argument, 1);
    function(argument, 2);
    late.join();
  });
  context_.set_executor(&executor);
  product_.MulOn(&context_);
  ASSERT_NE(function, nullptr);
  for (int i = 0; i < 4; ++i) function(argument, i);
  product_.ExpectUntouched();
  product_.MulOn(&context_);
  CountedCalls calls(10);
  EXPECT_OK(context_.ParallelFor(10, CountedCalls::Run, &calls));
  for (int i = 0; i < 4; ++i) function(argument, i);
  calls.ExpectEachOnce();
  // While the Context is busy and idle in turn.
  std::atomic<bool> ends{false};
  std::thread late([&] {
    while (!ends) function(argument, 0);
  });
  for (int i = 0; i < 30; ++i) {
    product_.MulOn(&context_);
    CountedCalls more(10);
    EXPECT_OK(context_.ParallelFor(10, CountedCalls::Run, &more));
    more.ExpectEachOnce();
  }
  ends = true;
  late.join();
}

TEST_F(ExecutorTest, ParallelForIsRefusedWhereMulIs) {
  MulAfter([&] {
    MarkedNumbers inner(1);
    EXPECT_CODE(kPrecondition,
                context_.ParallelFor(2, MarkedNumbers::Run, &inner));
    EXPECT_EQ(inner.marks[0], 0);
  });
}

// ## Deadlocks that are not

// Two tasks of the pool: one holds the Context, as a call in progress does,
// until the other has tried to use it.
TEST_F(ExecutorTest, ATaskOfThePoolIsRefusedWhileTheContextIsBusy) {
  context_.set_max_num_threads(2);
  // The Context is held by a Mul of this thread, whose Executor lets a task of
  // the Context's pool call Mul.
  MulAfter([&] {
    ThreadedProduct products[2];
    ExecuteTwo(context_.mutable_thread_pool(), [&](int i) {
      EXPECT_CODE(kPrecondition, products[i].Run(&context_));
    });
  });
}

// A work-stealing pool may run anything on a thread that waits in ParallelFor.
TEST_F(ExecutorTest, ATaskOnTheCallersThreadIsRefused) {
  ThreadedProduct inner;
  MulAfter([&] {
    EXPECT_CODE(kPrecondition, inner.Run(&context_));
    Context own;
    inner.MulOn(&own);
  });
}

// What a task may ask a Context while another thread multiplies with it, which
// waits for that task's pool.
TEST_F(ExecutorTest, GettersNeverWait) {
  product_.MulOn(&context_);
  context_.set_max_num_threads(2);
  const auto ask = [this] {
    EXPECT_EQ(context_.max_num_threads(), 2);
    EXPECT_NE(context_.executor(), nullptr);
    EXPECT_EQ(context_.num_threads_strategy(),
              NumThreadsStrategy::kForceMaxNumThreads);
    EXPECT_NE(context_.runtime_enabled_paths(), Path::kNone);
    EXPECT_NE(context_.last_used_path(), Path::kNone);
    EXPECT_STRNE(context_.last_used_kernel(), "");
    EXPECT_EQ(context_.last_used_num_threads(), 1);
    EXPECT_EQ(context_.prepacked_cache_bytes(), 0u);
    EXPECT_GT(context_.prepacked_cache_limit_bytes(), 0u);
  };
  MulAfter([&] {
    // On the pool, on the caller's thread and on one of nobody's.
    ExecuteTwo(context_.mutable_thread_pool(), [&](int) { ask(); });
    ask();
    std::thread(ask).join();
  });
}

TEST_F(ExecutorTest, ATaskMayUseAContextThatIsFree) {
  ThreadedProduct products[2];
  Context contexts[2];
  ExecuteTwo(contexts[0].mutable_thread_pool(),
             [&](int i) { products[i].MulOn(&contexts[i]); });
}

}  // namespace
}  // namespace ruy_like
