// Back-end: the AMX kernel's epilogue to 8-bit dst, in units.
//
// Used by amx_epilogue.h for the common quantized call: an 8-bit dst of either
// order, multipliers along either, exponents <= -2. The arithmetic is
// epilogue_bytes.h's, four vectors at a time; this header walks over a block's
// accumulators and transposes where dst is row-major. It does not decide when a
// unit runs.
//
// ## Row-major dst
//
// Four columns of 16 rows make one register of bytes. Within each quarter q of
// it, which has rows 4q..4q+3, a byte shuffle puts the four columns of a row
// together:
//
//    rows:     0 1 2 3         columns:  0 1 2 3
//            +--------                 +--------
//    col 0   | a b c d         row 0   | a e i m
//    col 1   | e f g h   ->    row 1   | b f j n
//    col 2   | i j k l         row 2   | c g k o
//    col 3   | m n o p         row 3   | d h l p
//
// Four such registers are 16 columns; eight unpack instructions of 32 and 64
// bits then make registers of whole rows, 16 bytes each: r, 4+r, 8+r, 12+r.
// That is 12 shuffles for 16 vectors of accumulators.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_EPILOGUE_BYTES_H_
#define RUY_LIKE_KERNELS_AMX_AMX_EPILOGUE_BYTES_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/simd/always_inline.h"
#include "ruy_like/kernels/simd/simd_avx512.h"
#include "ruy_like/kernels/simd/x86_intrinsics.h"

namespace ruy_like {
namespace kernels {
namespace {

// A block of accumulators: at most 64 rows x 16 or 32 x 32 columns.
struct ByteBlock {
  // Set once per kernel call.
  ByteBounds<Simd512> bounds;
  bool per_row, per_col;  // where multipliers are arrays
  // Set per block.
  ByteTile<Simd512> tile;
  // First element that is not done. Apart from each other, lest a compiler load
  // both at once, which waits until they are out of the store buffer.
  int row;
  int cols;
  int col;
  ptrdiff_t dst_row_stride;
  ByteScale<Simd512> scales[4];
  alignas(64) int32_t fixedpoint[32];  // of columns
  int32_t shift[32];                   // of columns: -2 - exponent
  // Row-major dst: registers of four columns that wait for their square's rest.
  alignas(64) char quads[4][64];
};

inline void InitByteBlock(const EpilogueArgs& e, ByteBlock* b) {
  typedef Simd512 V;
  b->bounds.Set(e);
  b->per_row = e.per_channel && e.channels_are_rows;
  b->per_col = e.per_channel && !e.channels_are_rows;
  if (e.per_channel) return;
  for (ByteScale<V>& scale : b->scales) {
    scale.Set(V::Set(*e.fixedpoint), V::Set(*e.exponent));
  }
}

// The block at (row0, col0) of the call's.
inline void SetByteBlock(const EpilogueArgs& e, const int32_t* acc,
                         int acc_rows, int rows, int cols, ptrdiff_t row0,
                         ptrdiff_t col0, ByteBlock* b) {
  typedef Simd512 V;
  int8_t* const dst = static_cast<int8_t*>(e.dst) + row0 * e.dst_row_stride +
                      col0 * e.dst_col_stride;
  b->tile = {acc, acc_rows, rows, b->scales, &b->bounds, dst, e.dst_col_stride};
  b->cols = cols;
  b->dst_row_stride = e.dst_row_stride;
  b->row = 0;
  b->col = 0;
  const int channels = b->per_row ? rows : b->per_col ? cols : 0;
  const ptrdiff_t channel0 = b->per_row ? row0 : col0;
  for (int i = 0; i < channels; i += V::kLanes) {
    const int left = channels - i;
    const V::Mask mask = V::FirstLanes(left < V::kLanes ? left : V::kLanes);
    const V::Int fixedpoint = V::LoadMasked(e.fixedpoint + channel0 + i, mask);
    const V::Int exponent = V::LoadMasked(e.exponent + channel0 + i, mask);
    if (b->per_row) {
      b->scales[i / V::kLanes].Set(fixedpoint, exponent);
    } else {
      V::StoreAligned(b->fixedpoint + i, fixedpoint);
      V::StoreAligned(b->shift + i, V::Sub(V::Set(-2), exponent));
    }
  }
}

// ## Column-major dst, multipliers along rows

// Of four vectors: two columns of 32 rows, or four where 16 rows are left.
inline int ByteColumnsUnits(int rows, int cols) {
  const int vectors = (rows + 15) / 16;
  return vectors / 2 * ((cols + 1) / 2) + vectors % 2 * ((cols + 3) / 4);
}

inline void RunByteColumns(ByteBlock* b, int units) {
  constexpr int kLanes = Simd512::kLanes;
  const ByteTile<Simd512> tile = b->tile;
  while (units > 0) {
    const int row = b->row;
    const int left = tile.rows - row;
    const bool two = left > kLanes;
    const int most = two ? 2 * kLanes : kLanes;
    const int n = left < most ? left : most;
    const ByteScaler<Simd512> low(tile.scale[row / kLanes]);
    const ByteScaler<Simd512> high(tile.scale[row / kLanes + two]);
    int col = b->col;
    for (; units > 0 && col < b->cols; --units) {
      if (two) {
        tile.StoreTwoByTwo(low, high, row, n, col, col + 1 == b->cols);
        col += 2;
      } else {
        tile.StoreOneByFour(low, row, n, col, b->cols - col);
        col += 4;
      }
    }
    const bool done = col >= b->cols;
    b->col = done ? 0 : col;
    if (done) b->row += most;
  }
}

// ## The others, 16 rows of four columns at a time

// 16 rows of column `col` and of those so many further, as
// ByteBounds::Ungrouped() leaves them.
template <bool kPerCol>
RUY_LIKE_ALWAYS_INLINE Simd512::Int FourColumns(const ByteBlock& b, int row,
                                                int col, int second, int third,
                                                int fourth) {
  typedef ByteScaler<Simd512> S;
  const ptrdiff_t stride = b.tile.acc_col_stride;
  const int32_t* const acc0 = b.tile.acc + col * stride + row;
  const int32_t* const acc1 = acc0 + second * stride;
  const int32_t* const acc2 = acc0 + third * stride;
  const int32_t* const acc3 = acc0 + fourth * stride;
  if constexpr (kPerCol) {
    const int32_t* const m = b.fixedpoint + col;
    const int32_t* const s = b.shift + col;
    return b.bounds.Ungrouped(
        S(m[0], s[0]).Apply(acc0), S(m[second], s[second]).Apply(acc1),
        S(m[third], s[third]).Apply(acc2), S(m[fourth], s[fourth]).Apply(acc3));
  } else {
    const S scaler(b.scales[row / Simd512::kLanes]);
    return b.bounds.Ungrouped(scaler.Apply(acc0), scaler.Apply(acc1),
                              scaler.Apply(acc2), scaler.Apply(acc3));
  }
}

// The first `rows` rows of a quarter of a square: 0, 4, 8 and 12 are in `m`.
RUY_LIKE_ALWAYS_INLINE void StoreEveryFourthRow(__m512i m, int rows, int cols,
                                                int8_t* dst,
                                                ptrdiff_t dst_stride) {
  const __mmask16 mask = Simd512::FirstLanes(cols);
  if (rows > 0) _mm_mask_storeu_epi8(dst, mask, _mm512_castsi512_si128(m));
  dst += 4 * dst_stride;
  if (rows > 4) {
    _mm_mask_storeu_epi8(dst, mask, _mm512_extracti32x4_epi32(m, 1));
  }
  dst += 4 * dst_stride;
  if (rows > 8) {
    _mm_mask_storeu_epi8(dst, mask, _mm512_extracti32x4_epi32(m, 2));
  }
  dst += 4 * dst_stride;
  if (rows > 12) {
    _mm_mask_storeu_epi8(dst, mask, _mm512_extracti32x4_epi32(m, 3));
  }
}

// Writes a square of at most 16 x 16 from its registers of four columns.
RUY_LIKE_ALWAYS_INLINE void StoreByteSquare(const char (*quads)[64], int rows,
                                            int cols, int8_t* dst,
                                            ptrdiff_t dst_stride) {
  typedef Simd512 V;
  const __m512i q0 = _mm512_load_si512(quads[0]);
  const __m512i q1 = _mm512_load_si512(quads[1]);
  const __m512i q2 = _mm512_load_si512(quads[2]);
  const __m512i q3 = _mm512_load_si512(quads[3]);
  const __m512i a = _mm512_unpacklo_epi32(q0, q1);
  const __m512i b = _mm512_unpackhi_epi32(q0, q1);
  const __m512i c = _mm512_unpacklo_epi32(q2, q3);
  const __m512i d = _mm512_unpackhi_epi32(q2, q3);
  const __m512i m0 = _mm512_unpacklo_epi64(a, c);
  const __m512i m1 = _mm512_unpackhi_epi64(a, c);
  const __m512i m2 = _mm512_unpacklo_epi64(b, d);
  const __m512i m3 = _mm512_unpackhi_epi64(b, d);
  if (rows == V::kLanes && cols == V::kLanes) {
    const auto store = [dst_stride](int8_t* to, __m512i m) {
      V::StoreQuarters(to, to + 4 * dst_stride, to + 8 * dst_stride,
                       to + 12 * dst_stride, m, V::kLanes);
    };
    store(dst, m0);
    store(dst + dst_stride, m1);
    store(dst + 2 * dst_stride, m2);
    store(dst + 3 * dst_stride, m3);
  } else {
    StoreEveryFourthRow(m0, rows, cols, dst, dst_stride);
    StoreEveryFourthRow(m1, rows - 1, cols, dst + dst_stride, dst_stride);
    StoreEveryFourthRow(m2, rows - 2, cols, dst + 2 * dst_stride, dst_stride);
    StoreEveryFourthRow(m3, rows - 3, cols, dst + 3 * dst_stride, dst_stride);
  }
}

// Column-major dst, a multiplier for each column.
inline void RunByteColumnQuads(ByteBlock* b, int units) {
  typedef Simd512 V;
  const ByteTile<V>& tile = b->tile;
  const ptrdiff_t stride = tile.dst_col_stride;
  int row = b->row;
  int col = b->col;
  for (; units > 0; --units) {
    const int rows_left = tile.rows - row;
    const int cols_left = b->cols - col;
    // Columns that are missing: the last one again.
    const int second = cols_left < 2 ? 0 : 1;
    const int third = cols_left < 3 ? second : 2;
    const int fourth = cols_left < 4 ? third : 3;
    int8_t* const dst = tile.dst + row + col * stride;
    V::StoreQuarters(
        dst, dst + second * stride, dst + third * stride, dst + fourth * stride,
        V::GroupColumns(FourColumns<true>(*b, row, col, second, third, fourth)),
        rows_left < V::kLanes ? rows_left : V::kLanes);
    col += 4;
    if (col >= b->cols) {
      col = 0;
      row += V::kLanes;
    }
  }
  b->row = row;
  b->col = col;
}

template <bool kPerCol>
void RunByteRowQuads(ByteBlock* b, int units) {
  typedef Simd512 V;
  // Within each quarter the transposition of 4 x 4 bytes.
  const __m512i by_row = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  int row = b->row;
  int col = b->col;
  for (; units > 0; --units) {
    // Columns that are missing are not stored: whatever is in the buffers.
    const V::Int bytes = FourColumns<kPerCol>(*b, row, col, 1, 2, 3);
    _mm512_store_si512(b->quads[static_cast<unsigned>(col) / 4 % 4],
                       _mm512_shuffle_epi8(bytes, by_row));
    col += 4;
    const bool done = col >= b->cols;
    if (col % V::kLanes == 0 || done) {
      const int end = done ? b->cols : col;
      const int first = (end - 1) / V::kLanes * V::kLanes;
      const int left = b->tile.rows - row;
      StoreByteSquare(
          b->quads, left < V::kLanes ? left : V::kLanes, end - first,
          b->tile.dst + row * b->dst_row_stride + first, b->dst_row_stride);
    }
    if (done) {
      col = 0;
      row += V::kLanes;
    }
  }
  b->row = row;
  b->col = col;
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_EPILOGUE_BYTES_H_
