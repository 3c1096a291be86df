// Back-end: eight columns of bytes as rows, with x86's 128-bit shuffles, which
// serve vectors of any size. Used by epilogue.h; byte_rows_neon.h is the same
// for Arm.
#ifndef RUY_LIKE_SIMD_BYTE_ROWS_X86_H_
#define RUY_LIKE_SIMD_BYTE_ROWS_X86_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like {
namespace kernels {
namespace {

// Rows 2i and 2i + 1 of eight are in pairs[i], i < 8. The columns start 16-byte
// aligned and lie `stride` apart, a multiple of 16. Three times each pair of
// registers i and i + 4 is interleaved, which moves one bit of the column's
// number below those of the row's.
struct ByteRows {
  __m128i pairs[8];

  RUY_LIKE_ALWAYS_INLINE ByteRows(const int8_t* columns, ptrdiff_t stride) {
    for (int i = 0; i < 8; ++i) {
      pairs[i] = _mm_load_si128(
          reinterpret_cast<const __m128i*>(columns + stride * i));
    }
    for (int level = 0; level < 3; ++level) {
      __m128i next[8];
      for (int i = 0; i < 4; ++i) {
        next[2 * i] = _mm_unpacklo_epi8(pairs[i], pairs[i + 4]);
        next[2 * i + 1] = _mm_unpackhi_epi8(pairs[i], pairs[i + 4]);
      }
      for (int i = 0; i < 8; ++i) pairs[i] = next[i];
    }
  }
  RUY_LIKE_ALWAYS_INLINE int64_t Even(int i) const {
    return _mm_cvtsi128_si64(pairs[i]);
  }
  RUY_LIKE_ALWAYS_INLINE int64_t Odd(int i) const {
    return _mm_extract_epi64(pairs[i], 1);
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_SIMD_BYTE_ROWS_X86_H_
