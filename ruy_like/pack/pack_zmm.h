// Back-end: the 512-bit register operations that packing is made of.
//
// Included by pack/avx512.cc (anonymous namespace); used by the templates of
// pack_panels.h. The counterpart of pack_ymm.h, which explains the terms: a
// register holds the quads of 16 adjacent columns, 4 in each 128-bit lane.
#ifndef RUY_LIKE_PACK_PACK_ZMM_H_
#define RUY_LIKE_PACK_PACK_ZMM_H_

#include "ruy_like/pack/pack_partial.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

struct Zmm : PackRegisters<Simd512> {
  static constexpr int kBlocksPerStep = 4;

  RUY_LIKE_ALWAYS_INLINE static Reg ColumnMask(int columns) {
    return _mm512_maskz_set1_epi32(FirstLanes(columns), -1);
  }

  RUY_LIKE_ALWAYS_INLINE static void Store(char* dst, Reg a) {
    _mm512_storeu_si512(dst, a);
  }

  // 16 bytes of columns i, 4 + i, 8 + i, 12 + i, one in each lane. Inserts from
  // memory need no shuffle port; with whole-register loads the transposition
  // would take 64 shuffles for 1024 bytes instead of 32.
  template <int kWidth, typename Columns>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadColumns(const Columns& columns, int i,
                                                ptrdiff_t offset) {
    static_assert(kWidth == kColumns, "");
    Reg v = _mm512_castsi128_si512(Load16(columns.At(i) + offset));
    v = _mm512_inserti32x4(v, Load16(columns.At(4 + i) + offset), 1);
    v = _mm512_inserti32x4(v, Load16(columns.At(8 + i) + offset), 2);
    return _mm512_inserti32x4(v, Load16(columns.At(12 + i) + offset), 3);
  }

  // Quads of 16 columns from 4 / kSrcBytes rows of one depth each.
  template <int kSrcBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadRows(const char* src,
                                             ptrdiff_t stride) {
    if constexpr (kSrcBytes == 1) {
      Reg rows = _mm512_castsi128_si512(Load16(src));
      rows = _mm512_inserti32x4(rows, Load16(src + stride), 1);
      rows = _mm512_inserti32x4(rows, Load16(src + 2 * stride), 2);
      rows = _mm512_inserti32x4(rows, Load16(src + 3 * stride), 3);
      PACK_HIDE(rows);
      Reg lanes = _mm512_permutexvar_epi32(
          _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
                            15),
          rows);
      PACK_HIDE(lanes);
      return _mm512_shuffle_epi8(lanes,
                                 _mm512_broadcast_i32x4(InterleaveBytes()));
    } else if constexpr (kSrcBytes == 2) {
      const Reg rows = _mm512_inserti64x4(
          _mm512_castsi256_si512(
              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src))),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + stride)),
          1);
      const Reg order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
      return _mm512_shuffle_epi8(_mm512_permutexvar_epi64(order, rows),
                                 _mm512_broadcast_i32x4(InterleaveWords()));
    } else {
      return _mm512_loadu_si512(src);
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_ZMM_H_
