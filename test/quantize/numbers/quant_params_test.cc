#include "ruy_like/quantize/quant_params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();

TEST(ChooseAffine, Goldens) {
  const struct {
    float lo, hi;
    int qmin, qmax;
    float scale;
    int zero_point;
  } cases[] = {
      {-1, 1, 0, 255, 0.00784313772f, 128},
      {-1, 1, -128, 127, 0.00784313772f, -1},
      {0, 6, -128, 127, 0.0235294122f, -128},
      {2, 6, 0, 255, 0.0235294122f, 0},  // widened to hold 0
      {-6, -2, -128, 127, 0.0235294122f, 127},
      {-0.1f, 10, 0, 255, 0.0396078415f, 3},
      {-1, 3, -128, 127, 0.0156862754f, -64},
      {0, 0, -128, 127, 1, 0},
      {0, 0, 3, 255, 1, 3},
      {0, 1e-40f, 0, 255, 1, 0},  // its scale would be subnormal
  };
  for (const auto& c : cases) {
    ASSERT_VALUE(const auto params, ChooseAffine(c.lo, c.hi, c.qmin, c.qmax));
    EXPECT_EQ(params.scale, c.scale) << c.lo << " " << c.hi;
    EXPECT_EQ(params.zero_point, c.zero_point) << c.lo << " " << c.hi;
    EXPECT_EQ(params.qmin, c.qmin);
    EXPECT_EQ(params.qmax, c.qmax);
  }
}

// |lo| and |hi| are representable within half a step (the float scale itself is
// off by up to 2^-24 of the range), 0 exactly.
TEST(ChooseAffine, TheEndsAreRepresentable) {
  Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    const double magnitude = std::exp2(rng.Between(-60, 60));
    float lo = static_cast<float>(rng.Signed() * magnitude);
    float hi = static_cast<float>(rng.Signed() * magnitude);
    if (lo > hi) std::swap(lo, hi);
    const bool is_signed = rng.OneIn(2);
    const int qmin = is_signed ? -128 : 0;
    ASSERT_VALUE(const auto params, ChooseAffine(lo, hi, qmin, qmin + 255));
    ASSERT_GE(params.zero_point, params.qmin);
    ASSERT_LE(params.zero_point, params.qmax);
    const double scale = params.scale;
    const double tolerance = scale * (0.5 + 1e-4);
    EXPECT_LE(scale * (params.qmin - params.zero_point),
              std::min(0.0f, lo) + tolerance);
    EXPECT_GE(scale * (params.qmax - params.zero_point),
              std::max(0.0f, hi) - tolerance);
  }
}

TEST(ChooseAffine, BadInput) {
  EXPECT_CODE(kInvalid, ChooseAffine(1, 0, 0, 255));
  EXPECT_FALSE(ChooseAffine(kNan, 0, 0, 255).ok());
  EXPECT_FALSE(ChooseAffine(0, kNan, 0, 255).ok());
  EXPECT_FALSE(ChooseAffine(0, kInf, 0, 255).ok());
  EXPECT_FALSE(ChooseAffine(-kInf, 0, 0, 255).ok());
  EXPECT_FALSE(ChooseAffine(0, 1, 5, 5).ok());
  EXPECT_FALSE(ChooseAffine(0, 1, 6, 5).ok());
  EXPECT_FALSE(ChooseAffine(0, 1, 0, (1 << 23) + 1).ok());
  EXPECT_FALSE(ChooseAffine(0, 1, std::numeric_limits<int>::min(), 0).ok());
  EXPECT_FALSE(ChooseAffine(-kMax, kMax, 0, 1).ok());
  EXPECT_OK(ChooseAffine(-kMax, kMax, 0, 255));
}

TEST(ChooseSymmetric, BitsSetTheRange) {
  for (int bits = 2; bits <= 16; ++bits) {
    ASSERT_VALUE(const auto params, ChooseSymmetric(3, bits));
    EXPECT_EQ(params.qmax, (1 << (bits - 1)) - 1);
    EXPECT_EQ(params.qmin, -params.qmax);
    EXPECT_EQ(params.zero_point, 0);
    EXPECT_EQ(params.scale, 3.0f / params.qmax);
  }
  EXPECT_EQ(ChooseSymmetric(127, 8)->scale, 1);
  EXPECT_EQ(ChooseSymmetric(63, 7)->scale, 1);
}

TEST(ChooseSymmetric, NothingToScale) {
  EXPECT_EQ(ChooseSymmetric(0, 8)->scale, 1);
  EXPECT_EQ(ChooseSymmetric(1e-42f, 8)->scale, 1);
  EXPECT_EQ(ChooseSymmetric(1e-37f, 8)->scale, 1);  // 7.9e-40
  EXPECT_LT(ChooseSymmetric(2e-36f, 8)->scale, 1e-30f);
}

TEST(ChooseSymmetric, PowersOfTwo) {
  const auto scale = [](float absmax, int bits) {
    return ChooseSymmetric(absmax, bits, ScaleRounding::kPowerOfTwo)->scale;
  };
  EXPECT_EQ(scale(127, 8), 1);
  EXPECT_EQ(scale(std::nextafter(127.0f, 0.0f), 8), 1);
  EXPECT_EQ(scale(std::nextafter(127.0f, 200.0f), 8), 2);
  EXPECT_EQ(scale(1, 8), 0x1p-6f);
  EXPECT_EQ(scale(1, 7), 0x1p-5f);
  Rng rng(2);
  for (int i = 0; i < 1000; ++i) {
    const float absmax = static_cast<float>(std::abs(rng.Signed()) *
                                            std::exp2(rng.Between(-80, 80)));
    const float exact = ChooseSymmetric(absmax, 8)->scale;
    const float rounded = scale(absmax, 8);
    int exponent;
    EXPECT_EQ(std::frexp(rounded, &exponent), 0.5f);
    EXPECT_GE(rounded, exact);
    EXPECT_LT(rounded, 2 * exact);
  }
}

TEST(ChooseSymmetric, BadInput) {
  EXPECT_FALSE(ChooseSymmetric(1, 8, static_cast<ScaleRounding>(2)).ok());
  EXPECT_FALSE(ChooseSymmetric(0, 8, static_cast<ScaleRounding>(2)).ok());
  EXPECT_CODE(kInvalid, ChooseSymmetric(-1, 8));
  EXPECT_FALSE(ChooseSymmetric(kNan, 8).ok());
  EXPECT_FALSE(ChooseSymmetric(kInf, 8).ok());
  EXPECT_FALSE(ChooseSymmetric(1, 1).ok());
  EXPECT_FALSE(ChooseSymmetric(1, 17).ok());
  EXPECT_OK(ChooseSymmetric(kMax, 2));
  EXPECT_FALSE(ChooseSymmetric(kMax, 2, ScaleRounding::kPowerOfTwo).ok());
}

TEST(ValidateQuantParams, NamesWhatIsWrong) {
  const auto message = [](const QuantParams& params) {
    const absl::Status status = ValidateQuantParams(params, -128, 127, "input");
    EXPECT_CODE(kInvalid, status);
    return std::string(status.message());
  };
  EXPECT_OK(ValidateQuantParams(QuantParams(), -128, 127, "input"));
  EXPECT_EQ(message({0, 0, -128, 127}),
            "input: scale is 0, must be positive and finite");
  EXPECT_NE(message({-1, 0, -128, 127}), "");
  EXPECT_NE(message({kNan, 0, -128, 127}), "");
  EXPECT_NE(message({kInf, 0, -128, 127}), "");
  EXPECT_EQ(message({1, 0, 5, 4}), "input: qmin 5 is above qmax 4");
  EXPECT_EQ(message({1, 0, 0, 255}),
            "input: [qmin, qmax] is [0, 255], the type holds [-128, 127]");
  EXPECT_EQ(message({1, 128, -128, 127}),
            "input: zero point is 128, the type holds [-128, 127]");
}

}  // namespace
}  // namespace ruy_like
