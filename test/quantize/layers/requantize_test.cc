#include "ruy_like/quantize/requantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/element_kernels.h"
#include "ruy_like/quantize/quantized_add.h"
#include "test/quantize/reference_conv.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

TEST(RequantizeToUsedRange, Golden) {
  const std::vector<std::int32_t> c = {-3470, -771, 1928, 6650};
  std::vector<std::uint8_t> q(4);
  ASSERT_VALUE(const auto params,
               RequantizeToUsedRange(c, 2.44140625e-4, absl::MakeSpan(q)));
  EXPECT_EQ(params, *ChooseAffine(-0.84716797f, 1.62353516f, 0, 255));
  EXPECT_EQ(params.zero_point, 87);
  // The multiplier that makes 256 codes of c's span.
  EXPECT_EQ(*QuantizeMultiplier(255.0 / (6650 + 3470)),
            (QuantizedMultiplier{1731567843, -5}));
  EXPECT_EQ(q, (std::vector<std::uint8_t>{0, 68, 136, 255}));
}

TEST(RequantizeToUsedRange, Degenerate) {
  std::vector<std::uint8_t> q(3, 77);
  const std::vector<std::int32_t> zeros(3);
  ASSERT_VALUE(const auto params,
               RequantizeToUsedRange(zeros, 0.5, absl::MakeSpan(q)));
  EXPECT_EQ(params, (QuantParams{1, 0, 0, 255}));
  EXPECT_EQ(q, (std::vector<std::uint8_t>{0, 0, 0}));
  EXPECT_OK(RequantizeToUsedRange({}, 1, {}));
  const std::vector<std::int32_t> ends = {INT32_MIN, 0, INT32_MAX};
  ASSERT_OK(RequantizeToUsedRange(ends, 1, absl::MakeSpan(q)));
  EXPECT_LE(q[0], 1);  // the zero point's rounding
  EXPECT_EQ(q[1], 128);
  EXPECT_EQ(q[2], 255);
}

class RequantizeTest : public PathTest {
 protected:
  const quantize_internal::ElementKernels& Kernels() const {
    return quantize_internal::ElementKernelsFor(
        quantize_internal::PermittedTargets(GetParam() | Path::kPortable));
  }

  template <typename Q>
  void EqualsScalarArithmetic() {
    const auto kernel = Kernels().requantize[internal::ScalarOf<Q>()];
    Rng rng(1);
    for (std::size_t n = 0; n <= 129; ++n) {
      for (std::size_t offset : {0, 1, 3}) {
        for (bool streaming : {false, true}) {
          GuardedArray<std::int32_t> x(n + offset);
          GuardedArray<Q> q(n + offset);
          for (std::size_t i = 0; i < n; ++i) {
            x[offset + i] = rng.OneIn(10)
                                ? (rng.OneIn(2) ? INT32_MIN : INT32_MAX)
                                : static_cast<std::int32_t>(rng.Next()) >>
                                      rng.Between(0, 31);
          }
          QuantizedMultiplier multiplier;
          multiplier.fixedpoint =
              rng.OneIn(5)
                  ? 1 << 30
                  : static_cast<std::int32_t>(rng.Between(0, INT32_MAX));
          multiplier.exponent = static_cast<int>(rng.Between(-31, 30));
          const QuantParams params = AnyParams<Q>(&rng);
          kernel(x.data() + offset, n,
                 quantize_internal::RequantizeConstants(multiplier),
                 {params.zero_point, params.qmin, params.qmax}, streaming,
                 q.data() + offset);
          for (std::size_t i = offset; i < offset + n; ++i) {
            const std::int64_t scaled =
                MultiplyByQuantizedMultiplier(x[i], multiplier);
            ASSERT_EQ(q[i], std::clamp<std::int64_t>(scaled + params.zero_point,
                                                     params.qmin, params.qmax))
                << "x " << x[i] << " multiplier " << multiplier.fixedpoint
                << " " << multiplier.exponent;
          }
        }
      }
    }
  }
};

TEST_P(RequantizeTest, I8) { EqualsScalarArithmetic<std::int8_t>(); }
TEST_P(RequantizeTest, U8) { EqualsScalarArithmetic<std::uint8_t>(); }
TEST_P(RequantizeTest, I16) { EqualsScalarArithmetic<std::int16_t>(); }

TEST_P(RequantizeTest, RangeOfInt32) {
  Rng rng(2);
  for (std::size_t n = 0; n <= 129; ++n) {
    GuardedArray<std::int32_t> x(n);
    quantize_internal::IntRange expected = {5, 6};
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<std::int32_t>(rng.Next());
      expected.min = std::min(expected.min, x[i]);
      expected.max = std::max(expected.max, x[i]);
    }
    quantize_internal::IntRange range = {5, 6};
    Kernels().range_32(x.data(), n, &range);
    EXPECT_EQ(range.min, expected.min);
    EXPECT_EQ(range.max, expected.max);
  }
}

TEST_P(RequantizeTest, LargeOnThreads) {
  const std::size_t n = (4 << 20) + 7;
  const auto x = RandomVector<std::int32_t>(n, -1000000, 3000000, 3);
  context_.set_max_num_threads(3);
  std::vector<std::uint8_t> q(n);
  ASSERT_VALUE(const auto params,
               RequantizeToUsedRange(x, 1e-3, absl::MakeSpan(q), &context_));
  const auto [min, max] = std::minmax_element(x.begin(), x.end());
  const auto multiplier = QuantizeMultiplier(255.0 / (*max - *min));
  for (std::size_t i = 0; i < n; ++i) {
    const int expected = std::clamp(
        MultiplyByQuantizedMultiplier(x[i], *multiplier) + params.zero_point, 0,
        255);
    ASSERT_EQ(q[i], expected);
  }
  std::vector<std::int16_t> wide(n);
  ASSERT_OK(Requantize(absl::MakeConstSpan(x), 1.0, {256, 5, -32768, 32767},
                       absl::MakeSpan(wide), &context_));
  for (std::size_t i = 0; i < n; ++i)
    ASSERT_EQ(wide[i], ((x[i] + 128) >> 8) + 5);
}

RUY_LIKE_INSTANTIATE_PER_PATH(RequantizeTest);

TEST(Requantize, BadInputLeavesTheOutputAlone) {
  const std::vector<std::int32_t> x = {1, 2, 3};
  std::vector<std::int8_t> q(3, 77);
  const QuantParams good;
  const auto fails = [&](double x_scale, const QuantParams& params,
                         std::size_t n) {
    const auto status = Requantize(absl::MakeConstSpan(x), x_scale, params,
                                   absl::MakeSpan(q.data(), n));
    EXPECT_EQ(q, std::vector<std::int8_t>(3, 77));
    return status.code() == kInvalid;
  };
  EXPECT_TRUE(fails(1, good, 2));
  EXPECT_TRUE(fails(0, good, 3));
  EXPECT_TRUE(fails(-1, good, 3));
  EXPECT_TRUE(fails(std::nan(""), good, 3));
  EXPECT_TRUE(fails(1, {0, 0, -128, 127}, 3));
  EXPECT_TRUE(fails(1, {1, 0, 0, 255}, 3));
  EXPECT_TRUE(fails(1, {1, 0, 1, 0}, 3));
  EXPECT_TRUE(fails(1, {1, 128, -128, 127}, 3));
  for (const QuantizedMultiplier& bad :
       {QuantizedMultiplier{-1, 0}, QuantizedMultiplier{1, 31},
        QuantizedMultiplier{1, -32}}) {
    EXPECT_CODE(kInvalid, Requantize(absl::MakeConstSpan(x), bad, good,
                                     absl::MakeSpan(q)));
  }
  std::vector<std::uint8_t> u8(3, 77);
  EXPECT_FALSE(RequantizeToUsedRange(x, -1, absl::MakeSpan(u8)).ok());
  EXPECT_FALSE(RequantizeToUsedRange(x, 1e300, absl::MakeSpan(u8)).ok());
  EXPECT_FALSE(RequantizeToUsedRange(x, 1, absl::MakeSpan(u8.data(), 2)).ok());
  EXPECT_EQ(u8, std::vector<std::uint8_t>(3, 77));
}

}  // namespace
}  // namespace ruy_like
