// Quantization toolkit, public: Conv2D on quantized activations.
//
// Called once per layer. The products are Mul's: of the input where it lies for
// kernels of 1x1 with stride 1 and no padding, else of patches that are
// gathered in the workspace (im2col), some hundred KiB at a time.
// Groups of few channels are multiplied by loops of their own instead, from a
// padded copy of the input in the workspace. Convolutions with as many groups
// as input channels run as depthwise_conv.h's do.
#ifndef RUY_LIKE_QUANTIZE_CONV_H_
#define RUY_LIKE_QUANTIZE_CONV_H_

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like {
namespace quantize_internal {

RUY_LIKE_EXPORT absl::Status Conv2D(const Erased& input,
                                    const LayerSource& source,
                                    const Window& window, Workspace* workspace,
                                    Context* context, const Erased& output);

}  // namespace quantize_internal

// Each output element is the sum over the window's taps and the input channels
// of its group of (weight - weights' zero point) * (input - input's zero
// point), and then becomes an Out as FullyConnected has it. Padding counts as
// the input's zero point, that is as 0.
//
// input and output have one order; output's shape is
// OutputShape(input.shape, window, weights.channels()). Types, workspace and
// errors as those of FullyConnected. On an error of Mul's own after the first
// patches (ResourceExhausted) output may be written in part.
template <typename In, typename Out>
absl::Status Conv2D(const TensorView<In>& input, const PackedWeights& weights,
                    BiasSpan<Out> bias, const Window& window,
                    Workspace* workspace, Context* context,
                    TensorView<Out>* output) {
  quantize_internal::CheckLayerTypes<In, Out>();
  return quantize_internal::Conv2D(input, {weights, bias}, window, workspace,
                                   context, output);
}

// The same for a layer made of such weights.
template <typename In, typename Out>
absl::Status Conv2D(const TensorView<In>& input, const QuantizedLayer& layer,
                    const Window& window, Workspace* workspace,
                    Context* context, TensorView<Out>* output) {
  quantize_internal::CheckLayerTypes<In, Out>();
  return quantize_internal::Conv2D(input, layer, window, workspace, context,
                                   output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_CONV_H_
