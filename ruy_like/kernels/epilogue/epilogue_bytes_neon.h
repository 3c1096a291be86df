// Back-end: the epilogue of panel kernels to 8-bit columns with NEON.
//
// Included by epilogue_neon.h: the specialisations, for SimdNeon, of
// epilogue_bytes.h's scaler and tile, here for exponents <= -1; why the
// arithmetic is exact is in epilogue_neon.h. Tiles whose accumulators are
// still in registers are finished there by the kernel itself (FinishTile()).
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_BYTES_NEON_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_BYTES_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

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
  static constexpr bool kDoubles = false;

  ByteScaler() = default;
  explicit RUY_LIKE_ALWAYS_INLINE ByteScaler(const ByteScale<SimdNeon>& scale)
      : fixedpoint_(SimdNeon::InRegister(vld1q_s32(scale.fixedpoint))),
        exponent_(SimdNeon::InRegister(vld1q_s32(scale.exponent))) {}
  // The scaled accumulators, rounded already.
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(int32x4_t acc) const {
    return vrshlq_s32(vqdmulhq_s32(acc, fixedpoint_), exponent_);
  }
  RUY_LIKE_ALWAYS_INLINE int32x4_t Apply(const int32_t* acc) const {
    return Apply(vld1q_s32(acc));
  }

 private:
  int32x4_t fixedpoint_, exponent_;
};

// ## Tiles of bytes, 4, 8 or 12 rows at once
//
// The number of instructions bounds small products: 41 for 12 rows by two
// columns, against 90 in pieces of two by two vectors.

// Stores columns of exactly 4 * kVectors rows from scaled accumulators in
// registers.
template <int kVectors>
class NeonByteColumns {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE NeonByteColumns(
      const ByteBounds<SimdNeon>& bounds)
      : offset_(vreinterpretq_s16_s32(vld1q_s32(bounds.offset))),
        low_(vreinterpretq_s8_s32(vld1q_s32(bounds.low))),
        high_(vreinterpretq_s8_s32(vld1q_s32(bounds.high))),
        flip_(vreinterpretq_s8_s32(vld1q_s32(bounds.flip))) {}

  // Two columns; they may be the same one.
  RUY_LIKE_ALWAYS_INLINE void StoreTwo(const int32x4_t (&a)[kVectors],
                                       const int32x4_t (&b)[kVectors],
                                       int8_t* to, int8_t* to_b) const {
    if constexpr (kVectors == 1) {
      StoreTwoQuarters(a[0], b[0], to, to_b);
    } else {
      const int8x16_t bytes = Bytes(Words(a[0], a[1]), Words(b[0], b[1]));
      vst1_s8(to, vget_low_s8(bytes));
      vst1_s8(to_b, vget_high_s8(bytes));
    }
    if constexpr (kVectors == 3) {
      StoreTwoQuarters(a[2], b[2], to + 8, to_b + 8);
    }
  }

  // Four columns of one vector.
  RUY_LIKE_ALWAYS_INLINE void StoreFour(const int32x4_t (&columns)[4],
                                        int8_t* to, ptrdiff_t stride) const {
    static_assert(kVectors == 1, "");
    const int8x16_t bytes =
        Bytes(Words(columns[0], columns[1]), Words(columns[2], columns[3]));
    StoreQuarter<0>(to, bytes);
    StoreQuarter<1>(to + stride, bytes);
    StoreQuarter<2>(to + 2 * stride, bytes);
    StoreQuarter<3>(to + 3 * stride, bytes);
  }

 private:
  RUY_LIKE_ALWAYS_INLINE void StoreTwoQuarters(int32x4_t a, int32x4_t b,
                                               int8_t* to, int8_t* to_b) const {
    const int8x16_t bytes = Bytes(Words(a, b), vdupq_n_s16(0));
    StoreQuarter<0>(to, bytes);
    StoreQuarter<1>(to_b, bytes);
  }
  RUY_LIKE_ALWAYS_INLINE int16x8_t Words(int32x4_t a, int32x4_t b) const {
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), offset_);
  }
  RUY_LIKE_ALWAYS_INLINE int8x16_t Bytes(int16x8_t a, int16x8_t b) const {
    const int8x16_t bytes = vqmovn_high_s16(vqmovn_s16(a), b);
    return veorq_s8(vminq_s8(vmaxq_s8(bytes, low_), high_), flip_);
  }
  template <int kQuarter>
  static RUY_LIKE_ALWAYS_INLINE void StoreQuarter(int8_t* to, int8x16_t bytes) {
    const int32_t four = vgetq_lane_s32(vreinterpretq_s32_s8(bytes), kQuarter);
    __builtin_memcpy(to, &four, sizeof(four));
  }

  const int16x8_t offset_;
  const int8x16_t low_, high_, flip_;
};

// The multipliers of kVectors vectors of rows, the same for all columns.
template <int kVectors>
class NeonRowScalers {
 public:
  // `scale` is that of the first vector.
  explicit RUY_LIKE_ALWAYS_INLINE NeonRowScalers(
      const ByteScale<SimdNeon>* scale) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      scalers_[v] = ByteScaler<SimdNeon>(scale[v]);
    }
  }
  RUY_LIKE_ALWAYS_INLINE void Apply(const int32x4_t (&acc)[kVectors],
                                    int32x4_t (&scaled)[kVectors]) const {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) scaled[v] = scalers_[v].Apply(acc[v]);
  }

 private:
  ByteScaler<SimdNeon> scalers_[kVectors];
};

// A tile of whole vectors that never left the registers.
template <int kCols, int kVectors>
RUY_LIKE_ALWAYS_INLINE void FinishTile(const int32x4_t (&acc)[kCols][kVectors],
                                       const ByteTile<SimdNeon>& tile) {
  const NeonRowScalers<kVectors> scalers(tile.scale);
  const NeonByteColumns<kVectors> columns(*tile.bounds);
  const ptrdiff_t stride = tile.dst_col_stride;
  int8_t* to = tile.dst;
  if constexpr (kVectors == 1 && kCols % 4 == 0) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; c += 4) {
      int32x4_t four[4];
      RUY_LIKE_UNROLL
      for (int i = 0; i < 4; ++i) {
        int32x4_t scaled[1];
        scalers.Apply(acc[c + i], scaled);
        four[i] = scaled[0];
      }
      columns.StoreFour(four, to, stride);
      to += 4 * stride;
    }
  } else {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; c += 2) {
      // An odd last column is stored twice.
      const int b = c + 1 < kCols ? c + 1 : c;
      int32x4_t scaled[2][kVectors];
      scalers.Apply(acc[c], scaled[0]);
      scalers.Apply(acc[b], scaled[1]);
      columns.StoreTwo(scaled[0], scaled[1], to, b == c ? to : to + stride);
      to += 2 * stride;
    }
  }
}

// Columns of kVectors vectors of rows from memory. scale(c, column) scales
// column c's accumulators.
template <int kVectors, class Scale>
RUY_LIKE_ALWAYS_INLINE void StoreByteColumns(const int32_t* acc,
                                             ptrdiff_t acc_col_stride, int cols,
                                             const ByteBounds<SimdNeon>& bounds,
                                             int8_t* to, ptrdiff_t to_stride,
                                             Scale scale) {
  const NeonByteColumns<kVectors> columns(bounds);
  const auto store_two = [&](int a, int b) {
    int32x4_t two[2][kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      two[0][v] = vld1q_s32(acc + 4 * v);
      two[1][v] = vld1q_s32(acc + (b - a) * acc_col_stride + 4 * v);
    }
    scale(a, two[0]);
    scale(b, two[1]);
    columns.StoreTwo(two[0], two[1], to, to + (b - a) * to_stride);
  };
  int c = 0;
  for (; c + 1 < cols; c += 2) {
    store_two(c, c + 1);
    acc += 2 * acc_col_stride;
    to += 2 * to_stride;
  }
  // An odd last column is stored twice.
  if (c < cols) store_two(c, c);
}

// Calls store(vectors, row) for whole vectors of rows, three at once or what is
// left; vectors() is their number. Returns the number of rows done.
template <class Store>
RUY_LIKE_ALWAYS_INLINE int ForWholeVectors(int rows, Store store) {
  int row = 0;
  for (; row + 12 <= rows; row += 12) store(Constant<3>(), row);
  if (row + 8 <= rows) {
    store(Constant<2>(), row);
  } else if (row + 4 <= rows) {
    store(Constant<1>(), row);
  }
  return rows & -4;
}

template <>
__attribute__((noinline)) void StoreByteTile<SimdNeon>(
    const ByteTile<SimdNeon>& tile, int cols) {
  int row = ForWholeVectors(tile.rows, [&](auto vectors, int first) {
    const NeonRowScalers<vectors()> scalers(tile.scale + first / 4);
    StoreByteColumns<vectors()>(
        tile.acc + first, tile.acc_col_stride, cols, *tile.bounds,
        tile.dst + first, tile.dst_col_stride,
        [&](int, auto& column) { scalers.Apply(column, column); });
  });
  // Rows that fill no vector.
  for (; row < tile.rows; row += 4) {
    const ByteScaler<SimdNeon> scaler(tile.scale[row / 4]);
    for (int col = 0; col < cols; col += 4) {
      tile.StoreOneByFour(scaler, row, tile.rows - row, col, cols - col);
    }
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_BYTES_NEON_H_
