#include "ruy_like/quantize/multiplier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

QuantParams Scale(float scale) { return {scale}; }

TEST(QuantizeMultiplierTest, Goldens) {
  const struct {
    double multiplier;
    QuantizedMultiplier expected;
  } kGoldens[] = {
      {0, {0, 0}},
      {0.5, {1 << 30, 0}},
      {0.012, {1649267442, -6}},
      {static_cast<double>(0.012f), {1649267456, -6}},
      {0.12, {2061584302, -3}},
      {0.0025, {1374389535, -8}},
      {0.006, {1649267442, -7}},
      {1, {1 << 30, 1}},
      {0.9999999999, {1 << 30, 1}},
      {3.7, {1986422374, 2}},
      {128, {1 << 30, 8}},
      {1e-9, {1152921505, -29}},
      {0x1p-32, {1 << 30, -31}},
      {1e-10, {0, 0}},
      {std::numeric_limits<double>::denorm_min(), {0, 0}},
      // The largest one below the limits on both ends, and the next.
      {0x1.fffffffcp-33, {0, 0}},
      {0x1.ffffffffp-33, {1 << 30, -31}},  // rounds up to 2^-32
      {0x1.fffffffcp29, {INT32_MAX, 30}},
      {0x1p30, {INT32_MAX, 30}},
      {1e300, {INT32_MAX, 30}},
  };
  for (const auto& golden : kGoldens) {
    SCOPED_TRACE(golden.multiplier);
    ASSERT_VALUE(const auto result, QuantizeMultiplier(golden.multiplier));
    EXPECT_EQ(result.fixedpoint, golden.expected.fixedpoint);
    EXPECT_EQ(result.exponent, golden.expected.exponent);
  }
}

TEST(QuantizeMultiplierTest, BadMultipliers) {
  for (const double bad :
       {-1.0, -1e-300, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    EXPECT_CODE(kInvalid, QuantizeMultiplier(bad)) << bad;
  }
}

// What QuantizeMultiplier says it computes, by the standard library's
// functions; and what that means: within half a unit in the last place.
TEST(QuantizeMultiplierTest, EqualsFrexpAndRound) {
  Rng rng(5);
  std::vector<double> multipliers = {0.0,
                                     -0.0,
                                     std::numeric_limits<double>::denorm_min(),
                                     std::numeric_limits<double>::min(),
                                     std::numeric_limits<double>::max(),
                                     std::nextafter(1.0, 0),
                                     0x1p-32,
                                     std::nextafter(0x1p-32, 0),
                                     0x1p30,
                                     std::nextafter(0x1p30, 0)};
  for (int i = 0; i < 100000; ++i) {
    // With 33 bits, halves between two fixed points are frequent.
    const auto fraction = static_cast<double>(
        rng.Between(std::int64_t{1} << 32, (std::int64_t{1} << 33) - 1));
    multipliers.push_back(
        std::ldexp(fraction, static_cast<int>(rng.Between(-70, 0))));
    multipliers.push_back(std::nextafter(multipliers.back(), 0));
  }
  for (const double m : multipliers) {
    std::int32_t fixedpoint = 0;
    int exponent = 0;
    const double fraction = std::frexp(m, &exponent);
    std::int64_t rounded = std::llround(std::ldexp(fraction, 31));
    if (rounded == std::int64_t{1} << 31) {
      rounded /= 2;
      ++exponent;
    }
    fixedpoint = static_cast<std::int32_t>(rounded);
    const bool in_range = exponent >= -31 && exponent <= 30 && m != 0;
    if (exponent < -31 || m == 0) fixedpoint = exponent = 0;
    if (exponent > 30) {
      fixedpoint = INT32_MAX;
      exponent = 30;
    }
    const auto quantized = QuantizeMultiplier(m);
    ASSERT_OK(quantized) << m;
    ASSERT_EQ(quantized->fixedpoint, fixedpoint) << m;
    ASSERT_EQ(quantized->exponent, exponent) << m;
    if (!in_range) continue;
    ASSERT_GE(quantized->fixedpoint, 1 << 30);
    const double back = std::ldexp(quantized->fixedpoint, exponent - 31);
    ASSERT_LE(std::abs(back - m), std::ldexp(0.5, exponent - 31));
  }
}

TEST(MultiplyByQuantizedMultiplierTest, Goldens) {
  const struct {
    std::int32_t x;
    QuantizedMultiplier multiplier;
    std::int32_t expected;
  } kGoldens[] = {
      {3, {1 << 30, 0}, 2},
      {1, {1 << 30, 0}, 1},
      {-7, {1 << 30, 0}, -3},
      {-1, {1 << 30, 0}, 0},
      {5, {3 << 28, 1}, 4},
      {11, {3 << 28, 1}, 8},
      {11, {5 << 28, -2}, 2},
      {25, {5 << 28, -2}, 4},
      {100, {1649267442, -6}, 1},
      {-100, {1649267442, -6}, -1},
      // Saturation, and the ends of the exponents.
      {INT32_MAX, {INT32_MAX, 30}, INT32_MAX},
      {INT32_MIN, {INT32_MAX, 30}, INT32_MIN},
      {INT32_MAX, {1 << 30, 1}, INT32_MAX},
      {INT32_MIN, {1 << 30, 1}, INT32_MIN},
      {INT32_MIN, {1 << 30, 2}, INT32_MIN},
      {INT32_MAX, {INT32_MAX, -31}, 1},
      {INT32_MIN, {1 << 30, -31}, 0},  // -0.5
      {123, {0, 0}, 0},
  };
  for (const auto& golden : kGoldens) {
    SCOPED_TRACE(golden.x);
    EXPECT_EQ(MultiplyByQuantizedMultiplier(golden.x, golden.multiplier),
              golden.expected);
  }
}

// One value through the epilogue of Mul: 1x1x0 with a bias.
std::int32_t ThroughMul(std::int32_t x, QuantizedMultiplier multiplier,
                        Context* context) {
  const std::int8_t unused = 0;
  std::int16_t dst_data = 0;
  const Matrix<std::int8_t> lhs = RowMajorOf(&unused, 1, 0);
  const Matrix<std::int8_t> rhs = ColMajorOf(&unused, 0, 1);
  Matrix<std::int16_t> dst = ColMajorOf(&dst_data, 1, 1);
  MulParams<std::int32_t, std::int16_t> params;
  params.set_bias(&x);
  params.set_multiplier_fixedpoint(multiplier.fixedpoint);
  params.set_multiplier_exponent(multiplier.exponent);
  EXPECT_OK(Mul(lhs, rhs, params, context, &dst));
  return dst_data;
}

TEST(MultiplyByQuantizedMultiplierTest, IsMulsRequantization) {
  Context context;
  Rng rng(2);
  for (int i = 0; i < 20000; ++i) {
    // Results on both sides of int16's ends, many of them ties.
    const int exponent = static_cast<int>(rng.Between(-31, 30));
    const std::int32_t fixedpoint = static_cast<std::int32_t>(
        rng.OneIn(4) ? std::int64_t{1} << rng.Between(20, 30)
                     : rng.Between(0, INT32_MAX));
    const int bits = static_cast<int>(
        std::min<std::int64_t>(31, 18 - std::min(exponent, 17)));
    const std::int64_t bound = std::int64_t{1} << bits;
    const auto x = static_cast<std::int32_t>(rng.Between(-bound, bound - 1));
    const QuantizedMultiplier multiplier{fixedpoint, exponent};
    const std::int32_t full = MultiplyByQuantizedMultiplier(x, multiplier);
    const std::int32_t clamped = std::min(std::max(full, -32768), 32767);
    ASSERT_EQ(ThroughMul(x, multiplier, &context), clamped)
        << x << " * " << fixedpoint << ", " << exponent;
  }
}

TEST(RoundTo15BitsTest, Goldens) {
  const auto round = [](std::int32_t fixedpoint) {
    const QuantizedMultiplier rounded = RoundTo15Bits({fixedpoint, -3});
    EXPECT_EQ(rounded.exponent, -3);
    return rounded.fixedpoint;
  };
  EXPECT_EQ(round(0), 0);
  EXPECT_EQ(round(0x40000000), 0x40000000);
  EXPECT_EQ(round(0x40007FFF), 0x40000000);
  EXPECT_EQ(round(0x40008000), 0x40010000);
  EXPECT_EQ(round(0x7FFE8000), 0x7FFF0000);
  EXPECT_EQ(round(INT32_MAX), 0x7FFF0000);
}

TEST(LegacyMultiplierTest, Goldens) {
  EXPECT_EQ(SaturatingRoundingDoublingHighMul(INT32_MIN, INT32_MIN), INT32_MAX);
  EXPECT_EQ(SaturatingRoundingDoublingHighMul(INT32_MIN, INT32_MAX),
            -INT32_MAX);
  EXPECT_EQ(SaturatingRoundingDoublingHighMul(1, 1 << 30), 1);
  EXPECT_EQ(RoundingDivideByPowerOfTwo(-7, 1), -4);
  EXPECT_EQ(RoundingDivideByPowerOfTwo(7, 1), 4);
  EXPECT_EQ(RoundingDivideByPowerOfTwo(INT32_MIN, 31), -1);
  EXPECT_EQ(RoundingDivideByPowerOfTwo(INT32_MAX, 31), 1);
  EXPECT_EQ(RoundingDivideByPowerOfTwo(INT32_MIN, 0), INT32_MIN);
  const struct {
    std::int32_t x;
    QuantizedMultiplier multiplier;
    std::int32_t once, twice;
  } kGoldens[] = {
      {1, {1 << 30, -1}, 0, 1},
      {-2, {1 << 30, -1}, 0, -1},
      {4, {5 << 28, -1}, 1, 2},
      {-7, {1 << 30, 0}, -3, -3},
      // Where the left shift leaves int32.
      {1 << 30, {1 << 30, 4}, INT32_MAX, 1 << 30},
      {-(1 << 30), {1 << 30, 4}, INT32_MIN, -(1 << 30)},
  };
  for (const auto& golden : kGoldens) {
    SCOPED_TRACE(golden.x);
    EXPECT_EQ(MultiplyByQuantizedMultiplier(golden.x, golden.multiplier),
              golden.once);
    EXPECT_EQ(MultiplyByQuantizedMultiplierLegacy(golden.x, golden.multiplier),
              golden.twice);
  }
}

TEST(LegacyMultiplierTest, DiffersByAtMostOne) {
  Rng rng(3);
  int different = 0;
  for (int i = 0; i < 100000; ++i) {
    const QuantizedMultiplier multiplier{
        static_cast<std::int32_t>(rng.Between(1 << 30, INT32_MAX)),
        static_cast<int>(rng.Between(-31, 8))};
    const std::int64_t bound = std::int64_t{1}
                               << (31 - std::max(multiplier.exponent, 0));
    const auto x = static_cast<std::int32_t>(rng.Between(-bound, bound - 1));
    const std::int32_t once = MultiplyByQuantizedMultiplier(x, multiplier);
    const std::int32_t twice =
        MultiplyByQuantizedMultiplierLegacy(x, multiplier);
    ASSERT_LE(std::abs(static_cast<std::int64_t>(once) - twice), 1)
        << x << " * " << multiplier.fixedpoint << ", " << multiplier.exponent;
    different += once != twice;
  }
  EXPECT_GT(different, 0);
}

TEST(SetMultipliersTest, PerTensor) {
  MulParams<std::int32_t, std::int8_t> params;
  const QuantParams dst = {1, 0, -100, 90};
  ASSERT_OK(SetMultipliers(Scale(0.5f), Scale(0.25f), dst, &params));
  EXPECT_EQ(params.multiplier_fixedpoint(), 1 << 30);
  EXPECT_EQ(params.multiplier_exponent(), -2);
  EXPECT_FALSE(params.perchannel());
  EXPECT_EQ(params.clamp_min(), -100);
  EXPECT_EQ(params.clamp_max(), 90);
}

TEST(SetMultipliersTest, PerChannel) {
  const std::vector<QuantParams> channels = {Scale(0.5f), Scale(2),
                                             Scale(0x1p-40f)};
  std::vector<std::int32_t> fixedpoint(3, -1);
  std::vector<int> exponent(3, -99);
  MulParams<std::int32_t, std::uint8_t> params;
  const QuantParams dst = {1, 0, 0, 255};
  ASSERT_OK(SetMultipliers<std::uint8_t>(channels, Scale(0.25f), dst,
                                         absl::MakeSpan(fixedpoint),
                                         absl::MakeSpan(exponent), &params));
  EXPECT_THAT(fixedpoint, ElementsAre(1 << 30, 1 << 30, 0));
  EXPECT_THAT(exponent, ElementsAre(-2, 0, 0));
  EXPECT_EQ(params.multiplier_fixedpoint_perchannel(), fixedpoint.data());
  EXPECT_EQ(params.multiplier_exponent_perchannel(), exponent.data());
  EXPECT_EQ(params.clamp_max(), 255);
}

TEST(SetMultipliersTest, BadInputChangesNothing) {
  MulParams<std::int32_t, std::int8_t> params;
  params.set_multiplier_fixedpoint(7);
  for (const float bad : {0.0f, -1.0f, kNan, kInf}) {
    SCOPED_TRACE(bad);
    EXPECT_FALSE(SetMultipliers(Scale(bad), Scale(1), Scale(1), &params).ok());
    EXPECT_FALSE(SetMultipliers(Scale(1), Scale(bad), Scale(1), &params).ok());
    EXPECT_FALSE(SetMultipliers(Scale(1), Scale(1), Scale(bad), &params).ok());
  }
  const QuantParams reversed = {1, 0, 3, 2}, bytes = {1, 0, 0, 255};
  EXPECT_THAT(SetMultipliers(Scale(1), Scale(1), reversed, &params).message(),
              HasSubstr("qmin 3 is above qmax 2"));
  EXPECT_THAT(SetMultipliers(Scale(1), Scale(1), bytes, &params).message(),
              HasSubstr("[0, 255]"));
  EXPECT_EQ(params.multiplier_fixedpoint(), 7);
  EXPECT_EQ(params.clamp_max(), 127);
  MulParams<std::int32_t, std::int8_t>* const null = nullptr;
  EXPECT_FALSE(SetMultipliers(Scale(1), Scale(1), Scale(1), null).ok());

  std::vector<std::int32_t> fixedpoint(2, 11);
  std::vector<int> exponent(2, 12);
  const auto per_channel = [&](const std::vector<QuantParams>& channels) {
    return SetMultipliers<std::int8_t>(channels, Scale(1), Scale(1),
                                       absl::MakeSpan(fixedpoint),
                                       absl::MakeSpan(exponent), &params);
  };
  EXPECT_FALSE(per_channel({Scale(1), Scale(kNan)}).ok());
  EXPECT_FALSE(per_channel({Scale(1)}).ok());
  EXPECT_THAT(fixedpoint, ElementsAre(11, 11));
  EXPECT_THAT(exponent, ElementsAre(12, 12));
  EXPECT_FALSE(params.perchannel());
}

}  // namespace
}  // namespace ruy_like
