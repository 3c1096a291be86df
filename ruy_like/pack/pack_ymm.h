// Back-end: the 256-bit register operations that packing is made of.
//
// Included by pack/avx2.cc and pack/avx512.cc, each of which gets its own copy
// (anonymous namespace); used by the templates of pack_panels.h. Knows nothing
// of panels, matrices or PackArgs.
//
// A "quad" is what packing moves around: 4 source bytes of one column, that is
// 4 8-bit elements of depth, 2 of 16-bit ones or 1 float. A register of quads
// holds one for each of 8 adjacent columns:
//
//      | column 0 | column 1 | ...            | column 7 |
//      |<-- low 128-bit lane  -->|<-- high 128-bit lane ->|
#ifndef RUY_LIKE_PACK_PACK_YMM_H_
#define RUY_LIKE_PACK_PACK_YMM_H_

#include "ruy_like/pack/pack_partial.h"

namespace ruy_like::kernels {
namespace {

struct Ymm : PackRegisters<Simd256> {
#ifdef __AVX512VL__
  static constexpr int kBlocksPerStep = 4;  // 32 registers
#else
  static constexpr int kBlocksPerStep = 2;  // 16 registers
#endif

  // The first `columns` quads all ones, the others zero.
  RUY_LIKE_ALWAYS_INLINE static Reg ColumnMask(int columns) {
    return FirstLanes(columns);
  }

  RUY_LIKE_ALWAYS_INLINE static void Store(char* dst, Reg a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), a);
  }
  // Stores the first 6 quads and nothing else.
  RUY_LIKE_ALWAYS_INLINE static void Store6(char* dst, Reg a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst),
                     _mm256_castsi256_si128(a));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(dst + 16),
                     _mm256_extracti128_si256(a, 1));
  }

  // 16 bytes of column i in the low lane, of column 4 + i in the high one; the
  // latter is left out where a panel of kWidth columns does not have it.
  template <int kWidth, typename Columns>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadColumns(const Columns& columns, int i,
                                                ptrdiff_t offset) {
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(Load16(columns.At(i) + offset)),
        4 + i < kWidth ? Load16(columns.At(4 + i) + offset)
                       : _mm_setzero_si128(),
        1);
  }

  // Quads of 8 columns from 4 / kSrcBytes rows, each of them one depth of 8
  // adjacent columns. The rows are put side by side, pieces of 4 columns of all
  // rows are brought into one lane, and interleaved there.
  template <int kSrcBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg LoadRows(const char* src,
                                             ptrdiff_t stride) {
    if constexpr (kSrcBytes == 1) {
      // Broadcasts are free in the load port and blends run anywhere, whereas
      // 8-byte loads into the upper half of a lane need the shuffle port.
      const Reg rows01 =
          _mm256_blend_epi32(Broadcast8(src), Broadcast8(src + stride), 0x0c);
      const Reg rows23 = _mm256_blend_epi32(Broadcast8(src + 2 * stride),
                                            Broadcast8(src + 3 * stride), 0xc0);
      Reg rows = _mm256_blend_epi32(rows01, rows23, 0xf0);
      PACK_HIDE(rows);
      Reg lanes = _mm256_permutevar8x32_epi32(
          rows, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
      PACK_HIDE(lanes);
      return _mm256_shuffle_epi8(
          lanes, _mm256_broadcastsi128_si256(InterleaveBytes()));
    } else if constexpr (kSrcBytes == 2) {
      const Reg rows = _mm256_inserti128_si256(
          _mm256_castsi128_si256(Load16(src)), Load16(src + stride), 1);
      const Reg lanes = _mm256_permute4x64_epi64(rows, 0xd8);
      return _mm256_shuffle_epi8(
          lanes, _mm256_broadcastsi128_si256(InterleaveWords()));
    } else {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
    }
  }

  // Bytes 0, 1 (or 2, 3) of each quad as two sign-extended 16-bit elements. The
  // shuffle stays in the lane, which vpmovsxbw would not.
  RUY_LIKE_ALWAYS_INLINE static Reg WidenLowPair(Reg quads) {
    return Widen(quads, _mm_setr_epi8(-1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9,
                                      -1, 12, -1, 13));
  }
  RUY_LIKE_ALWAYS_INLINE static Reg WidenHighPair(Reg quads) {
    return Widen(quads, _mm_setr_epi8(-1, 2, -1, 3, -1, 6, -1, 7, -1, 10, -1,
                                      11, -1, 14, -1, 15));
  }

  RUY_LIKE_ALWAYS_INLINE static void StoreSums(int32_t* sums, int columns,
                                               Reg a) {
    // Whole panels of 6; masked stores are slow.
    if (columns == 6) return Store6(reinterpret_cast<char*>(sums), a);
    PackRegisters::StoreSums(sums, columns, a);
  }

 private:
  RUY_LIKE_ALWAYS_INLINE static Reg Broadcast8(const char* src) {
    return _mm256_broadcastq_epi64(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src)));
  }
  RUY_LIKE_ALWAYS_INLINE static Reg Widen(Reg quads, __m128i order) {
    Reg words = _mm256_shuffle_epi8(quads, _mm256_broadcastsi128_si256(order));
    PACK_HIDE(words);
    return _mm256_srai_epi16(words, 8);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_YMM_H_
