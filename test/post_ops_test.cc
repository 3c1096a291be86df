// Post-ops and beta in the same call as the product, on every path, by
// every way into the library: bit for bit the oracle's; and what is refused.
#include "ruy_like/post_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "test/support/post_problem.h"
#include "test/support/product.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class PostOpsTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(PostOpsTest);

TEST_P(PostOpsTest, TheOraclesBits) {
  constexpr Shape kShapes[] = {{1, 1, 1},    {5, 17, 3},    {21, 10, 19},
                               {33, 11, 1},  {1, 10, 33},   {16, 64, 16},
                               {65, 0, 7},   {65, 5, 97},   {97, 70, 65},
                               {300, 40, 3}, {130, 20, 270}};
  std::uint64_t seed = 0;
  for (const Shape& shape : kShapes) {
    const int count = shape.rows * shape.cols > 20000 ? 6
                      : kSanitized                    ? 10
                                                      : 40;
    for (int i = 0; i < count; ++i) {
      UseThreads(i % 4 == 0 ? 3 : 1, &context_);
      CheckPostOps(shape, ++seed, &context_);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
  }
}

// Depth that is split, blocks in pieces, tiles that are a part of a block.
TEST_P(PostOpsTest, LargeProducts) {
  std::uint64_t seed = 1000;
  for (const Shape& shape : {Shape{40, 9000, 40}, Shape{230, 900, 210},
                             Shape{20000, 9, 2}, Shape{700, 50, 300}}) {
    for (int i = 0; i < (kSanitized ? 1 : 4); ++i) {
      UseThreads(i % 2 == 0 ? 3 : 1, &context_);
      CheckPostOps(shape, ++seed, &context_);
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
    }
  }
}

// Not through a product: all activations at values of all magnitudes.
TEST_P(PostOpsTest, ActivationsHaveTheOraclesBits) {
  std::vector<float> values;
  for (int exponent = -45; exponent <= 38; ++exponent) {
    for (const float mantissa : {1.0f, 1.37f, 2.71f, 5.9f}) {
      const auto x = static_cast<float>(mantissa * std::pow(10.0, exponent));
      values.insert(values.end(), {x, -x});
    }
  }
  for (float x = -120; x < 20; x += 0.0937f) values.push_back(x);
  values.insert(values.end(), {0.0f, -0.0f, kInf, -kInf, kNan});
  const auto count = static_cast<std::ptrdiff_t>(values.size());
  // Products of integers keep denormals.
  const std::vector<std::int8_t> zeros(values.size());
  const std::int8_t zero = 0;
  std::vector<float> result(values.size());
  auto dst = ColMajorOf(result, count, 1);
  for (int i = 0; i < 8; ++i) {
    PostOps ops;
    ops.activation = static_cast<Activation>(i);
    ops.slope = 0.3f;
    MulParams<std::int32_t, float> params;
    params.set_bias(values);
    params.set_post_ops(&ops);
    ASSERT_OK(Mul(ColMajorOf(zeros, count, 1), ColMajorOf(&zero, 1, 1), params,
                  &context_, &dst));
    for (std::size_t k = 0; k < values.size(); ++k) {
      // 0 is added first, so that -0 becomes 0.
      const float expected = Activate(ops.activation, values[k] + 0.0f, 0.3f);
      ASSERT_TRUE(SameFloat(result[k], expected))
          << NameOf(ops.activation) << " of " << values[k] << " is "
          << result[k] << ", not " << expected;
    }
  }
}

// ## What is refused

struct Good : Product<float, float, float, float> {
  Good() : Product(3, 4, 5, Order::kColMajor, 1, 1) {
    dst_values.assign(3 * 5, 42.0f);
    other.assign(3 * 5, 1.0f);
    params.set_post_ops(&ops);
  }
  void ExpectInvalid(const std::vector<std::string>& parts) {
    const auto before = dst_values;
    ExpectStatus(Run(&context), kInvalid, parts);
    EXPECT_EQ(dst_values, before);
  }

  PostOps ops;
  std::vector<float> other;
  Context context;
};

TEST(BadPostOpsTest, Shapes) {
  for (const bool is_factor : {false, true}) {
    const char* const name = is_factor ? "factor" : "residual";
    Good good;
    PostOperand& operand = is_factor ? good.ops.factor : good.ops.residual;
    operand = RowMajorOf(good.other, 3, 5);
    EXPECT_OK(good.Run(&good.context));
    operand = RowMajorOf(good.other, 5, 3);
    good.ExpectInvalid({name, "5x3", "does not have the shape of dst", "3x5"});
    operand = RowMajorOf(static_cast<const float*>(nullptr), 3, 5);
    good.ExpectInvalid({name, "null data"});
    auto narrow = RowMajorOf(good.other, 3, 5);
    narrow.mutable_layout()->set_stride(4);
    operand = narrow;
    good.ExpectInvalid({name, "stride below"});
    operand =
        PostOperand::PerChannel(absl::MakeConstSpan(good.other.data(), 3));
    EXPECT_OK(good.Run(&good.context));
    operand = PostOperand::PerChannel(good.other);
    good.ExpectInvalid({name, "has 15 elements", "3 rows of dst"});
    const std::vector<double> doubles(15);
    operand = RowMajorOf(doubles, 3, 5);
    good.ExpectInvalid({name, "double", "neither floats nor dst's type"});
  }
}

TEST(BadPostOpsTest, Values) {
  Good good;
  good.ops.activation = static_cast<Activation>(8);
  good.ExpectInvalid({"unknown activation 8"});
  good.ops.activation = Activation::kLeakyRelu;
  good.ops.slope_perchannel = good.other;
  good.ExpectInvalid({"slope_perchannel has 15 elements", "3 rows"});
}

TEST(BadPostOpsTest, Overlaps) {
  Good good;
  good.ops.residual = good.dst;
  EXPECT_OK(good.Run(&good.context));
  auto other_way = RowMajorOf(good.dst_values, 3, 5);
  good.ops.residual = other_way;
  good.ExpectInvalid({"dst", "shares elements with residual"});
  good.ops.residual = PostOperand();
  good.ops.factor = good.dst;
  good.ExpectInvalid({"dst", "shares elements with factor"});
  good.ops.factor =
      PostOperand::PerChannel(absl::MakeConstSpan(good.dst_values.data(), 3));
  good.ExpectInvalid({"dst", "shares elements with factor"});
  good.ops.factor = PostOperand();
  good.ops.slope_perchannel = absl::MakeConstSpan(good.dst_values.data(), 3);
  good.ExpectInvalid({"dst", "shares elements with slope_perchannel"});
}

TEST(BadPostOpsTest, TypesWithoutAny) {
  PostOps ops;
  ops.activation = Activation::kSilu;
  const auto check = [&ops](auto product) {
    Context context;
    product.params.set_post_ops(&ops);
    ExpectStatus(product.Run(&context), kInvalid,
                 {"activation, factor and residual are for dst of"});
  };
  const Order order = Order::kColMajor;
  check(Product<std::int8_t, std::int8_t, std::int32_t, std::int8_t>(
      3, 4, 5, order, 1, 1));
  check(Product<std::int8_t, std::int8_t, std::int32_t, std::int32_t>(
      3, 4, 5, order, 1, 1));
  check(Product<double, double, double, double>(3, 4, 5, order, 1, 1));
  check(Product<float, double, float, float>(3, 4, 5, order, 1, 1));
}

TEST(BadPostOpsTest, ZeroPointsAndTables) {
  const Order order = Order::kColMajor;
  Context context;
  PostOps ops;
  const std::vector<std::int32_t> three(3, 7), five(5, -7);
  const std::vector<std::uint8_t> table(256);
  const auto run = [&](auto&& product, const std::vector<std::string>& parts) {
    product.params.set_post_ops(&ops);
    if (parts.empty()) {
      EXPECT_OK(product.Run(&context));
    } else {
      ExpectStatus(product.Run(&context), kInvalid, parts);
    }
  };
  using Bytes = Product<std::int8_t, std::uint8_t, std::int32_t, std::int8_t>;
  Bytes bytes(3, 4, 5, order, 1, 1);
  ops.lhs_zero_points = three;
  ops.rhs_zero_points = five;
  ops.table = table;
  run(bytes, {});
  ops.table = absl::MakeConstSpan(table).first(255);
  run(bytes, {"table has 255 elements, not 256"});
  ops.table = table;
  run(Product<std::int8_t, std::int8_t, std::int32_t, std::int32_t>(
          3, 4, 5, order, 1, 1),
      {"table is for dst of 8 bits, not for dst", "int32"});
  ops.table = {};
  run(Product<std::int8_t, std::int16_t, std::int32_t, std::int8_t>(
          3, 4, 5, order, 1, 1),
      {"rhs_zero_points are for an operand of 8 bits, not for rhs", "int16"});
  run(Product<float, float, float, float>(3, 4, 5, order, 1, 1),
      {"lhs_zero_points are for an operand of 8 bits, not for lhs", "float"});
  Bytes has_both(3, 4, 5, order, 1, 1);
  has_both.rhs.set_zero_point(2);
  run(has_both, {"rhs (uint8", "has zero point 2 besides rhs_zero_points"});
  ops.lhs_zero_points = five;
  run(bytes, {"lhs_zero_points has 5 elements", "3 rows of dst"});
  ops.lhs_zero_points = three;
  ops.rhs_zero_points = three;
  run(bytes, {"rhs_zero_points has 3 elements", "5 columns of dst"});
}

TEST(BadPostOpsTest, Batches) {
  Good good;
  std::vector<float> results(60, 42.0f);
  good.dst.set_data(results.data());
  good.ops.residual = good.dst;
  Batch batch;
  batch.count = 4;
  batch.dst_stride = 15;
  const auto run = [&] {
    return MulBatch(good.lhs, good.rhs, good.params, batch, &good.context,
                    &good.dst);
  };
  const auto before = results;
  ExpectStatus(run(), kInvalid, {"residual of product 0 is its dst"});
  // Another product's dst: read by the others, whichever product's it is.
  auto other = good.dst;
  for (int product = 1; product < 4; ++product) {
    other.set_data(results.data() + 15 * product);
    good.ops.residual = other;
    ExpectStatus(run(), kInvalid, {"product", "shares elements with residual"});
  }
  batch.residual_stride = -1;
  ExpectStatus(run(), kInvalid, {"residual_stride is negative: -1"});
  EXPECT_EQ(results, before);
  batch.residual_stride = 15;
  good.ops.residual = good.dst;
  EXPECT_OK(run());
  // A stride along which there is one product has no meaning.
  batch.dst_outer_stride = 60;
  EXPECT_OK(run());
  batch.count = 1;
  batch.residual_stride = 0;
  EXPECT_OK(run());
}

}  // namespace
}  // namespace ruy_like
