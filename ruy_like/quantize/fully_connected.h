// ruy_like::quantize, public: FullyConnected, a layer's product on quantized
// activations.
//
// Called once per layer and batch. The product itself is Mul's.
#ifndef RUY_LIKE_QUANTIZE_FULLY_CONNECTED_H_
#define RUY_LIKE_QUANTIZE_FULLY_CONNECTED_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like {

// The bias of an operation with output elements Out, one element per output
// channel or empty: int32 in the accumulators' scale (QuantizeBias), or float
// for a float output.
template <typename Out>
using BiasSpan =
    absl::Span<const typename MulParams<std::int32_t, Out>::BiasScalar>;

namespace quantize_internal {

// In: int8_t or uint8_t; Out: these, int32_t or float.
template <typename In, typename Out>
RUY_LIKE_EXPORT absl::Status FullyConnectedTyped(
    const TensorView<const In>& input, const PackedWeights& weights,
    BiasSpan<Out> bias, Workspace* workspace, Context* context,
    const TensorView<Out>& output);

}  // namespace quantize_internal

// output[n][c] = sum over k of (weights[c][k] - its zero point) *
// (input[n][k] - its zero point), where k runs over all elements of an image of
// the batch in the order of memory; then, for Out
//
//   int8_t, uint8_t: (sum + bias[c]) * input.scale * weights.scale[c] /
//       output.scale, rounded as Mul does, + output zero point, clamped to
//       [output.qmin, output.qmax];
//   int32_t: sum + bias[c];
//   float: sum * weights.scale[c] * input.scale + bias[c], for activations that
//       are quantized on the fly.
//
// In and Out are deduced: TensorViews of int8_t or uint8_t (const or not), and
// of int8_t, uint8_t, int32_t or float. output's shape must have input's batch
// and weights.channels() elements for each image. No `workspace`: memory is
// taken for the call.
//
// InvalidArgument, with output untouched, for null, sizes that do not agree,
// more than one group, bad QuantParams, memory that input or bias share with
// output, and depths whose sums may leave int32; OutOfRange for tensors whose
// bytes cannot be counted; ResourceExhausted; and the errors of Mul.
template <typename In, typename Out>
absl::Status FullyConnected(const TensorView<In>& input,
                            const PackedWeights& weights, BiasSpan<Out> bias,
                            Workspace* workspace, Context* context,
                            TensorView<Out>* output) {
  if (output == nullptr) return quantize_internal::NullError("output");
  return quantize_internal::FullyConnectedTyped<std::remove_const_t<In>, Out>(
      quantize_internal::ConstView(input), weights, bias, workspace, context,
      *output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_FULLY_CONNECTED_H_
