#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "ruy_like/quantize/eq_search.h"
#include "test/quantize/lcg.h"
#include "test/quantize/reference_conv.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// A 3x3 convolution with a stride, a ReLU, a 1x1 convolution onto which its
// input is added, and a fully connected layer.
struct Network {
  std::vector<float> conv = GaussVector(6 * 27, 1);
  std::vector<float> one = GaussVector(6 * 6, 2);
  std::vector<float> full = GaussVector(5 * 96, 3);
  std::vector<float> bias = GaussVector(6, 4);
  std::vector<EqTensor> inputs = {{{2, 8, 7, 3}, GaussVector(2 * 168, 5)},
                                  {{1, 8, 7, 3}, GaussVector(168, 6)}};

  Window ConvWindow() const { return Square(3, 2, 1, 1); }

  std::vector<EqLayer> Layers() const {
    std::vector<EqLayer> layers(3);
    layers[0].name = "conv";
    layers[0].weights = RowMajorOf(conv, 6, 27);
    layers[0].bias = bias;
    layers[0].window = ConvWindow();
    layers[1].name = "one";
    layers[1].weights = RowMajorOf(one, 6, 6);
    layers[1].window = Window();
    layers[1].input = [](absl::Span<const EqTensor> before, EqTensor* input) {
      *input = before[1];
      for (float& x : input->values) x = std::max(x, 0.0f);
      return absl::OkStatus();
    };
    layers[2].name = "full";
    layers[2].weights = RowMajorOf(full, 5, 96);
    layers[2].input = [](absl::Span<const EqTensor> before, EqTensor* input) {
      *input = before[2];
      for (std::size_t i = 0; i < input->values.size(); ++i) {
        input->values[i] += std::max(before[1].values[i], 0.0f);
      }
      return absl::OkStatus();
    };
    return layers;
  }
};

// A layer's outputs in double precision: in float, or with scales in integers.
std::vector<double> Apply(const std::vector<float>& weights,
                          const std::vector<double>& x,
                          const TensorShape& shape, const Window& window,
                          std::ptrdiff_t channels,
                          const std::vector<float>& bias,
                          const EqResult* scales) {
  const TensorShape out = OutputShape(shape, window, channels).value();
  const auto quantize = [](double value, const QuantParams& p) {
    return std::clamp<double>(
        std::round(static_cast<float>(value) * (1.0f / p.scale)), p.qmin,
        p.qmax);
  };
  std::vector<double> y(CountOf(out));
  for (std::ptrdiff_t i = 0; i < CountOf(out); ++i) {
    const std::ptrdiff_t c = i % channels, position = i / channels;
    const std::ptrdiff_t n = position / (out.height * out.width);
    double sum = 0;
    for (std::ptrdiff_t k = 0;
         k < window.kernel_height * window.kernel_width * shape.channels; ++k) {
      const std::ptrdiff_t tap = k / shape.channels;
      const std::ptrdiff_t row =
          position / out.width % out.height * window.stride_height +
          tap / window.kernel_width - window.padding.top;
      const std::ptrdiff_t col = position % out.width * window.stride_width +
                                 tap % window.kernel_width -
                                 window.padding.left;
      if (row < 0 || row >= shape.height || col < 0 || col >= shape.width) {
        continue;
      }
      const double a = x[OffsetIn(shape, n, row, col, k % shape.channels)];
      const float w = weights[c * (weights.size() / channels) + k];
      sum += scales == nullptr
                 ? w * a
                 : quantize(w, scales->weights[c]) *
                       quantize(a, scales->activations) *
                       scales->weights[c].scale * scales->activations.scale;
    }
    y[i] = sum + (bias.empty() ? 0 : bias[c]);
  }
  return y;
}

// All layers' outputs, one after the other, of one input.
std::vector<std::vector<double>> RunLayers(
    const Network& net, const EqTensor& input,
    const std::vector<EqLayerResult>* found) {
  const auto scales = [&](int layer) {
    return found == nullptr ? nullptr : &(*found)[layer].search;
  };
  const auto relu = [](std::vector<double> x) {
    for (double& value : x) value = std::max(value, 0.0);
    return x;
  };
  const std::ptrdiff_t n = input.shape.batch;
  const auto y0 = Apply(net.conv, {input.values.begin(), input.values.end()},
                        input.shape, net.ConvWindow(), 6, net.bias, scales(0));
  const auto y1 =
      Apply(net.one, relu(y0), {n, 4, 4, 6}, Window(), 6, {}, scales(1));
  std::vector<double> sum = relu(y0);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += y1[i];
  return {y0, y1,
          Apply(net.full, sum, {n, 1, 1, 96}, Window(), 5, {}, scales(2))};
}

TEST(EqSearchNetworkTest, ReportsWhatEachLayerLoses) {
  const Network net;
  Context context;
  EqOptions options;
  options.bits = 6;
  options.steps = 20;
  ASSERT_VALUE(const auto found,
               EqSearchNetwork(net.Layers(), net.inputs, options, &context));
  ASSERT_EQ(found.size(), 3);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    double dot = 0, yy = 0, qq = 0, noise = 0;
    for (const EqTensor& input : net.inputs) {
      const auto y = RunLayers(net, input, nullptr)[layer];
      const auto q = RunLayers(net, input, &found)[layer];
      for (std::size_t i = 0; i < y.size(); ++i) {
        dot += y[i] * q[i];
        yy += y[i] * y[i];
        qq += q[i] * q[i];
        noise += (y[i] - q[i]) * (y[i] - q[i]);
      }
    }
    SCOPED_TRACE(layer);
    EXPECT_NEAR(found[layer].snr_db, 10 * std::log10(yy / noise), 1e-2);
    // The search rounds the bias to the accumulators' scale.
    EXPECT_NEAR(found[layer].search.cos_final, dot / std::sqrt(yy * qq), 1e-5);
    EXPECT_GE(found[layer].search.cos_final, found[layer].search.cos_init);
    EXPECT_GT(found[layer].snr_db, 20);
  }
}

// Without references, activations that lost much are their own measure.
TEST(EqSearchNetworkTest, AimsAtTheFloatNetwork) {
  const std::vector<float> w = GaussVector(4 * 32, 7), a = GaussVector(320, 8);
  std::vector<float> coarse = a;
  for (float& x : coarse) x = std::round(x);
  const Matrix<float> weights = RowMajorOf(w, 4, 32);
  const Matrix<float> exact = ColMajorOf(a, 32, 10);
  Context context;
  EqOptions options;
  options.max_rounds = 0;
  const Matrix<float> quantized = ColMajorOf(coarse, 32, 10);
  ASSERT_VALUE(const auto own,
               EqSearch(weights, {quantized}, options, &context));
  options.references = absl::MakeConstSpan(&exact, 1);
  ASSERT_VALUE(const auto real,
               EqSearch(weights, {quantized}, options, &context));
  EXPECT_GT(own.cos_final, 0.999);
  EXPECT_LT(real.cos_final, 0.99);
  const Matrix<float> other = ColMajorOf(a, 32, 9);
  options.references = absl::MakeConstSpan(&other, 1);
  EXPECT_THAT(
      EqSearch(weights, {quantized}, options, &context).status().message(),
      HasSubstr("references have other shapes"));
}

TEST(EqSearchNetworkTest, EveryLayerHasItsShareOfTheTime) {
  using Clock = std::chrono::steady_clock;
  const Network net;
  Context context;
  EqOptions options;
  options.steps = 2000000000;
  options.deadline = Clock::now() + std::chrono::milliseconds(150);
  ASSERT_VALUE(const auto found,
               EqSearchNetwork(net.Layers(), net.inputs, options, &context));
  for (const EqLayerResult& layer : found) {
    EXPECT_TRUE(layer.search.timed_out);
    EXPECT_EQ(layer.search.rounds, 1);
  }
}

TEST(EqSearchNetworkTest, BadInput) {
  const Network good;
  Context context;
  const auto message = [&](const std::vector<EqLayer>& layers,
                           const std::vector<EqTensor>& inputs,
                           const EqOptions& options = EqOptions()) {
    return std::string(
        EqSearchNetwork(layers, inputs, options, &context).status().message());
  };
  std::vector<EqTensor> inputs = good.inputs;
  inputs[1].values.pop_back();
  EXPECT_THAT(message(good.Layers(), inputs),
              HasSubstr("layer 0 (conv): an input of 1x8x7x3 NHWC has 167"));
  inputs[1].shape.height = -1;
  EXPECT_THAT(message(good.Layers(), inputs), HasSubstr("layer 0 (conv)"));
  std::vector<EqLayer> layers = good.Layers();
  layers[2].weights = RowMajorOf(good.full, 4, 95);
  EXPECT_THAT(message(layers, good.inputs), HasSubstr("layer 2 (full)"));
  layers = good.Layers();
  layers[1].input = [](absl::Span<const EqTensor>, EqTensor*) {
    return absl::UnimplementedError("no such layer");
  };
  EXPECT_THAT(message(layers, good.inputs),
              HasSubstr("layer 1 (one): no such layer"));
  EqOptions options;
  options.activation_scale = 1;
  EXPECT_THAT(message(good.Layers(), good.inputs, options),
              HasSubstr("no one activation_scale"));
  EXPECT_FALSE(message(good.Layers(), {}).empty());
  EXPECT_CODE(kInvalid,
              EqSearchNetwork(good.Layers(), good.inputs, {}, nullptr));
  EXPECT_TRUE(EqSearchNetwork({}, good.inputs, {}, &context)->empty());
}

}  // namespace
}  // namespace ruy_like
