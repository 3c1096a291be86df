// Back-end: what the narrow kernels need of NEON beyond SimdNeon, and the
// operations that they make of it.
//
// Included by the Arm per-ISA files. It has the members of Simd512
// (simd_avx512.h) that integer kernels and narrow_dots.h use, with the same
// meaning; float sums in order of depth have a kernel of their own
// (narrow_float_neon.h).
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_NEON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/narrow/narrow_ops.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

struct NarrowSimdNeon : SimdNeon {
  typedef SimdNeon Base;

  // Accumulators of a tile of dot products: 20 of 32 registers, or 8 of 16, the
  // others are for operands and for products of 16 bits.
  static constexpr int kDotVectors = RUY_LIKE_NEON_64 ? 20 : 8;

  // ## A whole vector of elements, widened to 16 bits where the name says so
  static RUY_LIKE_ALWAYS_INLINE Int Load(const void* p) {
    return vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int8_t* p) {
    return vreinterpretq_s32_s16(vmovl_s8(vld1_s8(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const uint8_t* p) {
    return vreinterpretq_s32_u16(vmovl_u8(vld1_u8(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int16_t* p) {
    return Load(p);
  }

  // ## The first n elements, n less than a whole vector; the others are 0
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirst(const void* p, int n) {
    alignas(16) uint8_t padded[16] = {};
    const uint8_t* src = static_cast<const uint8_t*>(p);
    uint8_t* dst = padded;
    if (n & 8) CopyAndAdvance<8>(&dst, &src);
    if (n & 4) CopyAndAdvance<4>(&dst, &src);
    if (n & 2) CopyAndAdvance<2>(&dst, &src);
    if (n & 1) *dst = *src;
    return Load(padded);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const int8_t* p, int n) {
    return WidenBytes<0>(LoadFirst(p, n));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const uint8_t* p, int n) {
    return vreinterpretq_s32_u16(
        vmovl_u8(vget_low_u8(vreinterpretq_u8_s32(LoadFirst(p, n)))));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const int16_t* p, int n) {
    return LoadFirst(p, 2 * n);
  }

  // ## Interleaving along depth

  // From four elements of 16 rows of bytes: x[i] gets the first two of
  // rows 4i to 4i + 3, then their last two.
  static RUY_LIKE_ALWAYS_INLINE void InterleaveDepth(Int (&x)[4]) {
    ZipFour<Zip8, Zip64>(x);
  }
  // A column's elements of these positions, for all lanes.
  static RUY_LIKE_ALWAYS_INLINE Int SetDepth(int32_t elements) {
    return vreinterpretq_s32_s16(
        vcombine_s16(vdup_n_s16(static_cast<int16_t>(elements)),
                     vdup_n_s16(static_cast<int16_t>(elements >> 16))));
  }

  // Makes the compiler hold an accumulator in a register at this point of a
  // loop: without, gcc 12 multiplies all of a step first and adds up in one
  // chain, 6.4 multiply-adds a cycle instead of 7.9 (model of Neoverse N1).
  template <typename Vector>
  static RUY_LIKE_ALWAYS_INLINE void HoldInRegister(Vector& x) {
    asm("" : "+w"(x));
  }
  static RUY_LIKE_ALWAYS_INLINE void HoldLoaded(Int&) {}

  // Writes the sums of the 32-bit lanes of four vectors.
  static RUY_LIKE_ALWAYS_INLINE void StoreLaneSums(int32_t* dst, Int a, Int b,
                                                   Int c, Int d) {
    vst1q_s32(dst, LaneSums(a, b, c, d));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreLaneSums(float* dst, Float a, Float b,
                                                   Float c, Float d) {
    vst1q_f32(dst, vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
  }

 private:
  template <int kBytes>
  static RUY_LIKE_ALWAYS_INLINE void CopyAndAdvance(uint8_t** dst,
                                                    const uint8_t** src) {
    __builtin_memcpy(*dst, *src, kBytes);
    *dst += kBytes;
    *src += kBytes;
  }
};

// The same where a multiply-add is one instruction. HoldInRegister() does
// nothing: with it gcc 12 copies loaded vectors, 2 of a step's 24 instructions.
struct NarrowSimdNeonDot : NarrowSimdNeon {
  template <typename Vector>
  static RUY_LIKE_ALWAYS_INLINE void HoldInRegister(Vector&) {}
  // x[i] gets all four elements of row 4i, then of row 4i + 1, ...
  static RUY_LIKE_ALWAYS_INLINE void InterleaveDepth(Int (&x)[4]) {
    ZipFour<Zip8, Zip16>(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int SetDepth(int32_t elements) {
    return Set(elements);
  }
};

// Both sides int8, or both uint8: Dot::Bytes(acc, lhs, rhs) is overloaded by
// the type of its null pointer and exact modulo 2^32.
template <class V, class Dot, typename Element>
struct NarrowBytesOp : NarrowQuads<V> {
  typedef int32x4_t Vector;
  typedef Element Lhs;
  typedef Element Rhs;
  static constexpr Scalar kLhsScalar = internal::ScalarOf<Element>();
  static constexpr Scalar kRhsScalar = internal::ScalarOf<Element>();
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Bytes(acc, lhs, rhs, static_cast<const Element*>(nullptr));
  }
};

// Multiplications that all Arm paths have.
struct NeonDots {
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Pairs(int32x4_t acc, int32x4_t a,
                                                int32x4_t b) {
    const int16x8_t x = vreinterpretq_s16_s32(a);
    const int16x8_t y = vreinterpretq_s16_s32(b);
    acc = vmlal_s16(acc, vget_low_s16(x), vget_low_s16(y));
    return vmlal_high_s16(acc, x, y);
  }
  // Sums of two products do not fit 16 bits: (-128) * (-128) and 255 * 255.
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Bytes(int32x4_t acc, int32x4_t a,
                                                int32x4_t b, const int8_t*) {
    const int8x16_t x = vreinterpretq_s8_s32(a);
    const int8x16_t y = vreinterpretq_s8_s32(b);
    acc = vpadalq_s16(acc, vmull_s8(vget_low_s8(x), vget_low_s8(y)));
    return vpadalq_s16(acc, vmull_high_s8(x, y));
  }
  static RUY_LIKE_ALWAYS_INLINE int32x4_t Bytes(int32x4_t acc, int32x4_t a,
                                                int32x4_t b, const uint8_t*) {
    const uint8x16_t x = vreinterpretq_u8_s32(a);
    const uint8x16_t y = vreinterpretq_u8_s32(b);
    uint32x4_t sum = vreinterpretq_u32_s32(acc);
    sum = vpadalq_u16(sum, vmull_u8(vget_low_u8(x), vget_low_u8(y)));
    return vreinterpretq_s32_u32(vpadalq_u16(sum, vmull_high_u8(x, y)));
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_NEON_H_
