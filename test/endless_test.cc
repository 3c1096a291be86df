// Sizes that need no memory: more rows, columns or products than anybody could
// go through, of which none has an element. Every public function returns at
// once; CTest ends this program after a minute (test/CMakeLists.txt). Those of
// the toolkit: quantize/matrix_arguments_test.cc.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "ruy_like/base/allocator.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_group_mul.h"
#include "ruy_like/reference_mul.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

// Their bytes can still be counted, with padding.
constexpr ptrdiff_t kMany = ptrdiff_t{1} << (8 * sizeof(ptrdiff_t) - 20);

constexpr Order kOrders[] = {Order::kColMajor, Order::kRowMajor};

class EndlessTest : public PathTest {
 protected:
  EndlessTest() { UseThreads(2, &context_); }

  template <typename T>
  static Matrix<T> Empty(ptrdiff_t rows, ptrdiff_t cols, Order order) {
    return MakeMatrix(static_cast<T*>(nullptr), rows, cols, order);
  }

  // rows x depth x cols, with no element of dst, by every entry point.
  template <typename T, typename Accum>
  void Multiply(ptrdiff_t rows, ptrdiff_t depth, ptrdiff_t cols, Order order) {
    const MulParams<Accum, Accum> params;
    auto lhs = Empty<T>(rows, depth, order);
    auto rhs = Empty<T>(depth, cols, order);
    auto dst = Empty<Accum>(rows, cols, order);
    lhs.set_cache_policy(CachePolicy::kAlwaysCache);
    EXPECT_OK(Mul(lhs, rhs, params, &context_, &dst));
    ReferenceMul(lhs, rhs, params, &dst);
    for (const ptrdiff_t count : {ptrdiff_t{1}, ptrdiff_t{3}, kMany}) {
      Batch batch;
      batch.count = count;
      EXPECT_OK(MulBatch(lhs, rhs, params, batch, &context_, &dst));
      MulPlan plan;
      EXPECT_OK(plan.PrepareBatch(lhs, rhs, params, batch, 4, &context_, &dst));
      EXPECT_OK(plan.Finish());
    }
    using Product = GroupProduct<Matrix<T>, Matrix<T>, Accum, Accum>;
    const std::vector<Product> products(3, {lhs, rhs, params, dst});
    EXPECT_OK(MulGroup(products, &context_));
    MulPlan plan;
    EXPECT_OK(plan.Prepare(lhs, rhs, params, 4, &context_, &dst));
    EXPECT_OK(plan.Finish());
  }

  // Packs and reads what was packed.
  template <typename T>
  void PackAndRead(ptrdiff_t rows, ptrdiff_t cols, Order order) {
    for (const Side side : {Side::kLhs, Side::kRhs}) {
      for (const Order dst_order : kOrders) {
        PackOptions options;
        options.dst_order = dst_order;
        const auto matrix = Empty<T>(rows, cols, order);
        ASSERT_VALUE(const std::size_t bytes,
                     PackedMatrixBytes(matrix, side, options, &context_));
        // Sums of rows or columns may take memory for each of them.
        if (bytes > (1 << 20)) continue;
        ASSERT_VALUE(const auto packed, Pack(matrix, side, options, &context_));
        EXPECT_EQ(packed.Serialize().size(), bytes);
        AlignedBuffer buffer;
        ASSERT_TRUE(AlignedBuffer::Allocate(bytes, &buffer));
        EXPECT_OK(
            PackInto(buffer.data(), bytes, matrix, side, options, &context_)
                .status());
        EXPECT_OK(PackedMatrix<T>::FromBytes(buffer.data(), bytes).status());
      }
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(EndlessTest);

TEST_P(EndlessTest, Products) {
  for (const Order order : kOrders) {
    const ptrdiff_t sizes[][3] = {
        {kMany, 0, 0}, {0, kMany, 0}, {0, 0, kMany}, {0, 3, kMany}};
    for (const auto& [rows, depth, cols] : sizes) {
      Multiply<float, float>(rows, depth, cols, order);
      Multiply<std::int8_t, std::int32_t>(rows, depth, cols, order);
    }
  }
}

TEST_P(EndlessTest, PackedMatrices) {
  for (const Order order : kOrders) {
    for (const auto& [rows, cols] :
         {std::pair(kMany, ptrdiff_t{0}), {ptrdiff_t{0}, kMany}}) {
      PackAndRead<float>(rows, cols, order);
      PackAndRead<std::int8_t>(rows, cols, order);
      PackAndRead<BFloat16>(rows, cols, order);
      PackAndRead<std::int16_t>(rows, cols, order);
    }
  }
}

TEST_P(EndlessTest, GroupWeights) {
  for (const int bits : {4, 8}) {
    for (const auto& [rows, depth] :
         {std::pair(kMany, ptrdiff_t{0}), {ptrdiff_t{0}, kMany}}) {
      GroupWeights weights;
      weights.rows = rows;
      weights.depth = depth;
      weights.bits = bits;
      weights.group_size = 32;
      ASSERT_VALUE(const auto packed, PackGroupWeights(weights, &context_));
      AlignedBuffer copy;
      const absl::string_view image = packed.Serialize();
      ASSERT_TRUE(AlignedBuffer::Allocate(image.size(), &copy));
      std::memcpy(copy.data(), image.data(), image.size());
      EXPECT_OK(
          PackedGroupWeights::FromBytes(copy.data(), image.size()).status());
      for (const Order order : kOrders) {
        const GroupMulParams params;
        const auto rhs = Empty<float>(depth, 0, order);
        auto dst = Empty<float>(rows, 0, order);
        EXPECT_OK(Mul(packed, rhs, params, &context_, &dst));
        ReferenceGroupMul(weights, rhs, params, &dst);
        const auto lhs = Empty<float>(0, depth, order);
        auto transposed = Empty<float>(0, rows, order);
        EXPECT_OK(Mul(lhs, packed, params, &context_, &transposed));
      }
    }
    // More columns of activations than can be counted, for no weights.
    const auto rhs = Empty<float>(0, kMany, Order::kColMajor);
    auto dst = Empty<float>(0, kMany, Order::kColMajor);
    EXPECT_OK(
        Mul(PackedGroupWeights(), rhs, GroupMulParams(), &context_, &dst));
    ReferenceGroupMul(GroupWeights(), rhs, GroupMulParams(), &dst);
  }
}

}  // namespace
}  // namespace ruy_like
