#include "ruy_like/quantize/eq_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "ruy_like/quantize/bias.h"
#include "ruy_like/quantize/quantize_dequantize.h"
#include "test/quantize/lcg.h"
#include "test/quantize/reference_conv.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

struct Layer {
  std::ptrdiff_t rows, depth, cols;
  std::vector<float> w, a;

  Matrix<float> Weights() const { return RowMajorOf(w, rows, depth); }
  // Row-major, as the golden's numbers are drawn.
  Matrix<float> Activations() const { return RowMajorOf(a, depth, cols); }
};

Layer GaussLayer(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols,
                 std::uint32_t seed) {
  const std::vector<float> values = GaussVector(depth * (rows + cols), seed);
  const auto middle = values.begin() + rows * depth;
  return {rows, depth, cols, {values.begin(), middle}, {middle, values.end()}};
}

Layer GoldenLayer() {
  Layer layer = GaussLayer(4, 32, 16, 7);
  for (std::size_t i = 0; i < layer.w.size(); ++i) {
    layer.w[i] = static_cast<float>(layer.w[i] * (i < 32 ? 0.2 : 0.05));
  }
  for (float& a : layer.a) a = std::max(a, 0.0f);
  layer.w[1 * 32 + 3] = 0.9f;
  layer.w[2 * 32 + 5] = -0.5f;
  layer.a[0] = 9;
  layer.a[7 * 16 + 3] = 7.5f;
  return layer;
}

Layer RandomLayer(std::uint32_t seed, bool outliers = true) {
  Rng rng(seed);
  const std::ptrdiff_t rows = rng.Between(1, 40), depth = rng.Between(1, 60);
  Layer layer = GaussLayer(rows, depth, rng.Between(1, 90), seed);
  if (!outliers) return layer;
  for (float& w : layer.w) w *= rng.OneIn(50) ? 20 : 1;
  for (float& a : layer.a) a *= rng.OneIn(80) ? 10 : 1;
  return layer;
}

absl::StatusOr<EqResult> Search(const Layer& layer, const EqOptions& options,
                                Context* context,
                                const std::vector<float>& bias = {}) {
  return EqSearch(layer.Weights(), {layer.Activations()}, options, context,
                  bias);
}

// The layer's cosine in double precision, by the plainest arithmetic.
double CosineOf(const Layer& layer, const EqResult& scales,
                const std::vector<float>& bias = {}) {
  const auto quantize = [](float x, const QuantParams& p) {
    return std::clamp<double>(std::round(x * (1.0f / p.scale)), p.qmin, p.qmax);
  };
  double dot = 0, square_y = 0, square_q = 0;
  for (std::ptrdiff_t i = 0; i < layer.rows; ++i) {
    const double step =
        static_cast<double>(scales.weights[i].scale) * scales.activations.scale;
    for (std::ptrdiff_t j = 0; j < layer.cols; ++j) {
      double y = bias.empty() ? 0 : bias[i];
      double q = bias.empty() ? 0 : std::round(bias[i] / step);
      for (std::ptrdiff_t k = 0; k < layer.depth; ++k) {
        const float w = layer.w[i * layer.depth + k];
        const float a = layer.a[k * layer.cols + j];
        y += static_cast<double>(w) * a;
        q += quantize(w, scales.weights[i]) * quantize(a, scales.activations);
      }
      dot += y * q * step;
      square_y += y * y;
      square_q += q * q * step * step;
    }
  }
  return dot / std::sqrt(square_y * square_q);
}

// From a script that computes in double precision, but for 7 bits' end: there
// 7.5 is a tie of the first scale (52.5 steps of 1/7), which Quantize's float
// inverse decides the other way, and the search ends at 0.99935921 instead of
// 0.99955093. The script gives the former, too, with that inverse.
TEST(EqSearchTest, Goldens) {
  const struct {
    int bits;
    double cos_init, cos_final;
  } kGoldens[] = {{8, 0.99972804, 0.99990378},
                  {7, 0.99922235, 0.99935921},
                  {6, 0.99549421, 0.99851803}};
  const Layer layer = GoldenLayer();
  for (const auto& golden : kGoldens) {
    SCOPED_TRACE(golden.bits);
    Context context;
    EqOptions options;
    options.bits = golden.bits;
    ASSERT_VALUE(const auto result, Search(layer, options, &context));
    EXPECT_NEAR(result.cos_init, golden.cos_init, 2e-5);
    EXPECT_NEAR(result.cos_final, golden.cos_final, 2e-5);
    EXPECT_EQ(result.weights[0].qmax, (1 << (golden.bits - 1)) - 1);
    EXPECT_NEAR(result.cos_final, CosineOf(layer, result), 1e-7);
  }
}

TEST(EqSearchTest, NeverWorseThanItsStart) {
  Context context;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const Layer layer = RandomLayer(seed);
    for (const CalibrationMethod start :
         {CalibrationMethod::kMinMax, CalibrationMethod::kEntropy}) {
      EqOptions options;
      options.steps = 17;
      options.start = start;
      options.bits = 4 + static_cast<int>(seed % 5);
      ASSERT_VALUE(const auto result, Search(layer, options, &context));
      EXPECT_GE(result.cos_final, result.cos_init);
      EXPECT_NEAR(result.cos_final, CosineOf(layer, result), 1e-6);
      EXPECT_GE(result.rounds, 1);
    }
  }
}

TEST(EqSearchTest, SevenBitsWithSearchComeCloseToEightWithout) {
  Context context;
  for (std::uint32_t seed = 21; seed <= 26; ++seed) {
    const Layer layer = RandomLayer(seed, /*outliers=*/false);
    EqOptions options;
    options.steps = 30;
    ASSERT_VALUE(const auto eight, Search(layer, options, &context));
    options.bits = 7;
    ASSERT_VALUE(const auto seven, Search(layer, options, &context));
    EXPECT_GE(seven.cos_final, eight.cos_init - 1e-3);
  }
}

TEST(EqSearchTest, HoldsTheActivationsScale) {
  const Layer layer = GoldenLayer();
  Context context;
  EqOptions options;
  ASSERT_VALUE(const auto free, Search(layer, options, &context));
  options.activation_scale = 0.11f;  // 9 / 127 is where it would begin
  ASSERT_VALUE(const auto held, Search(layer, options, &context));
  EXPECT_NE(free.activations.scale, 0.11f);
  EXPECT_EQ(held.activations, (QuantParams{0.11f, 0, -127, 127}));
  EXPECT_GT(held.cos_final, held.cos_init);  // the weights' scales improve
  EXPECT_LT(held.cos_final, free.cos_final);
  EXPECT_NEAR(held.cos_final, CosineOf(layer, held), 1e-6);
  for (const float wrong : {-1.0f, 1e-40f, INFINITY, NAN}) {
    options.activation_scale = wrong;
    EXPECT_CODE(kInvalid, Search(layer, options, &context)) << wrong;
  }
}

TEST(EqSearchTest, EndsAtItsDeadline) {
  using Clock = std::chrono::steady_clock;
  const Layer layer = GoldenLayer();
  Context context;
  EqOptions options;
  options.bits = 6;
  ASSERT_VALUE(const auto whole, Search(layer, options, &context));
  EXPECT_FALSE(whole.timed_out);
  options.deadline = Clock::now();
  ASSERT_VALUE(const auto none, Search(layer, options, &context));
  EXPECT_TRUE(none.timed_out);
  EXPECT_EQ(none.rounds, 0);
  EXPECT_EQ(none.cos_init, whole.cos_init);
  EXPECT_EQ(none.cos_final, none.cos_init);
  EXPECT_NEAR(none.cos_final, CosineOf(layer, none), 1e-7);
  // Years of candidates.
  options.steps = 2000000000;
  options.deadline = Clock::now() + std::chrono::milliseconds(100);
  ASSERT_VALUE(const auto some, Search(layer, options, &context));
  EXPECT_TRUE(some.timed_out);
  EXPECT_EQ(some.rounds, 1);
  EXPECT_GE(some.cos_final, some.cos_init);
  EXPECT_NEAR(some.cos_final, CosineOf(layer, some), 1e-7);
}

TEST(EqSearchTest, SeveralActivationsAreOneLayer) {
  Context context;
  const Layer layer = RandomLayer(31);
  const std::ptrdiff_t left = layer.cols / 3;
  Matrix<float> first = layer.Activations(), second = first;
  first.mutable_layout()->set_cols(left);
  second.mutable_layout()->set_cols(layer.cols - left);
  second.set_data(layer.a.data() + left);
  EqOptions options;
  options.steps = 10;
  ASSERT_VALUE(const auto whole, Search(layer, options, &context));
  ASSERT_VALUE(const auto parts,
               EqSearch(layer.Weights(), {first, second}, options, &context));
  EXPECT_NEAR(whole.cos_final, parts.cos_final, 1e-6);
  EXPECT_EQ(parts.products % 2, 0);
}

// Blocks of columns are multiplied in other ways when there are several of
// them. The integers are the same, and so is the order in which a row's are
// added up, so the results are equal bit for bit. Weights of a few integers
// make the float products exact.
TEST(EqSearchTest, BlocksDoNotMatter) {
  Context context;
  const Layer layer{300, 5, 500,  // 600 KB of accumulators
                    RandomVector<float>(300 * 5, -20, 20, 35),
                    RandomVector<float>(5 * 500, -300, 300, 36)};
  std::vector<Matrix<float>> parts(5, layer.Activations());
  for (std::ptrdiff_t i = 0; i < 5; ++i) {
    parts[i].mutable_layout()->set_cols(100);
    parts[i].set_data(layer.a.data() + 100 * i);
  }
  for (const int bits : {4, 7, 8}) {
    EqOptions options;
    options.bits = bits;
    options.steps = 6;
    ASSERT_VALUE(const auto whole, Search(layer, options, &context));
    ASSERT_VALUE(const auto cut,
                 EqSearch(layer.Weights(), parts, options, &context));
    EXPECT_EQ(whole.cos_init, cut.cos_init);
    EXPECT_EQ(whole.cos_final, cut.cos_final);
    EXPECT_EQ(whole.weights, cut.weights);
    EXPECT_EQ(whole.activations, cut.activations);
    const Matrix<float> one_block = parts[0];
    ASSERT_VALUE(const auto small,
                 EqSearch(layer.Weights(), {one_block}, options, &context));
    Layer first = layer;
    first.cols = 100;
    first.a.clear();
    for (std::ptrdiff_t row = 0; row < layer.depth; ++row) {
      for (std::ptrdiff_t col = 0; col < 100; ++col) {
        first.a.push_back(Element(one_block, row, col));
      }
    }
    EXPECT_NEAR(small.cos_final, CosineOf(first, small), 1e-6);
  }
}

TEST(EqSearchTest, WithBias) {
  Context context;
  const Layer layer = RandomLayer(41);
  std::vector<float> bias;
  for (std::ptrdiff_t i = 0; i < layer.rows; ++i) {
    bias.push_back(0.3f * static_cast<float>(i) - 1);
  }
  EqOptions options;
  options.bits = 5;
  options.steps = 20;
  ASSERT_VALUE(const auto result, Search(layer, options, &context, bias));
  EXPECT_GE(result.cos_final, result.cos_init);
  EXPECT_NEAR(result.cos_final, CosineOf(layer, result, bias), 1e-6);
}

TEST(EqSearchTest, ZeroRowsAndZeroLayers) {
  Context context;
  EqOptions options;
  options.steps = 5;
  Layer layer{2, 3, 2, {0, 0, 0, 1, 2, 3}, {1, 2, 3, 4, 5, 6}};
  ASSERT_VALUE(auto result, Search(layer, options, &context));
  EXPECT_EQ(result.weights[0].scale, 1);
  EXPECT_GT(result.cos_final, 0.999);
  layer.a.assign(6, 0);
  ASSERT_VALUE(result, Search(layer, options, &context));
  EXPECT_EQ(result.cos_init, 1);
  EXPECT_EQ(result.cos_final, 1);
}

class EqSearchPathTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(EqSearchPathTest);

// Several blocks of columns, on threads; the same sums on each of them.
TEST_P(EqSearchPathTest, ThreadsDoNotMatter) {
  const Layer layer = GaussLayer(70, 33, 1500, 3);
  EqOptions options;
  options.bits = 5;
  options.steps = 4;
  options.max_rounds = 2;
  std::vector<double> cosines;
  for (const int threads : {1, 3}) {
    context_.set_max_num_threads(threads);
    ASSERT_VALUE(const auto result, Search(layer, options, &context_));
    cosines.push_back(result.cos_final);
    EXPECT_NEAR(result.cos_final, CosineOf(layer, result), 1e-7);
  }
  EXPECT_EQ(cosines[0], cosines[1]);
}

// Patches that the test makes by itself, in another way: from the output's
// element to the input's, one at a time.
Layer ConvLayer(const std::vector<float>& images, const TensorShape& shape,
                const Window& window, const TensorShape& output,
                std::ptrdiff_t rows) {
  const std::ptrdiff_t taps = window.kernel_height * window.kernel_width;
  const std::ptrdiff_t positions = output.height * output.width;
  const std::ptrdiff_t depth = taps * shape.channels;
  Layer layer{
      rows, depth, shape.batch * positions, GaussVector(rows * depth, 11), {}};
  const bool nhwc = shape.order == TensorOrder::kNhwc;
  for (std::ptrdiff_t k = 0; k < layer.depth; ++k) {
    const std::ptrdiff_t tap = nhwc ? k / shape.channels : k % taps;
    const std::ptrdiff_t channel = nhwc ? k % shape.channels : k / taps;
    for (std::ptrdiff_t n = 0; n < layer.cols; ++n) {
      const std::ptrdiff_t row =
          n % positions / output.width * window.stride_height +
          tap / window.kernel_width * window.dilation_height -
          window.padding.top;
      const std::ptrdiff_t col =
          n % output.width * window.stride_width +
          tap % window.kernel_width * window.dilation_width -
          window.padding.left;
      const bool inside =
          row >= 0 && row < shape.height && col >= 0 && col < shape.width;
      layer.a.push_back(
          inside ? images[OffsetIn(shape, n / positions, row, col, channel)]
                 : 0);
    }
  }
  return layer;
}

TEST(EqSearchConvTest, IsTheSearchOnItsPatches) {
  Window windows[3];
  windows[1].kernel_height = 3;
  windows[1].kernel_width = 2;
  windows[1].padding = {1, 1, 1, 0};
  windows[2] = Square(3, 1, 1, 0);
  windows[2].stride_height = 2;
  windows[2].dilation_width = 2;
  windows[2].padding = {0, 1, 2, 2};
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const Window& window : windows) {
      const TensorShape shape = {2, 5, 7, 3, order};
      const std::vector<float> images = GaussVector(CountOf(shape), 5);
      ASSERT_VALUE(const auto output, OutputShape(shape, window, 4));
      const Layer layer = ConvLayer(images, shape, window, output, 4);
      EqOptions options;
      options.bits = 6;
      options.steps = 20;
      Context context;
      ASSERT_VALUE(const auto expected, Search(layer, options, &context));
      const TensorView<const float> view = {images.data(), shape, {}};
      ASSERT_VALUE(
          const auto actual,
          EqSearchConv2D(layer.Weights(), absl::MakeConstSpan(&view, 1), window,
                         options, &context));
      EXPECT_EQ(actual.weights, expected.weights);
      EXPECT_EQ(actual.activations, expected.activations);
      EXPECT_EQ(actual.products, expected.products);
      EXPECT_GE(actual.cos_final, actual.cos_init);
    }
  }
}

TEST(EqSearchConvTest, BadInput) {
  const std::vector<float> values(100, 1.0f);
  const Matrix<float> weights = RowMajorOf(values, 2, 9);
  const Window window = Square(3, 1, 1, 0);
  const TensorView<const float> good = {values.data(), {1, 4, 4, 1}, {}};
  Context context;
  const auto search = [&](const TensorView<const float>& images,
                          const Window& w) {
    return EqSearchConv2D(weights, absl::MakeConstSpan(&images, 1), w, {},
                          &context)
        .status();
  };
  ASSERT_OK(search(good, window));
  TensorView<const float> bad = good;
  bad.data = nullptr;
  EXPECT_THAT(search(bad, window).message(), HasSubstr("null"));
  bad = good;
  bad.shape.channels = 2;  // the weights have one
  EXPECT_CODE(kInvalid, search(bad, window));
  bad = good;
  bad.shape.batch = -1;
  EXPECT_CODE(kInvalid, search(bad, window));
  Window large = window;
  large.kernel_width = 5;
  EXPECT_CODE(kInvalid, search(good, large));
  bad = good;
  bad.shape = {std::ptrdiff_t{1} << 40, 1 << 12, 1 << 12, 1 << 10};
  EXPECT_FALSE(search(bad, window).ok());
  EXPECT_CODE(kInvalid, EqSearchConv2D(weights, absl::MakeConstSpan(&good, 1),
                                       window, {}, nullptr));
  EXPECT_CODE(kInvalid, EqSearchConv2D(weights, {}, window, {}, &context));
}

// A dead filter: its bias does not fit the scale of its weights.
TEST(EqSearchTest, RowsOfHardlyAnythingButABias) {
  Context context;
  Layer layer = GoldenLayer();
  for (std::ptrdiff_t k = 0; k < layer.depth; ++k) {
    layer.w[static_cast<std::size_t>(2 * layer.depth + k)] *= 1e-12f;
  }
  const std::vector<float> bias = {1, 2, 3, 4};
  ASSERT_VALUE(const EqResult result,
               Search(layer, EqOptions(), &context, bias));
  std::vector<std::int32_t> quantized(4);
  ASSERT_VALUE(const std::ptrdiff_t saturated,
               QuantizeBias(bias, result.activations, result.weights,
                            absl::MakeSpan(quantized)));
  EXPECT_EQ(saturated, 0);
  EXPECT_GT(result.cos_final, 0.99);
}

TEST(EqSearchErrorTest, BadInput) {
  Context context;
  const Layer good = GoldenLayer();
  const auto message = [&](const Layer& layer, const EqOptions& options,
                           const std::vector<float>& bias = {}) {
    return std::string(
        Search(layer, options, &context, bias).status().message());
  };
  EqOptions options;
  options.bits = 9;
  EXPECT_THAT(message(good, options), HasSubstr("bits 9"));
  options = EqOptions();
  options.steps = 0;
  EXPECT_THAT(message(good, options), HasSubstr("steps 0"));
  options = EqOptions();
  options.alpha = kNan;
  EXPECT_THAT(message(good, options), HasSubstr("alpha nan"));
  options = EqOptions();
  options.beta = 0.1f;
  EXPECT_THAT(message(good, options), HasSubstr("beta 0.1"));
  options = EqOptions();
  Layer bad = good;
  bad.w[5] = kNan;
  EXPECT_THAT(message(bad, options), HasSubstr("weights have values"));
  bad = good;
  bad.a[5] = kInf;
  EXPECT_THAT(message(bad, options), HasSubstr("activations have values"));
  bad = good;
  bad.w[0] = bad.a[0] = 3e38f;
  EXPECT_THAT(message(bad, options), HasSubstr("outputs are not finite"));
  EXPECT_THAT(message(good, options, {1, 2}), HasSubstr("2 biases"));
  EXPECT_THAT(message(good, options, {1, 2, kNan, 4}),
              HasSubstr("bias is not finite"));
  options.activation_scale = 1e-30f;
  EXPECT_THAT(message(good, options, {1, 2, 1e20f, 4}),
              HasSubstr("too large for int32"));
  options = EqOptions();
  EXPECT_FALSE(EqSearch(good.Weights(), {}, options, &context).ok());
  EXPECT_FALSE(
      EqSearch(good.Weights(), {good.Weights()}, options, &context).ok());
}

}  // namespace
}  // namespace ruy_like
