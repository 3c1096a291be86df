// From accumulators to dst, on every path: bias, multipliers, clamp, channels.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/reference_mul.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::int32_t kInt32Min = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr int kMinExponent = -31;
constexpr int kMaxExponent = 30;

// Rows and columns that are not multiples of any tile, and narrow ones.
constexpr std::ptrdiff_t kShapes[][3] = {
    {21, 10, 19}, {33, 11, 1}, {1, 10, 33}};

bool IsQuantized(const Types& types) {
  return types.accum == Scalar::kI32 && types.dst != Scalar::kI32;
}

class MulEpilogueTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(MulEpilogueTest);

// The bias spreads the sums over all of int32, so that large exponents saturate
// and small ones round to nothing.
TEST_P(MulEpilogueTest, EveryExponent) {
  for (const Types& types : IntegerTypes()) {
    if (!IsQuantized(types)) continue;
    for (int exponent = kMinExponent; exponent <= kMaxExponent; ++exponent) {
      for (const auto& shape : kShapes) {
        MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
        p.dst.order = exponent % 2 == 0 ? Order::kRowMajor : Order::kColMajor;
        p.dst.zero_point = static_cast<std::int32_t>(LowestOf(types.dst) + 100);
        p.min_exponent = p.max_exponent = exponent;
        p.min_fixedpoint = 0;
        p.bias = BiasKind::kExtreme;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

// Sums that the test chooses itself: depth 0, and a bias for each row.
TEST_P(MulEpilogueTest, ChosenSums) {
  constexpr std::int32_t kHalf = 1 << 30;
  std::vector<std::int32_t> sums = {kInt32Min, kInt32Max, -3, -2, 2, 3};
  for (const std::int32_t edge :
       {kInt32Min, -kHalf - 1, -65537, -32769, -129, -1, 0, 127, 255, 32767,
        65535, kHalf - 1, kInt32Max - 1}) {
    sums.push_back(edge);
    sums.push_back(edge + 1);
  }
  const std::ptrdiff_t rows = static_cast<std::ptrdiff_t>(sums.size());
  const std::vector<std::int32_t> fixedpoints = {
      0, 1, 2, kHalf - 1, kHalf, kHalf + 1, 3 << 29, kInt32Max};
  const auto lhs =
      MakeMatrix(static_cast<std::int8_t*>(nullptr), rows, 0, Order::kRowMajor);
  for (const std::ptrdiff_t cols : {1, 3, 17}) {
    const auto rhs = MakeMatrix(static_cast<std::int8_t*>(nullptr), 0, cols,
                                Order::kColMajor);
    for (const std::int32_t fixedpoint : fixedpoints) {
      for (int exponent = kMinExponent; exponent <= kMaxExponent; ++exponent) {
        MulParams<std::int32_t, std::int16_t> params;
        params.set_bias(sums.data());
        params.set_multiplier_fixedpoint(fixedpoint);
        params.set_multiplier_exponent(exponent);
        std::vector<std::int16_t> actual(rows * cols), expected(rows * cols);
        auto dst = MakeMatrix(actual.data(), rows, cols, Order::kColMajor);
        dst.set_zero_point(-3);
        ASSERT_TRUE(Mul(lhs, rhs, params, &context_, &dst).ok());
        dst.set_data(expected.data());
        ReferenceMul(lhs, rhs, params, &dst);
        ASSERT_EQ(actual, expected)
            << "fixedpoint " << fixedpoint << " exponent " << exponent
            << " kernel " << context_.last_used_kernel();
      }
    }
  }
}

// Rounding is half up, once: a tie either way, and a value that a first
// rounding to 31 bits would push over a tie.
TEST_P(MulEpilogueTest, RoundsOnceHalfUp) {
  struct Case {
    std::int32_t sum, fixedpoint;
    int exponent;
    std::int8_t expected;
  };
  constexpr Case kCases[] = {
      {1, 1 << 30, 0, 1},     // 0.5
      {-1, 1 << 30, 0, 0},    // -0.5
      {3, 1 << 30, 0, 2},     // 1.5
      {-3, 1 << 30, 0, -1},   // -1.5
      {5, 1 << 30, -1, 1},    // 1.25
      {6, 1 << 30, -1, 2},    // 1.5
      {-6, 1 << 30, -1, -1},  // -1.5
      // 0.5 - 2^-31: two roundings give 0.5, then 1.
      {1, (1 << 30) - 1, 0, 0},
      // (1 - 2^-30) * 2^-1 = 0.5 - 2^-31; rounded to an integer first it is 1,
      // and half of that rounds to 1.
      {2, (1 << 30) - 1, -1, 0},
      // 1.49...: ditto.
      {6, (1 << 30) - 1, -1, 1},
      {-1, (1 << 30) + 1, 0, -1},
  };
  std::int8_t one = 1;
  const auto lhs = MakeMatrix(&one, 1, 1, Order::kRowMajor);
  for (const Case& c : kCases) {
    // One as the product, the rest as the bias; in 1 and in 40 columns.
    for (const std::ptrdiff_t cols : {1, 40}) {
      std::vector<std::int8_t> ones(cols, 1), result(cols);
      const auto rhs = MakeMatrix(ones.data(), 1, cols, Order::kColMajor);
      auto dst = MakeMatrix(result.data(), 1, cols, Order::kColMajor);
      const std::int32_t bias = c.sum - 1;
      MulParams<std::int32_t, std::int8_t> params;
      params.set_bias(&bias);
      params.set_multiplier_fixedpoint(c.fixedpoint);
      params.set_multiplier_exponent(c.exponent);
      ASSERT_TRUE(Mul(lhs, rhs, params, &context_, &dst).ok());
      EXPECT_EQ(result, std::vector<std::int8_t>(cols, c.expected))
          << c.sum << " * " << c.fixedpoint << " * 2^" << c.exponent;
    }
  }
}

TEST_P(MulEpilogueTest, TheDefaultMultiplierIsOne) {
  for (const Types& types : IntegerTypes()) {
    for (const auto& shape : kShapes) {
      MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
      p.multiplier = MultiplierKind::kDefault;
      ASSERT_TRUE(CheckProblem(p, &context_));
    }
  }
  // Not only as the reference has it: 3 * 5 + 7 is 22, 100 * 100 saturates.
  std::int8_t a[] = {3, 100}, b[] = {5, 100};
  std::int8_t result[4];
  const std::int32_t bias[] = {7, 0};
  const auto lhs = MakeMatrix(a, 2, 1, Order::kRowMajor);
  const auto rhs = MakeMatrix(b, 1, 2, Order::kColMajor);
  auto dst = MakeMatrix(result, 2, 2, Order::kRowMajor);
  MulParams<std::int32_t, std::int8_t> params;
  params.set_bias(bias);
  ASSERT_TRUE(Mul(lhs, rhs, params, &context_, &dst).ok());
  EXPECT_EQ(result[0], 22);
  EXPECT_EQ(result[1], 127);
  EXPECT_EQ(result[2], 127);
  EXPECT_EQ(result[3], 127);
}

TEST_P(MulEpilogueTest, ChannelsAlongRowsAndColumns) {
  constexpr std::ptrdiff_t kWider[][3] = {
      {1, 5, 1}, {2, 5, 50}, {50, 5, 2}, {65, 5, 97}, {97, 5, 65}};
  for (const Types& types : AllTypes()) {
    for (const ChannelDimension dimension :
         {ChannelDimension::kRow, ChannelDimension::kCol}) {
      for (int orders = 0; orders < 8; ++orders) {
        for (const auto& shape : kWider) {
          MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
          SetOrders(orders, &p);
          p.channel_dimension = dimension;
          p.bias = BiasKind::kModerate;
          p.multiplier = MultiplierKind::kPerChannel;
          p.min_exponent -= 3;
          ASSERT_TRUE(CheckProblem(p, &context_));
        }
      }
    }
  }
}

// Each block of a larger product finds its own channels.
TEST_P(MulEpilogueTest, ChannelsOfSeveralBlocks) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (const Types& types : AllTypes()) {
    for (const ChannelDimension dimension :
         {ChannelDimension::kRow, ChannelDimension::kCol}) {
      for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
        MulProblem p = MakeProblem(types, 230, 9, 210);
        p.dst.order = order;
        p.channel_dimension = dimension;
        p.bias = BiasKind::kModerate;
        p.multiplier = MultiplierKind::kPerChannel;
        p.min_exponent -= 3;
        p.num_threads = 4;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

// Some channels scale up and may saturate, others down: per-channel exponents
// of both signs.
TEST_P(MulEpilogueTest, ExponentsOfBothSignsAmongChannels) {
  for (const Types& types : IntegerTypes()) {
    if (!IsQuantized(types)) continue;
    for (const ChannelDimension dimension :
         {ChannelDimension::kRow, ChannelDimension::kCol}) {
      for (int seed = 0; seed < 8; ++seed) {
        MulProblem p = MakeProblem(types, 53, 20, 51);
        p.dst.order = seed % 2 == 0 ? Order::kRowMajor : Order::kColMajor;
        p.channel_dimension = dimension;
        p.multiplier = MultiplierKind::kPerChannel;
        p.min_exponent = kMinExponent;
        p.max_exponent = kMaxExponent;
        p.min_fixedpoint = 0;
        p.bias = seed % 3 == 0 ? BiasKind::kExtreme : BiasKind::kModerate;
        p.data_seed = seed;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

TEST_P(MulEpilogueTest, Clamps) {
  for (const Types& types : AllTypes()) {
    const double low = static_cast<double>(LowestOf(types.dst));
    const double high = static_cast<double>(HighestOf(types.dst));
    const double middle = (low + high) / 2;
    const double bounds[][2] = {
        {low, high}, {low, low}, {high, high}, {middle, high}, {low, middle}};
    for (const auto& bound : bounds) {
      for (const auto& shape : kShapes) {
        MulProblem p = MakeProblem(types, shape[0], shape[1], shape[2]);
        p.bias = BiasKind::kModerate;
        p.clamp = true;
        p.clamp_min = bound[0];
        p.clamp_max = bound[1];
        if (!IsFloat(types.dst)) {
          p.clamp_min =
              static_cast<double>(static_cast<std::int64_t>(bound[0]));
          p.clamp_max =
              static_cast<double>(static_cast<std::int64_t>(bound[1]));
        }
        p.dst.zero_point =
            IsFloat(types.dst)
                ? 0
                : static_cast<std::int32_t>(LowestOf(types.dst) + 50);
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

}  // namespace
}  // namespace ruy_like
