// Quantization toolkit, internal: convolutions by the toolkit's own loops
// instead of products.
//
// Called by conv.cc and depthwise_conv.cc with checked arguments.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_DIRECT_CONV_H_
#define RUY_LIKE_QUANTIZE_LAYERS_DIRECT_CONV_H_

#include <optional>

#include "absl/status/status.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like::quantize_internal {

// `weights` are the layer's own or those of a convolution with as many groups
// as input channels.
absl::Status RunDepthwise(const DepthwiseWeights& weights, const Window& window,
                          LayerCall* call);

// By the loops of winograd_kernels.h and of grouped_kernels.h: nothing where
// these cannot run the call, are no faster than products or have no memory for
// their form of the weights.
std::optional<absl::Status> TryWinograd(const Window& window, LayerCall* call);
std::optional<absl::Status> TryGrouped(const Window& window, LayerCall* call);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_DIRECT_CONV_H_
