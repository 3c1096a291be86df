// Back-end: eight columns of bytes as rows, for Arm: byte_rows_x86.h has the
// members' meaning.
#ifndef RUY_LIKE_SIMD_BYTE_ROWS_NEON_H_
#define RUY_LIKE_SIMD_BYTE_ROWS_NEON_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

struct ByteRows {
  int8x16_t pairs[8];

  RUY_LIKE_ALWAYS_INLINE ByteRows(const int8_t* columns, ptrdiff_t stride) {
    for (int i = 0; i < 8; ++i) pairs[i] = vld1q_s8(columns + stride * i);
    for (int level = 0; level < 3; ++level) {
      int8x16_t next[8];
      for (int i = 0; i < 4; ++i) {
        next[2 * i] = vzip1q_s8(pairs[i], pairs[i + 4]);
        next[2 * i + 1] = vzip2q_s8(pairs[i], pairs[i + 4]);
      }
      for (int i = 0; i < 8; ++i) pairs[i] = next[i];
    }
  }
  RUY_LIKE_ALWAYS_INLINE int64_t Even(int i) const {
    return vgetq_lane_s64(vreinterpretq_s64_s8(pairs[i]), 0);
  }
  RUY_LIKE_ALWAYS_INLINE int64_t Odd(int i) const {
    return vgetq_lane_s64(vreinterpretq_s64_s8(pairs[i]), 1);
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_SIMD_BYTE_ROWS_NEON_H_
