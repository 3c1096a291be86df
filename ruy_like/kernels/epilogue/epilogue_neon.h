// Back-end: NEON's own parts of the epilogue: requantization, for which it has
// instructions, and the stores of common float tiles.
//
// Included by the Arm per-ISA files before what instantiates an epilogue: the
// specialisations, for SimdNeon, of requantize.h's scalers, which take the
// place of even and odd lanes' 64-bit products, and of a routine of
// epilogue_columns.h. Tiles of bytes are epilogue_bytes_neon.h's.
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

// ## Floats
//
// Up to three of a tile's vectors of rows at once, and no clamp where there are
// no bounds: 4 to 8 instructions for a vector of results; the general routine
// takes 17.

// Whole vectors of rows; a bias runs along rows. Returns the number of rows.
template <bool kClamps>
__attribute__((noinline)) int StoreWholeFloatRows(
    const float* acc, ptrdiff_t acc_col_stride, int rows, int cols,
    const float* row_bias, const EpilogueArgs& e, float* dst,
    ptrdiff_t dst_stride) {
  const FloatOutput<SimdNeon> output(FloatBounds::Of(e));
  return ForWholeVectors(rows, [&](auto vectors, int row) {
    constexpr int kVectors = vectors();
    // Adding -0 changes nothing, not even -0.
    float32x4_t addends[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      addends[v] = row_bias == nullptr ? vdupq_n_f32(-0.0f)
                                       : vld1q_f32(row_bias + row + 4 * v);
    }
    const float* from = acc + row;
    float* to = dst + row;
    for (int c = 0; c < cols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        float32x4_t x = vaddq_f32(vld1q_f32(from + 4 * v), addends[v]);
        if (kClamps) x = output.Apply(x);
        vst1q_f32(to + 4 * v, x);
      }
      from += acc_col_stride;
      to += dst_stride;
    }
  });
}

template <>
__attribute__((noinline)) inline void StoreFloatColumns<SimdNeon>(
    const SpilledTile<float>& tile, const EpilogueArgs& e, void* dst,
    ptrdiff_t dst_stride) {
  const float* const bias = static_cast<const float*>(e.bias);
  float* const to = static_cast<float*>(dst);
  int done = 0;
  if (bias == nullptr || e.channels_are_rows) {
    done = (FloatBounds::AreNone(e)
                ? StoreWholeFloatRows<false>
                : StoreWholeFloatRows<true>)(tile.acc, tile.col_stride,
                                             tile.rows, tile.cols,
                                             bias == nullptr ? nullptr
                                                             : bias + tile.row0,
                                             e, to, dst_stride);
  }
  if (done < tile.rows) {
    StoreFloatRows<SimdNeon, Scalar::kF32>(
        tile.Part(done, 0, tile.rows, tile.cols), e, to + done, dst_stride);
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_NEON_H_
