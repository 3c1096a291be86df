// Float8E4M3 and Float8E5M2: every value, and every place where rounding
// changes.
#include "ruy_like/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

template <typename T>
class Float8Test : public testing::Test {
 protected:
  static constexpr bool kIsE4M3 = std::is_same_v<T, Float8E4M3>;
  static constexpr int kMantissaBits = kIsE4M3 ? 3 : 2;
  static constexpr int kBias = kIsE4M3 ? 7 : 15;
  static constexpr int kLargest = kIsE4M3 ? 0x7e : 0x7b;

  static T Of(int bits) { return T::FromBits(static_cast<std::uint8_t>(bits)); }
  // A finite value by the format's definition; the code behind the largest one
  // counts as the number that would come next.
  static double ValueOf(int bits) {
    const int exponent = (bits & 0x7f) >> kMantissaBits;
    const int mantissa = bits & ((1 << kMantissaBits) - 1);
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, 1 - kBias - kMantissaBits)
                      : std::ldexp(mantissa + (1 << kMantissaBits),
                                   exponent - kBias - kMantissaBits);
    return (bits & 0x80) != 0 ? -magnitude : magnitude;
  }
};
using Types = testing::Types<Float8E4M3, Float8E5M2>;
TYPED_TEST_SUITE(Float8Test, Types);

TYPED_TEST(Float8Test, EveryCodeToFloatAndBack) {
  for (int i = 0; i < 256; ++i) {
    const TypeParam value = this->Of(i);
    const float wide = static_cast<float>(value);
    EXPECT_EQ(std::signbit(wide), i >= 0x80) << std::hex << i;
    const int magnitude = i & 0x7f;
    if (magnitude <= this->kLargest) {
      EXPECT_EQ(wide, this->ValueOf(i)) << std::hex << i;
    } else if (!this->kIsE4M3 && magnitude == 0x7c) {
      EXPECT_TRUE(std::isinf(wide));
    } else {
      EXPECT_TRUE(std::isnan(wide)) << std::hex << i;
      EXPECT_NE(float16_internal::BitsOfFloat(wide) & 0x00400000, 0u);
      EXPECT_FALSE(value == value);  // NOLINT
      EXPECT_EQ(TypeParam(wide).bits, i | (this->kIsE4M3 ? 0 : 2));
      continue;
    }
    EXPECT_EQ(TypeParam(wide).bits, i);
    EXPECT_TRUE(value == value);  // NOLINT
    EXPECT_EQ((-value).bits, i ^ 0x80);
    // Exact in both 16-bit types but for Float8E5M2's upper ones.
    EXPECT_EQ(static_cast<float>(BFloat16(wide)), wide);
    EXPECT_EQ(static_cast<float>(Float16(wide)), wide);
  }
}

TYPED_TEST(Float8Test, RoundsToNearestEven) {
  for (int i = 0; i <= this->kLargest; ++i) {
    const double low = this->ValueOf(i), high = this->ValueOf(i + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    const int even = i % 2 == 0 ? i : i + 1;
    for (const int sign : {0, 0x80}) {
      const auto bits = [sign](float x) {
        return TypeParam(sign == 0 ? x : -x).bits;
      };
      EXPECT_EQ(bits(std::nextafterf(middle, 0)), sign | i) << i;
      EXPECT_EQ(bits(middle), sign | even) << i;
      EXPECT_EQ(bits(std::nextafterf(middle, kInf)), sign | (i + 1)) << i;
    }
  }
}

TYPED_TEST(Float8Test, WhatIsTooLarge) {
  using Limits = std::numeric_limits<TypeParam>;
  const int beyond = this->kLargest + 1;  // NaN or infinity
  for (const float x : {1e6f, std::numeric_limits<float>::max(), kInf}) {
    EXPECT_EQ(TypeParam(x).bits, beyond);
    EXPECT_EQ(TypeParam(-x).bits, 0x80 | beyond);
    EXPECT_EQ(TypeParam::Saturated(x).bits, this->kLargest);
    EXPECT_EQ(TypeParam::Saturated(-x).bits, 0x80 | this->kLargest);
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam::Saturated(kNan))));
  EXPECT_EQ(TypeParam::Saturated(1.0f).bits, TypeParam(1).bits);
  EXPECT_EQ(TypeParam(1e-30f).bits, 0);
  EXPECT_EQ(TypeParam(-1e-30f).bits, 0x80);
  EXPECT_EQ(static_cast<float>(Limits::max()), this->ValueOf(this->kLargest));
  EXPECT_EQ(std::isnan(static_cast<float>(Limits::quiet_NaN())), true);
}

TYPED_TEST(Float8Test, Limits) {
  using Limits = std::numeric_limits<TypeParam>;
  EXPECT_EQ(static_cast<double>(Limits::min()),
            std::ldexp(1.0, Limits::min_exponent - 1));
  EXPECT_EQ(static_cast<double>(Limits::epsilon()),
            std::ldexp(1.0, 1 - Limits::digits));
  EXPECT_EQ(static_cast<double>(Limits::round_error()), 0.5);
  EXPECT_EQ(static_cast<double>(Limits::denorm_min()), this->ValueOf(1));
  EXPECT_LT(static_cast<double>(Limits::max()),
            std::ldexp(1.0, Limits::max_exponent));
  EXPECT_GE(static_cast<double>(Limits::max()),
            std::ldexp(1.0, Limits::max_exponent - 1));
  EXPECT_EQ(Limits::has_infinity,
            std::isinf(static_cast<float>(Limits::infinity())));
  EXPECT_EQ(static_cast<double>(Limits::lowest()),
            -static_cast<double>(Limits::max()));
}

}  // namespace
}  // namespace ruy_like
