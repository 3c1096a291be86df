// Quantization toolkit, public: QuantizedMul, the element-wise product of
// quantized tensors.
//
// Not the matrix product, which is Mul.
#ifndef RUY_LIKE_QUANTIZE_ELEMENTWISE_MUL_H_
#define RUY_LIKE_QUANTIZE_ELEMENTWISE_MUL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {
namespace quantize_internal {

RUY_LIKE_EXPORT absl::Status QuantizedMul(const Erased& a, const Erased& b,
                                          Context* context,
                                          const Erased& output);

}  // namespace quantize_internal

// output = clamp(((a - a's zero point) * (b - b's zero point)) * m + output's
// zero point), where m = a.scale * b.scale / output.scale, rounded as Mul
// requantizes (multiplier.h), and clamped to [output.qmin, output.qmax].
//
// b has a's shape; or one element, for all of a; or, in a's order, images of
// one pixel, whose channels are for every pixel of a: one image for all of a's,
// or one for each. output has a's shape. It may be a or b itself, where that
// has this shape, but not overlap it otherwise.
//
// Types: int8_t or uint8_t, the same for all three, inputs const or not. Null
// `context`: on this thread. InvalidArgument, with output untouched, for null,
// sizes that do not agree and bad QuantParams; OutOfRange for tensors whose
// bytes cannot be counted.
template <typename A, typename B, typename T>
absl::Status QuantizedMul(const TensorView<A>& a, const TensorView<B>& b,
                          Context* context, TensorView<T>* output) {
  quantize_internal::CheckSameBytes<T, A, B>();
  return quantize_internal::QuantizedMul(a, b, context, output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_ELEMENTWISE_MUL_H_
