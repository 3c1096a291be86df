// The oracle itself, against arithmetic of another kind and against results
// worked out by hand.
#include "ruy_like/reference_mul.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// The contract by a quotient and its remainder: the nearest integer to x * m,
// halves up, saturated. No sum comes close to the limits of 64 bits.
std::int32_t RequantizeByDivision(std::int32_t x, std::int32_t fixedpoint,
                                  int exponent) {
  const std::int64_t product = std::int64_t{x} * fixedpoint;
  const std::int64_t divisor = std::int64_t{1} << (31 - exponent);
  std::int64_t quotient = product / divisor;
  std::int64_t remainder = product % divisor;
  if (remainder < 0) {
    remainder += divisor;
    --quotient;
  }
  const std::int64_t rounded =
      remainder >= divisor - remainder ? quotient + 1 : quotient;
  if (rounded < INT32_MIN) return INT32_MIN;
  if (rounded > INT32_MAX) return INT32_MAX;
  return static_cast<std::int32_t>(rounded);
}

TEST(RequantizeTest, MatchesDivision) {
  Rng rng(1);
  const std::int32_t sums[] = {INT32_MIN, INT32_MIN + 1, -2,       -1, 0, 1,
                               2,         INT32_MAX - 1, INT32_MAX};
  const std::int32_t fixedpoints[] = {0, 1, 1 << 30, INT32_MAX};
  for (int exponent = -31; exponent <= 30; ++exponent) {
    for (const std::int32_t sum : sums) {
      for (const std::int32_t fixedpoint : fixedpoints) {
        ASSERT_EQ(Requantize(sum, fixedpoint, exponent),
                  RequantizeByDivision(sum, fixedpoint, exponent))
            << sum << " " << fixedpoint << " " << exponent;
      }
    }
    for (int i = 0; i < 5000; ++i) {
      const auto sum =
          static_cast<std::int32_t>(rng.Next() >> rng.Between(0, 63));
      const auto fixedpoint =
          static_cast<std::int32_t>(rng.Next() >> rng.Between(33, 63));
      ASSERT_EQ(Requantize(sum, fixedpoint, exponent),
                RequantizeByDivision(sum, fixedpoint, exponent))
          << sum << " " << fixedpoint << " " << exponent;
    }
  }
}

TEST(RequantizeTest, RoundsHalfUp) {
  EXPECT_EQ(Requantize(1, 1 << 30, 0), 1);    // 0.5
  EXPECT_EQ(Requantize(-1, 1 << 30, 0), 0);   // -0.5
  EXPECT_EQ(Requantize(-3, 1 << 30, 0), -1);  // -1.5
  EXPECT_EQ(Requantize(3, 1 << 30, 0), 2);    // 1.5
  EXPECT_EQ(Requantize(12345, 1 << 30, 1), 12345);
}

TEST(ReferenceMulTest, Float) {
  const float lhs_values[] = {1, 2, 3, 4, 5, 6};   // 2x3, row-major
  const float rhs_values[] = {1, 0, -1, 2, 2, 2};  // 3x2, column-major
  const auto lhs = RowMajorOf(lhs_values, 2, 3);
  const auto rhs = ColMajorOf(rhs_values, 3, 2);
  MulParams<float, float> params;
  const float bias[] = {100, 200};
  params.set_bias(bias);
  params.set_clamp_max(229);
  EXPECT_EQ(ReferenceMulTo<float>(lhs, rhs, params, Order::kRowMajor),
            (std::vector<float>{98, 112, 198, 229}));
  params.set_channel_dimension(ChannelDimension::kCol);
  EXPECT_EQ(ReferenceMulTo<float>(lhs, rhs, params, Order::kRowMajor),
            (std::vector<float>{98, 212, 98, 229}));
}

TEST(ReferenceMulTest, ZeroPoints) {
  // (lhs - 10) = {1, 2}, (rhs - 100) = {-3, 4}: 5, and 50 more.
  const std::uint8_t lhs_values[] = {11, 12};
  const std::int8_t rhs_values[] = {97, 104};
  std::uint8_t result;
  auto lhs = RowMajorOf(lhs_values, 1, 2);
  lhs.set_zero_point(10);
  auto rhs = ColMajorOf(rhs_values, 2, 1);
  rhs.set_zero_point(100);
  auto dst = RowMajorOf(&result, 1, 1);
  dst.set_zero_point(50);
  ReferenceMul(lhs, rhs, MulParams<std::int32_t, std::uint8_t>(), &dst);
  EXPECT_EQ(result, 55);
}

TEST(ReferenceMulTest, PerChannelMultipliersReplaceThePerTensorOne) {
  const std::int8_t lhs_values[] = {8, 8};
  const std::int8_t rhs_values[] = {8};
  const auto lhs = RowMajorOf(lhs_values, 2, 1);
  const auto rhs = ColMajorOf(rhs_values, 1, 1);
  MulParams<std::int32_t, std::int16_t> params;
  params.set_multiplier_fixedpoint(1 << 30);
  params.set_multiplier_exponent(0);
  EXPECT_EQ(ReferenceMulTo<std::int16_t>(lhs, rhs, params),
            (std::vector<std::int16_t>{32, 32}));
  const std::int32_t fixedpoints[] = {1 << 30, 3 << 29};
  const int exponents[] = {1, 3};
  params.set_multiplier_fixedpoint_perchannel(fixedpoints);
  params.set_multiplier_exponent_perchannel(exponents);
  EXPECT_EQ(ReferenceMulTo<std::int16_t>(lhs, rhs, params),
            (std::vector<std::int16_t>{64, 384}));
}

TEST(ReferenceMulTest, SumsWrap) {
  // 3 * 2^30 is -2^30 modulo 2^32.
  constexpr std::ptrdiff_t kDepth = 3 * 256;  // each term is 2^22
  const std::vector<std::int16_t> lhs_values(kDepth, -32768);
  const std::vector<std::int8_t> rhs_values(kDepth, -128);
  const auto lhs = RowMajorOf(lhs_values, 1, kDepth);
  const auto rhs = ColMajorOf(rhs_values, kDepth, 1);
  EXPECT_EQ(ReferenceMulTo<std::int32_t>(lhs, rhs)[0], -(1 << 30));
}

}  // namespace
}  // namespace ruy_like
