// Tested in test/quantize/layers/layer_test.cc.
#include "ruy_like/quantize/make_layer.h"

#include <algorithm>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/bias.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/quantize_dequantize.h"

namespace ruy_like::quantize_internal {
namespace {

absl::StatusOr<std::vector<QuantParams>> WeightParams(
    const Matrix<float>& weights, const MakeLayerOptions& options) {
  auto params = ChooseSymmetricChannels(weights, ChannelDimension::kRow,
                                        options.weight_bits);
  if (!params.ok() || params->empty()) return params;
  if (!options.weight_params.empty()) {
    const absl::Span<const QuantParams> given = options.weight_params;
    RUY_LIKE_RETURN_IF_ERROR(CheckPerChannel("weight_params", given.size(),
                                             weights.layout().rows()));
    for (const QuantParams& one : given) {
      if (one.zero_point != 0) {
        return Invalid("a zero point of weight_params is ", one.zero_point);
      }
    }
    return std::vector<QuantParams>(given.begin(), given.end());
  }
  if (options.per_channel) return params;
  // One scale: that of the channel with the largest weight. All-zero channels
  // have scale 1, whatever the others have.
  float scale = 0;
  for (std::ptrdiff_t row = 0; row < weights.layout().rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < weights.layout().cols(); ++col) {
      if (Element(weights, row, col) != 0) {
        scale = std::max(scale, (*params)[static_cast<std::size_t>(row)].scale);
        break;
      }
    }
  }
  QuantParams one = (*params)[0];
  one.scale = scale > 0 ? scale : 1;
  params->assign(1, one);
  return params;
}

}  // namespace

absl::StatusOr<QuantizedParts> QuantizeParts(const Matrix<float>& weights,
                                             absl::Span<const float> bias,
                                             bool int_bias,
                                             const QuantParams& input,
                                             const MakeLayerOptions& options,
                                             Context* context) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantizedParts> {
    RUY_LIKE_RETURN_IF_ERROR(CheckNotNull("context", context));
    RUY_LIKE_RETURN_IF_ERROR(CheckOperand("weights", Erase(weights)));
    const std::ptrdiff_t rows = weights.layout().rows();
    const std::ptrdiff_t cols = weights.layout().cols();
    RUY_LIKE_RETURN_IF_ERROR(
        CheckRange("weight_bits", options.weight_bits, 2, 8));
    if (rows < 1 || cols < 1) return Invalid("weights are empty");
    if (!bias.empty()) {
      RUY_LIKE_RETURN_IF_ERROR(CheckBiasCount(bias.size(), "weights", rows));
    }
    QuantizedParts parts;
    RUY_LIKE_ASSIGN_OR_RETURN(parts.params, WeightParams(weights, options));
    parts.weights.resize(static_cast<std::size_t>(rows * cols));
    Matrix<std::int8_t> quantized = RowMajor(parts.weights.data(), rows, cols);
    RUY_LIKE_RETURN_IF_ERROR(
        QuantizeRows(weights, parts.params, &quantized, context));
    if (!int_bias || bias.empty()) return parts;
    parts.bias.resize(bias.size());
    RUY_LIKE_ASSIGN_OR_RETURN(
        const auto saturated,
        QuantizeBias(bias, input, parts.params, absl::MakeSpan(parts.bias)));
    if (saturated > 0) {
      return Invalid(saturated,
                     " biases do not fit int32 in the accumulators' scale");
    }
    return parts;
  });
}

}  // namespace ruy_like::quantize_internal
