// BFloat16 and Float16: every value, and every place where rounding changes.
#include "ruy_like/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ruy_like {
namespace {

// A format by its definition, in double, which holds all of its values and all
// points half-way between two of them.
struct Format {
  int mantissa_bits;
  int bias;

  int MaxExponent() const { return (1 << (15 - mantissa_bits)) - 1; }
  std::uint16_t Infinity() const {
    return static_cast<std::uint16_t>(MaxExponent() << mantissa_bits);
  }
  bool IsNan(std::uint16_t bits) const { return (bits & 0x7fff) > Infinity(); }

  // For finite values; an infinity counts as the value after the largest.
  double ValueOf(std::uint16_t bits) const {
    const int exponent = (bits & 0x7fff) >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                      : std::ldexp(mantissa + (1 << mantissa_bits),
                                   exponent - bias - mantissa_bits);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }
};
constexpr Format kBFloat16 = {7, 127};
constexpr Format kFloat16 = {10, 15};

template <typename T>
constexpr Format kFormat =
    std::is_same<T, BFloat16>::value ? kBFloat16 : kFloat16;

template <typename T>
class Float16Test : public testing::Test {};
using Types = testing::Types<BFloat16, Float16>;
TYPED_TEST_SUITE(Float16Test, Types);

TYPED_TEST(Float16Test, EveryValueToFloatAndBack) {
  const Format& format = kFormat<TypeParam>;
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const TypeParam value = TypeParam::FromBits(bits);
    ASSERT_EQ(value.bits, bits);
    const float wide = static_cast<float>(value);
    const auto back = static_cast<TypeParam>(wide);
    ASSERT_EQ(std::signbit(wide), i >= 0x8000) << std::hex << i;
    if (format.IsNan(bits)) {
      ASSERT_TRUE(std::isnan(wide)) << std::hex << i;
      // Quiet, with the payload.
      ASSERT_NE(float16_internal::BitsOfFloat(wide) & 0x00400000, 0u)
          << std::hex << i;
      ASSERT_EQ(back.bits, bits | (1 << (format.mantissa_bits - 1)));
      continue;
    }
    if ((bits & 0x7fff) == format.Infinity()) {
      ASSERT_TRUE(std::isinf(wide));
    } else {
      ASSERT_EQ(static_cast<double>(wide), format.ValueOf(bits))
          << std::hex << i;
    }
    ASSERT_EQ(back.bits, bits);
    ASSERT_EQ(static_cast<double>(value), wide);
    ASSERT_EQ(+value, wide);
  }
}

// Between two neighbours: what is below the middle goes down, what is above
// goes up, the middle to the one whose last bit is 0. Floats next to the middle
// are the nearest to it there are.
TYPED_TEST(Float16Test, RoundsToNearestEven) {
  const Format& format = kFormat<TypeParam>;
  for (int i = 0; i < format.Infinity(); ++i) {
    for (const int sign : {0, 0x8000}) {
      const auto bits = static_cast<std::uint16_t>(i | sign);
      const auto next = static_cast<std::uint16_t>(bits + 1);
      const double middle = (format.ValueOf(bits) + format.ValueOf(next)) / 2;
      const auto at = static_cast<float>(middle);
      ASSERT_EQ(static_cast<double>(at), middle);
      const float out = sign == 0 ? INFINITY : -INFINITY;
      const float below = std::nextafterf(at, 0.0f);
      const float above = std::nextafterf(at, out);
      ASSERT_EQ(TypeParam(below).bits, bits) << std::hex << bits;
      ASSERT_EQ(TypeParam(above).bits, next) << std::hex << bits;
      ASSERT_EQ(TypeParam(at).bits, i % 2 == 0 ? bits : next)
          << std::hex << bits;
    }
  }
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::max()).bits,
            format.Infinity());
  EXPECT_EQ(TypeParam(INFINITY).bits, format.Infinity());
  EXPECT_EQ(TypeParam(-INFINITY).bits, format.Infinity() | 0x8000);
}

// Whatever the payload, one that rounding would carry into the sign included.
TYPED_TEST(Float16Test, NansStayQuietNans) {
  const Format& format = kFormat<TypeParam>;
  for (const std::uint32_t sign : {0u, 0x80000000u}) {
    for (const std::uint32_t payload :
         {1u, 0x1000u, 0xffffu, 0x10000u, 0x1fffffu, 0x200000u, 0x3fffffu,
          0x400000u, 0x400001u, 0x7fffffu}) {
      const std::uint32_t bits = sign | 0x7f800000 | payload;
      // By the bits: a float in a register of the x87 would become quiet.
      const std::uint16_t rounded =
          std::is_same<TypeParam, BFloat16>::value
              ? float16_internal::RoundToBFloat16(bits)
              : float16_internal::RoundToFloat16(bits);
      EXPECT_TRUE(format.IsNan(rounded)) << std::hex << bits;
      EXPECT_EQ(rounded >> 15, sign >> 31) << std::hex << bits;
      EXPECT_NE(rounded & (1 << (format.mantissa_bits - 1)), 0)
          << std::hex << bits;
    }
  }
}

TYPED_TEST(Float16Test, ComparesAsFloatsDo) {
  const std::uint16_t kInteresting[] = {
      0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x7bff,
      0x7c00, 0xfc00, 0x7e00, 0x7f80, 0xff80, 0x7f7f, 0x7fff, 0xffff, 0x7c01};
  for (const std::uint16_t i : kInteresting) {
    for (const std::uint16_t j : kInteresting) {
      const TypeParam a = TypeParam::FromBits(i), b = TypeParam::FromBits(j);
      const auto x = static_cast<float>(a), y = static_cast<float>(b);
      EXPECT_EQ(a == b, x == y) << i << " " << j;
      EXPECT_EQ(a != b, x != y) << i << " " << j;
      EXPECT_EQ(a < b, x < y) << i << " " << j;
      EXPECT_EQ(a > b, x > y) << i << " " << j;
      EXPECT_EQ(a <= b, x <= y) << i << " " << j;
      EXPECT_EQ(a >= b, x >= y) << i << " " << j;
    }
  }
}

// The limits are those of the format: they come from float's arithmetic alone.
TYPED_TEST(Float16Test, Limits) {
  using Limits = std::numeric_limits<TypeParam>;
  const Format& format = kFormat<TypeParam>;
  EXPECT_EQ(Limits::digits, format.mantissa_bits + 1);
  EXPECT_EQ(static_cast<double>(Limits::epsilon()),
            std::ldexp(1, -format.mantissa_bits));
  EXPECT_EQ(static_cast<double>(Limits::min()),
            std::ldexp(1, Limits::min_exponent - 1));
  EXPECT_EQ(Limits::min_exponent - 1, 1 - format.bias);
  EXPECT_EQ(static_cast<double>(Limits::max()),
            std::ldexp(2 - std::ldexp(1, -format.mantissa_bits),
                       Limits::max_exponent - 1));
  EXPECT_EQ(Limits::max().bits, format.Infinity() - 1);
  EXPECT_EQ(Limits::lowest(), -Limits::max());
  EXPECT_EQ(static_cast<double>(Limits::denorm_min()), format.ValueOf(1));
  EXPECT_EQ(static_cast<double>(Limits::round_error()), 0.5);
  EXPECT_TRUE(std::isinf(static_cast<float>(Limits::infinity())));
  EXPECT_TRUE(format.IsNan(Limits::quiet_NaN().bits));
  EXPECT_TRUE(format.IsNan(Limits::signaling_NaN().bits));
  const int quiet = 1 << (format.mantissa_bits - 1);
  EXPECT_NE(Limits::quiet_NaN().bits & quiet, 0);
  EXPECT_EQ(Limits::signaling_NaN().bits & quiet, 0);
  // Formulas of the standard's: what a decimal text keeps, and the other way.
  EXPECT_EQ(Limits::digits10,
            static_cast<int>(std::floor((Limits::digits - 1) * std::log10(2))));
  EXPECT_EQ(Limits::max_digits10,
            static_cast<int>(std::ceil(Limits::digits * std::log10(2) + 1)));
  EXPECT_EQ(Limits::min_exponent10, static_cast<int>(std::ceil(std::log10(
                                        static_cast<double>(Limits::min())))));
  EXPECT_EQ(Limits::max_exponent10, static_cast<int>(std::floor(std::log10(
                                        static_cast<double>(Limits::max())))));
}

TYPED_TEST(Float16Test, IsAPlainType) {
  static_assert(std::is_trivial<TypeParam>::value);
  static_assert(std::is_standard_layout<TypeParam>::value);
  static_assert(sizeof(TypeParam) == 2 && alignof(TypeParam) == 2);
  static_assert(!std::is_convertible<float, TypeParam>::value);
  static_assert(!std::is_convertible<TypeParam, float>::value);
  static_assert(TypeParam().bits == 0);
  static_assert((-TypeParam()).bits == 0x8000);
  static_assert(-TypeParam() == TypeParam());
  static_assert(TypeParam::FromBits(3) > TypeParam());
  static_assert(std::numeric_limits<TypeParam>::max() <
                std::numeric_limits<TypeParam>::infinity());
  EXPECT_EQ(static_cast<float>(TypeParam(1)), 1.0f);
  EXPECT_EQ(static_cast<int>(TypeParam(-3.0)), -3);
}

}  // namespace
}  // namespace ruy_like
