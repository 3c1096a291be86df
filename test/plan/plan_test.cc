// Plans as values: what is decided for a product, on any machine.
#include "ruy_like/plan/plan.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/registry/registry.h"
#include "test/registry/kernel_pins.h"
#include "test/support/product.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr CacheSizes kCaches = {32 << 10, 1 << 20, 16 << 20, 8};

// By the portable kernels, panels of 4 on both sides, unless told otherwise.
Plan PlanOf(const KernelQuery& query, ThreadLimit limit = {1, false},
            Path permitted = Path::kPortable) {
  Plan plan;
  MakePlan(query, SelectKernel(query, permitted), limit, kCaches, &plan);
  return plan;
}

TEST(PlanTest, ASmallProductIsOneBlock) {
  const Plan plan = PlanOf(Bytes(15, 16, 17), {4, false});
  EXPECT_TRUE(plan.is_small);
  EXPECT_EQ(plan.threads, 1);
  EXPECT_EQ(BlockCount(plan.map), 1);
  EXPECT_EQ(plan.side.lhs.source, SideSource::kPackedOnce);
  EXPECT_EQ(plan.side.rhs.source, SideSource::kPackedOnce);
  EXPECT_EQ(plan.side.lhs.shape.panels_bytes, 16 * 16);
  EXPECT_EQ(plan.side.rhs.shape.panels_bytes, 20 * 16);
  EXPECT_EQ(plan.side.lhs.shape.stride_bytes, 4 * 16);
  // Panels and sums of each, in cache lines.
  EXPECT_EQ(plan.scratch_bytes, (4 + 1 + 5 + 2) * 64u);
  EXPECT_EQ(plan.thread_bytes, 0u);
}

TEST(PlanTest, ForcedThreadsCutASmallProduct) {
  const Plan plan = PlanOf(Bytes(64, 16, 64), {4, true});
  EXPECT_FALSE(plan.is_small);
  EXPECT_EQ(plan.threads, 4);
  EXPECT_GE(BlockCount(plan.map), 4);
}

TEST(PlanTest, BlocksPackForThemselvesOnSeveralThreads) {
  const Plan plan = PlanOf(Bytes(512, 512, 512), {2, false});
  EXPECT_FALSE(plan.is_small);
  EXPECT_EQ(plan.threads, 2);
  EXPECT_TRUE(plan.map.in_pieces);
  for (const Side side : kSides) {
    EXPECT_EQ(plan.side[side].source, SideSource::kPackedByBlock);
  }
  EXPECT_EQ(plan.shared_bytes, 0u);
  EXPECT_GT(plan.thread_bytes, 0u);
  EXPECT_EQ(plan.scratch_bytes, 2 * plan.thread_bytes);
}

TEST(PlanTest, AFewColumnsArePackedOnceForAllThreads) {
  const Plan plan = PlanOf(Bytes(4096, 512, 4), {2, false});
  EXPECT_EQ(plan.threads, 2);
  EXPECT_FALSE(plan.map.in_pieces);
  EXPECT_EQ(plan.side.lhs.source, SideSource::kPackedOnce);
  EXPECT_EQ(plan.side.rhs.source, SideSource::kPackedOnce);
}

TEST(PlanTest, ASplitDepthSavesAccumulators) {
  const Plan plan = PlanOf(Query(kF32, kF32, 40, 100000, 40));
  ASSERT_LT(plan.map.depth_block, 100000);
  EXPECT_GE(plan.thread_bytes, 40 * 40 * sizeof(float) +
                                   40 * plan.map.depth_block * sizeof(float));
}

TEST(PlanTest, WhereOperandsComeFrom) {
  KernelQuery query = WithCachedLhs(Bytes(100, 100, 100));
  Plan plan = PlanOf(query);
  EXPECT_EQ(plan.side.lhs.source, SideSource::kCached);
  EXPECT_NE(plan.side.rhs.source, SideSource::kCached);
  query.cached.lhs = false;
  const kernels::PanelFormat format = plan.choice.kernel->rhs;
  query.packed.rhs = &format;
  plan = PlanOf(query);
  EXPECT_EQ(plan.side.rhs.source, SideSource::kPrepacked);
  // An operand of depth 0 is neither packed nor kept.
  query = Bytes(100, 0, 100);
  query.cached.lhs = true;
  plan = PlanOf(query);
  EXPECT_EQ(plan.side.lhs.source, SideSource::kInPlace);
  EXPECT_EQ(plan.scratch_bytes, 0u);
}

TEST(PlanTest, SidesAreTheKernels) {
  KernelQuery query = Bytes(8, 64, 40);
  query.dst_col_major = false;
  query.cached.lhs = true;
  const Plan plan = PlanOf(query);
  ASSERT_TRUE(plan.choice.swap_sides);
  EXPECT_EQ(plan.side.rhs.source, SideSource::kCached);
  EXPECT_EQ(plan.side.lhs.shape.width, 40);
  EXPECT_EQ(plan.side.rhs.shape.width, 8);
}

TEST(PlanTest, AWideSideIsReadInPlace) {
  if ((CompiledPaths() & Path::kAvx2) == Path::kNone) GTEST_SKIP();
  const Plan plan = PlanOf(Query(kF32, kF32, 1000, 500, 1), {1, false},
                           Path::kAvx2 | Path::kPortable);
  EXPECT_EQ(plan.side.lhs.source, SideSource::kInPlace);
  EXPECT_EQ(plan.kernel_depth, 500);
}

// A panel of one column without padding is what the caller has.
TEST(PlanTest, AFewColumnsOfFloatsAreReadInPlace) {
  if ((CompiledPaths() & Path::kAvx2) == Path::kNone) GTEST_SKIP();
  const auto rhs_source = [](const KernelQuery& query) {
    return PlanOf(query, {1, false}, Path::kAvx2).side.rhs.source;
  };
  KernelQuery query = Query(kF32, kF32, 1000, 500, 1);
  query.depth_contiguous.lhs = false;
  EXPECT_EQ(rhs_source(query), SideSource::kInPlace);
  EXPECT_EQ(PlanOf(query, {1, false}, Path::kAvx2).scratch_bytes, 0u);
  query.cols = 4;
  EXPECT_EQ(rhs_source(query), SideSource::kInPlace);
  query.depth_contiguous.rhs = false;
  EXPECT_NE(rhs_source(query), SideSource::kInPlace);
  query.depth_contiguous.rhs = true;
  query.cached.rhs = true;
  EXPECT_EQ(rhs_source(query), SideSource::kCached);
  query.cached.rhs = false;
  query.cols = 5;
  EXPECT_NE(rhs_source(query), SideSource::kInPlace);
  // Bytes are packed for their sums.
  KernelQuery bytes = Bytes(1000, 500, 1);
  bytes.depth_contiguous.lhs = false;
  EXPECT_NE(rhs_source(bytes), SideSource::kInPlace);
}

// The lhs is one stream, read once: it need not fit a cache.
TEST(PlanTest, AWideSideReadInPlaceIsNotCut) {
  if ((CompiledPaths() & Path::kAvx2) == Path::kNone) GTEST_SKIP();
  for (std::ptrdiff_t cols = 1; cols <= 6; ++cols) {
    const KernelQuery query = Query(kF32, kF32, 4096, 4096, cols);
    EXPECT_EQ(BlockCount(PlanOf(query, {1, false}, Path::kAvx2).map), 1)
        << cols << " columns";
    EXPECT_GE(BlockCount(PlanOf(query, {2, false}, Path::kAvx2).map), 2)
        << cols << " columns";
  }
}

// A field that the key lacks would give a product another one's plan.
TEST(QueryKeyTest, EveryFieldOfAQueryChangesIt) {
  const KernelQuery query = Bytes(64, 16, 32);
  const kernels::PanelFormat format = {};
  void (*const changes[])(KernelQuery*, const kernels::PanelFormat*) = {
      [](KernelQuery* q, auto) { q->family = Family::kF32; },
      [](KernelQuery* q, auto) { q->float_sums = FloatSums::kAnyOrder; },
      [](KernelQuery* q, auto) { ++q->rows; },
      [](KernelQuery* q, auto) { ++q->cols; },
      [](KernelQuery* q, auto) { ++q->depth; },
      [](KernelQuery* q, auto) { q->scalar.lhs = kU8; },
      [](KernelQuery* q, auto) { q->scalar.rhs = kU8; },
      [](KernelQuery* q, auto) { q->depth_contiguous.lhs ^= true; },
      [](KernelQuery* q, auto) { q->depth_contiguous.rhs ^= true; },
      [](KernelQuery* q, auto) { q->cached.lhs ^= true; },
      [](KernelQuery* q, auto) { q->cached.rhs ^= true; },
      [](KernelQuery* q, auto) { q->range.lhs = ValueRange::kInt7; },
      [](KernelQuery* q, auto) { q->range.rhs = ValueRange::kInt7; },
      [](KernelQuery* q, auto) { q->dst_col_major ^= true; },
      [](KernelQuery* q, auto f) { q->packed.lhs = f; },
      [](KernelQuery* q, auto f) { q->packed.rhs = f; }};
  std::vector<QueryKey> keys = {KeyOf(query)};
  EXPECT_TRUE(keys[0] == KeyOf(query));
  for (const auto change : changes) {
    KernelQuery changed = query;
    change(&changed, &format);
    const QueryKey key = KeyOf(changed);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_FALSE(keys[i] == key) << "fields " << i << ", " << keys.size();
    }
    keys.push_back(key);
  }
}

TEST(KeptPlansTest, APlanIsMadeOnceForALimit) {
  KeptPlans plans;
  const KernelQuery query = Bytes(512, 512, 512);
  KeptPlan* const kept = plans.For(KeyOf(query));
  EXPECT_EQ(kept->permitted, Path::kNone);
  kept->Begin(query, Path::kPortable);
  kept->plan.choice = SelectKernel(query, Path::kPortable);
  kept->MakeFor({2, false});
  EXPECT_EQ(kept->plan.threads, 2);
  kept->plan.threads = 77;
  kept->MakeFor({2, false});
  EXPECT_EQ(kept->plan.threads, 77) << "made again";
  kept->MakeFor({1, false});
  EXPECT_EQ(kept->plan.threads, 1);
  EXPECT_EQ(plans.For(KeyOf(query)), kept);
}

TEST(KeptPlansTest, ASmallPlanServesEveryLimit) {
  KeptPlan kept;
  kept.Begin(Bytes(64, 16, 64), Path::kPortable);
  kept.plan.choice = SelectKernel(kept.query, Path::kPortable);
  kept.MakeFor({1, false});
  EXPECT_TRUE(kept.plan.is_small);
  kept.plan.threads = 77;
  kept.MakeFor({8, false});
  EXPECT_EQ(kept.plan.threads, 77) << "made again";
  kept.MakeFor({3, true});
  EXPECT_EQ(kept.plan.threads, 3);
  kept.MakeFor({8, false});
  EXPECT_EQ(kept.plan.threads, 1);
}

// Multiplies by the Context that has kept plans, and by a new one; whatever the
// calls and the settings before, both must do the same.
class KeptPlansOfContextTest : public testing::Test {
 protected:
  // Draws the settings, one at a time, so that others stay as plans know them.
  void ChangeASetting() {
    switch (Draw(4)) {
      case 0:
        paths_ = Draw(2) == 0 ? Path::kPortable : DetectedPaths();
        break;
      case 1:
        threads_ = 1 + Draw(3);
        break;
      case 2:
        strategy_ = Draw(2) == 0 ? NumThreadsStrategy::kDefault
                                 : NumThreadsStrategy::kForceMaxNumThreads;
        break;
      default:
        break;
    }
    Set(&context_);
  }

  template <typename T, typename Dst>
  void Multiply() {
    // Few products, so that many find a kept plan.
    const std::ptrdiff_t sizes[] = {4, 150};
    const std::ptrdiff_t rows = sizes[Draw(2)], cols = sizes[Draw(2)];
    const std::ptrdiff_t depth = 150;
    const std::vector<T> elements(150 * 150, T(3));
    const auto order = [this] {
      return Draw(2) == 0 ? Order::kColMajor : Order::kRowMajor;
    };
    auto lhs = MakeMatrix(elements.data(), rows, depth, order());
    const auto rhs = ColMajorOf(elements, depth, cols);
    lhs.set_cache_policy(Draw(2) == 0 ? CachePolicy::kAlwaysCache
                                      : CachePolicy::kNeverCache);
    const Order dst_order = order();
    Context fresh;
    Set(&fresh);
    const std::vector<Dst> expected = MulTo<Dst>(lhs, rhs, &fresh, dst_order);
    EXPECT_EQ(MulTo<Dst>(lhs, rhs, &context_, dst_order), expected);
    EXPECT_EQ(context_.last_used_path(), fresh.last_used_path());
    EXPECT_STREQ(context_.last_used_kernel(), fresh.last_used_kernel());
    EXPECT_EQ(context_.last_used_num_threads(), fresh.last_used_num_threads());
  }

  int Draw(int count) { return static_cast<int>(random_() % count); }

 private:
  void Set(Context* context) const {
    context->set_runtime_enabled_paths(paths_);
    context->set_max_num_threads(threads_);
    context->set_num_threads_strategy(strategy_);
  }

  std::mt19937 random_;
  Path paths_ = DetectedPaths();
  int threads_ = 1;
  NumThreadsStrategy strategy_ = NumThreadsStrategy::kDefault;
  Context context_;
};

TEST_F(KeptPlansOfContextTest, AreThoseOfANewContext) {
  for (int i = 0; i < 5000 / (kThinning * kThinning) && !HasFailure(); ++i) {
    if (Draw(4) == 0) ChangeASetting();
    if (Draw(2) == 0) {
      Multiply<std::int8_t, std::int32_t>();
    } else {
      Multiply<float, float>();
    }
  }
}

}  // namespace
}  // namespace ruy_like
