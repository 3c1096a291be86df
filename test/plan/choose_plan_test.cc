// Tests ruy_like/plan/choose_plan.h: the operating system's leave is asked
// for by the first product that wants it.
#include "ruy_like/plan/choose_plan.h"

#include <gtest/gtest.h>

#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {
namespace {

int times_asked = 0;
bool NoAmx(Path owner) {
  if (owner != Path::kAmx) return true;
  ++times_asked;
  return false;
}
bool Anything(Path) { return true; }

TrMulParams Params(Family family, Scalar scalar) {
  TrMulParams params = {};
  params.family = family;
  for (const Side side : kSides) {
    Operand& operand = params.side[side];
    operand.scalar = scalar;
    operand.cache_policy = CachePolicy::kNeverCache;
    operand.depth = 512;
    operand.width = 512;
    operand.stride = 512;
    operand.depth_contiguous = true;
    operand.packed = nullptr;
  }
  params.epilogue.dst_row_stride = 1;
  params.epilogue.dst_col_stride = 512;
  return params;
}

class ChooseKernelTest : public testing::Test {
 protected:
  void SetUp() override {
    if ((CompiledPaths() & Path::kAmx) == Path::kNone) {
      GTEST_SKIP() << "the path amx is not compiled";
    }
    times_asked = 0;
  }
};

TEST_F(ChooseKernelTest, ARefusalLeavesTheNextPath) {
  const TrMulParams params = Params(Family::k8x8, Scalar::kI8);
  Path permitted = kAllPaths;
  KernelChoice choice =
      SelectThatMayRun(MakeKernelQuery(params), params, &Anything, &permitted);
  EXPECT_EQ(choice.path, Path::kAmx);
  EXPECT_EQ(permitted, kAllPaths);
  choice =
      SelectThatMayRun(MakeKernelQuery(params), params, &NoAmx, &permitted);
  EXPECT_EQ(choice.path, BestPath(CompiledPaths() & ~Path::kAmx));
  EXPECT_EQ(OwnerOf(*choice.kernel), Path::kAvx512Vnni);
  EXPECT_EQ(permitted & Path::kAmx, Path::kNone);
  EXPECT_EQ(times_asked, 1);
}

TEST_F(ChooseKernelTest, AnInheritedKernelNeedsNoLeave) {
  const TrMulParams params = Params(Family::kF32, Scalar::kF32);
  Path permitted = kAllPaths;
  const KernelChoice choice =
      SelectThatMayRun(MakeKernelQuery(params), params, &NoAmx, &permitted);
  EXPECT_EQ(choice.path, Path::kAmx);
  EXPECT_NE(OwnerOf(*choice.kernel), Path::kAmx);
  EXPECT_EQ(permitted, kAllPaths);
  EXPECT_EQ(times_asked, 0);
}

// A group of many shapes finds each one's plan again in the next call.
TEST(KeptPlansTest, AsManyShapesAsPlacesHalfAreKept) {
  for (const int bits : {3, 7}) {
    KeptPlans plans(bits);
    const int shapes = 1 << (bits - 1);
    const auto query_of = [](int i) {
      TrMulParams params = Params(Family::kF32, Scalar::kF32);
      params.side.rhs.width = 1 + 7 * i;
      return MakeKernelQuery(params);
    };
    for (int i = 0; i < shapes; ++i) {
      KeptPlan* const plan = plans.For(KeyOf(query_of(i)));
      plan->Begin(query_of(i), Path::kPortable);
      EXPECT_EQ(plans.last(), plan);
    }
    for (int i = 0; i < shapes; ++i) {
      const QueryKey key = KeyOf(query_of(i));
      EXPECT_TRUE(plans.For(key)->IsFor(key, Path::kPortable))
          << bits << " bits, shape " << i;
    }
  }
}

}  // namespace
}  // namespace ruy_like
