// What is special about float: NaN and Inf, denormals, the caller's
// floating-point state, and that a dst element depends on its own row and
// column alone. Error bounds are checked by mul_runner.h wherever a MulProblem
// is of floats.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/thread_pool.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kEdges[] = {1,  2,  5,  6,  7,  8, 9,
                                     15, 16, 17, 31, 47, 49};

class FloatMulTest : public PathTest {
 protected:
  // Row-major lhs, column-major rhs, dst in this order without gaps.
  std::vector<float> Product(const std::vector<float>& lhs_values,
                             const std::vector<float>& rhs_values,
                             std::ptrdiff_t rows, std::ptrdiff_t depth,
                             std::ptrdiff_t cols, Order order,
                             const MulParams<float, float>& params = {}) {
    const auto lhs = RowMajorOf(lhs_values, rows, depth);
    const auto rhs = ColMajorOf(rhs_values, depth, cols);
    return MulTo<float>(lhs, rhs, params, &context_, order);
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(FloatMulTest);

TEST_P(FloatMulTest, NanGoesToItsRowAndNoFurther) {
  for (const std::ptrdiff_t rows : kEdges) {
    for (const std::ptrdiff_t cols : kEdges) {
      constexpr std::ptrdiff_t kDepth = 19;
      std::vector<float> lhs = RandomReals<float>(rows * kDepth, 1);
      const std::vector<float> rhs = RandomReals<float>(kDepth * cols, 2);
      const std::ptrdiff_t nan_row = rows / 2;
      lhs[nan_row * kDepth + 18] = kNan;
      MulParams<float, float> params;
      params.set_clamp_min(-1);
      params.set_clamp_max(1);
      for (const Order order : kOrders) {
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
  const std::vector<float> lhs = RandomReals<float>(17, 1),
                           rhs = RandomReals<float>(17, 2);
  std::vector<float> bias(17, 0.f);
  bias[5] = kNan;
  MulParams<float, float> params;
  params.set_bias(bias.data());
  params.set_clamp_min(0);
  params.set_clamp_max(6);
  for (const Order order : kOrders) {
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
          auto lhs = MakeMatrix(static_cast<float*>(nullptr), rows, depth,
                                OrderOf(orders, 0), 3);
          auto rhs = MakeMatrix(static_cast<float*>(nullptr), depth, cols,
                                OrderOf(orders, 1), 3);
          std::vector<float> lhs_values(SpanOf(lhs.layout()), kNan);
          std::vector<float> rhs_values(SpanOf(rhs.layout()), kNan);
          lhs.set_data(lhs_values.data());
          rhs.set_data(rhs_values.data());
          FillElements(&lhs, [] { return kInf; });
          FillElements(&rhs, [] { return -kInf; });
          ASSERT_EQ(
              MulTo<float>(lhs, rhs, &context_, OrderOf(orders, rows % 2)),
              std::vector<float>(rows * cols, -kInf))
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
      UseThreads(threads, &context_);
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
  UseThreads(4, &context_);
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
    const std::vector<float> lhs = RandomReals<float>(kRows * depth, 1);
    const std::vector<float> rhs = RandomReals<float>(depth * kCols, 2);
    const std::vector<float> all =
        Product(lhs, rhs, kRows, depth, kCols, Order::kColMajor);
    for (const std::ptrdiff_t rows : {1, 2, 5, 16, 33, 67}) {
      for (const std::ptrdiff_t cols : {1, 2, 3, 8, 17, 53}) {
        for (const Order order : kOrders) {
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
    FloatProduct product(33, depth, 9);
    EXPECT_OK(product.Run(&context_));
    product.ExpectIs(product.Expected());
  }
}

// Mixes of float and double: rounding once on the way into dst, not before.
TEST_P(FloatMulTest, DoubleAccumulatorsKeepWhatFloatsWouldLose) {
  const float lhs_values[] = {1.f, 1.f, -1.f};
  const double rhs_values[] = {1.0, 0x1p-40, 1.0};
  const auto lhs = RowMajorOf(lhs_values, 1, 3);
  const auto rhs = ColMajorOf(rhs_values, 3, 1);
  EXPECT_EQ(MulTo<float>(lhs, rhs, MulParams<double, float>(), &context_)[0],
            0x1p-40f);
  EXPECT_EQ(MulTo<double>(lhs, rhs, &context_)[0], 0x1p-40);
}

}  // namespace
}  // namespace ruy_like
