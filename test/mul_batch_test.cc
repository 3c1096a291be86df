// MulBatch and MulGroup: the bits of single calls, whatever the types, strides,
// threads and Executors; bad input is refused as a whole, by the product's
// number. Runs under ThreadSanitizer too (label "concurrency").
#include "ruy_like/mul_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "ruy_like/executor.h"
#include "ruy_like/float16.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;
using testing::HasSubstr;
using testing::StartsWith;

template <typename Lhs_, typename Rhs_, typename Accum_, typename Dst_>
struct TypeSet {
  using Lhs = Lhs_;
  using Rhs = Rhs_;
  using Accum = Accum_;
  using Dst = Dst_;
};
// Each family, and each kind of dst.
using Int8 = TypeSet<std::int8_t, std::int8_t, std::int32_t, std::int8_t>;
using Raw = TypeSet<std::uint8_t, std::int8_t, std::int32_t, std::int32_t>;
using Scaled = TypeSet<std::int8_t, std::uint8_t, std::int32_t, float>;
using Wide = TypeSet<std::int8_t, std::int16_t, std::int32_t, std::int16_t>;
using WideLhs = TypeSet<std::int16_t, std::int8_t, std::int32_t, std::int32_t>;
using Float = TypeSet<float, float, float, float>;
using Double = TypeSet<double, double, double, double>;
using Mixed = TypeSet<float, double, double, float>;
using BFloat = TypeSet<BFloat16, BFloat16, float, BFloat16>;
using HalfByFloat = TypeSet<Float16, float, float, float>;

// Some value of the type; floats with all of their bits in use.
template <typename T>
std::vector<T> Values(ptrdiff_t size, std::uint64_t seed) {
  if constexpr (!std::is_integral_v<T>) {
    Rng rng(seed);
    std::vector<T> values(size);
    for (T& value : values) value = static_cast<T>(rng.Signed());
    return values;
  } else {
    return RandomVector<T>(size, std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max(), seed);
  }
}

struct Shape {
  ptrdiff_t rows, depth, cols;
};

// How the products of a batch differ from the plainest ones.
struct Variant {
  int orders = 0;  // of lhs, rhs and dst: bits 0 to 2 are row-major
  ptrdiff_t gap = 0;
  bool same_lhs = false, same_rhs = false;
  bool own_bias = false;
  CachePolicy cache_policy = CachePolicy::kNeverCache;
};

constexpr Variant kVariants[] = {
    {1},
    {0, 3, true, false, true},
    {7, 1, false, true},
    {2, 0, true, true, true},
    {6, 2, false, false, false, CachePolicy::kAlwaysCache},
};

inline Order OrderOf(const Variant& variant, int matrix) {
  return (variant.orders >> matrix & 1) != 0 ? Order::kRowMajor
                                             : Order::kColMajor;
}

// A batch with its memory, and what single calls make of it.
template <typename Types>
struct BatchProblem {
  using Lhs = typename Types::Lhs;
  using Rhs = typename Types::Rhs;
  using Accum = typename Types::Accum;
  using Dst = typename Types::Dst;
  using Bias = std::conditional_t<
      std::is_floating_point_v<Dst> && std::is_integral_v<Accum>, float, Accum>;
  static constexpr bool kIsScaled = !std::is_same_v<Bias, Accum>;
  static constexpr bool kIsQuantized =
      std::is_integral_v<Dst> && sizeof(Dst) < sizeof(Accum);

  BatchProblem(const Shape& shape, ptrdiff_t count, const Variant& variant) {
    lhs = View<Lhs>(shape.rows, shape.depth, variant, 0);
    rhs = View<Rhs>(shape.depth, shape.cols, variant, 1);
    dst = View<Dst>(shape.rows, shape.cols, variant, 2);
    batch.count = count;
    batch.lhs_stride = variant.same_lhs ? 0 : SpanOf(lhs.layout()) + 3;
    batch.rhs_stride = variant.same_rhs ? 0 : SpanOf(rhs.layout()) + 1;
    batch.dst_stride = SpanOf(dst.layout()) + 2;
    batch.bias_stride = variant.own_bias ? shape.rows + 1 : 0;
    lhs_values =
        Values<Lhs>(SpanOf(lhs.layout()) + count * batch.lhs_stride, 1);
    rhs_values =
        Values<Rhs>(SpanOf(rhs.layout()) + count * batch.rhs_stride, 2);
    const auto bias = RandomVector<std::int32_t>(
        shape.rows + count * batch.bias_stride, -1000, 1000, 3);
    bias_values.assign(bias.begin(), bias.end());
    result.assign(SpanOf(dst.layout()) + count * batch.dst_stride, Dst{77});
    lhs.set_data(lhs_values.data());
    rhs.set_data(rhs_values.data());
    dst.set_data(result.data());
    SetNumbers(variant);
  }
  BatchProblem(const BatchProblem&) = delete;
  BatchProblem& operator=(const BatchProblem&) = delete;

  template <typename T>
  static Matrix<T> View(ptrdiff_t rows, ptrdiff_t cols, const Variant& variant,
                        int matrix) {
    return MakeMatrix(static_cast<T*>(nullptr), rows, cols,
                      OrderOf(variant, matrix), variant.gap);
  }
  void SetNumbers(const Variant& variant) {
    if constexpr (sizeof(Lhs) == 1) lhs.set_zero_point(3);
    if constexpr (sizeof(Rhs) == 1) rhs.set_zero_point(5);
    lhs.set_cache_policy(variant.cache_policy);
    rhs.set_cache_policy(variant.cache_policy);
    params.set_bias(bias_values.data());
    if constexpr (kIsQuantized) {
      params.set_multiplier_fixedpoint(1 << 30);
      params.set_multiplier_exponent(-8);
    }
    if constexpr (kIsScaled) {
      params.set_lhs_scale(0.25f);
      params.set_rhs_scale(0.3f);
    }
  }

  absl::Status Run(Context* context, const MulOptions& options = {}) {
    return MulBatch(lhs, rhs, params, batch, context, &dst, options);
  }
  absl::Status Prepare(int threads, Context* context, MulPlan* plan) {
    return plan->PrepareBatch(lhs, rhs, params, batch, threads, context, &dst);
  }
  template <typename LhsMatrix, typename RhsMatrix>
  void RunOne(ptrdiff_t i, LhsMatrix one_lhs, RhsMatrix one_rhs,
              std::vector<Dst>* results, Context* context) {
    if constexpr (std::is_same_v<LhsMatrix, Matrix<Lhs>>) {
      one_lhs.set_data(lhs_values.data() + i * batch.lhs_stride);
    }
    if constexpr (std::is_same_v<RhsMatrix, Matrix<Rhs>>) {
      one_rhs.set_data(rhs_values.data() + i * batch.rhs_stride);
    }
    Matrix<Dst> one_dst = dst;
    one_dst.set_data(results->data() + i * batch.dst_stride);
    auto one_params = params;
    one_params.set_bias(bias_values.data() + i * batch.bias_stride);
    ASSERT_EQ(Mul(one_lhs, one_rhs, one_params, context, &one_dst),
              absl::OkStatus());
  }
  // All of dst's memory as single calls on one thread leave it.
  std::vector<Dst> Expected(Path paths) {
    std::vector<Dst> expected(result.size(), Dst{77});
    Context context;
    context.set_runtime_enabled_paths(paths);
    for (ptrdiff_t i = 0; i < batch.count; ++i) {
      RunOne(i, lhs, rhs, &expected, &context);
    }
    return expected;
  }
  bool Holds(const std::vector<Dst>& expected) const {
    return std::memcmp(result.data(), expected.data(),
                       result.size() * sizeof(Dst)) == 0;
  }
  void Wipe() { result.assign(result.size(), Dst{77}); }

  std::vector<Lhs> lhs_values;
  std::vector<Rhs> rhs_values;
  std::vector<Bias> bias_values;
  std::vector<Dst> result;
  Matrix<Lhs> lhs;
  Matrix<Rhs> rhs;
  Matrix<Dst> dst;
  MulParams<Accum, Dst> params;
  Batch batch;
};

constexpr Shape kShapes[] = {{1, 1, 1},    {5, 7, 3},      {17, 19, 23},
                             {33, 40, 1},  {1, 40, 33},    {4, 0, 6},
                             {70, 70, 70}, {30, 1500, 40}, {150, 64, 130}};
constexpr ptrdiff_t kLarge = 70 * 70 * 70;

class MulBatchTest : public PathTest {
 protected:
  template <typename Types>
  void TestTypes() {
    int seed = 0;
    for (const Shape& shape : kShapes) {
      const bool is_large = shape.rows * shape.depth * shape.cols >= kLarge;
      for (const Variant& variant : kVariants) {
        if (is_large && ++seed % 2 == 0) continue;
        for (const ptrdiff_t count : {0, 1, 2, 3, 5, 17}) {
          if (count > (is_large ? 3 : kSanitized ? 5 : 17)) continue;
          BatchProblem<Types> problem(shape, count, variant);
          TestProblem(&problem, variant);
        }
      }
    }
  }
  template <typename Problem>
  void TestProblem(Problem* problem, const Variant& variant) {
    const auto expected = problem->Expected(GetParam() | Path::kPortable);
    for (const int threads : {1, 2, 5, 8}) {
      if (kSanitized && threads == 5) continue;
      context_.set_max_num_threads(threads);
      context_.set_num_threads_strategy(
          threads == 2 ? NumThreadsStrategy::kDefault
                       : NumThreadsStrategy::kForceMaxNumThreads);
      problem->Wipe();
      ASSERT_EQ(problem->Run(&context_), absl::OkStatus());
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
    ASSERT_EQ(problem->Prepare(threads, &context_, &plan), absl::OkStatus());
    ASSERT_LE(plan.num_threads(), threads);
    for (int repeat = 0; repeat < 2; ++repeat) {
      problem->Wipe();
      for (int i = threads - 1; i >= 0; --i) {
        ASSERT_EQ(plan.Run(i), absl::OkStatus());
      }
      ASSERT_EQ(plan.Finish(), absl::OkStatus());
      ASSERT_TRUE(problem->Holds(expected))
          << problem->batch.count << " products planned, " << threads
          << " threads, repeat " << repeat << ", "
          << context_.last_used_kernel();
      ASSERT_EQ(plan.Repeat(), absl::OkStatus());
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

TEST_P(MulBatchTest, EveryCountUpTo17) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (ptrdiff_t count = 0; count <= 17; ++count) {
    for (int threads = 1; threads <= 8; ++threads) {
      BatchProblem<Float> problem({40, 33, 70}, count, {1});
      context_.set_max_num_threads(threads);
      ASSERT_EQ(problem.Run(&context_), absl::OkStatus());
      ASSERT_TRUE(problem.Holds(problem.Expected(GetParam() | Path::kPortable)))
          << count << " on " << threads;
    }
  }
}

// Takes calls up to `taken` and drops the others; or runs them twice.
class OddExecutor final : public Executor {
 public:
  OddExecutor(int taken, int repeats) : taken_(taken), repeats_(repeats) {}
  int max_concurrency() const override { return 4; }
  void ParallelFor(int count, void (*function)(void*, int),
                   void* argument) override {
    ++calls;
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      for (int i = count - 1; i >= count - taken_ && i >= 0; --i) {
        function(argument, i);
      }
    }
  }
  int calls = 0;

 private:
  int taken_, repeats_;
};

TEST_P(MulBatchTest, AnyExecutorGivesACompleteResult) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (const int taken : {0, 1, 3, 4}) {
    for (const ptrdiff_t count : {2, 3, 8, 100}) {
      OddExecutor executor(taken, /*repeats=*/taken == 4 ? 2 : 1);
      context_.set_executor(&executor);
      BatchProblem<Int8> problem({70, 33, 70}, count, {1, 0, true});
      ASSERT_EQ(problem.Run(&context_), absl::OkStatus());
      EXPECT_EQ(executor.calls, 1) << "one parallel region";
      ASSERT_TRUE(problem.Holds(problem.Expected(GetParam() | Path::kPortable)))
          << count << " with " << taken;
      context_.set_executor(nullptr);
    }
  }
}

// On threads at once, which may be missing, and on an Executor's; of whole
// products and of large ones that are cut.
TEST_P(MulBatchTest, PlansOnTheCallersThreads) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (const Shape& shape : {Shape{24, 20, 16}, Shape{150, 64, 130}}) {
    BatchProblem<Int8> problem(shape, 9, {1, 0, true});
    const auto expected = problem.Expected(GetParam() | Path::kPortable);
    MulPlan plan;
    ASSERT_EQ(problem.Prepare(4, &context_, &plan), absl::OkStatus());
    EXPECT_EQ(plan.num_threads(), 4);
    for (const int missing : {0, 1, 3, 4}) {
      problem.Wipe();
      std::vector<std::thread> threads;
      for (int i = missing; i < 4; ++i) {
        threads.emplace_back(
            [&plan, i] { EXPECT_EQ(plan.Run(i), absl::OkStatus()); });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(plan.Finish(), absl::OkStatus());
      EXPECT_TRUE(problem.Holds(expected)) << missing << " missing";
      EXPECT_EQ(plan.Repeat(), absl::OkStatus());
    }
    problem.Wipe();
    OddExecutor executor(4, /*repeats=*/2);
    executor.ParallelFor(
        4,
        [](void* p, int i) {
          EXPECT_EQ(static_cast<MulPlan*>(p)->Run(i), absl::OkStatus());
        },
        &plan);
    EXPECT_EQ(plan.Finish(), absl::OkStatus());
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
    ASSERT_EQ(problem.Prepare(threads, &context_, &plan), absl::OkStatus());
    ASSERT_EQ(plan.Finish(), absl::OkStatus());
    for (std::uint8_t& value : problem.lhs_values) value = 255;
    for (std::int8_t& value : problem.rhs_values) value = -127;
    for (std::int32_t& value : problem.bias_values) value += 3;
    problem.rhs.set_value_range(ValueRange::kFull);
    const auto expected = problem.Expected(GetParam() | Path::kPortable);
    ASSERT_EQ(plan.Repeat(), absl::OkStatus());
    for (int i = 0; i < threads; ++i) {
      ASSERT_EQ(plan.Run(i), absl::OkStatus());
    }
    ASSERT_EQ(plan.Finish(), absl::OkStatus());
    EXPECT_TRUE(problem.Holds(expected));
  }
}

// An operand packed ahead that this product's kernel does not read is unpacked
// once for all repetitions.
TEST_P(MulBatchTest, APlanOfAnOperandPackedForInt7) {
  BatchProblem<Raw> problem({70, 64, 70}, 5, {1, 0, true});
  const auto expected = problem.Expected(GetParam() | Path::kPortable);
  PackOptions options;
  options.pack_for = PackFor::kInt7Operand;
  const auto lhs = Pack(problem.lhs, Side::kLhs, options, &context_);
  ASSERT_TRUE(lhs.ok());
  MulPlan plan;
  ASSERT_EQ(plan.PrepareBatch(*lhs, problem.rhs, problem.params, problem.batch,
                              2, &context_, &problem.dst),
            absl::OkStatus());
  for (int repeat = 0; repeat < 3; ++repeat) {
    problem.Wipe();
    EXPECT_EQ(plan.Run(1), absl::OkStatus());
    EXPECT_EQ(plan.Finish(), absl::OkStatus());
    EXPECT_TRUE(problem.Holds(expected)) << repeat;
    EXPECT_EQ(plan.Repeat(), absl::OkStatus());
  }
}

TEST_P(MulBatchTest, TheCallsOwnLimitOfThreadsCounts) {
  context_.set_max_num_threads(4);
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  BatchProblem<Float> problem({20, 20, 20}, 8, {1});
  MulOptions options;
  options.max_num_threads = 2;
  ASSERT_EQ(problem.Run(&context_, options), absl::OkStatus());
  EXPECT_LE(context_.last_used_num_threads(), 2);
  EXPECT_NE(context_.last_used_path(), Path::kNone);
}

TEST_P(MulBatchTest, TinyProductsStayOnOneThread) {
  context_.set_max_num_threads(4);
  BatchProblem<Float> problem({2, 2, 2}, 4, {1});
  ASSERT_EQ(problem.Run(&context_), absl::OkStatus());
  EXPECT_EQ(context_.last_used_num_threads(), 1);
}

// An operand packed ahead serves all products.
TEST_P(MulBatchTest, PackedOperands) {
  for (const int threads : {1, 4}) {
    context_.set_max_num_threads(threads);
    context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
    for (const ptrdiff_t count : {1, 3, 8}) {
      BatchProblem<Int8> problem({70, 33, 70}, count, {1, 0, true, true, true});
      const auto expected = problem.Expected(GetParam() | Path::kPortable);
      const auto lhs = Pack(problem.lhs, Side::kLhs, PackOptions(), &context_);
      const auto rhs = Pack(problem.rhs, Side::kRhs, PackOptions(), &context_);
      ASSERT_TRUE(lhs.ok() && rhs.ok());
      ASSERT_EQ(MulBatch(*lhs, problem.rhs, problem.params, problem.batch,
                         &context_, &problem.dst),
                absl::OkStatus());
      EXPECT_TRUE(problem.Holds(expected));
      problem.Wipe();
      ASSERT_EQ(MulBatch(problem.lhs, *rhs, problem.params, problem.batch,
                         &context_, &problem.dst),
                absl::OkStatus());
      EXPECT_TRUE(problem.Holds(expected));
      problem.Wipe();
      ASSERT_EQ(MulBatch(*lhs, *rhs, problem.params, problem.batch, &context_,
                         &problem.dst),
                absl::OkStatus());
      EXPECT_TRUE(problem.Holds(expected));
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
        context_.set_max_num_threads(threads);
        context_.set_num_threads_strategy(
            NumThreadsStrategy::kForceMaxNumThreads);
        ASSERT_EQ(problem.Run(&context_), absl::OkStatus());
        EXPECT_TRUE(problem.Holds(full.Expected(GetParam() | Path::kPortable)))
            << breaks << " on " << threads;
      }
    }
  }
}

// Such an operand is unpacked where the other one is not int7.
TEST_P(MulBatchTest, AnOperandPackedForInt7) {
  for (const int threads : {1, 2, 8}) {
    context_.set_max_num_threads(threads);
    context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
    BatchProblem<Raw> problem({70, 64, 70}, 5, {1, 0, true});
    PackOptions options;
    options.pack_for = PackFor::kInt7Operand;
    const auto lhs = Pack(problem.lhs, Side::kLhs, options, &context_);
    ASSERT_TRUE(lhs.ok());
    ASSERT_EQ(MulBatch(*lhs, problem.rhs, problem.params, problem.batch,
                       &context_, &problem.dst),
              absl::OkStatus());
    EXPECT_TRUE(problem.Holds(problem.Expected(GetParam() | Path::kPortable)));
  }
}

// Heads side by side in the rows of one matrix, for operands and dst.
TEST_P(MulBatchTest, HeadsLieSideBySide) {
  constexpr ptrdiff_t kTokens = 20, kHeads = 6, kDim = 8, kRow = kHeads * kDim;
  const auto values = Values<float>(kTokens * kRow, 1);
  const auto weights = Values<float>(kHeads * kTokens * kTokens, 2);
  for (const int threads : {1, 4}) {
    context_.set_max_num_threads(threads);
    context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
    std::vector<float> result(kTokens * kRow), expected(kTokens * kRow);
    MulParams<float, float> params;
    Batch batch;
    batch.count = kHeads;
    batch.lhs_stride = kTokens * kTokens;
    batch.rhs_stride = kDim;
    batch.dst_stride = kDim;
    const auto lhs =
        MakeMatrix(weights.data(), kTokens, kTokens, Order::kRowMajor);
    const auto rhs =
        MakeMatrix(values.data(), kTokens, kDim, Order::kRowMajor, kRow - kDim);
    auto dst =
        MakeMatrix(result.data(), kTokens, kDim, Order::kRowMajor, kRow - kDim);
    ASSERT_EQ(MulBatch(lhs, rhs, params, batch, &context_, &dst),
              absl::OkStatus());
    for (ptrdiff_t head = 0; head < kHeads; ++head) {
      auto one_lhs = lhs;
      auto one_rhs = rhs;
      one_lhs.set_data(weights.data() + head * kTokens * kTokens);
      one_rhs.set_data(values.data() + head * kDim);
      dst.set_data(expected.data() + head * kDim);
      ASSERT_EQ(Mul(one_lhs, one_rhs, params, &context_, &dst),
                absl::OkStatus());
    }
    EXPECT_EQ(result, expected);
  }
}

// --- Groups ---

using FloatGroupProduct =
    GroupProduct<Matrix<float>, Matrix<float>, float, float>;

// Products of many shapes, an empty one and one of depth 0 among them.
struct GroupProblem {
  explicit GroupProblem(int count) {
    constexpr Shape kGroupShapes[] = {{5, 7, 3},      {64, 40, 1}, {0, 7, 3},
                                      {120, 64, 90},  {4, 0, 6},   {1, 30, 50},
                                      {300, 64, 200}, {17, 19, 23}};
    for (int i = 0; i < count; ++i) {
      const Shape& shape = kGroupShapes[i % std::size(kGroupShapes)];
      lhs.push_back(Values<float>(shape.rows * shape.depth, 3 * i + 1));
      rhs.push_back(Values<float>(shape.depth * shape.cols, 3 * i + 2));
      bias.push_back(Values<float>(shape.rows, 3 * i + 3));
      result.emplace_back(shape.rows * shape.cols, 77.f);
      FloatGroupProduct product;
      const Order order = i % 3 == 0 ? Order::kRowMajor : Order::kColMajor;
      product.lhs =
          MakeMatrix(lhs[i].data(), shape.rows, shape.depth, Order::kRowMajor);
      product.rhs = MakeMatrix(rhs[i].data(), shape.depth, shape.cols, order);
      product.dst = MakeMatrix(result[i].data(), shape.rows, shape.cols, order);
      product.mul_params.set_bias(bias[i].data());
      product.mul_params.set_clamp_min(-static_cast<float>(i) - 1);
      products.push_back(product);
    }
  }
  std::vector<std::vector<float>> Expected(Context* context) const {
    auto expected = result;
    for (std::size_t i = 0; i < products.size(); ++i) {
      Matrix<float> dst = products[i].dst;
      dst.set_data(expected[i].data());
      EXPECT_EQ(Mul(products[i].lhs, products[i].rhs, products[i].mul_params,
                    context, &dst),
                absl::OkStatus());
    }
    return expected;
  }

  std::vector<std::vector<float>> lhs, rhs, bias, result;
  std::vector<FloatGroupProduct> products;
};

TEST_P(MulBatchTest, GroupsHaveTheBitsOfSingleCalls) {
  for (const int count : {0, 1, 2, 3, 8, 17}) {
    for (const int threads : {1, 2, 3, 8}) {
      GroupProblem group(count);
      const auto expected = group.Expected(&context_);
      context_.set_max_num_threads(threads);
      context_.set_num_threads_strategy(
          threads == 2 ? NumThreadsStrategy::kDefault
                       : NumThreadsStrategy::kForceMaxNumThreads);
      ASSERT_EQ(MulGroup(group.products, &context_), absl::OkStatus());
      ASSERT_EQ(group.result, expected) << count << " on " << threads;
    }
  }
}

TEST_P(MulBatchTest, GroupsOnAnyExecutor) {
  for (const int taken : {0, 1, 4}) {
    OddExecutor executor(taken, 1);
    GroupProblem group(9);
    const auto expected = group.Expected(&context_);
    context_.set_executor(&executor);
    ASSERT_EQ(MulGroup(group.products, &context_), absl::OkStatus());
    EXPECT_EQ(group.result, expected);
    context_.set_executor(nullptr);
  }
}

TEST_P(MulBatchTest, GroupsOfPackedWeights) {
  BatchProblem<Int8> problem({33, 40, 50}, 4, {1, 0, false, false, true});
  const auto expected = problem.Expected(GetParam() | Path::kPortable);
  std::vector<GroupProduct<PackedMatrix<std::int8_t>, Matrix<std::int8_t>,
                           std::int32_t, std::int8_t>>
      products;
  for (ptrdiff_t i = 0; i < problem.batch.count; ++i) {
    Matrix<std::int8_t> lhs = problem.lhs;
    lhs.set_data(problem.lhs_values.data() + i * problem.batch.lhs_stride);
    const auto packed = Pack(lhs, Side::kLhs, PackOptions(), &context_);
    ASSERT_TRUE(packed.ok());
    products.push_back({*packed, problem.rhs, problem.params, problem.dst});
    products.back().rhs.set_data(problem.rhs_values.data() +
                                 i * problem.batch.rhs_stride);
    products.back().dst.set_data(problem.result.data() +
                                 i * problem.batch.dst_stride);
    products.back().mul_params.set_bias(problem.bias_values.data() +
                                        i * problem.batch.bias_stride);
  }
  ASSERT_EQ(MulGroup(products, &context_), absl::OkStatus());
  EXPECT_TRUE(problem.Holds(expected));
}

// --- What is refused ---

constexpr ptrdiff_t kHuge = std::numeric_limits<ptrdiff_t>::max() / 4;

class BadBatchTest : public testing::Test {
 protected:
  // Refused, with nothing written.
  template <typename Problem>
  void ExpectRefused(Problem* problem, absl::StatusCode code,
                     const char* message) {
    const auto before = problem->result;
    for (const int threads : {1, 4}) {
      context_.set_max_num_threads(threads);
      const absl::Status status = problem->Run(&context_);
      EXPECT_EQ(status.code(), code) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(message));
      EXPECT_EQ(problem->result, before);
      MulPlan plan;
      EXPECT_EQ(problem->Prepare(threads, &context_, &plan), status);
      ExpectNothingPrepared(&plan);
      EXPECT_EQ(problem->result, before);
    }
  }
  static void ExpectNothingPrepared(MulPlan* plan) {
    constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
    EXPECT_EQ(plan->num_threads(), 0);
    EXPECT_EQ(plan->Run(0).code(), kCode);
    EXPECT_EQ(plan->Finish().code(), kCode);
    EXPECT_EQ(plan->Repeat().code(), kCode);
  }

  Context context_;
  BatchProblem<Float> problem_{{4, 5, 6}, 3, {1}};
};

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST_F(BadBatchTest, NegativeNumbers) {
  problem_.batch.count = -1;
  ExpectRefused(&problem_, kInvalid, "count is negative: -1");
  for (ptrdiff_t Batch::*stride : {&Batch::lhs_stride, &Batch::rhs_stride,
                                   &Batch::dst_stride, &Batch::bias_stride}) {
    BatchProblem<Float> problem({4, 5, 6}, 3, {1});
    problem.batch.*stride = -40;
    ExpectRefused(&problem, kInvalid, "_stride is negative: -40");
  }
}

TEST_F(BadBatchTest, SizesThatOverflow) {
  for (ptrdiff_t Batch::*stride : {&Batch::lhs_stride, &Batch::rhs_stride,
                                   &Batch::dst_stride, &Batch::bias_stride}) {
    for (const ptrdiff_t value : {kHuge / 4, kHuge}) {
      BatchProblem<Float> problem({4, 5, 6}, 3, {1});
      problem.batch.*stride = value;
      ExpectRefused(&problem, absl::StatusCode::kOutOfRange, "overflows");
    }
  }
  problem_.batch.count = std::numeric_limits<ptrdiff_t>::max();
  ExpectRefused(&problem_, absl::StatusCode::kOutOfRange, "overflows");
}

TEST_F(BadBatchTest, WhatMulRefuses) {
  problem_.rhs.mutable_layout()->set_rows(4);
  ExpectRefused(&problem_, kInvalid, "product 0: dimensions do not match");
}

TEST_F(BadBatchTest, NullPointers) {
  EXPECT_EQ(MulBatch(problem_.lhs, problem_.rhs, problem_.params,
                     problem_.batch, nullptr, &problem_.dst)
                .code(),
            kInvalid);
  EXPECT_EQ(
      MulBatch(problem_.lhs, problem_.rhs, problem_.params, problem_.batch,
               &context_, static_cast<Matrix<float>*>(nullptr))
          .code(),
      kInvalid);
  EXPECT_EQ(MulGroup(std::vector<FloatGroupProduct>(), nullptr).code(),
            kInvalid);
}

TEST_F(BadBatchTest, PlansThatAreNotReady) {
  MulPlan plan;
  ExpectNothingPrepared(&plan);
  EXPECT_EQ(problem_.Prepare(0, &context_, &plan).code(), kInvalid);
  EXPECT_EQ(problem_.Prepare(1, nullptr, &plan).code(), kInvalid);
  ExpectNothingPrepared(&plan);
  ASSERT_EQ(problem_.Prepare(2, &context_, &plan), absl::OkStatus());
  EXPECT_EQ(plan.Repeat().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(plan.Run(-1).code(), kInvalid);
  EXPECT_EQ(plan.Run(2).code(), kInvalid);
  EXPECT_EQ(plan.Finish(), absl::OkStatus());
  EXPECT_EQ(plan.Run(0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(plan.Repeat(), absl::OkStatus());
  // Another one is prepared, in vain.
  problem_.batch.count = -1;
  EXPECT_EQ(problem_.Prepare(2, &context_, &plan).code(), kInvalid);
  ExpectNothingPrepared(&plan);
}

TEST_F(BadBatchTest, PlansOfNothing) {
  MulPlan plan;
  problem_.batch.count = 0;
  const auto before = problem_.result;
  ASSERT_EQ(problem_.Prepare(2, &context_, &plan), absl::OkStatus());
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(plan.num_threads(), 0);
    EXPECT_EQ(plan.Run(1), absl::OkStatus());
    EXPECT_EQ(plan.Finish(), absl::OkStatus());
    EXPECT_EQ(plan.Repeat(), absl::OkStatus());
  }
  EXPECT_EQ(problem_.result, before);
}

TEST_F(BadBatchTest, AStrideOfAPackedMatrix) {
  const auto lhs = Pack(problem_.lhs, Side::kLhs, PackOptions(), &context_);
  ASSERT_TRUE(lhs.ok());
  const absl::Status status =
      MulBatch(*lhs, problem_.rhs, problem_.params, problem_.batch, &context_,
               &problem_.dst);
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_THAT(std::string(status.message()), HasSubstr("lhs_stride is 23"));
}

TEST_F(BadBatchTest, DstThatShareElements) {
  for (const ptrdiff_t stride : {0, 1, 23}) {
    problem_.batch.dst_stride = stride;
    ExpectRefused(&problem_, kInvalid,
                  "product 1: dst shares elements with the dst of product 0");
  }
  problem_.batch.dst_stride = 24;
  EXPECT_EQ(problem_.Run(&context_), absl::OkStatus());
}

// By brute force over all elements.
TEST_F(BadBatchTest, DstMayLieInEachOthersGaps) {
  int shared = 0;
  for (const ptrdiff_t gap : {0, 1, 5, 9}) {
    for (ptrdiff_t count = 2; count <= 5; ++count) {
      for (ptrdiff_t stride = 0; stride <= 40; ++stride) {
        BatchProblem<Float> problem({3, 2, 4}, count, {0, gap, true, true});
        problem.batch.dst_stride = stride;
        problem.result.assign(400, 77.f);
        problem.dst.set_data(problem.result.data());
        std::vector<int> writers(400);
        bool is_shared = false;
        for (ptrdiff_t i = 0; i < count; ++i) {
          for (int row = 0; row < 3; ++row) {
            for (int col = 0; col < 4; ++col) {
              is_shared |=
                  ++writers[i * stride +
                            ElementOffset(problem.dst.layout(), row, col)] > 1;
            }
          }
        }
        shared += is_shared;
        EXPECT_EQ(problem.Run(&context_).ok(), !is_shared)
            << "gap " << gap << ", count " << count << ", stride " << stride;
      }
    }
  }
  EXPECT_GT(shared, 50);
}

// The operand of one product is the dst of another.
TEST_F(BadBatchTest, DstOfAnotherProductsOperand) {
  std::vector<float> memory(400, 1.f);
  problem_.lhs.set_data(memory.data());  // 3 x 23 elements
  problem_.batch.lhs_stride = 23;
  problem_.dst.set_data(memory.data() + 46);  // the third one's
  problem_.batch.dst_stride = 30;
  const auto before = memory;
  absl::Status status = problem_.Run(&context_);
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_EQ(status.message(),
            "product 0: dst shares elements with lhs of product 2");
  EXPECT_EQ(memory, before);
  // Between the operands' elements there is room.
  problem_.batch.lhs_stride = 60;
  problem_.batch.dst_stride = 60;
  problem_.dst.set_data(memory.data() + 30);
  status = problem_.Run(&context_);
  EXPECT_EQ(status, absl::OkStatus());
}

TEST_F(BadBatchTest, DstOfAnotherProductsBias) {
  std::vector<float> memory(400, 1.f);
  problem_.params.set_bias(memory.data());
  problem_.batch.bias_stride = 100;
  problem_.dst.set_data(memory.data() + 8);
  problem_.batch.dst_stride = 90;  // the second one's is 98 to 121
  const absl::Status status = problem_.Run(&context_);
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_EQ(status.message(),
            "product 1: dst shares elements with bias of product 1");
}

TEST_F(BadBatchTest, GroupsNameTheProduct) {
  const auto expect = [&](const GroupProblem& group, const char* message) {
    const auto before = group.result;
    const absl::Status status = MulGroup(group.products, &context_);
    EXPECT_EQ(status.code(), kInvalid) << status;
    EXPECT_THAT(std::string(status.message()), StartsWith(message));
    EXPECT_EQ(group.result, before);
  };
  {
    GroupProblem group(8);
    group.products[5].lhs.set_data(static_cast<float*>(nullptr));
    expect(group, "product 5: lhs");
  }
  {
    GroupProblem group(8);
    group.products[3].dst.mutable_layout()->set_rows(1);
    expect(group, "product 3: dimensions do not match");
  }
  {
    GroupProblem group(8);
    group.products[7].dst.set_data(group.result[6].data() + 5);
    expect(group, "product 7: dst shares elements with the dst of product 6");
  }
  {
    GroupProblem group(8);
    group.products[1].rhs.set_data(group.result[6].data());
    expect(group, "product 6: dst shares elements with rhs of product 1");
  }
  {
    GroupProblem group(8);
    group.products[0].mul_params.set_bias(group.result[7].data());
    expect(group, "product 7: dst shares elements with bias of product 0");
  }
  {  // dst in each other's gaps, and an operand in one of them
    GroupProblem group(8);
    std::vector<float> rows(17 * 100);
    group.products[0].dst = MakeMatrix(rows.data(), 5, 3, Order::kColMajor, 90);
    group.products[7].dst =
        MakeMatrix(rows.data() + 10, 17, 23, Order::kColMajor, 45);
    group.products[1].rhs.set_data(rows.data() + 12);
    expect(group, "product 7: dst shares elements with rhs of product 1");
  }
  {
    GroupProblem group(3);
    MulOptions options;
    options.max_num_threads = -1;
    EXPECT_EQ(MulGroup(group.products, &context_, options).code(), kInvalid);
  }
}

TEST_F(BadBatchTest, DstOfAGroupMayLieInEachOthersGaps) {
  GroupProblem group(2);
  std::vector<float> rows(400);
  group.products[0].dst = MakeMatrix(rows.data(), 5, 3, Order::kColMajor, 90);
  group.products[1] = group.products[0];
  group.products[1].dst.set_data(rows.data() + 5);
  EXPECT_EQ(MulGroup(group.products, &context_), absl::OkStatus());
  group.products[1].dst.set_data(rows.data() + 4);
  const absl::Status status = MulGroup(group.products, &context_);
  EXPECT_EQ(status.message(),
            "product 1: dst shares elements with the dst of product 0");
}

}  // namespace
}  // namespace ruy_like
