// What is special about float: NaN and Inf, denormals, the caller's
// floating-point state, and that a dst element depends on its own row and
// column alone. Error bounds are checked by mul_runner.h wherever a MulProblem
// is of floats.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/thread_pool.h"
#include "test/support/guarded_buffer.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/test_util.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ruy_like {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr std::ptrdiff_t kEdges[] = {1,  2,  5,  6,  7,  8, 9,
                                     15, 16, 17, 31, 47, 49};

std::vector<float> RandomFloats(std::size_t size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(rng.Signed());
  return values;
}

class FloatMulTest : public PathTest {
 protected:
  // Row-major lhs, column-major rhs, dst in this order without gaps.
  std::vector<float> Product(const std::vector<float>& lhs_values,
                             const std::vector<float>& rhs_values,
                             std::ptrdiff_t rows, std::ptrdiff_t depth,
                             std::ptrdiff_t cols, Order order,
                             const MulParams<float, float>& params = {}) {
    const auto lhs =
        MakeMatrix(lhs_values.data(), rows, depth, Order::kRowMajor);
    const auto rhs =
        MakeMatrix(rhs_values.data(), depth, cols, Order::kColMajor);
    std::vector<float> result(rows * cols);
    auto dst = MakeMatrix(result.data(), rows, cols, order);
    const absl::Status status = Mul(lhs, rhs, params, &context_, &dst);
    EXPECT_TRUE(status.ok()) << status;
    return result;
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(FloatMulTest);

TEST_P(FloatMulTest, NanGoesToItsRowAndNoFurther) {
  for (const std::ptrdiff_t rows : kEdges) {
    for (const std::ptrdiff_t cols : kEdges) {
      constexpr std::ptrdiff_t kDepth = 19;
      std::vector<float> lhs = RandomFloats(rows * kDepth, 1);
      const std::vector<float> rhs = RandomFloats(kDepth * cols, 2);
      const std::ptrdiff_t nan_row = rows / 2;
      lhs[nan_row * kDepth + 18] = kNan;
      MulParams<float, float> params;
      params.set_clamp_min(-1);
      params.set_clamp_max(1);
      for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
        const std::vector<float> result =
            Product(lhs, rhs, rows, kDepth, cols, order, params);
        const auto dst = MakeMatrix(result.data(), rows, cols, order);
        for (std::ptrdiff_t row = 0; row < rows; ++row) {
          for (std::ptrdiff_t col = 0; col < cols; ++col) {
            ASSERT_EQ(std::isnan(Element(dst, row, col)), row == nan_row)
                << rows << "x" << cols << " at " << row << ", " << col
                << " kernel " << context_.last_used_kernel();
          }
        }
      }
    }
  }
}

TEST_P(FloatMulTest, NanInBiasSurvivesTheClamp) {
  const std::vector<float> lhs = RandomFloats(17, 1), rhs = RandomFloats(17, 2);
  std::vector<float> bias(17, 0.f);
  bias[5] = kNan;
  MulParams<float, float> params;
  params.set_bias(bias.data());
  params.set_clamp_min(0);
  params.set_clamp_max(6);
  for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
    const std::vector<float> result =
        Product(lhs, rhs, 17, 1, 17, order, params);
    const auto dst = MakeMatrix(result.data(), 17, 17, order);
    for (std::ptrdiff_t row = 0; row < 17; ++row) {
      for (std::ptrdiff_t col = 0; col < 17; ++col) {
        ASSERT_EQ(std::isnan(Element(dst, row, col)), row == 5);
      }
    }
  }
}

// If a pad took part, 0 * Inf would turn sums of Inf into NaN. Gaps are NaN.
TEST_P(FloatMulTest, InfinityNextToPadsAndGaps) {
  for (const std::ptrdiff_t rows : kEdges) {
    for (const std::ptrdiff_t cols : kEdges) {
      for (const std::ptrdiff_t depth : {1, 7, 16, 17}) {
        for (int orders = 0; orders < 4; ++orders) {
          const auto order = [orders](int bit) {
            return (orders >> bit) & 1 ? Order::kRowMajor : Order::kColMajor;
          };
          auto lhs = MakeMatrix(static_cast<float*>(nullptr), rows, depth,
                                order(0), 3);
          auto rhs = MakeMatrix(static_cast<float*>(nullptr), depth, cols,
                                order(1), 3);
          std::vector<float> lhs_values(SpanOf(lhs.layout()), kNan);
          std::vector<float> rhs_values(SpanOf(rhs.layout()), kNan);
          lhs.set_data(lhs_values.data());
          rhs.set_data(rhs_values.data());
          for (std::ptrdiff_t k = 0; k < depth; ++k) {
            for (std::ptrdiff_t i = 0; i < rows; ++i) {
              *ElementPtr(&lhs, i, k) = kInf;
            }
            for (std::ptrdiff_t j = 0; j < cols; ++j) {
              *ElementPtr(&rhs, k, j) = -kInf;
            }
          }
          std::vector<float> result(rows * cols);
          auto dst = MakeMatrix(result.data(), rows, cols, order(rows % 2));
          ASSERT_TRUE(
              Mul(lhs, rhs, MulParams<float, float>(), &context_, &dst).ok());
          ASSERT_EQ(result, std::vector<float>(rows * cols, -kInf))
              << rows << "x" << depth << "x" << cols << " kernel "
              << context_.last_used_kernel();
        }
      }
    }
  }
}

TEST_P(FloatMulTest, InfinityMinusInfinityIsNan) {
  const std::vector<float> result =
      Product({kInf, kInf}, {1, -1}, 1, 2, 1, Order::kColMajor);
  EXPECT_TRUE(std::isnan(result[0]));
  const std::vector<float> zero =
      Product({kInf, 1}, {0, 1}, 1, 2, 1, Order::kColMajor);
  EXPECT_TRUE(std::isnan(zero[0]));
}

TEST_P(FloatMulTest, OverflowGivesInfinityAndTheClampTakesIt) {
  const float big = std::numeric_limits<float>::max();
  for (const std::ptrdiff_t cols : {1, 20}) {
    const std::vector<float> lhs(20, big), rhs(cols, 2.f);
    EXPECT_EQ(Product(lhs, rhs, 20, 1, cols, Order::kColMajor),
              std::vector<float>(20 * cols, kInf));
    MulParams<float, float> params;
    params.set_clamp_max(6);
    EXPECT_EQ(Product(lhs, rhs, 20, 1, cols, Order::kColMajor, params),
              std::vector<float>(20 * cols, 6.f));
  }
}

#if defined(__SSE2__) || defined(__aarch64__) || defined(__arm__)
TEST_P(FloatMulTest, DenormalResultsAreFlushed) {
  for (const std::ptrdiff_t cols : {1, 20}) {
    const std::vector<float> lhs(20, 1e-30f), rhs(cols, 1e-10f);
    EXPECT_EQ(Product(lhs, rhs, 20, 1, cols, Order::kColMajor),
              std::vector<float>(20 * cols, 0.f));
  }
}
#endif

#if defined(__SSE2__)
// MXCSR's control bits; the low six are flags that any operation may raise.
unsigned ControlBits() { return _mm_getcsr() & ~0x3fu; }

TEST_P(FloatMulTest, RestoresTheCallersControlRegister) {
  const unsigned before = _mm_getcsr();
  // Flush-to-zero and denormals-are-zero, on and off.
  for (const unsigned bits : {0u, 0x8000u, 0x0040u, 0x8040u}) {
    const unsigned control = (before & ~0x8040u) | bits;
    _mm_setcsr(control);
    for (const int threads : {1, 3}) {
      context_.set_max_num_threads(threads);
      context_.set_num_threads_strategy(
          NumThreadsStrategy::kForceMaxNumThreads);
      const std::vector<float> operand(200 * 200, 1e-30f);
      Product(operand, operand, 200, 200, 200, Order::kColMajor);
      EXPECT_EQ(ControlBits(), control & ~0x3fu) << threads << " threads";
    }
  }
  _mm_setcsr(before);
}

TEST_P(FloatMulTest, LeavesTheWorkersControlRegisterAlone) {
  struct Probe final : Task {
    void Run() override { control = ControlBits(); }
    unsigned control = 0;
  };
  context_.set_max_num_threads(4);
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  const std::vector<float> operand(200 * 200, 1.f);
  Product(operand, operand, 200, 200, 200, Order::kColMajor);
  Probe probes[4];
  context_.mutable_thread_pool()->Execute(4, probes);
  for (const Probe& probe : probes) EXPECT_EQ(probe.control, 0x1f80u);
}
#endif

// A dst element is the same, bit for bit, whatever other rows and columns the
// problem has: also where another kernel serves the smaller problem.
TEST_P(FloatMulTest, ElementsDoNotDependOnOtherRowsAndColumns) {
  constexpr std::ptrdiff_t kRows = 67, kCols = 53;
  for (const std::ptrdiff_t depth : {1, 5, 16, 67, 300, 3000}) {
    const std::vector<float> lhs = RandomFloats(kRows * depth, 1);
    const std::vector<float> rhs = RandomFloats(depth * kCols, 2);
    const std::vector<float> all =
        Product(lhs, rhs, kRows, depth, kCols, Order::kColMajor);
    for (const std::ptrdiff_t rows : {1, 2, 5, 16, 33, 67}) {
      for (const std::ptrdiff_t cols : {1, 2, 3, 8, 17, 53}) {
        for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
          // The last ones: their place in a tile changes.
          const std::vector<float> some_lhs(lhs.end() - rows * depth,
                                            lhs.end());
          const std::vector<float> some_rhs(rhs.end() - cols * depth,
                                            rhs.end());
          const std::vector<float> some =
              Product(some_lhs, some_rhs, rows, depth, cols, order);
          const auto dst = MakeMatrix(some.data(), rows, cols, order);
          for (std::ptrdiff_t row = 0; row < rows; ++row) {
            for (std::ptrdiff_t col = 0; col < cols; ++col) {
              ASSERT_EQ(Element(dst, row, col),
                        all[kRows - rows + row + (kCols - cols + col) * kRows])
                  << rows << "x" << depth << "x" << cols << " at " << row
                  << ", " << col << " kernel " << context_.last_used_kernel();
            }
          }
        }
      }
    }
  }
}

// Sums of small integers are exact in any order.
TEST_P(FloatMulTest, ExactWhereTheSumIs) {
  for (const std::ptrdiff_t depth : {1, 100, 5000}) {
    const std::vector<float> lhs = RandomVector<float>(33 * depth, -50, 50, 1);
    const std::vector<float> rhs = RandomVector<float>(depth * 9, -50, 50, 2);
    const std::vector<float> result =
        Product(lhs, rhs, 33, depth, 9, Order::kColMajor);
    for (std::ptrdiff_t row = 0; row < 33; ++row) {
      for (std::ptrdiff_t col = 0; col < 9; ++col) {
        double sum = 0;
        for (std::ptrdiff_t k = 0; k < depth; ++k) {
          sum +=
              static_cast<double>(lhs[row * depth + k]) * rhs[col * depth + k];
        }
        ASSERT_EQ(result[row + col * 33], sum);
      }
    }
  }
}

// Mixes of float and double: rounding once on the way into dst, not before.
TEST_P(FloatMulTest, DoubleAccumulatorsKeepWhatFloatsWouldLose) {
  const float lhs_values[] = {1.f, 1.f, -1.f};
  const double rhs_values[] = {1.0, 0x1p-40, 1.0};
  const auto lhs = MakeMatrix(lhs_values, 1, 3, Order::kRowMajor);
  const auto rhs = MakeMatrix(rhs_values, 3, 1, Order::kColMajor);
  float single = 0;
  auto single_dst = MakeMatrix(&single, 1, 1, Order::kColMajor);
  ASSERT_TRUE(
      Mul(lhs, rhs, MulParams<double, float>(), &context_, &single_dst).ok());
  EXPECT_EQ(single, 0x1p-40f);
  double wide = 0;
  auto wide_dst = MakeMatrix(&wide, 1, 1, Order::kColMajor);
  ASSERT_TRUE(
      Mul(lhs, rhs, MulParams<double, double>(), &context_, &wide_dst).ok());
  EXPECT_EQ(wide, 0x1p-40);
}

}  // namespace
}  // namespace ruy_like
