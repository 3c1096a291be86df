// The activation functions: their error in ulp, and what comes of NaN,
// infinities, -0 and denormals. That all paths have these bits is
// post_ops_test.cc's subject.
#include "ruy_like/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ruy_like/base/float_state.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

double Exact(Activation activation, double x) {
  const double root = std::sqrt(2.0);
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / root);
    case Activation::kGeluTanh:
      // The square root of 2 / pi, twice.
      return x /
             (1 + std::exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kHardSwish:
      return x * (std::min(std::max(x + 3, 0.0), 6.0) / 6);
    default:
      return x;
  }
}

// The interval between floats of this magnitude.
double UlpOf(double value) {
  int exponent;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// The greatest error at floats in [low, high], in ulp.
double WorstError(Activation activation, float low, float high) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 9973) {
    const auto half = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &half, sizeof(x));
    if (!(x >= low && x <= high)) continue;
    const double exact = Exact(activation, static_cast<double>(x));
    const double error = static_cast<double>(Activate(activation, x)) - exact;
    worst = std::max(worst, std::fabs(error) / UlpOf(exact));
  }
  return worst;
}

// doc/numerics.md has these bounds.
TEST(ActivationTest, ErrorsAreWithinTheBounds) {
  // Beyond -700 exp overflows doubles; the functions are 0 there.
  EXPECT_LE(WorstError(Activation::kGelu, -600, 1e30f), 5);
  EXPECT_LE(WorstError(Activation::kGeluTanh, -1, 1e30f), 3);
  EXPECT_LE(WorstError(Activation::kGeluTanh, -2, 1e30f), 7);
  EXPECT_LE(WorstError(Activation::kGeluTanh, -5, 1e30f), 30);
  EXPECT_LE(WorstError(Activation::kGeluTanh, -20, 1e30f), 200);
  EXPECT_LE(WorstError(Activation::kSilu, -600, 1e30f), 3);
  EXPECT_LE(WorstError(Activation::kSigmoid, -600, 1e30f), 2.5);
  EXPECT_LE(WorstError(Activation::kTanh, -1e30f, 1e30f), 3);
  EXPECT_LE(WorstError(Activation::kHardSwish, -1e30f, 1e30f), 2.5);
}

TEST(ActivationTest, SpecialValues) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const auto check = [](Activation activation, float x, float expected) {
    const float value = Activate(activation, x, 0.5f);
    EXPECT_TRUE(SameFloat(value, expected))
        << static_cast<int>(activation) << " of " << x << " is " << value;
  };
  for (const Activation activation :
       {Activation::kNone, Activation::kLeakyRelu, Activation::kGelu,
        Activation::kGeluTanh, Activation::kSilu, Activation::kHardSwish}) {
    check(activation, kInf, kInf);
    check(activation, kMost, kMost);
    check(activation, 0.0f, 0.0f);
    check(activation, -0.0f, -0.0f);
  }
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kSilu,
        Activation::kHardSwish}) {
    check(activation, -kInf, -0.0f);
    check(activation, -kMost, -0.0f);
  }
  check(Activation::kLeakyRelu, -8.0f, -4.0f);
  check(Activation::kSigmoid, kInf, 1);
  check(Activation::kSigmoid, -kInf, 0);
  check(Activation::kSigmoid, -kMost, 0);
  check(Activation::kSigmoid, -0.0f, 0.5f);
  check(Activation::kTanh, kInf, 1);
  check(Activation::kTanh, -kInf, -1);
  check(Activation::kTanh, -0.0f, -0.0f);
  check(Activation::kTanh, 1e-40f, 1e-40f);
  for (int i = 0; i < 8; ++i) {
    for (const float nan : {kNan, -kNan}) {
      check(static_cast<Activation>(i), nan, nan);
    }
    // NaNs of other payloads.
    for (const std::uint32_t bits : {0x7fc00001u, 0xffffffffu, 0x7fd5a5a5u}) {
      float nan;
      std::memcpy(&nan, &bits, sizeof(nan));
      EXPECT_TRUE(std::isnan(Activate(static_cast<Activation>(i), nan)));
    }
  }
  // Denormal results, rounded like others.
  const float x = -95.0f;
  EXPECT_NEAR(Activate(Activation::kSigmoid, x) / 0x1p-149f,
              std::exp(-95.0) / 0x1p-149, 1);
}

}  // namespace
}  // namespace ruy_like
