// MulBatch and MulGroup: the bits of single calls, whatever the types, strides,
// threads and Executors. Runs under ThreadSanitizer too (label "concurrency").
// Refused batches: bad_batch_test.cc.
#include "ruy_like/mul_batch.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/os/process.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_mul.h"
#include "test/support/batch_problem.h"
#include "test/support/executors.h"
#include "test/support/on_threads.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

constexpr Variant kVariants[] = {
    {1},
    {0, 3, true, false, true},
    {7, 1, false, true},
    {2, 0, true, true, true},
    {6, 2, false, false, false, CachePolicy::kAlwaysCache},
};

constexpr Shape kShapes[] = {{1, 1, 1},    {5, 7, 3},      {17, 19, 23},
                             {33, 40, 1},  {1, 40, 33},    {4, 0, 6},
                             {70, 70, 70}, {30, 1500, 40}, {150, 64, 130}};
constexpr ptrdiff_t kLarge = 70 * 70 * 70;

class MulBatchTest : public PathTest {
 protected:
  // True if the path has kernels that make use of FloatSums::kAnyOrder.
  static bool HasOtherOrder() {
    return (GetParam() & (Path::kPortable | kPathsOfPanels)) == Path::kNone;
  }
  // Products run on so many threads; on two by the default strategy.
  void SetThreads(int threads) {
    UseThreads(threads, &context_);
    if (threads == 2) {
      context_.set_num_threads_strategy(NumThreadsStrategy::kDefault);
    }
  }
  // The results of single calls on this path.
  template <typename Problem>
  static auto Expected(Problem* problem) {
    return problem->Expected(GetParam() | Path::kPortable);
  }
  template <typename Types>
  void TestTypes() {
    int large_ones = 0;
    for (const Shape& shape : kShapes) {
      const bool is_large = shape.rows * shape.depth * shape.cols >= kLarge;
      for (const Variant& variant : kVariants) {
        if (is_large && large_ones++ % (kSanitized ? 6 : 2) != 0) continue;
        for (const ptrdiff_t count : {0, 1, 2, 3, 5, 17}) {
          const ptrdiff_t most =
              is_large ? (kSanitized ? 2 : 3) : (kSanitized ? 5 : 17);
          if (count > most) continue;
          BatchProblem<Types> problem(shape, count, variant);
          TestProblem(&problem, variant);
        }
      }
    }
  }
  template <typename Problem>
  void TestProblem(Problem* problem, const Variant& variant) {
    TestProblem(problem, variant, Expected(problem));
  }
  template <typename Problem, typename Results>
  void TestProblem(Problem* problem, const Variant& variant,
                   const Results& expected) {
    for (const int threads : {1, 2, 5, 8}) {
      if (kSanitized && threads == 5) continue;
      SetThreads(threads);
      problem->Wipe();
      ASSERT_OK(problem->Run(&context_));
      ASSERT_TRUE(problem->Holds(expected))
          << problem->batch.count << " products of "
          << problem->lhs.layout().rows() << "x" << problem->lhs.layout().cols()
          << "x" << problem->rhs.layout().cols() << ", orders "
          << variant.orders << ", " << threads << " threads, "
          << context_.last_used_kernel();
      if (problem->batch.count > 0) {
        ASSERT_LE(context_.last_used_num_threads(), threads);
      }
      if (threads == 1 || threads == 8) TestPlan(problem, expected, threads);
    }
  }
  // A MulPlan of the batch, run twice; its last thread comes first.
  template <typename Problem, typename Expected>
  void TestPlan(Problem* problem, const Expected& expected, int threads) {
    MulPlan plan;
    ASSERT_OK(problem->Prepare(threads, &context_, &plan));
    ASSERT_LE(plan.num_threads(), threads);
    for (int repeat = 0; repeat < 2; ++repeat) {
      problem->Wipe();
      for (int i = threads - 1; i >= 0; --i) {
        ASSERT_OK(plan.Run(i));
      }
      ASSERT_OK(plan.Finish());
      ASSERT_TRUE(problem->Holds(expected))
          << problem->batch.count << " products planned, " << threads
          << " threads, repeat " << repeat << ", "
          << context_.last_used_kernel();
      ASSERT_OK(plan.Repeat());
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(MulBatchTest);

TEST_P(MulBatchTest, Int8HasTheBitsOfSingleCalls) { TestTypes<Int8>(); }
TEST_P(MulBatchTest, RawHasTheBitsOfSingleCalls) { TestTypes<Raw>(); }
TEST_P(MulBatchTest, ScaledHasTheBitsOfSingleCalls) { TestTypes<Scaled>(); }
TEST_P(MulBatchTest, WideHasTheBitsOfSingleCalls) { TestTypes<Wide>(); }
TEST_P(MulBatchTest, WideLhsHasTheBitsOfSingleCalls) { TestTypes<WideLhs>(); }
TEST_P(MulBatchTest, FloatHasTheBitsOfSingleCalls) { TestTypes<Float>(); }
TEST_P(MulBatchTest, DoubleHasTheBitsOfSingleCalls) { TestTypes<Double>(); }
TEST_P(MulBatchTest, MixedHasTheBitsOfSingleCalls) { TestTypes<Mixed>(); }

TEST_P(MulBatchTest, BFloatHasTheBitsOfSingleCalls) { TestTypes<BFloat>(); }
TEST_P(MulBatchTest, HalfByFloatHasTheBitsOfSingleCalls) {
  TestTypes<HalfByFloat>();
}

// A batch takes other ways through the library than a call does, which must
// choose the same kernel.
TEST_P(MulBatchTest, SumsInAnyOrderHaveTheBitsOfSingleCalls) {
  const Path path = GetParam() | Path::kPortable;
  bool differ = false;  // from sums in order
  for (const Shape& shape : {Shape{64, 1000, 1}, Shape{150, 200, 4},
                             Shape{1, 1000, 64}, Shape{5, 40, 3}}) {
    for (const Variant& variant : {Variant{1}, Variant{1, 3, true, false, true},
                                   Variant{5, 0, false, true}}) {
      for (const ptrdiff_t count : {1, 3, 17}) {
        BatchProblem<Float> problem(shape, count, variant);
        const auto in_order = problem.Expected(path);
        problem.params.set_float_sums(FloatSums::kAnyOrder);
        differ |= problem.Expected(path) != in_order;
        TestProblem(&problem, variant);
      }
    }
  }
  EXPECT_EQ(differ, HasOtherOrder());
}

// The same products as with one level, in the same order and in others.
TEST_P(MulBatchTest, TwoLevelsOfStrides) {
  for (const Shape& shape : {Shape{5, 7, 3}, Shape{33, 40, 17}}) {
    for (const Variant& variant :
         {Variant{1, 0, false, false, true}, Variant{6, 2, true}}) {
      BatchProblem<Raw> problem(shape, 12, variant);
      const auto expected = Expected(&problem);
      const Batch flat = problem.batch;
      for (const ptrdiff_t outer : {1, 2, 3, 12}) {
        for (const bool outer_is_near : {false, true}) {
          Batch& batch = problem.batch;
          batch = flat;
          batch.count = flat.count / outer;
          batch.outer_count = outer;
          const ptrdiff_t inner_step = outer_is_near ? outer : 1;
          const ptrdiff_t outer_step = outer_is_near ? 1 : batch.count;
          batch.lhs_stride = inner_step * flat.lhs_stride;
          batch.rhs_stride = inner_step * flat.rhs_stride;
          batch.dst_stride = inner_step * flat.dst_stride;
          batch.bias_stride = inner_step * flat.bias_stride;
          batch.lhs_outer_stride = outer_step * flat.lhs_stride;
          batch.rhs_outer_stride = outer_step * flat.rhs_stride;
          batch.dst_outer_stride = outer_step * flat.dst_stride;
          batch.bias_outer_stride = outer_step * flat.bias_stride;
          TestProblem(&problem, variant, expected);
        }
      }
    }
  }
}

// Operands that are shared along one level, both or neither: heads that share
// their keys within each of several sequences, or weights of heads that all
// sequences share.
TEST_P(MulBatchTest, OperandsSharedAlongOneLevel) {
  constexpr ptrdiff_t kInner = 3, kOuter = 4;
  for (const Shape& shape : {Shape{5, 7, 3}, Shape{33, 40, 30}}) {
    for (int steps = 0; steps < 16; ++steps) {
      const Variant variant = {steps % 2 == 0 ? 6 : 1};
      BatchProblem<Raw> problem(shape, kInner * kOuter, variant);
      const auto split = [&](int bits, ptrdiff_t stride, ptrdiff_t* inner,
                             ptrdiff_t* outer) {
        *inner = (bits & 1) != 0 ? stride : 0;
        *outer = (bits & 2) != 0 ? kInner * stride : 0;
      };
      Batch& batch = problem.batch;
      batch.count = kInner;
      batch.outer_count = kOuter;
      batch.dst_outer_stride = kInner * batch.dst_stride;
      split(steps, batch.lhs_stride, &batch.lhs_stride,
            &batch.lhs_outer_stride);
      split(steps / 4, batch.rhs_stride, &batch.rhs_stride,
            &batch.rhs_outer_stride);
      std::vector<std::int32_t> expected(problem.result.size(), 77);
      for (ptrdiff_t i = 0; i < kInner * kOuter; ++i) {
        Matrix<std::uint8_t> lhs = problem.lhs;
        Matrix<std::int8_t> rhs = problem.rhs;
        Matrix<std::int32_t> dst = problem.dst;
        const ptrdiff_t inner = i % kInner, outer = i / kInner;
        lhs.set_data(problem.lhs_values.data() + inner * batch.lhs_stride +
                     outer * batch.lhs_outer_stride);
        rhs.set_data(problem.rhs_values.data() + inner * batch.rhs_stride +
                     outer * batch.rhs_outer_stride);
        dst.set_data(expected.data() + i * batch.dst_stride);
        ReferenceMul(lhs, rhs, problem.params, &dst);
      }
      TestProblem(&problem, variant, expected);
    }
  }
}

TEST_P(MulBatchTest, EveryCountUpTo17) {
  for (ptrdiff_t count = 0; count <= 17; ++count) {
    for (int threads = 1; threads <= 8; ++threads) {
      BatchProblem<Float> problem({40, 33, 70}, count, {1});
      UseThreads(threads, &context_);
      ASSERT_OK(problem.Run(&context_));
      ASSERT_TRUE(problem.Holds(Expected(&problem)))
          << count << " on " << threads;
    }
  }
}

// Takes the last `taken` calls, so many times, and drops the others.
TestExecutor::ParallelForFn TakeLast(int taken, int repeats) {
  return [=](int count, Function function, void* argument) {
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (int i = count - 1; i >= count - taken && i >= 0; --i) {
        function(argument, i);
      }
    }
  };
}

TEST_P(MulBatchTest, AnyExecutorGivesACompleteResult) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (const int taken : {0, 1, 3, 4}) {
    for (const ptrdiff_t count : {2, 3, 8, 100}) {
      TestExecutor executor(4, TakeLast(taken, /*repeats=*/taken == 4 ? 2 : 1));
      context_.set_executor(&executor);
      BatchProblem<Int8> problem({70, 33, 70}, count, {1, 0, true});
      ASSERT_OK(problem.Run(&context_));
      EXPECT_EQ(executor.calls, 1) << "one parallel region";
      ASSERT_TRUE(problem.Holds(Expected(&problem)))
          << count << " with " << taken;
      context_.set_executor(nullptr);
    }
  }
}

// On threads at once, which may be missing, and on an Executor's; of whole
// products and of large ones that are cut.
TEST_P(MulBatchTest, PlansOnTheCallersThreads) {
  if (!os::CanStartThreads()) GTEST_SKIP() << "no threads here";
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (const Shape& shape : {Shape{24, 20, 16}, Shape{150, 64, 130}}) {
    BatchProblem<Int8> problem(shape, 9, {1, 0, true});
    const auto expected = Expected(&problem);
    MulPlan plan;
    ASSERT_OK(problem.Prepare(4, &context_, &plan));
    EXPECT_EQ(plan.num_threads(), 4);
    for (const int missing : {0, 1, 3, 4}) {
      problem.Wipe();
      OnThreads(4 - missing, [&](int i) { EXPECT_OK(plan.Run(missing + i)); });
      EXPECT_OK(plan.Finish());
      EXPECT_TRUE(problem.Holds(expected)) << missing << " missing";
      EXPECT_OK(plan.Repeat());
    }
    problem.Wipe();
    for (int i = 7; i >= 0; --i) {
      EXPECT_OK(plan.Run(i % 4));
    }
    EXPECT_OK(plan.Finish());
    EXPECT_TRUE(problem.Holds(expected));
  }
}

// What is run again reads the operands again, and knows of no promise of them.
TEST_P(MulBatchTest, APlanIsRepeatedWithOtherElements) {
  for (const int threads : {1, 3}) {
    BatchProblem<Raw> problem({40, 64, 30}, 5, {1});
    for (std::int8_t& value : problem.rhs_values) value /= 3;
    problem.rhs.set_value_range(ValueRange::kInt7);
    MulPlan plan;
    ASSERT_OK(problem.Prepare(threads, &context_, &plan));
    ASSERT_OK(plan.Finish());
    for (std::uint8_t& value : problem.lhs_values) value = 255;
    for (std::int8_t& value : problem.rhs_values) value = -127;
    for (std::int32_t& value : problem.bias_values) value += 3;
    problem.rhs.set_value_range(ValueRange::kFull);
    const auto expected = Expected(&problem);
    ASSERT_OK(plan.Repeat());
    for (int i = 0; i < threads; ++i) {
      ASSERT_OK(plan.Run(i));
    }
    ASSERT_OK(plan.Finish());
    EXPECT_TRUE(problem.Holds(expected));
  }
}

TEST_P(MulBatchTest, TheCallsOwnLimitOfThreadsCounts) {
  UseThreads(4, &context_);
  BatchProblem<Float> problem({20, 20, 20}, 8, {1});
  ASSERT_OK(problem.Run(&context_, {2}));
  EXPECT_LE(context_.last_used_num_threads(), 2);
  EXPECT_NE(context_.last_used_path(), Path::kNone);
}

TEST_P(MulBatchTest, TinyProductsStayOnOneThread) {
  context_.set_max_num_threads(4);
  BatchProblem<Float> problem({2, 2, 2}, 4, {1});
  ASSERT_OK(problem.Run(&context_));
  EXPECT_EQ(context_.last_used_num_threads(), 1);
}

// An operand packed ahead serves all products.
TEST_P(MulBatchTest, PackedOperands) {
  for (const int threads : {1, 4}) {
    UseThreads(threads, &context_);
    for (const ptrdiff_t count : {1, 3, 8}) {
      BatchProblem<Int8> problem({70, 33, 70}, count, {1, 0, true, true, true});
      const auto expected = Expected(&problem);
      ASSERT_VALUE(auto lhs, Pack(problem.lhs, Side::kLhs, {}, &context_));
      ASSERT_VALUE(auto rhs, Pack(problem.rhs, Side::kRhs, {}, &context_));
      const auto check = [&](const auto& one_lhs, const auto& one_rhs) {
        problem.Wipe();
        EXPECT_OK(MulBatch(one_lhs, one_rhs, problem.params, problem.batch,
                           &context_, &problem.dst));
        EXPECT_TRUE(problem.Holds(expected));
      };
      check(lhs, problem.rhs);
      check(problem.lhs, rhs);
      check(lhs, rhs);
    }
  }
}

// One product that breaks the promise must not have the int7 kernel.
TEST_P(MulBatchTest, OneProductMayBreakThePromiseOfInt7) {
  for (const int breaks : {-1, 0, 2, 4}) {
    for (const int threads : {1, 2, 8}) {
      for (const int orders : {1, 5}) {
        BatchProblem<Raw> problem({40, 64, 30}, 5, {orders});
        for (std::int8_t& value : problem.rhs_values) value /= 3;
        for (std::uint8_t& value : problem.lhs_values) value = 255;
        problem.rhs.set_value_range(ValueRange::kInt7);
        if (breaks >= 0) {
          for (int i = 0; i < 64; ++i) {
            problem.rhs_values[breaks * problem.batch.rhs_stride + i] = -127;
          }
        }
        BatchProblem<Raw> full({40, 64, 30}, 5, {orders});
        full.lhs_values = problem.lhs_values;
        full.rhs_values = problem.rhs_values;
        UseThreads(threads, &context_);
        ASSERT_OK(problem.Run(&context_));
        EXPECT_TRUE(problem.Holds(Expected(&full)))
            << breaks << " on " << threads;
      }
    }
  }
}

// An operand packed for an int7 one is unpacked where the other one is not; by
// a plan once for all repetitions.
TEST_P(MulBatchTest, AnOperandPackedForInt7) {
  for (const int threads : {1, 2, 8}) {
    UseThreads(threads, &context_);
    BatchProblem<Raw> problem({70, 64, 70}, 5, {1, 0, true});
    const auto expected = Expected(&problem);
    const PackOptions options = {Order::kColMajor, PackFor::kInt7Operand};
    ASSERT_VALUE(const auto lhs,
                 Pack(problem.lhs, Side::kLhs, options, &context_));
    ASSERT_OK(MulBatch(lhs, problem.rhs, problem.params, problem.batch,
                       &context_, &problem.dst));
    EXPECT_TRUE(problem.Holds(expected));
    MulPlan plan;
    ASSERT_OK(plan.PrepareBatch(lhs, problem.rhs, problem.params, problem.batch,
                                2, &context_, &problem.dst));
    for (int repeat = 0; repeat < 3; ++repeat) {
      problem.Wipe();
      EXPECT_OK(plan.Run(1));
      EXPECT_OK(plan.Finish());
      EXPECT_TRUE(problem.Holds(expected)) << repeat;
      EXPECT_OK(plan.Repeat());
    }
  }
}

// Heads side by side in the rows of one matrix, for operands and dst.
TEST_P(MulBatchTest, HeadsLieSideBySide) {
  constexpr ptrdiff_t kTokens = 20, kHeads = 6, kDim = 8, kRow = kHeads * kDim;
  const auto values = Values<float>(kTokens * kRow, 1);
  const auto weights = Values<float>(kHeads * kTokens * kTokens, 2);
  for (const int threads : {1, 4}) {
    UseThreads(threads, &context_);
    std::vector<float> result(kTokens * kRow), expected(kTokens * kRow);
    const MulParams<float, float> params;
    Batch batch;
    batch.count = kHeads;
    batch.lhs_stride = kTokens * kTokens;
    batch.rhs_stride = kDim;
    batch.dst_stride = kDim;
    const auto lhs = RowMajorOf(weights, kTokens, kTokens);
    const auto rhs =
        MakeMatrix(values.data(), kTokens, kDim, Order::kRowMajor, kRow - kDim);
    auto dst =
        MakeMatrix(result.data(), kTokens, kDim, Order::kRowMajor, kRow - kDim);
    ASSERT_OK(MulBatch(lhs, rhs, params, batch, &context_, &dst));
    for (ptrdiff_t head = 0; head < kHeads; ++head) {
      auto one_lhs = lhs;
      auto one_rhs = rhs;
      one_lhs.set_data(weights.data() + head * kTokens * kTokens);
      one_rhs.set_data(values.data() + head * kDim);
      dst.set_data(expected.data() + head * kDim);
      ASSERT_OK(Mul(one_lhs, one_rhs, params, &context_, &dst));
    }
    EXPECT_EQ(result, expected);
  }
}

// --- Groups ---

TEST_P(MulBatchTest, GroupsHaveTheBitsOfSingleCalls) {
  for (const int count : {0, 1, 2, 3, 8, 17}) {
    for (const int threads : {1, 2, 3, 8}) {
      GroupProblem group(count);
      const auto expected = group.Expected(&context_);
      SetThreads(threads);
      ASSERT_OK(MulGroup(group.products, &context_));
      ASSERT_EQ(group.result, expected) << count << " on " << threads;
    }
  }
}

TEST_P(MulBatchTest, GroupsOfBothOrdersOfSums) {
  GroupProblem group(17);
  const auto in_order = group.Expected(&context_);
  // Half of the products, those of one column among them.
  for (std::size_t i = 1; i < group.products.size(); i += 2) {
    group.products[i].mul_params.set_float_sums(FloatSums::kAnyOrder);
  }
  const auto expected = group.Expected(&context_);
  EXPECT_EQ(expected != in_order, HasOtherOrder());
  for (const int threads : {1, 3}) {
    UseThreads(threads, &context_);
    ASSERT_OK(MulGroup(group.products, &context_));
    ASSERT_EQ(group.result, expected) << threads << " threads";
  }
}

TEST_P(MulBatchTest, GroupsOnAnyExecutor) {
  for (const int taken : {0, 1, 4}) {
    TestExecutor executor(4, TakeLast(taken, 1));
    GroupProblem group(9);
    const auto expected = group.Expected(&context_);
    context_.set_executor(&executor);
    ASSERT_OK(MulGroup(group.products, &context_));
    EXPECT_EQ(group.result, expected);
    context_.set_executor(nullptr);
  }
}

TEST_P(MulBatchTest, GroupsOfPackedWeights) {
  BatchProblem<Int8> problem({33, 40, 50}, 4, {1, 0, false, false, true});
  const auto expected = Expected(&problem);
  std::vector<BatchItem<PackedMatrix<std::int8_t>, Matrix<std::int8_t>,
                        std::int32_t, std::int8_t>>
      products;
  for (ptrdiff_t i = 0; i < problem.batch.count; ++i) {
    Matrix<std::int8_t> lhs = problem.lhs;
    lhs.set_data(problem.lhs_values.data() + i * problem.batch.lhs_stride);
    ASSERT_VALUE(const auto packed, Pack(lhs, Side::kLhs, {}, &context_));
    products.push_back({packed, problem.rhs, problem.params, problem.dst});
    products.back().rhs.set_data(problem.rhs_values.data() +
                                 i * problem.batch.rhs_stride);
    products.back().dst.set_data(problem.result.data() +
                                 i * problem.batch.dst_stride);
    products.back().mul_params.set_bias(problem.bias_values.data() +
                                        i * problem.batch.bias_stride);
  }
  ASSERT_OK(MulGroup(products, &context_));
  EXPECT_TRUE(problem.Holds(expected));
}

}  // namespace
}  // namespace ruy_like
