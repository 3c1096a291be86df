// ruy_like::quantize, internal: the vector loops of Quantize and Dequantize.
//
// Called by quantize_dequantize.cc with checked arguments. rounding.h has the
// same arithmetic for one element.
#ifndef RUY_LIKE_QUANTIZE_CONVERT_KERNELS_H_
#define RUY_LIKE_QUANTIZE_CONVERT_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/context.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {
namespace quantize_internal {

enum StoredType { kStoredI8, kStoredU8, kStoredI16, kStoredI32 };
constexpr int kNumStoredTypes = 4;

// A factor or summand of DequantizeAcc: one value or, where `each` is not null,
// one per element.
struct PerElement {
  const float* each;
  float value;
};

// n elements, no alignment needed. `streaming`: written past the caches.
struct ConvertKernels {
  const char* target;  // Highway's name of it
  void (*quantize[kNumStoredTypes])(const float* x, std::size_t n,
                                    const QuantParams& params, bool streaming,
                                    void* q);
  void (*dequantize[kNumStoredTypes])(const void* q, std::size_t n,
                                      const QuantParams& params, bool streaming,
                                      float* x);
  void (*dequantize_acc)(const std::int32_t* acc, std::size_t n,
                         const PerElement& scale, const PerElement& bias,
                         bool streaming, float* x);
};

// Those of the best of Highway's `targets` (dispatch.h).
const ConvertKernels& ConvertKernelsFor(std::int64_t targets);

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_CONVERT_KERNELS_H_
