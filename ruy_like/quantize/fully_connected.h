// Quantization toolkit, public: FullyConnected, a layer's product on quantized
// activations.
//
// Called once per layer and batch. The product itself is Mul's.
#ifndef RUY_LIKE_QUANTIZE_FULLY_CONNECTED_H_
#define RUY_LIKE_QUANTIZE_FULLY_CONNECTED_H_

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like {

namespace quantize_internal {

RUY_LIKE_EXPORT absl::Status FullyConnected(const Erased& input,
                                            const LayerSource& source,
                                            Workspace* workspace,
                                            Context* context,
                                            const Erased& output);

}  // namespace quantize_internal

// output[n][c] = sum over k of (weights[c][k] - its zero point) *
// (input[n][k] - its zero point), where k runs over all elements of an image of
// the batch in the order of memory; then, for Out
//
//   int8_t, uint8_t: (sum + bias[c]) * input.scale * weights.scale[c] /
//       output.scale, rounded as Mul does, + output zero point, clamped to
//       [output.qmin, output.qmax];
//   int16_t, of int16_t inputs: the same, by multipliers that are rounded to 15
//       bits (RoundTo15Bits): TensorFlow Lite's layers of int16 activations and
//       int8 weights, if sums fit int32;
//   int32_t: sum + bias[c];
//   float: sum * weights.scale[c] * input.scale + bias[c], for activations that
//       are quantized on the fly.
//
// In and Out are deduced: TensorViews of int8_t or uint8_t (const or not), and
// of int8_t, uint8_t, int32_t or float; or of int16_t, with zero points of 0
// and PackWeightsOptions::for_int16, and of int16_t or int32_t. output's shape
// must have input's batch and weights.channels() elements for each image. No
// `workspace`: memory is taken for the call.
//
// InvalidArgument, with output untouched, for null, sizes that do not agree,
// more than one group, bad QuantParams, memory that input or bias share with
// output, and weights whose sums may leave int32; OutOfRange for tensors whose
// bytes cannot be counted; ResourceExhausted; and the errors of Mul.
template <typename In, typename Out>
absl::Status FullyConnected(const TensorView<In>& input,
                            const PackedWeights& weights, BiasSpan<Out> bias,
                            Workspace* workspace, Context* context,
                            TensorView<Out>* output) {
  quantize_internal::CheckLayerTypes<In, Out>();
  return quantize_internal::FullyConnected(input, {weights, bias}, workspace,
                                           context, output);
}

// The same for a layer made of such weights.
template <typename In, typename Out>
absl::Status FullyConnected(const TensorView<In>& input,
                            const QuantizedLayer& layer, Context* context,
                            TensorView<Out>* output) {
  quantize_internal::CheckLayerTypes<In, Out>();
  return quantize_internal::FullyConnected(input, layer, nullptr, context,
                                           output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_FULLY_CONNECTED_H_
