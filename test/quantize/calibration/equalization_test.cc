#include "ruy_like/quantize/equalization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "test/quantize/lcg.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// Two fully connected layers, or a convolution of taps and what follows.
struct Chain {
  Chain(std::ptrdiff_t in, std::ptrdiff_t hidden, std::ptrdiff_t out,
        std::ptrdiff_t taps, std::uint32_t seed)
      : w1(GaussVector(hidden * in, seed)),
        w2(GaussVector(out * hidden * taps, seed + 1)),
        b1(GaussVector(hidden, seed + 2)),
        first(RowMajorOf(w1, hidden, in)),
        second(ColMajorOf(w2, out, hidden * taps)) {}
  Chain(const Chain&) = delete;  // the matrices refer to the vectors
  std::vector<EqualizedLayer> Layers(ChannelColumns columns) {
    return {{&first, absl::MakeSpan(b1), ChannelColumns::kInnermost},
            {&second, {}, columns}};
  }

  std::vector<float> w1, w2, b1;
  Matrix<float> first, second;
};

float AbsMax(const Matrix<float>& m, std::ptrdiff_t row, std::ptrdiff_t col,
             std::ptrdiff_t rows, std::ptrdiff_t cols) {
  float most = 0;
  for (std::ptrdiff_t r = row; r < row + rows; ++r) {
    for (std::ptrdiff_t c = col; c < col + cols; ++c) {
      most = std::max(most, std::abs(Element(m, r, c)));
    }
  }
  return most;
}

// ReLU between both; a tap of the second layer sees the hidden values shifted.
std::vector<double> RunChain(const Chain& chain, ChannelColumns columns,
                             const std::vector<float>& x) {
  const Matrix<float>& w1 = chain.first;
  const Matrix<float>& w2 = chain.second;
  const std::ptrdiff_t hidden = w1.layout().rows(), in = w1.layout().cols();
  const std::ptrdiff_t taps = w2.layout().cols() / hidden;
  std::vector<double> out(w2.layout().rows());
  for (std::ptrdiff_t tap = 0; tap < taps; ++tap) {
    for (std::ptrdiff_t h = 0; h < hidden; ++h) {
      double sum = chain.b1[h];
      for (std::ptrdiff_t k = 0; k < in; ++k) {
        sum += static_cast<double>(Element(w1, h, k)) * x[(k + tap) % in];
      }
      const std::ptrdiff_t column = columns == ChannelColumns::kInnermost
                                        ? tap * hidden + h
                                        : h * taps + tap;
      for (std::ptrdiff_t o = 0; o < w2.layout().rows(); ++o) {
        out[o] += std::max(sum, 0.0) * Element(w2, o, column);
      }
    }
  }
  return out;
}

// Rows of very different size, as after folding batch norms.
void ScaleBadly(Chain* chain) {
  for (std::ptrdiff_t row = 0; row < chain->first.layout().rows(); ++row) {
    const float scale = std::pow(10.0f, static_cast<float>(row % 5) / 2 - 1);
    chain->b1[row] *= scale;
    for (std::ptrdiff_t col = 0; col < chain->first.layout().cols(); ++col) {
      *ElementPtr(&chain->first, row, col) *= scale;
    }
  }
}

double SnrOfPerTensorWeights(const Matrix<float>& w) {
  const std::ptrdiff_t rows = w.layout().rows(), cols = w.layout().cols();
  const QuantParams params =
      ChooseSymmetric(AbsMax(w, 0, 0, rows, cols), 8).value();
  // Row by row, since a large row would hide what small ones lose.
  double sum = 0;
  for (std::ptrdiff_t row = 0; row < rows; ++row) {
    double signal = 0, noise = 0;
    for (std::ptrdiff_t col = 0; col < cols; ++col) {
      const double x = Element(w, row, col);
      const double error = x - std::round(x / params.scale) * params.scale;
      signal += x * x;
      noise += error * error;
    }
    sum += 10 * std::log10(signal / noise);
  }
  return sum / static_cast<double>(rows);
}

TEST(EqualizeLayersTest, RangesMeetInTheMiddle) {
  for (const ChannelColumns columns :
       {ChannelColumns::kInnermost, ChannelColumns::kOutermost}) {
    Chain chain(7, 5, 6, 3, 1), before(7, 5, 6, 3, 1);
    ScaleBadly(&chain);
    ScaleBadly(&before);
    ASSERT_VALUE(const auto report, EqualizeLayers(chain.Layers(columns)));
    ASSERT_EQ(report.factors.size(), 1u);
    EXPECT_EQ(report.rounds, 2);  // the second finds nothing to do
    for (std::ptrdiff_t c = 0; c < 5; ++c) {
      float in = 0, in_before = 0;
      for (std::ptrdiff_t tap = 0; tap < 3; ++tap) {
        const std::ptrdiff_t col =
            columns == ChannelColumns::kInnermost ? tap * 5 + c : c * 3 + tap;
        in = std::max(in, AbsMax(chain.second, 0, col, 6, 1));
        in_before = std::max(in_before, AbsMax(before.second, 0, col, 6, 1));
      }
      const float out = AbsMax(chain.first, c, 0, 1, 7);
      const float out_before = AbsMax(before.first, c, 0, 1, 7);
      EXPECT_NEAR(out, in, 1e-6 * in);
      EXPECT_NEAR(out, std::sqrt(out_before * in_before), 1e-5 * out);
      EXPECT_NEAR(report.factors[0][c], out_before / out,
                  1e-5 * out_before / out);
    }
  }
}

TEST(EqualizeLayersTest, KeepsTheFloatFunction) {
  for (const ChannelColumns columns :
       {ChannelColumns::kInnermost, ChannelColumns::kOutermost}) {
    Chain chain(7, 5, 6, 3, 2);
    ScaleBadly(&chain);
    const std::vector<float> x = GaussVector(7, 9);
    const std::vector<double> before = RunChain(chain, columns, x);
    ASSERT_OK(EqualizeLayers(chain.Layers(columns)));
    const std::vector<double> after = RunChain(chain, columns, x);
    for (std::size_t o = 0; o < before.size(); ++o) {
      EXPECT_NEAR(after[o], before[o], 1e-5 * (1 + std::abs(before[o])));
    }
  }
}

// Factors that are powers of two round nothing: each sum has the same bits.
TEST(EqualizeLayersTest, PowersOfTwoKeepEachBit) {
  Chain chain(7, 5, 6, 1, 3);
  ScaleBadly(&chain);
  const std::vector<float> x = GaussVector(7, 9);
  const auto columns = ChannelColumns::kInnermost;
  const std::vector<double> before = RunChain(chain, columns, x);
  EqualizeOptions options;
  options.scale_rounding = ScaleRounding::kPowerOfTwo;
  ASSERT_VALUE(const auto report,
               EqualizeLayers(chain.Layers(columns), options));
  EXPECT_EQ(report.rounds, 2);
  bool any = false;
  for (const float factor : report.factors[0]) {
    int exponent;
    EXPECT_EQ(std::frexp(factor, &exponent), 0.5f);
    any |= factor != 1;
  }
  EXPECT_TRUE(any);
  EXPECT_EQ(RunChain(chain, columns, x), before);
}

TEST(EqualizeLayersTest, LiftsTheSnrOfOneScaleForAll) {
  Chain chain(64, 40, 32, 1, 4);
  ScaleBadly(&chain);
  const double before = SnrOfPerTensorWeights(chain.first);
  ASSERT_OK(EqualizeLayers(chain.Layers(ChannelColumns::kInnermost)));
  const double after = SnrOfPerTensorWeights(chain.first);
  // The rows differ by a factor of 100, 40 dB, before; by its root afterwards.
  EXPECT_GT(after, before + 8) << before;
  EXPECT_GT(SnrOfPerTensorWeights(chain.second), 25);
}

// A depthwise layer between two others: rows are both its inputs and outputs.
TEST(EqualizeLayersTest, ChainWithDepthwiseLayer) {
  std::vector<float> w1 = GaussVector(5 * 4, 5), w2 = GaussVector(5 * 9, 6),
                     w3 = GaussVector(3 * 5, 7);
  for (std::size_t k = 0; k < 4; ++k) w1[k] *= 100;
  for (std::size_t k = 0; k < 9; ++k) w2[9 + k] *= 0.01f;
  Matrix<float> m1 = RowMajorOf(w1, 5, 4);
  Matrix<float> m2 = RowMajorOf(w2, 5, 9);
  Matrix<float> m3 = RowMajorOf(w3, 3, 5);
  const std::vector<float> v1 = w1, v2 = w2, v3 = w3;
  const EqualizedLayer layers[] = {{&m1, {}, ChannelColumns::kInnermost},
                                   {&m2, {}, ChannelColumns::kDepthwise},
                                   {&m3, {}, ChannelColumns::kInnermost}};
  EqualizeOptions options;
  options.max_rounds = 100;
  ASSERT_VALUE(const auto report, EqualizeLayers(layers, options));
  EXPECT_LT(report.rounds, 100);
  for (std::ptrdiff_t c = 0; c < 5; ++c) {
    // A path through a channel has the same product of weights as before.
    const auto at = [&](const std::vector<float>& a,
                        const std::vector<float>& b,
                        const std::vector<float>& d) {
      return static_cast<double>(a[c * 4 + 1]) * b[c * 9 + 2] * d[5 + c];
    };
    EXPECT_NEAR(at(w1, w2, w3) / at(v1, v2, v3), 1, 1e-5);
    const float r1 = AbsMax(m1, c, 0, 1, 4), r2 = AbsMax(m2, c, 0, 1, 9),
                r3 = AbsMax(m3, 0, c, 3, 1);
    EXPECT_NEAR(r1 / r2, 1, 1e-3);
    EXPECT_NEAR(r2 / r3, 1, 1e-3);
  }
}

TEST(EqualizeLayersTest, ChannelsWithoutWeightsStay) {
  std::vector<float> w1 = {0, 0, 3, 4}, w2 = {5, 1, 6, 0}, b1 = {7, 8};
  Matrix<float> m1 = RowMajorOf(w1, 2, 2);
  Matrix<float> m2 = RowMajorOf(w2, 2, 2);
  const EqualizedLayer layers[] = {
      {&m1, absl::MakeSpan(b1), ChannelColumns::kInnermost},
      {&m2, {}, ChannelColumns::kInnermost}};
  ASSERT_VALUE(const auto report, EqualizeLayers(layers));
  EXPECT_THAT(report.factors[0], ElementsAre(1, 2));
  EXPECT_THAT(w1, ElementsAre(0, 0, 1.5f, 2));
  EXPECT_THAT(w2, ElementsAre(5, 2, 6, 0));
  EXPECT_THAT(b1, ElementsAre(7, 4));
}

// Hidden values are 20 and more: what is absorbed is never missed.
TEST(AbsorbBiasTest, KeepsTheFloatFunction) {
  for (const ChannelColumns columns :
       {ChannelColumns::kInnermost, ChannelColumns::kOutermost}) {
    Chain chain(7, 5, 6, 3, 2);
    std::vector<float> b2(6, 0);
    const std::vector<float> x = GaussVector(7, 9);
    chain.b1 = {30, 40, -1, 35, 30};
    const std::vector<double> before = RunChain(chain, columns, x);
    auto layers = chain.Layers(columns);
    layers[1].bias = absl::MakeSpan(b2);
    const std::vector<float> deviations = {2, 5, 1, 20, 2};
    ASSERT_VALUE(const auto absorbed,
                 AbsorbBias(layers[0], layers[1], chain.b1, deviations, 5));
    EXPECT_THAT(absorbed, ElementsAre(20, 15, 0, 0, 20));
    EXPECT_THAT(chain.b1, ElementsAre(10, 25, -1, 35, 10));
    const std::vector<double> after = RunChain(chain, columns, x);
    for (std::size_t o = 0; o < before.size(); ++o) {
      EXPECT_NEAR(after[o] + b2[o], before[o], 1e-4) << o;
    }
  }
}

TEST(AbsorbBiasTest, DepthwiseLayersHaveAChannelOfTheirOwn) {
  std::vector<float> w1 = {1, 2}, w2 = {1, 2, 3, 4}, b1 = {9, 9}, b2 = {1, 1};
  Matrix<float> m1 = RowMajorOf(w1, 2, 1), m2 = RowMajorOf(w2, 2, 2);
  const EqualizedLayer first = {&m1, absl::MakeSpan(b1)};
  EqualizedLayer next = {&m2, absl::MakeSpan(b2), ChannelColumns::kDepthwise};
  ASSERT_OK(AbsorbBias(first, next, {9, 9}, {1, 2}));
  EXPECT_THAT(b1, ElementsAre(3, 6));
  EXPECT_THAT(b2, ElementsAre(1 + 3 * 6, 1 + 7 * 3));
  const std::vector<float> before = b1;
  const float huge = 3e38f;
  EXPECT_CODE(kInvalid, AbsorbBias(first, next, {9}, {1}));
  EXPECT_CODE(kInvalid, AbsorbBias(first, next, {9, 9}, {1}));
  EXPECT_CODE(kInvalid, AbsorbBias(first, next, {9, 9}, {1, -1}));
  EXPECT_CODE(kInvalid, AbsorbBias(first, next, {9, 9}, {1, 2}, kNan));
  EXPECT_CODE(kInvalid, AbsorbBias(first, next, {huge, huge}, {0, 0}));
  EXPECT_CODE(kInvalid, AbsorbBias(first, first, {9, 9}, {1, 2}));
  next.bias = {};
  EXPECT_CODE(kInvalid, AbsorbBias(first, next, {9, 9}, {1, 2}));
  next.weights = nullptr;
  EXPECT_CODE(kInvalid, AbsorbBias(first, next, {9, 9}, {1, 2}));
  EXPECT_EQ(b1, before);
}

TEST(EqualizeLayersTest, ErrorsLeaveTheWeights) {
  Chain chain(3, 4, 2, 1, 8);
  const Chain before(3, 4, 2, 1, 8);
  const auto refused = [&](const std::vector<EqualizedLayer>& layers,
                           EqualizeOptions options = EqualizeOptions()) {
    const auto code = EqualizeLayers(layers, options).status().code();
    EXPECT_EQ(chain.w1, before.w1);
    EXPECT_EQ(chain.w2, before.w2);
    EXPECT_EQ(chain.b1, before.b1);
    return code == kInvalid;
  };
  const auto good = chain.Layers(ChannelColumns::kInnermost);
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({good[0]}));
  EXPECT_TRUE(refused({good[0], {nullptr, {}, good[1].input}}));
  EXPECT_TRUE(refused({good[0], good[0]}));  // 3 columns for 4 channels
  auto layers = good;
  layers[1].input = ChannelColumns::kDepthwise;
  EXPECT_TRUE(refused(layers));
  layers = good;
  layers[0].bias = absl::MakeSpan(chain.b1).first(3);
  EXPECT_TRUE(refused(layers));
  layers = good;
  layers[1].bias = absl::MakeSpan(chain.w1).first(2);
  EXPECT_TRUE(refused(layers));  // shared
  Matrix<float> read_only =
      RowMajorOf(static_cast<const float*>(chain.w1.data()), 4, 3);
  layers = good;
  layers[0].weights = &read_only;
  EXPECT_TRUE(refused(layers));
  EqualizeOptions options;
  options.max_rounds = 0;
  EXPECT_TRUE(refused(good, options));
  std::vector<float> nan = chain.w2;
  nan[3] = kNan;
  Matrix<float> bad = ColMajorOf(nan, 2, 4);
  EXPECT_TRUE(refused({good[0], {&bad, {}, good[1].input}}));
  // A bias that would become infinite.
  std::vector<float> tiny(12, 1e-30f), large(8, 1e30f), bias(4, 1e30f);
  Matrix<float> m1 = RowMajorOf(tiny, 4, 3);
  Matrix<float> m2 = ColMajorOf(large, 2, 4);
  EXPECT_TRUE(refused({{&m1, absl::MakeSpan(bias), ChannelColumns::kInnermost},
                       {&m2, {}, ChannelColumns::kInnermost}}));
  EXPECT_THAT(tiny, Each(1e-30f));
}

}  // namespace
}  // namespace ruy_like
