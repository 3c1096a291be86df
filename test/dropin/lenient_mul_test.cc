// Tests that what has a meaning in ruy has it here, though ruy_like::Mul
// refuses it: unused and overlapping strides, dst in an operand's memory,
// exponents below -31. And that what has none still ends the program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "matrices.h"
#include "ruy/reference_mul.h"
#include "ruy/ruy.h"

namespace {

using dropin_test::RandomValues;

// The same with this stride.
template <typename T>
auto View(T* data, int rows, int cols, ruy::Order order, int stride) {
  auto matrix = dropin_test::View(data, rows, cols, order);
  matrix.mutable_layout()->set_stride(stride);
  return matrix;
}

// What Mul makes of operands of any strides from 0 on: by ReferenceMul, which
// just follows them.
template <typename T>
std::vector<T> Reference(const ruy::Matrix<T>& lhs, const ruy::Matrix<T>& rhs) {
  std::vector<T> result(static_cast<std::size_t>(lhs.layout().rows()) *
                        static_cast<std::size_t>(rhs.layout().cols()));
  ruy::Matrix<T> dst =
      View(result.data(), lhs.layout().rows(), rhs.layout().cols(),
           ruy::Order::kRowMajor, rhs.layout().cols());
  ruy::ReferenceMul(lhs, rhs, ruy::MulParams<T, T>(), &dst);
  return result;
}

TEST(LenientMulTest, StrideOfASingleRowOrColumnDoesNotMatter) {
  constexpr int kDepth = 37;
  // Small whole numbers: sums are exact in any order.
  std::vector<float> a(kDepth), b(kDepth);
  for (int i = 0; i < kDepth; ++i) {
    a[static_cast<std::size_t>(i)] = static_cast<float>(i % 5 - 2);
    b[static_cast<std::size_t>(i)] = static_cast<float>(i % 7 - 3);
  }
  ruy::Context context;
  for (int stride : {0, 1, kDepth - 1, -3}) {
    // A row, a column, and a dst of one row and one column.
    const auto lhs = View(a.data(), 1, kDepth, ruy::Order::kRowMajor, stride);
    const auto rhs = View(b.data(), kDepth, 1, ruy::Order::kColMajor, stride);
    float result = -1;
    auto dst =
        View(&result, 1, 1, ruy::Order::kRowMajor, stride < 1 ? stride : 0);
    ruy::Mul(lhs, rhs, ruy::MulParams<float, float>(), &context, &dst);
    EXPECT_EQ(result, Reference(lhs, rhs)[0]) << stride;
  }
}

TEST(LenientMulTest, RowOfDstWithAnUnusedStride) {
  const float a[] = {1, 2};
  const float b[] = {1, 2, 3, 4, 5, 6};
  float result[3] = {};
  const auto lhs = View(a, 1, 2, ruy::Order::kRowMajor, 2);
  const auto rhs = View(b, 2, 3, ruy::Order::kRowMajor, 3);
  auto dst = View(result, 1, 3, ruy::Order::kRowMajor, 1);
  ruy::Context context;
  ruy::Mul(lhs, rhs, ruy::MulParams<float, float>(), &context, &dst);
  EXPECT_EQ(std::vector<float>(result, result + 3), Reference(lhs, rhs));
}

// Stride 0: one column for all; stride 1: a sliding window.
TEST(LenientMulTest, OperandsWhoseRunsOverlap) {
  constexpr int kRows = 19, kDepth = 11, kCols = 23;
  const std::vector<std::int8_t> a =
      RandomValues<std::int8_t>(kRows * kDepth, 1);
  const std::vector<std::int8_t> b =
      RandomValues<std::int8_t>(kDepth * kCols, 2);
  for (ruy::CachePolicy policy :
       {ruy::CachePolicy::kNeverCache, ruy::CachePolicy::kAlwaysCache}) {
    for (int stride : {0, 1, kDepth - 1}) {
      auto lhs = View(a.data(), kRows, kDepth, ruy::Order::kRowMajor, stride);
      auto rhs = View(b.data(), kDepth, kCols, ruy::Order::kColMajor, stride);
      lhs.set_cache_policy(policy);
      rhs.set_cache_policy(policy);
      std::vector<std::int32_t> actual(kRows * kCols), expected(kRows * kCols);
      auto dst =
          View(actual.data(), kRows, kCols, ruy::Order::kColMajor, kRows);
      const ruy::MulParams<std::int32_t, std::int32_t> mul_params;
      ruy::Context context;
      ruy::Mul(lhs, rhs, mul_params, &context, &dst);
      dst.set_data(expected.data());
      ruy::ReferenceMul(lhs, rhs, mul_params, &dst);
      EXPECT_EQ(actual, expected) << stride;
      // A copy must not be taken for the operand at another time.
      EXPECT_EQ(ruy::get_ctx(&context)->GetPrepackedCache()->BuffersBytes(), 0);
    }
  }
}

// dst in the place of an operand; the gaps of its stride are left alone.
TEST(LenientMulTest, DstInTheMemoryOfAnOperand) {
  constexpr int kSize = 50, kStride = 53;
  for (bool in_lhs : {true, false}) {
    std::vector<float> memory(kSize * kStride), other(kSize * kStride);
    for (std::size_t i = 0; i < memory.size(); ++i) {
      memory[i] = static_cast<float>(i % 7) - 3;
      other[i] = static_cast<float>(i % 5) - 2;
    }
    const std::vector<float> before = memory;
    auto dst =
        View(memory.data(), kSize, kSize, ruy::Order::kRowMajor, kStride);
    const auto operand =
        View(other.data(), kSize, kSize, ruy::Order::kRowMajor, kStride);
    const std::vector<float> expected =
        in_lhs ? Reference(dst, operand) : Reference(operand, dst);
    ruy::Context context;
    if (in_lhs) {
      ruy::Mul(dst, operand, ruy::MulParams<float, float>(), &context, &dst);
    } else {
      ruy::Mul(operand, dst, ruy::MulParams<float, float>(), &context, &dst);
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::size_t row = i / kStride, col = i % kStride;
      ASSERT_EQ(memory[i],
                col < kSize ? expected[row * kSize + col] : before[i])
          << row << ", " << col;
    }
  }
}

class LowExponentTest : public testing::Test {
 protected:
  LowExponentTest()
      : lhs_(View(lhs_data_, 3, 2, ruy::Order::kRowMajor, 2)),
        rhs_(View(rhs_data_, 2, 1, ruy::Order::kColMajor, 2)),
        dst_(View(result_, 3, 1, ruy::Order::kColMajor, 3)) {
    dst_.set_zero_point(9);
    mul_params_.set_bias(bias_);
  }
  std::vector<int> Mul() {
    ruy::Mul(lhs_, rhs_, mul_params_, &context_, &dst_);
    const std::vector<int> result(result_, result_ + 3);
    ruy::ReferenceMul(lhs_, rhs_, mul_params_, &dst_);
    EXPECT_EQ(std::vector<int>(result_, result_ + 3), result);
    return result;
  }

  const std::int8_t lhs_data_[6] = {127, 127, -128, -128, 1, 0};
  const std::int8_t rhs_data_[2] = {127, 127};
  const std::int32_t bias_[3] = {1 << 30, std::numeric_limits<int>::min(), 0};
  std::int8_t result_[3] = {};
  ruy::Matrix<std::int8_t> lhs_, rhs_, dst_;
  ruy::MulParams<std::int32_t, std::int8_t> mul_params_;
  ruy::Context context_;
};

TEST_F(LowExponentTest, OneMultiplierGivesZero) {
  mul_params_.set_multiplier_fixedpoint(std::numeric_limits<int>::max());
  for (int exponent : {-32, -40, -1000, std::numeric_limits<int>::min()}) {
    mul_params_.set_multiplier_exponent(exponent);
    EXPECT_EQ(Mul(), (std::vector<int>{9, 9, 9})) << exponent;
  }
}

TEST_F(LowExponentTest, PerChannel) {
  const std::int32_t fixedpoints[] = {1 << 30, 1 << 30, 1 << 30};
  const int exponents[] = {-33, -99, -5};  // 127 / 64 = 1.98
  mul_params_.set_multiplier_fixedpoint_perchannel(fixedpoints);
  mul_params_.set_multiplier_exponent_perchannel(exponents);
  EXPECT_EQ(Mul(), (std::vector<int>{9, 9, 11}));
}

using LenientMulDeathTest = LowExponentTest;

TEST_F(LenientMulDeathTest, WhatHasNoMeaning) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  mul_params_.set_multiplier_fixedpoint(-1);
  mul_params_.set_multiplier_exponent(-40);
  EXPECT_DEATH(Mul(), "multiplier_fixedpoint is negative");
  mul_params_.set_multiplier_fixedpoint(1);
  mul_params_.set_multiplier_exponent(31);
  EXPECT_DEATH(Mul(), "multiplier_exponent is 31");
  mul_params_.set_multiplier_exponent(0);
  lhs_.mutable_layout()->set_stride(-1);
  EXPECT_DEATH(Mul(), "lhs .* has a stride below its columns");
  lhs_.mutable_layout()->set_stride(2);
  // dst's elements would overlap each other.
  ruy::MakeSimpleLayout(3, 2, ruy::Order::kColMajor, dst_.mutable_layout());
  dst_.mutable_layout()->set_stride(2);
  rhs_.mutable_layout()->set_cols(2);
  EXPECT_DEATH(Mul(), "dst .* has a stride below its rows");
}

TEST_F(LenientMulDeathTest, ConstDstInTheMemoryOfAnOperand) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ruy::MakeSimpleLayout(3, 1, ruy::Order::kColMajor, dst_.mutable_layout());
  dst_.set_data(lhs_data_);
  EXPECT_DEATH(Mul(), "dst .* was given a pointer to const data");
}

}  // namespace
