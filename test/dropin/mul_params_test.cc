// Tests ruy::MulParams: its getters, and the switch between one multiplier and
// one per channel.
#include "ruy/mul_params.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "matrices.h"
#include "ruy/ruy.h"

namespace {

using dropin_test::View;

using Params = ruy::MulParams<std::int32_t, std::int8_t>;

// 100 * multiplier for the two rows of a 2x1 product, of which the second is
// half the first.
struct Results {
  int first, second;
};
bool operator==(const Results& a, const Results& b) {
  return a.first == b.first && a.second == b.second;
}
std::ostream& operator<<(std::ostream& stream, const Results& results) {
  return stream << "{" << results.first << ", " << results.second << "}";
}

Results Multiply(const Params& mul_params) {
  const std::int8_t lhs_data[] = {100, 50};
  const std::int8_t rhs_data[] = {1};
  std::int8_t dst_data[2];
  auto dst = View(dst_data, 2, 1, ruy::Order::kColMajor);
  ruy::Context context;
  ruy::Mul(View(lhs_data, 2, 1, ruy::Order::kRowMajor),
           View(rhs_data, 1, 1, ruy::Order::kColMajor), mul_params, &context,
           &dst);
  return {dst_data[0], dst_data[1]};
}

TEST(MulParamsTest, Defaults) {
  static_assert(std::is_same<Params::AccumScalar, std::int32_t>::value, "");
  static_assert(std::is_same<Params::DstScalar, std::int8_t>::value, "");
  const Params mul_params;
  EXPECT_EQ(mul_params.bias(), nullptr);
  EXPECT_EQ(mul_params.multiplier_fixedpoint_perchannel(), nullptr);
  EXPECT_EQ(mul_params.multiplier_exponent_perchannel(), nullptr);
  // As ruy says; yet the product is the plain one.
  EXPECT_EQ(mul_params.multiplier_fixedpoint(), 0);
  EXPECT_EQ(mul_params.multiplier_exponent(), 0);
  EXPECT_EQ(mul_params.clamp_min(), -128);
  EXPECT_EQ(mul_params.clamp_max(), 127);
  EXPECT_EQ(mul_params.channel_dimension(), ruy::ChannelDimension::kRow);
  EXPECT_EQ(mul_params.perchannel_buffers_capacity_rounding(), 1);
  EXPECT_EQ(Multiply(mul_params), (Results{100, 50}));
}

TEST(MulParamsTest, FloatHasNoMultiplier) {
  ruy::MulParams<float, float> mul_params;
  EXPECT_EQ(mul_params.multiplier_fixedpoint(), 0);
  EXPECT_EQ(mul_params.multiplier_exponent(), 0);
  EXPECT_EQ(mul_params.multiplier_fixedpoint_perchannel(), nullptr);
  EXPECT_EQ(mul_params.multiplier_exponent_perchannel(), nullptr);
  EXPECT_EQ(mul_params.clamp_max(), std::numeric_limits<float>::infinity());
  mul_params.set_clamp_min(0);
  EXPECT_EQ(mul_params.clamp_min(), 0);
}

TEST(MulParamsTest, RawInt32HasNoMultiplier) {
  const ruy::MulParams<std::int32_t, std::int32_t> mul_params;
  EXPECT_EQ(mul_params.multiplier_fixedpoint(), 0);
  EXPECT_EQ(mul_params.multiplier_exponent(), 0);
  EXPECT_EQ(mul_params.multiplier_fixedpoint_perchannel(), nullptr);
  EXPECT_EQ(mul_params.clamp_max(), std::numeric_limits<std::int32_t>::max());
}

TEST(MulParamsTest, KeepsTheRoundingOfCapacities) {
  Params mul_params;
  mul_params.set_perchannel_buffers_capacity_rounding(16);
  EXPECT_EQ(mul_params.perchannel_buffers_capacity_rounding(), 16);
  EXPECT_EQ(Multiply(mul_params), (Results{100, 50}));
}

TEST(MulParamsTest, FixedpointAloneHasExponentZero) {
  Params mul_params;
  mul_params.set_multiplier_fixedpoint(1 << 30);
  EXPECT_EQ(mul_params.multiplier_exponent(), 0);
  EXPECT_EQ(Multiply(mul_params), (Results{50, 25}));
}

TEST(MulParamsTest, ExponentAloneHasFixedpointOfAHalf) {
  Params mul_params;
  mul_params.set_multiplier_exponent(0);
  EXPECT_EQ(mul_params.multiplier_fixedpoint(), 0);
  EXPECT_EQ(Multiply(mul_params), (Results{50, 25}));
}

TEST(MulParamsTest, FromOneMultiplierToArraysAndBack) {
  const std::int32_t fixedpoints[] = {1 << 30, 1 << 30};
  const int exponents[] = {0, -1};
  Params mul_params;
  mul_params.set_multiplier_fixedpoint(1 << 30);
  mul_params.set_multiplier_exponent(1);
  EXPECT_EQ(mul_params.multiplier_fixedpoint(), 1 << 30);
  EXPECT_EQ(mul_params.multiplier_exponent(), 1);
  EXPECT_EQ(Multiply(mul_params), (Results{100, 50}));

  mul_params.set_multiplier_fixedpoint_perchannel(fixedpoints);
  mul_params.set_multiplier_exponent_perchannel(exponents);
  EXPECT_EQ(mul_params.multiplier_fixedpoint_perchannel(), fixedpoints);
  EXPECT_EQ(mul_params.multiplier_exponent_perchannel(), exponents);
  EXPECT_EQ(mul_params.multiplier_fixedpoint(), 0);
  EXPECT_EQ(mul_params.multiplier_exponent(), 0);
  EXPECT_EQ(Multiply(mul_params), (Results{50, 13}));

  // One scalar setter is enough; the other part is as it was.
  mul_params.set_multiplier_fixedpoint(1 << 29);
  EXPECT_EQ(mul_params.multiplier_fixedpoint_perchannel(), nullptr);
  EXPECT_EQ(mul_params.multiplier_exponent_perchannel(), nullptr);
  EXPECT_EQ(mul_params.multiplier_fixedpoint(), 1 << 29);
  EXPECT_EQ(mul_params.multiplier_exponent(), 1);
  EXPECT_EQ(Multiply(mul_params), (Results{50, 25}));

  mul_params.set_multiplier_exponent_perchannel(exponents);
  mul_params.set_multiplier_fixedpoint_perchannel(fixedpoints);
  EXPECT_EQ(Multiply(mul_params), (Results{50, 13}));
  mul_params.set_multiplier_exponent(0);
  EXPECT_EQ(Multiply(mul_params), (Results{25, 13}));
}

// As a caller does that hands on a struct in which the arrays may be null.
TEST(MulParamsTest, NullArraysLeaveTheOneMultiplier) {
  Params mul_params;
  mul_params.set_multiplier_fixedpoint(1 << 30);
  mul_params.set_multiplier_exponent(0);
  mul_params.set_multiplier_fixedpoint_perchannel(nullptr);
  mul_params.set_multiplier_exponent_perchannel(nullptr);
  EXPECT_EQ(Multiply(mul_params), (Results{50, 25}));
}

}  // namespace
