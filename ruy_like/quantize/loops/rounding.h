// Quantization toolkit, internal: the scalar arithmetic of each element-wise
// operation, one element at a time.
//
// This is the reference: the Highway kernels give the same bits on every
// target, and the tests compare them with these functions.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_ROUNDING_H_
#define RUY_LIKE_QUANTIZE_LOOPS_ROUNDING_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ruy_like/quantize/loops/element_kernels.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like::quantize_internal {

// The factor of x: the one division of a quantization.
inline float InverseScale(const QuantParams& params) {
  return 1.0f / params.scale;
}

// The stored value for x, clamped while still a float, so that 1e30 saturates;
// NaN gives the zero point. The caller's rounding mode is to nearest.
inline std::int32_t QuantizeOne(
    float x, float inverse_scale, const QuantParams& params,
    Rounding rounding = Rounding::kHalfAwayFromZero) {
  const bool to_even = rounding == Rounding::kHalfToEven;
  const float scaled = to_even ? x / params.scale : x * inverse_scale;
  const double rounded = std::isnan(scaled) ? 0.0
                         : to_even          ? std::nearbyint(scaled)
                                            : std::round(scaled);
  return static_cast<std::int32_t>(std::clamp<double>(
      rounded + params.zero_point, params.qmin, params.qmax));
}

// The real number that q stands for. The difference is exact before it becomes
// a float.
inline float DequantizeOne(std::int32_t q, const QuantParams& params) {
  const std::int64_t difference = std::int64_t{q} - params.zero_point;
  return static_cast<float>(difference) * params.scale;
}

// A product's accumulator as a float; two roundings, never one.
inline float DequantizeAccOne(std::int32_t acc, float scale, float bias) {
  const float scaled = static_cast<float>(acc) * scale;
  return scaled + bias;
}

// The sum of two codes' terms.
inline std::int32_t AddOne(std::uint8_t a, std::uint8_t b,
                           const AddTerms& terms) {
  return a * terms.a_factor + b * terms.b_factor + terms.offset;
}

// sum / 2^shift, halves up.
inline std::int32_t RoundedShift(std::int32_t sum, int shift) {
  return (sum + (std::int32_t{1} << (shift - 1))) >> shift;
}

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_ROUNDING_H_
