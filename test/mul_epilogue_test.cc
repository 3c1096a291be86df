// From accumulators to dst, on every path: bias, multipliers, clamp, channels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/reference_mul.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr int kMinExponent = -31;
constexpr int kMaxExponent = 30;

// Rows and columns that are not multiples of any tile, and narrow ones.
const std::vector<Shape> kShapes = {{21, 10, 19}, {33, 11, 1}, {1, 10, 33}};

std::vector<Types> QuantizedTypes() {
  std::vector<Types> result;
  for (const Types& types : IntegerTypes()) {
    if (types.dst != Scalar::kI32) result.push_back(types);
  }
  return result;
}

class MulEpilogueTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(MulEpilogueTest);

// The bias spreads the sums over all of int32, so that large exponents saturate
// and small ones round to nothing.
TEST_P(MulEpilogueTest, EveryExponent) {
  for (int exponent = kMinExponent; exponent <= kMaxExponent; ++exponent) {
    CheckEach(QuantizedTypes(), {exponent % 2 == 0 ? 5 : 1}, kShapes, &context_,
              [exponent](MulProblem* p, int) {
                p->dst.zero_point =
                    static_cast<std::int32_t>(LowestOf(p->dst.scalar) + 100);
                p->min_exponent = p->max_exponent = exponent;
                p->min_fixedpoint = 0;
                p->bias = BiasKind::kExtreme;
              });
  }
}

// Sums that the test chooses itself: depth 0, and a bias for each row.
TEST_P(MulEpilogueTest, ChosenSums) {
  constexpr std::int32_t kHalf = 1 << 30;
  std::vector<std::int32_t> sums = {INT32_MIN, INT32_MAX, -3, -2, 2, 3};
  for (const std::int32_t edge :
       {INT32_MIN, -kHalf - 1, -65537, -32769, -129, -1, 0, 127, 255, 32767,
        65535, kHalf - 1, INT32_MAX - 1}) {
    sums.push_back(edge);
    sums.push_back(edge + 1);
  }
  const std::ptrdiff_t rows = static_cast<std::ptrdiff_t>(sums.size());
  const std::vector<std::int32_t> fixedpoints = {
      0, 1, 2, kHalf - 1, kHalf, kHalf + 1, 3 << 29, INT32_MAX};
  const auto lhs = RowMajorOf(static_cast<std::int8_t*>(nullptr), rows, 0);
  for (const std::ptrdiff_t cols : {1, 3, 17}) {
    const auto rhs = ColMajorOf(static_cast<std::int8_t*>(nullptr), 0, cols);
    for (const std::int32_t fixedpoint : fixedpoints) {
      for (int exponent = kMinExponent; exponent <= kMaxExponent; ++exponent) {
        MulParams<std::int32_t, std::int16_t> params;
        params.set_bias(sums.data());
        params.set_multiplier_fixedpoint(fixedpoint);
        params.set_multiplier_exponent(exponent);
        std::vector<std::int16_t> actual(rows * cols), expected(rows * cols);
        auto dst = ColMajorOf(actual, rows, cols);
        dst.set_zero_point(-3);
        ASSERT_OK(Mul(lhs, rhs, params, &context_, &dst));
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
  const auto lhs = RowMajorOf(&one, 1, 1);
  for (const Case& c : kCases) {
    // One as the product, the rest as the bias; in 1 and in 40 columns.
    for (const std::ptrdiff_t cols : {1, 40}) {
      const std::vector<std::int8_t> ones(cols, 1);
      const auto rhs = ColMajorOf(ones, 1, cols);
      const std::int32_t bias = c.sum - 1;
      MulParams<std::int32_t, std::int8_t> params;
      params.set_bias(&bias);
      params.set_multiplier_fixedpoint(c.fixedpoint);
      params.set_multiplier_exponent(c.exponent);
      EXPECT_EQ(MulTo<std::int8_t>(lhs, rhs, params, &context_),
                std::vector<std::int8_t>(cols, c.expected))
          << c.sum << " * " << c.fixedpoint << " * 2^" << c.exponent;
    }
  }
}

// As gemmlowp has it, in its own two steps: of sums and multipliers anywhere,
// on ties of either step too.
TEST_P(MulEpilogueTest, RoundsTwiceAsGemmlowpDoes) {
  const auto high_mul = [](std::int64_t a, std::int64_t b) {
    const std::int64_t ab = a * b;  // gemmlowp nudges, and truncates
    return (ab + (ab >= 0 ? 1 << 30 : 1 - (1 << 30))) / (std::int64_t{1} << 31);
  };
  const auto divide_by_pot = [](std::int64_t x, int exponent) {
    const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
    return (x >> exponent) +
           ((x & mask) > (mask >> 1) + (x < 0 ? 1 : 0) ? 1 : 0);
  };
  Rng rng(9);
  constexpr std::ptrdiff_t kRows = 67;
  const auto lhs = RowMajorOf(static_cast<std::int8_t*>(nullptr), kRows, 0);
  const auto rhs = ColMajorOf(static_cast<std::int8_t*>(nullptr), 0, 5);
  std::vector<std::int32_t> sums(kRows), fixedpoints(kRows);
  std::vector<int> exponents(kRows);
  bool differs = false;
  for (int i = 0; i < 300; ++i) {
    for (std::ptrdiff_t r = 0; r < kRows; ++r) {
      exponents[r] = static_cast<int>(i % 3 == 0 ? rng.Between(-3, 3)
                                                 : rng.Between(-31, -1));
      fixedpoints[r] =
          rng.OneIn(2)
              ? static_cast<std::int32_t>(rng.Between(1 << 30, INT32_MAX))
              : 1 << 30;
      // Results of a few hundred: sums beyond int32 only if the exponent is.
      const std::int64_t most = std::min<std::int64_t>(
          INT32_MAX, std::int64_t{600} << -std::min(exponents[r], 0));
      sums[r] = static_cast<std::int32_t>(rng.Between(-most, most));
      if (rng.OneIn(20)) sums[r] = rng.OneIn(2) ? INT32_MIN : INT32_MAX;
      if (exponents[r] > 0) sums[r] >>= exponents[r];
    }
    MulParams<std::int32_t, std::int16_t> params;
    params.set_bias(sums.data());
    params.set_multiplier_fixedpoint_perchannel(fixedpoints.data());
    params.set_multiplier_exponent_perchannel(exponents.data());
    const auto once = MulTo<std::int16_t>(lhs, rhs, params, &context_);
    params.set_multiplier_rounding(MultiplierRounding::kTwice);
    const auto twice = MulTo<std::int16_t>(lhs, rhs, params, &context_);
    differs |= once != twice;
    for (std::ptrdiff_t r = 0; r < kRows; ++r) {
      const int left = std::max(exponents[r], 0);
      const std::int64_t expected =
          divide_by_pot(high_mul(std::int64_t{sums[r]} << left, fixedpoints[r]),
                        std::max(-exponents[r], 0));
      ASSERT_EQ(twice[r],
                std::clamp<std::int64_t>(expected, INT16_MIN, INT16_MAX))
          << sums[r] << " * " << fixedpoints[r] << " * 2^" << exponents[r];
    }
  }
  EXPECT_TRUE(differs);
}

// Ties go to even; sums are rounded to float, as are products with each scale.
TEST_P(MulEpilogueTest, RoundsFloatsToEven) {
  struct Case {
    std::int32_t sum;
    float lhs_scale, rhs_scale;
    int expected;  // with zero point 3, within [-100, 90]
  };
  constexpr Case kCases[] = {
      {1, 0.5f, 1, 3},
      {3, 0.5f, 1, 5},
      {5, 1, 0.5f, 5},
      {-1, 1, 0.5f, 3},
      {-3, 0.5f, 1, 1},
      {-5, 0.25f, 2, 1},
      {7, 0.35714287f, 1, 5},      // 2.5 in float, above it exactly
      {16777217, 0x1p-23f, 1, 5},  // a tie in float
      {16777219, 0x1p-23f, 1, 5},
      {50331653, 0x1p-24f, 0.5f, 5},  // 1.5 + 1.5 * 2^-25
      {50331651, 0x1p-24f, 0.5f, 5},
      {3, 0x1.555556p-3f, 1, 3},  // 0.5 after rounding, above it exactly
      {INT32_MIN, 1, 1, -100},
      {INT32_MAX, 1, 1, 90},
      {INT32_MAX, 1e30f, 1e30f, 90},  // infinity
      {INT32_MIN, 1e30f, 1e30f, -100},
      {INT32_MAX, 1e38f, 0, -100},  // infinity * 0
      {0, kInf, 1, -100},
      {1, kNan, 1, -100},
      {1, -kInf, 1, -100},
      {100, -1, 1, -97},
      {100, -1, -1, 90},
      {1 << 30, 1e-40f, 1e31f, 4},  // a denormal, which is not flushed
      {0, 1, 1, 3},
  };
  const auto lhs = RowMajorOf(static_cast<std::int8_t*>(nullptr), 1, 0);
  for (const std::ptrdiff_t cols : {1, 40}) {
    const auto rhs = ColMajorOf(static_cast<std::int8_t*>(nullptr), 0, cols);
    for (const Case& c : kCases) {
      const auto check = [&](auto dst_type) {
        using Dst = decltype(dst_type);
        MulParams<std::int32_t, Dst> params;
        params.set_multiplier_rounding(MultiplierRounding::kFloat);
        params.set_bias(&c.sum);
        params.set_lhs_scale(c.lhs_scale);
        params.set_rhs_scale(c.rhs_scale);
        const bool is_signed = std::is_signed<Dst>::value;
        const int shift = is_signed ? 0 : 100;
        params.set_clamp_min(static_cast<Dst>(-100 + shift));
        params.set_clamp_max(static_cast<Dst>(90 + shift));
        std::vector<Dst> actual(cols), expected(cols);
        auto dst = ColMajorOf(actual, 1, cols);
        dst.set_zero_point(static_cast<Dst>(3 + shift));
        ASSERT_OK(Mul(lhs, rhs, params, &context_, &dst));
        EXPECT_EQ(actual,
                  std::vector<Dst>(cols, static_cast<Dst>(c.expected + shift)))
            << c.sum << " * " << c.lhs_scale << " * " << c.rhs_scale;
        dst.set_data(expected.data());
        ReferenceMul(lhs, rhs, params, &dst);
        EXPECT_EQ(actual, expected);
      };
      check(std::int8_t());
      check(std::uint8_t());
      check(std::int16_t());
    }
  }
}

// In every combination of scales, orders and types.
TEST_P(MulEpilogueTest, FloatScales) {
  CheckEach(QuantizedTypes(), kAllOrders, kShapes, &context_,
            [](MulProblem* p, int count) {
              p->rounding = MultiplierRounding::kFloat;
              p->lhs_scale = static_cast<ScaleKind>(count % 3);
              p->rhs_scale = static_cast<ScaleKind>(count / 3 % 3);
              p->bias = static_cast<BiasKind>(count % 2);
              p->channel_dimension =
                  static_cast<ChannelDimension>(count / 2 % 2);
              p->dst.zero_point = count % 5;
              p->lhs.zero_point = Is8Bit(p->lhs.scalar) ? count % 7 : 0;
            });
}

// Products as near to ties as int32 and float allow, by scales of any and of
// few bits, which the amx path estimates.
TEST_P(MulEpilogueTest, FloatScalesNearTies) {
  constexpr std::ptrdiff_t kChannels = 160, kOthers = 64, kDepth = 64;
  std::vector<std::int8_t> zeros(kChannels * kDepth);
  Rng rng(1);
  for (int variant = 0; variant < 48; ++variant) {
    const bool by_rows = variant % 2 == 0;
    const Order order =
        variant / 2 % 2 == 0 ? Order::kColMajor : Order::kRowMajor;
    const int fraction_bits = variant / 4 % 3 == 0   ? 3
                              : variant / 4 % 3 == 1 ? 14
                                                     : 24;
    const int zero_point = static_cast<int>(rng.Between(-128, 127));
    std::vector<std::int32_t> bias;
    std::vector<float> scales;
    for (std::ptrdiff_t i = 0; i < kChannels; ++i) {
      // In [1/2, 1), of so many bits, times 2^0 to 2^-21.
      const double fraction = std::ldexp(
          rng.Between(1 << (fraction_bits - 1), (1 << fraction_bits) - 1),
          -fraction_bits);
      scales.push_back(static_cast<float>(
          std::ldexp(fraction, -static_cast<int>(rng.Between(0, 21)))));
      const double result = rng.Between(-130, 130) - zero_point - 0.5;
      bias.push_back(static_cast<std::int32_t>(std::lround(result / scales[i]) +
                                               rng.Between(-1, 1)));
    }
    const std::ptrdiff_t rows = by_rows ? kChannels : kOthers;
    const std::ptrdiff_t cols = by_rows ? kOthers : kChannels;
    MulParams<std::int32_t, std::int8_t> params;
    params.set_multiplier_rounding(MultiplierRounding::kFloat);
    params.set_bias(bias.data());
    if (by_rows) {
      params.set_lhs_scale_perrow(scales.data());
    } else {
      params.set_channel_dimension(ChannelDimension::kCol);
      params.set_rhs_scale_percol(scales.data());
    }
    const auto lhs = RowMajorOf(zeros.data(), rows, kDepth);
    const auto rhs = ColMajorOf(zeros.data(), kDepth, cols);
    std::vector<std::int8_t> actual(rows * cols), expected(rows * cols);
    Matrix<std::int8_t> dst;
    MakeSimpleLayout(rows, cols, order, dst.mutable_layout());
    dst.set_zero_point(static_cast<std::int8_t>(zero_point));
    dst.set_data(actual.data());
    ASSERT_OK(Mul(lhs, rhs, params, &context_, &dst));
    dst.set_data(expected.data());
    ReferenceMul(lhs, rhs, params, &dst);
    EXPECT_EQ(actual, expected) << variant;
  }
}

TEST_P(MulEpilogueTest, TheDefaultMultiplierIsOne) {
  CheckEach(
      IntegerTypes(), kPlainOrders, kShapes, &context_,
      [](MulProblem* p, int) { p->multiplier = MultiplierKind::kDefault; });
  // Not only as the reference has it: 3 * 5 + 7 is 22, 100 * 100 saturates.
  std::int8_t a[] = {3, 100}, b[] = {5, 100};
  const std::int32_t bias[] = {7, 0};
  const auto lhs = RowMajorOf(a, 2, 1);
  const auto rhs = ColMajorOf(b, 1, 2);
  MulParams<std::int32_t, std::int8_t> params;
  params.set_bias(bias);
  EXPECT_EQ(MulTo<std::int8_t>(lhs, rhs, params, &context_, Order::kRowMajor),
            (std::vector<std::int8_t>{22, 127, 127, 127}));
}

TEST_P(MulEpilogueTest, ChannelsAlongRowsAndColumns) {
  for (const ChannelDimension dimension : kDimensions) {
    const auto set_channels = [dimension](MulProblem* p, int) {
      p->channel_dimension = dimension;
      p->bias = BiasKind::kModerate;
      p->multiplier = MultiplierKind::kPerChannel;
      p->min_exponent -= 3;
    };
    CheckEach(AllTypes(), kAllOrders,
              {{1, 5, 1}, {2, 5, 50}, {50, 5, 2}, {65, 5, 97}, {97, 5, 65}},
              &context_, set_channels);
    // Each block of a larger product finds its own channels.
    UseThreads(4, &context_);
    CheckEach(AllTypes(), kOrdersOfDst, {{230, 9, 210}}, &context_,
              [&](MulProblem* p, int) {
                set_channels(p, 0);
                p->num_threads = 4;
              });
  }
}

// Some channels scale up and may saturate, others down: per-channel exponents
// of both signs.
TEST_P(MulEpilogueTest, ExponentsOfBothSignsAmongChannels) {
  for (const ChannelDimension dimension : kDimensions) {
    for (int seed = 0; seed < 8; ++seed) {
      CheckEach(QuantizedTypes(), {seed % 2 == 0 ? 5 : 1}, {{53, 20, 51}},
                &context_, [=](MulProblem* p, int) {
                  p->channel_dimension = dimension;
                  p->multiplier = MultiplierKind::kPerChannel;
                  p->min_exponent = kMinExponent;
                  p->max_exponent = kMaxExponent;
                  p->min_fixedpoint = 0;
                  p->bias =
                      seed % 3 == 0 ? BiasKind::kExtreme : BiasKind::kModerate;
                  p->data_seed = seed;
                });
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
      CheckEach({types}, kPlainOrders, kShapes, &context_,
                [&](MulProblem* p, int) {
                  const bool is_float = IsFloat(types.dst);
                  p->bias = BiasKind::kModerate;
                  p->clamp = true;
                  p->clamp_min = is_float ? bound[0] : std::trunc(bound[0]);
                  p->clamp_max = is_float ? bound[1] : std::trunc(bound[1]);
                  p->dst.zero_point =
                      is_float ? 0 : static_cast<std::int32_t>(low) + 50;
                });
    }
  }
}

}  // namespace
}  // namespace ruy_like
