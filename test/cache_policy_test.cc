// The prepacked cache through the public API: what is kept, how many bytes are
// said to be, what is evicted; and that results are right all the while.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/mul.h"
#include "ruy_like/packed/prepacked_cache.h"
#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kRows = 50, kDepth = 70, kCols = 30;

// Runs the product and compares it with the reference.
template <typename Lhs, typename Rhs>
void ExpectRight(const Matrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                 Context* context, Order dst_order = Order::kColMajor) {
  ASSERT_EQ(MulTo<std::int32_t>(lhs, rhs, context, dst_order),
            ReferenceMulTo<std::int32_t>(lhs, rhs, dst_order))
      << context->last_used_kernel();
}

class CachePolicyTest : public PathTest {
 protected:
  CachePolicyTest()
      : weights_(RandomVector<std::int8_t>(kRows * kDepth, 1)),
        inputs_(RandomVector<std::int8_t>(kDepth * kCols, 2)),
        lhs_(RowMajorOf(weights_, kRows, kDepth)),
        rhs_(ColMajorOf(inputs_, kDepth, kCols)) {
    lhs_.set_cache_policy(CachePolicy::kAlwaysCache);
  }

  // Bytes in the cache after nothing but this product.
  std::size_t BytesOf(const Matrix<std::int8_t>& lhs,
                      const Matrix<std::int8_t>& rhs) {
    Context context;
    Restrict(&context);
    ExpectRight(lhs, rhs, &context);
    return context.prepacked_cache_bytes();
  }

  std::vector<std::int8_t> weights_, inputs_;
  Matrix<std::int8_t> lhs_, rhs_;
};
RUY_LIKE_INSTANTIATE_PER_PATH(CachePolicyTest);

// Whether an operand is kept depends on the policy and on the other operand's
// width.
TEST_P(CachePolicyTest, PoliciesAndTheOtherOperandsWidth) {
  struct Case {
    CachePolicy policy;
    std::ptrdiff_t other_width;
    bool kept;
  };
  constexpr Case kCases[] = {
      {CachePolicy::kNeverCache, 1, false},
      {CachePolicy::kNeverCache, 200, false},
      {CachePolicy::kCacheIfLargeSpeedup, 1, true},
      {CachePolicy::kCacheIfLargeSpeedup, 16, true},
      {CachePolicy::kCacheIfLargeSpeedup, 17, false},
      {CachePolicy::kCacheIfSignificantSpeedup, 16, true},
      {CachePolicy::kCacheIfSignificantSpeedup, 128, true},
      {CachePolicy::kCacheIfSignificantSpeedup, 129, false},
      {CachePolicy::kAlwaysCache, 1, true},
      {CachePolicy::kAlwaysCache, 200, true}};
  const std::vector<std::int8_t> values =
      RandomVector<std::int8_t>(200 * kDepth, 3);
  for (const Case& c : kCases) {
    // As an lhs, by its product's columns.
    auto lhs = RowMajorOf(weights_, kRows, kDepth);
    auto rhs = ColMajorOf(values, kDepth, c.other_width);
    lhs.set_cache_policy(c.policy);
    EXPECT_EQ(BytesOf(lhs, rhs) > 0, c.kept)
        << "lhs, policy " << static_cast<int>(c.policy) << ", " << c.other_width
        << " columns";
    // As an rhs, by its product's rows.
    lhs = RowMajorOf(values, c.other_width, kDepth);
    rhs = ColMajorOf(weights_, kDepth, kRows);
    rhs.set_cache_policy(c.policy);
    EXPECT_EQ(BytesOf(lhs, rhs) > 0, c.kept)
        << "rhs, policy " << static_cast<int>(c.policy) << ", " << c.other_width
        << " rows";
  }
}

// Weights whose sizes are multiples of 64, as those of networks mostly are,
// take at most 5% more memory packed than they did, and their sums; but twice
// as much where 8 bits are widened: a path without VNNI does that to the
// kernel's rhs, the weights of a product whose dst is row-major, and `neon` to
// both sides beside 16 bits.
TEST_P(CachePolicyTest, PackedWeightsTakeHardlyMoreMemory) {
  constexpr std::ptrdiff_t kShapes[][2] = {{64, 64},   {64, 1024}, {128, 64},
                                           {192, 320}, {320, 192}, {1024, 128}};
  std::vector<Types> all = IntegerTypes();
  all.push_back(kFloat);
  for (const Types& types : all) {
    for (const auto& shape : kShapes) {
      for (const std::ptrdiff_t cols : {1, 16, 40}) {
        for (const Order dst_order : kOrders) {
          MulProblem p = MakeProblem(types, {shape[0], shape[1], cols});
          p.lhs.cache_policy = CachePolicy::kAlwaysCache;
          p.dst.order = dst_order;
          ASSERT_TRUE(MulRunner(p).Check(&context_));
          const std::string kernel = context_.last_used_kernel();
          // As the kernel's rhs for a row-major dst, else as its lhs.
          const bool widened =
              Is8Bit(types.lhs) &&
              kernel.find(dst_order == Order::kRowMajor ? "W16_" : "_W16") !=
                  std::string::npos;
          const std::size_t own =
              ruy_like::BytesOf(types.lhs, shape[0] * shape[1]);
          const std::size_t sums =
              IsFloat(types.lhs) ? 0 : shape[0] * sizeof(std::int32_t);
          EXPECT_LE(context_.prepacked_cache_bytes(),
                    (widened ? 2 : 1) * own * 105 / 100 + sums +
                        PrepackedCache::kEntryBytes)
              << Describe(p) << " " << kernel;
          context_.ClearPrepackedCache();
        }
      }
    }
  }
}

TEST_P(CachePolicyTest, ASecondProductTakesWhatTheFirstKept) {
  ExpectRight(lhs_, rhs_, &context_);
  const std::size_t bytes = context_.prepacked_cache_bytes();
  EXPECT_GE(bytes, weights_.size());
  const std::vector<std::int8_t> more =
      RandomVector<std::int8_t>(inputs_.size(), 4);
  rhs_.set_data(more.data());
  ExpectRight(lhs_, rhs_, &context_);
  EXPECT_EQ(context_.prepacked_cache_bytes(), bytes);

  // It really is the kept form that is read: by the contract, a change of the
  // data goes unseen until the cache is cleared.
  const auto before = MulTo<std::int32_t>(lhs_, rhs_, &context_);
  for (std::int8_t& weight : weights_)
    weight = static_cast<std::int8_t>(~weight);
  EXPECT_EQ(MulTo<std::int32_t>(lhs_, rhs_, &context_), before);
  context_.ClearPrepackedCache();
  EXPECT_EQ(context_.prepacked_cache_bytes(), 0u);
  ExpectRight(lhs_, rhs_, &context_);
}

TEST_P(CachePolicyTest, WithoutAPolicyTheDataIsReadAnew) {
  ExpectRight(lhs_, rhs_, &context_);
  for (std::int8_t& weight : weights_)
    weight = static_cast<std::int8_t>(~weight);
  lhs_.set_cache_policy(CachePolicy::kNeverCache);
  ExpectRight(lhs_, rhs_, &context_);
}

TEST_P(CachePolicyTest, BytesAddUp) {
  auto cached_rhs = rhs_;
  cached_rhs.set_cache_policy(CachePolicy::kAlwaysCache);
  auto plain_lhs = lhs_;
  plain_lhs.set_cache_policy(CachePolicy::kNeverCache);
  const std::size_t lhs_bytes = BytesOf(lhs_, rhs_);
  const std::size_t rhs_bytes = BytesOf(plain_lhs, cached_rhs);
  EXPECT_GT(lhs_bytes, 0u);
  EXPECT_GT(rhs_bytes, 0u);
  EXPECT_EQ(BytesOf(lhs_, cached_rhs), lhs_bytes + rhs_bytes);
  // Padding and sums are no reason for more than a few times the source.
  EXPECT_LE(lhs_bytes, 4 * weights_.size() + 4096);
}

TEST_P(CachePolicyTest, TwoWeightsThatDoNotFitTogether) {
  const std::vector<std::int8_t> second_values =
      RandomVector<std::int8_t>(kRows * kDepth, 5);
  auto second = lhs_;
  second.set_data(second_values.data());
  const std::size_t one = BytesOf(lhs_, rhs_);
  context_.set_prepacked_cache_limit_bytes(2 * one - 1);
  EXPECT_EQ(context_.prepacked_cache_limit_bytes(), 2 * one - 1);
  for (int i = 0; i < 6; ++i) {
    ExpectRight(i % 2 == 0 ? lhs_ : second, rhs_, &context_);
    EXPECT_EQ(context_.prepacked_cache_bytes(), one);
  }
  // With one byte more they do.
  context_.set_prepacked_cache_limit_bytes(2 * one);
  ExpectRight(lhs_, rhs_, &context_);
  ExpectRight(second, rhs_, &context_);
  EXPECT_EQ(context_.prepacked_cache_bytes(), 2 * one);
  // A lower limit evicts at once.
  context_.set_prepacked_cache_limit_bytes(one);
  EXPECT_EQ(context_.prepacked_cache_bytes(), one);
}

// Both operands of one product cached under a limit that has room for neither,
// or for one.
TEST_P(CachePolicyTest, ALimitBelowOneProduct) {
  rhs_.set_cache_policy(CachePolicy::kAlwaysCache);
  const std::size_t both = BytesOf(lhs_, rhs_);
  for (const std::size_t limit :
       {std::size_t{0}, std::size_t{1}, both / 2, both - 1}) {
    context_.set_prepacked_cache_limit_bytes(limit);
    for (int i = 0; i < 3; ++i) {
      ExpectRight(lhs_, rhs_, &context_);
      EXPECT_LE(context_.prepacked_cache_bytes(), limit);
    }
  }
}

TEST_P(CachePolicyTest, TheLeastRecentlyUsedIsEvicted) {
  std::vector<std::vector<std::int8_t>> values;
  std::vector<Matrix<std::int8_t>> weights;
  for (int i = 0; i < 3; ++i) {
    values.push_back(RandomVector<std::int8_t>(kRows * kDepth, 6 + i));
    weights.push_back(lhs_);
    weights.back().set_data(values.back().data());
  }
  context_.set_prepacked_cache_limit_bytes(2 * BytesOf(lhs_, rhs_));
  for (const int i : {0, 1, 0, 2}) ExpectRight(weights[i], rhs_, &context_);
  // Now 1 is gone, 0 is not: seen by changing their data.
  const auto is_kept = [&](int i) {
    for (std::int8_t& value : values[i])
      value = static_cast<std::int8_t>(~value);
    return MulTo<std::int32_t>(weights[i], rhs_, &context_) !=
           ReferenceMulTo<std::int32_t>(weights[i], rhs_);
  };
  EXPECT_TRUE(is_kept(0));
  EXPECT_TRUE(is_kept(2));
  EXPECT_FALSE(is_kept(1));
}

// One buffer seen in many ways: an entry must not be taken for another's.
TEST_P(CachePolicyTest, TheSameDataAsOtherMatrices) {
  const auto inputs = RandomVector<std::int8_t>(200 * 200, 9);
  for (int pass = 0; pass < 2; ++pass) {
    for (const Order order : {Order::kRowMajor, Order::kColMajor}) {
      for (const std::ptrdiff_t rows : {50, 49, 10}) {
        // Among them square ones, whose stride is the same in both orders.
        for (const std::ptrdiff_t depth : {70, 50, 49, 17}) {
          for (const std::ptrdiff_t gap : {0, 20}) {
            auto lhs = MakeMatrix(weights_.data(), rows, depth, order, gap);
            if (SpanOf(lhs.layout()) >
                static_cast<std::ptrdiff_t>(weights_.size())) {
              continue;
            }
            lhs.set_cache_policy(CachePolicy::kAlwaysCache);
            const auto rhs = ColMajorOf(inputs, depth, kCols);
            ExpectRight(lhs, rhs, &context_);
            // The other type, and the other side.
            auto u8 = MakeMatrix(
                reinterpret_cast<const std::uint8_t*>(weights_.data()), rows,
                depth, order, gap);
            u8.set_cache_policy(CachePolicy::kAlwaysCache);
            ExpectRight(u8, rhs, &context_);
            auto right = MakeMatrix(weights_.data(), rows, depth, order, gap);
            right.set_cache_policy(CachePolicy::kAlwaysCache);
            ExpectRight(RowMajorOf(inputs, kCols, rows), right, &context_);
          }
        }
      }
    }
  }
}

// Sums are needed for some zero points and not for others.
TEST_P(CachePolicyTest, ZeroPointsThatChangeBetweenProducts) {
  for (const CachePolicy rhs_policy :
       {CachePolicy::kNeverCache, CachePolicy::kAlwaysCache}) {
    rhs_.set_cache_policy(rhs_policy);
    for (const int lhs_zero_point : {0, 5, -128, 0, 127}) {
      for (const int rhs_zero_point : {0, 3, -128, 0, 127}) {
        lhs_.set_zero_point(static_cast<std::int8_t>(lhs_zero_point));
        rhs_.set_zero_point(static_cast<std::int8_t>(rhs_zero_point));
        ExpectRight(lhs_, rhs_, &context_);
      }
    }
    context_.ClearPrepackedCache();
  }
}

// The other operand's type decides how this one is packed.
TEST_P(CachePolicyTest, OtherTypesOnTheOtherSide) {
  const auto wide = RandomVector<std::int16_t>(kDepth * kCols, 7);
  const auto wide_rhs = ColMajorOf(wide, kDepth, kCols);
  const auto bytes = RandomVector<std::uint8_t>(kDepth * kCols, 8);
  const auto byte_rhs = ColMajorOf(bytes, kDepth, kCols);
  for (int pass = 0; pass < 2; ++pass) {
    ExpectRight(lhs_, rhs_, &context_);
    ExpectRight(lhs_, wide_rhs, &context_);
    ExpectRight(lhs_, byte_rhs, &context_);
  }
}

// Narrow products take other kernels than wide ones.
TEST_P(CachePolicyTest, TheOtherOperandsWidthChanges) {
  const auto inputs = RandomVector<std::int8_t>(kDepth * 200, 9);
  for (int pass = 0; pass < 2; ++pass) {
    for (const std::ptrdiff_t cols : {1, 2, 3, 8, 50, 200}) {
      for (const Order order : kOrders) {
        ExpectRight(lhs_, MakeMatrix(inputs.data(), kDepth, cols, order),
                    &context_);
      }
    }
  }
}

// ... whose panels of the cached operand are the same: it is kept once, if it
// is the side that dst's contiguous elements belong to: the lhs of a
// column-major dst, the rhs of a row-major one. As the other side it is kept
// twice, for there narrow products would take several times as long with the
// panels of the wide ones.
TEST_P(CachePolicyTest, EveryWidthTakesTheSamePackedForm) {
  const auto inputs = RandomVector<std::int8_t>(kDepth * 200, 10);
  const auto weights_rhs = ColMajorOf(weights_, kDepth, kRows);
  for (const Side side : {Side::kLhs, Side::kRhs}) {
    for (const Order dst_order : kOrders) {
      Context context;
      Restrict(&context);
      std::size_t bytes = 0;
      for (const std::ptrdiff_t width : {200, 1, 2, 3, 4, 5, 8, 16, 17, 60}) {
        auto lhs = lhs_;
        auto rhs = ColMajorOf(inputs, kDepth, width);
        if (side == Side::kRhs) {
          lhs = RowMajorOf(inputs, width, kDepth);
          rhs = weights_rhs;
          rhs.set_cache_policy(CachePolicy::kAlwaysCache);
        }
        ExpectRight(lhs, rhs, &context, dst_order);
        if (bytes == 0) bytes = context.prepacked_cache_bytes();
        EXPECT_GT(bytes, 0u);
        const bool is_contiguous_side =
            (side == Side::kLhs) == (dst_order == Order::kColMajor);
        const bool has_one_form =
            is_contiguous_side || context.last_used_path() == Path::kAmx;
        EXPECT_LE(context.prepacked_cache_bytes(),
                  has_one_form ? bytes : 3 * bytes)
            << (side == Side::kLhs ? "lhs" : "rhs") << " cached, dst "
            << (dst_order == Order::kColMajor ? "column" : "row")
            << "-major, the other side's width " << width << ", "
            << context.last_used_kernel();
      }
    }
  }
}

// Weights of products with either order of dst, on AMX: one form.
TEST_P(CachePolicyTest, OnAmxBothOrdersOfDstTakeTheSamePackedForm) {
  if (GetParam() != Path::kAmx) GTEST_SKIP() << "of the amx path";
  const auto inputs = RandomVector<std::int8_t>(kDepth * 200, 10);
  for (const Order rhs_order : kOrders) {
    Context context;
    Restrict(&context);
    std::size_t bytes = 0;
    for (const Order dst_order : kOrders) {
      for (const std::ptrdiff_t width : {200, 3, 8, 40}) {
        const auto rhs = MakeMatrix(inputs.data(), kDepth, width, rhs_order);
        ExpectRight(lhs_, rhs, &context, dst_order);
        if (bytes == 0) bytes = context.prepacked_cache_bytes();
        EXPECT_GT(bytes, 0u);
        EXPECT_EQ(context.prepacked_cache_bytes(), bytes)
            << context.last_used_kernel() << ", width " << width;
      }
    }
  }
}

TEST_P(CachePolicyTest, EveryTypeAndOrderWithBothOperandsCached) {
  CheckEach(AllTypes(), kAllOrders, {{21, 33, 19}}, &context_,
            [](MulProblem* p, int) {
              p->lhs.cache_policy = CachePolicy::kAlwaysCache;
              p->rhs.cache_policy = CachePolicy::kAlwaysCache;
              if (Is8Bit(p->lhs.scalar)) p->lhs.zero_point = 7;
              if (Is8Bit(p->rhs.scalar)) p->rhs.zero_point = 9;
            });
}

// One Context may be told to take another path: packed forms differ.
TEST(CachePolicyAcrossPathsTest, APathIsNotGivenWhatAnotherPacked) {
  const auto weights = RandomVector<std::int8_t>(kRows * kDepth, 1);
  const auto inputs = RandomVector<std::int8_t>(kDepth * kCols, 2);
  auto lhs = RowMajorOf(weights, kRows, kDepth);
  lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  lhs.set_zero_point(3);
  auto rhs = ColMajorOf(inputs, kDepth, kCols);
  rhs.set_cache_policy(CachePolicy::kAlwaysCache);
  rhs.set_zero_point(5);
  Context context;
  for (int pass = 0; pass < 2; ++pass) {
    for (const Path path : PathsBestFirst(DetectedPaths())) {
      context.set_runtime_enabled_paths(path);
      ExpectRight(lhs, rhs, &context);
    }
  }
}

}  // namespace
}  // namespace ruy_like
