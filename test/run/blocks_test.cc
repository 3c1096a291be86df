// Products whose blocks are run in pieces: in several passes over depth, and,
// by a lone thread, in one. What is packed by each block for itself, what comes
// from the cache or the caller, on any number of threads: the same bits.
#include <gtest/gtest.h>

#include <vector>

#include "ruy_like/plan/context_impl.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// With 48 KiB of L1d, kernels of 8 columns split depths above 1536 (float) to
// 6144 (bytes): each of these has several pieces both ways with some kernel.
// Without a sanitizer, pieces are many.
constexpr Shape kDeep[] = {
    kSanitized ? Shape{50, 6400, 41} : Shape{100, 13001, 61},
    kSanitized ? Shape{7, 6300, 130} : Shape{7, 20000, 130},
    {131, 6200, 9}};
constexpr Shape kShallow[] = {
    kSanitized ? Shape{200, 1500, 75} : Shape{400, 1500, 150},
    kSanitized ? Shape{190, 1600, 50} : Shape{190, 3000, 100}};

constexpr Types kTypes[] = {
    kInt8,
    kFloat,
    {Scalar::kU8, Scalar::kI8, Scalar::kI32, Scalar::kU8},
    {Scalar::kI8, Scalar::kI16, Scalar::kI32, Scalar::kI16},
    {Scalar::kI16, Scalar::kI8, Scalar::kI32, Scalar::kI32},
    {Scalar::kI8, Scalar::kU8, Scalar::kI32, Scalar::kF32},
};

// With all that an epilogue may need of the rows and columns of a piece.
MulProblem WithEpilogue(const Types& types, const Shape& shape) {
  MulProblem p = MakeProblem(types, shape);
  p.bias = BiasKind::kModerate;
  if (Is8Bit(types.lhs) && Is8Bit(types.rhs)) {
    p.lhs.zero_point = 3;
    p.rhs.zero_point = 5;
  }
  if (p.IsQuantized()) p.multiplier = MultiplierKind::kPerChannel;
  if (p.IsScaled()) {
    p.lhs_scale = ScaleKind::kPerChannel;
    p.rhs_scale = ScaleKind::kPerChannel;
  }
  return p;
}

class BlocksTest : public PathTest {
 protected:
  // One to several threads.
  void CheckOnThreads(const MulProblem& problem) {
    SCOPED_TRACE(Describe(problem));
    MulRunner runner(problem);
    context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
    std::vector<char> alone;
    for (const int threads : {1, 2, 5}) {
      context_.set_max_num_threads(threads);
      ASSERT_TRUE(runner.Check(&context_)) << threads << " threads";
      if (threads == 1) alone = runner.DstBytes();
      ASSERT_EQ(runner.DstBytes(), alone) << threads << " threads";
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(BlocksTest);

TEST_P(BlocksTest, DeepProducts) {
  int orders = 0;
  for (const Types& types : kTypes) {
    for (const Shape& shape : kDeep) {
      MulProblem problem = WithEpilogue(types, shape);
      SetOrders(orders++ % 8, &problem);
      CheckOnThreads(problem);
    }
  }
}

TEST_P(BlocksTest, OnePass) {
  int orders = 0;
  for (const Types& types : {kInt8, kFloat}) {
    for (const Shape& shape : kShallow) {
      MulProblem problem = WithEpilogue(types, shape);
      SetOrders(orders++ % 8, &problem);
      CheckOnThreads(problem);
    }
  }
}

TEST_P(BlocksTest, CachedSides) {
  for (const Types& types : {kInt8, kFloat}) {
    for (const int cached : {1, 2, 3}) {
      MulProblem problem = WithEpilogue(types, kDeep[0]);
      if (cached & 1) problem.lhs.cache_policy = CachePolicy::kAlwaysCache;
      if (cached & 2) problem.rhs.cache_policy = CachePolicy::kAlwaysCache;
      CheckOnThreads(problem);  // packs them the first time
      context_.ClearPrepackedCache();
    }
  }
}

TEST_P(BlocksTest, OtherEntryPoints) {
  for (const Types& types : {kInt8, kFloat}) {
    for (const EntryPoint entry_point :
         {EntryPoint::kPackedLhs, EntryPoint::kPackedRhs,
          EntryPoint::kPackedBoth, EntryPoint::kPlan}) {
      MulProblem problem = WithEpilogue(types, kDeep[0]);
      problem.entry_point = entry_point;
      CheckOnThreads(problem);
    }
  }
}

// Nothing needs scratch memory: with both sides packed, and a depth that no
// machine's L1 is too small for, neither panels nor accumulators do.
TEST_P(BlocksTest, WithoutScratchMemory) {
  for (const Types& types : {kInt8, kFloat}) {
    MulProblem problem = WithEpilogue(types, {400, 200, 300});
    problem.entry_point = EntryPoint::kPackedBoth;
    Context context;
    context.set_runtime_enabled_paths(GetParam());
    // Several threads have pieces whatever the size.
    UseThreads(3, &context);
    MulRunner runner(problem);
    ASSERT_TRUE(runner.Check(&context));
    EXPECT_GT(context.last_used_num_threads(), 1);
    EXPECT_EQ(context.impl()->arena.capacity_bytes(), 0u);
  }
}

}  // namespace
}  // namespace ruy_like
