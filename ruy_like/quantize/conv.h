// ruy_like::quantize, public: Conv2D on quantized activations.
//
// Called once per layer. The products are Mul's: of the input where it lies for
// kernels of 1x1 with stride 1 and no padding, else of patches that are
// gathered in the workspace (im2col), some hundred KiB at a time.
// Convolutions with as many groups as channels are depthwise_conv.h's.
#ifndef RUY_LIKE_QUANTIZE_CONV_H_
#define RUY_LIKE_QUANTIZE_CONV_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/fully_connected.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like {
namespace quantize_internal {

template <typename In, typename Out>
RUY_LIKE_EXPORT absl::Status Conv2DTyped(const TensorView<const In>& input,
                                         const PackedWeights& weights,
                                         BiasSpan<Out> bias,
                                         const Window& window,
                                         Workspace* workspace, Context* context,
                                         const TensorView<Out>& output);

}  // namespace quantize_internal

// Each output element is the sum over the window's taps and the input channels
// of its group of (weight - weights' zero point) * (input - input's zero
// point), and then becomes an Out as FullyConnected has it. Padding counts as
// the input's zero point, that is as 0.
//
// input and output have one order; output's shape is OutputShape(input.shape,
// window, weights.channels()). Types, workspace and errors as those of
// FullyConnected. On an error of Mul's own after the first patches
// (ResourceExhausted) output may be written in part.
template <typename In, typename Out>
absl::Status Conv2D(const TensorView<In>& input, const PackedWeights& weights,
                    BiasSpan<Out> bias, const Window& window,
                    Workspace* workspace, Context* context,
                    TensorView<Out>* output) {
  if (output == nullptr) return quantize_internal::NullError("output");
  return quantize_internal::Conv2DTyped<std::remove_const_t<In>, Out>(
      quantize_internal::ConstView(input), weights, bias, window, workspace,
      context, *output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_CONV_H_
