// Promises about the values of operands: seen where they are kept, seen where
// they are broken, and never a wrong result.
#include "ruy_like/packed/value_range.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/path.h"
#include "test/support/product.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

Operand MakeInt8Operand(const std::vector<std::int8_t>& data, Scalar scalar,
                        bool depth_contiguous, std::ptrdiff_t depth,
                        std::ptrdiff_t width, std::ptrdiff_t stride) {
  Operand operand = {};
  operand.data = data.data();
  operand.scalar = scalar;
  operand.depth_contiguous = depth_contiguous;
  operand.depth = depth;
  operand.width = width;
  operand.stride = stride;
  return operand;
}

// Every element counts, no element of a gap does.
TEST(HoldsInt7Test, LooksAtEachElementAndAtNoGap) {
  constexpr std::ptrdiff_t kInner = 37, kOuter = 5, kStride = 41;
  for (const Scalar scalar : {Scalar::kI8, Scalar::kU8}) {
    const int zero = scalar == Scalar::kU8 ? 128 : 0;
    for (const bool depth_contiguous : {true, false}) {
      std::vector<std::int8_t> data(kStride * kOuter,
                                    static_cast<std::int8_t>(zero));
      const Operand operand = MakeInt8Operand(
          data, scalar, depth_contiguous, depth_contiguous ? kInner : kOuter,
          depth_contiguous ? kOuter : kInner, kStride);
      for (std::ptrdiff_t i = 0; i < kStride * kOuter; ++i) {
        for (const int value : {-128, -65, -64, -63, 63, 64, 127}) {
          data[i] = static_cast<std::int8_t>(value + zero);
          const bool breaks =
              (value < -63 || value > 63) && i % kStride < kInner;
          EXPECT_EQ(HoldsInt7(operand), !breaks) << i << ": " << value;
          data[i] = static_cast<std::int8_t>(zero);
        }
      }
    }
  }
}

TEST(HoldsInt7Test, SeesTheEndOfALongLine) {
  std::vector<std::int8_t> data(200001, 5);
  const Operand operand =
      MakeInt8Operand(data, Scalar::kI8, true, 200001, 1, 200001);
  EXPECT_TRUE(HoldsInt7(operand));
  data.back() = 64;
  EXPECT_FALSE(HoldsInt7(operand));
}

// Products whose operands are int7, unless told otherwise.
class Int7MulTest : public testing::TestWithParam<Path> {
 protected:
  void SetUp() override { context_.set_runtime_enabled_paths(GetParam()); }
  static RawProduct MakeProduct(std::ptrdiff_t rows, std::ptrdiff_t depth,
                                std::ptrdiff_t cols,
                                Order dst_order = Order::kColMajor) {
    return RawProduct(rows, depth, cols, dst_order, -63, 63);
  }
  void ExpectRight(RawProduct* product) {
    EXPECT_OK(product->Run(&context_));
    product->ExpectIs(product->Expected());
  }
  // True if the last product's kernel counts on int7 operands.
  bool RanInt7() const {
    return std::string(context_.last_used_kernel()).find("_S7") !=
           std::string::npos;
  }
  bool RanInt7OnBothSides() const {
    return std::string(context_.last_used_kernel()).find("_S7U7") !=
           std::string::npos;
  }

  Context context_;
};

// The values whose sums come nearest to the limits of 16 bits, at every depth.
TEST_P(Int7MulTest, ExtremesAtEveryDepth) {
  for (std::ptrdiff_t depth = 1; depth <= 130; ++depth) {
    for (const int lhs : {-63, 63}) {
      for (const int rhs : {-128, -63, 63, 127}) {
        const bool both = rhs == -63 || rhs == 63;
        RawProduct p = MakeProduct(17, depth, 9);
        p.lhs_values.assign(p.lhs_values.size(), lhs);
        p.rhs_values.assign(p.rhs_values.size(), rhs);
        p.lhs.set_value_range(ValueRange::kInt7);
        p.rhs.set_value_range(both ? ValueRange::kInt7 : ValueRange::kFull);
        p.lhs.set_zero_point(static_cast<std::int8_t>(depth % 3 - 1));
        p.rhs.set_zero_point(static_cast<std::int8_t>(depth % 5 - 2));
        ExpectRight(&p);
        EXPECT_TRUE(RanInt7()) << context_.last_used_kernel();
        EXPECT_EQ(RanInt7OnBothSides(), both);
      }
    }
  }
}

TEST_P(Int7MulTest, EveryZeroPoint) {
  RawProduct p = MakeProduct(9, 35, 7);
  p.lhs.set_value_range(ValueRange::kInt7);
  for (int zero_point = -128; zero_point < 128; ++zero_point) {
    p.lhs.set_zero_point(static_cast<std::int8_t>(zero_point));
    p.rhs.set_zero_point(static_cast<std::int8_t>(-1 - zero_point));
    for (const ValueRange range : {ValueRange::kFull, ValueRange::kInt7}) {
      p.rhs.set_value_range(range);
      ExpectRight(&p);
      EXPECT_TRUE(RanInt7());
    }
  }
}

// The int7 side may be either one, and dst may lie either way.
TEST_P(Int7MulTest, EitherSideAndEitherOrder) {
  for (const bool rhs_is_int7 : {false, true}) {
    for (const Order order : kOrders) {
      RawProduct p = MakeProduct(40, 300, 50, order);
      (rhs_is_int7 ? p.rhs : p.lhs).set_value_range(ValueRange::kInt7);
      (rhs_is_int7 ? p.lhs_values : p.rhs_values)[77] = -128;
      ExpectRight(&p);
      EXPECT_TRUE(RanInt7()) << context_.last_used_kernel();
    }
  }
}

// One element that the caller has not told the truth about, wherever it is.
TEST_P(Int7MulTest, ABrokenPromiseCostsSpeedAlone) {
  Rng rng(3);
  RawProduct p = MakeProduct(20, 70, 18);
  p.lhs.set_value_range(ValueRange::kInt7);
  p.rhs.set_value_range(ValueRange::kInt7);
  for (int i = 0; i < 200; ++i) {
    const bool in_lhs = rng.OneIn(2);
    std::vector<std::int8_t>& data = in_lhs ? p.lhs_values : p.rhs_values;
    std::int8_t& element = data[rng.Between(0, data.size() - 1)];
    const std::int8_t was = element;
    element = static_cast<std::int8_t>(rng.OneIn(2) ? rng.Between(64, 127)
                                                    : rng.Between(-128, -64));
    ExpectRight(&p);
    EXPECT_FALSE(RanInt7OnBothSides());
    element = was;
  }
  p.lhs_values[3] = 100;
  p.rhs_values[3] = 100;
  ExpectRight(&p);
  EXPECT_FALSE(RanInt7());
}

// What is cached is looked at once, and not under another promise.
TEST_P(Int7MulTest, CachedOperandsHaveAFormForEachTruth) {
  RawProduct p = MakeProduct(48, 64, 48);
  p.rhs_values = RandomVector<std::int8_t>(64 * 48, 4);
  p.rhs.set_data(p.rhs_values.data());
  p.lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  p.lhs.set_value_range(ValueRange::kInt7);
  ExpectRight(&p);
  EXPECT_TRUE(RanInt7());
  const std::size_t once = context_.prepacked_cache_bytes();
  // One form for every width of the other side.
  for (const std::ptrdiff_t cols : {1, 2, 4, 5, 16, 48}) {
    p.rhs.mutable_layout()->set_cols(cols);
    MulTo<std::int32_t>(p.lhs, p.rhs, &context_);
    EXPECT_TRUE(RanInt7()) << cols;
  }
  EXPECT_EQ(context_.prepacked_cache_bytes(), once);

  context_.ClearPrepackedCache();
  p.rhs.mutable_layout()->set_cols(48);
  p.lhs_values[99] = -128;
  ExpectRight(&p);
  EXPECT_FALSE(RanInt7());
  ExpectRight(&p);
  EXPECT_FALSE(RanInt7());
}

TEST_P(Int7MulTest, PackedAheadItSaysWhatItIs) {
  RawProduct p = MakeProduct(48, 61, 33);
  p.lhs.set_value_range(ValueRange::kInt7);
  const std::vector<std::int32_t> expected = p.Expected();
  ASSERT_VALUE(const auto bytes,
               PackedMatrixBytes(p.lhs, Side::kLhs, {}, &context_));
  ASSERT_VALUE(auto packed, Pack(p.lhs, Side::kLhs, {}, &context_));
  EXPECT_EQ(packed.layout_name().substr(0, 2), "S7");
  EXPECT_EQ(packed.Serialize().size(), bytes);
  for (const ValueRange range : {ValueRange::kFull, ValueRange::kInt7}) {
    p.rhs.set_value_range(range);
    EXPECT_EQ(MulTo<std::int32_t>(packed, p.rhs, &context_), expected);
    EXPECT_EQ(RanInt7OnBothSides(), range == ValueRange::kInt7);

    // Both packed: the rhs has to know, unless it is packed alike.
    PackOptions options;
    ASSERT_VALUE(auto unaware, Pack(p.rhs, Side::kRhs, options, &context_));
    options.pack_for = PackFor::kInt7Operand;
    ASSERT_VALUE(auto other, Pack(p.rhs, Side::kRhs, options, &context_));
    EXPECT_EQ(MulTo<std::int32_t>(packed, unaware, &context_), expected);
    EXPECT_EQ(MulTo<std::int32_t>(packed, other, &context_), expected);
    EXPECT_EQ(RanInt7OnBothSides(), range == ValueRange::kInt7);
  }

  p.lhs_values[7] = 64;
  ASSERT_VALUE(packed, Pack(p.lhs, Side::kLhs, {}, &context_));
  EXPECT_EQ(packed.layout_name().substr(0, 2), "S8");
  EXPECT_EQ(MulTo<std::int32_t>(packed, p.rhs, &context_), p.Expected());
}

// Those who run a plan read operands when nobody looks at promises any more.
TEST_P(Int7MulTest, APlanCountsOnNothing) {
  RawProduct p = MakeProduct(48, 64, 48);
  p.lhs.set_value_range(ValueRange::kInt7);
  p.rhs.set_value_range(ValueRange::kInt7);
  MulPlan plan;
  ASSERT_OK(p.Prepare(1, &context_, &plan));
  p.lhs_values.assign(p.lhs_values.size(), -128);
  p.rhs_values.assign(p.rhs_values.size(), -128);
  ASSERT_OK(plan.Run(0));
  ASSERT_OK(plan.Finish());
  p.ExpectIs(p.Expected());
}

// ## On every path: what is packed for an int7 operand that then is not

class PackedForInt7Test : public PathTest {
 protected:
  static constexpr std::ptrdiff_t kRows = 53, kDepth = 71, kCols = 37;

  // T: of either operand. One element of each may be no int7.
  template <typename T>
  struct Operands : Product<T, T, std::int32_t, std::int32_t> {
    Operands(bool breaks_lhs, bool breaks_rhs)
        : Product<T, T, std::int32_t, std::int32_t>(
              kRows, kDepth, kCols, Order::kColMajor, kLowest, kLowest + 126) {
      if (breaks_lhs) this->lhs_values[kRows * kDepth / 2] = kLowest + 127;
      if (breaks_rhs) this->rhs_values[kDepth * kCols / 2] = kLowest + 127;
      this->lhs.set_zero_point(static_cast<T>(kLowest + 3));
      this->rhs.set_zero_point(static_cast<T>(kLowest + 100));
    }
    static constexpr int kLowest = LowestInt7(internal::ScalarOf<T>());
  };

  template <typename Lhs, typename Rhs, typename T>
  void ExpectRight(const Lhs& lhs, const Rhs& rhs,
                   const Operands<T>& operands) {
    for (const Order order : kOrders) {
      const auto expected =
          ReferenceMulTo<std::int32_t>(operands.lhs, operands.rhs, order);
      EXPECT_EQ(MulTo<std::int32_t>(lhs, rhs, &context_, order), expected);
      std::vector<std::int32_t> result(kRows * kCols);
      auto dst = MakeMatrix(result.data(), kRows, kCols, order);
      MulPlan plan;
      ASSERT_OK(plan.Prepare(lhs, rhs, MulParams<std::int32_t, std::int32_t>(),
                             2, &context_, &dst));
      EXPECT_OK(plan.Run(1));
      EXPECT_OK(plan.Finish());
      EXPECT_EQ(result, expected);
    }
  }

  template <typename T>
  PackedMatrix<T> PackWith(const Matrix<T>& matrix, Side side, PackFor pack_for,
                           Order dst_order) {
    const PackOptions options = {dst_order, pack_for};
    auto packed = Pack(matrix, side, options, &context_);
    EXPECT_OK(packed);
    return packed.ok() ? *packed : PackedMatrix<T>();
  }

  // Each side as it is, and packed in each way, with every mix of promises.
  template <typename T>
  void CheckAll(bool breaks_lhs, bool breaks_rhs) {
    Operands<T> operands(breaks_lhs, breaks_rhs);
    for (const int promised : {0, 1, 2, 3}) {
      operands.lhs.set_value_range((promised & 1) != 0 ? ValueRange::kInt7
                                                       : ValueRange::kFull);
      operands.rhs.set_value_range((promised & 2) != 0 ? ValueRange::kInt7
                                                       : ValueRange::kFull);
      ExpectRight(operands.lhs, operands.rhs, operands);
      for (const Order order : kOrders) {
        for (const auto for_lhs : kPackFor) {
          const auto lhs = PackWith(operands.lhs, Side::kLhs, for_lhs, order);
          ExpectRight(lhs, operands.rhs, operands);
          for (const auto for_rhs : kPackFor) {
            const auto rhs = PackWith(operands.rhs, Side::kRhs, for_rhs, order);
            ExpectRight(lhs, rhs, operands);
            ExpectRight(operands.lhs, rhs, operands);
          }
        }
      }
    }
  }
  static constexpr PackFor kPackFor[] = {PackFor::kDefault,
                                         PackFor::kInt7Operand};
};
RUY_LIKE_INSTANTIATE_PER_PATH(PackedForInt7Test);

TEST_P(PackedForInt7Test, PromisesNeverChangeAResult) {
  for (const int breaks : {0, 1, 2, 3}) {
    SCOPED_TRACE(breaks);
    CheckAll<std::int8_t>((breaks & 1) != 0, (breaks & 2) != 0);
    CheckAll<std::uint8_t>((breaks & 1) != 0, (breaks & 2) != 0);
  }
}

TEST(ValueRangeTest, OtherTypesAndUnknownRangesAreErrors) {
  Context context;
  FloatProduct product(1, 1, 1);
  product.dst_values[0] = 7;
  product.lhs.set_value_range(ValueRange::kInt7);
  ExpectStatus(product.Run(&context), kInvalid, {"int7"});
  product.lhs.set_value_range(static_cast<ValueRange>(9));
  EXPECT_CODE(kInvalid, product.Run(&context));
  EXPECT_EQ(product.dst_values[0], 7);
}

// The paths with kernels for int7.
std::vector<Path> Int7Paths() {
  std::vector<Path> paths;
  for (const Path path : PathsBestFirst(DetectedPaths())) {
    const std::string name = PathName(path);
    if (name == "avx2" || name == "avx512") paths.push_back(path);
  }
  return paths;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Int7MulTest);
INSTANTIATE_TEST_SUITE_P(Paths, Int7MulTest, testing::ValuesIn(Int7Paths()),
                         [](const testing::TestParamInfo<Path>& info) {
                           return PathName(info.param);
                         });

}  // namespace
}  // namespace ruy_like
