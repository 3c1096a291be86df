// Quantization toolkit, internal: a call of a depthwise convolution, whose
// weights are the layer's own or those of a convolution with as many groups as
// input channels.
//
// Called by depthwise_conv.cc and conv.cc with checked arguments.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_DEPTHWISE_H_
#define RUY_LIKE_QUANTIZE_LAYERS_DEPTHWISE_H_

#include "absl/status/status.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like::quantize_internal {

// `own` is the layer of call.source where that has none; `weights` are of the
// layer that computes.
absl::Status RunDepthwise(const LayerCall& call,
                          const DepthwiseWeights& weights, const Window& window,
                          Layer* own);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_DEPTHWISE_H_
