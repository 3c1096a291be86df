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

 private:
  int32x4_t fixedpoint_, exponent_;
};

// p + step, computed right here: GCC would compute the addresses of all columns
// before a loop, which small tiles leave at once.
template <typename T>
RUY_LIKE_ALWAYS_INLINE T* Below(T* p, ptrdiff_t step) {
  p += step;
  asm("" : "+r"(p));
  return p;
}

// ## Tiles of bytes, 4, 8 or 12 rows by four columns at once
//
// The number of instructions bounds small products: 88 for 12 rows by four
// columns, against 180 in pieces of two by two vectors.

// Stores columns of 4 * kVectors rows, the last vector of which may have fewer,
// from scaled accumulators in registers.
template <int kVectors>
class NeonByteColumns {
 public:
  explicit RUY_LIKE_ALWAYS_INLINE NeonByteColumns(
      const ByteBounds<SimdNeon>& bounds)
      : offset_(vreinterpretq_s16_s32(vld1q_s32(bounds.offset))),
        low_(vreinterpretq_s8_s32(vld1q_s32(bounds.low))),
        high_(vreinterpretq_s8_s32(vld1q_s32(bounds.high))),
        flip_(vreinterpretq_s8_s32(vld1q_s32(bounds.flip))) {}

  // The first kCols columns; `rows` of the last vector. Returns the place of
  // the column after them.
  template <int kCols>
  RUY_LIKE_ALWAYS_INLINE int8_t* Store(const int32x4_t (&columns)[4][kVectors],
                                       int8_t* to, ptrdiff_t stride,
                                       int rows) const {
    // A column without another one next to it is its own neighbour.
    constexpr int kSecond = kCols > 1 ? 1 : 0, kFourth = kCols > 3 ? 3 : 2;
    int8_t* at[4] = {to};
    RUY_LIKE_UNROLL
    for (int c = 1; c < kCols; ++c) at[c] = Below(at[c - 1], stride);
    if constexpr (kVectors > 1) {
      StoreHalves(columns[0], columns[kSecond], at[0], at[kSecond]);
      if constexpr (kCols > 2) {
        StoreHalves(columns[2], columns[kFourth], at[2], at[kFourth]);
      }
    }
    if constexpr (kVectors % 2 == 1) {
      constexpr int kLast = kVectors - 1, kRow = 4 * kLast;
      const int16x8_t words = Words(columns[0][kLast], columns[kSecond][kLast]);
      int8x16_t bytes;
      if constexpr (kCols > 2) {
        bytes = Bytes(words, Words(columns[2][kLast], columns[kFourth][kLast]));
        StoreQuarter<2>(at[2] + kRow, bytes, rows);
        if (kCols > 3) StoreQuarter<3>(at[kFourth] + kRow, bytes, rows);
      } else {
        bytes = Bytes(words, words);
      }
      StoreQuarter<0>(at[0] + kRow, bytes, rows);
      if (kCols > 1) StoreQuarter<1>(at[kSecond] + kRow, bytes, rows);
    }
    return at[kCols - 1] + stride;
  }

 private:
  RUY_LIKE_ALWAYS_INLINE void StoreHalves(const int32x4_t (&a)[kVectors],
                                          const int32x4_t (&b)[kVectors],
                                          int8_t* to, int8_t* to_b) const {
    const int8x16_t bytes = Bytes(Words(a[0], a[1]), Words(b[0], b[1]));
    vst1_s8(to, vget_low_s8(bytes));
    vst1_s8(to_b, vget_high_s8(bytes));
  }
  RUY_LIKE_ALWAYS_INLINE int16x8_t Words(int32x4_t a, int32x4_t b) const {
    return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(a), b), offset_);
  }
  RUY_LIKE_ALWAYS_INLINE int8x16_t Bytes(int16x8_t a, int16x8_t b) const {
    const int8x16_t bytes = vqmovn_high_s16(vqmovn_s16(a), b);
    return veorq_s8(vminq_s8(vmaxq_s8(bytes, low_), high_), flip_);
  }
  template <int kQuarter>
  static RUY_LIKE_ALWAYS_INLINE void StoreQuarter(int8_t* to, int8x16_t bytes,
                                                  int rows) {
    const int32_t four = vgetq_lane_s32(vreinterpretq_s32_s8(bytes), kQuarter);
    if (rows == 4) {
      __builtin_memcpy(to, &four, sizeof(four));
    } else {
      StoreFew(to, static_cast<uint32_t>(four), rows);
    }
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
  // The first kCols of four columns of accumulators.
  template <int kCols>
  RUY_LIKE_ALWAYS_INLINE void Apply(int,
                                    int32x4_t (&columns)[4][kVectors]) const {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        columns[c][v] = scalers_[v].Apply(columns[c][v]);
      }
    }
  }

 private:
  ByteScaler<SimdNeon> scalers_[kVectors];
};

// The multipliers of columns.
struct NeonColumnScalers {
  // The first kCols columns, one or four, from `col` on.
  template <int kCols, int kVectors>
  RUY_LIKE_ALWAYS_INLINE void Apply(int col,
                                    int32x4_t (&columns)[4][kVectors]) const {
    const int32x4_t multipliers = Load<kCols>(fixedpoint + col);
    const int32x4_t shifts = Load<kCols>(exponent + col);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const int32x4_t multiplier = vdupq_n_s32(multipliers[c]);
      const int32x4_t shift = vdupq_n_s32(shifts[c]);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        columns[c][v] =
            vrshlq_s32(vqdmulhq_s32(columns[c][v], multiplier), shift);
      }
    }
  }
  template <int kCols>
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Load(const int32_t* values) {
    return kCols == 4 ? vld1q_s32(values) : vld1q_dup_s32(values);
  }

  const int32_t* fixedpoint;
  const int32_t* exponent;
};

// Columns of a tile that never left the registers, up to four; `col` is the
// first one's in the tile.
template <int kCols, int kVectors, class Scalers>
RUY_LIKE_ALWAYS_INLINE void FinishColumns(
    const int32x4_t (*acc)[kVectors], const Scalers& scalers, int col,
    const NeonByteColumns<kVectors>& columns, int8_t* to, ptrdiff_t stride) {
  int32x4_t some[4][kVectors];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) some[c][v] = acc[col + c][v];
  }
  scalers.template Apply<kCols>(col, some);
  columns.template Store<kCols>(some, to + col * stride, stride, 4);
}

// A tile of whole vectors that never left the registers.
template <int kCols, int kVectors>
RUY_LIKE_ALWAYS_INLINE void FinishTile(const int32x4_t (&acc)[kCols][kVectors],
                                       const ByteTile<SimdNeon>& tile) {
  constexpr int kFours = kCols & -4;
  const NeonRowScalers<kVectors> scalers(tile.scale);
  const NeonByteColumns<kVectors> columns(*tile.bounds);
  RUY_LIKE_UNROLL
  for (int c = 0; c < kFours; c += 4) {
    FinishColumns<4>(acc, scalers, c, columns, tile.dst, tile.dst_col_stride);
  }
  if constexpr (kFours != kCols) {
    FinishColumns<kCols - kFours>(acc, scalers, kFours, columns, tile.dst,
                                  tile.dst_col_stride);
  }
}

// Returns the address of the column after them.
template <int kCols, int kVectors>
RUY_LIKE_ALWAYS_INLINE const int32_t* LoadColumns(
    const int32_t* acc, ptrdiff_t stride, int32x4_t (&columns)[4][kVectors]) {
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) columns[c][v] = vld1q_s32(acc + 4 * v);
    acc = Below(acc, stride);
  }
  return acc;
}

// Columns of kVectors vectors of rows from memory, `rows` of the last vector.
template <int kVectors, class Scalers>
RUY_LIKE_ALWAYS_INLINE void StoreByteColumns(const int32_t* acc,
                                             ptrdiff_t acc_col_stride, int rows,
                                             int cols, const Scalers& scalers,
                                             const ByteBounds<SimdNeon>& bounds,
                                             int8_t* to, ptrdiff_t to_stride) {
  const NeonByteColumns<kVectors> columns(bounds);
  int32x4_t some[4][kVectors];
  int c = 0;
  for (; c + 4 <= cols; c += 4) {
    acc = LoadColumns<4>(acc, acc_col_stride, some);
    scalers.template Apply<4>(c, some);
    to = columns.template Store<4>(some, to, to_stride, rows);
  }
  for (; c < cols; ++c) {
    acc = LoadColumns<1>(acc, acc_col_stride, some);
    scalers.template Apply<1>(c, some);
    to = columns.template Store<1>(some, to, to_stride, rows);
  }
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
  const int done = ForWholeVectors(tile.rows, [&](auto vectors, int row) {
    StoreByteColumns<vectors()>(tile.acc + row, tile.acc_col_stride, 4, cols,
                                NeonRowScalers<vectors()>(tile.scale + row / 4),
                                *tile.bounds, tile.dst + row,
                                tile.dst_col_stride);
  });
  if (done == tile.rows) return;
  StoreByteColumns<1>(tile.acc + done, tile.acc_col_stride, tile.rows - done,
                      cols, NeonRowScalers<1>(tile.scale + done / 4),
                      *tile.bounds, tile.dst + done, tile.dst_col_stride);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_BYTES_NEON_H_
