#include "example/quantize/quantized_net.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace digits {

using ruy_like::ChannelDimension;
using ruy_like::Matrix;
using ruy_like::Order;
using ruy_like::QuantParams;
using ruy_like::TensorShape;
using ruy_like::TensorView;

namespace {

TensorShape Shape(int images, int side, int channels) {
  TensorShape shape;
  shape.batch = images;
  shape.height = side;
  shape.width = side;
  shape.channels = channels;
  return shape;
}

// 2x2 max pooling of a layer's output.
absl::Status Pool(const Layer& layer, const std::int8_t* input,
                  const QuantParams& params, int images,
                  ruy_like::Context* context, std::int8_t* output) {
  const TensorView<const std::int8_t> from = {
      input, Shape(images, layer.conv_side(), layer.out_channels), params};
  TensorView<std::int8_t> to = {
      output, Shape(images, layer.out_side(), layer.out_channels), params};
  ruy_like::Window window;
  window.kernel_height = window.kernel_width = 2;
  window.stride_height = window.stride_width = 2;
  return MaxPool2D(from, window, nullptr, context, &to);
}

}  // namespace

absl::StatusOr<std::vector<ruy_like::BatchNormReport>> FoldBatchNorms(
    FloatNet* net) {
  std::vector<ruy_like::BatchNormReport> reports;
  for (Layer& layer : *net) {
    if (!layer.has_batch_norm()) continue;
    const BatchNorm& norm = layer.batch_norm;
    Matrix<float> weights = WeightMatrix(layer);
    weights.set_data(layer.weights.data());
    auto report = ruy_like::FoldBatchNorm(
        {norm.gamma, norm.beta, norm.mean, norm.variance, kBatchNormEpsilon},
        &weights, absl::MakeSpan(layer.bias));
    if (!report.ok()) return report.status();
    reports.push_back(*std::move(report));
    layer.batch_norm = BatchNorm();
  }
  return reports;
}

absl::StatusOr<std::vector<QuantizedLayer>> ChooseParams(
    const FloatNet& folded, absl::Span<const QuantParams> inputs,
    const WeightOptions& options) {
  if (inputs.size() != folded.size()) {
    return absl::InvalidArgumentError("not one range for each layer's input");
  }
  std::vector<QuantizedLayer> layers;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    auto params = ruy_like::ChooseSymmetricChannels(
        WeightMatrix(folded[i]), ChannelDimension::kRow, options.bits);
    if (!params.ok()) return params.status();
    if (!options.per_channel) {
      // One scale for all: that of the largest weight.
      const auto by_scale = [](const QuantParams& a, const QuantParams& b) {
        return a.scale < b.scale;
      };
      *params = {*std::max_element(params->begin(), params->end(), by_scale)};
    }
    layers.push_back({*std::move(params), inputs[i]});
  }
  return layers;
}

absl::StatusOr<QuantizedNet> QuantizedNet::Make(
    const FloatNet& folded, absl::Span<const QuantizedLayer> layers,
    ruy_like::Context* context) {
  if (layers.size() != folded.size()) {
    return absl::InvalidArgumentError("not as many quantized layers as layers");
  }
  QuantizedNet net;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    const Layer& layer = folded[i];
    std::vector<std::int8_t> values(layer.weights.size());
    Matrix<std::int8_t> quantized;
    *quantized.mutable_layout() = WeightMatrix(layer).layout();
    quantized.set_data(values.data());
    absl::Status status =
        QuantizeChannels(WeightMatrix(layer), layers[i].weight_params,
                         ChannelDimension::kRow, &quantized, context);
    if (!status.ok()) return status;
    auto packed = ruy_like::PackedWeights::Pack(
        quantized, layers[i].weight_params, context);
    if (!packed.ok()) return packed.status();
    std::vector<std::int32_t> bias(layer.bias.size());
    const auto saturated =
        ruy_like::QuantizeBias(layer.bias, layers[i].input,
                               layers[i].weight_params, absl::MakeSpan(bias));
    if (!saturated.ok()) return saturated.status();
    Step step = {layer, *std::move(packed), layers[i].input, std::move(bias),
                 layer.bias};
    step.shape.weights.clear();
    net.steps_.push_back(std::move(step));
  }
  return net;
}

template <typename Out>
absl::Status QuantizedNet::RunStep(const Step& step, const std::int8_t* input,
                                   const QuantParams& input_params,
                                   const QuantParams& output_params, int images,
                                   ruy_like::Context* context,
                                   std::vector<Out>* output) const {
  const Layer& shape = step.shape;
  const TensorView<const std::int8_t> from = {
      input, Shape(images, shape.in_side, shape.in_channels), input_params};
  output->resize(std::size_t{1} * images * shape.conv_side() *
                 shape.conv_side() * shape.out_channels);
  TensorView<Out> to = {output->data(),
                        Shape(images, shape.conv_side(), shape.out_channels),
                        output_params};
  ruy_like::BiasSpan<Out> bias;
  if constexpr (sizeof(Out) == 1) {
    bias = step.bias;
    // The ReLU: nothing below the stored 0.
    if (shape.relu) to.params.qmin = to.params.zero_point;
  } else {
    bias = step.float_bias;
  }
  if (shape.kernel == shape.in_side && shape.padding == 0) {
    return FullyConnected(from, step.weights, bias, nullptr, context, &to);
  }
  ruy_like::Window window;
  window.kernel_height = window.kernel_width = shape.kernel;
  window.padding = {shape.padding, shape.padding, shape.padding, shape.padding};
  return Conv2D(from, step.weights, bias, window, nullptr, context, &to);
}

absl::StatusOr<std::vector<float>> QuantizedNet::Run(
    const std::vector<float>& pixels, int images,
    ruy_like::Context* context) const {
  std::vector<std::int8_t> values(pixels.size());
  absl::Status status =
      ruy_like::Quantize(absl::MakeConstSpan(pixels), steps_[0].input,
                         absl::MakeSpan(values), context);
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
    if (!status.ok()) return status;
    const Layer& shape = steps_[i].shape;
    const QuantParams& output_params = steps_[i + 1].input;
    std::vector<std::int8_t> output;
    status = RunStep(steps_[i], values.data(), steps_[i].input, output_params,
                     images, context, &output);
    if (status.ok() && shape.pool) {
      values.resize(images * shape.out_elements());
      status = Pool(shape, output.data(), output_params, images, context,
                    values.data());
    } else {
      values = std::move(output);
    }
  }
  if (!status.ok()) return status;
  std::vector<float> logits;
  status = RunStep(steps_.back(), values.data(), steps_.back().input, {},
                   images, context, &logits);
  if (!status.ok()) return status;
  return logits;
}

absl::StatusOr<std::vector<float>> QuantizedNet::RunDynamic(
    const std::vector<float>& pixels, int images,
    ruy_like::Context* context) const {
  std::vector<float> values = pixels;
  for (const Step& step : steps_) {
    const auto ends = std::minmax_element(values.begin(), values.end());
    const auto params =
        ruy_like::ChooseAffine(*ends.first, *ends.second, -128, 127);
    if (!params.ok()) return params.status();
    std::vector<std::int8_t> input(values.size());
    absl::Status status = ruy_like::Quantize(
        absl::MakeConstSpan(values), *params, absl::MakeSpan(input), context);
    std::vector<float> output;
    if (status.ok()) {
      status =
          RunStep(step, input.data(), *params, {}, images, context, &output);
    }
    if (!status.ok()) return status;
    if (step.shape.relu) {
      for (float& value : output) value = std::max(value, 0.0f);
    }
    if (step.shape.pool) {
      MaxPool(output.data(), images, step.shape.conv_side(),
              step.shape.out_channels, &values, nullptr);
    } else {
      values = std::move(output);
    }
  }
  return values;
}

std::size_t QuantizedNet::weight_bytes() const {
  std::size_t bytes = 0;
  for (const Step& step : steps_) {
    bytes += static_cast<std::size_t>(step.weights.channels() *
                                      step.weights.depth()) +
             step.weights.params().size() * sizeof(float) +
             step.bias.size() * sizeof(std::int32_t);
  }
  return bytes;
}

}  // namespace digits
