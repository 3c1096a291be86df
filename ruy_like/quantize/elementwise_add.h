// Quantization toolkit, public: QuantizedAdd, the element-wise sum of quantized
// tensors, as residual networks have it.
//
// For TensorViews. quantized_add.h has TensorFlow's older operations on uint8
// spans with ranges.
#ifndef RUY_LIKE_QUANTIZE_ELEMENTWISE_ADD_H_
#define RUY_LIKE_QUANTIZE_ELEMENTWISE_ADD_H_

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {
namespace quantize_internal {

RUY_LIKE_EXPORT absl::Status QuantizedAdd(const Erased& a, const Erased& b,
                                          Context* context,
                                          const Erased& output);

}  // namespace quantize_internal

// TensorFlow Lite's ADD of 8-bit tensors, bit for bit with its reference
// kernels (integer_ops/add.h, with the rounding of its default build):
//
//   s      = 2 * max(a.scale, b.scale)
//   x      = (a - a's zero point) * 2^20 * (a.scale / s)
//   y      = (b - b's zero point) * 2^20 * (b.scale / s)
//   output = clamp((x + y) * (s / (2^20 * output.scale)) + output's zero point)
//
// to [output.qmin, output.qmax]. Each of the three multiplications is by a
// QuantizedMultiplier and rounds twice
// (MultiplyByQuantizedMultiplierLegacy, multiplier.h).
//
// Shapes, types, memory (output may be a or b) and errors are QuantizedMul's
// (elementwise_mul.h); InvalidArgument also for an output.scale so small that
// the last multiplier is not below 1.
template <typename A, typename B, typename T>
absl::Status QuantizedAdd(const TensorView<A>& a, const TensorView<B>& b,
                          Context* context, TensorView<T>* output) {
  quantize_internal::CheckSameBytes<T, A, B>();
  return quantize_internal::QuantizedAdd(a, b, context, output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_ELEMENTWISE_ADD_H_
