// Quantization toolkit, public: DepthwiseConv2D, where every channel is
// convolved by itself.
//
// There is no matrix product in it: vectors run along channels. Groups of
// several channels are Conv2D's.
#ifndef RUY_LIKE_QUANTIZE_DEPTHWISE_CONV_H_
#define RUY_LIKE_QUANTIZE_DEPTHWISE_CONV_H_

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

RUY_LIKE_EXPORT absl::Status DepthwiseConv2D(
    const Erased& input, const LayerSource& source, const Window& window,
    Workspace* workspace, Context* context, const Erased& output);

}  // namespace quantize_internal

// Output channel c sees input channel c / m, where m, the channel multiplier,
// is weights.channels() by the input's channels: 1 or another whole number.
// All else is as Conv2D has it, to the last bit.
template <typename In, typename Out>
absl::Status DepthwiseConv2D(const TensorView<In>& input,
                             const DepthwiseWeights& weights,
                             BiasSpan<Out> bias, const Window& window,
                             Workspace* workspace, Context* context,
                             TensorView<Out>* output) {
  quantize_internal::CheckLayerTypes<In, Out>();
  return quantize_internal::DepthwiseConv2D(input, {weights, bias}, window,
                                            workspace, context, output);
}

// The same for a layer made of such weights.
template <typename In, typename Out>
absl::Status DepthwiseConv2D(const TensorView<In>& input,
                             const QuantizedLayer& layer, const Window& window,
                             Workspace* workspace, Context* context,
                             TensorView<Out>* output) {
  quantize_internal::CheckLayerTypes<In, Out>();
  return quantize_internal::DepthwiseConv2D(input, layer, window, workspace,
                                            context, output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_DEPTHWISE_CONV_H_
