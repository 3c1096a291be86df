// Quantization toolkit, internal: the vector loops of Quantize and Dequantize.
//
// Called by quantize_dequantize.cc with checked arguments. rounding.h has the
// same arithmetic for one element.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_CONVERT_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_CONVERT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like::quantize_internal {

// A factor or summand of DequantizeAcc: one value or, where `each` is not null,
// one per element.
struct PerElement {
  const float* each;
  float value;
};

// n elements, no alignment needed. `streaming`: written past the caches.
using ConvertFunction = void(const void* from, std::size_t n,
                             const QuantParams& params, bool streaming,
                             void* to);

struct ConvertKernels {
  const char* target;  // Highway's name of it
  // Floats to int8, uint8, int16 and int32, for each Rounding; and back.
  ByScalar<ConvertFunction> quantize[2], dequantize;
  void (*dequantize_acc)(const std::int32_t* acc, std::size_t n,
                         const PerElement& scale, const PerElement& bias,
                         bool streaming, float* x);
};

// Those of the best of Highway's `targets` (dispatch.h).
const ConvertKernels& ConvertKernelsFor(std::int64_t targets);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_CONVERT_KERNELS_H_
