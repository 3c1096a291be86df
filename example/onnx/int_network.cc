// Quantized images are NHWC, which the operations are faster with; ONNX's
// tensors, and so all float ones here, are NCHW.
#include "example/onnx/int_network.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace onnx {
namespace {

using ruy_like::QuantizedLayer;
using ruy_like::QuantParams;
using ruy_like::TensorShape;
using ruy_like::TensorView;

// The shape of quantized values: images NHWC, others as they are.
TensorShape ShapeOf(const Dims& dims) {
  if (dims.size() == 4) return {dims[0], dims[2], dims[3], dims[1]};
  Dims four(dims.size() < 4 ? 4 - dims.size() : 0, 1);
  four.insert(four.end(), dims.begin(), dims.end());
  if (four.size() > 4) four = {1, 1, 1, CountOf(dims)};
  return {four[0], four[1], four[2], four[3]};
}

// Rows of pixels and channels swapped: NCHW to NHWC, or back.
template <typename T>
void SwapOrder(const Dims& dims, bool to_nhwc, const T* from, T* to) {
  if (dims.size() != 4) {
    std::copy_n(from, CountOf(dims), to);
    return;
  }
  const std::ptrdiff_t pixels = dims[2] * dims[3];
  const std::ptrdiff_t rows = to_nhwc ? dims[1] : pixels,
                       cols = to_nhwc ? pixels : dims[1];
  for (std::ptrdiff_t n = 0; n < dims[0]; ++n, from += rows * cols) {
    for (std::ptrdiff_t col = 0; col < cols; ++col) {
      for (std::ptrdiff_t row = 0; row < rows; ++row) {
        *to++ = from[row * cols + col];
      }
    }
  }
}

// Rows whose input channels are innermost, as Conv2D has them.
std::vector<float> InnermostChannels(const Product& product) {
  const std::ptrdiff_t taps =
      product.window.kernel_height * product.window.kernel_width;
  std::vector<float> weights(product.weights.size());
  const Dims row = {1, product.depth / taps, 1, taps};
  for (std::ptrdiff_t r = 0; r < product.rows; ++r) {
    SwapOrder(row, true, product.weights.data() + r * product.depth,
              weights.data() + r * product.depth);
  }
  return weights;
}

ruy_like::Matrix<const float> WeightsOf(const Product& product) {
  return ruy_like::RowMajor(product.weights.data(), product.rows,
                            product.depth);
}

absl::StatusOr<std::vector<QuantParams>> ChooseWeightParams(
    const Product& product, bool per_channel) {
  if (per_channel) {
    return ChooseSymmetricChannels(WeightsOf(product),
                                   ruy_like::ChannelDimension::kRow, 8);
  }
  float largest = 0;
  for (const float w : product.weights) {
    largest = std::max(largest, std::abs(w));
  }
  const auto params = ruy_like::ChooseSymmetric(largest, 8);
  if (!params.ok()) return params.status();
  return std::vector<QuantParams>{*params};
}

// The stored values between a step's bounds.
void Narrow(const Step& step, QuantParams* params) {
  const auto stored = [&](float bound) {
    const float q = std::round(bound / params->scale) +
                    static_cast<float>(params->zero_point);
    return static_cast<std::int32_t>(
        std::min(std::max(q, static_cast<float>(params->qmin)),
                 static_cast<float>(params->qmax)));
  };
  const std::int32_t qmin = stored(step.lowest), qmax = stored(step.highest);
  params->qmin = qmin;
  params->qmax = qmax;
}

absl::Status Named(const Step& step, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(step.op, " '", step.name,
                                                  "': ", status.message()));
}

}  // namespace

absl::StatusOr<Activations> Calibrate(
    const Network& network, const std::vector<std::vector<float>>& inputs,
    ruy_like::Context* context) {
  Activations found;
  std::map<std::string, std::vector<double>> sums;
  std::map<std::string, double> pixels;
  const auto watch = [&](const std::string& name, const Tensor& x) {
    const std::size_t rank = x.dims.size();
    if (rank > 1) {
      const std::size_t axis = rank == 4 ? 1 : rank - 1;
      const auto channels = static_cast<std::size_t>(x.dims[axis]);
      const std::size_t step =
          rank == 4 ? static_cast<std::size_t>(x.dims[2] * x.dims[3]) : 1;
      sums[name].resize(channels);
      for (std::size_t i = 0; i < x.values.size(); ++i) {
        sums[name][i / step % channels] += static_cast<double>(x.values[i]);
      }
      pixels[name] += static_cast<double>(x.values.size()) /
                      static_cast<double>(std::max<std::size_t>(channels, 1));
    }
    return found.observers[name].Observe(absl::MakeConstSpan(x.values),
                                         context);
  };
  for (const std::vector<float>& input : inputs) {
    const auto outputs = RunFloat(network, input, watch, context, nullptr);
    if (!outputs.ok()) return outputs.status();
  }
  for (const auto& [name, channels] : sums) {
    for (const double sum : channels) {
      found.channel_means[name].push_back(
          static_cast<float>(sum / pixels[name]));
    }
  }
  return found;
}

absl::StatusOr<WeightScales> SearchScales(
    const Network& network, const std::vector<std::vector<float>>& inputs,
    std::chrono::seconds limit, ruy_like::Context* context) {
  std::set<std::string> searched;
  for (const Step& step : network.steps) {
    if (step.kind == Kind::kProduct && step.product.groups == 1) {
      searched.insert(step.inputs[0]);
    }
  }
  std::map<std::string, std::vector<Tensor>> kept;
  for (const std::vector<float>& input : inputs) {
    const auto outputs = RunFloat(
        network, input,
        [&](const std::string& name, const Tensor& x) {
          if (searched.count(name) > 0) kept[name].push_back(x);
          return absl::OkStatus();
        },
        context, nullptr);
    if (!outputs.ok()) return outputs.status();
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto count = static_cast<int>(std::count_if(
      network.steps.begin(), network.steps.end(), [](const Step& step) {
        return step.kind == Kind::kProduct && step.product.groups == 1;
      }));
  WeightScales scales;
  int done = 0;
  for (const Step& step : network.steps) {
    const Product& product = step.product;
    if (step.kind != Kind::kProduct || product.groups != 1) continue;
    ruy_like::EqOptions options;
    options.deadline = begin + limit * ++done / count;
    std::vector<TensorView<const float>> images;
    std::vector<ruy_like::Matrix<float>> columns;
    for (Tensor& x : kept[step.inputs[0]]) {
      if (product.is_conv) {
        images.push_back({x.values.data(), ImageShape(x.dims), {}});
      } else {
        columns.push_back(ruy_like::ColMajor(x.values.data(), product.depth,
                                             CountOf(x.dims) / product.depth));
      }
    }
    const auto search = [&](absl::Span<const float> bias) {
      return product.is_conv
                 ? EqSearchConv2D(WeightsOf(product), images, product.window,
                                  options, context, bias)
                 : EqSearch(WeightsOf(product), columns, options, context,
                            bias);
    };
    auto found = search(product.bias);
    // Filters of nearly zeros, as trained networks have, get a larger scale
    // when the layer is made; the search refuses their biases.
    if (absl::IsInvalidArgument(found.status())) found = search({});
    if (!found.ok()) return Named(step, found.status());
    scales[step.output] = std::move(found->weights);
  }
  return scales;
}

// A step is int8 if one behind it is and, but for products, all before it are:
// so a softmax or a layer norm computes in float from a product's float output.
void IntNetwork::ChooseSteps() {
  const std::vector<Step>& steps = network_->steps;
  steps_.assign(steps.size(), {});
  std::map<std::string, std::size_t> writers;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    writers[step.output] = i;
    steps_[i].is_int = step.kind != Kind::kFloat;
    if (step.kind == Kind::kProduct && !step.product.is_conv) {
      steps_[i].is_int = network_->dims.at(step.inputs[0]).size() != 4;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    std::set<std::string> read;  // by int8 steps
    for (std::size_t i = steps.size(); i-- > 0;) {
      IntStep& one = steps_[i];
      one.writes_float = read.count(steps[i].output) == 0;
      if (one.is_int && steps[i].kind != Kind::kProduct) {
        bool stays = !one.writes_float;
        for (const std::string& name : steps[i].inputs) {
          const auto writer = writers.find(name);
          stays =
              stays && writer != writers.end() && steps_[writer->second].is_int;
        }
        changed = changed || !stays;
        one.is_int = stays;
      }
      if (one.is_int)
        read.insert(steps[i].inputs.begin(), steps[i].inputs.end());
      if (!one.is_int) one.writes_float = true;
    }
  }
}

// A function that alone reads what a product writes becomes the end of its
// layer.
void IntNetwork::JoinFunctions() {
  const std::vector<Step>& steps = network_->steps;
  std::map<std::string, int> reads;
  std::map<std::string, std::size_t> products;
  for (const std::string& name : network_->outputs) ++reads[name];
  for (const Step& step : steps) {
    for (const std::string& name : step.inputs) ++reads[name];
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps_[i].is_int) continue;
    if (steps[i].kind == Kind::kProduct) products[steps[i].output] = i;
    if (steps[i].kind != Kind::kFunction) continue;
    const auto product = products.find(steps[i].inputs[0]);
    if (product == products.end() || reads[product->first] != 1) continue;
    steps_[product->second].ends_in = &steps[i];
    steps_[i].is_in_layer = true;
  }
}

absl::StatusOr<ruy_like::ByteTable> IntNetwork::MakeTable(
    const Step& step, ruy_like::Context* context) const {
  Budget budget = network_->budget;
  absl::Status status;
  auto table = ruy_like::ByteTable::Make<std::int8_t, std::int8_t>(
      ParamsOf(step.inputs[0]), ParamsOf(step.output), [&](float x) {
        Tensors written;
        written[step.inputs[0]] = {{1}, {x}, false};
        const auto y = RunStep(*network_, step, written, context, &budget);
        status.Update(y.status());
        return y.ok() ? y->values[0] : 0.0f;
      });
  if (!status.ok()) return status;
  return table;
}

absl::Status IntNetwork::MakeProduct(const Step& step,
                                     const Activations& activations,
                                     const IntOptions& options,
                                     ruy_like::Context* context,
                                     IntStep* made) {
  const Product& product = step.product;
  std::vector<QuantParams>& params = params_[step.output + "/weights"];
  if (options.scales != nullptr && options.scales->count(step.output) > 0) {
    params = options.scales->at(step.output);
  } else {
    auto chosen = ChooseWeightParams(product, options.per_channel);
    if (!chosen.ok()) return chosen.status();
    params = *std::move(chosen);
  }
  std::vector<float> bias = product.bias;
  const bool is_depthwise =
      product.groups > 1 && product.groups == product.rows;
  if (options.correct_bias && (product.groups == 1 || is_depthwise)) {
    const absl::Status status = CorrectBias(
        WeightsOf(product), params,
        activations.channel_means.at(step.inputs[0]), absl::MakeSpan(bias),
        is_depthwise ? ruy_like::ChannelColumns::kDepthwise
                     : ruy_like::ChannelColumns::kOutermost);
    if (!status.ok()) return status;
  }
  const std::vector<float> weights =
      product.is_conv ? InnermostChannels(product) : product.weights;
  const auto matrix =
      ruy_like::RowMajor(weights.data(), product.rows, product.depth);
  ruy_like::MakeLayerOptions layer_options;
  layer_options.weight_params = params;
  layer_options.groups = product.groups;
  std::vector<ruy_like::ByteTable>& table = made->table;
  if (made->ends_in != nullptr) {
    auto of_function = MakeTable(*made->ends_in, context);
    if (!of_function.ok()) return of_function.status();
    table.push_back(*std::move(of_function));
    layer_options.table = table.data();
  }
  const QuantParams& input = ParamsOf(step.inputs[0]);
  auto layer =
      made->writes_float
          ? ruy_like::MakeConv2D<std::int8_t, float>(matrix, bias, input, {},
                                                     context, layer_options)
          : ruy_like::MakeConv2D<std::int8_t, std::int8_t>(
                matrix, bias, input,
                table.empty() ? ParamsOf(step.output) : table[0].output(),
                context, layer_options);
  if (!layer.ok()) return layer.status();
  made->layer = *std::move(layer);
  return absl::OkStatus();
}

absl::Status IntNetwork::MakeStep(std::size_t i, const Activations& activations,
                                  const IntOptions& options,
                                  ruy_like::Context* context) {
  const Step& step = network_->steps[i];
  IntStep& made = steps_[i];
  if (!made.is_int) return absl::OkStatus();
  const Dims& in = network_->dims.at(step.inputs[0]);
  Budget budget = network_->budget;
  if (step.kind == Kind::kProduct) {
    return MakeProduct(step, activations, options, context, &made);
  }
  if (step.kind == Kind::kFunction) {
    if (made.is_in_layer) return absl::OkStatus();
    auto table = MakeTable(step, context);
    if (!table.ok()) return table.status();
    made.table.push_back(*std::move(table));
  } else if (step.kind == Kind::kMove) {
    // Where each value comes from: the step on the numbers of its inputs.
    std::vector<float> numbers(static_cast<std::size_t>(CountOf(in)));
    if (numbers.size() > (std::size_t{1} << 24)) {
      return absl::UnimplementedError("more values than floats can number");
    }
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    Tensors written;
    Tensor& x = written[step.inputs[0]];
    x.dims = in;
    x.values.resize(numbers.size());
    SwapOrder(in, false, numbers.data(), x.values.data());
    const auto y = RunStep(*network_, step, written, context, &budget);
    if (!y.ok()) return y.status();
    std::vector<float> from(y->values.size());
    SwapOrder(y->dims, true, y->values.data(), from.data());
    if (from != numbers) made.from.assign(from.begin(), from.end());
  } else if (step.kind == Kind::kPool) {
    const bool is_global = step.op == "GlobalAveragePool";
    const auto window = WindowOf(step.nodes[0], in, is_global ? in[2] : 0,
                                 is_global ? in[3] : 0);
    if (!window.ok()) return window.status();
    made.window = *window;
  }
  return absl::OkStatus();
}

absl::StatusOr<IntNetwork> IntNetwork::Make(const Network& network,
                                            const Activations& activations,
                                            const IntOptions& options,
                                            ruy_like::Context* context) {
  IntNetwork made;
  made.network_ = &network;
  made.ChooseSteps();
  made.JoinFunctions();
  ruy_like::CalibrationOptions choice;
  choice.method = options.method;
  choice.percentile = options.percentile;
  choice.scheme = ruy_like::QuantScheme::kAffineSigned;
  const auto choose = [&](const std::string& name) -> absl::Status {
    if (made.params_.count(name) > 0) return absl::OkStatus();
    const auto params = activations.observers.at(name).ChooseParams(choice);
    if (!params.ok()) return params.status();
    made.params_[name] = {*params};
    return absl::OkStatus();
  };
  for (std::size_t i = 0; i < network.steps.size(); ++i) {
    const Step& step = network.steps[i];
    if (!made.steps_[i].is_int) continue;
    absl::Status status;
    for (const std::string& name : step.inputs) status.Update(choose(name));
    const auto choose_output = [&](const Step& one) {
      if (!status.ok()) return;
      status = choose(one.output);
      if (status.ok()) Narrow(one, &made.params_[one.output][0]);
    };
    if (status.ok() && !made.steps_[i].writes_float) {
      // Values that only move, and pools, keep their parameters.
      if (step.kind == Kind::kMove || step.kind == Kind::kPool) {
        made.params_[step.output] = made.params_.at(step.inputs[0]);
      } else {
        choose_output(step);
      }
    }
    if (made.steps_[i].ends_in != nullptr) {
      choose_output(*made.steps_[i].ends_in);
    }
    if (status.ok()) {
      status = made.MakeStep(i, activations, options, context);
    }
    if (!status.ok()) return Named(step, status);
  }
  return made;
}

// ## Running

struct IntNetwork::Run_ {
  IntNetwork& made;
  ruy_like::Context* context;
  Tensors floats;
  std::map<std::string, Bytes> bytes;

  const Dims& DimsOf(const std::string& name) const {
    return made.network_->dims.at(name);
  }

  Bytes& AddBytes(const std::string& name) {
    Bytes& added = bytes[name] = std::move(made.spare_[name]);
    added.resize(static_cast<std::size_t>(CountOf(DimsOf(name))));
    return added;
  }

  absl::Status NeedFloat(const std::string& name) {
    if (floats.count(name) > 0) return absl::OkStatus();
    const Bytes& stored = bytes.at(name);
    Bytes ordered(stored.size());
    SwapOrder(DimsOf(name), false, stored.data(), ordered.data());
    Tensor& tensor = floats[name];
    tensor.dims = DimsOf(name);
    tensor.values.resize(stored.size());
    return Dequantize(absl::MakeConstSpan(ordered), made.ParamsOf(name),
                      absl::MakeSpan(tensor.values), context);
  }

  absl::Status NeedBytes(const std::string& name) {
    if (bytes.count(name) > 0) return absl::OkStatus();
    const std::vector<float>& values = floats.at(name).values;
    Bytes ordered(values.size());
    absl::Status status =
        Quantize(absl::MakeConstSpan(values), made.ParamsOf(name),
                 absl::MakeSpan(ordered), context);
    SwapOrder(DimsOf(name), true, ordered.data(), AddBytes(name).data());
    return status;
  }

  TensorView<const std::int8_t> View(const std::string& name) {
    return {bytes.at(name).data(), ShapeOf(DimsOf(name)), made.ParamsOf(name)};
  }
};

absl::Status IntNetwork::RunIntStep(std::size_t i, Run_* run) {
  const Step& step = network_->steps[i];
  const IntStep& made = steps_[i];
  if (made.is_in_layer) return absl::OkStatus();
  const std::string& written =
      made.ends_in != nullptr ? made.ends_in->output : step.output;
  const Product& product = step.product;
  ruy_like::Context* const context = run->context;
  for (const std::string& name : step.inputs) {
    const absl::Status status = run->NeedBytes(name);
    if (!status.ok()) return status;
  }
  TensorView<const std::int8_t> x = run->View(step.inputs[0]);
  const Dims& dims = run->DimsOf(step.output);
  const auto count = static_cast<std::size_t>(CountOf(dims));
  // A matrix's rows are all but the last dimension.
  const bool is_matrix = step.kind == Kind::kProduct && !product.is_conv;
  TensorShape out = ShapeOf(dims);
  if (is_matrix) {
    const std::ptrdiff_t rows = CountOf(dims) / product.rows;
    x.shape = {rows, 1, 1, product.depth};
    out = {rows, 1, 1, product.rows};
  }
  if (made.writes_float) {
    std::vector<float> values(count);
    TensorView<float> y = {values.data(), out, {}};
    const absl::Status status =
        is_matrix
            ? FullyConnected(x, made.layer, context, &y)
            : Conv2D(x, made.layer, product.window, &workspace_, context, &y);
    Tensor& tensor = run->floats[step.output];
    tensor.dims = dims;
    tensor.values.resize(count);
    SwapOrder(dims, false, values.data(), tensor.values.data());
    for (float& value : tensor.values) {
      value = std::min(std::max(value, step.lowest), step.highest);
    }
    return status;
  }
  Bytes& bytes = run->AddBytes(written);
  TensorView<std::int8_t> y = {bytes.data(), out, ParamsOf(written)};
  switch (step.kind) {
    case Kind::kProduct:
      return is_matrix ? FullyConnected(x, made.layer, context, &y)
                       : Conv2D(x, made.layer, product.window, &workspace_,
                                context, &y);
    case Kind::kFunction:
      return ApplyTable(x, made.table[0], context, &y);
    case Kind::kMove:
      if (made.from.empty()) {
        std::copy_n(x.data, count, bytes.data());
      } else {
        for (std::size_t k = 0; k < count; ++k) bytes[k] = x.data[made.from[k]];
      }
      return absl::OkStatus();
    case Kind::kPool:
      if (step.op == "MaxPool") {
        return MaxPool2D(x, made.window, &workspace_, context, &y);
      }
      return AveragePool2D(x, made.window, &workspace_, context, &y,
                           step.nodes[0].Int("count_include_pad", 0) != 0
                               ? ruy_like::AveragePadding::kInclude
                               : ruy_like::AveragePadding::kExclude);
    case Kind::kAdd:
      return QuantizedAdd(x, run->View(step.inputs[1]), context, &y);
    case Kind::kMul: {
      // The first operand is the one of the output's shape.
      const auto other = run->View(step.inputs[1]);
      return x.shape == y.shape ? QuantizedMul(x, other, context, &y)
                                : QuantizedMul(other, x, context, &y);
    }
    default: {  // kConcat
      std::vector<TensorView<const std::int8_t>> all;
      for (const std::string& name : step.inputs) {
        all.push_back(run->View(name));
      }
      // Axes of an image, which is NCHW, and of what ShapeOf makes of others.
      const auto rank = static_cast<std::int64_t>(dims.size());
      std::int64_t axis = step.nodes[0].Int("axis", 0);
      if (axis < 0) axis += rank;
      using ruy_like::TensorAxis;
      constexpr TensorAxis kImage[] = {TensorAxis::kBatch,
                                       TensorAxis::kChannels,
                                       TensorAxis::kHeight, TensorAxis::kWidth};
      constexpr TensorAxis kOthers[] = {TensorAxis::kBatch, TensorAxis::kHeight,
                                        TensorAxis::kWidth,
                                        TensorAxis::kChannels};
      return Concat(absl::MakeConstSpan(all),
                    rank == 4 ? kImage[axis] : kOthers[axis + 4 - rank],
                    context, &y);
    }
  }
}

absl::StatusOr<std::vector<Tensor>> IntNetwork::Run(
    const std::vector<float>& input, const Watch& watch,
    ruy_like::Context* context, Times* times) {
  const std::vector<Step>& steps = network_->steps;
  Run_ run = {*this, context, {}, {}};
  Budget budget = network_->budget;
  run.floats[network_->input.name] = {network_->input.dims, input, false};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Stopwatch stopwatch;
    absl::Status status;
    if (steps_[i].is_int) {
      status = RunIntStep(i, &run);
    } else {
      for (const std::string& name : steps[i].inputs) {
        status.Update(run.NeedFloat(name));
      }
      if (status.ok()) {
        auto y = RunStep(*network_, steps[i], run.floats, context, &budget);
        status = y.status();
        if (y.ok()) run.floats[steps[i].output] = *std::move(y);
      }
    }
    if (times != nullptr) times->push_back(stopwatch.Milliseconds());
    if (status.ok() && watch != nullptr && steps_[i].ends_in == nullptr) {
      status = run.NeedFloat(steps[i].output);
      if (status.ok()) {
        status = watch(steps[i].output, run.floats.at(steps[i].output));
      }
    }
    if (!status.ok()) return Named(steps[i], status);
  }
  std::vector<Tensor> outputs;
  for (const std::string& name : network_->outputs) {
    const absl::Status status = run.NeedFloat(name);
    if (!status.ok()) return status;
    outputs.push_back(run.floats.at(name));
  }
  spare_ = std::move(run.bytes);
  return outputs;
}

}  // namespace onnx
