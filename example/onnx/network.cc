#include "example/onnx/network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onnx {
namespace {

using ruy_like::ColMajor;
using ruy_like::RowMajor;

// The windows' elements of the channels [first, first + count) of an image, a
// row for each tap of each channel; padding is zeros.
void Gather(const ruy_like::Window& window, const Dims& in, const Dims& out,
            const float* image, std::ptrdiff_t first, std::ptrdiff_t count,
            std::vector<float>* patches) {
  std::fill(patches->begin(), patches->end(), 0.0f);
  float* to = patches->data();
  for (std::ptrdiff_t c = first; c < first + count; ++c) {
    const float* const plane = image + c * in[2] * in[3];
    for (std::ptrdiff_t i = 0; i < window.kernel_height; ++i) {
      for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j) {
        for (std::ptrdiff_t y = 0; y < out[2]; ++y, to += out[3]) {
          const std::ptrdiff_t sy = y * window.stride_height +
                                    i * window.dilation_height -
                                    window.padding.top;
          if (sy < 0 || sy >= in[2]) continue;
          std::ptrdiff_t sx = j * window.dilation_width - window.padding.left;
          for (std::ptrdiff_t x = 0; x < out[3]; ++x) {
            if (sx >= 0 && sx < in[3]) to[x] = plane[sy * in[3] + sx];
            sx += window.stride_width;
          }
        }
      }
    }
  }
}

absl::Status RunConv(const Product& product, const Tensor& x, const Call& call,
                     Tensor* y) {
  const std::ptrdiff_t channels = x.dims[1] / product.groups,
                       rows = product.rows / product.groups,
                       pixels = y->dims[2] * y->dims[3];
  const ruy_like::Window& window = product.window;
  const bool in_place = window.kernel_height * window.kernel_width == 1 &&
                        window.stride_height * window.stride_width == 1 &&
                        x.dims[2] == y->dims[2] && x.dims[3] == y->dims[3];
  auto patches = call.Make({in_place ? 0 : product.depth, pixels});
  if (!patches.ok()) return patches.status();
  ruy_like::MulParams<float, float> params;
  for (std::ptrdiff_t n = 0; n < x.dims[0]; ++n) {
    const float* const image =
        x.values.data() + n * x.dims[1] * x.dims[2] * x.dims[3];
    for (std::ptrdiff_t g = 0; g < product.groups; ++g) {
      const float* columns = image + g * channels * pixels;
      if (!in_place) {
        Gather(window, x.dims, y->dims, image, g * channels, channels,
               &patches->values);
        columns = patches->values.data();
      }
      params.set_bias(product.bias.data() + g * rows);
      auto dst =
          RowMajor(y->values.data() + (n * product.rows + g * rows) * pixels,
                   rows, pixels);
      const absl::Status status = Mul(
          RowMajor(product.weights.data() + g * rows * product.depth, rows,
                   product.depth),
          RowMajor(columns, product.depth, pixels), params, call.context, &dst);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> RunProduct(const Network& network, const Step& step,
                                  const Tensor& x, ruy_like::Context* context,
                                  Budget* budget) {
  Node node;
  node.op = step.op;
  node.name = step.name;
  const Call call = {node, network.opset, {}, context, budget};
  const Product& product = step.product;
  auto y = call.Make(network.dims.at(step.output), product.depth);
  if (!y.ok()) return y;
  absl::Status status;
  if (product.is_conv) {
    status = RunConv(product, x, call, &*y);
  } else {
    const std::ptrdiff_t rows = CountOf(x.dims) / product.depth;
    ruy_like::MulParams<float, float> params;
    params.set_bias(product.bias.data());
    params.set_channel_dimension(ruy_like::ChannelDimension::kCol);
    auto dst = RowMajor(y->values.data(), rows, product.rows);
    status = Mul(RowMajor(x.values.data(), rows, product.depth),
                 ColMajor(product.weights.data(), product.depth, product.rows),
                 params, context, &dst);
  }
  if (!status.ok()) return status;
  return y;
}

// True if f(s * x) = s * f(x), as far as powers of two show it.
bool IsHomogeneous(const Network& network, const Step& step,
                   ruy_like::Context* context) {
  Tensors written;
  Tensor& x = written[step.inputs[0]];
  for (int exponent = -20; exponent <= 20; ++exponent) {
    x.values.push_back(std::ldexp(1.0f, exponent));
    x.values.push_back(-std::ldexp(1.0f, exponent));
  }
  x.dims = {static_cast<std::ptrdiff_t>(x.values.size())};
  Budget budget;
  const auto y = RunStep(network, step, written, context, &budget);
  if (!y.ok() || y->values.size() != x.values.size()) return false;
  for (std::size_t i = 2; i < y->values.size(); ++i) {
    if (std::abs(y->values[i] - 2 * y->values[i - 2]) >
        1e-6f * std::abs(y->values[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<Tensor> RunNode(const Network& network, const Node& node,
                               const Tensors& written,
                               ruy_like::Context* context, Budget* budget) {
  Call call = {node, network.opset, {}, context, budget};
  for (const std::string& input : node.inputs) {
    const Tensor* tensor = nullptr;
    if (!input.empty()) {
      const auto found = written.find(input);
      const auto constant = network.constants.find(input);
      if (found != written.end()) {
        tensor = &found->second;
      } else if (constant != network.constants.end()) {
        tensor = &constant->second;
      } else {
        return call.Error(absl::StrCat("'", input, "' is not written"));
      }
    }
    call.inputs.push_back(tensor);
  }
  return FindOperator(node)->run(call);
}

absl::StatusOr<Tensor> RunStep(const Network& network, const Step& step,
                               const Tensors& written,
                               ruy_like::Context* context, Budget* budget) {
  absl::StatusOr<Tensor> y;
  if (step.kind == Kind::kProduct) {
    y = RunProduct(network, step, written.at(step.inputs[0]), context, budget);
  } else if (step.nodes.size() == 1) {
    y = RunNode(network, step.nodes[0], written, context, budget);
  } else {
    Tensors parts;
    parts[step.inputs[0]] = written.at(step.inputs[0]);
    for (const Node& node : step.nodes) {
      y = RunNode(network, node, parts, context, budget);
      if (!y.ok()) return y;
      parts[node.outputs[0]] = *y;
    }
  }
  if (!y.ok()) return y;
  if (step.lowest > -std::numeric_limits<float>::infinity() ||
      step.highest < std::numeric_limits<float>::infinity()) {
    for (float& value : y->values) {
      value = std::min(std::max(value, step.lowest), step.highest);
    }
  }
  return y;
}

absl::StatusOr<std::vector<Tensor>> RunFloat(const Network& network,
                                             const std::vector<float>& input,
                                             const Watch& watch,
                                             ruy_like::Context* context,
                                             Times* times) {
  const auto count = static_cast<std::size_t>(CountOf(network.input.dims));
  if (input.size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("an input of ", input.size(), " values, not ", count));
  }
  Budget budget = network.budget;
  // A tensor that is read again later stays; the others make room.
  std::map<std::string, std::size_t> last_read;
  for (std::size_t i = 0; i < network.steps.size(); ++i) {
    for (const std::string& name : network.steps[i].inputs) last_read[name] = i;
  }
  for (const std::string& name : network.outputs) {
    last_read[name] = network.steps.size();
  }
  Tensors written;
  written[network.input.name] = {network.input.dims, input, false};
  const auto show = [&](const std::string& name) {
    return watch == nullptr ? absl::OkStatus() : watch(name, written.at(name));
  };
  absl::Status status = show(network.input.name);
  for (std::size_t i = 0; i < network.steps.size() && status.ok(); ++i) {
    const Step& step = network.steps[i];
    const Stopwatch stopwatch;
    auto y = RunStep(network, step, written, context, &budget);
    if (!y.ok()) return y.status();
    if (times != nullptr) times->push_back(stopwatch.Milliseconds());
    written[step.output] = *std::move(y);
    status = show(step.output);
    for (const std::string& name : step.inputs) {
      if (last_read[name] == i) written.erase(name);
    }
  }
  if (!status.ok()) return status;
  std::vector<Tensor> outputs;
  for (const std::string& name : network.outputs) {
    outputs.push_back(written.at(name));
  }
  return outputs;
}

absl::StatusOr<std::size_t> Equalize(Network* network,
                                     ruy_like::Context* context) {
  std::map<std::string, std::vector<Step*>> readers;
  for (Step& step : network->steps) {
    for (const std::string& name : step.inputs) readers[name].push_back(&step);
  }
  for (const std::string& name : network->outputs) readers[name].push_back({});
  // The next product of a chain, or null.
  const auto next = [&](const Step& from) -> Step* {
    const Step* step = &from;
    for (;;) {
      // ReLU alone is homogeneous; DepthToSpace and the like mix channels.
      if ((step->lowest != 0 && step->lowest > -HUGE_VALF) ||
          step->highest < HUGE_VALF || step->product.repeats > 1) {
        return nullptr;
      }
      const std::vector<Step*>& reading = readers[step->output];
      if (reading.size() != 1 || reading[0] == nullptr) return nullptr;
      Step* const reader = reading[0];
      if (reader->kind == Kind::kProduct) {
        const Product& product = reader->product;
        const bool is_depthwise = product.groups == product.rows &&
                                  product.groups == from.product.rows;
        return product.groups == 1 || is_depthwise ? reader : nullptr;
      }
      const bool passes =
          reader->kind == Kind::kPool ||
          (reader->kind == Kind::kFunction &&
           IsHomogeneous(*network, *reader, context)) ||
          (reader->kind == Kind::kMove &&
           (reader->op == "Flatten" || reader->op == "Identity"));
      if (!passes) return nullptr;
      step = reader;
    }
  };
  std::size_t equalized = 0;
  std::map<const Step*, bool> taken;
  for (Step& first : network->steps) {
    if (first.kind != Kind::kProduct || taken[&first]) continue;
    std::vector<ruy_like::EqualizedLayer> chain;
    std::vector<Step*> steps;
    for (Step* step = &first; step != nullptr; step = next(*step)) {
      taken[step] = true;
      steps.push_back(step);
    }
    if (steps.size() < 2) continue;
    std::vector<ruy_like::Matrix<float>> matrices(steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      Product& product = steps[i]->product;
      matrices[i] =
          RowMajor(product.weights.data(), product.rows, product.depth);
      ruy_like::EqualizedLayer layer;
      layer.weights = &matrices[i];
      layer.bias = absl::MakeSpan(product.bias);
      layer.input = product.groups > 1 ? ruy_like::ChannelColumns::kDepthwise
                                       : ruy_like::ChannelColumns::kOutermost;
      chain.push_back(layer);
    }
    const auto report = EqualizeLayers(chain);
    if (!report.ok()) {
      return absl::Status(report.status().code(),
                          absl::StrCat(first.name, " and behind it: ",
                                       report.status().message()));
    }
    equalized += steps.size();
  }
  return equalized;
}

}  // namespace onnx
