// Float dst of 8-bit operands, on every path: scales, bias and clamp, bit for
// bit and in the documented order.
#include <gtest/gtest.h>

#include <cfloat>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "ruy_like/mul.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ruy_like {
namespace {

using Params = MulParams<std::int32_t, float>;
static_assert(Params::kScaled && !Params::kQuantized);
static_assert(std::is_same<Params::BiasScalar, float>::value);

constexpr ScaleKind kScaleKinds[] = {ScaleKind::kDefault, ScaleKind::kPerTensor,
                                     ScaleKind::kPerChannel};

// Around the edges of tiles; narrow ones, which have kernels of their own.
const std::vector<Shape> kShapes = {{1, 1, 1},   {5, 17, 3},   {21, 10, 19},
                                    {33, 11, 1}, {1, 10, 33},  {16, 64, 16},
                                    {65, 5, 97}, {97, 130, 65}};

class ScaledOutputTest : public PathTest {
 protected:
  // A sum of `acc` in every element of rows x cols, times the scales.
  std::vector<float> Scaled(std::int8_t a, std::int8_t b, std::ptrdiff_t rows,
                            std::ptrdiff_t cols, Order dst_order,
                            const Params& params) {
    const std::vector<std::int8_t> lhs_values(rows, a), rhs_values(cols, b);
    return MulTo<float>(RowMajorOf(lhs_values, rows, 1),
                        ColMajorOf(rhs_values, 1, cols), params, &context_,
                        dst_order);
  }

  void ExpectEverywhere(std::int8_t a, std::int8_t b, const Params& params,
                        float expected) {
    for (const Order order : kOrders) {
      for (const auto& shape :
           {std::pair<int, int>{1, 1}, {40, 1}, {1, 40}, {19, 21}, {40, 40}}) {
        for (const float value :
             Scaled(a, b, shape.first, shape.second, order, params)) {
          ASSERT_TRUE(SameFloat(value, expected))
              << value << ", not " << expected << "; "
              << context_.last_used_kernel();
        }
      }
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(ScaledOutputTest);

TEST_P(ScaledOutputTest, AllOrdersAndChannels) {
  for (const ChannelDimension dimension : kDimensions) {
    CheckEach(ScaledTypes(), kAllOrders, kShapes, &context_,
              [dimension](MulProblem* p, int count) {
                p->channel_dimension = dimension;
                p->bias =
                    count % 3 == 0 ? BiasKind::kNone : BiasKind::kModerate;
                p->lhs_scale = kScaleKinds[count / 3 % 3];
                p->rhs_scale = kScaleKinds[count / 9 % 3];
                if (count % 2 == 0) p->lhs.zero_point = 7;
                if (count % 4 < 2) p->rhs.zero_point = 100;
                p->dst.gap = count % 5;
                p->clamp = count % 7 == 0;
                p->clamp_min = -1.5;
                p->clamp_max = 0.75;
                p->data_seed = count;
              });
  }
}

TEST_P(ScaledOutputTest, EveryMixOfScales) {
  for (const ScaleKind lhs_scale : kScaleKinds) {
    for (const ScaleKind rhs_scale : kScaleKinds) {
      CheckEach({ScaledTypes()[0]}, kOrdersOfDst, kShapes, &context_,
                [=](MulProblem* p, int) {
                  p->lhs_scale = lhs_scale;
                  p->rhs_scale = rhs_scale;
                });
    }
  }
}

// Several blocks, each of which has its own channels, on any number of threads.
TEST_P(ScaledOutputTest, ThreadsGiveTheSameBits) {
  context_.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  for (const ChannelDimension dimension : kDimensions) {
    for (int threads = 1; threads <= 5; ++threads) {
      CheckEach(ScaledTypes(), kOrdersOfDst, {{230, 90, 210}}, &context_,
                [=](MulProblem* p, int) {
                  p->channel_dimension = dimension;
                  p->bias = BiasKind::kModerate;
                  p->lhs.zero_point = 9;
                  p->rhs.zero_point = 3;
                  p->num_threads = threads;
                });
    }
  }
}

// Depth in several passes; sums that wrap before they are converted.
TEST_P(ScaledOutputTest, GreatDepth) {
  for (const Types& types : ScaledTypes()) {
    MulProblem p = MakeProblem(types, {40, 9000, 70});
    p.bias = BiasKind::kModerate;
    p.rhs.zero_point = 1;
    ASSERT_TRUE(CheckProblem(p, &context_));
    p = MakeProblem(types, {3, 140000, 5});
    p.lhs.fill = p.rhs.fill = Fill::kHighest;
    p.lhs.zero_point = static_cast<std::int32_t>(LowestOf(types.lhs));
    p.rhs.zero_point = static_cast<std::int32_t>(LowestOf(types.rhs));
    ASSERT_TRUE(CheckProblem(p, &context_));
  }
}

TEST_P(ScaledOutputTest, DepthZeroGivesTheBias) {
  for (const ChannelDimension dimension : kDimensions) {
    MulProblem p = MakeProblem(ScaledTypes()[0], {19, 0, 21});
    p.channel_dimension = dimension;
    p.bias = BiasKind::kModerate;
    ASSERT_TRUE(CheckProblem(p, &context_));
  }
}

TEST_P(ScaledOutputTest, CachedOperandsAndOtherScales) {
  MulProblem p = MakeProblem(ScaledTypes()[1], {50, 40, 12});
  p.lhs.cache_policy = CachePolicy::kAlwaysCache;
  p.rhs.cache_policy = CachePolicy::kAlwaysCache;
  for (p.data_seed = 1; p.data_seed < 4; ++p.data_seed) {
    ASSERT_TRUE(CheckProblem(p, &context_));
  }
}

// ## Worked out by hand, not only as the reference has it

TEST_P(ScaledOutputTest, TheDefaultScaleIsOne) {
  ExpectEverywhere(3, -5, Params(), -15);
}

// The lhs's scale comes first, whichever way the product is computed.
TEST_P(ScaledOutputTest, TheOrderOfScalesIsFixed) {
  Params params;
  params.set_lhs_scale(0x1p125f);
  params.set_rhs_scale(0x1p-125f);
  ExpectEverywhere(10, 10, params, kInf);
  params.set_lhs_scale(0x1p-125f);
  params.set_rhs_scale(0x1p125f);
  ExpectEverywhere(10, 10, params, 100);
  // 3 * (1 + 2^-23) is a tie and becomes 3 + 2^-21 ...
  params.set_lhs_scale(1 + 0x1p-23f);
  params.set_rhs_scale(1 / 3.0f);
  const float first = 3 + 0x1p-21f;
  ExpectEverywhere(3, 1, params,
                   static_cast<float>(static_cast<double>(first) * (1 / 3.0f)));
}

TEST_P(ScaledOutputTest, NoStepIsFusedWithTheNext) {
  // 4097 * 4097 = 2^24 + 2^13 + 1 is rounded down to even before the bias takes
  // the rest away.
  Params params;
  params.set_lhs_scale(4097);
  params.set_rhs_scale(4097);
  const std::vector<float> bias(40, -(0x1p24f + 0x1p13f));
  params.set_bias(bias.data());
  ExpectEverywhere(1, 1, params, 0);
}

TEST_P(ScaledOutputTest, SumsAreConvertedToNearestEven) {
  // 258 * 255^2 + 3 * 255 = 2^24 - 1, and a tie from there on.
  for (const auto& [extra, expected] :
       {std::pair<int, float>{1, 0x1p24f}, {2, 0x1p24f}, {4, 0x1p24f + 4}}) {
    for (const std::ptrdiff_t cols : {1, 30}) {
      std::vector<std::uint8_t> a(260, 255), b;
      a[259] = 1;
      for (std::ptrdiff_t col = 0; col < cols; ++col) {
        b.insert(b.end(), 258, 255);
        b.push_back(3);
        b.push_back(static_cast<std::uint8_t>(extra));
      }
      EXPECT_EQ(MulTo<float>(RowMajorOf(a, 1, 260), ColMajorOf(b, 260, cols),
                             Params(), &context_),
                std::vector<float>(cols, expected))
          << extra;
    }
  }
}

TEST_P(ScaledOutputTest, NanInfinityAndSignedZero) {
  Params params;
  params.set_clamp_min(-2);
  params.set_clamp_max(3);
  params.set_lhs_scale(kNan);
  ExpectEverywhere(1, 1, params, kNan);
  params.set_lhs_scale(kInf);
  ExpectEverywhere(0, 1, params, kNan);
  ExpectEverywhere(-1, 1, params, -2);
  params = Params();
  params.set_rhs_scale(-1);
  ExpectEverywhere(0, 1, params, -0.0f);
  const std::vector<float> zeros(40, 0.0f);
  params.set_bias(zeros.data());
  ExpectEverywhere(0, 1, params, 0.0f);
  const std::vector<float> nans(40, kNan);
  params.set_bias(nans.data());
  params.set_clamp_min(0);
  ExpectEverywhere(1, 1, params, kNan);
}

// Whatever the calling thread's rounding mode and flush-to-zero are.
TEST_P(ScaledOutputTest, TheCallersFloatStateDoesNotMatter) {
  Params params;
  params.set_lhs_scale(FLT_MIN);
  params.set_rhs_scale(0.25f);
  ExpectEverywhere(1, 3, params, 0.75f * FLT_MIN);
#if defined(__SSE2__)
  const unsigned original = _mm_getcsr();
  for (const unsigned bits : {0x8040u, 0x2000u, 0x4000u, 0x6000u}) {
    _mm_setcsr(original | bits);
    params.set_lhs_scale(FLT_MIN);
    const std::vector<float> denormal =
        Scaled(1, 3, 40, 40, Order::kColMajor, params);
    params.set_lhs_scale(1 / 3.0f);
    const std::vector<float> rounded =
        Scaled(1, 7, 2, 2, Order::kRowMajor, params);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(original);
    EXPECT_EQ(after & 0xffc0u, (original | bits) & 0xffc0u);
    EXPECT_EQ(denormal, std::vector<float>(1600, 0.75f * FLT_MIN));
    EXPECT_EQ(rounded, std::vector<float>(4, 7 * (1 / 3.0f) * 0.25f));
  }
#endif
}

TEST(ScaledParamsTest, OneFormUndoesTheOther) {
  const float scales[] = {2, 3};
  Params params;
  EXPECT_EQ(params.lhs_scale(), 1);
  params.set_lhs_scale(5);
  params.set_lhs_scale_perrow(scales);
  EXPECT_EQ(params.lhs_scale_perrow(), scales);
  params.set_lhs_scale_perrow(nullptr);
  EXPECT_EQ(params.lhs_scale(), 1);
  params.set_rhs_scale_percol(scales);
  params.set_rhs_scale(7);
  EXPECT_EQ(params.rhs_scale_percol(), nullptr);
  EXPECT_EQ(params.rhs_scale(), 7);
}

}  // namespace
}  // namespace ruy_like
