// Tests ruy_like/plan/advisor.h by Context::performance_advisories(), on every
// path.
#include "ruy_like/plan/advisor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/plan/context_impl.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr PerformanceAdvisory kNone = PerformanceAdvisory::kNone;

class AdvisorTest : public PathTest {
 protected:
  const Plan& LastPlan() { return context_.impl()->plans.last()->plan; }
  // True if the side with 300 rows or columns was packed for the last product.
  bool PacksLargeSide() {
    const Plan& plan = LastPlan();
    const SideSource source =
        plan.side[plan.side.lhs.shape.width == 300 ? Side::kLhs : Side::kRhs]
            .source;
    return source == SideSource::kPackedByBlock ||
           source == SideSource::kPackedOnce;
  }
  template <typename P>
  PerformanceAdvisory AfterCalls(int calls, P* product) {
    for (int i = 0; i < calls; ++i) EXPECT_OK(product->Run(&context_));
    return context_.performance_advisories();
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(AdvisorTest);

TEST_P(AdvisorTest, RepeatedPackingOfConstantOperands) {
  // A lhs that is not contiguous along depth: kernels pack it.
  DoubleProduct p(300, 200, 32);
  p.lhs = ColMajorOf(p.lhs_values, 300, 200);
  EXPECT_EQ(AfterCalls(7, &p), kNone);
  ASSERT_TRUE(PacksLargeSide());
  EXPECT_EQ(AfterCalls(1, &p), PerformanceAdvisory::kRepeatedPacking);
  EXPECT_EQ(AfterCalls(7, &p), kNone);  // the query has taken it
  EXPECT_EQ(AfterCalls(1, &p), PerformanceAdvisory::kRepeatedPacking);
  // Values that change.
  PerformanceAdvisory advice = kNone;
  for (int i = 0; i < 20; ++i) {
    for (double& value : p.lhs_values) value += 1;
    advice = advice | AfterCalls(1, &p);
  }
  EXPECT_EQ(advice, kNone);
  // Both sides wide; too small; cached.
  DoubleProduct wide(300, 40, 300), small(40, 40, 40);
  EXPECT_EQ(AfterCalls(20, &wide), kNone);
  EXPECT_EQ(AfterCalls(20, &small), kNone);
  p.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  EXPECT_EQ(AfterCalls(20, &p), kNone);
}

TEST_P(AdvisorTest, ManyOperandsInTurns) {
  std::vector<std::vector<double>> weights;
  for (int i = 0; i < 5; ++i) {
    weights.push_back(RandomVector<double>(300 * 200, -9, 9, i));
  }
  DoubleProduct p(300, 200, 32);
  PerformanceAdvisory advice = kNone;
  for (int call = 0; call < 40; ++call) {
    p.lhs = ColMajorOf(weights[call % 5], 300, 200);
    advice = advice | AfterCalls(1, &p);
  }
  EXPECT_EQ(advice, PerformanceAdvisory::kRepeatedPacking);
}

TEST_P(AdvisorTest, StridesOf4KiB) {
  const std::vector<float> values = RandomVector<float>(300 * 1040, -9, 9, 1);
  FloatProduct p(300, 200, 32);
  for (const std::ptrdiff_t stride : {1024, 1040}) {
    p.lhs = RowMajorOf(values, 300, 200);
    p.lhs.mutable_layout()->set_stride(stride);
    EXPECT_EQ(AfterCalls(1, &p),
              stride == 1024 ? PerformanceAdvisory::kStrideOf4KiB : kNone);
  }
}

TEST_P(AdvisorTest, UnalignedOperandsOfTiles) {
  std::vector<std::int8_t> values(300 * 256 + 128);
  const auto at =
      (reinterpret_cast<std::uintptr_t>(values.data()) + 63) / 64 * 64;
  Int8Product p(300, 240, 64);
  for (const std::ptrdiff_t stride : {256, 240}) {
    for (const int offset : {0, 16}) {
      p.lhs = RowMajorOf(reinterpret_cast<std::int8_t*>(at) + offset, 300, 240);
      p.lhs.mutable_layout()->set_stride(stride);
      const PerformanceAdvisory advice = AfterCalls(1, &p);
      const Plan& plan = LastPlan();
      bool expected = false;
      for (const SidePlan& side : {plan.side.lhs, plan.side.rhs}) {
        if (side.source != SideSource::kInPlace) continue;
        // The rhs has 240 bytes from column to column.
        expected |= side.shape.width != 300 || stride == 240 || offset != 0;
      }
      expected &= plan.choice.kernel->multiplies_tiles;
      EXPECT_EQ(advice, expected ? PerformanceAdvisory::kUnaligned : kNone);
    }
  }
}

TEST_P(AdvisorTest, PromisesThatAreBroken) {
  Int8Product p(300, 200, 40);
  p.lhs.set_value_range(ValueRange::kInt7);
  constexpr auto kBroken = PerformanceAdvisory::kBrokenPromise;
  EXPECT_EQ(AfterCalls(1, &p) & kBroken, kNone);
  const bool relies = ReliesOnRanges(*LastPlan().choice.kernel);
  p.lhs_values[123] = 100;
  EXPECT_EQ(AfterCalls(1, &p) & kBroken, relies ? kBroken : kNone);
}

}  // namespace
}  // namespace ruy_like
