#include "ruy_like/quantize/bias_correction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/lcg.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr std::ptrdiff_t kRows = 6, kDepth = 40, kCols = 500;

// Inputs after a ReLU, whose mean is far from 0, and weights that 4 bits round
// coarsely.
struct Product {
  Product()
      : w(GaussVector(kRows * kDepth, 1)), x(GaussVector(kDepth * kCols, 2)) {
    for (float& value : x) value = std::max(value, 0.0f);
    weights = RowMajorOf(w, kRows, kDepth);
    inputs = RowMajorOf(x, kDepth, kCols);
    params =
        ChooseSymmetricChannels(weights, ChannelDimension::kRow, 4).value();
    for (std::ptrdiff_t k = 0; k < kDepth; ++k) {
      double sum = 0;
      for (std::ptrdiff_t n = 0; n < kCols; ++n) sum += Element(inputs, k, n);
      means.push_back(static_cast<float>(sum / kCols));
    }
  }
  // Column-major outputs of float or of quantized weights.
  std::vector<float> Outputs(bool quantized,
                             const std::vector<float>& bias) const {
    std::vector<float> y;
    for (std::ptrdiff_t n = 0; n < kCols; ++n) {
      for (std::ptrdiff_t m = 0; m < kRows; ++m) {
        double sum = bias[m];
        for (std::ptrdiff_t k = 0; k < kDepth; ++k) {
          const double scale = params[m].scale;
          const double value = Element(weights, m, k);
          sum += (quantized ? std::round(value / scale) * scale : value) *
                 Element(inputs, k, n);
        }
        y.push_back(static_cast<float>(sum));
      }
    }
    return y;
  }
  // The largest of the channels' mean errors.
  double MeanError(const std::vector<float>& corrected) const {
    const std::vector<float> y = Outputs(false, std::vector<float>(kRows, 1));
    const std::vector<float> yq = Outputs(true, corrected);
    double most = 0;
    for (std::size_t m = 0; m < kRows; ++m) {
      double error = 0;
      for (std::size_t i = m; i < y.size(); i += kRows) error += yq[i] - y[i];
      most = std::max(most, std::abs(error / kCols));
    }
    return most;
  }

  std::vector<float> w, x, means;
  std::vector<QuantParams> params;
  Matrix<float> weights, inputs;
};

TEST(CorrectBiasTest, RemovesTheMeanErrorOfTheWeights) {
  const Product product;
  std::vector<float> bias(kRows, 1);
  const double before = product.MeanError(bias);
  EXPECT_GT(before, 0.1);
  ASSERT_OK(CorrectBias(product.weights, product.params, product.means,
                        absl::MakeSpan(bias)));
  EXPECT_LT(product.MeanError(bias), 1e-4 * before);
}

TEST(CorrectBiasTest, RemovesAMeasuredError) {
  const Product product;
  for (const ChannelDimension channels :
       {ChannelDimension::kRow, ChannelDimension::kCol}) {
    std::vector<float> bias(kRows, 1);
    const double before = product.MeanError(bias);
    const std::vector<float> y = product.Outputs(false, bias);
    const std::vector<float> yq = product.Outputs(true, bias);
    const bool by_row = channels == ChannelDimension::kRow;
    const auto view = [&](const std::vector<float>& values) {
      return by_row ? ColMajorOf(values, kRows, kCols)
                    : RowMajorOf(values, kCols, kRows);
    };
    ASSERT_OK(
        CorrectMeasuredBias(view(y), view(yq), channels, absl::MakeSpan(bias)));
    EXPECT_LT(product.MeanError(bias), 1e-4 * before);
  }
}

// With steps of 1, 0.25 is rounded to 0 and 0.75 to 1: errors -+0.25.
TEST(CorrectBiasTest, ColumnsFindTheirChannel) {
  const float w[] = {0.25f, 0.75f, 0.25f, 0.25f, 0, 0.75f, 0, 0};
  const auto weights = RowMajorOf(w, 2, 4);
  const QuantParams one = {1, 0, -127, 127};
  const float means[] = {4, 40};
  const auto corrected = [&](ChannelColumns columns) {
    std::vector<float> bias = {0, 0};
    EXPECT_OK(
        CorrectBias(weights, {one}, means, absl::MakeSpan(bias), columns));
    return bias;
  };
  // Channels 0 1 0 1, 0 0 1 1, and by row.
  EXPECT_THAT(corrected(ChannelColumns::kInnermost), ElementsAre(2, -10));
  EXPECT_THAT(corrected(ChannelColumns::kOutermost), ElementsAre(20, -1));
  EXPECT_THAT(corrected(ChannelColumns::kDepthwise), ElementsAre(2, -10));
}

TEST(CorrectBiasTest, ClippingCounts) {
  const float w[] = {10, 1};
  const float means[] = {2, 2};
  float bias[] = {0};
  ASSERT_OK(CorrectBias(RowMajorOf(w, 1, 2), {QuantParams{1, 0, -7, 7}}, means,
                        bias));
  EXPECT_EQ(bias[0], 6);
}

// The mean of clip(x), summed up in small steps over 12 deviations.
double ClippedMean(double mean, double deviation, double lowest,
                   double highest) {
  double sum = 0, weight = 0;
  for (int i = -48000; i <= 48000; ++i) {
    const double z = i / 4000.0, p = std::exp(-z * z / 2);
    weight += p;
    sum += p * std::min(std::max(mean + deviation * z, lowest), highest);
  }
  return sum / weight;
}

TEST(MeansOfClippedNormalsTest, AreThoseOfASum) {
  const float means[] = {0, 2, -2, 5, -30, 30, 3, -4};
  const float deviations[] = {1, 0.5f, 3, 4, 2, 2, 0, 0};
  const struct {
    float lowest, highest;
  } clips[] = {{0, kInf}, {0, 6}, {-1, 1}, {-kInf, kInf}, {-kInf, 2}, {3, 3}};
  for (const auto& clip : clips) {
    ASSERT_VALUE(
        const auto clipped,
        MeansOfClippedNormals(means, deviations, clip.lowest, clip.highest));
    for (std::size_t c = 0; c < 8; ++c) {
      EXPECT_NEAR(
          clipped[c],
          ClippedMean(means[c], deviations[c], clip.lowest, clip.highest), 1e-5)
          << c << " in " << clip.lowest << ", " << clip.highest;
    }
  }
  EXPECT_CODE(kInvalid, MeansOfClippedNormals(means, {1}));
  EXPECT_CODE(kInvalid, MeansOfClippedNormals({1}, {-1}));
  EXPECT_CODE(kInvalid, MeansOfClippedNormals({kInf}, {1}));
  EXPECT_CODE(kInvalid, MeansOfClippedNormals({1}, {1}, 2, 1));
  EXPECT_CODE(kInvalid, MeansOfClippedNormals({1}, {1}, kNan));
  EXPECT_CODE(kInvalid, MeansOfClippedNormals({-1}, {0}, -kInf, -kInf));
}

// The inputs are what a ReLU makes of standard normal values.
TEST(CorrectBiasTest, NeedsNoDataWithBatchNorms) {
  const Product product;
  std::vector<float> bias(kRows, 1);
  const double before = product.MeanError(bias);
  const std::vector<float> zeros(kDepth, 0), ones(kDepth, 1);
  ASSERT_VALUE(const auto means, MeansOfClippedNormals(zeros, ones));
  ASSERT_OK(CorrectBias(product.weights, product.params, means,
                        absl::MakeSpan(bias)));
  EXPECT_LT(product.MeanError(bias), 0.2 * before);
}

TEST(CorrectBiasTest, ErrorsLeaveTheBias) {
  const float w[] = {1, 2, 3, 4}, w_nan[] = {1, kNan, 3, 4};
  const float means[] = {1, 1}, means_nan[] = {1, kNan};
  const auto weights = RowMajorOf(w, 2, 2);
  const QuantParams good = {1, 0, -127, 127}, bad = {0, 0, -127, 127};
  std::vector<float> bias = {5, 6};
  const auto refused = [&](const absl::Status& status) {
    EXPECT_THAT(bias, ElementsAre(5, 6));
    return status.code() == kInvalid;
  };
  const auto b = absl::MakeSpan(bias);
  EXPECT_TRUE(refused(CorrectBias(Matrix<float>(), {good}, means, b)));
  EXPECT_TRUE(refused(CorrectBias(weights, {}, means, b)));
  EXPECT_TRUE(refused(CorrectBias(weights, {good, good, good}, means, b)));
  EXPECT_TRUE(refused(CorrectBias(weights, {bad}, means, b)));
  EXPECT_TRUE(refused(CorrectBias(weights, {good}, {}, b)));
  EXPECT_TRUE(refused(CorrectBias(weights, {good}, means, b.first(1))));
  EXPECT_TRUE(refused(CorrectBias(weights, {good}, means_nan, b)));
  EXPECT_TRUE(refused(CorrectBias(RowMajorOf(w_nan, 2, 2), {good}, means, b)));
  EXPECT_TRUE(refused(CorrectBias(weights, {good}, bias, b)));
  const auto other = RowMajorOf(w, 1, 4);
  constexpr auto kRow = ChannelDimension::kRow;
  EXPECT_TRUE(refused(CorrectMeasuredBias(weights, other, kRow, b)));
  EXPECT_TRUE(refused(CorrectMeasuredBias(other, other, kRow, b)));
  EXPECT_TRUE(
      refused(CorrectMeasuredBias(weights, RowMajorOf(w_nan, 2, 2), kRow, b)));
  EXPECT_TRUE(
      refused(CorrectMeasuredBias(weights, RowMajorOf(bias, 2, 1), kRow, b)));
}

}  // namespace
}  // namespace ruy_like
