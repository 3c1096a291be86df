// The element-wise operations against exact arithmetic: thousands of random
// cases on each path, with scales and ranges up to the ends of what float
// holds.
//
// The operations' own tests compare vector code with scalar code; here neither
// is believed: the expected results are exact, in int64 and long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/reference_conv.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using Codes = std::vector<std::uint8_t>;

constexpr int kCases = 3000;

// In [2^low, 2^high], with any mantissa.
float AnyMagnitude(Rng* rng, int low, int high) {
  return static_cast<float>(
      std::ldexp(1 + std::abs(rng->Signed()),
                 static_cast<int>(rng->Between(low, high - 1))));
}

class ExactArithmeticTest : public PathTest {};

// ## Quantize

template <typename Q>
void QuantizeIsExact(std::uint64_t seed, Context* context) {
  SCOPED_TRACE(InfoOf(internal::ScalarOf<Q>()).name);
  Rng rng(seed);
  std::vector<float> x(37);
  std::vector<Q> q(x.size());
  for (int repeat = 0; repeat < kCases; ++repeat) {
    QuantParams params = AnyParams<Q>(&rng);
    // The smallest whose inverse is finite, up to the largest.
    params.scale = AnyMagnitude(&rng, -127, 127);
    for (float& value : x) {
      value = static_cast<float>(
          rng.OneIn(8) ? rng.Signed() * AnyMagnitude(&rng, -126, 127)
                       : rng.Signed() * 400 * params.scale);
    }
    ASSERT_OK(Quantize<Q>(x, params, absl::MakeSpan(q), context));
    // 48 bits, so that only the conversion to float rounds.
    const float inverse = 1.0f / params.scale;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto scaled = static_cast<float>(static_cast<long double>(x[i]) *
                                             static_cast<long double>(inverse));
      const long double rounded = std::round(static_cast<long double>(scaled));
      ASSERT_EQ(static_cast<long double>(q[i]),
                std::clamp<long double>(rounded + params.zero_point,
                                        params.qmin, params.qmax))
          << "x " << x[i] << " scale " << params.scale;
      // And what that means: no further than half a step from x.
      if (q[i] == params.qmin || q[i] == params.qmax) continue;
      const long double real = static_cast<long double>(x[i]) / params.scale;
      ASSERT_LE(std::abs(std::int64_t{q[i]} - params.zero_point - real),
                0.5L + std::abs(real) * 0x1p-21L)
          << "x " << x[i] << " scale " << params.scale;
    }
  }
}

TEST_P(ExactArithmeticTest, Quantize) {
  QuantizeIsExact<std::int8_t>(1, &context_);
  QuantizeIsExact<std::uint8_t>(2, &context_);
  QuantizeIsExact<std::int16_t>(3, &context_);
  QuantizeIsExact<std::int32_t>(4, &context_);
}

// ## Dequantize

template <typename Q>
void DequantizeIsExact(std::uint64_t seed, Context* context) {
  SCOPED_TRACE(InfoOf(internal::ScalarOf<Q>()).name);
  Rng rng(seed);
  std::vector<Q> q(37);
  std::vector<float> x(q.size());
  for (int repeat = 0; repeat < kCases; ++repeat) {
    QuantParams params = AnyParams<Q>(&rng);
    params.scale = rng.OneIn(8) ? std::numeric_limits<float>::denorm_min()
                                : AnyMagnitude(&rng, -149, 127);
    for (Q& value : q) value = static_cast<Q>(rng.Next());
    ASSERT_OK(Dequantize<Q>(q, params, absl::MakeSpan(x), context));
    for (std::size_t i = 0; i < q.size(); ++i) {
      const auto difference =
          static_cast<float>(std::int64_t{q[i]} - params.zero_point);
      const auto expected =
          static_cast<float>(static_cast<long double>(difference) *
                             static_cast<long double>(params.scale));
      ASSERT_EQ(std::memcmp(&x[i], &expected, sizeof(float)), 0)
          << "q " << +q[i] << " zero point " << params.zero_point << " scale "
          << params.scale << ": " << x[i] << ", not " << expected;
    }
  }
}

TEST_P(ExactArithmeticTest, Dequantize) {
  DequantizeIsExact<std::int8_t>(1, &context_);
  DequantizeIsExact<std::uint8_t>(2, &context_);
  DequantizeIsExact<std::int16_t>(3, &context_);
  DequantizeIsExact<std::int32_t>(4, &context_);
}

// ## Requantize

// The definition. 2^62 and 2^61 have a sum in int64.
std::int64_t RequantizeOne(std::int32_t x, QuantizedMultiplier multiplier,
                           const QuantParams& params) {
  const std::int64_t product = std::int64_t{x} * multiplier.fixedpoint;
  const std::int64_t rounded =
      (product + (std::int64_t{1} << (30 - multiplier.exponent))) >>
      (31 - multiplier.exponent);
  const std::int64_t saturated = std::clamp<std::int64_t>(
      rounded, std::numeric_limits<std::int32_t>::min(),
      std::numeric_limits<std::int32_t>::max());
  return std::clamp<std::int64_t>(saturated + params.zero_point, params.qmin,
                                  params.qmax);
}

template <typename Q>
void RequantizeIsExact(std::uint64_t seed, Context* context) {
  SCOPED_TRACE(InfoOf(internal::ScalarOf<Q>()).name);
  Rng rng(seed);
  std::vector<std::int32_t> x(37);
  std::vector<Q> q(x.size());
  for (int repeat = 0; repeat < kCases; ++repeat) {
    const QuantParams params = AnyParams<Q>(&rng);
    QuantizedMultiplier multiplier;
    // Also those that QuantizeMultiplier never makes.
    multiplier.fixedpoint = static_cast<std::int32_t>(
        rng.Between(1 << 30, std::numeric_limits<std::int32_t>::max()));
    if (rng.OneIn(2)) multiplier.fixedpoint >>= rng.Between(0, 31);
    multiplier.exponent = static_cast<int>(rng.Between(-31, 30));
    for (std::int32_t& value : x) {
      // >> 31 leaves -1 and 0.
      value = static_cast<std::int32_t>(rng.Next() >> 32) >> rng.Between(0, 31);
      if (rng.OneIn(16)) value = std::numeric_limits<std::int32_t>::min();
    }
    ASSERT_OK(Requantize<Q>(x, multiplier, params, absl::MakeSpan(q), context));
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(q[i], RequantizeOne(x[i], multiplier, params))
          << "x " << x[i] << " fixed point " << multiplier.fixedpoint
          << " exponent " << multiplier.exponent << " zero point "
          << params.zero_point;
    }
  }
}

TEST_P(ExactArithmeticTest, Requantize) {
  RequantizeIsExact<std::int8_t>(1, &context_);
  RequantizeIsExact<std::uint8_t>(2, &context_);
  RequantizeIsExact<std::int16_t>(3, &context_);
}

// What is read from the codes is what was there, to half a step.
TEST_P(ExactArithmeticTest, RequantizeToUsedRange) {
  Rng rng(5);
  std::vector<std::int32_t> x(37);
  Codes q(x.size());
  for (int repeat = 0; repeat < kCases; ++repeat) {
    const int shift = static_cast<int>(rng.Between(0, 31));
    for (std::int32_t& value : x) {
      value = static_cast<std::int32_t>(rng.Next() >> 32) >> shift;
    }
    const double x_scale = AnyMagnitude(&rng, -200 + 60, 90);
    ASSERT_VALUE(
        const auto params,
        RequantizeToUsedRange(x, x_scale, absl::MakeSpan(q), &context_));
    const auto [min, max] = std::minmax_element(x.begin(), x.end());
    const double step =
        (std::max(*max, 0) - std::min<double>(*min, 0)) * x_scale / 255;
    // Where no scale is small enough, everything is 0.
    const double tolerance =
        params.scale == 1 && step < 0.5 ? 256 * step : 1.01 * step;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double real =
          static_cast<double>(params.scale) * (q[i] - params.zero_point);
      ASSERT_LE(std::abs(real - x[i] * x_scale), tolerance)
          << "x " << x[i] << " x_scale " << x_scale << " scale " << params.scale
          << " zero point " << params.zero_point;
    }
  }
}

// ## QuantizedAdd

// A range of magnitudes below 2^top; now and then symmetric or of one number.
FloatRange AnyRange(Rng* rng, int middle, int spread) {
  const auto any = [&] {
    const int exponent = std::clamp(
        static_cast<int>(rng->Between(middle - spread, middle + spread)), -149,
        109);
    return static_cast<float>(rng->Signed() * std::ldexp(1.0, exponent));
  };
  const float x = any();
  if (rng->OneIn(8)) return {x, x};
  if (rng->OneIn(4)) return {-std::abs(x), std::abs(x)};
  const float y = any();
  return {std::min(x, y), std::max(x, y)};
}

long double StepOf(const FloatRange& range) {
  return (static_cast<long double>(range.max) - range.min) / 255;
}

long double RealOf(int code, const FloatRange& range) {
  return range.min + code * StepOf(range);
}

// The same with the code of 0 rounded, where there is one.
long double RealOnGrid(int code, const FloatRange& range) {
  if (range.min == range.max) return range.min;
  const long double width = static_cast<long double>(range.max) - range.min;
  return (code + std::round(range.min * 255.0L / width)) * StepOf(range);
}

TEST_P(ExactArithmeticTest, Add8p8To32) {
  Rng rng(6);
  std::vector<std::int32_t> c(37);
  long double largest_error = 0;
  for (int repeat = 0; repeat < kCases; ++repeat) {
    const int middle = static_cast<int>(rng.Between(-140, 100));
    const int spread = static_cast<int>(rng.Between(0, 20));
    const FloatRange a_range = AnyRange(&rng, middle, spread);
    const FloatRange b_range = AnyRange(&rng, middle, spread);
    const Codes a = RandomVector<std::uint8_t>(c.size(), 2 * repeat);
    const Codes b = RandomVector<std::uint8_t>(c.size(), 2 * repeat + 1);
    ASSERT_VALUE(const auto range,
                 QuantizedAdd8p8To32({a, a_range}, {b, b_range},
                                     absl::MakeSpan(c), &context_));
    const long double level = range.max / 0x1p31L;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const long double sum =
          RealOnGrid(a[i], a_range) + RealOnGrid(b[i], b_range);
      const long double error = std::abs(c[i] - (level == 0 ? 0 : sum / level));
      largest_error = std::max(largest_error, error);
      ASSERT_LE(std::abs(c[i]), (1 << 16) + 258);
      ASSERT_LE(error, 0.516L)
          << +a[i] << " of [" << a_range.min << ", " << a_range.max << "], "
          << +b[i] << " of [" << b_range.min << ", " << b_range.max << "]";
    }
  }
  EXPECT_GE(largest_error, 0.49L);  // or the bound is not a tight one
}

// The code 128 stands for 0 in every symmetric range, whatever its width: 127.5
// is rounded the same way in all of them.
TEST_P(ExactArithmeticTest, SymmetricRangesHaveOneZero) {
  Rng rng(7);
  const Codes zeros(5, 128);
  std::vector<std::int32_t> c(5);
  for (int repeat = 0; repeat < kCases; ++repeat) {
    const float a = AnyMagnitude(&rng, -20, 20),
                b = AnyMagnitude(&rng, -20, 20);
    ASSERT_OK(QuantizedAdd8p8To32({zeros, {-a, a}}, {zeros, {-b, b}},
                                  absl::MakeSpan(c), &context_));
    ASSERT_EQ(c, std::vector<std::int32_t>(5, 0)) << a << " " << b;
  }
}

// True if one operand's codes are taken as they are.
bool IsCopy(const FloatRange& a, const FloatRange& b) {
  const double a_step = (double{a.max} - a.min) / 255;
  const double b_step = (double{b.max} - b.min) / 255;
  const double larger = std::max(a_step, b_step);
  return larger > 0 && larger >= 256 * std::min(a_step, b_step);
}

TEST_P(ExactArithmeticTest, Add8p8To8) {
  Rng rng(8);
  Codes c(37);
  for (int repeat = 0; repeat < 3 * kCases; ++repeat) {
    const int middle = static_cast<int>(rng.Between(-140, 100));
    const int spread = static_cast<int>(rng.Between(0, 20));
    const FloatRange a_range = AnyRange(&rng, middle, spread);
    const FloatRange b_range = AnyRange(&rng, middle, spread);
    // A few codes only, now and then, for narrow tight ranges.
    const int top = rng.OneIn(3) ? static_cast<int>(rng.Between(0, 9)) : 255;
    const Codes a = RandomVector<std::uint8_t>(c.size(), 0, top, 2 * repeat);
    const Codes b =
        RandomVector<std::uint8_t>(c.size(), 0, top, 2 * repeat + 1);
    Add8p8To8Options options;
    const int kind = repeat % 4;
    const bool guess_covers = kind == 3;
    if (kind != 0) options.range = AddRange::kTight;
    if (kind == 2) options.guess = AnyRange(&rng, middle, spread);
    if (guess_covers) {
      const auto margin = static_cast<float>(std::ldexp(1.0, middle));
      options.guess = FloatRange{a_range.min + b_range.min - margin,
                                 a_range.max + b_range.max + margin};
    }
    ASSERT_VALUE(const auto result,
                 QuantizedAdd8p8To8({a, a_range}, {b, b_range}, options,
                                    absl::MakeSpan(c), &context_));
    const FloatRange range = result.range;
    ASSERT_TRUE(std::isfinite(range.min) && std::isfinite(range.max));
    ASSERT_LE(range.min, range.max);
    if (guess_covers) {
      ASSERT_EQ(result.passes, 1);
    }
    if (range.min == range.max) {
      ASSERT_EQ(c, Codes(c.size(), 0));
      continue;
    }
    if (options.range == AddRange::kExact && IsCopy(a_range, b_range)) {
      ASSERT_EQ(c, StepOf(a_range) > StepOf(b_range) ? a : b);
      continue;
    }
    constexpr long double kFar = std::numeric_limits<long double>::max();
    long double least = kFar, most = -kFar;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const long double real = RealOf(a[i], a_range) + RealOf(b[i], b_range);
      least = std::min(least, real);
      most = std::max(most, real);
      const long double exact = (real - range.min) / StepOf(range);
      ASSERT_LE(std::abs(c[i] - std::clamp(exact, 0.0L, 255.0L)),
                0.5L + 0x1.01p-7L)
          << "case " << kind << ": " << +a[i] << " of [" << a_range.min << ", "
          << a_range.max << "], " << +b[i] << " of [" << b_range.min << ", "
          << b_range.max << "] in [" << range.min << ", " << range.max << "]";
    }
    if (kind == 1) {
      // The range must be that of the sums, up to rounding. Denormal
      // floats have fewer digits.
      const long double slack =
          1e-6L * (std::abs(a_range.min) + 255 * StepOf(a_range) +
                   std::abs(b_range.min) + 255 * StepOf(b_range)) +
          0x1p-147L;
      ASSERT_LE(std::abs(range.min - least), slack);
      ASSERT_LE(std::abs(range.max - most), slack);
    }
  }
}

// The largest ranges whose sum is finite.
TEST_P(ExactArithmeticTest, Add8p8To8OfTheLargestNumbers) {
  const float max = std::numeric_limits<float>::max();
  const Codes a = {0, 128, 255, 255};
  const Codes b = {0, 255, 128, 255};
  for (const float share : {0.5f, 0.25f, 0.125f}) {
    const FloatRange a_range = {0, max * share};
    const FloatRange b_range = {0, max - max * share};
    for (const auto guess :
         {std::optional<FloatRange>(), std::optional<FloatRange>({0, 1e38f}),
          std::optional<FloatRange>({-max, max / 2})}) {
      Add8p8To8Options options;
      options.range = AddRange::kTight;
      options.guess = guess;
      Codes c(a.size());
      ASSERT_VALUE(const auto result,
                   QuantizedAdd8p8To8({a, a_range}, {b, b_range}, options,
                                      absl::MakeSpan(c)));
      EXPECT_LE(result.range.max, max);
      EXPECT_EQ(c[3], 255);
      EXPECT_LT(c[1], 255);
    }
  }
}

RUY_LIKE_INSTANTIATE_PER_PATH(ExactArithmeticTest);

}  // namespace
}  // namespace ruy_like
