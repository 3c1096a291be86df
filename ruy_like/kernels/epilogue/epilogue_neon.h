// Back-end: what the epilogue does otherwise with NEON: requantization, with
// its instructions for that, and the stores of common tiles.
//
// Included by the Arm per-ISA files before what instantiates an epilogue: the
// specialisations, for SimdNeon, of requantize.h's and epilogue_bytes.h's
// scalers, which take the place of even and odd lanes' 64-bit products, and of
// routines of epilogue_bytes.h and epilogue_columns.h.
//
// ## Why these are exact
//
// kernel.h's formula is (x * q + 2^(30-e)) >> (31-e), with one rounding.
//
//   e <= -1   SQDMULH, SRSHL: the first one is h = floor(x * q / 2^31). The
//             rounding term is a multiple of 2^31 then, so that what h dropped
//             can not carry, and SRSHL by e is (h + 2^(-e-1)) >> -e.
//   e = 0     SQRDMULH: (x * q + 2^30) >> 31.
//   any e     SMULL to 64 bits, SRSHL by e - 31 there, SQXTN saturates.
//
// The one product that SQDMULH and SQRDMULH saturate has q = -2^31, and q >= 0.
// (SQRDMULH followed by SRSHL, which is common elsewhere, rounds twice: 1.5% of
// results differ by one.)
#ifndef RUY_LIKE_KERNELS_EPILOGUE_REQUANTIZE_NEON_H_
#define RUY_LIKE_KERNELS_EPILOGUE_REQUANTIZE_NEON_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/epilogue/epilogue_columns.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/simd/always_inline.h"
#include "ruy_like/kernels/simd/simd_neon.h"
#include "ruy_like/kernels/simd/unroll.h"

namespace ruy_like {
namespace kernels {
namespace {

// What all specialisations hold.
struct NeonMultipliers {
  RUY_LIKE_ALWAYS_INLINE void Prepare(const int32_t* fixedpoint,
                                      const int32_t* exponent, int lanes) {
    fixedpoint_ = SimdNeon::LoadMasked(fixedpoint, lanes);
    exponent_ = SimdNeon::LoadMasked(exponent, lanes);
  }
  RUY_LIKE_ALWAYS_INLINE void PrepareOne(const int32_t* fixedpoint,
                                         const int32_t* exponent) {
    fixedpoint_ = vdupq_n_s32(*fixedpoint);
    exponent_ = vdupq_n_s32(*exponent);
  }

  int32x4_t fixedpoint_, exponent_;
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
    const int64x2_t low =
        vrshlq_s64(vmull_s32(vget_low_s32(x), vget_low_s32(fixedpoint_)),
                   vmovl_s32(vget_low_s32(shift)));
    const int64x2_t high =
        vrshlq_s64(vmull_high_s32(x, fixedpoint_), vmovl_high_s32(shift));
    return vqmovn_high_s64(vqmovn_s64(low), high);
  }
};

template <>
struct Scaler<SimdNeon, Scaling::kIdentity> {
  RUY_LIKE_ALWAYS_INLINE void Prepare(const int32_t*, const int32_t*, int) {}
  RUY_LIKE_ALWAYS_INLINE void PrepareOne(const int32_t*, const int32_t*) {}
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(int32x4_t x) const { return x; }
};

// ## For columns of bytes; exponents <= -2, as there

template <>
struct ByteScale<SimdNeon> {
  alignas(16) int32_t fixedpoint[4];
  int32_t exponent[4];

  // Lanes beyond the rows may hold 0 and 0.
  RUY_LIKE_ALWAYS_INLINE void Set(int32x4_t new_fixedpoint,
                                  int32x4_t new_exponent) {
    vst1q_s32(fixedpoint, new_fixedpoint);
    vst1q_s32(exponent, new_exponent);
  }
};

template <>
class ByteScaler<SimdNeon> {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE ByteScaler(const ByteScale<SimdNeon>& scale)
      : fixedpoint_(SimdNeon::InRegister(vld1q_s32(scale.fixedpoint))),
        exponent_(SimdNeon::InRegister(vld1q_s32(scale.exponent))) {}
  // The scaled accumulators: the instructions round, so that nothing is left
  // for the shorter vectors to do.
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(const int32_t* acc) const {
    return vrshlq_s32(vqdmulhq_s32(vld1q_s32(acc), fixedpoint_), exponent_);
  }

 private:
  int32x4_t fixedpoint_, exponent_;
};

template <>
struct ByteBounds<SimdNeon> {
  alignas(16) int32_t offset[4];  // 16-bit lanes: the zero point
  int32_t low[4];                 // 8-bit lanes, signed
  int32_t high[4];
  int32_t flip[4];  // 8-bit lanes: 0, or 128 for unsigned results

  static RUY_LIKE_ALWAYS_INLINE bool Apply(const EpilogueArgs& e) {
    return (e.dst_scalar == Scalar::kI8 || e.dst_scalar == Scalar::kU8) &&
           e.dst_zero_point >= -(1 << 12) && e.dst_zero_point <= 1 << 12;
  }
  RUY_LIKE_ALWAYS_INLINE void Set(const EpilogueArgs& e) {
    typedef SimdNeon V;
    const int32_t down = e.dst_scalar == Scalar::kU8 ? 128 : 0;
    V::StoreAligned(offset,
                    V::Set16(static_cast<int16_t>(e.dst_zero_point - down)));
    V::StoreAligned(low, V::Set8(static_cast<int8_t>(e.clamp_min - down)));
    V::StoreAligned(high, V::Set8(static_cast<int8_t>(e.clamp_max - down)));
    V::StoreAligned(flip, V::Set8(static_cast<int8_t>(down)));
  }
  // Results of four vectors, each one's bytes together.
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(int32x4_t a, int32x4_t b, int32x4_t c,
                                         int32x4_t d) const {
    typedef SimdNeon V;
    const int32x4_t zero_points = vld1q_s32(offset);
    const int32x4_t bytes = V::SaturateToInt8(
        V::AddSaturated16(V::SaturateToInt16(a, b), zero_points),
        V::AddSaturated16(V::SaturateToInt16(c, d), zero_points));
    return V::Xor(V::Min8(V::Max8(bytes, vld1q_s32(low)), vld1q_s32(high)),
                  vld1q_s32(flip));
  }
};

// ## Tiles of bytes, 4, 8 or 12 rows at once
//
// What bounds small products is the number of instructions: 41 for 12 rows by
// two columns, where pieces of two by two vectors take 90.

class NeonByteTile {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE NeonByteTile(const ByteTile<SimdNeon>& tile)
      : tile_(tile),
        offset_(vreinterpretq_s16_s32(vld1q_s32(tile.bounds->offset))),
        low_(vreinterpretq_s8_s32(vld1q_s32(tile.bounds->low))),
        high_(vreinterpretq_s8_s32(vld1q_s32(tile.bounds->high))),
        flip_(vreinterpretq_s8_s32(vld1q_s32(tile.bounds->flip))) {}

  // kVectors vectors of rows from `row` on, which are all there.
  template <int kVectors>
  RUY_LIKE_ALWAYS_INLINE void Store(int row, int cols) const {
    const ByteScale<SimdNeon>* const scales = tile_.scale + row / 4;
    const ByteScaler<SimdNeon> first(scales[0]);
    const ByteScaler<SimdNeon> second(scales[kVectors > 1 ? 1 : 0]);
    const ByteScaler<SimdNeon> third(scales[kVectors > 2 ? 2 : 0]);
    const ptrdiff_t stride = tile_.acc_col_stride;
    const int32_t* a = tile_.acc + row;
    int8_t* to = tile_.dst + row;
    for (; cols > 0; cols -= 2) {
      // The last one of an odd number twice.
      const int32_t* const b = cols == 1 ? a : a + stride;
      int8_t* const to_b = cols == 1 ? to : to + tile_.dst_col_stride;
      if constexpr (kVectors == 1) {
        const int8x16_t bytes =
            Bytes(Words(first.Apply(a), first.Apply(b)), vdupq_n_s16(0));
        StoreFour<0>(to, bytes);
        StoreFour<1>(to_b, bytes);
      } else {
        const int8x16_t bytes =
            Bytes(Words(first.Apply(a), second.Apply(a + 4)),
                  Words(first.Apply(b), second.Apply(b + 4)));
        vst1_s8(to, vget_low_s8(bytes));
        vst1_s8(to_b, vget_high_s8(bytes));
      }
      if constexpr (kVectors == 3) {
        const int8x16_t bytes = Bytes(
            Words(third.Apply(a + 8), third.Apply(b + 8)), vdupq_n_s16(0));
        StoreFour<0>(to + 8, bytes);
        StoreFour<1>(to_b + 8, bytes);
      }
      a += 2 * stride;
      to += 2 * tile_.dst_col_stride;
    }
  }

 private:
  RUY_LIKE_ALWAYS_INLINE int16x8_t Words(int32x4_t a, int32x4_t b) const {
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), offset_);
  }
  RUY_LIKE_ALWAYS_INLINE int8x16_t Bytes(int16x8_t a, int16x8_t b) const {
    const int8x16_t bytes = vqmovn_high_s16(vqmovn_s16(a), b);
    return veorq_s8(vminq_s8(vmaxq_s8(bytes, low_), high_), flip_);
  }
  template <int kQuarter>
  static RUY_LIKE_ALWAYS_INLINE void StoreFour(int8_t* to, int8x16_t bytes) {
    const int32_t four = vgetq_lane_s32(vreinterpretq_s32_s8(bytes), kQuarter);
    __builtin_memcpy(to, &four, sizeof(four));
  }

  const ByteTile<SimdNeon>& tile_;
  const int16x8_t offset_;
  const int8x16_t low_, high_, flip_;
};

template <>
__attribute__((noinline)) void StoreByteTile<SimdNeon>(
    const ByteTile<SimdNeon>& tile, int cols) {
  const NeonByteTile whole(tile);
  int row = 0;
  for (; row + 12 <= tile.rows; row += 12) whole.Store<3>(row, cols);
  if (row + 8 <= tile.rows) {
    whole.Store<2>(row, cols);
    row += 8;
  } else if (row + 4 <= tile.rows) {
    whole.Store<1>(row, cols);
    row += 4;
  }
  // Rows that fill no vector.
  for (; row < tile.rows; row += 4) {
    const ByteScaler<SimdNeon> scaler(tile.scale[row / 4]);
    const int n = tile.rows - row < 4 ? tile.rows - row : 4;
    for (int col = 0; col < cols; col += 4) {
      tile.StoreOneByFour(scaler, row, n, col, cols - col);
    }
  }
}

// ## Floats
//
// Of a tile's vectors of rows up to three at once, and no clamp where there are
// no bounds: 4 to 8 instructions for a vector of results, the general
// routine 17.

template <int kVectors, bool kClamps>
RUY_LIKE_ALWAYS_INLINE void StoreFloatVectors(const float* from,
                                              ptrdiff_t acc_col_stride,
                                              int cols,
                                              const float32x4_t* addends,
                                              float32x4_t low, float32x4_t high,
                                              float* to, ptrdiff_t dst_stride) {
  for (int c = 0; c < cols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      float32x4_t x = vaddq_f32(vld1q_f32(from + 4 * v), addends[v]);
      if (kClamps) {
        x = SimdNeon::AtMost(high, SimdNeon::AtLeast(low, x));
      }
      vst1q_f32(to + 4 * v, x);
    }
    from += acc_col_stride;
    to += dst_stride;
  }
}

// Whole vectors of rows, 3, 2 or 1; a bias runs along rows.
template <bool kClamps>
__attribute__((noinline)) void StoreWholeFloatRows(
    const float* acc, ptrdiff_t acc_col_stride, int vectors, int cols,
    const float* row_bias, const EpilogueArgs& e, float* to,
    ptrdiff_t dst_stride) {
  const float32x4_t low = vdupq_n_f32(static_cast<float>(e.clamp_min_f));
  const float32x4_t high = vdupq_n_f32(static_cast<float>(e.clamp_max_f));
  while (vectors > 0) {
    const int count = vectors < 3 ? vectors : 3;
    // Adding -0 changes nothing, not even -0.
    float32x4_t addends[3];
    RUY_LIKE_UNROLL
    for (int v = 0; v < 3; ++v) {
      addends[v] = row_bias == nullptr || v >= count
                       ? vdupq_n_f32(-0.0f)
                       : vld1q_f32(row_bias + 4 * v);
    }
    if (count == 3) {
      StoreFloatVectors<3, kClamps>(acc, acc_col_stride, cols, addends, low,
                                    high, to, dst_stride);
    } else if (count == 2) {
      StoreFloatVectors<2, kClamps>(acc, acc_col_stride, cols, addends, low,
                                    high, to, dst_stride);
    } else {
      StoreFloatVectors<1, kClamps>(acc, acc_col_stride, cols, addends, low,
                                    high, to, dst_stride);
    }
    vectors -= count;
    acc += 4 * count;
    to += 4 * count;
    if (row_bias != nullptr) row_bias += 4 * count;
  }
}

template <>
struct FloatColumns<SimdNeon> {
  static void Store(const float* acc, ptrdiff_t acc_col_stride, int rows,
                    int cols, ptrdiff_t row0, ptrdiff_t col0,
                    const EpilogueArgs& e, void* dst, ptrdiff_t dst_stride) {
    const float* const bias = static_cast<const float*>(e.bias);
    float* const to = static_cast<float*>(dst);
    int done = 0;
    if (bias == nullptr || e.channels_are_rows) {
      const float* const row_bias = bias == nullptr ? nullptr : bias + row0;
      constexpr double kInfinity = __builtin_inf();
      if (e.clamp_min_f == -kInfinity && e.clamp_max_f == kInfinity) {
        StoreWholeFloatRows<false>(acc, acc_col_stride, rows / 4, cols,
                                   row_bias, e, to, dst_stride);
      } else {
        StoreWholeFloatRows<true>(acc, acc_col_stride, rows / 4, cols, row_bias,
                                  e, to, dst_stride);
      }
      done = rows / 4 * 4;
    }
    if (done < rows) {
      StoreFloatRows<SimdNeon>(acc + done, acc_col_stride, rows - done, cols,
                               row0 + done, col0, e, to + done, dst_stride);
    }
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_EPILOGUE_REQUANTIZE_NEON_H_
