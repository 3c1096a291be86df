// What the C interface has beyond plain products: post-ops, zero points and
// tables, batches, groups and plans, against the same calls in C++.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "ruy_like/c/ruy_like.h"
#include "ruy_like/ruy_like.h"
#include "test/c/calls.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// An int8 product with a float dst and each kind of post-ops, by all functions
// that have params, against the C++ interface's bits.
TEST(CInterface, PostOps) {
  constexpr std::ptrdiff_t kRows = 5, kDepth = 6, kCols = 7;
  constexpr std::ptrdiff_t kSize = kRows * kCols;
  Rng rng(3);
  std::vector<std::int8_t> a(2 * kRows * kDepth), b(kDepth * kCols);
  for (std::int8_t& value : a) value = rng.Between(-20, 20);
  for (std::int8_t& value : b) value = rng.Between(-20, 20);
  std::vector<float> slopes(kCols), factors(2 * kSize), residuals(2 * kSize);
  for (float& value : slopes) value = static_cast<float>(rng.Signed());
  for (float& value : factors) value = static_cast<float>(rng.Signed());
  for (float& value : residuals) value = static_cast<float>(rng.Signed());
  const ContextPtr context = NewContext();
  const float scale = 0.01f;
  const MatrixSpec ints = {Scalar::kI8, Order::kRowMajor};
  const MatrixSpec floats = {Scalar::kF32, Order::kRowMajor};
  const rl_matrix lhs = MatrixOf(ints, kRows, kDepth, a.data());
  const rl_matrix rhs = MatrixOf(ints, kDepth, kCols, b.data());
  const rl_matrix factor = MatrixOf(floats, kRows, kCols, factors.data());
  const rl_matrix residual = MatrixOf(floats, kRows, kCols, residuals.data());
  for (int i = 0; i < 10; ++i) {
    rl_post_ops ops = Struct<rl_post_ops>();
    PostOps cpp_ops;
    ops.activation = i % 8;
    cpp_ops.activation = static_cast<Activation>(i % 8);
    if (i == 1) {
      ops.slope = cpp_ops.slope = 0.25f;
    } else {
      ops.slope_per_channel = slopes.data();
      cpp_ops.slope_perchannel = slopes;
    }
    if (i % 2 == 1) {
      ops.factor = &factor;
      cpp_ops.factor =
          MakeMatrix(factors.data(), kRows, kCols, Order::kRowMajor);
      ops.residual_per_channel = slopes.data();
      cpp_ops.residual = PostOperand::PerChannel(slopes);
    } else if (i != 8) {
      ops.factor_per_channel = slopes.data();
      cpp_ops.factor = PostOperand::PerChannel(slopes);
      ops.residual = &residual;
      cpp_ops.residual =
          MakeMatrix(residuals.data(), kRows, kCols, Order::kRowMajor);
    }
    rl_params params = Struct<rl_params>();
    params.lhs_scale = &scale;
    params.channel_dim = RL_PER_COL;
    params.beta = 0.5;
    params.post_ops = &ops;
    MulParams<std::int32_t, float> cpp_params;
    cpp_params.set_lhs_scale(scale);
    cpp_params.set_channel_dimension(ChannelDimension::kCol);
    cpp_params.set_beta(0.5f);
    cpp_params.set_post_ops(&cpp_ops);
    rl_batch batch = Struct<rl_batch>();
    batch.count = 2;
    batch.lhs_stride = kRows * kDepth;
    batch.dst_stride = kSize;
    Batch cpp_batch;
    cpp_batch.count = 2;
    cpp_batch.lhs_stride = batch.lhs_stride;
    cpp_batch.dst_stride = kSize;
    if (i % 2 == 1) {
      batch.factor_stride = cpp_batch.factor_stride = kSize;
    } else if (i != 8) {
      batch.residual_stride = cpp_batch.residual_stride = kSize;
    }
    const std::vector<float> before(2 * kSize, 0.5f);
    std::vector<float> expected = before, c = before;
    auto cpp_dst = MakeMatrix(expected.data(), kRows, kCols, Order::kRowMajor);
    Context cpp_context;
    ASSERT_TRUE(MulBatch(MakeMatrix(a.data(), kRows, kDepth, Order::kRowMajor),
                         MakeMatrix(b.data(), kDepth, kCols, Order::kRowMajor),
                         cpp_params, cpp_batch, &cpp_context, &cpp_dst)
                    .ok());
    const rl_matrix dst = MatrixOf(floats, kRows, kCols, c.data());
    ASSERT_EQ(rl_mul_batch(&lhs, &rhs, &params, &batch, context.get(), &dst),
              RL_OK)
        << rl_last_error();
    EXPECT_EQ(c, expected) << i;
    expected.resize(kSize);

    c = before;
    ASSERT_EQ(rl_mul(&lhs, &rhs, &params, context.get(), &dst), RL_OK)
        << rl_last_error();
    c.resize(kSize);
    EXPECT_EQ(c, expected) << i;

    // The group's second product has none.
    c.assign(kSize, 0.5f);
    std::vector<float> d(kSize);
    const rl_matrix plain = MatrixOf(floats, kRows, kCols, d.data());
    const rl_product products[] = {
        {sizeof(rl_product), &lhs, &rhs, &params, &dst},
        {sizeof(rl_product), &lhs, &rhs, nullptr, &plain}};
    ASSERT_EQ(rl_mul_group(products, 2, 0, context.get()), RL_OK)
        << rl_last_error();
    EXPECT_EQ(c, expected) << i;

    // A plan keeps what it needs of the structs.
    c.assign(kSize, 0.5f);
    rl_plan* made = nullptr;
    ASSERT_EQ(rl_plan_create(&made), RL_OK);
    const PlanPtr plan(made);
    {
      const rl_post_ops given_ops = ops;
      rl_params given = params;
      given.post_ops = &given_ops;
      ASSERT_EQ(rl_plan_prepare(made, &lhs, &rhs, &given, nullptr, 1,
                                context.get(), &dst),
                RL_OK)
          << rl_last_error();
    }
    std::int32_t num_threads = 0;
    EXPECT_EQ(rl_plan_num_threads(made, &num_threads), RL_OK);
    EXPECT_EQ(num_threads, 1);
    ASSERT_EQ(rl_plan_run(made, 0), RL_OK);
    ASSERT_EQ(rl_plan_finish(made), RL_OK);
    EXPECT_EQ(c, expected) << i;

    // The plan's next product has none.
    const std::vector<float> without = d;
    d.assign(kSize, 0.5f);
    ASSERT_EQ(rl_plan_prepare(made, &lhs, &rhs, nullptr, nullptr, 1,
                              context.get(), &plain),
              RL_OK)
        << rl_last_error();
    ASSERT_EQ(rl_plan_run(made, 0), RL_OK);
    ASSERT_EQ(rl_plan_finish(made), RL_OK);
    EXPECT_EQ(d, without) << i;
  }
}

TEST(CInterface, RefusesBadPostOps) {
  alignas(8) float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1};
  float c[4] = {5, 5, 5, 5};
  const ContextPtr context = NewContext();
  const MatrixSpec floats = {Scalar::kF32};
  const rl_matrix lhs = MatrixOf(floats, 2, 2, a),
                  rhs = MatrixOf(floats, 2, 2, b);
  const rl_matrix dst = MatrixOf(floats, 2, 2, c);
  rl_params params = Struct<rl_params>();
  const struct {
    const char* text;
    std::function<void(rl_post_ops*, rl_matrix*)> spoil;
  } lines[] = {
      {"unknown activation 8", [](auto* ops, auto*) { ops->activation = 8; }},
      {"unknown activation -1", [](auto* ops, auto*) { ops->activation = -1; }},
      {"slope_per_channel is not aligned",
       [&](auto* ops, auto*) {
         ops->slope_per_channel = reinterpret_cast<const float*>(
             reinterpret_cast<const char*>(a) + 2);
       }},
      {"factor is set twice",
       [&](auto* ops, auto* matrix) {
         ops->factor = matrix;
         ops->factor_per_channel = a;
       }},
      {"residual has size = 3",
       [](auto* ops, auto* matrix) {
         ops->residual = matrix;
         matrix->size = 3;
       }},
      {"residual must have zero_point 0, not 1",
       [](auto* ops, auto* matrix) {
         ops->residual = matrix;
         matrix->zero_point = 1;
       }},
      {"factor (float, 2x3",
       [](auto* ops, auto* matrix) {
         ops->factor = matrix;
         matrix->cols = 3;
       }},
      {"factor (int32, 2x2",
       [](auto* ops, auto* matrix) {
         ops->factor = matrix;
         matrix->type = RL_INT32;
       }},
      {"shares elements with factor",
       [&](auto* ops, auto* matrix) {
         ops->factor = matrix;
         matrix->data = c;
       }},
  };
  for (const auto& line : lines) {
    rl_post_ops ops = Struct<rl_post_ops>();
    rl_matrix matrix = MatrixOf(floats, 2, 2, a);
    line.spoil(&ops, &matrix);
    params.post_ops = &ops;
    EXPECT_EQ(rl_mul(&lhs, &rhs, &params, context.get(), &dst),
              RL_INVALID_ARGUMENT)
        << line.text;
    EXPECT_THAT(rl_last_error(), HasSubstr(line.text));
    EXPECT_EQ(c[0] + c[1] + c[2] + c[3], 20) << line.text;
  }
}

// What post-ops have for products of integers.
TEST(CInterface, ZeroPointsAndTable) {
  const std::int8_t a[] = {1, -2, 3, 4, 5, -6}, b[] = {7, 8, -9, 10, 11, 12};
  const std::vector<std::int32_t> of_rows = {3, -128}, of_columns = {0, 127};
  std::vector<std::uint8_t> table(256);
  for (std::size_t i = 0; i < 256; ++i) {
    table[i] = static_cast<std::uint8_t>(255 - i);
  }
  const std::int32_t exponent = -4;
  const MatrixSpec ints = {Scalar::kI8};
  const rl_matrix lhs = MatrixOf(ints, 2, 3, a), rhs = MatrixOf(ints, 3, 2, b);
  std::int8_t c[4], expected[4];
  const rl_matrix dst = MatrixOf(ints, 2, 2, c);
  rl_params params = Struct<rl_params>();
  params.multiplier_exponent = &exponent;
  rl_post_ops ops = Struct<rl_post_ops>();
  params.post_ops = &ops;
  ops.lhs_zero_points = of_rows.data();
  ops.rhs_zero_points = of_columns.data();
  ops.table = table.data();
  PostOps cpp_ops;
  cpp_ops.lhs_zero_points = of_rows;
  cpp_ops.rhs_zero_points = of_columns;
  cpp_ops.table = table;
  MulParams<std::int32_t, std::int8_t> cpp_params;
  cpp_params.set_multiplier_exponent(exponent);
  cpp_params.set_post_ops(&cpp_ops);
  Matrix<std::int8_t> cpp_dst = MakeMatrix(expected, 2, 2, Order::kColMajor);
  Context cpp_context;
  ASSERT_TRUE(Mul(MakeMatrix(a, 2, 3, Order::kColMajor),
                  MakeMatrix(b, 3, 2, Order::kColMajor), cpp_params,
                  &cpp_context, &cpp_dst)
                  .ok());
  const ContextPtr context = NewContext();
  ASSERT_EQ(rl_mul(&lhs, &rhs, &params, context.get(), &dst), RL_OK)
      << rl_last_error();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(c[i], expected[i]) << i;
  ops.lhs_zero_points = reinterpret_cast<const std::int32_t*>(a + 1);
  EXPECT_EQ(rl_mul(&lhs, &rhs, &params, context.get(), &dst),
            RL_INVALID_ARGUMENT);
  EXPECT_THAT(rl_last_error(), HasSubstr("lhs_zero_points is not aligned"));
}

// Three products, as a batch, as a group and by a plan on two threads.
TEST(CInterface, Batches) {
  std::vector<float> a(3 * 2 * 4), b(4 * 5), c(3 * 2 * 5), expected(c.size());
  Rng rng(2);
  for (float& value : a) value = static_cast<float>(rng.Between(-9, 9));
  for (float& value : b) value = static_cast<float>(rng.Between(-9, 9));
  const ContextPtr context = NewContext(2);
  const MatrixSpec floats = {Scalar::kF32, Order::kRowMajor};
  std::vector<rl_matrix> lhs, dst;
  const rl_matrix rhs = MatrixOf(floats, 4, 5, b.data());
  std::vector<rl_product> products;
  lhs.reserve(3);
  dst.reserve(3);
  for (int i = 0; i < 3; ++i) {
    lhs.push_back(MatrixOf(floats, 2, 4, a.data() + 8 * i));
    dst.push_back(MatrixOf(floats, 2, 5, c.data() + 10 * i));
    const rl_matrix to = MatrixOf(floats, 2, 5, expected.data() + 10 * i);
    ASSERT_EQ(rl_mul(&lhs[i], &rhs, nullptr, context.get(), &to), RL_OK);
    products.push_back({sizeof(rl_product), &lhs[i], &rhs, nullptr, &dst[i]});
  }
  rl_batch batch = Struct<rl_batch>();
  batch.count = 3;
  batch.lhs_stride = 8;
  batch.dst_stride = 10;
  ASSERT_EQ(
      rl_mul_batch(&lhs[0], &rhs, nullptr, &batch, context.get(), &dst[0]),
      RL_OK)
      << rl_last_error();
  EXPECT_EQ(c, expected);
  // The same at the second level of strides.
  rl_batch outer = Struct<rl_batch>();
  outer.count = 1;
  outer.outer_count = 3;
  outer.lhs_outer_stride = 8;
  outer.dst_outer_stride = 10;
  c.assign(c.size(), 0);
  ASSERT_EQ(
      rl_mul_batch(&lhs[0], &rhs, nullptr, &outer, context.get(), &dst[0]),
      RL_OK)
      << rl_last_error();
  EXPECT_EQ(c, expected);

  c.assign(c.size(), 0);
  ASSERT_EQ(rl_mul_group(products.data(), 3, 0, context.get()), RL_OK)
      << rl_last_error();
  EXPECT_EQ(c, expected);
  EXPECT_EQ(rl_mul_group(nullptr, 0, 0, context.get()), RL_OK);
  // An array of a later version's products, which are larger.
  struct {
    rl_product product;
    void* more;
  } later[3] = {};
  for (int i = 0; i < 3; ++i) {
    later[i].product = products[i];
    later[i].product.size = sizeof(later[i]);
  }
  c.assign(c.size(), 0);
  ASSERT_EQ(rl_mul_group(&later[0].product, 3, 0, context.get()), RL_OK)
      << rl_last_error();
  EXPECT_EQ(c, expected);

  rl_plan* made = nullptr;
  ASSERT_EQ(rl_plan_create(&made), RL_OK);
  const PlanPtr plan(made);
  EXPECT_EQ(rl_plan_run(made, 0), RL_FAILED_PRECONDITION);
  EXPECT_EQ(rl_plan_repeat(made), RL_FAILED_PRECONDITION);
  EXPECT_EQ(rl_plan_prepare(made, &lhs[0], &rhs, nullptr, &batch, 0,
                            context.get(), &dst[0]),
            RL_INVALID_ARGUMENT);
  ASSERT_EQ(rl_plan_prepare(made, &lhs[0], &rhs, nullptr, &batch, 2,
                            context.get(), &dst[0]),
            RL_OK)
      << rl_last_error();
  for (int round = 0; round < 2; ++round) {
    c.assign(c.size(), 0);
    std::thread other([&] { EXPECT_EQ(rl_plan_run(made, 1), RL_OK); });
    EXPECT_EQ(rl_plan_run(made, 0), RL_OK);
    EXPECT_EQ(rl_plan_run(made, 2), RL_INVALID_ARGUMENT);
    other.join();
    ASSERT_EQ(rl_plan_finish(made), RL_OK);
    EXPECT_EQ(c, expected);
    if (round == 0) {
      ASSERT_EQ(rl_plan_repeat(made), RL_OK);
    }
  }

  // The fault of one of them.
  c.assign(c.size(), 0.5f);
  const std::vector<float> before = c;
  products[1].size = 3;
  EXPECT_EQ(rl_mul_group(products.data(), 3, 0, context.get()),
            RL_INVALID_ARGUMENT);
  EXPECT_THAT(rl_last_error(), HasSubstr("product 1: product has size = 3"));
  products[1].size = sizeof(rl_product);
  const rl_matrix int8s = MatrixOf({Scalar::kI8}, 2, 4, a.data());
  const rl_matrix more_int8s = MatrixOf({Scalar::kI8}, 4, 5, b.data());
  products[1].lhs = &int8s;
  products[1].rhs = &more_int8s;
  EXPECT_EQ(rl_mul_group(products.data(), 3, 0, context.get()),
            RL_INVALID_ARGUMENT);
  EXPECT_THAT(rl_last_error(), HasSubstr("product 1: "));
  EXPECT_EQ(rl_mul_group(products.data(), -1, 0, context.get()),
            RL_INVALID_ARGUMENT);
  EXPECT_EQ(rl_mul_group(nullptr, 1, 0, context.get()), RL_INVALID_ARGUMENT);
  batch.lhs_stride = -8;
  EXPECT_EQ(
      rl_mul_batch(&lhs[0], &rhs, nullptr, &batch, context.get(), &dst[0]),
      RL_INVALID_ARGUMENT);
  batch = Struct<rl_batch>();
  EXPECT_EQ(
      rl_mul_batch(&lhs[0], &rhs, nullptr, &batch, context.get(), &dst[0]),
      RL_OK);
  EXPECT_EQ(c, before);
}

}  // namespace
}  // namespace ruy_like
