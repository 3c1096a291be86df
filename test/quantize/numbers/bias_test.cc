#include "ruy_like/quantize/bias.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

QuantParams Scale(float scale) { return {scale}; }

TEST(QuantizeBiasTest, Goldens) {
  std::vector<std::int32_t> quantized(3);
  ASSERT_VALUE(const auto saturated,
               QuantizeBias({0.05f, -0.1f, 1}, Scale(0.05f), {Scale(0.01f)},
                            absl::MakeSpan(quantized)));
  EXPECT_EQ(saturated, 0);
  EXPECT_THAT(quantized, ElementsAre(100, -200, 2000));
}

TEST(QuantizeBiasTest, PerChannelHalvesGoAwayFromZero) {
  std::vector<std::int32_t> quantized(4);
  ASSERT_OK(QuantizeBias({1, -1, 3, -3}, Scale(0.5f),
                         {Scale(4), Scale(4), Scale(12), Scale(0.5f)},
                         absl::MakeSpan(quantized)));
  EXPECT_THAT(quantized, ElementsAre(1, -1, 1, -12));
}

TEST(QuantizeBiasTest, SaturatesAndCounts) {
  std::vector<std::int32_t> quantized(6);
  ASSERT_VALUE(const auto saturated,
               QuantizeBias({1e30f, -1e30f, kInf, -kInf, -0x1p31f, 0x1p31f},
                            Scale(1), {Scale(1)}, absl::MakeSpan(quantized)));
  EXPECT_EQ(saturated, 5);  // -2^31 fits
  EXPECT_THAT(quantized, ElementsAre(INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN,
                                     INT32_MIN, INT32_MAX));
}

TEST(QuantizeBiasTest, NothingIsOk) {
  EXPECT_OK(QuantizeBias({}, Scale(1), {Scale(1)}, {}));
  EXPECT_OK(QuantizeBias({}, Scale(1), {}, {}));
}

TEST(NarrowBiasTest, KeepsWhatFits) {
  ASSERT_VALUE(const auto narrow, NarrowBias({-5, INT32_MIN, INT32_MAX}));
  EXPECT_THAT(narrow, ElementsAre(-5, INT32_MIN, INT32_MAX));
  ExpectStatus(NarrowBias({0, std::int64_t{1} << 31}).status(), kInvalid,
               {"channel 1, 2147483648"});
  ExpectStatus(NarrowBias(absl::Span<const std::int64_t>(nullptr, 2)).status(),
               kInvalid, {"null data"});
}

TEST(QuantizeBiasTest, BadInputChangesNothing) {
  std::vector<std::int32_t> quantized(2, 7);
  const auto out = absl::MakeSpan(quantized);
  for (const float bad : {0.0f, -1.0f, kNan, kInf}) {
    EXPECT_FALSE(QuantizeBias({1, 2}, Scale(bad), {Scale(1)}, out).ok());
    EXPECT_FALSE(
        QuantizeBias({1, 2}, Scale(1), {Scale(1), Scale(bad)}, out).ok());
  }
  EXPECT_FALSE(QuantizeBias({1, kNan}, Scale(1), {Scale(1)}, out).ok());
  EXPECT_FALSE(QuantizeBias({1, 2, 3}, Scale(1), {Scale(1)}, out).ok());
  EXPECT_FALSE(QuantizeBias({1, 2}, Scale(1), {}, out).ok());
  EXPECT_THAT(quantized, ElementsAre(7, 7));
}

}  // namespace
}  // namespace ruy_like
