// Tests ruy::Mul and ruy::ReferenceMul over the combinations of types and
// memory orders that ruy accepts.
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <type_traits>
#include <vector>

#include "matrices.h"
#include "ruy/reference_mul.h"
#include "ruy/ruy.h"

namespace {

using dropin_test::RandomValues;
using dropin_test::View;

template <typename Lhs, typename Rhs, typename Accum, typename Dst>
struct Types {
  using LhsScalar = Lhs;
  using RhsScalar = Rhs;
  using AccumScalar = Accum;
  using DstScalar = Dst;
};

template <typename T>
class TypesTest : public testing::Test {};

using I8 = std::int8_t;
using U8 = std::uint8_t;
using I16 = std::int16_t;
using I32 = std::int32_t;
using AllTypes =
    testing::Types<Types<float, float, float, float>,
                   Types<double, float, double, float>,
                   Types<float, double, double, double>,
                   Types<double, double, double, double>,              //
                   Types<I8, I8, I32, I8>, Types<I8, I8, I32, U8>,     //
                   Types<I8, I8, I32, I16>, Types<I8, I8, I32, I32>,   //
                   Types<U8, U8, I32, I8>, Types<U8, U8, I32, U8>,     //
                   Types<U8, U8, I32, I16>, Types<U8, U8, I32, I32>,   //
                   Types<I8, U8, I32, I8>, Types<I8, U8, I32, U8>,     //
                   Types<I8, U8, I32, I16>, Types<I8, U8, I32, I32>,   //
                   Types<U8, I8, I32, I8>, Types<U8, I8, I32, U8>,     //
                   Types<U8, I8, I32, I16>, Types<U8, I8, I32, I32>,   //
                   Types<I8, I16, I32, I8>, Types<I8, I16, I32, I16>,  //
                   Types<I8, I16, I32, I32>, Types<I16, I8, I32, I16>>;
TYPED_TEST_SUITE(TypesTest, AllTypes);

// A 5x7 times 7x3 product with everything that the types permit.
template <typename T>
void CheckProduct(ruy::Order lhs_order, ruy::Order rhs_order,
                  ruy::Order dst_order, ruy::Context* context) {
  using Lhs = typename T::LhsScalar;
  using Rhs = typename T::RhsScalar;
  using Accum = typename T::AccumScalar;
  using Dst = typename T::DstScalar;
  constexpr int kRows = 5, kDepth = 7, kCols = 3;

  const std::vector<Lhs> lhs_data = RandomValues<Lhs>(kRows * kDepth, 1);
  const std::vector<Rhs> rhs_data = RandomValues<Rhs>(kDepth * kCols, 2);
  const std::vector<Accum> bias = RandomValues<Accum>(kRows, 3);
  std::vector<Dst> actual(kRows * kCols), expected(kRows * kCols);
  auto lhs = View(lhs_data.data(), kRows, kDepth, lhs_order);
  auto rhs = View(rhs_data.data(), kDepth, kCols, rhs_order);
  auto dst = View(actual.data(), kRows, kCols, dst_order);
  if (sizeof(Lhs) == 1 && sizeof(Rhs) == 1) {
    lhs.set_zero_point(3);
    rhs.set_zero_point(17);
  }

  ruy::MulParams<Accum, Dst> mul_params;
  mul_params.set_bias(bias.data());
  if constexpr (ruy::MulParams<Accum, Dst>::RuyLike::kQuantized) {
    dst.set_zero_point(5);
    mul_params.set_multiplier_fixedpoint(1518500250);  // 2^30 * sqrt(2)
    mul_params.set_multiplier_exponent(sizeof(Lhs) + sizeof(Rhs) == 2 ? -8
                                                                      : -16);
  }

  ruy::Mul(lhs, rhs, mul_params, context, &dst);
  dst.set_data(expected.data());
  ruy::ReferenceMul(lhs, rhs, mul_params, &dst);
  for (int i = 0; i < kRows * kCols; ++i) {
    if (std::is_floating_point<Dst>::value) {
      EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
    } else {
      EXPECT_EQ(actual[i], expected[i]) << i;
    }
  }
}

TYPED_TEST(TypesTest, EqualsReferenceMulInAllOrders) {
  ruy::Context context;
  for (ruy::Order lhs_order : {ruy::Order::kColMajor, ruy::Order::kRowMajor}) {
    for (ruy::Order rhs_order :
         {ruy::Order::kColMajor, ruy::Order::kRowMajor}) {
      for (ruy::Order dst_order :
           {ruy::Order::kColMajor, ruy::Order::kRowMajor}) {
        CheckProduct<TypeParam>(lhs_order, rhs_order, dst_order, &context);
      }
    }
  }
}

TEST(MatrixTest, IsAViewWithIntSizes) {
  const float data[] = {1, 2, 3, 4, 5, 6, 7, 8};
  ruy::Matrix<float> matrix;
  EXPECT_EQ(matrix.cache_policy(), ruy::CachePolicy::kNeverCache);
  EXPECT_EQ(matrix.zero_point(), 0.0f);
  ruy::MakeSimpleLayout(2, 3, ruy::Order::kRowMajor, matrix.mutable_layout());
  static_assert(std::is_same<decltype(matrix.layout().rows()), int>::value, "");
  EXPECT_EQ(matrix.layout().stride(), 3);
  matrix.mutable_layout()->set_stride(4);
  matrix.set_data(data);
  EXPECT_EQ(Offset(matrix.layout(), 1, 2), 6);
  EXPECT_EQ(Element(matrix, 1, 2), 7);
  EXPECT_EQ(ElementPtr(matrix, 0, 1), data + 1);
  const ruy::Matrix<float>& const_matrix = matrix;
  EXPECT_EQ(const_matrix.data(), data);
  std::ostringstream text;
  text << matrix;
  EXPECT_EQ(text.str(), "1 2 3 \n5 6 7 \n");

  float mutable_data[8] = {};
  matrix.set_data(mutable_data);
  *ElementPtr(&matrix, 1, 0) = 9;
  EXPECT_EQ(mutable_data[4], 9);
  matrix.set_data(nullptr);
  EXPECT_EQ(matrix.data(), nullptr);
}

TEST(MatrixDeathTest, DataForWritingIsNotConst) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const float data[] = {1, 2};
  ruy::Matrix<float> matrix;
  ruy::MakeSimpleLayout(2, 1, ruy::Order::kColMajor, matrix.mutable_layout());
  matrix.set_data(data);
  const ruy::Matrix<float>& const_matrix = matrix;
  EXPECT_EQ(const_matrix.data(), data);
  EXPECT_EQ(Element(matrix, 1, 0), 2);
  const ruy::Matrix<float> copy = matrix;
  EXPECT_EQ(copy.data(), data);
#ifdef NDEBUG
  EXPECT_EQ(matrix.data(), data);
#else
  EXPECT_DEATH(matrix.data(), "RUY_CHECK");
  EXPECT_DEATH(ElementPtr(&matrix, 1, 0), "RUY_CHECK");
#endif
  // Mutable data again.
  float mutable_data[2] = {};
  matrix.set_data(mutable_data);
  EXPECT_EQ(matrix.data(), mutable_data);
}

}  // namespace
