// Back-end: NEON's own part of the epilogue: requantization, for which it has
// instructions.
//
// Included by the Arm per-ISA files before what instantiates an epilogue: the
// specialisations, for SimdNeon, of requantize.h's scalers, which take the
// place of even and odd lanes' 64-bit products. Tiles of bytes are
// epilogue_bytes_neon.h's.
//
// ## Why these are exact
//
// kernel.h's formula is (x * q + 2^(30-e)) >> (31-e), with one rounding.
//
//   e <= -1   SQDMULH, SRSHL: the first one is h = floor(x * q / 2^31). The
//             rounding term is a multiple of 2^31 then, so that what h dropped
//             cannot carry, and SRSHL by e is (h + 2^(-e-1)) >> -e.
//   e = 0     SQRDMULH: (x * q + 2^30) >> 31.
//   any e     SMULL to 64 bits, SRSHL by e - 31 there, SQXTN saturates.
//
// SQDMULH and SQRDMULH saturate only for q = -2^31, and q >= 0. (SQRDMULH
// followed by SRSHL, which is common elsewhere, rounds twice: 1.5% of results
// differ by one.)
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_NEON_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_bytes_neon.h"
#include "ruy_like/kernels/epilogue/epilogue_columns.h"
#include "ruy_like/kernels/epilogue/float_output.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Base of all specialisations.
struct NeonMultipliers {
  RUY_LIKE_ALWAYS_INLINE void Prepare(int32x4_t fixedpoint, int32x4_t exponent,
                                      bool twice) {
    fixedpoint_ = fixedpoint;
    exponent_ = exponent;
    twice_ = twice;
  }

  int32x4_t fixedpoint_, exponent_;
  bool twice_;
};

template <>
struct Scaler<SimdNeon, Scaling::kSmall> : NeonMultipliers {
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(int32x4_t x) const {
    return vrshlq_s32(vqdmulhq_s32(x, fixedpoint_), exponent_);
  }
};

template <>
struct Scaler<SimdNeon, Scaling::kUpToZero> : NeonMultipliers {
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(int32x4_t x) const {
    return vbslq_s32(vceqzq_s32(exponent_), vqrdmulhq_s32(x, fixedpoint_),
                     vrshlq_s32(vqdmulhq_s32(x, fixedpoint_), exponent_));
  }
};

template <>
struct Scaler<SimdNeon, Scaling::kSaturating> : NeonMultipliers {
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(int32x4_t x) const {
    const int32x4_t shift = vsubq_s32(exponent_, vdupq_n_s32(31));
    // A second rounding adds 2^30 with the sign of x, where the exponent is
    // negative (requantize.h).
    const int32x4_t negative = vshrq_n_s32(x, 31);
    const int32x4_t nudge =
        vsubq_s32(veorq_s32(vandq_s32(vshrq_n_s32(exponent_, 31),
                                      vdupq_n_s32(twice_ ? 1 << 30 : 0)),
                            negative),
                  negative);
    const int64x2_t low = vrshlq_s64(
        vaddw_s32(vmull_s32(vget_low_s32(x), vget_low_s32(fixedpoint_)),
                  vget_low_s32(nudge)),
        vmovl_s32(vget_low_s32(shift)));
    const int64x2_t high = vrshlq_s64(
        vaddw_s32(vmull_high_s32(x, fixedpoint_), vget_high_s32(nudge)),
        vmovl_high_s32(shift));
    return vqmovn_high_s64(vqmovn_s64(low), high);
  }
};

#if !RUY_LIKE_NEON_64
// ## Integers to floats, lane by lane: NEON flushes denormals

struct NeonLanes : SimdNeon {
  static RUY_LIKE_ALWAYS_INLINE Float AddFloat(Float a, Float b) {
    for (int i = 0; i < kLanes; ++i) a[i] = InScalar(a[i] + b[i]);
    return a;
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulFloat(Float a, Float b) {
    for (int i = 0; i < kLanes; ++i) a[i] = InScalar(a[i] * b[i]);
    return a;
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtLeast(Float bound, Float x) {
    for (int i = 0; i < kLanes; ++i)
      x[i] = InScalar(x[i] < bound[i] ? bound[i] : x[i]);
    return x;
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtMost(Float bound, Float x) {
    for (int i = 0; i < kLanes; ++i)
      x[i] = InScalar(x[i] > bound[i] ? bound[i] : x[i]);
    return x;
  }

 private:
  // x, in a scalar register: keeps compilers from vectorizing the operation.
  static RUY_LIKE_ALWAYS_INLINE float InScalar(float x) {
    __asm__("" : "+t"(x));
    return x;
  }
};

template <>
struct DenormalTrait<SimdNeon> {
  typedef NeonLanes Trait;
};
#endif

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_NEON_H_
