// From an ONNX model's nodes to a network's steps.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "example/onnx/network.h"

namespace onnx {
namespace {

// The most nodes of one function: longer ones are divided, since joining copies
// the nodes each time.
constexpr std::size_t kMaxFunctionNodes = 32;

absl::Status Error(const Node& node, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(node.op, " '", node.name, "': ", what));
}
absl::Status Lacks(const Node& node, absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(
      node.op, " '", node.name, "': ", what, " is not known to this example"));
}

// y = gain * x + offset, a value each per channel or one for all.
struct Affine {
  std::string input;
  std::vector<float> gain, offset;
};

class Builder {
 public:
  Builder(Budget budget, ruy_like::Context* context) : context_(context) {
    network_.budget = budget;
    budget_ = budget;
  }

  absl::StatusOr<Network> Build(Model model, Dims dims);

 private:
  bool IsConstant(const std::string& name) const {
    return network_.constants.count(name) > 0;
  }
  const Tensor* Constant(const Node& node, std::size_t i) const {
    if (i >= node.inputs.size()) return nullptr;
    const auto found = network_.constants.find(node.inputs[i]);
    return found == network_.constants.end() ? nullptr : &found->second;
  }
  const Dims& DimsOf(const std::string& name) const {
    return network_.dims.at(name);
  }
  // The step that writes it; null for the network's input.
  Step* Writer(const std::string& name) {
    const auto found = writers_.find(name);
    return found == writers_.end() ? nullptr : &network_.steps[found->second];
  }

  // Takes from the budget what is kept, or changed, of constants.
  absl::Status Spend(const Node& node, std::size_t values);
  absl::Status SetInput(const Model& model, Dims dims);
  absl::Status AddNode(const Node& node);
  // Its output where all inputs are constants or only their shape matters.
  absl::StatusOr<bool> TryConstant(const Node& node);
  // The dims of the output, computed on zeros.
  absl::StatusOr<Dims> Infer(const Node& node);
  absl::Status AddStep(Kind kind, const Node& node, Dims dims,
                       Product product = {});
  absl::Status AddConv(const Node& node);
  absl::Status AddConvTranspose(const Node& node);
  absl::Status AddMatrix(const Node& node);
  absl::StatusOr<bool> TryFold(const Node& node);
  absl::StatusOr<bool> TryAffine(const Node& node, Affine* affine);
  bool TryClamp(const Node& node);
  // The step whose product or sum alone is read by this name, through what
  // ConvTranspose has behind its product; null if there is none.
  Step* FoldTarget(const std::string& name);
  void Rename(const std::string& from, const std::string& to);
  bool TryFunction(const Node& node, const Dims& dims);
  Kind KindOf(const Node& node, const Operator& one, const Dims& dims) const;
  void RemoveUnread();

  ruy_like::Context* const context_;
  Budget budget_;
  std::int64_t spent_ = 0;
  Network network_;
  std::map<std::string, int> readers_;
  std::map<std::string, std::size_t> writers_;
};

absl::StatusOr<Network> Builder::Build(Model model, Dims dims) {
  std::set<std::string> unknown;
  for (const Node& node : model.nodes) {
    if (FindOperator(node) != nullptr) continue;
    unknown.insert(node.domain.empty()
                       ? node.op
                       : absl::StrCat(node.domain, ".", node.op));
  }
  if (!unknown.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("operators that this example does not know: ",
                     absl::StrJoin(unknown, ", ")));
  }
  network_.opset = model.opset;
  network_.outputs = model.outputs;
  network_.constants = std::move(model.constants);
  absl::Status status = SetInput(model, std::move(dims));
  if (!status.ok()) return status;
  for (const std::string& output : network_.outputs) ++readers_[output];
  for (const Node& node : model.nodes) {
    for (const std::string& input : node.inputs) ++readers_[input];
  }
  for (const Node& node : model.nodes) {
    status = AddNode(node);
    if (!status.ok()) return status;
  }
  if (network_.outputs.empty()) {
    return absl::InvalidArgumentError("the graph has no output");
  }
  for (const std::string& output : network_.outputs) {
    if (network_.dims.count(output) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output '", output, "' is written by no node, or is constant"));
    }
  }
  RemoveUnread();
  return std::move(network_);
}

absl::Status Builder::Spend(const Node& node, std::size_t values) {
  spent_ += static_cast<std::int64_t>(values);
  if (spent_ <= 4 * budget_.elements) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("constants of more than ", 4 * budget_.elements,
                   " values in all, at ", node.op, " '", node.name, "'"));
}

absl::Status Builder::SetInput(const Model& model, Dims dims) {
  if (model.inputs.size() != 1) {
    return absl::UnimplementedError(absl::StrCat(
        "a graph of ", model.inputs.size(), " inputs; this example has one"));
  }
  network_.input = model.inputs[0];
  if (dims.empty()) {
    dims = network_.input.dims;
    for (std::ptrdiff_t& dim : dims) dim = std::max<std::ptrdiff_t>(dim, 1);
  }
  const bool fits =
      dims.size() == network_.input.dims.size() &&
      std::equal(dims.begin(), dims.end(), network_.input.dims.begin(),
                 [](std::ptrdiff_t given, std::ptrdiff_t declared) {
                   return given > 0 && (declared < 0 || given == declared);
                 });
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", network_.input.name, "' has shape ",
                     ToString(network_.input.dims), ", not ", ToString(dims)));
  }
  Node node;
  node.op = "input";
  node.name = network_.input.name;
  const Call call = {node, network_.opset, {}, context_, &budget_};
  const auto tensor = call.Make(dims);
  if (!tensor.ok()) return tensor.status();
  network_.input.dims = dims;
  network_.dims[network_.input.name] = std::move(dims);
  return absl::OkStatus();
}

absl::Status Builder::AddNode(const Node& node) {
  const Operator& one = *FindOperator(node);
  if (node.outputs.empty() || node.inputs.size() < one.min_inputs ||
      node.inputs.size() > one.max_inputs) {
    return Error(node, absl::StrCat(node.inputs.size(), " inputs and ",
                                    node.outputs.size(), " outputs"));
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string& input = node.inputs[i];
    if (input.empty() && i >= one.min_inputs) continue;
    if (input.empty() ||
        (!IsConstant(input) && network_.dims.count(input) == 0)) {
      return Error(node, absl::StrCat("reads '", input,
                                      "', which nothing before it writes"));
    }
  }
  const std::string& output = node.outputs[0];
  if (output.empty() || IsConstant(output) || network_.dims.count(output) > 0) {
    return Error(node, absl::StrCat("writes '", output, "', which is there"));
  }
  auto done = TryConstant(node);
  if (!done.ok() || *done) return done.status();
  if (one.kind == Kind::kProduct && node.op != "BatchNormalization") {
    if (node.op == "Conv") return AddConv(node);
    if (node.op == "ConvTranspose") return AddConvTranspose(node);
    const bool is_constant = Constant(node, 1) != nullptr;
    if (is_constant && !IsConstant(node.inputs[0])) return AddMatrix(node);
    if (one.run == nullptr) return Lacks(node, "a matrix that is computed");
  }
  done = TryFold(node);
  if (!done.ok() || *done || TryClamp(node)) return done.status();
  if (one.run == nullptr) return Lacks(node, "one of other than 4 dimensions");
  auto dims = Infer(node);
  if (!dims.ok()) return dims.status();
  if (one.is_elementwise && TryFunction(node, *dims)) return absl::OkStatus();
  return AddStep(KindOf(node, one, *dims), node, *dims);
}

absl::StatusOr<bool> Builder::TryConstant(const Node& node) {
  Tensor value;
  if (node.op == "Constant") {
    const Attribute* const attribute = node.Find("value");
    if (attribute == nullptr) return Lacks(node, "one without a tensor");
    value = attribute->t;
  } else if (node.op == "Shape") {
    const Tensor* const constant = Constant(node, 0);
    const Dims& dims =
        constant == nullptr ? DimsOf(node.inputs[0]) : constant->dims;
    value.dims = {static_cast<std::ptrdiff_t>(dims.size())};
    value.is_integer = true;
    for (const std::ptrdiff_t dim : dims) {
      value.values.push_back(static_cast<float>(dim));
    }
  } else {
    for (const std::string& input : node.inputs) {
      if (!input.empty() && !IsConstant(input)) return false;
    }
    if (FindOperator(node)->run == nullptr) {
      return Lacks(node, "one of constants alone");
    }
    auto result = RunNode(network_, node, {}, context_, &budget_);
    if (!result.ok()) return result.status();
    value = *std::move(result);
  }
  const absl::Status status = Spend(node, value.values.size());
  if (!status.ok()) return status;
  network_.constants[node.outputs[0]] = std::move(value);
  return true;
}

absl::StatusOr<Dims> Builder::Infer(const Node& node) {
  Tensors zeros;
  for (const std::string& input : node.inputs) {
    if (input.empty() || IsConstant(input)) continue;
    Tensor& tensor = zeros[input];
    tensor.dims = DimsOf(input);
    tensor.values.assign(static_cast<std::size_t>(CountOf(tensor.dims)), 0.0f);
  }
  const auto result = RunNode(network_, node, zeros, context_, &budget_);
  if (!result.ok()) return result.status();
  return result->dims;
}

absl::Status Builder::AddStep(Kind kind, const Node& node, Dims dims,
                              Product product) {
  Step step;
  step.kind = kind;
  step.name = node.name;
  step.op = node.op;
  for (const std::string& input : node.inputs) {
    if (!input.empty() && !IsConstant(input)) step.inputs.push_back(input);
  }
  step.output = node.outputs[0];
  if (kind != Kind::kProduct) step.nodes.push_back(node);
  const absl::Status status = Spend(node, product.weights.size());
  if (!status.ok()) return status;
  step.product = std::move(product);
  writers_[step.output] = network_.steps.size();
  network_.dims[step.output] = std::move(dims);
  network_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Builder::AddConv(const Node& node) {
  const Tensor* const weights = Constant(node, 1);
  const Tensor* const bias = Constant(node, 2);
  if (weights == nullptr || (node.inputs.size() == 3 && bias == nullptr) ||
      IsConstant(node.inputs[0])) {
    return Lacks(node, "one with weights that are computed");
  }
  const Dims& dims = DimsOf(node.inputs[0]);
  if (dims.size() != 4 || weights->dims.size() != 4) {
    return Lacks(node, "one of other than 4 dimensions");
  }
  Product product;
  product.is_conv = true;
  product.groups = node.Int("group", 1);
  product.rows = weights->dims[0];
  const std::vector<std::int64_t> kernel = node.Ints("kernel_shape");
  if (product.groups < 1 || product.rows < 1 ||
      product.rows % product.groups != 0 || dims[1] % product.groups != 0 ||
      weights->dims[1] != dims[1] / product.groups ||
      (!kernel.empty() &&
       (kernel.size() != 2 || kernel[0] != weights->dims[2] ||
        kernel[1] != weights->dims[3])) ||
      (bias != nullptr &&
       static_cast<std::ptrdiff_t>(bias->values.size()) != product.rows)) {
    return Error(node, absl::StrCat("weights ", ToString(weights->dims), " in ",
                                    product.groups, " groups for an input ",
                                    ToString(dims)));
  }
  const auto window = WindowOf(node, dims, weights->dims[2], weights->dims[3]);
  if (!window.ok()) return window.status();
  const auto shape = OutputShape(ImageShape(dims), *window, product.rows);
  if (!shape.ok()) return Error(node, shape.status().message());
  product.window = *window;
  product.depth = CountOf(weights->dims) / product.rows;
  product.weights = weights->values;
  product.bias =
      bias == nullptr
          ? std::vector<float>(static_cast<std::size_t>(product.rows))
          : bias->values;
  return AddStep(Kind::kProduct, node,
                 {shape->batch, shape->channels, shape->height, shape->width},
                 std::move(product));
}

// One whose windows do not overlap is a 1x1 convolution to n * n times as many
// channels, of which pixels are made.
absl::Status Builder::AddConvTranspose(const Node& node) {
  const Tensor* const weights = Constant(node, 1);
  const std::vector<std::int64_t> strides = node.Ints("strides");
  const auto all = [&](const char* name, std::int64_t value) {
    for (const std::int64_t one : node.Ints(name)) {
      if (one != value) return false;
    }
    return true;
  };
  if (weights == nullptr || weights->dims.size() != 4 || strides.empty() ||
      weights->dims[2] != strides[0] || !all("strides", weights->dims[3]) ||
      !all("pads", 0) || !all("dilations", 1) || !all("output_padding", 0) ||
      node.Find("output_shape") != nullptr || node.Int("group", 1) != 1) {
    return Lacks(node, "one whose square windows overlap or are padded");
  }
  const std::ptrdiff_t inputs = weights->dims[0], channels = weights->dims[1],
                       n = weights->dims[2];
  Node conv;
  conv.op = "Conv";
  conv.name = node.name;
  conv.inputs = {node.inputs[0], absl::StrCat(node.outputs[0], "/weights")};
  conv.outputs = {absl::StrCat(node.outputs[0], "/channels")};
  Tensor matrix;
  matrix.dims = {channels * n * n, inputs, 1, 1};
  for (std::ptrdiff_t row = 0; row < channels * n * n; ++row) {
    for (std::ptrdiff_t i = 0; i < inputs; ++i) {
      matrix.values.push_back(
          weights
              ->values[static_cast<std::size_t>(i * channels * n * n + row)]);
    }
  }
  if (IsConstant(conv.inputs[1]) || network_.dims.count(conv.outputs[0]) > 0) {
    return Error(node, "its names are taken");
  }
  network_.constants[conv.inputs[1]] = std::move(matrix);
  const Tensor* const bias = Constant(node, 2);
  if (bias != nullptr) {
    Tensor& repeated = network_.constants[conv.inputs[1] + "/bias"];
    for (const float value : bias->values) {
      repeated.values.insert(repeated.values.end(),
                             static_cast<std::size_t>(n * n), value);
    }
    conv.inputs.push_back(conv.inputs[1] + "/bias");
  }
  absl::Status status = AddConv(conv);
  if (!status.ok()) return status;
  Step& step = network_.steps.back();
  step.op = node.op;
  step.product.repeats = n * n;
  readers_[conv.outputs[0]] = 1;
  Node pixels;
  pixels.op = "DepthToSpace";
  pixels.name = absl::StrCat(node.name, "/pixels");
  pixels.inputs = conv.outputs;
  pixels.outputs = {node.outputs[0]};
  pixels.attributes["blocksize"].i = n;
  pixels.attributes["mode"].s = "CRD";
  auto dims = Infer(pixels);
  if (!dims.ok()) return dims.status();
  return AddStep(Kind::kMove, pixels, *std::move(dims));
}

absl::Status Builder::AddMatrix(const Node& node) {
  const Tensor& matrix = *Constant(node, 1);
  const Tensor* const bias = Constant(node, 2);
  Dims dims = DimsOf(node.inputs[0]);
  const bool is_gemm = node.op == "Gemm";
  if (matrix.dims.size() != 2 || dims.size() < 2 ||
      (is_gemm && dims.size() != 2) || node.Int("transA", 0) != 0 ||
      (node.inputs.size() == 3 && bias == nullptr)) {
    return Lacks(node, "one of such operands");
  }
  const bool transposed = is_gemm && node.Int("transB", 0) != 0;
  Product product;
  product.rows = matrix.dims[transposed ? 0 : 1];
  product.depth = matrix.dims[transposed ? 1 : 0];
  const auto rows = static_cast<std::size_t>(product.rows);
  if (dims.back() != product.depth || product.depth < 1 || rows < 1 ||
      (bias != nullptr && bias->values.size() != 1 &&
       bias->values.size() != rows)) {
    return Error(node, absl::StrCat("a matrix ", ToString(matrix.dims),
                                    " for an input ", ToString(dims)));
  }
  const float alpha = is_gemm ? node.Float("alpha", 1) : 1;
  for (std::ptrdiff_t r = 0; r < product.rows; ++r) {
    for (std::ptrdiff_t k = 0; k < product.depth; ++k) {
      product.weights.push_back(
          alpha *
          matrix.values[static_cast<std::size_t>(
              transposed ? r * product.depth + k : k * product.rows + r)]);
    }
  }
  product.bias.resize(rows, 0.0f);
  for (std::size_t r = 0; bias != nullptr && r < rows; ++r) {
    product.bias[r] =
        node.Float("beta", 1) * bias->values[bias->values.size() == 1 ? 0 : r];
  }
  dims.back() = product.rows;
  return AddStep(Kind::kProduct, node, std::move(dims), std::move(product));
}

// ## Folding

// The values of the channels of `dims`, which are its last or, of images, its
// second dimension; empty where the tensor has other ones.
std::vector<float> ChannelValues(const Tensor& tensor, const Dims& dims) {
  if (tensor.values.size() == 1 && tensor.dims.size() <= dims.size()) {
    return tensor.values;
  }
  const std::size_t axis = dims.size() == 4 ? 1 : dims.size() - 1;
  if (tensor.dims.size() > dims.size()) return {};
  const std::size_t missing = dims.size() - tensor.dims.size();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::ptrdiff_t size = d < missing ? 1 : tensor.dims[d - missing];
    if (size != (d == axis ? dims[d] : 1)) return {};
  }
  return tensor.values;
}

absl::StatusOr<bool> Builder::TryAffine(const Node& node, Affine* affine) {
  const bool is_norm = node.op == "BatchNormalization";
  if (!is_norm && node.op != "Add" && node.op != "Sub" && node.op != "Mul" &&
      node.op != "Div") {
    return false;
  }
  const std::size_t at = IsConstant(node.inputs[0]) ? 1 : 0;
  affine->input = node.inputs[at];
  const Dims& dims = DimsOf(affine->input);
  if (is_norm) {
    if (at != 0 || dims.size() < 2) return Error(node, "a constant input");
    if (dims.size() != 2 && dims.size() != 4) return false;
    const auto channels = static_cast<std::size_t>(dims[1]);
    const Tensor* parts[4];  // scale, offset, mean, variance
    for (std::size_t i = 0; i < 4; ++i) {
      parts[i] = Constant(node, i + 1);
      if (parts[i] == nullptr || parts[i]->values.size() != channels) {
        return Error(node, absl::StrCat("operands that are no constants of ",
                                        channels, " values"));
      }
    }
    // FoldBatchNorm checks the values and computes in double: here as weights
    // of 1.
    affine->gain.assign(channels, 1.0f);
    affine->offset.assign(channels, 0.0f);
    auto matrix = ruy_like::RowMajor(affine->gain.data(), dims[1], 1);
    ruy_like::BatchNorm norm;
    norm.gamma = parts[0]->values;
    norm.beta = parts[1]->values;
    norm.mean = parts[2]->values;
    norm.variance = parts[3]->values;
    norm.epsilon = node.Float("epsilon", 1e-5f);
    const auto report =
        FoldBatchNorm(norm, &matrix, absl::MakeSpan(affine->offset));
    if (!report.ok()) return Error(node, report.status().message());
    return true;
  }
  const Tensor* const constant = Constant(node, 1 - at);
  if (constant == nullptr) return false;
  std::vector<float> values = ChannelValues(*constant, dims);
  if (values.empty()) return false;
  affine->gain.assign(values.size(), 1.0f);
  affine->offset.assign(values.size(), 0.0f);
  if (node.op == "Mul") {
    affine->gain = std::move(values);
  } else if (node.op == "Div") {
    if (at != 0) return false;
    std::transform(values.begin(), values.end(), affine->gain.begin(),
                   [](float x) { return 1 / x; });
  } else {
    affine->offset = std::move(values);
    if (node.op == "Sub") {
      std::vector<float>& negated = at == 0 ? affine->offset : affine->gain;
      for (float& value : negated) value = -value;
    }
  }
  return true;
}

Step* Builder::FoldTarget(const std::string& name) {
  const auto writer = writers_.find(name);
  if (writer == writers_.end() || readers_[name] != 1) return nullptr;
  Step* step = &network_.steps[writer->second];
  if (step->op == "DepthToSpace" && writer->second > 0 &&
      network_.steps[writer->second - 1].output == step->inputs[0] &&
      network_.steps[writer->second - 1].product.repeats > 1) {
    --step;
  }
  const bool is_open =
      step->lowest == -std::numeric_limits<float>::infinity() &&
      step->highest == std::numeric_limits<float>::infinity();
  return is_open ? step : nullptr;
}

void Builder::Rename(const std::string& from, const std::string& to) {
  const std::size_t writer = writers_[from];
  Step& step = network_.steps[writer];
  step.output = to;
  if (!step.nodes.empty()) step.nodes.back().outputs[0] = to;
  writers_.erase(from);
  writers_[to] = writer;
  network_.dims[to] = network_.dims[from];
}

absl::StatusOr<bool> Builder::TryFold(const Node& node) {
  Affine affine;
  const auto found = TryAffine(node, &affine);
  if (!found.ok() || !*found) return found;
  const Dims& dims = DimsOf(affine.input);
  Step* const target = FoldTarget(affine.input);
  const std::size_t count = affine.gain.size();
  if (target != nullptr && target->kind == Kind::kProduct) {
    Product& product = target->product;
    const auto channels =
        static_cast<std::size_t>(product.rows / product.repeats);
    if (count == 1 ||
        (count == channels && product.is_conv == (dims.size() == 4))) {
      const absl::Status status = Spend(node, product.weights.size());
      if (!status.ok()) return status;
      const auto depth = static_cast<std::size_t>(product.depth);
      for (std::size_t r = 0; r < product.bias.size(); ++r) {
        const std::size_t c =
            count == 1 ? 0 : r / static_cast<std::size_t>(product.repeats);
        for (std::size_t k = 0; k < depth; ++k) {
          product.weights[r * depth + k] *= affine.gain[c];
        }
        product.bias[r] = affine.gain[c] * product.bias[r] + affine.offset[c];
      }
      Rename(affine.input, node.outputs[0]);
      return true;
    }
  }
  // By itself it is a convolution of each channel alone.
  if (dims.size() != 4 || (count == 1 && node.op != "BatchNormalization") ||
      static_cast<std::ptrdiff_t>(count) != dims[1]) {
    return false;
  }
  Product product;
  product.is_conv = true;
  product.groups = product.rows = dims[1];
  product.depth = 1;
  product.weights = std::move(affine.gain);
  product.bias = std::move(affine.offset);
  Node step = node;
  step.inputs = {affine.input};
  const absl::Status status =
      AddStep(Kind::kProduct, step, Dims(dims), std::move(product));
  if (!status.ok()) return status;
  return true;
}

bool Builder::TryClamp(const Node& node) {
  const bool is_relu = node.op == "Relu";
  if (!is_relu && node.op != "Clip") return false;
  Step* const target = FoldTarget(node.inputs[0]);
  if (target == nullptr ||
      (target->kind != Kind::kProduct && target->kind != Kind::kAdd)) {
    return false;
  }
  float bounds[] = {node.Float("min", target->lowest),
                    node.Float("max", target->highest)};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    const Tensor* const bound = Constant(node, i);
    if (bound == nullptr || bound->values.size() != 1) return false;
    bounds[i - 1] = bound->values[0];
  }
  if (is_relu) bounds[0] = 0;
  if (!(bounds[0] <= bounds[1])) return false;
  target->lowest = bounds[0];
  target->highest = bounds[1];
  Rename(node.inputs[0], node.outputs[0]);
  return true;
}

// Joins a node to the functions that it reads, if all are of one tensor.
bool Builder::TryFunction(const Node& node, const Dims& dims) {
  std::string root;
  std::vector<Node> nodes;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string& input = node.inputs[i];
    if (input.empty()) continue;
    const Tensor* const constant = Constant(node, i);
    if (constant != nullptr) {
      if (constant->values.size() != 1) return false;
      continue;
    }
    const Step* const writer = Writer(input);
    const bool joins = writer != nullptr && writer->kind == Kind::kFunction &&
                       writer->nodes.size() < kMaxFunctionNodes;
    const std::string& from = joins ? writer->inputs[0] : input;
    if (!root.empty() && root != from) return false;
    root = from;
    for (std::size_t k = 0; joins && k < writer->nodes.size(); ++k) {
      const Node& one = writer->nodes[k];
      const bool is_there =
          std::any_of(nodes.begin(), nodes.end(), [&](const Node& other) {
            return other.outputs[0] == one.outputs[0];
          });
      if (!is_there) nodes.push_back(one);
    }
  }
  if (root.empty() || DimsOf(root) != dims) return false;
  Node last = node;
  last.inputs = {root};
  (void)AddStep(Kind::kFunction, last, dims);
  nodes.push_back(node);
  network_.steps.back().nodes = std::move(nodes);
  return true;
}

// A kind's int8 operation may not serve the operands.
Kind Builder::KindOf(const Node& node, const Operator& one,
                     const Dims& dims) const {
  std::vector<const Dims*> operands;
  bool has_constant = false;
  for (const std::string& input : node.inputs) {
    if (input.empty()) continue;
    if (IsConstant(input)) {
      has_constant = true;
    } else {
      operands.push_back(&DimsOf(input));
    }
  }
  if (one.kind == Kind::kMove) {
    const bool moves = operands.size() == 1 && !IsConstant(node.inputs[0]) &&
                       (node.op != "Cast" || node.Int("to", 0) == 1);
    return moves ? Kind::kMove : Kind::kFloat;
  }
  if (has_constant) return Kind::kFloat;
  switch (one.kind) {
    case Kind::kAdd:
      return *operands[0] == *operands[1] ? Kind::kAdd : Kind::kFloat;
    case Kind::kMul: {
      const std::size_t whole = *operands[0] == dims ? 0 : 1;
      if (*operands[whole] != dims) return Kind::kFloat;
      const Dims& other = *operands[1 - whole];
      const bool per_channel = dims.size() == 4 && other.size() == 4 &&
                               other[1] == dims[1] && other[2] == 1 &&
                               other[3] == 1;
      return other == dims || per_channel || CountOf(other) == 1 ? Kind::kMul
                                                                 : Kind::kFloat;
    }
    case Kind::kConcat:
      return dims.size() <= 4 ? Kind::kConcat : Kind::kFloat;
    case Kind::kProduct:  // MatMul of two that are computed
    case Kind::kFunction:
      return Kind::kFloat;
    default:
      return one.kind;
  }
}

void Builder::RemoveUnread() {
  std::set<std::string> read(network_.outputs.begin(), network_.outputs.end());
  std::vector<Step> kept;
  for (auto step = network_.steps.rbegin(); step != network_.steps.rend();
       ++step) {
    if (read.count(step->output) == 0) continue;
    read.insert(step->inputs.begin(), step->inputs.end());
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  network_.steps = std::move(kept);
}

}  // namespace

absl::StatusOr<Network> MakeNetwork(Model model, Dims dims, Budget budget,
                                    ruy_like::Context* context) {
  return Builder(budget, context).Build(std::move(model), std::move(dims));
}

}  // namespace onnx
