// Quantization toolkit, public: QuantizedLayers made in one call from float
// weights.
//
// For whoever loads a network: chooses the weights' scales, quantizes weights
// and bias, packs them and computes the multipliers. Each step alone is in
// quantize_dequantize.h, bias.h, packed_weights.h and layer.h.
#ifndef RUY_LIKE_QUANTIZE_MAKE_LAYER_H_
#define RUY_LIKE_QUANTIZE_MAKE_LAYER_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// The weights' scales that were enlarged so that biases fit.
struct MakeLayerReport {
  struct Channel {
    std::ptrdiff_t channel;
    float scale;  // of its weights, now
  };
  // In ascending order. Most of them are dead: filters of (nearly) zeros.
  std::vector<Channel> rescaled;
};

struct MakeLayerOptions {
  // Bits of a weight, in [2, 8]; weights are symmetric (ChooseSymmetric).
  int weight_bits = 8;
  // A scale for each output channel, or one for all.
  bool per_channel = true;
  // For MakeConv2D alone; see PackWeightsOptions.
  std::ptrdiff_t groups = 1;
  // Where not empty, the weights' parameters, one per row or one for all, with
  // zero points of 0: such as EqSearch finds. Bits and scales are then theirs.
  // Not needed after the call.
  absl::Span<const QuantParams> weight_params = {};
  // How sums become 8-bit outputs: kOnce or kFloat (QuantizedLayer::Make).
  MultiplierRounding rounding = MultiplierRounding::kOnce;
  // An activation that outputs of 8 bits end in, such as a sigmoid, or null
  // (QuantizedLayer::Make). Not needed after the call.
  const ByteTable* table = nullptr;
  // Written where not null.
  MakeLayerReport* report = nullptr;
};

namespace quantize_internal {

// The templates below without their types.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedLayer> MakeLayer(
    const Matrix<float>& weights, absl::Span<const float> bias, Scalar in,
    const QuantParams& input, Scalar out, const QuantParams& output,
    const MakeLayerOptions& options, bool is_depthwise, Context* context);

}  // namespace quantize_internal

// A layer for Conv2D. `weights` has one row per output channel, in the order of
// PackedWeights::Pack; `bias` is empty or has one element per row. `input` and
// `output` are the activations' parameters, such as Observer::ChooseParams
// chooses them (output is not looked at if Out is int32 or float), or for int16
// ChooseSymmetric with 16 bits. Weights and bias are not needed afterwards.
//
// A channel whose weights are so small that its bias does not fit int32 in the
// accumulators' scale gets the larger scale |bias| / (input.scale * 2^30), and
// one of zeros this scale wherever it is finer than its own; `options.report`
// lists them. If all had one scale, each has its own then. Outputs of int32 are
// in the scales that the caller knows: without a report theirs are never
// changed.
//
// InvalidArgument for weights and biases that are not finite, weight_bits
// outside [2, 8], weight_params of another number or with zero points, a bias
// that fits neither in the caller's scales nor in any that a float holds, and
// the errors of QuantizedLayer::Make and PackedWeights::Pack.
template <typename In, typename Out>
absl::StatusOr<QuantizedLayer> MakeConv2D(
    const Matrix<float>& weights, absl::Span<const float> bias,
    const QuantParams& input, const QuantParams& output, Context* context,
    const MakeLayerOptions& options = MakeLayerOptions()) {
  namespace qi = quantize_internal;
  qi::CheckLayerTypes<In, Out>();
  return qi::MakeLayer(weights, bias, internal::ScalarOf<In>(), input,
                       internal::ScalarOf<Out>(), output, options,
                       /*is_depthwise=*/false, context);
}

// A layer for FullyConnected, likewise; options.groups must be 1.
template <typename In, typename Out>
absl::StatusOr<QuantizedLayer> MakeFullyConnected(
    const Matrix<float>& weights, absl::Span<const float> bias,
    const QuantParams& input, const QuantParams& output, Context* context,
    const MakeLayerOptions& options = MakeLayerOptions()) {
  return MakeConv2D<In, Out>(weights, bias, input, output, context, options);
}

// A layer for DepthwiseConv2D: one row per output channel, one column per tap
// (DepthwiseWeights::Pack).
template <typename In, typename Out>
absl::StatusOr<QuantizedLayer> MakeDepthwiseConv2D(
    const Matrix<float>& weights, absl::Span<const float> bias,
    const QuantParams& input, const QuantParams& output, Context* context,
    const MakeLayerOptions& options = MakeLayerOptions()) {
  namespace qi = quantize_internal;
  qi::CheckLayerTypes<In, Out>();
  return qi::MakeLayer(weights, bias, internal::ScalarOf<In>(), input,
                       internal::ScalarOf<Out>(), output, options,
                       /*is_depthwise=*/true, context);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_MAKE_LAYER_H_
