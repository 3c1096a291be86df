// Back-end: the 128-bit SIMD trait of 64-bit Arm that kernels and epilogue are
// templates of.
//
// Included by the Arm per-ISA files. It has the members of Simd512
// (simd_avx512.h) that the templates need here, with the same meaning. A mask
// is a number of lanes: NEON has no masked loads or stores, parts of vectors
// are moved in pieces. Requantization is not made of these operations but has
// instructions of its own (epilogue/epilogue_neon.h).
#ifndef RUY_LIKE_SIMD_SIMD_NEON_H_
#define RUY_LIKE_SIMD_SIMD_NEON_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

struct SimdNeon {
  static constexpr int kLanes = 4;  // 32-bit lanes
  // The cores that gain from it reorder instructions by themselves, and have
  // few loads to spare; see panel_epilogue.h.
  static constexpr bool kInterleavesEpilogue = false;
  // Whether four vectors as bytes lie in their order, unpermuted
  // (StoreBytes()).
  static constexpr bool kBytesInOrder = true;
  typedef int32x4_t Int;
  typedef float32x4_t Float;
  typedef int Mask;

  // The first n lanes, 0 <= n <= kLanes.
  static RUY_LIKE_ALWAYS_INLINE Mask FirstLanes(int n) { return n; }

  // ## 32-bit integers
  static RUY_LIKE_ALWAYS_INLINE Int Zero() { return vdupq_n_s32(0); }
  static RUY_LIKE_ALWAYS_INLINE Int Set(int32_t x) { return vdupq_n_s32(x); }
  static RUY_LIKE_ALWAYS_INLINE Int LoadAligned(const int32_t* p) {
    return vld1q_s32(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(int32_t* p, Int x) {
    vst1q_s32(p, x);
  }
  // x, which the compiler is not to read from memory once more instead.
  static RUY_LIKE_ALWAYS_INLINE Int InRegister(Int x) {
    __asm__("" : "+w"(x));
    return x;
  }
  // Computes x here: what holds of several is that they are computed in the
  // order of these calls, which a compiler would change.
  template <typename Vector>
  static RUY_LIKE_ALWAYS_INLINE void KeepInOrder(Vector& x) {
    __asm__ volatile("" : "+w"(x));
  }
  // Reads the masked lanes alone, the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadMasked(const int32_t* p, Mask n) {
    if (n == kLanes) return vld1q_s32(p);
    int32x2_t low = vdup_n_s32(0);
    int32x2_t high = vdup_n_s32(0);
    if (n & 2) {
      low = vld1_s32(p);
      if (n & 1) high = vset_lane_s32(p[2], high, 0);
    } else if (n & 1) {
      low = vset_lane_s32(*p, low, 0);
    }
    return vcombine_s32(low, high);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Add(Int a, Int b) {
    return vaddq_s32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Sub(Int a, Int b) {
    return vsubq_s32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Mul(Int a, Int b) {
    return vmulq_s32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Min(Int a, Int b) {
    return vminq_s32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Max(Int a, Int b) {
    return vmaxq_s32(a, b);
  }

  // ## Four vectors of 32-bit values to one of bytes
  static RUY_LIKE_ALWAYS_INLINE Int Set16(int16_t x) {
    return vreinterpretq_s32_s16(vdupq_n_s16(x));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Set8(int8_t x) {
    return vreinterpretq_s32_s8(vdupq_n_s8(x));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt16(Int a, Int b) {
    return vreinterpretq_s32_s16(vqmovn_high_s32(vqmovn_s32(a), b));
  }
  static RUY_LIKE_ALWAYS_INLINE Int AddSaturated16(Int a, Int b) {
    return vreinterpretq_s32_s16(
        vqaddq_s16(vreinterpretq_s16_s32(a), vreinterpretq_s16_s32(b)));
  }
  // 16-bit values to bytes of the bounds' type, clamped.
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, int8_t low,
                                                 int8_t high) {
    return Min8(Max8(SaturateToInt8(a, b), Set8(low)), Set8(high));
  }
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, uint8_t low,
                                                 uint8_t high) {
    const uint8x16_t bytes = vqmovun_high_s16(
        vqmovun_s16(vreinterpretq_s16_s32(a)), vreinterpretq_s16_s32(b));
    return vreinterpretq_s32_u8(
        vminq_u8(vmaxq_u8(bytes, vdupq_n_u8(low)), vdupq_n_u8(high)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt8(Int a, Int b) {
    return vreinterpretq_s32_s8(vqmovn_high_s16(
        vqmovn_s16(vreinterpretq_s16_s32(a)), vreinterpretq_s16_s32(b)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Min8(Int a, Int b) {
    return vreinterpretq_s32_s8(
        vminq_s8(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Max8(Int a, Int b) {
    return vreinterpretq_s32_s8(
        vmaxq_s8(vreinterpretq_s8_s32(a), vreinterpretq_s8_s32(b)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Xor(Int a, Int b) {
    return veorq_s32(a, b);
  }
  // A vector's four bytes are together already: it has but one 128-bit part.
  static RUY_LIKE_ALWAYS_INLINE Int GroupColumns(Int bytes) { return bytes; }
  static RUY_LIKE_ALWAYS_INLINE void StoreBytes(void* dst, Int bytes) {
    vst1q_u8(static_cast<uint8_t*>(dst), vreinterpretq_u8_s32(bytes));
  }
  // The first n bytes of each half (quarter).
  static RUY_LIKE_ALWAYS_INLINE void StoreHalves(int8_t* a, int8_t* b, Int x,
                                                 int n) {
    const int8x16_t bytes = vreinterpretq_s8_s32(x);
    if (n == 2 * kLanes) {
      vst1_s8(a, vget_low_s8(bytes));
      vst1_s8(b, vget_high_s8(bytes));
    } else {
      const uint64x2_t halves = vreinterpretq_u64_s32(x);
      StoreFirst(a, vgetq_lane_u64(halves, 0), n);
      StoreFirst(b, vgetq_lane_u64(halves, 1), n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreQuarters(int8_t* a, int8_t* b,
                                                   int8_t* c, int8_t* d, Int x,
                                                   int n) {
    if (n == kLanes) {
      StoreFourBytes(a, vgetq_lane_s32(x, 0));
      StoreFourBytes(b, vgetq_lane_s32(x, 1));
      StoreFourBytes(c, vgetq_lane_s32(x, 2));
      StoreFourBytes(d, vgetq_lane_s32(x, 3));
    } else {
      const uint32x4_t quarters = vreinterpretq_u32_s32(x);
      StoreFirst(a, vgetq_lane_u32(quarters, 0), n);
      StoreFirst(b, vgetq_lane_u32(quarters, 1), n);
      StoreFirst(c, vgetq_lane_u32(quarters, 2), n);
      StoreFirst(d, vgetq_lane_u32(quarters, 3), n);
    }
  }

  // ## Stores of the first n lanes, truncated to the destination's type
  static RUY_LIKE_ALWAYS_INLINE void Store(int8_t* dst, Int x, int n) {
    const int16x4_t words = vmovn_s32(x);
    const uint8x8_t bytes =
        vmovn_u16(vreinterpretq_u16_s16(vcombine_s16(words, words)));
    const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
    if (n == kLanes) {
      __builtin_memcpy(dst, &four, sizeof(four));
    } else {
      StoreFirst(dst, four, n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(uint8_t* dst, Int x, int n) {
    Store(reinterpret_cast<int8_t*>(dst), x, n);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int16_t* dst, Int x, int n) {
    const int16x4_t words = vmovn_s32(x);
    if (n == kLanes) {
      vst1_s16(dst, words);
    } else {
      StoreFirst(dst, vget_lane_u64(vreinterpret_u64_s16(words), 0), 2 * n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int32_t* dst, Int x, int n) {
    if (n == kLanes) {
      vst1q_s32(dst, x);
      return;
    }
    int32x2_t part = vget_low_s32(x);
    if (n & 2) {
      vst1_s32(dst, part);
      dst += 2;
      part = vget_high_s32(x);
    }
    if (n & 1) *dst = vget_lane_s32(part, 0);
  }

  // ## Floats
  static RUY_LIKE_ALWAYS_INLINE Float SetFloat(float x) {
    return vdupq_n_f32(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadAligned(const float* p) {
    return vld1q_f32(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(float* p, Float x) {
    vst1q_f32(p, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadMasked(const float* p, Mask n) {
    if (n == kLanes) return vld1q_f32(p);
    float32x2_t low = vdup_n_f32(0);
    float32x2_t high = vdup_n_f32(0);
    if (n & 2) {
      low = vld1_f32(p);
      if (n & 1) high = vset_lane_f32(p[2], high, 0);
    } else if (n & 1) {
      low = vset_lane_f32(*p, low, 0);
    }
    return vcombine_f32(low, high);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AddFloat(Float a, Float b) {
    return vaddq_f32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulFloat(Float a, Float b) {
    return vmulq_f32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    return vfmaq_f32(c, a, b);
  }
  // Both keep `x` when it is a NaN, and of two zeros.
  static RUY_LIKE_ALWAYS_INLINE Float AtLeast(Float bound, Float x) {
    return vbslq_f32(vcltq_f32(x, bound), bound, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtMost(Float bound, Float x) {
    return vbslq_f32(vcgtq_f32(x, bound), bound, x);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(float* dst, Float x, int n) {
    if (n == kLanes) {
      vst1q_f32(dst, x);
      return;
    }
    float32x2_t part = vget_low_f32(x);
    if (n & 2) {
      vst1_f32(dst, part);
      dst += 2;
      part = vget_high_f32(x);
    }
    if (n & 1) *dst = vget_lane_f32(part, 0);
  }
  // The values, rounded.
  static RUY_LIKE_ALWAYS_INLINE Float ToFloat(Int x) {
    return vcvtq_f32_s32(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int BitsOf(Float x) {
    return vreinterpretq_s32_f32(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AsFloat(Int x) {
    return vreinterpretq_f32_s32(x);
  }

  // ## 16-bit floats (float16.h has the formats)
  template <Scalar kFrom>
  static RUY_LIKE_ALWAYS_INLINE Float Widen(uint16x4_t x) {
    if constexpr (kFrom == Scalar::kBF16) {
      return vreinterpretq_f32_u32(vshll_n_u16(x, 16));
    } else {
      static_assert(kFrom == Scalar::kF16);
      return vcvt_f32_f16(vreinterpret_f16_u16(x));
    }
  }
  template <Scalar kFrom>
  static RUY_LIKE_ALWAYS_INLINE Float LoadWidened(const uint16_t* p) {
    return Widen<kFrom>(vld1_u16(p));
  }
  // The nearest ones, ties to even, in the lanes' lower halves. x is no
  // denormal and no signalling NaN.
  template <Scalar kTo>
  static RUY_LIKE_ALWAYS_INLINE Int Round(Float x) {
    if constexpr (kTo == Scalar::kBF16) {
      const Int bits = BitsOf(x);
      // A NaN stays below what a carry would make negative.
      const Int magnitude =
          vminq_s32(vandq_s32(bits, Set(0x7fffffff)), Set(0x7fff0000));
      const Int is_odd = vandq_s32(vshrq_n_s32(magnitude, 16), Set(1));
      const Int rounded = Add(magnitude, Add(is_odd, Set(0x7fff)));
      return vshrq_n_s32(Xor(rounded, vandq_s32(bits, Set(INT32_MIN))), 16);
    } else {
      static_assert(kTo == Scalar::kF16);
      return vreinterpretq_s32_u32(
          vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(x))));
    }
  }

  // Transposes the kLanes x kLanes matrix of 32-bit elements in `m`.
  static RUY_LIKE_ALWAYS_INLINE void Transpose(Int* m) {
    const int64x2_t a = vreinterpretq_s64_s32(vtrn1q_s32(m[0], m[1]));
    const int64x2_t b = vreinterpretq_s64_s32(vtrn2q_s32(m[0], m[1]));
    const int64x2_t c = vreinterpretq_s64_s32(vtrn1q_s32(m[2], m[3]));
    const int64x2_t d = vreinterpretq_s64_s32(vtrn2q_s32(m[2], m[3]));
    m[0] = vreinterpretq_s32_s64(vtrn1q_s64(a, c));
    m[1] = vreinterpretq_s32_s64(vtrn1q_s64(b, d));
    m[2] = vreinterpretq_s32_s64(vtrn2q_s64(a, c));
    m[3] = vreinterpretq_s32_s64(vtrn2q_s64(b, d));
  }

 private:
  static RUY_LIKE_ALWAYS_INLINE void StoreFourBytes(int8_t* dst, int32_t four) {
    __builtin_memcpy(dst, &four, sizeof(four));
  }
  // Stores the first n < 8 bytes.
  static RUY_LIKE_ALWAYS_INLINE void StoreFirst(void* dst, uint64_t bytes,
                                                int n) {
    unsigned char* p = static_cast<unsigned char*>(dst);
    if (n & 4) {
      const uint32_t four = static_cast<uint32_t>(bytes);
      __builtin_memcpy(p, &four, 4);
      bytes >>= 32;
      p += 4;
    }
    if (n & 2) {
      const uint16_t two = static_cast<uint16_t>(bytes);
      __builtin_memcpy(p, &two, 2);
      bytes >>= 16;
      p += 2;
    }
    if (n & 1) *p = static_cast<unsigned char>(bytes);
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_SIMD_SIMD_NEON_H_
