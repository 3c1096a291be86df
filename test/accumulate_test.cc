// Sums onto dst's old values (MulParams::set_beta), on every path.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ruy_like/mul.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

const std::vector<Shape> kShapes = {{1, 1, 1},   {5, 17, 3},  {21, 10, 19},
                                    {33, 11, 1}, {1, 10, 33}, {16, 64, 16},
                                    {65, 5, 97}, {97, 70, 65}};

class AccumulateTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(AccumulateTest);

// A product of floats and what belongs to it; dst has gaps.
struct GappedProduct {
  GappedProduct(const Shape& shape, int orders, std::uint64_t seed)
      : rng(seed), rows(shape.rows), cols(shape.cols) {
    lhs_values = RandomReals<float>(rows * shape.depth, &rng);
    rhs_values = RandomReals<float>(shape.depth * cols, &rng);
    bias = RandomReals<float>(std::max(rows, cols), &rng);
    lhs = MakeMatrix(lhs_values.data(), rows, shape.depth, OrderOf(orders, 0));
    rhs = MakeMatrix(rhs_values.data(), shape.depth, cols, OrderOf(orders, 1));
    dst = MakeMatrix(static_cast<float*>(nullptr), rows, cols,
                     OrderOf(orders, 2), 3);
  }

  // All of dst's span, after a product onto `old`.
  std::vector<float> Run(const MulParams<float, float>& params,
                         std::vector<float> old, Context* context) {
    dst.set_data(old.data());
    EXPECT_OK(Mul(lhs, rhs, params, context, &dst));
    return old;
  }

  // The formula, applied to the path's own sums of products.
  std::vector<float> Expected(const MulParams<float, float>& params,
                              const std::vector<float>& old, Context* context) {
    const std::vector<float> sums =
        Run(MulParams<float, float>(), old, context);
    std::vector<float> expected = old;
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      for (std::ptrdiff_t col = 0; col < cols; ++col) {
        const std::ptrdiff_t i = ElementOffset(dst.layout(), row, col);
        volatile float product = params.beta() * old[i];
        volatile float value = sums[i] + product;
        if (params.bias() != nullptr) {
          value =
              value +
              params.bias()[params.channel_dimension() == ChannelDimension::kRow
                                ? row
                                : col];
        }
        expected[i] = std::min(std::max(float{value}, params.clamp_min()),
                               params.clamp_max());
      }
    }
    return expected;
  }

  Rng rng;
  std::ptrdiff_t rows, cols;
  std::vector<float> lhs_values, rhs_values, bias;
  Matrix<float> lhs, rhs, dst;
};

TEST_P(AccumulateTest, FloatsInTheDocumentedOrder) {
  int count = 0;
  for (const auto& shape : kShapes) {
    for (int orders = 0; orders < 8; ++orders) {
      for (const ChannelDimension dimension : kDimensions) {
        for (const float beta : {1.0f, -0.3f, 1e-3f, 1e6f}) {
          GappedProduct p(shape, orders, ++count);
          MulParams<float, float> params;
          params.set_beta(beta);
          params.set_channel_dimension(dimension);
          if (count % 3 != 0) params.set_bias(p.bias.data());
          if (count % 5 == 0) {
            params.set_clamp_min(-0.5f);
            params.set_clamp_max(0.75f);
          }
          const std::vector<float> old =
              RandomReals<float>(SpanOf(p.dst.layout()), &p.rng);
          ASSERT_TRUE(SameBits(p.Run(params, old, &context_),
                               p.Expected(params, old, &context_)))
              << shape << " orders " << orders << " beta " << beta << "; "
              << context_.last_used_kernel();
        }
      }
    }
  }
}

// dst is read in the last pass over depth alone, and by one thread.
TEST_P(AccumulateTest, GreatDepthAndThreads) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  constexpr Shape kLarge[] = {
      {40, 5000, 24}, {230, 40, 210}, {300, 900, 1}, {70, 12000, 50}};
  for (const auto& shape : kLarge) {
    for (const int orders : {1, 5}) {
      GappedProduct p(shape, orders, 1);
      MulParams<float, float> params;
      params.set_beta(0.7f);
      params.set_bias(p.bias.data());
      const std::vector<float> old =
          RandomReals<float>(SpanOf(p.dst.layout()), &p.rng);
      context_.set_max_num_threads(1);
      const std::vector<float> expected = p.Expected(params, old, &context_);
      for (int threads = 1; threads <= 4; ++threads) {
        context_.set_max_num_threads(threads);
        ASSERT_TRUE(SameBits(p.Run(params, old, &context_), expected))
            << shape << " orders " << orders << " threads " << threads;
      }
    }
  }
}

TEST_P(AccumulateTest, IntegersWrap) {
  constexpr std::int32_t kBetas[] = {1, -1, 7, 65537, INT32_MIN};
  std::vector<Types> raw;
  for (const Types& types : IntegerTypes()) {
    if (types.dst == Scalar::kI32) raw.push_back(types);
  }
  CheckEach(raw, kAllOrders, kShapes, &context_, [&](MulProblem* p, int count) {
    p->beta = kBetas[count % 5];
    p->dst.gap = count % 3;
    p->channel_dimension = kDimensions[count / 2 % 2];
    p->bias = count % 2 == 0 ? BiasKind::kExtreme : BiasKind::kNone;
    if (Is8Bit(p->lhs.scalar) && Is8Bit(p->rhs.scalar)) {
      p->lhs.zero_point = count % 4;
      p->rhs.zero_point = count % 7;
    }
    p->clamp = count % 11 == 0;
    p->clamp_min = -1e9;
    p->clamp_max = 1e9;
    p->data_seed = count;
  });
  UseThreads(4, &context_);
  CheckEach(raw, kPlainOrders, {{230, 900, 210}}, &context_,
            [](MulProblem* p, int) {
              p->beta = 3;
              p->num_threads = 4;
            });
}

TEST_P(AccumulateTest, EveryFloatType) {
  CheckEach(FloatTypes(), kPlainOrders, kShapes, &context_,
            [](MulProblem* p, int count) {
              SetOrders(count % 8, p);
              p->bias = BiasKind::kModerate;
              p->beta = -1.75;
              p->dst.gap = count % 3;
              p->lhs.cache_policy = CachePolicy::kAlwaysCache;
            });
}

// Halves of the depth, one after the other, are the whole.
TEST_P(AccumulateTest, ProductsInParts) {
  constexpr std::ptrdiff_t kRows = 37, kDepth = 200, kCols = 21;
  const auto a = RandomVector<std::int8_t>(kRows * kDepth, 1);
  const auto b = RandomVector<std::int8_t>(kDepth * kCols, 2);
  std::vector<std::int32_t> parts(kRows * kCols);
  MulParams<std::int32_t, std::int32_t> params;
  auto lhs = RowMajorOf(a, kRows, kDepth);
  auto rhs = ColMajorOf(b, kDepth, kCols);
  auto dst = ColMajorOf(parts, kRows, kCols);
  const auto whole = MulTo<std::int32_t>(lhs, rhs, &context_);
  lhs.mutable_layout()->set_cols(kDepth / 2);
  rhs.mutable_layout()->set_rows(kDepth / 2);
  ASSERT_OK(Mul(lhs, rhs, params, &context_, &dst));
  lhs.set_data(a.data() + kDepth / 2);
  rhs.set_data(b.data() + kDepth / 2);
  params.set_beta(1);
  ASSERT_OK(Mul(lhs, rhs, params, &context_, &dst));
  EXPECT_EQ(parts, whole);
}

TEST_P(AccumulateTest, WithoutBetaTheOldValuesDoNotMatter) {
  for (const auto& shape : kShapes) {
    for (int orders = 0; orders < 8; ++orders) {
      GappedProduct p(shape, orders, 1);
      const std::ptrdiff_t span = SpanOf(p.dst.layout());
      for (const float beta : {0.0f, -0.0f}) {
        MulParams<float, float> params;
        params.set_beta(beta);
        std::vector<float> expected =
            p.Run(params, std::vector<float>(span, 0), &context_);
        for (const float old : {kNan, kInf, -kInf}) {
          const std::vector<float> result =
              p.Run(params, std::vector<float>(span, old), &context_);
          for (std::ptrdiff_t row = 0; row < p.rows; ++row) {
            for (std::ptrdiff_t col = 0; col < p.cols; ++col) {
              const std::ptrdiff_t i = ElementOffset(p.dst.layout(), row, col);
              ASSERT_EQ(result[i], expected[i]);
            }
          }
        }
      }
    }
  }
}

TEST_P(AccumulateTest, NanAndInfinityStayWhereTheyAre) {
  for (const auto& shape : kShapes) {
    for (const int orders : {1, 5}) {
      GappedProduct p(shape, orders, 1);
      std::vector<float> old(SpanOf(p.dst.layout()), 0.0f);
      const std::ptrdiff_t nan_at =
          ElementOffset(p.dst.layout(), p.rows - 1, p.cols / 2);
      const std::ptrdiff_t inf_at =
          ElementOffset(p.dst.layout(), 0, p.cols - 1);
      old[inf_at] = -kInf;
      old[nan_at] = kNan;
      MulParams<float, float> params;
      params.set_beta(2);
      params.set_clamp_min(-100);
      const std::vector<float> result = p.Run(params, old, &context_);
      for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(result.size());
           ++i) {
        EXPECT_EQ(std::isnan(result[i]), i == nan_at);
        if (i == inf_at && i != nan_at) {
          EXPECT_EQ(result[i], -100);
        }
      }
    }
  }
}

TEST_P(AccumulateTest, DepthZeroScalesDst) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const float bias[] = {10, 20};
  auto dst = RowMajorOf(values, 2, 3);
  MulParams<float, float> params;
  params.set_beta(0.5f);
  params.set_bias(bias);
  ASSERT_OK(Mul(RowMajorOf(static_cast<float*>(nullptr), 2, 0),
                ColMajorOf(static_cast<float*>(nullptr), 0, 3), params,
                &context_, &dst));
  EXPECT_EQ(values, (std::vector<float>{10.5, 11, 11.5, 22, 22.5, 23}));
}

}  // namespace
}  // namespace ruy_like
