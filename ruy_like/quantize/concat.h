// Quantization toolkit, public: Concat, which joins quantized tensors.
#ifndef RUY_LIKE_QUANTIZE_CONCAT_H_
#define RUY_LIKE_QUANTIZE_CONCAT_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {

enum class TensorAxis : std::uint8_t { kBatch, kHeight, kWidth, kChannels };

namespace quantize_internal {

// Tensors of any type: erase(tensors, i) is the i-th.
struct ErasedList {
  const void* tensors;
  std::size_t count;
  Erased (*erase)(const void* tensors, std::size_t i);
};

RUY_LIKE_EXPORT absl::Status Concat(const ErasedList& inputs, TensorAxis axis,
                                    Context* context, const Erased& output);

}  // namespace quantize_internal

// output holds the inputs in order along `axis`. All have one order and agree
// in the other sizes; output's size along the axis is the sum of theirs.
//
// Inputs with output's scale and zero point are copied, clamped to output's
// bounds where these are narrower; others are brought to output's parameters as
// Requantize does it (byte_table.h). TensorFlow Lite's CONCATENATION demands
// equal parameters for int8; for uint8 it computes in float, which may differ
// by 1 from this.
//
// T is int8_t or uint8_t for all tensors, inputs const or not. Null `context`:
// on this thread. InvalidArgument, with output untouched, for no inputs, null,
// sizes or orders that do not agree, bad QuantParams and memory that an input
// shares with output; OutOfRange for tensors whose bytes cannot be counted.
template <typename In, typename T>
absl::Status Concat(absl::Span<const TensorView<In>> inputs, TensorAxis axis,
                    Context* context, TensorView<T>* output) {
  quantize_internal::CheckSameBytes<T, In>();
  const auto erase = [](const void* tensors,
                        std::size_t i) -> quantize_internal::Erased {
    return static_cast<const TensorView<In>*>(tensors)[i];
  };
  return quantize_internal::Concat({inputs.data(), inputs.size(), erase}, axis,
                                   context, output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_CONCAT_H_
