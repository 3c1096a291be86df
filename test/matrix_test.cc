// Tests ruy_like/matrix.h: matrices made in one line, and of const elements.
#include "ruy_like/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <sstream>
#include <type_traits>
#include <vector>

#include "absl/types/span.h"
#include "ruy_like/ruy_like.h"

namespace ruy_like {
namespace {

template <typename M>
void ExpectLayout(const M& matrix, std::ptrdiff_t rows, std::ptrdiff_t cols,
                  Order order, std::ptrdiff_t stride) {
  EXPECT_EQ(matrix.layout().rows(), rows);
  EXPECT_EQ(matrix.layout().cols(), cols);
  EXPECT_EQ(matrix.layout().order(), order);
  EXPECT_EQ(matrix.layout().stride(), stride);
}

TEST(RowMajorTest, Layouts) {
  float data[12];
  ExpectLayout(RowMajor(data, 3, 4), 3, 4, Order::kRowMajor, 4);
  ExpectLayout(ColMajor(data, 3, 4), 3, 4, Order::kColMajor, 3);
  ExpectLayout(RowMajor(data, 2, 4, 7), 2, 4, Order::kRowMajor, 7);
  ExpectLayout(ColMajor(data, 3, 2, 6), 3, 2, Order::kColMajor, 6);
  EXPECT_EQ(RowMajor(data, 3, 4).data(), data);
}

// Constness is that of the elements.
TEST(RowMajorTest, Types) {
  float array[6] = {};
  const float const_array[6] = {};
  std::vector<std::int8_t> vector(6);
  const std::vector<std::int8_t> const_vector(6);
  std::array<double, 6> std_array = {};
  const auto expect = [](const auto& matrix, const auto* data, auto type) {
    using Actual = std::decay_t<decltype(matrix)>;
    EXPECT_TRUE((std::is_same<Actual, decltype(type)>::value));
    EXPECT_EQ(matrix.data(), data);
    EXPECT_EQ(matrix.data_is_const(),
              (std::is_const<std::remove_pointer_t<
                   decltype(std::declval<Actual&>().data())>>::value));
  };
  expect(RowMajor(array, 2, 3), array, Matrix<float>());
  expect(RowMajor(&array[0], 2, 3), array, Matrix<float>());
  expect(RowMajor(const_array, 2, 3), const_array, Matrix<const float>());
  expect(ColMajor(&const_array[0], 2, 3), const_array, Matrix<const float>());
  expect(RowMajor(vector, 2, 3), vector.data(), Matrix<std::int8_t>());
  expect(RowMajor(const_vector, 2, 3), const_vector.data(),
         Matrix<const std::int8_t>());
  expect(RowMajor(std_array, 2, 3), std_array.data(), Matrix<double>());
  expect(RowMajor(absl::MakeSpan(vector), 2, 3), vector.data(),
         Matrix<std::int8_t>());
  expect(RowMajor(absl::MakeConstSpan(vector), 2, 3), vector.data(),
         Matrix<const std::int8_t>());
}

TEST(RowMajorTest, TooFewElementsGiveNullData) {
  std::vector<float> six(6);
  float array[6] = {};
  const auto fits = [&](std::ptrdiff_t rows, std::ptrdiff_t cols,
                        std::ptrdiff_t stride) {
    const bool fits = RowMajor(six, rows, cols, stride).data() != nullptr;
    EXPECT_EQ(RowMajor(array, rows, cols, stride).data() != nullptr, fits);
    EXPECT_EQ(ColMajor(six, cols, rows, stride).data() != nullptr, fits);
    return fits;
  };
  EXPECT_TRUE(fits(2, 3, kNoGaps));
  EXPECT_TRUE(fits(1, 6, kNoGaps));
  EXPECT_TRUE(fits(6, 1, kNoGaps));
  EXPECT_FALSE(fits(1, 7, kNoGaps));
  EXPECT_FALSE(fits(7, 1, kNoGaps));
  EXPECT_FALSE(fits(2, 4, kNoGaps));
  // The last row needs no gap behind it.
  EXPECT_TRUE(fits(2, 2, 4));
  EXPECT_FALSE(fits(2, 2, 5));
  EXPECT_TRUE(fits(1, 2, 1000));
  EXPECT_FALSE(fits(PTRDIFF_MAX, PTRDIFF_MAX, kNoGaps));
  EXPECT_FALSE(fits(3, 2, PTRDIFF_MAX));
  // Empty, or refused by Mul for another reason.
  EXPECT_TRUE(fits(0, 7, kNoGaps));
  EXPECT_TRUE(fits(-1, 7, kNoGaps));
  EXPECT_TRUE(fits(2, 3, 2));
  EXPECT_TRUE(fits(2, 3, -3));
  EXPECT_EQ(RowMajor(static_cast<float*>(nullptr), 2, 3).data(), nullptr);
}

TEST(ConstMatrixTest, IsAnOperand) {
  const std::int8_t lhs_data[] = {1, 2, 3, 4};
  const std::uint8_t rhs_data[] = {5, 6, 7, 8};
  std::int32_t dst_data[4];
  Matrix<const std::int8_t> lhs = RowMajor(lhs_data, 2, 2);
  Matrix<const std::uint8_t> rhs = RowMajor(rhs_data, 2, 2);
  lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  rhs.set_zero_point(1);
  Matrix<std::int32_t> dst = RowMajor(dst_data, 2, 2);
  const MulParams<std::int32_t, std::int32_t> mul_params;
  Context context;
  const auto expect_right = [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(dst_data, testing::ElementsAre(16, 19, 36, 43));
    for (std::int32_t& element : dst_data) element = 0;
  };
  expect_right(Mul(lhs, rhs, mul_params, &context, &dst));
  EXPECT_GT(context.prepacked_cache_bytes(), 0u);
  const PackOptions options = {Order::kRowMajor};
  const absl::StatusOr<PackedMatrix<std::int8_t>> packed =
      Pack(lhs, Side::kLhs, options, &context);
  ASSERT_TRUE(packed.ok()) << packed.status();
  expect_right(Mul(*packed, rhs, mul_params, &context, &dst));
  ReferenceMul(lhs, rhs, mul_params, &dst);
  expect_right(absl::OkStatus());
  MulPlan plan;
  absl::Status status = plan.Prepare(lhs, rhs, mul_params, 1, &context, &dst);
  status.Update(plan.Run(0));
  status.Update(plan.Finish());
  expect_right(status);
}

TEST(ConstMatrixTest, Conversions) {
  float data[] = {1, 2, 3, 4};
  Matrix<float> matrix = ColMajor(data, 2, 2);
  matrix.set_zero_point(3);
  const Matrix<const float> const_matrix = matrix;
  const Matrix<float>& back = const_matrix;
  EXPECT_EQ(back.zero_point(), 3);
  EXPECT_EQ(back.data(), data);
  EXPECT_TRUE(back.data_is_const());
  std::ostringstream text;
  text << const_matrix;
  EXPECT_EQ(text.str(), "1 3 \n2 4 \n");
  EXPECT_EQ(Element(const_matrix, 1, 0), 2);
  // A copy is no way to write it.
  Matrix<float> dst = back;
  Context context;
  EXPECT_FALSE(Mul(RowMajor(data, 2, 2), RowMajor(data, 2, 2),
                   MulParams<float, float>(), &context, &dst)
                   .ok());
  EXPECT_EQ(Matrix<const float>().data(), nullptr);
}

}  // namespace
}  // namespace ruy_like
