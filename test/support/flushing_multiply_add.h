// Test support: the steps that sums of floats are made of on x86 with vectors.
#ifndef RUY_LIKE_TEST_SUPPORT_FLUSHING_MULTIPLY_ADD_H_
#define RUY_LIKE_TEST_SUPPORT_FLUSHING_MULTIPLY_ADD_H_

#include <cmath>

#include "ruy_like/fused_multiply_add.h"

namespace ruy_like {

// A fused multiply-add that rounds to nearest even and takes denormals for
// zeros, results that are denormal after rounding included: the step that sums
// are made of, on x86 with vectors.
inline float FlushingMultiplyAdd(float a, float b, float sum) {
  const auto flush = [](float x) {
    return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
  };
  a = flush(a);
  b = flush(b);
  sum = flush(sum);
  const float result = FusedMultiplyAdd(a, b, sum);
  if (!(std::fabs(result) < 0x1p-100f)) return result;
  // Rounded to float's precision, as if there were smaller exponents.
  const float scaled = std::fabs(a) < std::fabs(b)
                           ? FusedMultiplyAdd(a * 0x1p100f, b, sum * 0x1p100f)
                           : FusedMultiplyAdd(a, b * 0x1p100f, sum * 0x1p100f);
  return std::fabs(scaled) < 0x1p-26f ? std::copysign(0.0f, scaled)
                                      : scaled * 0x1p-100f;
}

// a + b, likewise.
inline float FlushingSum(float a, float b) {
  return FlushingMultiplyAdd(a, 1, b);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_FLUSHING_MULTIPLY_ADD_H_
