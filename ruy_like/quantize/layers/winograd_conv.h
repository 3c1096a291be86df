// Quantization toolkit, internal: a convolution of 3x3 by the loops of
// winograd_kernels.h instead of a product.
//
// Called by conv.cc with checked arguments.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_WINOGRAD_CONV_H_
#define RUY_LIKE_QUANTIZE_LAYERS_WINOGRAD_CONV_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like::quantize_internal {

// The transformed weights, if the loops can run it, and faster than products;
// else, or without memory for them, null.
const std::int16_t* WinogradWeights(const LayerCall& call, const Layer& layer,
                                    const Window& window);

// Runs it with these. `own` is the layer of the call, if it makes one.
absl::Status RunWinograd(const LayerCall& call, const Layer& layer,
                         const Window& window, const std::int16_t* weights,
                         Layer* own);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_WINOGRAD_CONV_H_
