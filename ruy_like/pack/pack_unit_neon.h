// Back-end: units of 16 source bytes on Arm, in which pack_narrow.h packs
// columns: the members of X86Unit (pack_unit_x86.h), with the same meaning.
#ifndef RUY_LIKE_PACK_PACK_UNIT_NEON_H_
#define RUY_LIKE_PACK_PACK_UNIT_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

struct NeonUnit {
  typedef uint8x16_t Reg;

  RUY_LIKE_ALWAYS_INLINE static Reg Zero() { return vdupq_n_u8(0); }
  RUY_LIKE_ALWAYS_INLINE static Reg Load(const char* src) {
    return vld1q_u8(reinterpret_cast<const uint8_t*>(src));
  }
  static void CopyPadded(char* dst, const char* src, int count) {
    __builtin_memset(dst, 0, 16);
    __builtin_memcpy(dst, src, static_cast<size_t>(count));
  }

  template <int kBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg InterleaveLow(Reg a, Reg b) {
    if constexpr (kBytes == 1) {
      return vzip1q_u8(a, b);
    } else if constexpr (kBytes == 2) {
      return vreinterpretq_u8_u16(
          vzip1q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    } else {
      return vreinterpretq_u8_u32(
          vzip1q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    }
  }
  template <int kBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg InterleaveHigh(Reg a, Reg b) {
    if constexpr (kBytes == 1) {
      return vzip2q_u8(a, b);
    } else if constexpr (kBytes == 2) {
      return vreinterpretq_u8_u16(
          vzip2q_u16(vreinterpretq_u16_u8(a), vreinterpretq_u16_u8(b)));
    } else {
      return vreinterpretq_u8_u32(
          vzip2q_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
    }
  }

  RUY_LIKE_ALWAYS_INLINE static Reg FlipFirst(Reg unit, int n) {
    const Reg index = vreinterpretq_u8_u64(vcombine_u64(
        vcreate_u64(0x0706050403020100), vcreate_u64(0x0f0e0d0c0b0a0908)));
    const Reg present = vcltq_u8(index, vdupq_n_u8(static_cast<uint8_t>(n)));
    return veorq_u8(unit, vandq_u8(present, vdupq_n_u8(0x80)));
  }

  template <int kBytes, class Packed>
  RUY_LIKE_ALWAYS_INLINE static void Store(char* dst, Reg unit) {
    if constexpr (Packed::kWidensFloats) {
      const uint16x8_t x = vreinterpretq_u16_u8(unit);
      float* const floats = reinterpret_cast<float*>(dst);
      vst1q_f32(floats, SimdNeon::Widen<Packed::kSource>(vget_low_u16(x)));
      vst1q_f32(floats + 4, SimdNeon::Widen<Packed::kSource>(vget_high_u16(x)));
    } else if constexpr (Packed::kBytes > kBytes) {
      const int8x16_t bytes = vreinterpretq_s8_u8(unit);
      int16_t* const words = reinterpret_cast<int16_t*>(dst);
      vst1q_s16(words, vmovl_s8(vget_low_s8(bytes)));
      vst1q_s16(words + 8, vmovl_high_s8(bytes));
    } else {
      vst1q_u8(reinterpret_cast<uint8_t*>(dst), unit);
    }
  }

  template <int kBytes, Scalar kPacked>
  RUY_LIKE_ALWAYS_INLINE static Reg AddSums(Reg sums, Reg unit) {
    int32x4_t total = vreinterpretq_s32_u8(sums);
    if constexpr (kBytes == 1 && kPacked == Scalar::kU8) {
      total = vreinterpretq_s32_u32(
          vpadalq_u16(vreinterpretq_u32_s32(total), vpaddlq_u8(unit)));
    } else if constexpr (kBytes == 1) {
      total = vpadalq_s16(total, vpaddlq_s8(vreinterpretq_s8_u8(unit)));
    } else {
      total = vpadalq_s16(total, vreinterpretq_s16_u8(unit));
    }
    return vreinterpretq_u8_s32(total);
  }
  RUY_LIKE_ALWAYS_INLINE static int32_t LaneSum(Reg x) {
    return vaddvq_s32(vreinterpretq_s32_u8(x));
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_UNIT_NEON_H_
