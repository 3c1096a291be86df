// Back-end: packing bfloat16 operands for AMX's A tiles, 16 columns x 32
// levels.
//
// Included by pack/avx512.cc (anonymous namespace). The tiles are those of
// pack_columns64.h, with 32 levels in a row of 64 bytes; the levels of each
// pair are in reverse order (panel_format.h).
#ifndef RUY_LIKE_PACK_PACK_COLUMNS32_H_
#define RUY_LIKE_PACK_PACK_COLUMNS32_H_

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

// A mask of the first `count` of 16 or 32 elements; any count.
RUY_LIKE_ALWAYS_INLINE uint32_t FirstOf(ptrdiff_t count) {
  if (count <= 0) return 0;
  return count >= 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
}

// Loads 32 levels of 16 depth-contiguous columns, a register for each column;
// missing elements are 0.
RUY_LIKE_ALWAYS_INLINE void LoadColumns(const uint16_t* src, ptrdiff_t stride,
                                        ptrdiff_t levels, ptrdiff_t columns,
                                        __m512i* words) {
  for (int w = 0; w < 16; ++w) {
    const __mmask32 present = w < columns ? FirstOf(levels) : 0;
    const __m512i pairs =
        _mm512_maskz_loadu_epi16(present, w < columns ? src + w * stride : src);
    words[w] = _mm512_rol_epi32(pairs, 16);
  }
}

// The same from a width-contiguous source: a register for each pair of levels
// is transposed to one for each column.
RUY_LIKE_ALWAYS_INLINE void LoadLevels(const uint16_t* src, ptrdiff_t stride,
                                       ptrdiff_t levels, ptrdiff_t columns,
                                       __m512i* words) {
  const auto level = [&](ptrdiff_t k) {
    const __mmask16 present =
        static_cast<__mmask16>(k < levels ? FirstOf(columns) : 0);
    return _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(present, k < levels ? src + k * stride : src));
  };
  for (int pair = 0; pair < 16; ++pair) {
    words[pair] = _mm512_or_si512(_mm512_slli_epi32(level(2 * pair), 16),
                                  level(2 * pair + 1));
  }
  Simd512::Transpose(words);
}

inline void Pack16x32(const PackArgs* args) {
  const bool along_depth =
      args->depth_contiguous || (args->width == 1 && args->src_stride == 1);
  const auto* const src = static_cast<const uint16_t*>(args->src);
  const ptrdiff_t stride = args->src_stride;
  auto* dst = static_cast<char*>(args->dst);
  for (ptrdiff_t first = 0; first < args->width; first += 16) {
    const ptrdiff_t columns = args->width - first;
    for (ptrdiff_t k = 0; k < args->padded_depth; k += 32) {
      __m512i words[16];
      if (k >= args->depth) {
        for (int w = 0; w < 16; ++w) words[w] = _mm512_setzero_si512();
      } else if (along_depth) {
        LoadColumns(src + first * stride + k, stride, args->depth - k, columns,
                    words);
      } else {
        LoadLevels(src + k * stride + first, stride, args->depth - k, columns,
                   words);
      }
      for (int w = 0; w < 16; ++w, dst += 64) {
        _mm512_storeu_si512(dst, words[w]);
      }
    }
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_COLUMNS32_H_
