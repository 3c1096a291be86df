// Promises about the values of operands: seen where they are kept, seen where
// they are broken, and never a wrong result.
#include "ruy_like/packed/value_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/context.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/path.h"
#include "ruy_like/reference_mul.h"
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

// A product of row-major by column-major matrices, compared with ReferenceMul.
class Int7MulTest : public testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    context_.set_runtime_enabled_paths(GetParam());
    MulParams<std::int32_t, std::int32_t> params;
    params_ = params;
  }
  void Resize(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols) {
    lhs_data_.assign(rows * depth, 0);
    rhs_data_.assign(depth * cols, 0);
    dst_data_.assign(rows * cols, 0);
    expected_.assign(rows * cols, 1);
    MakeSimpleLayout(rows, depth, Order::kRowMajor, lhs_.mutable_layout());
    MakeSimpleLayout(depth, cols, Order::kColMajor, rhs_.mutable_layout());
    MakeSimpleLayout(rows, cols, Order::kColMajor, dst_.mutable_layout());
    lhs_.set_data(static_cast<const std::int8_t*>(lhs_data_.data()));
    rhs_.set_data(static_cast<const std::int8_t*>(rhs_data_.data()));
    dst_.set_data(dst_data_.data());
  }
  void ExpectRight() {
    ASSERT_TRUE(Mul(lhs_, rhs_, params_, &context_, &dst_).ok());
    ExpectReference();
  }
  void ExpectReference() {
    Matrix<std::int32_t> expected = dst_;
    expected.set_data(expected_.data());
    ReferenceMul(lhs_, rhs_, params_, &expected);
    EXPECT_EQ(dst_data_, expected_);
  }
  // Whether the last product's kernel counts on int7 operands.
  bool RanInt7() const {
    return std::string(context_.last_used_kernel()).find("_S7") !=
           std::string::npos;
  }
  bool RanInt7OnBothSides() const {
    const std::string kernel = context_.last_used_kernel();
    return kernel.find("_S7U7") != std::string::npos ||
           kernel.find("_S7S7") != std::string::npos;
  }

  Context context_;
  std::vector<std::int8_t> lhs_data_, rhs_data_;
  std::vector<std::int32_t> dst_data_, expected_;
  Matrix<std::int8_t> lhs_, rhs_;
  Matrix<std::int32_t> dst_;
  MulParams<std::int32_t, std::int32_t> params_;
};

// The values whose sums come nearest to the limits of 16 bits, at every depth.
TEST_P(Int7MulTest, ExtremesAtEveryDepth) {
  for (std::ptrdiff_t depth = 1; depth <= 130; ++depth) {
    for (const int lhs : {-63, 63}) {
      for (const int rhs : {-128, -63, 63, 127}) {
        const bool both = rhs == -63 || rhs == 63;
        Resize(17, depth, 9);
        std::fill(lhs_data_.begin(), lhs_data_.end(), lhs);
        std::fill(rhs_data_.begin(), rhs_data_.end(), rhs);
        lhs_.set_value_range(ValueRange::kInt7);
        rhs_.set_value_range(both ? ValueRange::kInt7 : ValueRange::kFull);
        lhs_.set_zero_point(static_cast<std::int8_t>(depth % 3 - 1));
        rhs_.set_zero_point(static_cast<std::int8_t>(depth % 5 - 2));
        ExpectRight();
        EXPECT_TRUE(RanInt7()) << context_.last_used_kernel();
        EXPECT_EQ(RanInt7OnBothSides(), both);
      }
    }
  }
}

TEST_P(Int7MulTest, EveryZeroPoint) {
  Rng rng(1);
  Resize(9, 35, 7);
  for (std::int8_t& x : lhs_data_) x = rng.Between(-63, 63);
  for (std::int8_t& x : rhs_data_) x = rng.Between(-63, 63);
  lhs_.set_value_range(ValueRange::kInt7);
  for (int zero_point = -128; zero_point < 128; ++zero_point) {
    lhs_.set_zero_point(static_cast<std::int8_t>(zero_point));
    rhs_.set_zero_point(static_cast<std::int8_t>(-1 - zero_point));
    for (const ValueRange range : {ValueRange::kFull, ValueRange::kInt7}) {
      rhs_.set_value_range(range);
      ExpectRight();
      EXPECT_TRUE(RanInt7());
    }
  }
}

// The int7 side may be either one, and dst may lie either way.
TEST_P(Int7MulTest, EitherSideAndEitherOrder) {
  Rng rng(2);
  for (const bool rhs_is_int7 : {false, true}) {
    for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
      Resize(40, 300, 50);
      MakeSimpleLayout(40, 50, order, dst_.mutable_layout());
      for (std::int8_t& x : lhs_data_) x = rng.Between(-63, 63);
      for (std::int8_t& x : rhs_data_) x = rng.Between(-63, 63);
      (rhs_is_int7 ? lhs_ : rhs_).set_value_range(ValueRange::kFull);
      (rhs_is_int7 ? rhs_ : lhs_).set_value_range(ValueRange::kInt7);
      (rhs_is_int7 ? lhs_data_ : rhs_data_)[77] = -128;
      ExpectRight();
      EXPECT_TRUE(RanInt7()) << context_.last_used_kernel();
    }
  }
}

// One element that the caller has not told the truth about, wherever it is.
TEST_P(Int7MulTest, ABrokenPromiseCostsSpeedAlone) {
  Rng rng(3);
  Resize(20, 70, 18);
  for (std::int8_t& x : lhs_data_) x = rng.Between(-63, 63);
  for (std::int8_t& x : rhs_data_) x = rng.Between(-63, 63);
  lhs_.set_value_range(ValueRange::kInt7);
  rhs_.set_value_range(ValueRange::kInt7);
  for (int i = 0; i < 200; ++i) {
    const bool in_lhs = rng.OneIn(2);
    std::vector<std::int8_t>& data = in_lhs ? lhs_data_ : rhs_data_;
    std::int8_t& element = data[rng.Between(0, data.size() - 1)];
    const std::int8_t was = element;
    element = static_cast<std::int8_t>(rng.OneIn(2) ? rng.Between(64, 127)
                                                    : rng.Between(-128, -64));
    ExpectRight();
    EXPECT_FALSE(RanInt7OnBothSides());
    element = was;
  }
  lhs_data_[3] = 100;
  rhs_data_[3] = 100;
  ExpectRight();
  EXPECT_FALSE(RanInt7());
}

// What is cached is looked at once, and not under another promise.
TEST_P(Int7MulTest, CachedOperandsHaveAFormForEachTruth) {
  Rng rng(4);
  Resize(48, 64, 48);
  for (std::int8_t& x : lhs_data_) x = rng.Between(-63, 63);
  for (std::int8_t& x : rhs_data_) x = rng.Between(-128, 127);
  lhs_.set_cache_policy(CachePolicy::kAlwaysCache);
  lhs_.set_value_range(ValueRange::kInt7);
  ExpectRight();
  EXPECT_TRUE(RanInt7());
  const std::size_t once = context_.prepacked_cache_bytes();
  // One form for every width of the other side.
  for (const std::ptrdiff_t cols : {1, 2, 4, 5, 16, 48}) {
    MakeSimpleLayout(64, cols, Order::kColMajor, rhs_.mutable_layout());
    MakeSimpleLayout(48, cols, Order::kColMajor, dst_.mutable_layout());
    ASSERT_TRUE(Mul(lhs_, rhs_, params_, &context_, &dst_).ok());
    EXPECT_TRUE(RanInt7()) << cols;
  }
  EXPECT_EQ(context_.prepacked_cache_bytes(), once);

  context_.ClearPrepackedCache();
  Resize(48, 64, 48);
  lhs_data_[99] = -128;
  ExpectRight();
  EXPECT_FALSE(RanInt7());
  ExpectRight();
  EXPECT_FALSE(RanInt7());
}

TEST_P(Int7MulTest, PackedAheadItSaysWhatItIs) {
  Rng rng(5);
  Resize(48, 61, 33);
  for (std::int8_t& x : lhs_data_) x = rng.Between(-63, 63);
  for (std::int8_t& x : rhs_data_) x = rng.Between(-63, 63);
  lhs_.set_value_range(ValueRange::kInt7);
  const auto bytes =
      PackedMatrixBytes(lhs_, Side::kLhs, PackOptions(), &context_);
  auto packed = Pack(lhs_, Side::kLhs, PackOptions(), &context_);
  ASSERT_TRUE(packed.ok() && bytes.ok());
  EXPECT_EQ(packed->layout_name().substr(0, 2), "S7");
  EXPECT_EQ(packed->Serialize().size(), *bytes);
  for (const ValueRange range : {ValueRange::kFull, ValueRange::kInt7}) {
    rhs_.set_value_range(range);
    ASSERT_TRUE(Mul(*packed, rhs_, params_, &context_, &dst_).ok());
    ExpectReference();
    EXPECT_EQ(RanInt7OnBothSides(), range == ValueRange::kInt7);

    // Both packed: the rhs has to know, unless it is packed alike.
    PackOptions options;
    const auto unaware = Pack(rhs_, Side::kRhs, options, &context_);
    options.pack_for = PackFor::kInt7Operand;
    const auto other = Pack(rhs_, Side::kRhs, options, &context_);
    ASSERT_TRUE(unaware.ok() && other.ok());
    ASSERT_TRUE(Mul(*packed, *unaware, params_, &context_, &dst_).ok());
    ExpectReference();
    std::fill(dst_data_.begin(), dst_data_.end(), 0);
    ASSERT_TRUE(Mul(*packed, *other, params_, &context_, &dst_).ok());
    ExpectReference();
    EXPECT_EQ(RanInt7OnBothSides(), range == ValueRange::kInt7);
  }

  lhs_data_[7] = 64;
  packed = Pack(lhs_, Side::kLhs, PackOptions(), &context_);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed->layout_name().substr(0, 2), "S8");
  ASSERT_TRUE(Mul(*packed, rhs_, params_, &context_, &dst_).ok());
  ExpectReference();
}

// Those who run a plan read operands when nobody looks at promises any more.
TEST_P(Int7MulTest, APlanCountsOnNothing) {
  Resize(48, 64, 48);
  lhs_.set_value_range(ValueRange::kInt7);
  rhs_.set_value_range(ValueRange::kInt7);
  MulPlan plan;
  ASSERT_TRUE(plan.Prepare(lhs_, rhs_, params_, 1, &context_, &dst_).ok());
  std::fill(lhs_data_.begin(), lhs_data_.end(), -128);
  std::fill(rhs_data_.begin(), rhs_data_.end(), -128);
  ASSERT_TRUE(plan.Run(0).ok());
  ASSERT_TRUE(plan.Finish().ok());
  ExpectReference();
}

// ## On every path: what is packed for an int7 operand that then is not

class PackedForInt7Test : public PathTest {
 protected:
  static constexpr std::ptrdiff_t kRows = 53, kDepth = 71, kCols = 37;

  // T: of either operand. One element of each may be no int7.
  template <typename T>
  struct Operands {
    Operands(bool breaks_lhs, bool breaks_rhs)
        : lhs_data(Values(kRows * kDepth, breaks_lhs, 1)),
          rhs_data(Values(kDepth * kCols, breaks_rhs, 2)),
          lhs(MakeMatrix(lhs_data.data(), kRows, kDepth, Order::kRowMajor)),
          rhs(MakeMatrix(rhs_data.data(), kDepth, kCols, Order::kColMajor)) {
      lhs.set_zero_point(static_cast<T>(kLowest + 3));
      rhs.set_zero_point(static_cast<T>(kLowest + 100));
    }
    static std::vector<T> Values(std::ptrdiff_t count, bool breaks, int seed) {
      std::vector<T> values =
          RandomVector<T>(count, kLowest, kLowest + 126, seed);
      if (breaks) values[count / 2] = static_cast<T>(kLowest + 127);
      return values;
    }
    static constexpr int kLowest = LowestInt7(internal::ScalarOf<T>());
    std::vector<T> lhs_data, rhs_data;
    Matrix<T> lhs, rhs;
  };

  template <typename Lhs, typename Rhs, typename T>
  void ExpectRight(const Lhs& lhs, const Rhs& rhs,
                   const Operands<T>& operands) {
    const MulParams<std::int32_t, std::int32_t> params;
    std::vector<std::int32_t> expected(kRows * kCols);
    for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
      auto dst = MakeMatrix(expected.data(), kRows, kCols, order);
      ReferenceMul(operands.lhs, operands.rhs, params, &dst);
      std::vector<std::int32_t> result(kRows * kCols);
      dst.set_data(result.data());
      absl::Status status = Mul(lhs, rhs, params, &context_, &dst);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(result, expected);
      result.assign(result.size(), 0);
      MulPlan plan;
      status = plan.Prepare(lhs, rhs, params, 2, &context_, &dst);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_TRUE(plan.Run(1).ok());
      EXPECT_TRUE(plan.Finish().ok());
      EXPECT_EQ(result, expected);
    }
  }

  template <typename T>
  PackedMatrix<T> PackWith(const Matrix<T>& matrix, Side side, PackFor pack_for,
                           Order dst_order) {
    PackOptions options;
    options.pack_for = pack_for;
    options.dst_order = dst_order;
    auto packed = Pack(matrix, side, options, &context_);
    EXPECT_TRUE(packed.ok()) << packed.status();
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
      for (const Order order : {Order::kColMajor, Order::kRowMajor}) {
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
  Matrix<float> lhs, rhs, dst;
  float data[3] = {1, 2, 7};
  for (Matrix<float>* m : {&lhs, &rhs, &dst}) {
    MakeSimpleLayout(1, 1, Order::kColMajor, m->mutable_layout());
  }
  lhs.set_data(static_cast<const float*>(&data[0]));
  rhs.set_data(static_cast<const float*>(&data[1]));
  dst.set_data(&data[2]);
  lhs.set_value_range(ValueRange::kInt7);
  MulParams<float, float> params;
  const absl::Status status = Mul(lhs, rhs, params, &context, &dst);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("int7"), std::string::npos) << status;
  lhs.set_value_range(static_cast<ValueRange>(9));
  EXPECT_EQ(Mul(lhs, rhs, params, &context, &dst).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(data[2], 7);
}

// The paths with kernels for int7.
std::vector<Path> Int7Paths() {
  std::vector<Path> paths;
  for (const Path path : PathsBestFirst(DetectedPaths())) {
    const std::string name = PathName(path);
    if (name == "avx2" || name == "avx512" || name == "neon")
      paths.push_back(path);
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
