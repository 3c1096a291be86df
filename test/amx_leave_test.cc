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

#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_mul.h"
#include "ruy_like/registry/cpu_features.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

int times_asked = 0;
bool Refuse() {
  ++times_asked;
  return false;
}

// A product with its memory.
template <typename Src, typename Dst>
struct Product {
  explicit Product(std::ptrdiff_t size)
      : lhs_data(RandomVector<Src>(size * size, -128, 127, 1)),
        rhs_data(RandomVector<Src>(size * size, -128, 127, 2)),
        expected(size * size),
        result(size * size),
        lhs(MakeMatrix(lhs_data.data(), size, size, Order::kRowMajor)),
        rhs(MakeMatrix(rhs_data.data(), size, size, Order::kColMajor)),
        dst(MakeMatrix(expected.data(), size, size, Order::kColMajor)) {
    ReferenceMul(lhs, rhs, params, &dst);
    dst.set_data(result.data());
  }
  void MulOn(Context* context) {
    const absl::Status status = Mul(lhs, rhs, params, context, &dst);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_TRUE(result == expected);
    result.assign(result.size(), 0);
  }

  std::vector<Src> lhs_data, rhs_data;
  std::vector<Dst> expected, result;
  Matrix<Src> lhs, rhs;
  Matrix<Dst> dst;
  MulParams<Dst, Dst> params;
};
using Int8Product = Product<std::int8_t, std::int32_t>;

bool Permits(const Context& context, Path path) {
  return (context.runtime_enabled_paths() & path) != Path::kNone;
}

class AmxLeaveTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { SetEmulatedCpuFeatures(kCpuAmxInt8, &Refuse); }
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
  Product<float, float> floats(100);
  floats.MulOn(&context);
  EXPECT_EQ(context.last_used_path(), Path::kAmx);  // by a kernel of AVX-512's
  ASSERT_TRUE(
      Pack(floats.lhs, Side::kLhs, PackOptions(), &context).status().ok());
  // Too small for AMX.
  Int8Product(3).MulOn(&context);
  // Not permitted.
  context.set_runtime_enabled_paths(~Path::kAmx);
  Int8Product(256).MulOn(&context);
  EXPECT_EQ(times_asked, 0);
}

TEST_F(AmxLeaveTest, IsAskedForByTheProductThatWantsAmx) {
  Context context;
  Int8Product product(256);
  product.MulOn(&context);
  EXPECT_EQ(times_asked, 1);
  EXPECT_EQ(context.last_used_path(), Path::kAvx512Vnni);
  EXPECT_FALSE(Permits(context, Path::kAmx));
  EXPECT_TRUE(Permits(context, Path::kAvx512Vnni));
  product.MulOn(&context);
  EXPECT_EQ(times_asked, 1);
}

TEST_F(AmxLeaveTest, IsAskedForByAPlan) {
  Context context;
  Int8Product product(256);
  MulPlan plan;
  ASSERT_TRUE(plan.Prepare(product.lhs, product.rhs, product.params, 1,
                           &context, &product.dst)
                  .ok());
  EXPECT_EQ(times_asked, 1);
  EXPECT_EQ(context.last_used_path(), Path::kAvx512Vnni);
  ASSERT_TRUE(plan.Run(0).ok() && plan.Finish().ok());
  EXPECT_TRUE(product.result == product.expected);
}

TEST_F(AmxLeaveTest, IsAskedForByPacking) {
  Context context;
  Int8Product product(256);
  const auto packed = Pack(product.lhs, Side::kLhs, PackOptions(), &context);
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_GE(times_asked, 1);
  EXPECT_EQ(packed->path(), Path::kAvx512Vnni);
  ASSERT_TRUE(
      Mul(*packed, product.rhs, product.params, &context, &product.dst).ok());
  EXPECT_TRUE(product.result == product.expected);
}

TEST_F(AmxLeaveTest, ARefusalIsTold) {
  EXPECT_NE(PathObstacle(Path::kAmx).find("alternate signal stack"),
            std::string::npos)
      << PathObstacle(Path::kAmx);
}

}  // namespace
}  // namespace ruy_like
