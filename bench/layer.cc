#include "bench/layer.h"

#include <utility>

#include "bench/buffer.h"
#include "ruy_like/quantize/quantize.h"

namespace ruy_like::bench {
namespace {

constexpr QuantParams kInput = {0.05f, -3}, kOutput = {0.5f, 4};

absl::StatusOr<QuantizedLayer> MakeLayer(const ConvCase& c, bool is_depthwise,
                                         std::ptrdiff_t depth,
                                         Context* context) {
  const auto channels = static_cast<std::size_t>(c.channels);
  const auto values = RandomVector<std::int8_t>(c.channels * depth, -127, 127);
  const Matrix<std::int8_t> matrix = RowMajor(values, c.channels, depth);
  const std::vector<QuantParams> params(channels, {0.01f, 0, -127, 127});
  const std::vector<std::int32_t> bias(channels, 1000);
  if (is_depthwise) {
    const auto weights = DepthwiseWeights::Pack(matrix, params);
    if (!weights.ok()) return weights.status();
    return QuantizedLayer::Make<std::int8_t, std::int8_t>(*weights, bias,
                                                          kInput, kOutput);
  }
  PackWeightsOptions options;
  options.groups = c.groups;
  const auto weights = PackedWeights::Pack(matrix, params, context, options);
  if (!weights.ok()) return weights.status();
  return QuantizedLayer::Make<std::int8_t, std::int8_t>(*weights, bias, kInput,
                                                        kOutput);
}

}  // namespace

std::ptrdiff_t CountOf(const TensorShape& shape) {
  return shape.batch * shape.height * shape.width * shape.channels;
}

Window SquareWindow(std::ptrdiff_t kernel, std::ptrdiff_t stride) {
  Window window;
  window.kernel_height = window.kernel_width = kernel;
  window.stride_height = window.stride_width = stride;
  const std::ptrdiff_t padding = kernel / 2;
  window.padding = {padding, padding, padding, padding};
  return window;
}

absl::StatusOr<BenchLayer> BenchLayer::Make(const ConvCase& c,
                                            bool is_depthwise,
                                            Context* context) {
  const auto shape = OutputShape(c.input, c.window, c.channels);
  if (!shape.ok()) return shape.status();
  BenchLayer result;
  result.input_shape_ = c.input;
  result.output_shape_ = *shape;
  result.window_ = c.window;
  result.is_depthwise_ = is_depthwise;
  result.depth_ = c.window.kernel_height * c.window.kernel_width *
                  (is_depthwise ? 1 : c.input.channels / c.groups);
  result.input_ = RandomVector<std::int8_t>(CountOf(c.input), -128, 127);
  result.output_.resize(static_cast<std::size_t>(CountOf(*shape)));
  auto layer = MakeLayer(c, is_depthwise, result.depth_, context);
  if (!layer.ok()) return layer.status();
  result.layer_ = *std::move(layer);
  return result;
}

absl::Status BenchLayer::Run(Context* context) {
  const TensorView<const std::int8_t> input{input_.data(), input_shape_,
                                            kInput};
  TensorView<std::int8_t> output{output_.data(), output_shape_, kOutput};
  return is_depthwise_
             ? DepthwiseConv2D(input, layer_, window_, &workspace_, context,
                               &output)
             : Conv2D(input, layer_, window_, &workspace_, context, &output);
}

}  // namespace ruy_like::bench
