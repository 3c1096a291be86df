// Test support: products as vectors of their results, and products with all
// their memory, to run again and again.
//
// For tests of what surrounds a product, which want it typed and in one line;
// what a product computes is mul_problem.h's subject.
#ifndef RUY_LIKE_TEST_SUPPORT_PRODUCT_H_
#define RUY_LIKE_TEST_SUPPORT_PRODUCT_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/reference_mul.h"
#include "test/support/test_util.h"

namespace ruy_like {

// ## Results

namespace product_internal {

// For a Matrix and for packed operands.
template <typename M>
auto Rows(const M& matrix) -> decltype(matrix.layout().rows()) {
  return matrix.layout().rows();
}
template <typename M>
auto Rows(const M& matrix) -> decltype(matrix.rows()) {
  return matrix.rows();
}
template <typename M>
auto Cols(const M& matrix) -> decltype(matrix.layout().cols()) {
  return matrix.layout().cols();
}
template <typename M>
auto Cols(const M& matrix) -> decltype(matrix.cols()) {
  return matrix.cols();
}

template <typename Dst, typename Lhs, typename Rhs, typename Fn>
std::vector<Dst> Elements(const Lhs& lhs, const Rhs& rhs, Order order, Fn run) {
  const std::ptrdiff_t rows = Rows(lhs), cols = Cols(rhs);
  std::vector<Dst> result(rows * cols, static_cast<Dst>(77));
  auto dst = MakeMatrix(result.data(), rows, cols, order);
  run(&dst);
  return result;
}

}  // namespace product_internal

// The elements of lhs * rhs by Mul, in a dst of this order without gaps. An
// error is a failure.
template <typename Dst, typename Lhs, typename Rhs, typename Params>
std::vector<Dst> MulTo(const Lhs& lhs, const Rhs& rhs, const Params& params,
                       Context* context, Order order = Order::kColMajor) {
  return product_internal::Elements<Dst>(
      lhs, rhs, order, [&](Matrix<Dst>* dst) {
        EXPECT_OK(Mul(lhs, rhs, params, context, dst));
      });
}
template <typename Dst, typename Lhs, typename Rhs>
std::vector<Dst> MulTo(const Lhs& lhs, const Rhs& rhs, Context* context,
                       Order order = Order::kColMajor) {
  return MulTo<Dst>(lhs, rhs, MulParams<Dst, Dst>(), context, order);
}

// The same by ReferenceMul.
template <typename Dst, typename Lhs, typename Rhs, typename Params>
std::vector<Dst> ReferenceMulTo(const Matrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                                const Params& params,
                                Order order = Order::kColMajor) {
  return product_internal::Elements<Dst>(
      lhs, rhs, order,
      [&](Matrix<Dst>* dst) { ReferenceMul(lhs, rhs, params, dst); });
}
template <typename Dst, typename Lhs, typename Rhs>
std::vector<Dst> ReferenceMulTo(const Matrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                                Order order = Order::kColMajor) {
  return ReferenceMulTo<Dst>(lhs, rhs, MulParams<Dst, Dst>(), order);
}

// ## Products

// Row-major lhs, column-major rhs, of whole numbers in [low, high].
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
struct Product {
  Product(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols,
          Order dst_order = Order::kColMajor, std::int64_t low = -50,
          std::int64_t high = 50)
      : lhs_values(RandomVector<Lhs>(rows * depth, low, high, 1)),
        rhs_values(RandomVector<Rhs>(depth * cols, low, high, 2)),
        dst_values(rows * cols),
        lhs(RowMajorOf(lhs_values, rows, depth)),
        rhs(ColMajorOf(rhs_values, depth, cols)),
        dst(MakeMatrix(dst_values.data(), rows, cols, dst_order)) {}
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  absl::Status Run(Context* context, const MulOptions& options = {}) {
    return Mul(lhs, rhs, params, context, &dst, options);
  }
  absl::Status Prepare(int threads, Context* context, MulPlan* plan) {
    return plan->Prepare(lhs, rhs, params, threads, context, &dst);
  }
  // The expected elements of dst.
  std::vector<Dst> Expected() const {
    std::vector<Dst> expected(dst_values.size());
    Matrix<Dst> expected_dst = dst;
    expected_dst.set_data(expected.data());
    ReferenceMul(lhs, rhs, params, &expected_dst);
    return expected;
  }
  // That dst is `expected`; wipes it out for the next call.
  void ExpectIs(const std::vector<Dst>& expected) {
    EXPECT_TRUE(dst_values == expected);
    dst_values.assign(dst_values.size(), Dst{});
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
