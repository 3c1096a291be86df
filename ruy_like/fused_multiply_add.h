// Public: x * y + z of floats, rounded once. The float std::fma of mingw-w64's
// C library gives other values (seen for a third of random operands).
#ifndef RUY_LIKE_FUSED_MULTIPLY_ADD_H_
#define RUY_LIKE_FUSED_MULTIPLY_ADD_H_

#include <float.h>
#include <stdint.h>
#include <string.h>

namespace ruy_like {

// Rounds to nearest; not with -ffast-math. Inlined always: leaves no symbol
// behind that the linker could merge with one of code built for another
// instruction set.
__attribute__((always_inline)) inline float FusedMultiplyAdd(float x, float y,
                                                             float z) {
#if defined(__FP_FAST_FMAF) || FLT_EVAL_METHOD != 0
  return __builtin_fmaf(x, y, z);
#else
  // The product is exact. The sum is rounded to odd: it then is never half way
  // between two floats unless the exact sum is, and the second rounding gives
  // what one alone would. (Boldo and Melquiond, "Emulation of a FMA and
  // correctly rounded sums", 2008.)
  const double product = static_cast<double>(x) * static_cast<double>(y);
  const double addend = static_cast<double>(z);
  double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  uint64_t bits;
  memcpy(&bits, &sum, sizeof(bits));
  // With an infinite or NaN sum the error is NaN, and neither comparison holds.
  if ((bits & 1) == 0 && (error > 0 || error < 0)) {
    if ((error > 0) == (sum > 0)) {
      ++bits;
    } else {
      --bits;
    }
    memcpy(&sum, &bits, sizeof(bits));
  }
  return static_cast<float>(sum);
#endif
}

// x, which no compiler then merges with a sum into one rounding, as GCC does by
// default on processors with such an instruction.
template <typename Float>
__attribute__((always_inline)) inline Float Uncontracted(Float x) {
#if defined(__FP_FAST_FMAF) || defined(__FP_FAST_FMA)
  __asm__("" : "+m"(x));
#endif
  return x;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_FUSED_MULTIPLY_ADD_H_
