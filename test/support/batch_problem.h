// Batches and groups of products with their memory, and what single calls make
// of them: for tests of MulBatch and MulGroup.
#ifndef RUY_LIKE_TEST_SUPPORT_BATCH_PROBLEM_H_
#define RUY_LIKE_TEST_SUPPORT_BATCH_PROBLEM_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "ruy_like/float16.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_plan.h"
#include "test/support/test_util.h"

namespace ruy_like {

template <typename Lhs_, typename Rhs_, typename Accum_, typename Dst_>
struct TypeSet {
  using Lhs = Lhs_;
  using Rhs = Rhs_;
  using Accum = Accum_;
  using Dst = Dst_;
};
// Each family, and each kind of dst.
using Int8 = TypeSet<std::int8_t, std::int8_t, std::int32_t, std::int8_t>;
using Raw = TypeSet<std::uint8_t, std::int8_t, std::int32_t, std::int32_t>;
using Scaled = TypeSet<std::int8_t, std::uint8_t, std::int32_t, float>;
using Wide = TypeSet<std::int8_t, std::int16_t, std::int32_t, std::int16_t>;
using WideLhs = TypeSet<std::int16_t, std::int8_t, std::int32_t, std::int32_t>;
using Float = TypeSet<float, float, float, float>;
using Double = TypeSet<double, double, double, double>;
using Mixed = TypeSet<float, double, double, float>;
using BFloat = TypeSet<BFloat16, BFloat16, float, BFloat16>;
using HalfByFloat = TypeSet<Float16, float, float, float>;

// Some value of the type; floats with all of their bits in use.
template <typename T>
std::vector<T> Values(std::ptrdiff_t size, std::uint64_t seed) {
  if constexpr (!std::is_integral_v<T>) {
    return RandomReals<T>(size, seed);
  } else {
    return RandomVector<T>(size, seed);
  }
}

// How the products of a batch differ from the plainest ones.
struct Variant {
  int orders = 0;  // of lhs, rhs and dst: bits 0 to 2 are row-major
  std::ptrdiff_t gap = 0;
  bool same_lhs = false, same_rhs = false;
  bool own_bias = false;
  CachePolicy cache_policy = CachePolicy::kNeverCache;
};

// A batch with its memory, and what single calls make of it.
template <typename Types>
struct BatchProblem {
  using Lhs = typename Types::Lhs;
  using Rhs = typename Types::Rhs;
  using Accum = typename Types::Accum;
  using Dst = typename Types::Dst;
  using Bias = std::conditional_t<
      std::is_floating_point_v<Dst> && std::is_integral_v<Accum>, float, Accum>;
  static constexpr bool kIsScaled = !std::is_same_v<Bias, Accum>;
  static constexpr bool kIsQuantized =
      std::is_integral_v<Dst> && sizeof(Dst) < sizeof(Accum);

  BatchProblem(const Shape& shape, std::ptrdiff_t count,
               const Variant& variant) {
    lhs = View<Lhs>(shape.rows, shape.depth, variant, 0);
    rhs = View<Rhs>(shape.depth, shape.cols, variant, 1);
    dst = View<Dst>(shape.rows, shape.cols, variant, 2);
    batch.count = count;
    batch.lhs_stride = variant.same_lhs ? 0 : SpanOf(lhs.layout()) + 3;
    batch.rhs_stride = variant.same_rhs ? 0 : SpanOf(rhs.layout()) + 1;
    batch.dst_stride = SpanOf(dst.layout()) + 2;
    batch.bias_stride = variant.own_bias ? shape.rows + 1 : 0;
    lhs_values =
        Values<Lhs>(SpanOf(lhs.layout()) + count * batch.lhs_stride, 1);
    rhs_values =
        Values<Rhs>(SpanOf(rhs.layout()) + count * batch.rhs_stride, 2);
    const auto bias = RandomVector<std::int32_t>(
        shape.rows + count * batch.bias_stride, -1000, 1000, 3);
    bias_values.assign(bias.begin(), bias.end());
    result.assign(SpanOf(dst.layout()) + count * batch.dst_stride, Dst{77});
    lhs.set_data(lhs_values.data());
    rhs.set_data(rhs_values.data());
    dst.set_data(result.data());
    SetNumbers(variant);
  }
  BatchProblem(const BatchProblem&) = delete;
  BatchProblem& operator=(const BatchProblem&) = delete;

  template <typename T>
  static Matrix<T> View(std::ptrdiff_t rows, std::ptrdiff_t cols,
                        const Variant& variant, int matrix) {
    return MakeMatrix(static_cast<T*>(nullptr), rows, cols,
                      OrderOf(variant.orders, matrix), variant.gap);
  }
  void SetNumbers(const Variant& variant) {
    if constexpr (sizeof(Lhs) == 1) lhs.set_zero_point(3);
    if constexpr (sizeof(Rhs) == 1) rhs.set_zero_point(5);
    lhs.set_cache_policy(variant.cache_policy);
    rhs.set_cache_policy(variant.cache_policy);
    params.set_bias(bias_values.data());
    if constexpr (kIsQuantized) {
      params.set_multiplier_fixedpoint(1 << 30);
      params.set_multiplier_exponent(-8);
    }
    if constexpr (kIsScaled) {
      params.set_lhs_scale(0.25f);
      params.set_rhs_scale(0.3f);
    }
  }

  absl::Status Run(Context* context, const MulOptions& options = {}) {
    return MulBatch(lhs, rhs, params, batch, context, &dst, options);
  }
  absl::Status Prepare(int threads, Context* context, MulPlan* plan) {
    return plan->PrepareBatch(lhs, rhs, params, batch, threads, context, &dst);
  }
  template <typename LhsMatrix, typename RhsMatrix>
  void RunOne(std::ptrdiff_t i, LhsMatrix one_lhs, RhsMatrix one_rhs,
              std::vector<Dst>* results, Context* context) {
    if constexpr (std::is_same_v<LhsMatrix, Matrix<Lhs>>) {
      one_lhs.set_data(lhs_values.data() + i * batch.lhs_stride);
    }
    if constexpr (std::is_same_v<RhsMatrix, Matrix<Rhs>>) {
      one_rhs.set_data(rhs_values.data() + i * batch.rhs_stride);
    }
    Matrix<Dst> one_dst = dst;
    one_dst.set_data(results->data() + i * batch.dst_stride);
    auto one_params = params;
    one_params.set_bias(bias_values.data() + i * batch.bias_stride);
    ASSERT_OK(Mul(one_lhs, one_rhs, one_params, context, &one_dst));
  }
  // All of dst's memory as single calls on one thread leave it.
  std::vector<Dst> Expected(Path paths) {
    std::vector<Dst> expected(result.size(), Dst{77});
    Context context;
    context.set_runtime_enabled_paths(paths);
    for (std::ptrdiff_t i = 0; i < batch.count; ++i) {
      RunOne(i, lhs, rhs, &expected, &context);
    }
    return expected;
  }
  bool Holds(const std::vector<Dst>& expected) const {
    return std::memcmp(result.data(), expected.data(),
                       result.size() * sizeof(Dst)) == 0;
  }
  void Wipe() { result.assign(result.size(), Dst{77}); }

  std::vector<Lhs> lhs_values;
  std::vector<Rhs> rhs_values;
  std::vector<Bias> bias_values;
  std::vector<Dst> result;
  Matrix<Lhs> lhs;
  Matrix<Rhs> rhs;
  Matrix<Dst> dst;
  MulParams<Accum, Dst> params;
  Batch batch;
};

using FloatGroupProduct = BatchItem<Matrix<float>, Matrix<float>, float, float>;

// Products of many shapes, an empty one and one of depth 0 among them.
struct GroupProblem {
  explicit GroupProblem(int count) {
    constexpr Shape kGroupShapes[] = {{5, 7, 3},      {64, 40, 1}, {0, 7, 3},
                                      {120, 64, 90},  {4, 0, 6},   {1, 30, 50},
                                      {300, 64, 200}, {17, 19, 23}};
    for (int i = 0; i < count; ++i) {
      const Shape& shape = kGroupShapes[i % std::size(kGroupShapes)];
      lhs.push_back(Values<float>(shape.rows * shape.depth, 3 * i + 1));
      rhs.push_back(Values<float>(shape.depth * shape.cols, 3 * i + 2));
      bias.push_back(Values<float>(shape.rows, 3 * i + 3));
      result.emplace_back(shape.rows * shape.cols, 77.f);
      FloatGroupProduct product;
      const Order order = i % 3 == 0 ? Order::kRowMajor : Order::kColMajor;
      product.lhs = RowMajorOf(lhs[i].data(), shape.rows, shape.depth);
      product.rhs = MakeMatrix(rhs[i].data(), shape.depth, shape.cols, order);
      product.dst = MakeMatrix(result[i].data(), shape.rows, shape.cols, order);
      product.mul_params.set_bias(bias[i].data());
      product.mul_params.set_clamp_min(-static_cast<float>(i) - 1);
      products.push_back(product);
    }
  }
  std::vector<std::vector<float>> Expected(Context* context) const {
    auto expected = result;
    for (std::size_t i = 0; i < products.size(); ++i) {
      Matrix<float> dst = products[i].dst;
      dst.set_data(expected[i].data());
      EXPECT_OK(Mul(products[i].lhs, products[i].rhs, products[i].mul_params,
                    context, &dst));
    }
    return expected;
  }

  std::vector<std::vector<float>> lhs, rhs, bias, result;
  std::vector<FloatGroupProduct> products;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_BATCH_PROBLEM_H_
