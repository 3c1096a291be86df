// Products of 16- and 8-bit floats, on every path: each is the float product of
// the widened values, bit for bit, or on a path whose instructions round
// otherwise has the bits of these, rounded once where dst has 16 bits.
// (random_test compares with sums in double, as for float.)
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

#include "ruy_like/float8.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_mul.h"
#include "test/support/bfloat16_sums.h"
#include "test/support/flushing_multiply_add.h"
#include "test/support/product.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// True if denormal floats count as zero on this processor.
#if defined(__SSE2__) || defined(__aarch64__) || defined(__arm__)
constexpr bool kFlushes = true;
#else
constexpr bool kFlushes = false;
#endif

template <typename T>
float Widen(T value) {
  return static_cast<float>(value);
}

template <typename T>
T RandomValue(Rng* rng) {
  const float magnitude =
      rng->OneIn(8) ? std::ldexp(1.0f, static_cast<int>(rng->Between(-24, 4)))
                    : 1.0f;
  return static_cast<T>(static_cast<float>(rng->Signed()) * magnitude);
}

// A matrix and its memory, gaps included. Those of an operand are NaN.
template <typename T>
struct Buffer {
  Buffer(std::ptrdiff_t rows, std::ptrdiff_t cols, Order order,
         std::ptrdiff_t gap)
      : matrix(MakeMatrix(static_cast<T*>(nullptr), rows, cols, order, gap)),
        values(SpanOf(matrix.layout()), static_cast<T>(kNan)) {
    matrix.set_data(values.data());
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void Fill(Rng* rng) {
    FillElements(&matrix, [rng] { return RandomValue<T>(rng); });
  }
  template <typename From>
  void Widen(const Buffer<From>& from) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(static_cast<float>(from.values[i]));
    }
  }

  Matrix<T> matrix;
  std::vector<T> values;
};

enum class Way { kPlain, kCachedLhs, kCachedRhs, kPackedLhs, kPackedRhs };

// A product's options, apart from the types of its operands and dst.
struct Options {
  Shape shape;
  Order lhs_order, rhs_order, dst_order;
  std::ptrdiff_t gap;
  Way way;
  bool bias, clamp, beta;
  bool packs_for_bf16;
  ChannelDimension channels;
  int threads;
};

Options Draw(const Shape& shape, Rng* rng) {
  const auto order = [rng] {
    return rng->OneIn(2) ? Order::kRowMajor : Order::kColMajor;
  };
  Options o;
  o.shape = shape;
  o.lhs_order = order();
  o.rhs_order = order();
  o.dst_order = order();
  o.gap = rng->OneIn(2) ? rng->Between(1, 9) : 0;
  o.way = static_cast<Way>(rng->Between(0, 4));
  o.bias = rng->OneIn(2);
  o.clamp = rng->OneIn(3);
  o.beta = rng->OneIn(3);
  o.channels = rng->OneIn(2) ? ChannelDimension::kRow : ChannelDimension::kCol;
  o.threads = rng->OneIn(4) ? 3 : 1;
  o.packs_for_bf16 = rng->OneIn(2);
  return o;
}

template <typename Lhs, typename Rhs, typename Params, typename Dst>
absl::Status Multiply(const Options& o, Matrix<Lhs> lhs, Matrix<Rhs> rhs,
                      const Params& params, Context* context,
                      Matrix<Dst>* dst) {
  UseThreads(o.threads, context);
  PackOptions options = {o.dst_order};
  const Scalar to_pack = o.way == Way::kPackedLhs ? internal::ScalarOf<Lhs>()
                                                  : internal::ScalarOf<Rhs>();
  if (o.packs_for_bf16 && AsBFloat16(to_pack) == Scalar::kBF16) {
    options.pack_for = PackFor::kBFloat16Operand;
  }
  if (o.way == Way::kPackedLhs) {
    const auto packed = Pack(lhs, Side::kLhs, options, context);
    if (!packed.ok()) return packed.status();
    return Mul(*packed, rhs, params, context, dst);
  }
  if (o.way == Way::kPackedRhs) {
    const auto packed = Pack(rhs, Side::kRhs, options, context);
    if (!packed.ok()) return packed.status();
    return Mul(lhs, *packed, params, context, dst);
  }
  if (o.way == Way::kCachedLhs) lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  if (o.way == Way::kCachedRhs) rhs.set_cache_policy(CachePolicy::kAlwaysCache);
  absl::Status status = Mul(lhs, rhs, params, context, dst);
  context->ClearPrepackedCache();
  return status;
}

template <typename Dst>
MulParams<float, Dst> ParamsOf(const Options& o,
                               const std::vector<float>& bias) {
  MulParams<float, Dst> params;
  params.set_channel_dimension(o.channels);
  if (o.bias) params.set_bias(bias.data());
  if (o.clamp) {
    params.set_clamp_min(static_cast<Dst>(-0.75f));
    params.set_clamp_max(static_cast<Dst>(1.5f));
  }
  if (o.beta) params.set_beta(static_cast<Dst>(-1.25f));
  return params;
}

template <typename T>
std::vector<BFloat16> RowOf(const Matrix<T>& lhs, std::ptrdiff_t row) {
  std::vector<BFloat16> values(lhs.layout().cols());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = BFloat16(Widen(Element(lhs, row, k)));
  }
  return values;
}
template <typename T>
std::vector<BFloat16> ColumnOf(const Matrix<T>& rhs, std::ptrdiff_t col) {
  std::vector<BFloat16> values(rhs.layout().rows());
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = BFloat16(Widen(Element(rhs, k, col)));
  }
  return values;
}

// Replaces some elements of `dst`, of a small product all, by what comes of
// their values before it, `old`, and of the sums of lhs and rhs by `sum`.
template <typename Lhs, typename Rhs, typename Dst>
void RecomputeSome(BFloat16SumFn* sum, const Buffer<Lhs>& lhs,
                   const Buffer<Rhs>& rhs, const Buffer<Dst>& old,
                   const Options& o, const std::vector<float>& bias, Rng* rng,
                   Buffer<Dst>* dst) {
  const Shape& s = o.shape;
  const auto one_in =
      static_cast<int>(1 + s.rows * s.cols * (s.depth + 1) / 200000);
  const MulParams<float, Dst> params = ParamsOf<Dst>(o, bias);
  for (std::ptrdiff_t row = 0; row < s.rows; ++row) {
    const std::vector<BFloat16> lhs_row = RowOf(lhs.matrix, row);
    for (std::ptrdiff_t col = 0; col < s.cols; ++col) {
      if (!rng->OneIn(one_in)) continue;
      const Dst old_value = Element(old.matrix, row, col);
      *ElementPtr(&dst->matrix, row, col) =
          internal::ReferenceEpilogue(sum(lhs_row, ColumnOf(rhs.matrix, col)),
                                      params, row, col, 0, &old_value);
    }
  }
}

// Against the float product or the path's own, and that the gaps of dst stay.
template <typename Lhs, typename Rhs, typename Dst>
testing::AssertionResult CheckProduct(const Options& o, Rng* rng,
                                      Context* context) {
  const Shape& s = o.shape;
  Buffer<Lhs> lhs(s.rows, s.depth, o.lhs_order, o.gap);
  Buffer<Rhs> rhs(s.depth, s.cols, o.rhs_order, o.gap);
  Buffer<Dst> dst(s.rows, s.cols, o.dst_order, o.gap);
  lhs.Fill(rng);
  rhs.Fill(rng);
  dst.Fill(rng);
  std::vector<float> bias(std::max(s.rows, s.cols));
  for (float& value : bias) value = RandomValue<float>(rng);
  Buffer<float> wide_lhs(s.rows, s.depth, o.lhs_order, o.gap);
  Buffer<float> wide_rhs(s.depth, s.cols, o.rhs_order, o.gap);
  Buffer<float> wide_dst(s.rows, s.cols, o.dst_order, o.gap);
  wide_lhs.Widen(lhs);
  wide_rhs.Widen(rhs);
  wide_dst.Widen(dst);
  absl::Status status =
      Multiply(o, wide_lhs.matrix, wide_rhs.matrix, ParamsOf<float>(o, bias),
               context, &wide_dst.matrix);
  if (!status.ok()) return testing::AssertionFailure() << "float: " << status;
  Buffer<Dst> old(s.rows, s.cols, o.dst_order, o.gap);
  old.values = dst.values;
  status = Multiply(o, lhs.matrix, rhs.matrix, ParamsOf<Dst>(o, bias), context,
                    &dst.matrix);
  if (!status.ok()) return testing::AssertionFailure() << status;
  Buffer<Dst> expected_dst(s.rows, s.cols, o.dst_order, o.gap);
  expected_dst.Widen(wide_dst);
  constexpr auto kIsBFloat16 = [](Scalar scalar) {
    return AsBFloat16(scalar) == Scalar::kBF16;
  };
  if constexpr (kIsBFloat16(internal::ScalarOf<Lhs>()) &&
                kIsBFloat16(internal::ScalarOf<Rhs>())) {
    if (BFloat16SumFn* const sum = OwnBFloat16Sum(context->last_used_path())) {
      // Elements that are not recomputed, and gaps, as they are.
      expected_dst.values = dst.values;
      RecomputeSome(sum, lhs, rhs, old, o, bias, rng, &expected_dst);
    }
  }
  for (std::size_t i = 0; i < dst.values.size(); ++i) {
    const Dst expected = expected_dst.values[i];
    if (SameFloat(dst.values[i], expected)) continue;
    return testing::AssertionFailure()
           << s << ": " << ScalarName(internal::ScalarOf<Lhs>()) << " x "
           << ScalarName(internal::ScalarOf<Rhs>()) << " -> "
           << ScalarName(internal::ScalarOf<Dst>()) << ": element " << i
           << " is " << Widen(dst.values[i]) << ", not " << Widen(expected)
           << "; kernel " << context->last_used_kernel() << ", way "
           << static_cast<int>(o.way) << ", gap " << o.gap << ", orders "
           << static_cast<int>(o.lhs_order) << static_cast<int>(o.rhs_order)
           << static_cast<int>(o.dst_order) << ", bias " << o.bias << ", clamp "
           << o.clamp << ", beta " << o.beta << ", packed for bfloat16 "
           << o.packs_for_bf16;
  }
  return testing::AssertionSuccess();
}

using CheckFn = testing::AssertionResult(const Options&, Rng*, Context*);
constexpr CheckFn* kChecks[] = {
    CheckProduct<BFloat16, BFloat16, float>,
    CheckProduct<BFloat16, BFloat16, BFloat16>,
    CheckProduct<Float16, Float16, float>,
    CheckProduct<Float16, Float16, Float16>,
    CheckProduct<BFloat16, float, float>,
    CheckProduct<float, BFloat16, float>,
    CheckProduct<Float16, float, float>,
    CheckProduct<float, Float16, float>,
    CheckProduct<Float8E4M3, float, float>,
    CheckProduct<float, Float8E4M3, float>,
    CheckProduct<Float8E5M2, float, float>,
    CheckProduct<float, Float8E5M2, float>,
    CheckProduct<Float8E4M3, BFloat16, float>,
    CheckProduct<BFloat16, Float8E5M2, BFloat16>,
};
constexpr int kNumChecks = std::size(kChecks);

class Float16MulTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(Float16MulTest);

TEST_P(Float16MulTest, AreFloatProductsOfTheWidenedValues) {
  Rng rng(20240607);
  for (int i = 0; i < 1000 / kThinning; ++i) {
    const auto size = [&rng] {
      return static_cast<std::ptrdiff_t>(rng.OneIn(3)   ? rng.Between(1, 3)
                                         : rng.OneIn(6) ? rng.Between(40, 140)
                                                        : rng.Between(1, 40));
    };
    const Shape shape = {size(), rng.OneIn(9) ? 0 : size(), size()};
    const Options options = Draw(shape, &rng);
    ASSERT_TRUE(kChecks[i % kNumChecks](options, &rng, &context_)) << i;
  }
}

// Depths in several passes, and operands that take more than one block.
TEST_P(Float16MulTest, LargeOnes) {
  Rng rng(7);
  constexpr Shape kShapes[] = {{70, 9000, 50},
                               {500, 300, 130},
                               {300, 700, 1},
                               {1, 700, 300},
                               {5, 3000, 200}};
  constexpr int kNumShapes = std::size(kShapes);
  // Thinned, each of the types still meets a shape, and each shape some types.
  static_assert(kNumChecks % 3 != 0 && kNumShapes % 3 != 0);
  for (int i = 0; i < kNumShapes * kNumChecks; i += kLargeThinning) {
    for (int draws = kLargeThinning == 1 ? 2 : 1; draws > 0; --draws) {
      const Options options = Draw(kShapes[i / kNumChecks], &rng);
      ASSERT_TRUE(kChecks[i % kNumChecks](options, &rng, &context_));
    }
  }
}

// As weights of a layer that are kept packed, in the form that large ones have.
// Odd depths, whose padding must not change a sum.
TEST_P(Float16MulTest, LargeWeights) {
  constexpr std::ptrdiff_t kRows = 1037, kDepth = 1025;
  constexpr std::ptrdiff_t kCols[] = {1, 2, 13};
  Rng rng(11);
  // Thinned, each of the types still meets one of the numbers of columns.
  static_assert(kNumChecks % 3 != 0);
  for (int i = 0; i < 3 * kNumChecks; i += kLargeThinning) {
    // Where the types differ, the narrower one is that of the weights.
    const int types = i % kNumChecks;
    const bool on_the_left = types < 4 ? rng.OneIn(2) : types % 2 == 0;
    const std::ptrdiff_t cols = kCols[i / kNumChecks];
    Options options = Draw(
        on_the_left ? Shape{kRows, kDepth, cols} : Shape{cols, kDepth, kRows},
        &rng);
    options.way = on_the_left
                      ? (rng.OneIn(2) ? Way::kCachedLhs : Way::kPackedLhs)
                      : (rng.OneIn(2) ? Way::kCachedRhs : Way::kPackedRhs);
    ASSERT_TRUE(kChecks[types](options, &rng, &context_));
  }
}

// Sums that underflow to -0, which padding by 0 * 0 would change to 0.
template <typename T>
void CheckSumsOfMinusZero(Context* context) {
  constexpr std::ptrdiff_t kRows = 1037, kDepth = 1025;
  Buffer<T> weights(kRows, kDepth, Order::kRowMajor, 0);
  Buffer<float> wide_weights(kRows, kDepth, Order::kRowMajor, 0);
  for (T& value : weights.values) value = static_cast<T>(-0x1p-20f);
  wide_weights.Widen(weights);
  weights.matrix.set_cache_policy(CachePolicy::kAlwaysCache);
  for (const std::ptrdiff_t cols : {1, 3, 13}) {
    Buffer<float> activations(kDepth, cols, Order::kColMajor, 0);
    for (float& value : activations.values) value = 0x1p-120f;
    const auto expected =
        MulTo<float>(wide_weights.matrix, activations.matrix, context);
    EXPECT_TRUE(SameBits(
        MulTo<float>(weights.matrix, activations.matrix, context), expected))
        << "kernel " << context->last_used_kernel();
  }
  context->ClearPrepackedCache();
}
TEST_P(Float16MulTest, SumsOfMinusZeroStay) {
  CheckSumsOfMinusZero<BFloat16>(&context_);
  CheckSumsOfMinusZero<Float16>(&context_);
}

// An element depends on its row and its column alone.
TEST_P(Float16MulTest, DoNotDependOnTheBatch) {
  constexpr std::ptrdiff_t kRows = 67, kDepth = 301, kCols = 33;
  Rng rng(3);
  Buffer<BFloat16> lhs(kRows, kDepth, Order::kRowMajor, 0);
  Buffer<BFloat16> rhs(kDepth, kCols, Order::kColMajor, 0);
  lhs.Fill(&rng);
  rhs.Fill(&rng);
  const auto all = MulTo<float>(lhs.matrix, rhs.matrix, &context_);
  for (const CachePolicy policy :
       {CachePolicy::kNeverCache, CachePolicy::kAlwaysCache}) {
    lhs.matrix.set_cache_policy(policy);
    for (std::ptrdiff_t cols = 1; cols <= kCols; ++cols) {
      const auto some_rhs =
          ColMajorOf(rhs.values.data() + (kCols - cols) * kDepth, kDepth, cols);
      ASSERT_TRUE(SameBits(MulTo<float>(lhs.matrix, some_rhs, &context_),
                           {all.end() - cols * kRows, all.end()}))
          << cols << " columns, kernel " << context_.last_used_kernel();
    }
  }
  context_.ClearPrepackedCache();
}

// Values whose products and sums are near where floats become denormal or
// infinite, and those that follow other rules.
BFloat16 ExtremeValue(Rng* rng) {
  constexpr std::uint16_t kSpecial[] = {0x0000, 0x8000, 0x0001, 0x807f,
                                        0x0080, 0x8080, 0x3f80, 0xbf80,
                                        0x7f7f, 0x7f80, 0xff80, 0x7fc1};
  if (rng->OneIn(100)) return BFloat16::FromBits(kSpecial[rng->Between(0, 11)]);
  if (rng->OneIn(10)) return BFloat16::FromBits(kSpecial[rng->Between(0, 6)]);
  const std::int64_t center = rng->OneIn(3) ? 127 : rng->OneIn(20) ? 189 : 63;
  return BFloat16::FromBits(static_cast<std::uint16_t>(
      (rng->Next() & 0x807f) | (center + rng->Between(-4, 4)) << 7));
}

float FusedSum(const std::vector<BFloat16>& row,
               const std::vector<BFloat16>& column) {
  float sum = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    sum = FlushingMultiplyAdd(Widen(row[k]), Widen(column[k]), sum);
  }
  return sum;
}

// Each element of products of extreme values against the rule itself.
void CheckSums(BFloat16SumFn* expected, int most_depth, Context* context,
               int* negative_zeros) {
  *negative_zeros = 0;
  Rng rng(11);
  for (int i = 0; i < 200; ++i) {
    const auto between = [&rng](int low, int high) {
      return static_cast<std::ptrdiff_t>(rng.Between(low, high));
    };
    const std::ptrdiff_t cols = rng.OneIn(2) ? between(1, 4) : between(5, 40);
    Options o = Draw({between(1, 70), between(1, most_depth), cols}, &rng);
    o.bias = o.clamp = o.beta = false;
    const Shape& s = o.shape;
    Buffer<BFloat16> lhs(s.rows, s.depth, o.lhs_order, o.gap);
    Buffer<BFloat16> rhs(s.depth, s.cols, o.rhs_order, o.gap);
    Buffer<float> dst(s.rows, s.cols, o.dst_order, o.gap);
    for (Buffer<BFloat16>* operand : {&lhs, &rhs}) {
      for (BFloat16& value : operand->values) value = ExtremeValue(&rng);
    }
    ASSERT_OK(Multiply(o, lhs.matrix, rhs.matrix, MulParams<float, float>(),
                       context, &dst.matrix));
    for (std::ptrdiff_t row = 0; row < s.rows; ++row) {
      const std::vector<BFloat16> lhs_row = RowOf(lhs.matrix, row);
      for (std::ptrdiff_t col = 0; col < s.cols; ++col) {
        const float sum = expected(lhs_row, ColumnOf(rhs.matrix, col));
        *negative_zeros += sum == 0 && std::signbit(sum);
        const float actual = Element(dst.matrix, row, col);
        ASSERT_TRUE(SameFloat(actual, sum))
            << s << ": element " << row << ", " << col << " is " << actual
            << ", not " << sum << "; kernel " << context->last_used_kernel();
      }
    }
  }
}

// Products are added in order of depth, whatever the instructions, odd depths
// included.
TEST_P(Float16MulTest, SumsAreFusedInOrderOfDepth) {
#if !defined(__SSE2__)
  GTEST_SKIP() << "other processors flush before rounding, or not at all";
#endif
  constexpr Path kUnfused = Path::kPortable | Path::kAvx | Path::kWasm128;
  if ((GetParam() & kUnfused) != Path::kNone)
    GTEST_SKIP() << "it does not fuse";
  if (OwnBFloat16Sum(GetParam()) != nullptr) GTEST_SKIP() << "it has others";
  int negative_zeros;
  CheckSums(&FusedSum, /*most_depth=*/24, &context_, &negative_zeros);
  EXPECT_GT(negative_zeros, 20);
}

TEST_P(Float16MulTest, SumsAreThoseOfTheInstruction) {
  BFloat16SumFn* const sum = OwnBFloat16Sum(GetParam());
  if (sum == nullptr) GTEST_SKIP() << "they are those of floats";
  // The zeros of padding make negative ones positive.
  int negative_zeros;
  CheckSums(sum, /*most_depth=*/70, &context_, &negative_zeros);
}

// Each value of the type times 1, on either side, in either order.
template <typename T>
void CheckWidening(Context* context) {
  constexpr std::ptrdiff_t kCount = std::ptrdiff_t{1} << (8 * sizeof(T));
  std::vector<T> values(kCount);
  for (std::ptrdiff_t i = 0; i < kCount; ++i) {
    values[i] = T::FromBits(static_cast<decltype(T::bits)>(i));
  }
  const float one = 1;
  std::vector<float> result(kCount);
  for (int way = 0; way < 4; ++way) {
    const bool is_lhs = (way & 1) != 0;
    // Rows of 64 values, so that both orders are packed.
    const Order order = (way & 2) != 0 ? Order::kRowMajor : Order::kColMajor;
    const auto ones = ColMajorOf(&one, 1, 1);
    auto dst = ColMajorOf(result, is_lhs ? kCount : 1, is_lhs ? 1 : kCount);
    const auto operand = MakeMatrix(values.data(), dst.layout().rows(),
                                    dst.layout().cols(), order);
    const MulParams<float, float> params;
    ASSERT_OK(is_lhs ? Mul(operand, ones, params, context, &dst)
                     : Mul(ones, operand, params, context, &dst));
    for (std::ptrdiff_t i = 0; i < kCount; ++i) {
      float expected = Widen(values[i]);
      // The sum starts with 0, so that -0 becomes 0.
      if (expected == 0 || (kFlushes && std::fabs(expected) < 0x1p-126f)) {
        expected = 0;
      }
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(result[i])
                                       : result[i] == expected)
          << std::hex << i << " is " << result[i] << ", not " << expected
          << " by " << context->last_used_kernel();
    }
  }
}

TEST_P(Float16MulTest, EveryValueIsWidened) {
  CheckWidening<BFloat16>(&context_);
  CheckWidening<Float16>(&context_);
  CheckWidening<Float8E4M3>(&context_);
  CheckWidening<Float8E5M2>(&context_);
}

// The values along depth, where kernels that read a matrix in place widen them:
// one after the other is picked by a rhs of zeros and a single 1. NaN and
// infinity have rows of their own, since 0 times them is NaN.
template <typename T>
void CheckWideningAlongDepth(Context* context) {
  constexpr std::ptrdiff_t kRows = 33, kDepth = 300;
  std::vector<T> values(kRows * kDepth);
  for (std::ptrdiff_t i = 0; i < kRows * kDepth; ++i) {
    const T value = T::FromBits(static_cast<std::uint8_t>(i + i / kDepth));
    values[i] = std::isfinite(Widen(value)) ? value : T();
  }
  const auto matrix = RowMajorOf(values, kRows, kDepth);
  for (std::ptrdiff_t k = 0; k < kDepth; ++k) {
    std::vector<float> unit(kDepth);
    unit[k] = 1;
    const auto result =
        MulTo<float>(matrix, ColMajorOf(unit, kDepth, 1), context);
    for (std::ptrdiff_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(result[row], Widen(values[row * kDepth + k]))
          << context->last_used_kernel();
    }
  }
  for (const float special : {kNan, kInf, -kInf}) {
    std::vector<T> row = values;
    row[5] = T(special);
    const auto result = MulTo<float>(
        RowMajorOf(row, kRows, kDepth),
        ColMajorOf(std::vector<float>(kDepth, 1), kDepth, 1), context);
    EXPECT_TRUE(SameFloat(result[0], Widen(T(special))));
    EXPECT_TRUE(std::isfinite(result[1]));
  }
}
TEST_P(Float16MulTest, EveryValueOf8BitsIsWidenedAlongDepth) {
  CheckWideningAlongDepth<Float8E4M3>(&context_);
  CheckWideningAlongDepth<Float8E5M2>(&context_);
}

// Products of depth 0 are the bias, rounded: all floats next to where rounding
// changes, and the points between two values themselves.
template <typename T>
void CheckRounding(Context* context) {
  std::vector<float> floats;
  const std::uint16_t infinity = std::numeric_limits<T>::infinity().bits;
  for (std::uint16_t i = 0; i < infinity; ++i) {
    const float low = Widen(T::FromBits(i));
    const float high =
        i + 1 == infinity ? 2 * Widen(T::FromBits(i)) -
                                Widen(T::FromBits(static_cast<uint16_t>(i - 1)))
                          : Widen(T::FromBits(static_cast<uint16_t>(i + 1)));
    const float middle = low / 2 + high / 2;
    for (const float value : {low, std::nextafterf(middle, 0), middle,
                              std::nextafterf(middle, INFINITY)}) {
      if (kFlushes && value < 0x1p-126f) continue;
      floats.push_back(value);
      if (value != 0) floats.push_back(-value);  // -0 as a bias is added to 0
    }
  }
  for (const float value : {INFINITY, -INFINITY, NAN, -NAN}) {
    floats.push_back(value);
  }
  // NaNs whose bits a carry would reach the sign of.
  for (const std::uint32_t bits : {0x7fffffffu, 0xffffffffu, 0x7fffc000u}) {
    floats.push_back(float16_internal::FloatOfBits(bits));
  }
  const auto count = static_cast<std::ptrdiff_t>(floats.size());
  for (const Order order : kOrders) {
    // Two columns, so that the order matters.
    Buffer<T> lhs(count, 0, Order::kRowMajor, 0);
    Buffer<T> rhs(0, 2, Order::kColMajor, 0);
    Buffer<T> dst(count, 2, order, 0);
    MulParams<float, T> params;
    params.set_bias(floats.data());
    ASSERT_OK(Mul(lhs.matrix, rhs.matrix, params, context, &dst.matrix));
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const T expected(floats[i]);
      for (std::ptrdiff_t col = 0; col < 2; ++col) {
        const T actual = Element(dst.matrix, i, col);
        ASSERT_TRUE(SameFloat(actual, expected))
            << floats[i] << " becomes " << std::hex << actual.bits << ", not "
            << expected.bits << " by " << context->last_used_kernel();
        // Quiet, as the bit of quiet_NaN().
        if (std::isnan(floats[i])) {
          const std::uint16_t quiet = std::numeric_limits<T>::quiet_NaN().bits;
          ASSERT_EQ(actual.bits & quiet, quiet);
        }
      }
    }
  }
}

TEST_P(Float16MulTest, ResultsAreRoundedToNearestEven) {
  CheckRounding<BFloat16>(&context_);
  CheckRounding<Float16>(&context_);
}

// Each element of `rhs` times and old values of dst that are `tiny`, which a
// bound that is one does not bring back.
template <typename T>
void CheckDenormals(T tiny, float rhs_value, T beta, int expected_bits,
                    Context* context) {
  for (const std::ptrdiff_t cols : {1, 20}) {
    for (const Order order : kOrders) {
      const std::vector<T> lhs_values(20, tiny);
      const std::vector<T> rhs_values(cols, T(rhs_value));
      std::vector<T> result(20 * cols, tiny);
      auto dst = MakeMatrix(result.data(), 20, cols, order);
      MulParams<float, T> params;
      params.set_beta(beta);
      params.set_clamp_min(tiny);
      ASSERT_OK(Mul(RowMajorOf(lhs_values, 20, 1),
                    ColMajorOf(rhs_values, 1, cols), params, context, &dst));
      for (const T value : result) {
        ASSERT_EQ(value.bits, expected_bits) << context->last_used_kernel();
      }
    }
  }
}

// Float16's denormals are floats like others, in operands, old values and dst.
TEST_P(Float16MulTest, DenormalsOfFloat16Count) {
  CheckDenormals(Float16::FromBits(3), 5, Float16(2), 3 * 5 + 2 * 3, &context_);
}

// Denormals of BFloat16 are denormal floats, which products flush.
TEST_P(Float16MulTest, DenormalsOfBFloat16CountAsZero) {
  if (!kFlushes) GTEST_SKIP() << "this processor keeps denormals";
  CheckDenormals(BFloat16::FromBits(0x7f), 0x1p100f, BFloat16(0x1p100f), 0,
                 &context_);
}

// Sums that are exact in any order: ReferenceMul has the same bits.
TEST_P(Float16MulTest, ReferenceMulIsTheSameWhereSumsAreExact) {
  for (const std::ptrdiff_t depth : {1, 30}) {
    const auto lhs_values = RandomVector<Float16>(19 * depth, -9, 9, 1);
    const auto rhs_values = RandomVector<Float16>(depth * 7, -9, 9, 2);
    const std::vector<float> bias = RandomVector<float>(19, -5000, 5000, 3);
    const auto lhs = RowMajorOf(lhs_values, 19, depth);
    const auto rhs = ColMajorOf(rhs_values, depth, 7);
    std::vector<Float16> actual = RandomVector<Float16>(19 * 7, -99, 99, 4);
    std::vector<Float16> expected = actual;
    auto dst = ColMajorOf(actual, 19, 7);
    auto reference = ColMajorOf(expected, 19, 7);
    MulParams<float, Float16> params;
    params.set_bias(bias.data());
    params.set_beta(Float16(-3));
    params.set_clamp_max(Float16(3000));
    ASSERT_OK(Mul(lhs, rhs, params, &context_, &dst));
    ReferenceMul(lhs, rhs, params, &reference);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].bits, expected[i].bits) << i;
    }
  }
}

// A kernel that reads an operand where it lies reads floats.
TEST_P(Float16MulTest, NoKernelReadsThemInPlaceAsFloats) {
  const std::vector<BFloat16> values(64 * 64, BFloat16(1));
  const std::vector<float> floats(64 * 64, 1);
  for (const std::ptrdiff_t cols : {1, 2, 16, 64}) {
    for (const Order order : kOrders) {
      const auto lhs = MakeMatrix(values.data(), 64, 64, order);
      const auto rhs = MakeMatrix(floats.data(), 64, cols, order);
      EXPECT_EQ(MulTo<float>(lhs, rhs, &context_),
                std::vector<float>(64 * cols, 64.0f))
          << context_.last_used_kernel();
    }
  }
}

}  // namespace
}  // namespace ruy_like
