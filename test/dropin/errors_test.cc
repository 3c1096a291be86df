// Tests that bad arguments end the program with the Status' text, in release
// builds too.
#include <gtest/gtest.h>

#include <cstdint>

#include "matrices.h"
#include "ruy/ruy.h"

namespace {

using dropin_test::View;

class MulDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void Mul() { ruy::Mul(lhs_, rhs_, mul_params_, &context_, &dst_); }

  const std::int8_t lhs_data_[6] = {1, 2, 3, 4, 5, 6};
  const std::int8_t rhs_data_[12] = {};
  std::int8_t dst_data_[8] = {};
  ruy::Matrix<std::int8_t> lhs_ = View(lhs_data_, 2, 3, ruy::Order::kRowMajor);
  ruy::Matrix<std::int8_t> rhs_ = View(rhs_data_, 3, 4, ruy::Order::kColMajor);
  ruy::Matrix<std::int8_t> dst_ = View(dst_data_, 2, 4, ruy::Order::kColMajor);
  ruy::MulParams<std::int32_t, std::int8_t> mul_params_;
  ruy::Context context_;
};

TEST_F(MulDeathTest, GoodArgumentsAreFine) { Mul(); }

TEST_F(MulDeathTest, DimensionsThatDoNotMatch) {
  rhs_.mutable_layout()->set_rows(2);
  EXPECT_DEATH(Mul(),
               "ruy::Mul: INVALID_ARGUMENT: dimensions do not match: "
               "lhs columns = 3, rhs rows = 2");
}

TEST_F(MulDeathTest, NullData) {
  lhs_.set_data(nullptr);
  EXPECT_DEATH(Mul(), "lhs .int8, 2x3 row-major, stride 3. has null data");
}

TEST_F(MulDeathTest, StrideTooSmall) {
  dst_.mutable_layout()->set_stride(1);
  EXPECT_DEATH(Mul(), "dst .*stride 1.* has a stride below its rows, 2");
}

TEST_F(MulDeathTest, ConstDst) {
  dst_.set_data(static_cast<const std::int8_t*>(dst_data_));
  EXPECT_DEATH(Mul(), "dst .* was given a pointer to const data");
}

TEST_F(MulDeathTest, HalfSetArrays) {
  const std::int32_t fixedpoints[] = {1, 1};
  mul_params_.set_multiplier_fixedpoint_perchannel(fixedpoints);
  EXPECT_DEATH(Mul(), "multiplier_exponent_perchannel is null");
}

TEST_F(MulDeathTest, ClampBoundsTheWrongWayRound) {
  mul_params_.set_clamp_min(3);
  mul_params_.set_clamp_max(2);
  EXPECT_DEATH(Mul(), "clamp_min = 3 is above clamp_max = 2");
}

TEST_F(MulDeathTest, NullContextAndNullDst) {
  EXPECT_DEATH(ruy::Mul(lhs_, rhs_, mul_params_, nullptr, &dst_),
               "ruy::Mul: INVALID_ARGUMENT: context is null");
  ruy::Matrix<std::int8_t>* const null_dst = nullptr;
  EXPECT_DEATH(ruy::Mul(lhs_, rhs_, mul_params_, &context_, null_dst),
               "ruy::Mul: INVALID_ARGUMENT: dst is null");
}

}  // namespace
