// That sums are right to a fraction of a level is in exact_arithmetic_test.cc.
#include "ruy_like/quantize/quantized_add.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/element_kernels.h"
#include "ruy_like/quantize/loops/rounding.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using Codes = std::vector<std::uint8_t>;

std::vector<std::int32_t> AddTo32(const Codes& a, FloatRange a_range,
                                  const Codes& b, FloatRange b_range,
                                  FloatRange* range = nullptr) {
  std::vector<std::int32_t> c(std::max(a.size(), b.size()));
  const auto result =
      QuantizedAdd8p8To32({a, a_range}, {b, b_range}, absl::MakeSpan(c));
  EXPECT_OK(result);
  if (range != nullptr && result.ok()) *range = *result;
  return c;
}

struct AddedTo8 {
  Codes c;
  Add8p8To8Result result;
};

AddedTo8 AddTo8(const Codes& a, FloatRange a_range, const Codes& b,
                FloatRange b_range, const Add8p8To8Options& options = {},
                Context* context = nullptr) {
  AddedTo8 added;
  added.c.resize(std::max(a.size(), b.size()));
  const auto result = QuantizedAdd8p8To8({a, a_range}, {b, b_range}, options,
                                         absl::MakeSpan(added.c), context);
  EXPECT_OK(result);
  if (result.ok()) added.result = *result;
  return added;
}

Add8p8To8Options Tight(std::optional<FloatRange> guess = std::nullopt) {
  Add8p8To8Options options;
  options.range = AddRange::kTight;
  options.guess = guess;
  return options;
}

// ## 8p8to32

TEST(QuantizedAdd8p8To32, Goldens) {
  FloatRange range;
  EXPECT_EQ(AddTo32({0, 1, 127, 128, 255, 0}, {-1, 1},
                    {0, 255, 128, 128, 255, 255}, {-1, 1}, &range),
            (std::vector<std::int32_t>{-32897, 0, -129, 0, 32639, -129}));
  EXPECT_EQ(range, (FloatRange{-131072, 131072}));
  EXPECT_EQ(AddTo32({0, 64, 128, 255}, {-1, 1}, {10, 20, 30, 40}, {0, 4}),
            (std::vector<std::int32_t>{-3470, -771, 1928, 6650}));
  EXPECT_EQ(AddTo32({0, 128, 255}, {2, 6}, {0, 128, 255}, {-.5f, .5f}),
            (std::vector<std::int32_t>{4112, 10966, 17765}));
}

TEST(QuantizedAdd8p8To32, DegenerateRanges) {
  FloatRange range = {1, 2};
  EXPECT_EQ(AddTo32({0, 200}, {0, 0}, {7, 255}, {0, 0}, &range),
            (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(range, (FloatRange{0, 0}));
  // A range of one number: 1 and 3, in steps of 3 * 2^17 / 2^31.
  EXPECT_EQ(AddTo32({0, 200}, {1, 1}, {7, 255}, {3, 3}, &range),
            (std::vector<std::int32_t>{21845, 21845}));
  EXPECT_EQ(range.max, 3 * 131072.0f);
}

// ## 8p8to8

const Codes kA = {0, 64, 128, 192, 255};
const Codes kB = {255, 128, 0, 32, 64};

TEST(QuantizedAdd8p8To8, GoldenGuessThatCovers) {
  const AddedTo8 added =
      AddTo8(kA, {-1, 1}, kB, {-.5f, .5f}, Tight(FloatRange{-1.5f, 1.5f}));
  EXPECT_EQ(added.c, (Codes{85, 85, 85, 139, 191}));
  EXPECT_EQ(added.result.passes, 1);
  EXPECT_EQ(added.result.range, (FloatRange{-1.5f, 1.5f}));
  EXPECT_EQ(AddTo8(kA, {0, 6}, kB, {0, .25f}, Tight(FloatRange{0, 6.25f})).c,
            (Codes{10, 67, 123, 186, 247}));
}

TEST(QuantizedAdd8p8To8, GoldenGuessThatDoesNot) {
  const AddedTo8 added =
      AddTo8(kA, {-1, 1}, kB, {-.5f, .5f}, Tight(FloatRange{0, .5f}));
  EXPECT_EQ(added.result.passes, 2);
  EXPECT_NEAR(added.result.range.min, -.5, 1e-7);
  EXPECT_NEAR(added.result.range.max, 0.75098039, 1e-7);
  EXPECT_EQ(added.c, (Codes{0, 1, 1, 129, 255}));
  // The sums' own range is the same here.
  const AddedTo8 found = AddTo8(kA, {-1, 1}, kB, {-.5f, .5f}, Tight());
  EXPECT_EQ(found.result.passes, 2);
  EXPECT_NEAR(found.result.range.min, -.5, 1e-6);
  EXPECT_NEAR(found.result.range.max, 0.75098039, 1e-6);
  EXPECT_EQ(found.c, added.c);
}

TEST(QuantizedAdd8p8To8, GoldenNegligibleOperand) {
  const AddedTo8 added = AddTo8(kA, {-1, 1}, kB, {100, 100.001f});
  EXPECT_EQ(added.c, kA);
  EXPECT_NEAR(added.result.range.min, 99.0005, 1e-5);
  EXPECT_NEAR(added.result.range.max, 101.0005, 1e-5);
  const AddedTo8 swapped = AddTo8(kB, {100, 100.001f}, kA, {-1, 1});
  EXPECT_EQ(swapped.c, kA);
  EXPECT_EQ(swapped.result.range, added.result.range);
}

TEST(QuantizedAdd8p8To8, ExactRangeIsTheSumOfTheRanges) {
  const AddedTo8 added = AddTo8(kA, {-1, 1}, kB, {-.5f, .5f});
  EXPECT_EQ(added.result.range, (FloatRange{-1.5f, 1.5f}));
  EXPECT_EQ(added.result.passes, 1);
  EXPECT_EQ(added.c, (Codes{85, 85, 85, 139, 191}));
}

TEST(QuantizedAdd8p8To8, RangesOfOneNumber) {
  for (const auto& options : {Add8p8To8Options(), Tight()}) {
    const AddedTo8 added = AddTo8(kA, {2, 2}, kB, {-3, -3}, options);
    EXPECT_EQ(added.c, Codes(5, 0));
    EXPECT_EQ(added.result.range, (FloatRange{-1, -1}));
  }
  // One constant operand leaves the other one's codes.
  const AddedTo8 added = AddTo8(kA, {-1, 1}, kB, {5, 5});
  EXPECT_EQ(added.c, kA);
  EXPECT_EQ(added.result.range, (FloatRange{4, 6}));
  // Equal codes: a tight range of one number.
  const AddedTo8 equal =
      AddTo8(Codes(9, 100), {-1, 1}, Codes(9, 7), {-2, 1}, Tight());
  EXPECT_EQ(equal.c, Codes(9, 0));
  EXPECT_EQ(equal.result.range.min, equal.result.range.max);
}

// A found range that is a thousandth of an operand's: int32 has no room for it.
TEST(QuantizedAdd8p8To8, NarrowTightRange) {
  const Codes a(100, 255);
  const Codes b = RandomVector<std::uint8_t>(100, 3);
  const AddedTo8 added = AddTo8(a, {-1000, 1000}, b, {0, 1}, Tight());
  const auto [least, most] = std::minmax_element(b.begin(), b.end());
  for (std::size_t i = 0; i < b.size(); ++i) {
    EXPECT_NEAR(added.c[i], 255.0 * (b[i] - *least) / (*most - *least), 0.6);
  }
}

// ## Broadcasting

TEST(QuantizedAdd, ShortOperandsAreRepeated) {
  const FloatRange a_range = {-1, 1}, b_range = {-.7f, 2};
  for (std::size_t rows : {1, 3, 50}) {
    for (std::size_t cols : {1, 2, 7, 100, 5000}) {
      const std::size_t n = rows * cols;
      const Codes longer = RandomVector<std::uint8_t>(n, n);
      for (std::size_t size : {std::size_t{1}, cols}) {
        const Codes shorter = RandomVector<std::uint8_t>(size, n + 1);
        Codes repeated(n);
        for (std::size_t i = 0; i < n; ++i) repeated[i] = shorter[i % size];
        EXPECT_EQ(AddTo32(longer, a_range, shorter, b_range),
                  AddTo32(longer, a_range, repeated, b_range));
        EXPECT_EQ(AddTo32(shorter, b_range, longer, a_range),
                  AddTo32(longer, a_range, repeated, b_range));
        for (const auto& options : {Add8p8To8Options(), Tight()}) {
          EXPECT_EQ(AddTo8(longer, a_range, shorter, b_range, options).c,
                    AddTo8(longer, a_range, repeated, b_range, options).c);
          EXPECT_EQ(AddTo8(shorter, b_range, longer, a_range, options).c,
                    AddTo8(repeated, b_range, longer, a_range, options).c);
        }
      }
    }
  }
}

// ## Every path

class AddPathTest : public PathTest {
 protected:
  const quantize_internal::ElementKernels& Kernels() const {
    return quantize_internal::ElementKernelsFor(
        quantize_internal::PermittedTargets(GetParam() | Path::kPortable));
  }
};

TEST_P(AddPathTest, KernelsEqualScalarArithmetic) {
  using quantize_internal::AddTerms;
  using quantize_internal::IntRange;
  Rng rng(4);
  for (std::size_t n = 0; n <= 129; ++n) {
    for (std::size_t offset : {0, 1, 3}) {
      for (bool streaming : {false, true}) {
        GuardedArray<std::uint8_t> a(n + offset), b(n + offset);
        for (std::size_t i = 0; i < n; ++i) {
          a[offset + i] = static_cast<std::uint8_t>(rng.Next());
          b[offset + i] = static_cast<std::uint8_t>(rng.Next());
        }
        AddTerms terms;
        terms.a_factor = static_cast<std::int32_t>(rng.Between(0, 2105376));
        terms.b_factor = static_cast<std::int32_t>(rng.Between(0, 2105376));
        terms.offset =
            static_cast<std::int32_t>(rng.Between(-(1 << 30), 1 << 29));
        terms.shift = static_cast<int>(rng.Between(1, 30));
        GuardedArray<std::int32_t> c32(n + offset);
        GuardedArray<std::uint8_t> c8(n + offset);
        Kernels().add_to_32(a.data() + offset, b.data() + offset, n, terms,
                            streaming, c32.data() + offset);
        // Sums nobody has seen are not among them.
        const IntRange start = rng.OneIn(2)
                                   ? IntRange{100, 200}
                                   : IntRange{std::numeric_limits<int>::max(),
                                              std::numeric_limits<int>::min()};
        IntRange sums = start;
        Kernels().add_to_8(a.data() + offset, b.data() + offset, n, terms,
                           streaming, c8.data() + offset, &sums);
        IntRange again = start;
        Kernels().add_range(a.data() + offset, b.data() + offset, n, terms,
                            &again);
        IntRange expected = start;
        for (std::size_t i = offset; i < offset + n; ++i) {
          const std::int32_t sum = quantize_internal::AddOne(a[i], b[i], terms);
          const std::int32_t rounded =
              quantize_internal::RoundedShift(sum, terms.shift);
          ASSERT_EQ(c32[i], rounded);
          ASSERT_EQ(c8[i], std::clamp(rounded, 0, 255));
          expected.min = std::min(expected.min, sum);
          expected.max = std::max(expected.max, sum);
        }
        ASSERT_EQ(sums.min, expected.min);
        ASSERT_EQ(sums.max, expected.max);
        ASSERT_EQ(again.min, expected.min);
        ASSERT_EQ(again.max, expected.max);
      }
    }
  }
}

TEST_P(AddPathTest, LargeOperandsOnThreads) {
  const std::size_t n = 6000 * 1001;
  const Codes a = RandomVector<std::uint8_t>(n, 5);
  const Codes b = RandomVector<std::uint8_t>(1001, 6);
  const FloatRange a_range = {-1, 1}, b_range = {-3, 2};
  Context one;
  one.set_runtime_enabled_paths(Path::kPortable);
  context_.set_max_num_threads(3);
  std::vector<std::int32_t> c(n), expected(n);
  ASSERT_OK(QuantizedAdd8p8To32({a, a_range}, {b, b_range}, absl::MakeSpan(c),
                                &context_));
  ASSERT_OK(QuantizedAdd8p8To32({a, a_range}, {b, b_range},
                                absl::MakeSpan(expected), &one));
  EXPECT_TRUE(c == expected);
  for (const auto& options :
       {Add8p8To8Options(), Tight(), Tight(FloatRange{0, 1}),
        Tight(FloatRange{-5, 5})}) {
    const AddedTo8 many = AddTo8(a, a_range, b, b_range, options, &context_);
    const AddedTo8 single = AddTo8(a, a_range, b, b_range, options, &one);
    EXPECT_TRUE(many.c == single.c);
    EXPECT_EQ(many.result.range, single.result.range);
    EXPECT_EQ(many.result.passes, single.result.passes);
  }
}

RUY_LIKE_INSTANTIATE_PER_PATH(AddPathTest);

// ## Bad input

TEST(QuantizedAdd, BadInputLeavesTheOutputAlone) {
  const float max = std::numeric_limits<float>::max();
  const Codes a = {1, 2, 3, 4};
  std::vector<std::int32_t> c32(4, 77);
  Codes c8(4, 77);
  const auto fails = [&](const RangedCodes& x, const RangedCodes& y,
                         std::size_t n) {
    const bool both = QuantizedAdd8p8To32(x, y, absl::MakeSpan(c32.data(), n))
                              .status()
                              .code() == kInvalid &&
                      QuantizedAdd8p8To8(x, y, {}, absl::MakeSpan(c8.data(), n))
                              .status()
                              .code() == kInvalid;
    EXPECT_EQ(c32, std::vector<std::int32_t>(4, 77));
    EXPECT_EQ(c8, Codes(4, 77));
    return both;
  };
  const RangedCodes good = {a, {-1, 1}};
  EXPECT_TRUE(fails(good, {a, {1, -1}}, 4));
  EXPECT_TRUE(fails(good, {a, {kNan, 1}}, 4));
  EXPECT_TRUE(fails({a, {0, kInf}}, good, 4));
  EXPECT_TRUE(fails({a, {0, max}}, {a, {0, max}}, 4));
  EXPECT_TRUE(fails(good, good, 3));
  EXPECT_TRUE(fails(good, {absl::MakeConstSpan(a).subspan(0, 3), {0, 1}}, 4));
  EXPECT_TRUE(fails(good, {absl::Span<const std::uint8_t>(), {0, 1}}, 4));
  EXPECT_TRUE(
      fails(good, {absl::Span<const std::uint8_t>(nullptr, 4), {0, 1}}, 4));
  EXPECT_FALSE(
      QuantizedAdd8p8To8(good, {c8, {0, 1}}, {}, absl::MakeSpan(c8)).ok());
  EXPECT_CODE(kInvalid, QuantizedAdd8p8To8(good, good, Tight(FloatRange{1, 0}),
                                           absl::MakeSpan(c8)));
  EXPECT_CODE(kInvalid,
              QuantizedAdd8p8To8(good, good, Tight(FloatRange{kNan, 0}),
                                 absl::MakeSpan(c8)));
  EXPECT_EQ(c8, Codes(4, 77));
  const RangedCodes empty = {{}, {0, 1}};
  EXPECT_OK(QuantizedAdd8p8To32(empty, empty, {}));
  EXPECT_OK(QuantizedAdd8p8To8(empty, empty, Tight(), {}));
}

}  // namespace
}  // namespace ruy_like
