// Test support: a product with all its memory, to run again and again.
//
// For tests of what surrounds a product, which want it typed and in one line;
// what a product computes is mul_problem.h's subject.
#ifndef RUY_LIKE_TEST_SUPPORT_PRODUCT_H_
#define RUY_LIKE_TEST_SUPPORT_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/reference_mul.h"
#include "test/support/test_util.h"

namespace ruy_like {

// Row-major lhs, column-major rhs, of whole numbers in [-50, 50].
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
struct Product {
  Product(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols,
          Order dst_order = Order::kColMajor)
      : lhs_values(RandomVector<Lhs>(rows * depth, -50, 50, 1)),
        rhs_values(RandomVector<Rhs>(depth * cols, -50, 50, 2)),
        dst_values(rows * cols),
        lhs(MakeMatrix(lhs_values.data(), rows, depth, Order::kRowMajor)),
        rhs(MakeMatrix(rhs_values.data(), depth, cols, Order::kColMajor)),
        dst(MakeMatrix(dst_values.data(), rows, cols, dst_order)) {}
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  absl::Status Run(Context* context) {
    return Mul(lhs, rhs, params, context, &dst);
  }
  // What dst should be.
  std::vector<Dst> Expected() const {
    std::vector<Dst> expected(dst_values.size());
    Matrix<Dst> expected_dst = dst;
    expected_dst.set_data(expected.data());
    ReferenceMul(lhs, rhs, params, &expected_dst);
    return expected;
  }

  std::vector<Lhs> lhs_values;
  std::vector<Rhs> rhs_values;
  std::vector<Dst> dst_values;
  Matrix<Lhs> lhs;
  Matrix<Rhs> rhs;
  Matrix<Dst> dst;
  MulParams<Accum, Dst> params;
};

using Int8Product =
    Product<std::int8_t, std::int8_t, std::int32_t, std::int8_t>;
using RawProduct =
    Product<std::int8_t, std::int8_t, std::int32_t, std::int32_t>;
using FloatProduct = Product<float, float, float, float>;
using DoubleProduct = Product<double, double, double, double>;
// int8 scaled to float.
using ScaledProduct = Product<std::int8_t, std::int8_t, std::int32_t, float>;

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_PRODUCT_H_
