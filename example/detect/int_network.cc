#include "example/detect/int_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace detect {
namespace {

using ruy_like::ByteTable;
using ruy_like::QuantizedLayer;
using ruy_like::QuantParams;
using ruy_like::TensorView;

// The parameters of a step's weights: one, or one per output channel.
absl::StatusOr<std::vector<QuantParams>> ChooseWeightParams(
    const Step& step, const IntOptions& options) {
  if (options.per_channel) {
    return ChooseSymmetricChannels(
        WeightsOf(step), ruy_like::ChannelDimension::kRow, options.weight_bits);
  }
  float largest = 0;
  for (const float w : step.weights) largest = std::max(largest, std::abs(w));
  const auto params = ruy_like::ChooseSymmetric(largest, options.weight_bits);
  if (!params.ok()) return params.status();
  return std::vector<QuantParams>{*params};
}

template <typename Out>
absl::StatusOr<QuantizedLayer> MakeLayer(
    const Step& step, absl::Span<const float> bias, const QuantParams& input,
    const QuantParams& output, ruy_like::Context* context,
    const ruy_like::MakeLayerOptions& options) {
  if (step.kind == Kind::kDepthwise) {
    return ruy_like::MakeDepthwiseConv2D<std::int8_t, Out>(
        WeightsOf(step), bias, input, output, context, options);
  }
  return ruy_like::MakeConv2D<std::int8_t, Out>(WeightsOf(step), bias, input,
                                                output, context, options);
}

}  // namespace

bool Calibrate(const Network& network,
               const std::vector<std::vector<float>>& inputs,
               ruy_like::Context* context, Calibration* calibration,
               std::string* error) {
  const std::size_t count = network.steps.size() + 1;
  calibration->observers.assign(count, {});
  std::vector<std::vector<double>> sums(count);
  absl::Status status;
  for (const std::vector<float>& input : inputs) {
    std::size_t i = 0;
    RunFloat(
        network, input,
        [&](const std::vector<float>& x) {
          status.Update(calibration->observers[i].Observe(
              absl::MakeConstSpan(x), context));
          const auto channels = static_cast<std::size_t>(
              i == 0 ? network.input.channels
                     : network.steps[i - 1].out.channels);
          sums[i].resize(channels);
          for (std::size_t at = 0; at < x.size(); at += channels) {
            for (std::size_t c = 0; c < channels; ++c) {
              sums[i][c] += static_cast<double>(x[at + c]);
            }
          }
          ++i;
        },
        context, nullptr);
  }
  calibration->channel_means.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const double pixels =
        static_cast<double>(calibration->observers[i].finite_count()) /
        static_cast<double>(sums[i].size());
    for (const double sum : sums[i]) {
      calibration->channel_means[i].push_back(static_cast<float>(sum / pixels));
    }
  }
  if (!status.ok()) *error = status.ToString();
  return status.ok();
}

absl::Status IntNetwork::MakeStep(const Step& step,
                                  const std::vector<float>& input_means,
                                  const QuantParams& output,
                                  const WeightScales::value_type& scales,
                                  const IntOptions& options,
                                  ruy_like::Context* context) {
  const QuantParams& input = params_[step.source];
  if (step.kind == Kind::kLeaky) {
    const auto table = ByteTable::Make<std::int8_t, std::int8_t>(
        input, output,
        [](float x) { return ruy_like::LeakyRelu(x, kLeakySlope); });
    if (table.ok()) tables_.push_back(*table);
    return table.status();
  }
  if (!HasWeights(step)) return absl::OkStatus();
  std::vector<QuantParams> params = scales;
  if (params.empty()) {
    auto chosen = ChooseWeightParams(step, options);
    if (!chosen.ok()) return chosen.status();
    params = *std::move(chosen);
  }
  std::vector<float> bias = step.bias;
  if (options.correct_bias) {
    bias.resize(static_cast<std::size_t>(step.out.channels), 0.0f);
    const absl::Status status = CorrectBias(
        WeightsOf(step), params, input_means, absl::MakeSpan(bias),
        step.kind == Kind::kDepthwise ? ruy_like::ChannelColumns::kDepthwise
                                      : ruy_like::ChannelColumns::kInnermost);
    if (!status.ok()) return status;
  }
  ruy_like::MakeLayerOptions layer_options;
  layer_options.weight_params = params;
  auto layer =
      step.is_output
          ? MakeLayer<float>(step, bias, input, output, context, layer_options)
          : MakeLayer<std::int8_t>(step, bias, input, output, context,
                                   layer_options);
  if (!layer.ok()) return layer.status();
  layers_.back() = *std::move(layer);
  weight_bytes_ +=
      step.weights.size() + static_cast<std::size_t>(step.out.channels) *
                                (params.size() > 1 ? 12 : 4);
  return absl::OkStatus();
}

bool IntNetwork::Make(const Network& network, const Calibration& calibration,
                      const IntOptions& options, ruy_like::Context* context,
                      std::string* error) {
  network_ = &network;
  ruy_like::CalibrationOptions choice;
  choice.method = options.method;
  choice.scheme = ruy_like::QuantScheme::kAffineSigned;
  auto largest = static_cast<std::size_t>(Count(network.input));
  for (std::size_t i = 0; i <= network.steps.size(); ++i) {
    const auto params = calibration.observers[i].ChooseParams(choice);
    absl::Status status = params.status();
    if (i == 0) {
      if (status.ok()) params_.push_back(*params);
    } else if (status.ok()) {
      const Step& step = network.steps[i - 1];
      // Pooling keeps its input's parameters.
      params_.push_back(step.kind == Kind::kPool ? params_[step.source]
                                                 : *params);
      largest = std::max(largest, static_cast<std::size_t>(Count(step.out)));
      layers_.emplace_back();
      status =
          MakeStep(step, calibration.channel_means[step.source], params_.back(),
                   options.scales == nullptr ? WeightScales::value_type()
                                             : (*options.scales)[i - 1],
                   options, context);
    }
    if (!status.ok()) {
      *error = (i == 0 ? "input" : network.steps[i - 1].name) + ": " +
               status.ToString();
      return false;
    }
  }
  for (auto& buffer : buffers_) buffer.resize(largest);
  return true;
}

Outputs IntNetwork::Run(const std::vector<float>& input,
                        ruy_like::Context* context, Times* times,
                        std::string* error) {
  absl::Status status =
      Quantize(absl::MakeConstSpan(input), params_[0],
               absl::MakeSpan(buffers_[0].data(), input.size()), context);
  TensorView<const std::int8_t> x = {buffers_[0].data(), network_->input,
                                     params_[0]};
  std::size_t to = 1, table = 0;
  Outputs outputs;
  for (std::size_t i = 0; i < network_->steps.size() && status.ok(); ++i) {
    const Step& step = network_->steps[i];
    TensorView<std::int8_t> y = {buffers_[to].data(), step.out, params_[i + 1]};
    const Stopwatch stopwatch;
    if (step.is_output) {
      outputs.emplace_back(static_cast<std::size_t>(Count(step.out)));
      TensorView<float> output = {outputs.back().data(), step.out, {}};
      status =
          Conv2D(x, layers_[i], step.window, &workspace_, context, &output);
    } else if (step.kind == Kind::kLeaky) {
      y.data = buffers_[1 - to].data();  // in place
      status = ApplyTable(x, tables_[table++], context, &y);
    } else if (step.kind == Kind::kPool) {
      status = MaxPool2D(x, step.window, &workspace_, context, &y);
    } else if (step.kind == Kind::kDepthwise) {
      status =
          DepthwiseConv2D(x, layers_[i], step.window, &workspace_, context, &y);
    } else {
      status = Conv2D(x, layers_[i], step.window, &workspace_, context, &y);
    }
    if (times != nullptr) times->push_back(stopwatch.Milliseconds());
    if (step.is_output) continue;
    x = {y.data, y.shape, y.params};
    if (step.kind != Kind::kLeaky) to = 1 - to;
  }
  if (status.ok()) return outputs;
  *error = status.ToString();
  return {};
}

}  // namespace detect
