#include "ruy_like/quantize/batch_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using testing::FloatNear;
using testing::IsEmpty;

const std::vector<float> kGamma = {1, 2, 0.5f, 1};
const std::vector<float> kBeta = {0.1f, 0, 0, -0.3f};
const std::vector<float> kMean = {0.5f, -1, 0, 0.001f};
const std::vector<float> kVariance = {1, 0.25f, 4, 1e-5f};
const std::vector<float> kGain = {0.9995004f, 3.992024f, 0.2499688f,
                                  31.465839f};

BatchNorm GoldenNorm() { return {kGamma, kBeta, kMean, kVariance, 1e-3f}; }

TEST(FoldBatchNormTest, Golden) {
  std::vector<float> data = {1, -2, 1, -2, 1, -2, 1, -2};
  Matrix<float> weights = RowMajorOf(data, 4, 2);
  std::vector<float> bias(4, 0);
  ASSERT_VALUE(const auto report,
               FoldBatchNorm(GoldenNorm(), &weights, absl::MakeSpan(bias)));
  for (int c = 0; c < 4; ++c) {
    EXPECT_NEAR(Element(weights, c, 0), kGain[c], 2e-6 * kGain[c]);
    EXPECT_NEAR(Element(weights, c, 1), -2 * kGain[c], 4e-6 * kGain[c]);
  }
  EXPECT_THAT(bias, ElementsAre(FloatNear(-0.39975f, 1e-5f),
                                FloatNear(3.992024f, 1e-5f), 0,
                                FloatNear(-0.331466f, 1e-6f)));
  EXPECT_THAT(report.dead_channels, ElementsAre(3));
  EXPECT_NEAR(report.max_gain, kGain[3], 1e-4);
  EXPECT_NEAR(report.median_gain, (kGain[0] + kGain[1]) / 2, 1e-5);
  EXPECT_NEAR(report.max_over_median, 31.465839 / 2.495762, 1e-4);
  // The step of one scale for all: about the whole gain of channel 2.
  EXPECT_NEAR(report.max_gain / 127, 0.24776, 1e-5);
}

// Folded weights give what the product and the normalisation gave.
TEST(FoldBatchNormTest, EqualsProductThenNorm) {
  Rng rng(1);
  constexpr int kChannels = 5, kDepth = 7;
  for (const Order order : {Order::kRowMajor, Order::kColMajor}) {
    std::vector<float> data(100, 9), bias(kChannels), x(kDepth);
    Matrix<float> weights =
        MakeMatrix(data.data(), kChannels, kDepth, order, 3);
    std::vector<float> gamma(kChannels), beta(kChannels), mean(kChannels),
        variance(kChannels);
    std::vector<double> expected(kChannels);
    for (float& value : x) value = static_cast<float>(rng.Signed());
    for (int c = 0; c < kChannels; ++c) {
      gamma[c] = static_cast<float>(rng.Signed());
      beta[c] = static_cast<float>(rng.Signed());
      mean[c] = static_cast<float>(rng.Signed());
      variance[c] = static_cast<float>(std::abs(rng.Signed()));
      bias[c] = static_cast<float>(rng.Signed());
      double sum = bias[c];
      for (int k = 0; k < kDepth; ++k) {
        *ElementPtr(&weights, c, k) = static_cast<float>(rng.Signed());
        sum += static_cast<double>(Element(weights, c, k)) * x[k];
      }
      expected[c] = gamma[c] * (sum - mean[c]) /
                        std::sqrt(static_cast<double>(variance[c]) + 0.01f) +
                    beta[c];
    }
    ASSERT_OK(FoldBatchNorm({gamma, beta, mean, variance, 0.01f}, &weights,
                            absl::MakeSpan(bias)));
    for (int c = 0; c < kChannels; ++c) {
      double sum = bias[c];
      for (int k = 0; k < kDepth; ++k) {
        sum += static_cast<double>(Element(weights, c, k)) * x[k];
      }
      EXPECT_NEAR(sum, expected[c], 1e-5);
    }
    // The gap between rows or columns is not weights.
    const std::ptrdiff_t inner = order == Order::kRowMajor ? kDepth : kChannels;
    EXPECT_EQ(data[inner], 9);
  }
}

TEST(FoldBatchNormTest, WithoutGammaAndBeta) {
  std::vector<float> data = {3}, bias = {1};
  Matrix<float> weights = RowMajorOf(data, 1, 1);
  const std::vector<float> mean = {5}, variance = {4};
  ASSERT_VALUE(const auto report,
               FoldBatchNorm({{}, {}, mean, variance, 0}, &weights,
                             absl::MakeSpan(bias)));
  EXPECT_EQ(data[0], 1.5f);
  EXPECT_EQ(bias[0], -2);
  EXPECT_THAT(report.dead_channels, IsEmpty());
  EXPECT_EQ(report.max_over_median, 1);
}

TEST(FoldBatchNormTest, BadInputChangesNothing) {
  std::vector<float> data = {1, 2, 3, 4}, bias = {5, 6, 7, 8};
  const std::vector<float> old_data = data, old_bias = bias;
  Matrix<float> weights = RowMajorOf(data, 4, 1);
  const auto refuses = [&](const auto& change) {
    BatchNorm norm = GoldenNorm();
    change(&norm);
    return FoldBatchNorm(norm, &weights, absl::MakeSpan(bias))
               .status()
               .code() == kInvalid;
  };
  const auto with = [](std::vector<float> values, int index, float value) {
    values[index] = value;
    return values;
  };
  for (const float bad : {-1.0f, kNan, -kInf}) {
    const std::vector<float> variance = with(kVariance, 2, bad);
    EXPECT_TRUE(refuses([&](BatchNorm* n) { n->variance = variance; })) << bad;
    EXPECT_TRUE(refuses([&](BatchNorm* n) { n->epsilon = bad; })) << bad;
  }
  const std::vector<float> zero = with(kVariance, 3, 0);
  const std::vector<float> bad_gamma = with(kGamma, 0, kNan);
  EXPECT_TRUE(refuses([&](BatchNorm* n) {
    n->variance = zero;
    n->epsilon = 0;
  }));
  EXPECT_TRUE(refuses([&](BatchNorm* n) { n->gamma = bad_gamma; }));
  EXPECT_TRUE(refuses([](BatchNorm* n) { n->mean = n->mean.subspan(1); }));
  EXPECT_FALSE(FoldBatchNorm(GoldenNorm(), nullptr, absl::MakeSpan(bias)).ok());
  Matrix<float> constant = weights;
  constant.set_data(static_cast<const float*>(data.data()));
  EXPECT_FALSE(
      FoldBatchNorm(GoldenNorm(), &constant, absl::MakeSpan(bias)).ok());
  Matrix<float> too_few = RowMajorOf(data, 3, 1);
  EXPECT_FALSE(
      FoldBatchNorm(GoldenNorm(), &too_few, absl::MakeSpan(bias)).ok());
  EXPECT_THAT(data, ElementsAreArray(old_data));
  EXPECT_THAT(bias, ElementsAreArray(old_bias));
}

}  // namespace
}  // namespace ruy_like
