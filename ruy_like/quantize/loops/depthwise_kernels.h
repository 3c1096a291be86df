// Quantization toolkit, internal: the fast loops of depthwise convolutions of
// NHWC tensors with 8-bit outputs.
//
// Called by depthwise_conv.cc with checked arguments. layer_kernels.h has loops
// for all other convolutions. All give the same bits for each of Highway's
// targets.
//
// Products are those of 4 taps at a time (VPDPBUSD), or of 2 (VPMADDWD, and
// what other targets have): the taps of a kernel column on neighbouring rows
// are brought side by side once per input column, for all the output columns
// that see it. Inputs count as unsigned, x or x + 128; the difference, the
// input's zero point included, is a constant that is added to the bias.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/context.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"

namespace ruy_like::quantize_internal {

// These loops apply to weights of 8 bits and a window that fits their
// buffers, as 15x15 does.
bool FitsDepthwiseKernels(const DepthwiseArgs& args);

// For 8-bit outputs; null where there are no vectors. That of the best paths
// that `context` permits (dispatch.h), AVX-512-VNNI included; AVX-VNNI counts
// as AVX2.
DepthwiseFunction* DepthwiseKernelFor(const Context* context);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_KERNELS_H_
