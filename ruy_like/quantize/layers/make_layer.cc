#include "ruy_like/quantize/make_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/bias.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/packed_weights.h"
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
    RUY_LIKE_RETURN_IF_ERROR(CheckChannelParams(
        "weight_params", given, weights.layout().rows(), Scalar::kI8));
    for (const QuantParams& one : given) {
      if (one.zero_point != 0) {
        return Invalid("a zero point of weight_params is ", one.zero_point);
      }
    }
    return std::vector<QuantParams>(given.begin(), given.end());
  }
  if (options.per_channel) return params;
  float absmax = 0;
  for (std::ptrdiff_t row = 0; row < weights.layout().rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < weights.layout().cols(); ++col) {
      absmax = std::max(absmax, std::abs(Element(weights, row, col)));
    }
  }
  RUY_LIKE_ASSIGN_OR_RETURN(const auto one,
                            ChooseSymmetric(absmax, options.weight_bits));
  params->assign(1, one);
  return params;
}

// Chooses scales for the sake of biases, as make_layer.h describes.
class BiasScales {
 public:
  BiasScales(Scalar in, const QuantParams& input, Scalar out,
             const QuantParams& output, const MakeLayerOptions& options)
      : in_(in), out_(out), input_(input), output_(output), options_(options) {}

  // Changes `params`, of valid `weights`, after which these are to be
  // quantized.
  absl::Status Adapt(const Matrix<float>& weights, absl::Span<const float> bias,
                     std::vector<QuantParams>* params) const {
    RUY_LIKE_RETURN_IF_ERROR(CheckActivation("input", in_, input_));
    if (IsActivation(out_)) {
      RUY_LIKE_RETURN_IF_ERROR(CheckActivation("output", out_, output_));
    }
    RUY_LIKE_ASSIGN_OR_RETURN(
        const auto largest_sum,
        LargestSum(Magnitude(weights, *params), in_, input_));
    const std::int64_t largest_bias = std::min<std::int64_t>(
        std::int64_t{1} << 30,
        std::numeric_limits<std::int32_t>::max() - largest_sum);
    // Sums this long leave a bias too few steps.
    if (largest_bias < 1 << 28) return absl::OkStatus();
    for (std::size_t c = 0; c < bias.size(); ++c) {
      const QuantParams own = (*params)[params->size() == 1 ? 0 : c];
      RUY_LIKE_ASSIGN_OR_RETURN(
          const float scale,
          ScaleFor(c, bias[c], static_cast<double>(largest_bias), own.scale,
                   IsZero(weights, static_cast<std::ptrdiff_t>(c), own.qmax)));
      if (scale == own.scale) continue;
      if (params->size() == 1) params->assign(bias.size(), own);
      (*params)[c].scale = scale;
      if (options_.report != nullptr) {
        options_.report->rescaled.push_back(
            {static_cast<std::ptrdiff_t>(c), scale});
      }
    }
    return absl::OkStatus();
  }

 private:
  // At least PackedWeights::magnitude(). That of any weights, but for int16,
  // where it would leave little depth.
  std::int64_t Magnitude(const Matrix<float>& weights,
                         const std::vector<QuantParams>& params) const {
    const std::ptrdiff_t cols = weights.layout().cols();
    if (Is8Bit(in_)) return cols * LargestWeight(params[0]);
    double largest = 0;
    for (std::ptrdiff_t row = 0; row < weights.layout().rows(); ++row) {
      const auto channel = static_cast<std::size_t>(row) % params.size();
      double sum = 0.5 * static_cast<double>(cols);
      for (std::ptrdiff_t col = 0; col < cols; ++col) {
        sum += std::abs(Element(weights, row, col) / params[channel].scale);
      }
      largest = std::max(largest, sum);
    }
    return static_cast<std::int64_t>(std::min(
        largest, static_cast<double>(cols * LargestWeight(params[0]))));
  }

  // `own`, if that will do.
  absl::StatusOr<float> ScaleFor(std::size_t channel, float bias,
                                 double largest_bias, float own,
                                 bool is_zero) const {
    if (!std::isfinite(bias)) {
      return Invalid("the bias of channel ", channel, " is ", bias);
    }
    const double magnitude = std::abs(static_cast<double>(bias));
    const double step = static_cast<double>(input_.scale) * own;
    if (magnitude <= step * largest_bias) {
      // A bias that loses less than 1/512 of a step of the output is good.
      if (!is_zero || bias == 0 || !IsActivation(out_) ||
          step <= static_cast<double>(output_.scale) / 256) {
        return own;
      }
    } else if (out_ == Scalar::kI32 && options_.report == nullptr) {
      return Invalid("the bias of channel ", channel, ", ", bias,
                     ", does not fit int32 in steps of ", step,
                     ": without a report the weights' scale ", own,
                     " is not enlarged for int32 outputs");
    }
    using Limits = std::numeric_limits<float>;
    const double needed = magnitude / (input_.scale * largest_bias);
    if (needed >= Limits::max()) {
      return Invalid("the bias of channel ", channel, ", ", bias,
                     ", fits int32 with no scale of weights for the input's ",
                     input_.scale);
    }
    // Rounded up: rounded down, the bias could exceed int32 again.
    return std::nextafter(
        static_cast<float>(std::max<double>(needed, Limits::min())),
        Limits::infinity());
  }

  // Zeros, or too small for a scale of their own (ChooseSymmetric).
  static bool IsZero(const Matrix<float>& weights, std::ptrdiff_t row,
                     std::int32_t qmax) {
    const float least =
        std::numeric_limits<float>::min() * static_cast<float>(qmax);
    for (std::ptrdiff_t col = 0; col < weights.layout().cols(); ++col) {
      if (std::abs(Element(weights, row, col)) >= least) return false;
    }
    return true;
  }

  const Scalar in_, out_;
  const QuantParams& input_;
  const QuantParams& output_;
  const MakeLayerOptions& options_;
};

}  // namespace

absl::StatusOr<QuantizedLayer> MakeLayer(const Matrix<float>& weights,
                                         absl::Span<const float> bias,
                                         Scalar in, const QuantParams& input,
                                         Scalar out, const QuantParams& output,
                                         const MakeLayerOptions& options,
                                         bool is_depthwise, Context* context) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantizedLayer> {
    if (options.report != nullptr) *options.report = MakeLayerReport();
    RUY_LIKE_RETURN_IF_ERROR(CheckNotNull("context", context));
    RUY_LIKE_RETURN_IF_ERROR(CheckOperand("weights", weights));
    RUY_LIKE_RETURN_IF_ERROR(CheckData({"bias", bias}));
    const std::ptrdiff_t rows = weights.layout().rows();
    const std::ptrdiff_t cols = weights.layout().cols();
    RUY_LIKE_RETURN_IF_ERROR(
        CheckRange("weight_bits", options.weight_bits, 2, 8));
    if (rows < 1 || cols < 1) return Invalid("weights are empty");
    if (!bias.empty()) {
      RUY_LIKE_RETURN_IF_ERROR(CheckBiasCount(bias.size(), "weights", rows));
    }
    RUY_LIKE_ASSIGN_OR_RETURN(auto params, WeightParams(weights, options));
    const bool has_int_bias = out != Scalar::kF32 && !bias.empty();
    if (has_int_bias) {
      const ByteTable* const table = options.table;
      RUY_LIKE_RETURN_IF_ERROR(
          BiasScales(in, input, table != nullptr ? table->in() : out,
                     table != nullptr ? table->input() : output, options)
              .Adapt(weights, bias, &params));
    }
    std::vector<std::int8_t> values(static_cast<std::size_t>(rows * cols));
    Matrix<std::int8_t> quantized = RowMajor(values.data(), rows, cols);
    RUY_LIKE_RETURN_IF_ERROR(
        QuantizeRows(weights, params, &quantized, context));
    std::vector<std::int32_t> int_bias(has_int_bias ? bias.size() : 0);
    if (has_int_bias) {
      // QuantizedLayer::MakeErased refuses what saturates.
      RUY_LIKE_RETURN_IF_ERROR(
          QuantizeBias(bias, input, params, absl::MakeSpan(int_bias)).status());
    }
    const Erased erased_bias =
        out == Scalar::kF32 ? Erased(bias) : absl::MakeConstSpan(int_bias);
    const auto make = [&](const auto& packed) {
      return QuantizedLayer::MakeErased({packed, erased_bias}, in, input, out,
                                        output, options.rounding,
                                        options.table);
    };
    if (is_depthwise) {
      RUY_LIKE_ASSIGN_OR_RETURN(const auto packed,
                                DepthwiseWeights::Pack(quantized, params));
      return make(packed);
    }
    PackWeightsOptions pack_options;
    pack_options.groups = options.groups;
    pack_options.for_int16 = in == Scalar::kI16;
    RUY_LIKE_ASSIGN_OR_RETURN(
        const auto packed,
        PackedWeights::Pack(quantized, params, context, pack_options));
    return make(packed);
  });
}

}  // namespace ruy_like::quantize_internal
