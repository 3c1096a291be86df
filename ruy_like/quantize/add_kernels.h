// ruy_like::quantize, internal: the vector loops of QuantizedAdd and
// Requantize.
//
// Called by quantized_add.cc and requantize.cc with checked arguments.
#ifndef RUY_LIKE_QUANTIZE_ADD_KERNELS_H_
#define RUY_LIKE_QUANTIZE_ADD_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {
namespace quantize_internal {

// sum = a * a_factor + b * b_factor + offset, and its nearest multiple of
// 2^shift divided by that, halves up. No sum leaves int32, 2^(shift - 1) added.
struct AddTerms {
  std::int32_t a_factor = 0;
  std::int32_t b_factor = 0;
  std::int32_t offset = 0;
  int shift = 0;  // in [1, 30]
};

struct IntRange {
  std::int32_t min;
  std::int32_t max;
};

struct AddKernels {
  // The rounded sums. Elements need no alignment.
  void (*to_32)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                const AddTerms& terms, bool streaming, std::int32_t* c);
  // The same, clamped to [0, 255]. Extends *sums by all sums, not rounded.
  void (*to_8)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
               const AddTerms& terms, bool streaming, std::uint8_t* c,
               IntRange* sums);
  // Extends *sums alone.
  void (*range)(const std::uint8_t* a, const std::uint8_t* b, std::size_t n,
                const AddTerms& terms, IntRange* sums);

  // clamp(MultiplyByQuantizedMultiplier(x, multiplier) + zero point).
  void (*requantize_i8)(const std::int32_t* x, std::size_t n,
                        QuantizedMultiplier multiplier,
                        const QuantParams& params, bool streaming,
                        std::int8_t* q);
  void (*requantize_u8)(const std::int32_t* x, std::size_t n,
                        QuantizedMultiplier multiplier,
                        const QuantParams& params, bool streaming,
                        std::uint8_t* q);
  void (*requantize_i16)(const std::int32_t* x, std::size_t n,
                         QuantizedMultiplier multiplier,
                         const QuantParams& params, bool streaming,
                         std::int16_t* q);
  // Extends *range by all x.
  void (*range_32)(const std::int32_t* x, std::size_t n, IntRange* range);
};

// Those of the best of Highway's `targets` (dispatch.h).
const AddKernels& AddKernelsFor(std::int64_t targets);

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_ADD_KERNELS_H_
