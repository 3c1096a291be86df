// Back-end: transposes eight columns of bytes. Used by epilogue.h.
#ifndef RUY_LIKE_SIMD_BYTE_ROWS_H_
#define RUY_LIKE_SIMD_BYTE_ROWS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// 16 rows of eight bytes, rows 2i and 2i + 1 in pairs[i]. The columns start
// 16-byte aligned and lie `stride` apart, a multiple of 16. Interleaving
// registers i and i + 4, three times, transposes them.
//
// V: a trait of 128-bit vectors (simd_128.h).
template <class V>
struct ByteRows {
  typename V::Int pairs[8];

  RUY_LIKE_ALWAYS_INLINE ByteRows(const int8_t* columns, ptrdiff_t stride) {
    for (int i = 0; i < 8; ++i) pairs[i] = V::LoadBytes(columns + stride * i);
    for (int level = 0; level < 3; ++level) {
      typename V::Int next[8];
      for (int i = 0; i < 4; ++i) {
        next[2 * i] = pairs[i];
        next[2 * i + 1] = pairs[i + 4];
        V::Zip8(next[2 * i], next[2 * i + 1]);
      }
      for (int i = 0; i < 8; ++i) pairs[i] = next[i];
    }
  }
  RUY_LIKE_ALWAYS_INLINE uint64_t Even(int i) const {
    return V::template Half<0>(pairs[i]);
  }
  RUY_LIKE_ALWAYS_INLINE uint64_t Odd(int i) const {
    return V::template Half<1>(pairs[i]);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_BYTE_ROWS_H_
