// EqSearch for convolutions, whose patches are made in float, and for layers
// that follow each other.
//
// Tested in test/quantize/calibration/eq_search_test.cc.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/mul.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/eq_search.h"
#include "ruy_like/quantize/layers/im2col.h"
#include "ruy_like/quantize/quantize_dequantize.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;
using std::ptrdiff_t;

absl::Status GatherPatches(const TensorView<const float>& images,
                           const Window& window, std::vector<float>* patches,
                           Matrix<float>* matrix) {
  const TensorShape& shape = images.shape;
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("images", images));
  RUY_LIKE_ASSIGN_OR_RETURN(const auto output,
                            OutputShape(shape, window, /*channels=*/1));
  const ptrdiff_t taps = window.kernel_height * window.kernel_width;
  const ptrdiff_t positions = output.height * output.width;
  ptrdiff_t depth, count, elements, bytes;
  if (!CheckedMul(taps, shape.channels, &depth) ||
      !CheckedMul(positions, shape.batch, &count) ||
      !CheckedMul(depth, count, &elements) ||
      !CheckedMul<ptrdiff_t>(elements, sizeof(float), &bytes)) {
    return absl::OutOfRangeError(
        absl::StrCat("the patches of ", qi::Describe(shape), " overflow"));
  }
  patches->resize(static_cast<std::size_t>(elements));
  MakeSimpleLayout(depth, count, Order::kColMajor, matrix->mutable_layout());
  matrix->set_data(patches->data());
  if (elements == 0) return absl::OkStatus();
  // By pixels that are all channels or, of kNchw, one of them: planes then are
  // images by themselves, whose taps lie together in a patch.
  constexpr ptrdiff_t kBytes = sizeof(float);
  const ptrdiff_t planes =
      shape.order == TensorOrder::kNhwc ? 1 : shape.channels;
  const ptrdiff_t pixel = shape.channels / planes;
  const qi::Im2Col conv = {
      reinterpret_cast<const std::uint8_t*>(images.data),
      {shape.batch * planes, shape.height, shape.width, pixel},
      window,
      output.height,
      output.width,
      /*channels=*/pixel,
      /*first_channel=*/0,
      /*padding_value=*/0,
      kBytes};
  auto* const to = reinterpret_cast<std::uint8_t*>(patches->data());
  for (ptrdiff_t i = 0; i < shape.batch * planes; ++i) {
    const ptrdiff_t first = i / planes * positions * depth + i % planes * taps;
    qi::GatherNhwc(conv, i * positions, (i + 1) * positions, depth * kBytes,
                   to + first * kBytes);
  }
  return absl::OkStatus();
}

// ## Networks

// One network's tensors, for one of the inputs: that and each layer's outputs.
using Tensors = std::vector<EqTensor>;

// A layer's input, the matrix that its weights are multiplied with, and the
// shape of what comes out.
struct LayerInput {
  EqTensor tensor;
  std::vector<float> patches;
  Matrix<float> matrix;
  TensorShape output;
};

absl::Status CheckValues(const EqTensor& tensor) {
  const TensorView<const float> view = {tensor.values.data(), tensor.shape, {}};
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("input", view));
  const ptrdiff_t count = qi::ElementCount(tensor.shape);
  if (static_cast<std::size_t>(count) == tensor.values.size()) {
    return absl::OkStatus();
  }
  return Invalid("an input of ", qi::Describe(tensor.shape), " has ",
                 tensor.values.size(), " values");
}

absl::Status MakeInput(const EqLayer& layer, const Tensors& before,
                       LayerInput* input) {
  if (layer.input) {
    RUY_LIKE_RETURN_IF_ERROR(layer.input(before, &input->tensor));
  } else {
    input->tensor = before.back();
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckValues(input->tensor));
  const TensorShape& shape = input->tensor.shape;
  const ptrdiff_t channels = layer.weights.layout().rows();
  if (layer.window) {
    RUY_LIKE_ASSIGN_OR_RETURN(input->output,
                              OutputShape(shape, *layer.window, channels));
    input->output.order = TensorOrder::kNhwc;
    return GatherPatches({input->tensor.values.data(), shape, {}},
                         *layer.window, &input->patches, &input->matrix);
  }
  input->output = {shape.batch, 1, 1, channels};
  const auto count = static_cast<ptrdiff_t>(input->tensor.values.size());
  input->matrix =
      ColMajor(input->tensor.values.data(),
               shape.batch == 0 ? 0 : count / shape.batch, shape.batch);
  return absl::OkStatus();
}

// The layer's outputs, of weights and inputs of one type.
template <typename T, typename Accum>
absl::Status Multiply(const Matrix<T>& weights, const Matrix<T>& input,
                      const MulParams<Accum, float>& params,
                      const TensorShape& shape, Context* context,
                      Tensors* tensors) {
  EqTensor output;
  output.shape = shape;
  output.values.resize(static_cast<std::size_t>(qi::ElementCount(shape)));
  Matrix<float> dst = ColMajor(output.values.data(), weights.layout().rows(),
                               input.layout().cols());
  RUY_LIKE_RETURN_IF_ERROR(Mul(weights, input, params, context, &dst));
  tensors->push_back(std::move(output));
  return absl::OkStatus();
}

absl::Status MultiplyQuantized(const EqLayer& layer, const EqResult& scales,
                               const std::vector<LayerInput>& inputs,
                               Context* context,
                               std::vector<Tensors>* tensors) {
  const Layout& layout = layer.weights.layout();
  std::vector<std::int8_t> weights(
      static_cast<std::size_t>(layout.rows() * layout.cols()));
  Matrix<std::int8_t> lhs =
      RowMajor(weights.data(), layout.rows(), layout.cols());
  RUY_LIKE_RETURN_IF_ERROR(
      QuantizeRows(layer.weights, scales.weights, &lhs, context));
  std::vector<float> row_scales;
  for (const QuantParams& row : scales.weights) row_scales.push_back(row.scale);
  MulParams<std::int32_t, float> params;
  params.set_lhs_scale_perrow(row_scales.data());
  params.set_rhs_scale(scales.activations.scale);
  if (!layer.bias.empty()) params.set_bias(layer.bias.data());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Layout& columns = inputs[i].matrix.layout();
    std::vector<std::int8_t> values(
        static_cast<std::size_t>(columns.rows() * columns.cols()));
    Matrix<std::int8_t> rhs =
        ColMajor(values.data(), columns.rows(), columns.cols());
    RUY_LIKE_RETURN_IF_ERROR(
        Quantize(inputs[i].matrix, scales.activations, &rhs, context));
    RUY_LIKE_RETURN_IF_ERROR(
        Multiply(lhs, rhs, params, inputs[i].output, context, &(*tensors)[i]));
  }
  return absl::OkStatus();
}

double SnrOfLast(const std::vector<Tensors>& exact,
                 const std::vector<Tensors>& quantized) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::vector<float>& y = exact[i].back().values;
    for (std::size_t j = 0; j < y.size(); ++j) {
      const double error =
          static_cast<double>(quantized[i].back().values[j]) - y[j];
      signal += static_cast<double>(y[j]) * y[j];
      noise += error * error;
    }
  }
  return noise == 0 ? std::numeric_limits<double>::infinity()
                    : 10 * std::log10(signal / noise);
}

// Adds the layer's outputs to the tensors of both networks.
absl::StatusOr<EqLayerResult> SearchLayer(const EqLayer& layer,
                                          EqOptions options, Context* context,
                                          std::vector<Tensors>* exact,
                                          std::vector<Tensors>* quantized) {
  const std::size_t count = exact->size();
  std::vector<LayerInput> inputs[2] = {std::vector<LayerInput>(count),
                                       std::vector<LayerInput>(count)};
  std::vector<Matrix<float>> matrices[2];
  for (std::size_t i = 0; i < count; ++i) {
    for (const int q : {0, 1}) {
      LayerInput* const input = &inputs[q][i];
      RUY_LIKE_RETURN_IF_ERROR(
          MakeInput(layer, (*(q == 0 ? exact : quantized))[i], input));
      matrices[q].push_back(input->matrix);
    }
  }
  EqLayerResult result;
  options.references = matrices[0];
  RUY_LIKE_ASSIGN_OR_RETURN(
      result.search,
      EqSearch(layer.weights, matrices[1], options, context, layer.bias));
  MulParams<float, float> params;
  if (!layer.bias.empty()) params.set_bias(layer.bias.data());
  for (std::size_t i = 0; i < count; ++i) {
    RUY_LIKE_RETURN_IF_ERROR(Multiply(layer.weights, matrices[0][i], params,
                                      inputs[0][i].output, context,
                                      &(*exact)[i]));
  }
  RUY_LIKE_RETURN_IF_ERROR(
      MultiplyQuantized(layer, result.search, inputs[1], context, quantized));
  result.snr_db = SnrOfLast(*exact, *quantized);
  return result;
}

}  // namespace

absl::StatusOr<EqResult> EqSearchConv2D(
    const Matrix<float>& weights,
    absl::Span<const TensorView<const float>> images, const Window& window,
    const EqOptions& options, Context* context, absl::Span<const float> bias) {
  return CatchNoMemory([&]() -> absl::StatusOr<EqResult> {
    std::vector<std::vector<float>> patches(images.size());
    std::vector<Matrix<float>> activations(images.size());
    for (std::size_t i = 0; i < images.size(); ++i) {
      RUY_LIKE_RETURN_IF_ERROR(
          GatherPatches(images[i], window, &patches[i], &activations[i]));
    }
    return EqSearch(weights, activations, options, context, bias);
  });
}

absl::StatusOr<std::vector<EqLayerResult>> EqSearchNetwork(
    absl::Span<const EqLayer> layers, absl::Span<const EqTensor> inputs,
    const EqOptions& options, Context* context) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::vector<EqLayerResult>> {
    using Clock = std::chrono::steady_clock;
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckNotNull("context", context));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"layers", layers}));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"inputs", inputs}));
    if (options.activation_scale != 0 || !options.references.empty()) {
      return Invalid("a network has no one activation_scale or references");
    }
    std::vector<Tensors> exact;
    for (const EqTensor& input : inputs) exact.push_back({input});
    std::vector<Tensors> quantized = exact;
    std::vector<EqLayerResult> results;
    for (const EqLayer& layer : layers) {
      EqOptions of_layer = options;
      const auto now = Clock::now();
      if (options.deadline != Clock::time_point::max()) {
        of_layer.deadline =
            now + (options.deadline - now) /
                      static_cast<int>(layers.size() - results.size());
      }
      auto result = SearchLayer(layer, of_layer, context, &exact, &quantized);
      if (!result.ok()) {
        return WithPrefix(result.status(), "layer ", results.size(), " (",
                          layer.name, "): ");
      }
      results.push_back(*std::move(result));
    }
    return results;
  });
}

}  // namespace ruy_like
