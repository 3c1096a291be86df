// Back-end: copies the bytes that amx_byte_units.h makes to an 8-bit dst.
//
// Included by amx_kernel.h, which calls it after a block's 16 units. Knows
// dst's order and edges, and no arithmetic.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_STORE_BYTES_H_
#define RUY_LIKE_KERNELS_AMX_AMX_STORE_BYTES_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx512.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

// A column-major dst. A unit's dwords are in order of row quarter and vector.
inline void StoreUnitsColMajor(const char* bytes, BlockShape shape, int rows,
                               int cols, int8_t* dst, ptrdiff_t dst_stride) {
  const int units = shape == BlockShape::k64x16 ? 8 : 16;  // of 32 rows
  for (int row = 0; row < rows; row += 32) {
    const int n = Min(rows - row, 32);
    int8_t* to = dst + row;
    for (int col = 0; col < cols; col += 2) {
      const Simd512::Int two =
          Simd512::JoinColumns(_mm512_load_si512(bytes + col * 32));
      if (col + 1 < cols) {
        Simd512::StoreHalves(to, to + dst_stride, two, n);
      } else {
        const __mmask32 mask = ~__mmask32{0} >> (32 - n);
        _mm256_mask_storeu_epi8(to, mask, _mm512_castsi512_si256(two));
      }
      to += 2 * dst_stride;
    }
    bytes += units * 64;
  }
}

// Stores the 128-bit parts of `m` as rows 0, 4, 8 and 12, those below `rows`.
RUY_LIKE_ALWAYS_INLINE void StoreEveryFourthRow(__m512i m, int rows, int cols,
                                                int8_t* dst,
                                                ptrdiff_t dst_stride) {
  if (rows > 12) {
    return Simd512::StoreQuarters(dst, dst + 4 * dst_stride,
                                  dst + 8 * dst_stride, dst + 12 * dst_stride,
                                  m, cols);
  }
  const __mmask16 mask = Simd512::FirstLanes(cols);
  for (int row = 0; row < rows; row += 4) {
    _mm_mask_storeu_epi8(dst + row * dst_stride, mask,
                         _mm512_castsi512_si128(m));
    m = _mm512_shuffle_i32x4(m, m, 0x39);
  }
}

// A round's 16 rows x 16 columns, of which rows x cols exist. Within each
// quarter of a unit's bytes, which has rows 4q..4q+3 of four columns, a byte
// shuffle puts the four columns of a row together:
//
//    rows:     0 1 2 3         columns:  0 1 2 3
//            +--------                 +--------
//    col 0   | a b c d         row 0   | a e i m
//    col 1   | e f g h   ->    row 1   | b f j n
//    col 2   | i j k l         row 2   | c g k o
//    col 3   | m n o p         row 3   | d h l p
//
// Eight unpack instructions of 32 and 64 bits then make registers of whole
// rows, 16 bytes each: r, 4+r, 8+r, 12+r.
inline void StoreByteSquare(const char* bytes, int rows, int cols, int8_t* dst,
                            ptrdiff_t dst_stride) {
  const __m512i by_row = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  Simd512::Int m[4];
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4; ++i) {
    m[i] = _mm512_shuffle_epi8(_mm512_load_si512(bytes + 64 * i), by_row);
  }
  Simd512::TransposeParts(m);
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4; ++i) {
    StoreEveryFourthRow(m[i], rows - i, cols, dst + i * dst_stride, dst_stride);
  }
}

inline void StoreUnitsRowMajor(const char* bytes, BlockShape shape, int rows,
                               int cols, int8_t* dst, ptrdiff_t dst_stride) {
  const int squares_across = shape == BlockShape::k64x16 ? 1 : 2;
  for (int row = 0; row < rows; row += 16) {
    for (int square = 0; square < squares_across; ++square) {
      const int left = cols - 16 * square;
      if (left > 0) {
        StoreByteSquare(bytes + square * 256, rows - row, Min(left, 16),
                        dst + row * dst_stride + 16 * square, dst_stride);
      }
    }
    bytes += squares_across * 256;
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_STORE_BYTES_H_
