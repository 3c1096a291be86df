// Threads: results do not depend on how many there are, Contexts may be shared
// or not. Runs under ThreadSanitizer too (label "concurrency").
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "ruy_like/base/cpu_limits.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/thread_pool.h"
#include "test/support/executors.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/on_threads.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr Types kUint8 = {Scalar::kU8, Scalar::kU8, Scalar::kI32, Scalar::kU8};
constexpr Types kInt16 = {Scalar::kI8, Scalar::kI16, Scalar::kI32,
                          Scalar::kI16};
constexpr Types kDouble = {Scalar::kF64, Scalar::kF64, Scalar::kF64,
                           Scalar::kF64};
constexpr Types kTypes[] = {kInt8, kUint8, kInt16, kFloat, kDouble};

constexpr Shape kShapes[] = {{200, 60, 150}, {301, 64, 17}, {17, 64, 301},
                             {3, 300, 500},  {500, 300, 1}, {40, 5000, 24},
                             {5, 5, 5}};

MulProblem ThreadedProblem(const Types& types, const Shape& shape) {
  MulProblem p = MakeProblem(types, shape);
  p.bias = BiasKind::kModerate;
  if (Is8Bit(types.lhs)) p.lhs.zero_point = 3;
  if (Is8Bit(types.rhs)) p.rhs.zero_point = 5;
  return p;
}

class ThreadsTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(ThreadsTest);

TEST_P(ThreadsTest, AnyNumberOfThreadsGivesTheSameBits) {
  for (const Types& types : kTypes) {
    for (const auto& shape : kShapes) {
      MulRunner runner(ThreadedProblem(types, shape));
      context_.set_max_num_threads(1);
      ASSERT_TRUE(runner.Check(&context_));
      EXPECT_EQ(context_.last_used_num_threads(), 1);
      const std::vector<char> alone = runner.DstBytes();
      for (const NumThreadsStrategy strategy :
           {NumThreadsStrategy::kDefault,
            NumThreadsStrategy::kForceMaxNumThreads}) {
        context_.set_num_threads_strategy(strategy);
        for (int threads = 2; threads <= 8; ++threads) {
          context_.set_max_num_threads(threads);
          ASSERT_TRUE(runner.Check(&context_));
          EXPECT_LE(context_.last_used_num_threads(), threads);
          ASSERT_EQ(runner.DstBytes(), alone)
              << threads << " threads; " << context_.last_used_kernel();
        }
      }
    }
  }
}

TEST_P(ThreadsTest, TheStrategyDecidesHowManyRun) {
  constexpr Shape kSmall = {4, 4, 4};
  constexpr Shape kLarge = {512, 256, 512};
  context_.set_max_num_threads(4);
  MulRunner small(ThreadedProblem(kInt8, kSmall));
  ASSERT_TRUE(small.Check(&context_));
  EXPECT_EQ(context_.last_used_num_threads(), 1) << "too small to share";
  MulRunner large(ThreadedProblem(kInt8, kLarge));
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  ASSERT_TRUE(large.Check(&context_));
  EXPECT_EQ(context_.last_used_num_threads(), 4);
}

struct CountedCalls {
  static void Run(void* argument, int) {
    ++static_cast<CountedCalls*>(argument)->count;
  }
  std::atomic<int> count{0};
};

// More threads than processors would only take turns; the strategy for
// measurements takes what it is told.
TEST_P(ThreadsTest, ByDefaultNoMoreThanProcessors) {
  constexpr Shape kLarge = {600, 100, 600};
  const int processors = PermittedCpus();
  MulRunner large(ThreadedProblem(kInt8, kLarge));
  context_.set_max_num_threads(std::numeric_limits<int>::max());
  EXPECT_EQ(context_.max_num_threads(), std::numeric_limits<int>::max());
  ASSERT_TRUE(large.Check(&context_));
  EXPECT_LE(context_.last_used_num_threads(), processors);
  const std::vector<std::int8_t> weights(4000 * 1000);
  const auto matrix = RowMajorOf(weights, 4000, 1000);
  ASSERT_OK(Pack(matrix, Side::kLhs, PackOptions(), &context_));
  CountedCalls calls;
  ASSERT_OK(context_.ParallelFor(500, CountedCalls::Run, &calls));
  EXPECT_EQ(calls.count, 500);
  EXPECT_LE(context_.mutable_thread_pool()->EnsureWorkers(0), processors - 1);
  UseThreads(processors + 2, &context_);
  ASSERT_TRUE(large.Check(&context_));
  // There are blocks for a few threads on any path.
  EXPECT_GT(context_.last_used_num_threads(), std::min(processors, 3));
}

// How many threads an Executor has is the host's word.
TEST_P(ThreadsTest, AnExecutorMayHaveMoreThanProcessors) {
  TestExecutor executor(1000, RunInOrder);
  context_.set_executor(&executor);
  CountedCalls calls;
  ASSERT_OK(context_.ParallelFor(1000, CountedCalls::Run, &calls));
  EXPECT_EQ(calls.count, 1000);
  EXPECT_EQ(executor.last_count, 1000);
}

TEST_P(ThreadsTest, CountsBelowOneAreOne) {
  for (const int count : {0, -1, -1000}) {
    context_.set_max_num_threads(count);
    EXPECT_EQ(context_.max_num_threads(), 1);
    EXPECT_TRUE(
        MulRunner(ThreadedProblem(kFloat, {20, 20, 20})).Check(&context_));
  }
}

// Caller threads with a Context of their own each or all with one; all read the
// same weights, which each Context caches.
void MultiplyFromManyThreads(const std::vector<Context*>& contexts) {
  constexpr std::ptrdiff_t kRows = 70, kDepth = 90, kCols = 30;
  constexpr int kRepeats = 10;
  const auto weights = RandomVector<std::int8_t>(kRows * kDepth, 1);
  auto lhs = RowMajorOf(weights, kRows, kDepth);
  lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  OnThreads(static_cast<int>(contexts.size()), [&](int i) {
    const auto values = RandomVector<std::int8_t>(kDepth * kCols, i + 2);
    auto rhs = ColMajorOf(values, kDepth, kCols);
    rhs.set_zero_point(static_cast<std::int8_t>(i));
    const auto expected = ReferenceMulTo<std::int32_t>(lhs, rhs);
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      EXPECT_EQ(MulTo<std::int32_t>(lhs, rhs, contexts[i]), expected);
    }
  });
}

TEST_P(ThreadsTest, ManyThreadsShareAContext) {
  UseThreads(3, &context_);
  MultiplyFromManyThreads(std::vector<Context*>(6, &context_));
}

TEST_P(ThreadsTest, ManyContextsAtOnce) {
  std::vector<Context> owned(6);
  std::vector<Context*> contexts;
  for (Context& context : owned) {
    Restrict(&context);
    UseThreads(2, &context);
    contexts.push_back(&context);
  }
  MultiplyFromManyThreads(contexts);
}

// Setters and readers while another thread multiplies.
TEST_P(ThreadsTest, AContextsSettingsMayChangeDuringMul) {
  MulProblem p = ThreadedProblem(kInt8, {150, 50, 60});
  p.lhs.cache_policy = CachePolicy::kAlwaysCache;
  std::thread caller([&] {
    MulRunner runner(p);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(runner.Check(&context_));
  });
  for (int i = 0; i < 50; ++i) {
    context_.set_max_num_threads(1 + i % 3);
    context_.set_num_threads_strategy(
        i % 2 == 0 ? NumThreadsStrategy::kDefault
                   : NumThreadsStrategy::kForceMaxNumThreads);
    context_.set_runtime_enabled_paths(i % 2 == 0 ? GetParam() : Path::kNone);
    context_.set_prepacked_cache_limit_bytes(i % 3 == 0 ? 1000 : 1000000);
    if (i % 4 == 0) context_.ClearPrepackedCache();
    EXPECT_LE(context_.prepacked_cache_bytes(), 1000000u);
    context_.last_used_kernel();
  }
  caller.join();
}

// All paths of the machine against each other: integer results are the same
// bits.
TEST(ThreadsAcrossPathsTest, IntegerResultsAreTheSameOnAllPaths) {
  for (const Types& types : {kInt8, kUint8, kInt16}) {
    for (const auto& shape : kShapes) {
      MulRunner runner(ThreadedProblem(types, shape));
      std::vector<char> first;
      for (const Path path : PathsBestFirst(DetectedPaths())) {
        for (const int threads : {1, 4}) {
          Context context;
          context.set_runtime_enabled_paths(path);
          context.set_max_num_threads(threads);
          ASSERT_TRUE(runner.Check(&context));
          if (first.empty()) first = runner.DstBytes();
          ASSERT_EQ(runner.DstBytes(), first) << PathName(path);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ruy_like
