// Back-end: eight columns of bytes as rows, for WebAssembly: byte_rows_x86.h
// has the members' meaning.
#ifndef RUY_LIKE_SIMD_BYTE_ROWS_WASM_H_
#define RUY_LIKE_SIMD_BYTE_ROWS_WASM_H_

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "ruy_like/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

struct ByteRows {
  v128_t pairs[8];

  RUY_LIKE_ALWAYS_INLINE ByteRows(const int8_t* columns, ptrdiff_t stride) {
    for (int i = 0; i < 8; ++i) pairs[i] = wasm_v128_load(columns + stride * i);
    for (int level = 0; level < 3; ++level) {
      v128_t next[8];
      for (int i = 0; i < 4; ++i) {
        const v128_t a = pairs[i];
        const v128_t b = pairs[i + 4];
        next[2 * i] = wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4,
                                         20, 5, 21, 6, 22, 7, 23);
        next[2 * i + 1] = wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27,
                                             12, 28, 13, 29, 14, 30, 15, 31);
      }
      for (int i = 0; i < 8; ++i) pairs[i] = next[i];
    }
  }
  RUY_LIKE_ALWAYS_INLINE int64_t Even(int i) const {
    return wasm_i64x2_extract_lane(pairs[i], 0);
  }
  RUY_LIKE_ALWAYS_INLINE int64_t Odd(int i) const {
    return wasm_i64x2_extract_lane(pairs[i], 1);
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_SIMD_BYTE_ROWS_WASM_H_
