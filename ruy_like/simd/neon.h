// Back-end: <arm_neon.h>, for every Arm kernel and pack file, and on 32-bit Arm
// those intrinsics of 64-bit Arm that these files use, made of 32-bit Arm's.
//
// They have the same names and results, so that one source serves both. Where
// 32-bit Arm needs another algorithm, because it has 16 registers of 128 bits
// instead of 32 or lacks an instruction, the source tests:
//
//   RUY_LIKE_NEON_64   whether this is 64-bit Arm
#ifndef RUY_LIKE_SIMD_NEON_H_
#define RUY_LIKE_SIMD_NEON_H_

#include <arm_neon.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"

#ifdef __aarch64__
#define RUY_LIKE_NEON_64 1
#else
#define RUY_LIKE_NEON_64 0

namespace ruy_like::kernels {
namespace {

// ## Permutations of both operands: one instruction makes both halves
#define RUY_LIKE_NEON_PAIR(type, suffix)                        \
  RUY_LIKE_ALWAYS_INLINE type vzip1q_##suffix(type a, type b) { \
    return vzipq_##suffix(a, b).val[0];                         \
  }                                                             \
  RUY_LIKE_ALWAYS_INLINE type vzip2q_##suffix(type a, type b) { \
    return vzipq_##suffix(a, b).val[1];                         \
  }
RUY_LIKE_NEON_PAIR(uint8x16_t, u8)
RUY_LIKE_NEON_PAIR(uint16x8_t, u16)
#undef RUY_LIKE_NEON_PAIR
// Bytes of a table of 16; 0 where the index is beyond it.
RUY_LIKE_ALWAYS_INLINE uint8x16_t vqtbl1q_u8(uint8x16_t table,
                                             uint8x16_t index) {
  const uint8x8x2_t halves = {{vget_low_u8(table), vget_high_u8(table)}};
  return vcombine_u8(vtbl2_u8(halves, vget_low_u8(index)),
                     vtbl2_u8(halves, vget_high_u8(index)));
}

// ## Sums of neighbours
RUY_LIKE_ALWAYS_INLINE int32x4_t vpaddq_s32(int32x4_t a, int32x4_t b) {
  return vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)),
                      vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
}
RUY_LIKE_ALWAYS_INLINE float32x4_t vpaddq_f32(float32x4_t a, float32x4_t b) {
  return vcombine_f32(vpadd_f32(vget_low_f32(a), vget_high_f32(a)),
                      vpadd_f32(vget_low_f32(b), vget_high_f32(b)));
}
RUY_LIKE_ALWAYS_INLINE int32_t vaddvq_s32(int32x4_t x) {
  const int32x2_t sums = vpadd_s32(vget_low_s32(x), vget_high_s32(x));
  return vget_lane_s32(vpadd_s32(sums, sums), 0);
}

// ## Upper halves
RUY_LIKE_ALWAYS_INLINE int16x8_t vmovl_high_s8(int8x16_t x) {
  return vmovl_s8(vget_high_s8(x));
}
RUY_LIKE_ALWAYS_INLINE int64x2_t vmovl_high_s32(int32x4_t x) {
  return vmovl_s32(vget_high_s32(x));
}
RUY_LIKE_ALWAYS_INLINE int16x8_t vmull_high_s8(int8x16_t a, int8x16_t b) {
  return vmull_s8(vget_high_s8(a), vget_high_s8(b));
}
RUY_LIKE_ALWAYS_INLINE uint16x8_t vmull_high_u8(uint8x16_t a, uint8x16_t b) {
  return vmull_u8(vget_high_u8(a), vget_high_u8(b));
}
RUY_LIKE_ALWAYS_INLINE int64x2_t vmull_high_s32(int32x4_t a, int32x4_t b) {
  return vmull_s32(vget_high_s32(a), vget_high_s32(b));
}
RUY_LIKE_ALWAYS_INLINE int32x4_t vmlal_high_s16(int32x4_t acc, int16x8_t a,
                                                int16x8_t b) {
  return vmlal_s16(acc, vget_high_s16(a), vget_high_s16(b));
}
RUY_LIKE_ALWAYS_INLINE int16x8_t vmlsl_high_s8(int16x8_t acc, int8x16_t a,
                                               int8x16_t b) {
  return vmlsl_s8(acc, vget_high_s8(a), vget_high_s8(b));
}
RUY_LIKE_ALWAYS_INLINE int16x8_t vaddw_high_s8(int16x8_t a, int8x16_t b) {
  return vaddw_s8(a, vget_high_s8(b));
}
RUY_LIKE_ALWAYS_INLINE int16x8_t vqmovn_high_s32(int16x4_t low, int32x4_t x) {
  return vcombine_s16(low, vqmovn_s32(x));
}
RUY_LIKE_ALWAYS_INLINE int8x16_t vqmovn_high_s16(int8x8_t low, int16x8_t x) {
  return vcombine_s8(low, vqmovn_s16(x));
}
RUY_LIKE_ALWAYS_INLINE uint8x16_t vqmovun_high_s16(uint8x8_t low, int16x8_t x) {
  return vcombine_u8(low, vqmovun_s16(x));
}
RUY_LIKE_ALWAYS_INLINE int32x4_t vqmovn_high_s64(int32x2_t low, int64x2_t x) {
  return vcombine_s32(low, vqmovn_s64(x));
}

// ## Others
RUY_LIKE_ALWAYS_INLINE uint32x4_t vceqzq_s32(int32x4_t x) {
  return vceqq_s32(x, vdupq_n_s32(0));
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // __aarch64__

#endif  // RUY_LIKE_SIMD_NEON_H_
