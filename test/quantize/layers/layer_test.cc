// That layers compute what weights and bias do is in conv_test.cc,
// depthwise_conv_test.cc and fully_connected_test.cc.
#include "ruy_like/quantize/layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ruy_like/quantize/bias.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/conv.h"
#include "ruy_like/quantize/depthwise_conv.h"
#include "ruy_like/quantize/fully_connected.h"
#include "ruy_like/quantize/make_layer.h"
#include "ruy_like/quantize/quantize_dequantize.h"
#include "test/quantize/expect_conv.h"
#include "test/quantize/lcg.h"
#include "test/quantize/reference_conv.h"
#include "test/support/count_allocations.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

class LayerTest : public testing::Test {
 protected:
  LayerTest()
      : x_(RandomVector<std::int8_t>(kBatch * kDepth, 1)),
        w_(RandomVector<std::int8_t>(kChannels * kDepth, -127, 127, 2)),
        bias_(kChannels, 1000),
        params_(kChannels, QuantParams{0.01f, 0, -127, 127}),
        out_(kBatch * kChannels, 77) {
    for (std::size_t c = 0; c < params_.size(); ++c) {
      params_[c].scale *= 1 + static_cast<float>(c) / 10;
    }
    weights_ = PackedWeights::Pack(RowMajorOf(w_, kChannels, kDepth), params_,
                                   &context_)
                   .value();
    depthwise_ =
        DepthwiseWeights::Pack(RowMajorOf(w_, kChannels, 1), params_).value();
  }
  TensorView<const std::int8_t> Input() const {
    return {x_.data(), {kBatch, 1, 1, kDepth, TensorOrder::kNhwc}, in_};
  }
  TensorView<std::int8_t> Output() {
    return {
        out_.data(), {kBatch, 1, 1, kChannels, TensorOrder::kNhwc}, result_};
  }
  absl::StatusOr<QuantizedLayer> Make() const {
    return QuantizedLayer::Make<std::int8_t, std::int8_t>(weights_, bias_, in_,
                                                          result_);
  }

  static constexpr std::ptrdiff_t kBatch = 3, kDepth = 50, kChannels = 20;
  Context context_;
  QuantParams in_ = {0.05f, 3, -128, 127}, result_ = {0.7f, -5, -128, 127};
  std::vector<std::int8_t> x_, w_;
  std::vector<std::int32_t> bias_;
  std::vector<QuantParams> params_;
  std::vector<std::int8_t> out_;
  PackedWeights weights_;
  DepthwiseWeights depthwise_;
};

// Results of ONNX Runtime 1.30 on x86-64 for weights with a zero point:
// QLinearMatMul, and QLinearConv of one, two (padded, with strides) and four
// groups, as numbers of uint8.
struct RuntimesIntegers {
  int weight_zero_point;
  std::vector<int> product, conv, grouped, depthwise;
};

// It gives these for activations of uint8, and 128 less for int8; from weights
// of int8 or, with 128 more, of uint8. By the scales of some channels a part of
// the sums are ties.
template <typename Q>
void ExpectRuntimesIntegers(const RuntimesIntegers& expected) {
  constexpr int kLowest = std::numeric_limits<Q>::lowest();
  SCOPED_TRACE(testing::Message()
               << expected.weight_zero_point << ", from " << kLowest);
  const auto bytes = [](std::size_t count, std::uint32_t seed, auto lowest) {
    Lcg lcg(seed);
    std::vector<decltype(lowest)> values(count);
    for (auto& value : values) {
      value = static_cast<decltype(lowest)>(
          lowest + static_cast<int>(lcg.Uniform() * 256));
    }
    return values;
  };
  const QuantParams in = {0.5f, kLowest + 120, kLowest, kLowest + 255},
                    out = {1, kLowest + 99, kLowest, kLowest + 255};
  const auto scales = [&](std::initializer_list<float> values) {
    std::vector<QuantParams> params;
    for (const float scale : values) {
      params.push_back({scale, expected.weight_zero_point, -128, 127});
    }
    return params;
  };
  Context context;
  const auto run = [&](const auto& weights, BiasSpan<Q> biases,
                       const std::vector<Q>& input, TensorShape in_shape,
                       TensorShape out_shape, const auto& operation) {
    std::vector<Q> result(CountOf(out_shape));
    TensorView<Q> output{result.data(), out_shape, out};
    EXPECT_OK(weights);
    const auto layer = QuantizedLayer::Make<Q, Q>(
        weights.value(), biases, in, out, MultiplierRounding::kFloat);
    EXPECT_OK(layer);
    const TensorView<const Q> tensor{input.data(), in_shape, in};
    EXPECT_OK(operation(tensor, layer.value(), &output));
    std::vector<int> of_uint8;
    for (const Q value : result) of_uint8.push_back(value - kLowest);
    return of_uint8;
  };
  const auto pack = [&](const std::vector<std::int8_t>& values,
                        std::ptrdiff_t rows,
                        const std::vector<QuantParams>& params, int groups) {
    PackWeightsOptions options;
    options.groups = groups;
    return PackedWeights::Pack(
        RowMajorOf(values, rows,
                   static_cast<std::ptrdiff_t>(values.size()) / rows),
        params, &context, options);
  };
  constexpr std::int8_t kInt8 = -128;
  constexpr Q kQ = kLowest;
  EXPECT_EQ(
      run(pack(bytes(48, 2, kInt8), 3, scales({0x1p-6f, 0x1p-7f, 0.0123f}), 1),
          {}, bytes(64, 1, kQ), {4, 1, 1, 16}, {4, 1, 1, 3},
          [&](const auto& tensor, const auto& layer, auto* output) {
            return FullyConnected(tensor, layer, &context, output);
          }),
      expected.product);

  const std::int32_t bias[] = {100, -201, 35, 7};
  const auto image = bytes(100, 3, kQ);
  const TensorShape in_shape = {1, 5, 5, 4, TensorOrder::kNchw},
                    of_three = {1, 3, 3, 3, TensorOrder::kNchw},
                    of_four = {1, 3, 3, 4, TensorOrder::kNchw};
  Window window = Square(3, 1, 1, 0);
  const auto conv = [&](const auto& tensor, const auto& layer, auto* output) {
    return Conv2D(tensor, layer, window, nullptr, &context, output);
  };
  EXPECT_EQ(run(pack(bytes(108, 4, kInt8), 3,
                     scales({0x1p-7f, 0x1p-8f, 0.00731f}), 1),
                absl::MakeConstSpan(bias, 3), image, in_shape, of_three, conv),
            expected.conv);
  const auto taps = bytes(36, 5, kInt8);
  const auto of_taps = scales({0x1p-7f, 0x1p-6f, 0.00731f, 0x1p-5f});
  EXPECT_EQ(
      run(pack(taps, 4, of_taps, 4), bias, image, in_shape, of_four, conv),
      expected.depthwise);
  EXPECT_EQ(run(DepthwiseWeights::Pack(RowMajorOf(taps, 4, 9), of_taps), bias,
                image, in_shape, of_four,
                [&](const auto& tensor, const auto& layer, auto* output) {
                  return DepthwiseConv2D(tensor, layer, window, nullptr,
                                         &context, output);
                }),
            expected.depthwise);
  window = Square(3, 2, 1, 1);
  EXPECT_EQ(run(pack(bytes(72, 6, kInt8), 4,
                     scales({0x1p-7f, 0x1p-6f, 0.00731f, 0x1p-8f}), 2),
                bias, image, in_shape, of_four, conv),
            expected.grouped);
}

TEST(FloatRoundingTest, GivesOnnxRuntimesIntegers) {
  const RuntimesIntegers all[] = {
      {0,
       {128, 88, 131, 213, 46, 0, 0, 80, 255, 110, 177, 0},
       {174, 188, 52,  0,   187, 0,   170, 199, 234, 124, 89,  0,   129, 24,
        50,  229, 148, 187, 117, 255, 255, 225, 0,   0,   123, 255, 109},
       {45,  78, 72,  80,  0,  135, 146, 115, 109, 197, 252, 255,
        255, 0,  200, 165, 94, 22,  72,  91,  128, 168, 83,  148,
        85,  77, 201, 89,  79, 92,  26,  72,  176, 151, 86,  103},
       {110, 87,  9,   109, 166, 107, 186, 43,  93, 0,   0,   86,
        10,  223, 209, 113, 0,   120, 0,   255, 47, 120, 168, 18,
        29,  171, 0,   0,   94,  241, 0,   255, 0,  0,   255, 0}},
      {3,
       {128, 88, 131, 216, 48, 0, 0, 75, 255, 115, 179, 0},
       {170, 176, 42,  0,   186, 0,   171, 198, 234, 122, 83,  0,   130, 23,
        50,  229, 148, 187, 114, 255, 255, 229, 0,   0,   124, 255, 108},
       {44,  75, 70,  80,  0,   137, 147, 118, 110, 194, 245, 255,
        255, 0,  203, 166, 101, 23,  70,  88,  127, 172, 81,  147,
        85,  78, 205, 88,  77,  91,  28,  70,  175, 151, 87,  105},
       {107, 84,  6,   107, 167, 107, 186, 44,  94, 0,   0,   83,
        14,  225, 213, 115, 0,   119, 0,   255, 47, 123, 167, 18,
        31,  171, 0,   0,   70,  221, 0,   255, 0,  0,   255, 0}}};
  for (const RuntimesIntegers& expected : all) {
    ExpectRuntimesIntegers<std::uint8_t>(expected);
    ExpectRuntimesIntegers<std::int8_t>(expected);
  }
}

TEST(FloatRoundingTest, WhatLayersRefuse) {
  Context context;
  const std::vector<std::int8_t> w = {1, 2};
  ASSERT_VALUE(
      const auto weights,
      PackedWeights::Pack(RowMajorOf(w, 1, 2), {ParamsOf(1e30f, 0)}, &context));
  const auto make = [&](float in_scale, MultiplierRounding rounding) {
    return QuantizedLayer::Make<std::int8_t, std::int8_t>(
               weights, {}, ParamsOf(in_scale, 0), ParamsOf(1, 0), rounding)
        .status();
  };
  EXPECT_OK(make(1, MultiplierRounding::kFloat));
  ExpectStatus(make(1e30f, MultiplierRounding::kFloat), kInvalid,
               {"scale of channel 0", "infinite"});
  ExpectStatus(make(1, MultiplierRounding::kTwice), kInvalid,
               {"no rounding 1"});
}

TEST_F(LayerTest, OwnsWhatItComputesWith) {
  auto output = Output();
  ASSERT_OK(
      FullyConnected(Input(), weights_, bias_, nullptr, &context_, &output));
  const std::vector<std::int8_t> expected = out_;
  const QuantizedLayer layer = Make().value();
  weights_ = PackedWeights();
  bias_.assign(bias_.size(), -5000);
  params_.clear();
  out_.assign(out_.size(), 77);
  ASSERT_OK(FullyConnected(Input(), layer, &context_, &output));
  EXPECT_EQ(out_, expected);
}

TEST_F(LayerTest, RunsWithoutAnAllocation) {
  if (!kCountsAllocations) GTEST_SKIP() << "allocations are not counted here";
  const QuantizedLayer layer = Make().value();
  auto output = Output();
  long before = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    before = allocation_count;
    ASSERT_OK(FullyConnected(Input(), layer, &context_, &output));
    ASSERT_OK(Conv2D(Input(), layer, Window(), nullptr, &context_, &output));
  }
  EXPECT_EQ(allocation_count, before);
}

TEST_F(LayerTest, BadArgumentsMakeNone) {
  const auto message = [&](const auto& made) {
    EXPECT_CODE(kInvalid, made);
    return std::string(made.status().message());
  };
  bias_[7] = INT32_MAX;
  EXPECT_THAT(message(Make()), HasSubstr("of channel 7"));
  bias_.pop_back();
  EXPECT_THAT(message(Make()), HasSubstr("19 biases for weights of 20"));
  bias_.clear();
  EXPECT_OK(Make());
  in_.zero_point = 200;
  EXPECT_THAT(message(Make()), HasSubstr("input: zero point is 200"));
  in_.zero_point = 0;
  result_.scale = 0;
  EXPECT_THAT(message(Make()), HasSubstr("output: scale is 0"));
  // Parameters of int32 outputs are not looked at.
  EXPECT_OK((QuantizedLayer::Make<std::int8_t, std::int32_t>(weights_, {}, in_,
                                                             result_)));
  EXPECT_THAT(message(QuantizedLayer::Make<std::int8_t, float>(
                  PackedWeights(), {}, in_, result_)),
              HasSubstr("weights are empty"));
}

TEST_F(LayerTest, TablesMustMakeTheOutput) {
  ASSERT_VALUE(const auto table, (ByteTable::Make<std::int8_t, std::int8_t>(
                                     ParamsOf(0.5f, 9), result_, Sigmoid)));
  const auto message = [&](auto out, const QuantParams& output) {
    const auto made = QuantizedLayer::Make<std::int8_t, decltype(out)>(
        weights_, {}, in_, output, MultiplierRounding::kOnce, &table);
    EXPECT_CODE(kInvalid, made);
    return std::string(made.status().message());
  };
  EXPECT_THAT(message(std::uint8_t{}, QuantParams{0.7f, 5, 0, 255}),
              HasSubstr("makes int8 with scale 0.7"));
  EXPECT_THAT(message(std::int32_t{}, result_), HasSubstr("output is int32"));
  EXPECT_THAT(message(float{}, result_), HasSubstr("output is float"));
  EXPECT_THAT(message(std::int8_t{}, table.input()),
              HasSubstr("output is int8 with scale 0.5 and zero point 9"));
  MakeLayerOptions options;
  options.table = &table;
  const std::vector<float> w(kChannels * kDepth, 0.5f);
  const auto layer = [&](const QuantParams& output) {
    return MakeFullyConnected<std::int8_t, std::int8_t>(
        RowMajorOf(w, kChannels, kDepth), {}, in_, output, &context_, options);
  };
  EXPECT_CODE(kInvalid, layer(table.input()));
  // Called with tensors as they are before the table.
  ASSERT_VALUE(const auto made, layer(result_));
  auto output = Output();
  output.params = table.input();
  ExpectStatus(FullyConnected(Input(), made, &context_, &output), kInvalid,
               {"of its output"});
  EXPECT_THAT(out_, Each(77));
}

TEST_F(LayerTest, TensorsMustBeThoseItWasMadeFor) {
  const QuantizedLayer layer = Make().value();
  const auto message = [&](const TensorView<const std::int8_t>& input,
                           const QuantizedLayer& some_layer,
                           const QuantParams& output_params) {
    auto output = Output();
    output.params = output_params;
    const absl::Status status =
        FullyConnected(input, some_layer, &context_, &output);
    EXPECT_CODE(kInvalid, status);
    EXPECT_CODE(kInvalid, Conv2D(input, some_layer, Window(), nullptr,
                                 &context_, &output));
    return std::string(status.message());
  };
  auto rescaled = Input();
  rescaled.params.scale = 1;
  EXPECT_THAT(message(rescaled, layer, result_), HasSubstr("of its input"));
  in_.qmin = -63;  // kernels for int7 would misread other values
  in_.qmax = 63;
  const QuantizedLayer int7 = Make().value();
  in_.qmin = -128;
  in_.qmax = 127;
  EXPECT_THAT(message(Input(), int7, result_), HasSubstr("of its input"));
  QuantParams relu = result_;
  relu.qmin = relu.zero_point;
  EXPECT_THAT(message(Input(), layer, relu), HasSubstr("of its output"));
  EXPECT_THAT(message(Input(), QuantizedLayer(), result_),
              HasSubstr("weights"));
  ASSERT_VALUE(const auto for_channels,
               QuantizedLayer::Make<std::int8_t, std::int8_t>(depthwise_, {},
                                                              in_, result_));
  EXPECT_THAT(message(Input(), for_channels, result_), HasSubstr("weights"));
  auto output = Output();
  EXPECT_CODE(kInvalid, DepthwiseConv2D(Input(), layer, Window(), nullptr,
                                        nullptr, &output));
  EXPECT_CODE(kInvalid, DepthwiseConv2D(Input(), QuantizedLayer(), Window(),
                                        nullptr, nullptr, &output));
  // Another type.
  TensorView<float> floats;
  std::vector<float> float_out(out_.size());
  floats.data = float_out.data();
  floats.shape = output.shape;
  EXPECT_FALSE(FullyConnected(Input(), layer, &context_, &floats).ok());
  EXPECT_THAT(out_, Each(77));
}

// ## From float weights

class MakeLayerTest : public LayerTest {
 protected:
  MakeLayerTest() : float_w_(kChannels * kDepth), float_bias_(kChannels) {
    for (std::size_t i = 0; i < float_w_.size(); ++i) {
      const std::size_t row = i / kDepth;
      float_w_[i] = static_cast<float>(w_[i]) * (row == 3 ? 0.0f : 0.011f) *
                    static_cast<float>(row + 1);
    }
    for (std::size_t c = 0; c < float_bias_.size(); ++c) {
      float_bias_[c] = static_cast<float>(c) - 7.5f;
    }
  }
  Matrix<float> Weights() { return RowMajorOf(float_w_, kChannels, kDepth); }
  absl::StatusOr<QuantizedLayer> MakeConv(
      const MakeLayerOptions& options = {}) {
    return MakeConv2D<std::int8_t, std::int8_t>(Weights(), float_bias_, in_,
                                                result_, &context_, options);
  }
  // float(sum of w * x) + bias for output i.
  double Exact(std::size_t i) const {
    const std::size_t n = i / kChannels, c = i % kChannels;
    double sum = float_bias_[c];
    for (std::size_t k = 0; k < kDepth; ++k) {
      sum += static_cast<double>(float_w_[c * kDepth + k]) * in_.scale *
             (x_[n * kDepth + k] - in_.zero_point);
    }
    return sum;
  }

  std::vector<float> float_w_, float_bias_;
};

// Within what rounding of each weight, bias and output by half a step allows.
TEST_F(MakeLayerTest, ComputesTheFloatLayer) {
  for (const bool per_channel : {true, false}) {
    for (const int bits : {8, 7}) {
      MakeLayerOptions options;
      options.per_channel = per_channel;
      options.weight_bits = bits;
      ASSERT_VALUE(const auto layer, MakeFullyConnected<std::int8_t, float>(
                                         Weights(), float_bias_, in_, result_,
                                         &context_, options));
      std::vector<float> y(out_.size());
      TensorView<float> output{y.data(), Output().shape, {}};
      ASSERT_OK(FullyConnected(Input(), layer, &context_, &output));
      const double qmax = bits == 8 ? 127 : 63;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const double largest =
            127 * 0.011 *
            (per_channel ? static_cast<double>(i % kChannels + 1) : kChannels);
        EXPECT_NEAR(y[i], Exact(i), 0.51 * largest / qmax * kDepth * 131 * 0.05)
            << i;
        if (i % kChannels == 3) {
          EXPECT_FLOAT_EQ(y[i], float_bias_[3]);
        }
      }
    }
  }
}

// The same as the four steps by hand.
TEST_F(MakeLayerTest, EqualsItsSteps) {
  result_.scale = 3;
  const auto params =
      ChooseSymmetricChannels(Weights(), ChannelDimension::kRow, 8).value();
  std::vector<std::int8_t> q(float_w_.size());
  Matrix<std::int8_t> matrix = RowMajorOf(q, kChannels, kDepth);
  ASSERT_OK(QuantizeRows(Weights(), params, &matrix));
  ASSERT_OK(QuantizeBias(float_bias_, in_, params, absl::MakeSpan(bias_)));
  const auto packed = PackedWeights::Pack(matrix, params, &context_).value();
  auto output = Output();
  ASSERT_OK(
      FullyConnected(Input(), packed, bias_, nullptr, &context_, &output));
  const std::vector<std::int8_t> expected = out_;
  ASSERT_VALUE(const auto layer, MakeConv());
  out_.assign(out_.size(), 77);
  ASSERT_OK(Conv2D(Input(), layer, Window(), nullptr, &context_, &output));
  EXPECT_EQ(out_, expected);
}

// int16 to int16: half a step of each weight, and the multiplier's 15 bits.
TEST_F(MakeLayerTest, OfInt16ComputesTheFloatLayer) {
  constexpr std::ptrdiff_t kDeep = 2000;
  const auto x = RandomVector<std::int16_t>(2 * kDeep, 3);
  std::vector<float> w;
  Rng rng(4);
  for (std::ptrdiff_t i = 0; i < 2 * kDeep; ++i) {
    w.push_back(static_cast<float>(std::pow(rng.Signed(), 5)));
  }
  const float bias[] = {3, -400};
  const QuantParams in = {0.01f, 0, -32768, 32767},
                    out = {0.25f, 0, -32768, 32767};
  ASSERT_VALUE(const auto layer,
               (MakeFullyConnected<std::int16_t, std::int16_t>(
                   RowMajorOf(w, 2, kDeep), bias, in, out, &context_)));
  std::vector<std::int16_t> y(4);
  TensorView<std::int16_t> output{y.data(), {2, 1, 1, 2}, out};
  ASSERT_OK(FullyConnected(
      TensorView<const std::int16_t>{x.data(), {2, 1, 1, kDeep}, in}, layer,
      &context_, &output));
  for (int i = 0; i < 4; ++i) {
    double sum = bias[i % 2], lost = 0;
    for (std::ptrdiff_t k = 0; k < kDeep; ++k) {
      const double value = 0.01f * x[i / 2 * kDeep + k];
      sum += value * w[i % 2 * kDeep + k];
      lost += value * value / (127.0 * 127 * 12);
    }
    EXPECT_NEAR(y[i] * 0.25, sum, 5 * std::sqrt(lost) + 0.25) << i;
  }
  // The same sums, over a row of taps.
  Window window;
  window.kernel_width = kDeep;
  ASSERT_VALUE(const auto depthwise,
               (MakeDepthwiseConv2D<std::int16_t, std::int16_t>(
                   RowMajorOf(w, 2, kDeep), bias, in, out, &context_)));
  const std::vector<std::int16_t> of_product = y;
  ASSERT_OK(DepthwiseConv2D(
      TensorView<const std::int16_t>{x.data(), {2, 1, kDeep, 1}, in}, depthwise,
      window, nullptr, &context_, &output));
  EXPECT_EQ(y, of_product);
  const std::vector<float> ones(2 * kDeep, 1);
  EXPECT_CODE(kInvalid,
              (MakeFullyConnected<std::int16_t, std::int16_t>(
                  RowMajorOf(ones, 2, kDeep), bias, in, out, &context_)));
  // The activations' zero points.
  for (const auto& [input, result] :
       {std::pair(in, QuantParams{0.1f, 1, -32768, 32767}),
        std::pair(QuantParams{0.1f, 1, -32768, 32767}, out)}) {
    ExpectStatus(MakeFullyConnected<std::int16_t, std::int16_t>(
                     RowMajorOf(w, 2, kDeep), bias, input, result, &context_)
                     .status(),
                 kInvalid, {"zero point is 1, must be 0 for int16"});
  }
}

// Biases fit the sums' parameters: a table's steps are far finer here.
TEST_F(MakeLayerTest, EndsInATable) {
  result_.scale = 3;
  ASSERT_VALUE(const auto table, (ByteTable::Make<std::int8_t, std::uint8_t>(
                                     result_, {0x1p-8f, 0, 0, 255}, Sigmoid)));
  MakeLayerOptions options;
  ASSERT_VALUE(const auto without, MakeConv(options));
  options.table = &table;
  ASSERT_VALUE(const auto layer, (MakeConv2D<std::int8_t, std::uint8_t>(
                                     Weights(), float_bias_, in_,
                                     table.output(), &context_, options)));
  auto output = Output();
  std::vector<std::uint8_t> expected(out_.size()), out(out_.size());
  TensorView<std::uint8_t> result{expected.data(), output.shape,
                                  table.output()};
  ASSERT_OK(FullyConnected(Input(), without, &context_, &output));
  ASSERT_OK(ApplyTable(
      TensorView<const std::int8_t>{out_.data(), output.shape, result_}, table,
      nullptr, &result));
  result.data = out.data();
  ASSERT_OK(FullyConnected(Input(), layer, &context_, &result));
  EXPECT_EQ(out, expected);
}

TEST_F(MakeLayerTest, TakesTheWeightsParameters) {
  const auto run = [&](const MakeLayerOptions& options) {
    const auto layer = MakeConv(options);
    EXPECT_OK(layer);
    out_.assign(out_.size(), 77);
    auto output = Output();
    EXPECT_TRUE(
        layer.ok() &&
        Conv2D(Input(), *layer, Window(), nullptr, &context_, &output).ok());
    return out_;
  };
  result_.scale = 3;
  MakeLayerOptions seven, given;
  seven.weight_bits = 7;
  const auto params =
      ChooseSymmetricChannels(Weights(), ChannelDimension::kRow, 7).value();
  given.weight_params = params;
  given.per_channel = false;  // not looked at
  EXPECT_EQ(run(given), run(seven));
  EXPECT_NE(run(given), run(MakeLayerOptions()));
  given.weight_params = absl::MakeConstSpan(params.data(), 1);
  EXPECT_NE(run(given), run(seven));
}

TEST_F(MakeLayerTest, RunsWithoutAnAllocation) {
  if (!kCountsAllocations) GTEST_SKIP() << "allocations are not counted here";
  const Window window = Square(3, 1, 1, 1);
  ASSERT_VALUE(const auto conv,
               MakeConv2D<std::int8_t, std::int8_t>(
                   RowMajorOf(float_w_, 4, 36), {}, in_, result_, &context_));
  ASSERT_VALUE(const auto depthwise,
               MakeDepthwiseConv2D<std::int8_t, std::int8_t>(
                   RowMajorOf(float_w_, 4, 9), {}, in_, result_, &context_));
  ASSERT_VALUE(const auto connected,
               MakeFullyConnected<std::int8_t, std::int8_t>(
                   RowMajorOf(float_w_, 4, 36), {}, in_, result_, &context_));
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    const TensorView<const std::int8_t> image = {
        x_.data(), {1, 3, 3, 4, order}, in_};
    TensorView<std::int8_t> result = {out_.data(), image.shape, result_};
    TensorView<std::int8_t> few = {out_.data(), {1, 1, 1, 4, order}, result_};
    Workspace workspace;
    long before = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
      before = allocation_count;
      ASSERT_OK(Conv2D(image, conv, window, &workspace, &context_, &result));
      ASSERT_OK(DepthwiseConv2D(image, depthwise, window, &workspace, &context_,
                                &result));
      ASSERT_OK(FullyConnected(image, connected, &context_, &few));
    }
    EXPECT_EQ(allocation_count, before);
  }
}

TEST_F(MakeLayerTest, BadArguments) {
  MakeLayerOptions options;
  const auto message = [&] {
    const auto layer = MakeConv(options);
    EXPECT_CODE(kInvalid, layer);
    return std::string(layer.status().message());
  };
  for (const int bits : {1, 9, 99}) {
    options.weight_bits = bits;
    EXPECT_THAT(message(), HasSubstr("must be in [2, 8]"));
  }
  options.weight_bits = 8;
  options.groups = 3;
  EXPECT_THAT(message(), HasSubstr("in 3 groups"));
  options.groups = 1;
  std::vector<QuantParams> params(kChannels - 1);
  options.weight_params = params;
  EXPECT_THAT(message(), HasSubstr("19 QuantParams"));
  params.resize(kChannels);
  params.back().zero_point = 1;
  options.weight_params = params;
  EXPECT_THAT(message(), HasSubstr("zero point of weight_params is 1"));
  params.back() = {0, 0, -127, 127};
  EXPECT_THAT(message(), HasSubstr("scale"));
  options.weight_params = {};
  float_bias_[2] = kInf;
  EXPECT_THAT(message(), HasSubstr("bias of channel 2 is inf"));
  float_bias_.pop_back();
  EXPECT_THAT(message(), HasSubstr("19 biases"));
  float_bias_.clear();
  float_w_[7] = kInf;
  EXPECT_THAT(message(), HasSubstr("finite"));
  float_w_[7] = 0;
  in_.scale = 0;
  EXPECT_THAT(message(), HasSubstr("scale is 0"));
  in_.scale = 1;
  EXPECT_CODE(kInvalid, MakeConv2D<std::int8_t, float>(Weights(), {}, in_,
                                                       result_, nullptr));
  EXPECT_CODE(kInvalid, MakeDepthwiseConv2D<std::int8_t, float>(
                            Matrix<float>(), {}, in_, result_, &context_));
}

// A valid call takes a short way through the checks; these must not.
TEST_F(LayerTest, HostileTensorsAreRefused) {
  const QuantizedLayer layer = Make().value();
  const auto code = [&](const TensorView<const std::int8_t>& input,
                        TensorView<std::int8_t> output) {
    return FullyConnected(input, layer, &context_, &output).code();
  };
  auto input = Input();
  // kDepth elements by two's complement alone.
  input.shape.height = -1;
  input.shape.channels = -kDepth;
  EXPECT_EQ(code(input, Output()), kInvalid);
  input = Input();
  input.shape.height = PTRDIFF_MAX;
  EXPECT_EQ(code(input, Output()), kOutOfRange);
  input = Input();
  input.shape.order = static_cast<TensorOrder>(2);
  EXPECT_EQ(code(input, Output()), kInvalid);
  input = Input();
  input.data = nullptr;
  EXPECT_EQ(code(input, Output()), kInvalid);
  input = Input();
  input.shape.batch = kBatch - 1;
  EXPECT_EQ(code(input, Output()), kInvalid);
  input = Input();
  input.shape.channels = kDepth - 1;
  EXPECT_EQ(code(input, Output()), kInvalid);
  auto output = Output();
  output.data = nullptr;
  EXPECT_EQ(code(Input(), output), kInvalid);
  output = Output();
  output.shape.channels = kChannels + 1;
  EXPECT_EQ(code(Input(), output), kInvalid);
  EXPECT_CODE(kInvalid, FullyConnected(Input(), layer, nullptr, &output));
  TensorView<std::int8_t>* const null_output = nullptr;
  EXPECT_CODE(kInvalid, FullyConnected(Input(), layer, &context_, null_output));
  // Output beginning at input's last byte, and ending at its first.
  for (const std::ptrdiff_t offset :
       {kBatch * kDepth - 1, -(kBatch * kChannels - 1)}) {
    std::vector<std::int8_t> memory(1000, 77);
    input = Input();
    input.data = memory.data() + 500;
    output = Output();
    output.data = memory.data() + 500 + offset;
    EXPECT_EQ(code(input, output), kInvalid) << offset;
    EXPECT_THAT(memory, Each(77));
    output.data += offset > 0 ? 1 : -1;
    EXPECT_EQ(code(input, output), kOk) << offset;
  }
  EXPECT_THAT(out_, Each(77));
  // No images: nothing is read or written, data or not.
  input.shape.batch = output.shape.batch = 0;
  input.data = nullptr;
  output.data = nullptr;
  EXPECT_EQ(code(input, output), kOk);
}

}  // namespace
}  // namespace ruy_like
