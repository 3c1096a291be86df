// Linux enlarges the signal frames of a process that asks for AMX, and refuses
// where a thread's alternate signal stack is too small for them. So a process
// is to ask when a product, or packing, wants AMX, and not before; and a
// refusal must leave the next path and be told.
//
// Here the machine counts as one with AMX whose operating system refuses it: no
// tile instruction is ever run.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/group_weights.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

int times_asked = 0;
bool Refuse() {
  ++times_asked;
  return false;
}

template <typename P>
void ExpectRight(P* product, Context* context) {
  EXPECT_OK(product->Run(context));
  product->ExpectIs(product->Expected());
}

// A product with group-scaled weights by so many columns: nothing but ones.
void ExpectRightWithGroups(int cols, Context* context) {
  const std::vector<std::uint8_t> levels(20 * 32, 0x99);  // 9 - 8
  const std::vector<float> scales(20, 1.0f);
  GroupWeights weights;
  weights.rows = 20;
  weights.depth = 64;
  weights.levels = levels.data();
  weights.set_scales(scales.data());
  const auto packed = PackGroupWeights(weights, context);
  ASSERT_TRUE(packed.ok()) << packed.status();
  const std::vector<std::int8_t> values(64 * cols, 1);
  EXPECT_EQ(MulTo<float>(*packed,
                         MakeMatrix(values.data(), 64, cols, Order::kColMajor),
                         GroupMulParams(), context),
            std::vector<float>(20 * cols, 64));
}

bool Permits(const Context& context, Path path) {
  return (context.runtime_enabled_paths() & path) != Path::kNone;
}

class AmxLeaveTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetEmulatedCpuFeatures(kCpuAmx, &Refuse); }
  void SetUp() override {
    if ((MachinePaths() & Path::kAmx) == Path::kNone) {
      GTEST_SKIP() << "not even an emulated AMX: the path is not compiled, or "
                      "AVX-512-VNNI is not there or not to be used";
    }
    times_asked = 0;
  }
};

TEST_F(AmxLeaveTest, IsNotAskedForWhereNothingWantsAmx) {
  Context context;
  EXPECT_TRUE(Permits(context, Path::kAmx));
  context.set_runtime_enabled_paths(Path::kNone);
  FloatProduct floats(100, 100, 100);
  ExpectRight(&floats, &context);
  EXPECT_EQ(context.last_used_path(), Path::kAmx);  // by a kernel of AVX-512's
  ASSERT_OK(Pack(floats.lhs, Side::kLhs, PackOptions(), &context));
  // Too small for AMX.
  RawProduct small(3, 3, 3), large(256, 256, 256);
  ExpectRight(&small, &context);
  ExpectRightWithGroups(33, &context);
  EXPECT_EQ(context.last_used_path(), Path::kAmx);
  // Not permitted.
  context.set_runtime_enabled_paths(~Path::kAmx);
  ExpectRight(&large, &context);
  ExpectRightWithGroups(100, &context);
  EXPECT_EQ(times_asked, 0);
}

TEST_F(AmxLeaveTest, IsAskedForByTheProductThatWantsAmx) {
  Context context;
  RawProduct product(256, 256, 256);
  ExpectRight(&product, &context);
  EXPECT_EQ(times_asked, 1);
  EXPECT_EQ(context.last_used_path(), BestPath(DetectedPaths(~Path::kAmx)));
  EXPECT_FALSE(Permits(context, Path::kAmx));
  EXPECT_TRUE(Permits(context, Path::kAvx512Vnni));
  ExpectRight(&product, &context);
  EXPECT_EQ(times_asked, 1);
}

TEST_F(AmxLeaveTest, IsAskedForByManyColumnsOfGroups) {
  Context context;
  ExpectRightWithGroups(34, &context);
  EXPECT_EQ(times_asked, 1);
  EXPECT_EQ(context.last_used_path(), BestPath(DetectedPaths(~Path::kAmx)));
  EXPECT_FALSE(Permits(context, Path::kAmx));
  EXPECT_TRUE(Permits(context, Path::kAvx512Vnni));
  ExpectRightWithGroups(34, &context);
  EXPECT_EQ(times_asked, 1);
}

TEST_F(AmxLeaveTest, IsAskedForByAPlan) {
  Context context;
  RawProduct product(256, 256, 256);
  MulPlan plan;
  ASSERT_OK(product.Prepare(1, &context, &plan));
  EXPECT_EQ(times_asked, 1);
  EXPECT_EQ(context.last_used_path(), BestPath(DetectedPaths(~Path::kAmx)));
  ASSERT_TRUE(plan.Run(0).ok() && plan.Finish().ok());
  EXPECT_TRUE(product.dst_values == product.Expected());
}

TEST_F(AmxLeaveTest, IsAskedForByPacking) {
  Context context;
  RawProduct product(256, 256, 256);
  ASSERT_VALUE(const auto packed, Pack(product.lhs, Side::kLhs, {}, &context));
  EXPECT_GE(times_asked, 1);
  EXPECT_EQ(packed.path(), Path::kAvx512Vnni);
  EXPECT_EQ(MulTo<std::int32_t>(packed, product.rhs, &context),
            product.Expected());
}

TEST_F(AmxLeaveTest, ARefusalIsTold) {
  EXPECT_NE(PathObstacle(Path::kAmx).find("alternate signal stack"),
            std::string::npos)
      << PathObstacle(Path::kAmx);
}

}  // namespace
}  // namespace ruy_like
