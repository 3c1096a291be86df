#include "ruy_like/fused_multiply_add.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

float PowerOf2(int exponent) { return std::ldexp(1.0f, exponent); }

// Integers below 2^24 are floats, and the conversion of an exact sum rounds
// once.
TEST(FusedMultiplyAddTest, RoundsIntegersOnce) {
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    const auto random = [&] {
      return static_cast<std::int64_t>(rng.Signed() * PowerOf2(24));
    };
    const std::int64_t x = random(), y = random();
    const std::int64_t z = random() * (std::int64_t{1} << rng.Between(0, 24));
    ASSERT_EQ(FusedMultiplyAdd(static_cast<float>(x), static_cast<float>(y),
                               static_cast<float>(z)),
              static_cast<float>(x * y + z))
        << x << " * " << y << " + " << z;
  }
}

// Sums that a double rounds to half way between two floats.
TEST(FusedMultiplyAddTest, RoundsHalvesOnce) {
  const float odd = 1 + PowerOf2(-23), above = 1 + PowerOf2(-22);
  const float half = PowerOf2(-24), tiny = PowerOf2(-20);
  const float less[] = {half * (1 + tiny), 1 - tiny};
  EXPECT_EQ(FusedMultiplyAdd(less[0], less[1], odd), odd);
  EXPECT_EQ(FusedMultiplyAdd(-less[0], less[1], -odd), -odd);
  const float more[] = {half * (1 + tiny), 1 + tiny};
  EXPECT_EQ(FusedMultiplyAdd(more[0], more[1], 1), odd);
  EXPECT_EQ(FusedMultiplyAdd(half, 1, odd), above) << "to even";
  EXPECT_EQ(FusedMultiplyAdd(half, 1, 1), 1) << "to even";
}

TEST(FusedMultiplyAddTest, LimitsOfTheRange) {
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kMin = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(FusedMultiplyAdd(kMax, 2, -kMax), kMax);
  EXPECT_EQ(FusedMultiplyAdd(kMax, 2, kMax), kInf);
  EXPECT_EQ(FusedMultiplyAdd(-kMax, kMax, kMax), -kInf);
  EXPECT_EQ(FusedMultiplyAdd(kMin, 0.5f, kMin), 2 * kMin) << "to even";
  EXPECT_EQ(FusedMultiplyAdd(kMin, kMin, kMin), kMin);
  EXPECT_EQ(FusedMultiplyAdd(kInf, 2, 1), kInf);
  EXPECT_EQ(FusedMultiplyAdd(1, 1, -kInf), -kInf);
  EXPECT_TRUE(std::isnan(FusedMultiplyAdd(kInf, 0, 1)));
  EXPECT_TRUE(std::isnan(FusedMultiplyAdd(kInf, 1, -kInf)));
  EXPECT_TRUE(std::isnan(FusedMultiplyAdd(1, 1, kNan)));
  EXPECT_TRUE(std::signbit(FusedMultiplyAdd(-1, 0, -0.0f)));
  EXPECT_FALSE(std::signbit(FusedMultiplyAdd(-1, 1, 1)));
}

}  // namespace
}  // namespace ruy_like
