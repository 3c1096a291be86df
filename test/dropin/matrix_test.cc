// Tests ruy::Matrix, and the pointer that ruy's users hold data with.
#undef NDEBUG  // for the checks of debug builds, in any build

#include "ruy/matrix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace {

template <typename T>
class ConstCheckingPtrTest : public testing::Test {};
using Scalars = testing::Types<float, std::int8_t, std::int32_t>;
TYPED_TEST_SUITE(ConstCheckingPtrTest, Scalars, );

TYPED_TEST(ConstCheckingPtrTest, KeepsWhatWasSet) {
  using Ptr = ruy::detail::ConstCheckingPtr<TypeParam>;
  static_assert(std::is_same<typename Ptr::element_type, TypeParam>::value, "");
  Ptr ptr;
  const Ptr& const_ptr = ptr;
  static_assert(std::is_same<decltype(ptr.get()), TypeParam*>::value, "");
  static_assert(
      std::is_same<decltype(const_ptr.get()), const TypeParam*>::value, "");
  EXPECT_EQ(ptr.get(), nullptr);

  TypeParam variable = 1;
  ptr.set(&variable);
  EXPECT_EQ(const_ptr.get(), &variable);
  *ptr.get() = 2;
  EXPECT_EQ(variable, 2);

  const TypeParam constant = 3;
  ptr.set(&constant);
  EXPECT_EQ(const_ptr.get(), &constant);
  ptr.set(&variable);
  EXPECT_EQ(ptr.get(), &variable);
  ptr.set(nullptr);
  EXPECT_EQ(ptr.get(), nullptr);
}

TYPED_TEST(ConstCheckingPtrTest, OfAConstantIsNotForWriting) {
  ruy::detail::ConstCheckingPtr<TypeParam> ptr;
  const TypeParam constant = 3;
  ptr.set(&constant);
  EXPECT_DEATH(ptr.get(), "RUY_CHECK");
}

TEST(MatrixTest, OfAConstantIsNotForWriting) {
  ruy::Matrix<float> matrix;
  const float constant = 3;
  matrix.set_data(&constant);
  EXPECT_DEATH(matrix.data(), "RUY_CHECK");
}

}  // namespace
