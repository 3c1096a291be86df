// Back-end: the SIMD trait of Arm that kernels and epilogue are templates of.
//
// Included by the Arm per-ISA files. It has the members of Simd512
// (simd_avx512.h) that the templates need here, with the same meaning; those of
// all 128-bit vectors are in simd_128.h. Requantization is not made of these
// operations but has instructions of its own (epilogue/epilogue_neon.h).
//
// 32-bit Arm's float instructions treat denormals as zero, and not all of its
// processors have a fused multiply-add: a product is rounded, then the sum.
#ifndef RUY_LIKE_SIMD_SIMD_NEON_H_
#define RUY_LIKE_SIMD_SIMD_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_vectors.h"

namespace ruy_like::kernels {
namespace {

struct SimdNeon : SimdVectors<SimdNeon, int32x4_t, float32x4_t> {
  // ## 32-bit integers
  // Not by the generic ones: gcc 12 loads such constants in each iteration.
  RUY_LIKE_UNARY(Int, Set, int32_t, vdupq_n_s32)
  RUY_LIKE_UNARY(Int, LoadAligned, const int32_t*, vld1q_s32)
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(int32_t* p, Int x) {
    vst1q_s32(p, x);
  }
  // x; keeps the compiler from loading it again for each use.
  static RUY_LIKE_ALWAYS_INLINE Int InRegister(Int x) {
    __asm__("" : "+w"(x));
    return x;
  }
  // Makes compilers compute x here: several values are computed in the order of
  // these calls.
  template <typename Vector>
  static RUY_LIKE_ALWAYS_INLINE void KeepInOrder(Vector& x) {
    __asm__ volatile("" : "+w"(x));
  }
  // The first n < kLanes lanes, the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadLanes(const void* p, int n) {
    const char* lanes = static_cast<const char*>(p);
    int32x2_t low = vdup_n_s32(0);
    int32x2_t high = vdup_n_s32(0);
    if (n & 2) {
      low = vreinterpret_s32_u8(vld1_u8(static_cast<const uint8_t*>(p)));
      if (n & 1) high = vset_lane_s32(LoadFour(lanes + 8), high, 0);
    } else if (n & 1) {
      low = vset_lane_s32(LoadFour(lanes), low, 0);
    }
    return vcombine_s32(low, high);
  }
  // Bytes, widened to lanes.
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo32(const uint8_t* p) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, sizeof(bytes));
    const uint16x8_t words = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes)));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(words)));
  }
  RUY_LIKE_BINARY(Int, Add, vaddq_s32)
  RUY_LIKE_BINARY(Int, Sub, vsubq_s32)
  RUY_LIKE_BINARY(Int, Mul, vmulq_s32)
  RUY_LIKE_BINARY(Int, Min, vminq_s32)
  RUY_LIKE_BINARY(Int, Max, vmaxq_s32)

  // ## Four vectors of 32-bit values to one of bytes
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt16(Int a, Int b) {
    return vreinterpretq_s32_s16(vqmovn_high_s32(vqmovn_s32(a), b));
  }
#define RUY_LIKE_NEON(Name, intrinsic, Elements)                 \
  static RUY_LIKE_ALWAYS_INLINE Int Name(Int a, Int b) {         \
    return As<Int>(intrinsic(As<Elements>(a), As<Elements>(b))); \
  }
  RUY_LIKE_NEON(AddSaturated16, vqaddq_s16, int16x8_t)
  RUY_LIKE_NEON(Min8, vminq_s8, int8x16_t)
  RUY_LIKE_NEON(Max8, vmaxq_s8, int8x16_t)
#undef RUY_LIKE_NEON
  using SimdVectors::ClampToBytes;
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

  // ## Parts of vectors
  static RUY_LIKE_ALWAYS_INLINE uint32_t Truncate8(Int x) {
    const uint8x8_t bytes = vmovn_u16(vreinterpretq_u16_s32(Truncate16(x)));
    return vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  }
  // Four bytes from each of four places; eight, and zeros.
  static RUY_LIKE_ALWAYS_INLINE Int LoadQuarters(const char* p,
                                                 ptrdiff_t stride) {
    Int x = vdupq_n_s32(LoadFour(p));
    x = vsetq_lane_s32(LoadFour(p + stride), x, 1);
    x = vsetq_lane_s32(LoadFour(p + 2 * stride), x, 2);
    return vsetq_lane_s32(LoadFour(p + 3 * stride), x, 3);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadLow(const char* p) {
    return vreinterpretq_s32_s8(
        vcombine_s8(vld1_s8(reinterpret_cast<const int8_t*>(p)), vdup_n_s8(0)));
  }
  // The inverse: a becomes the even elements of both, b the odd ones.
  static RUY_LIKE_ALWAYS_INLINE void Unzip16(Int& a, Int& b) {
    const Int16x8 x = As<Int16x8>(a), y = As<Int16x8>(b);
    a = As<Int>(__builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14));
    b = As<Int>(__builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15));
  }
#if !RUY_LIKE_NEON_64
  // Exchanges a's upper and b's lower half, for which gcc 12 needs four moves.
  static RUY_LIKE_ALWAYS_INLINE void Zip64(Int& a, Int& b) {
    __asm__("vswp %f0, %e1" : "+w"(a), "+w"(b));
  }
#endif

  // ## 16-bit lanes and bytes
  // Sums of neighbours, widened.
  static RUY_LIKE_ALWAYS_INLINE Int SumBytePairs(Int x) {
    return vreinterpretq_s32_s16(vpaddlq_s8(vreinterpretq_s8_s32(x)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SumWordPairs(Int x) {
    return vpaddlq_s16(vreinterpretq_s16_s32(x));
  }
  // The sums of the lanes of four vectors.
  static RUY_LIKE_ALWAYS_INLINE Int LaneSums(Int a, Int b, Int c, Int d) {
    return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
  }
  // Words of one half of the bytes.
  template <int kHalf>
  static RUY_LIKE_ALWAYS_INLINE Int WidenBytes(Int x) {
    const int8x16_t bytes = vreinterpretq_s8_s32(x);
    return vreinterpretq_s32_s16(kHalf == 0 ? vmovl_s8(vget_low_s8(bytes))
                                            : vmovl_high_s8(bytes));
  }

  // ## Floats
  RUY_LIKE_UNARY(Float, SetFloat, float, vdupq_n_f32)
  RUY_LIKE_UNARY(Float, LoadAligned, const float*, vld1q_f32)
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(float* p, Float x) {
    vst1q_f32(p, x);
  }
  RUY_LIKE_BINARY(Float, AddFloat, vaddq_f32)
  RUY_LIKE_BINARY(Float, MulFloat, vmulq_f32)
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
#if RUY_LIKE_NEON_64
    return vfmaq_f32(c, a, b);
#else
    return vmlaq_f32(c, a, b);
#endif
  }
  // c + a * lane kLane of b.
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE Float MulAddLane(Float a, Float b, Float c) {
#if RUY_LIKE_NEON_64
    return vfmaq_laneq_f32(c, a, b, kLane);
#else
    return vmlaq_lane_f32(c, a, kLane < 2 ? vget_low_f32(b) : vget_high_f32(b),
                          kLane % 2);
#endif
  }
  // Both return `x` if it is a NaN, or if both are zeros.
  static RUY_LIKE_ALWAYS_INLINE Float AtLeast(Float bound, Float x) {
    return vbslq_f32(IsGreater(bound, x), bound, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtMost(Float bound, Float x) {
    return vbslq_f32(IsGreater(x, bound), bound, x);
  }
  // The values, rounded.
  RUY_LIKE_UNARY(Float, ToFloat, Int, vcvtq_f32_s32)

#if RUY_LIKE_NEON_64
  // ## For activation.h, which says what they do
  RUY_LIKE_BINARY(Float, DivFloat, vdivq_f32)
  static RUY_LIKE_ALWAYS_INLINE Float IfNegative(Float x, Float if_negative,
                                                 Float otherwise) {
    return vbslq_f32(vreinterpretq_u32_s32(vshrq_n_s32(BitsOf(x), 31)),
                     if_negative, otherwise);
  }
  static RUY_LIKE_ALWAYS_INLINE Float CopySign(Float magnitude, Float sign) {
    return vbslq_f32(vdupq_n_u32(0x80000000), sign, magnitude);
  }
  static RUY_LIKE_ALWAYS_INLINE Float ShiftToExponent(Float x) {
    return AsFloat(vshlq_n_s32(BitsOf(x), 23));
  }
  // At any alignment.
  RUY_LIKE_UNARY(Float, LoadVector, const float*, vld1q_f32)
  RUY_LIKE_UNARY(Int, LoadVector, const int32_t*, vld1q_s32)
#endif

  // As simd_x86_members.inc has it. TBL and TBX look up in 64 bytes; other
  // indices give 0, or what was there.
  static ptrdiff_t LookUpVectors([[maybe_unused]] const uint8_t* table,
                                 [[maybe_unused]] const uint8_t* from,
                                 [[maybe_unused]] ptrdiff_t n,
                                 [[maybe_unused]] ptrdiff_t step,
                                 [[maybe_unused]] ptrdiff_t runs,
                                 [[maybe_unused]] uint8_t* to) {
#if RUY_LIKE_NEON_64
    if (n < 16) return 0;
    uint8x16x4_t quarters[4];
    for (int i = 0; i < 16; ++i) {
      quarters[i / 4].val[i % 4] = vld1q_u8(table + 16 * i);
    }
    const ptrdiff_t whole = n / 16 * 16;
    for (; runs > 0; --runs, from += step, to += step) {
      for (ptrdiff_t at = 0; at < whole; at += 16) {
        uint8x16_t index = vld1q_u8(from + at);
        uint8x16_t found = vqtbl4q_u8(quarters[0], index);
        for (int i = 1; i < 4; ++i) {
          index = vsubq_u8(index, vdupq_n_u8(64));
          found = vqtbx4q_u8(found, quarters[i], index);
        }
        vst1q_u8(to + at, found);
      }
    }
    return whole;
#else
    return 0;
#endif
  }

  // ## 16-bit floats (float16.h has the formats)
  template <Scalar kFrom>
  static RUY_LIKE_ALWAYS_INLINE Float Widen(uint16x4_t x) {
    if constexpr (kFrom == Scalar::kBF16) {
      return vreinterpretq_f32_u32(vshll_n_u16(x, 16));
    } else {
      static_assert(kFrom == Scalar::kF16);
#if RUY_LIKE_NEON_64
      return vcvt_f32_f16(vreinterpret_f16_u16(x));
#else
      return WidenFloat16s(vreinterpretq_s32_u32(vmovl_u16(x)));
#endif
    }
  }
  template <Scalar kFrom>
  static RUY_LIKE_ALWAYS_INLINE Float LoadWidened(const uint16_t* p) {
    return Widen<kFrom>(vld1_u16(p));
  }
  // Those of one half of the words.
  template <Scalar kFrom, int kHalf>
  static RUY_LIKE_ALWAYS_INLINE Float WidenFloats(Int x) {
    const uint16x8_t words = vreinterpretq_u16_s32(x);
#if RUY_LIKE_NEON_64
    if constexpr (kFrom == Scalar::kF16 && kHalf == 1) {
      return vcvt_high_f32_f16(vreinterpretq_f16_u16(words));
    }
#endif
    return Widen<kFrom>(kHalf == 0 ? vget_low_u16(words)
                                   : vget_high_u16(words));
  }
  // x rounded to kTo, ties to even, in the lanes' lower halves. x is no
  // denormal and no signalling NaN.
  template <Scalar kTo>
  static RUY_LIKE_ALWAYS_INLINE Int Round(Float x) {
    if constexpr (kTo == Scalar::kBF16) {
      const Int bits = BitsOf(x);
      // Capped: rounding a NaN must not carry into the sign.
      const Int magnitude =
          vminq_s32(vandq_s32(bits, Set(0x7fffffff)), Set(0x7fff0000));
      const Int is_odd = vandq_s32(vshrq_n_s32(magnitude, 16), Set(1));
      const Int rounded = Add(magnitude, Add(is_odd, Set(0x7fff)));
      return vshrq_n_s32(Xor(rounded, vandq_s32(bits, Set(INT32_MIN))), 16);
    } else {
      static_assert(kTo == Scalar::kF16);
#if RUY_LIKE_NEON_64
      return vreinterpretq_s32_u32(
          vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(x))));
#else
      return RoundInScalars<kTo>(x);
#endif
    }
  }

 private:
  static RUY_LIKE_ALWAYS_INLINE uint32x4_t IsGreater(Float a, Float b) {
#if RUY_LIKE_NEON_64
    return vcgtq_f32(a, b);
#else
    // gcc 12 compiles the intrinsic to scalar comparisons.
    uint32x4_t result;
    __asm__("vcgt.f32 %q0, %q1, %q2" : "=w"(result) : "w"(a), "w"(b));
    return result;
#endif
  }
  static RUY_LIKE_ALWAYS_INLINE int32_t LoadFour(const void* p) {
    int32_t four;
    __builtin_memcpy(&four, p, sizeof(four));
    return four;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_NEON_H_
