// Back-end: the 512-bit SIMD trait that kernels and epilogue are templates of.
//
// Included by the per-ISA files built with AVX-512 F/BW/DQ/VL. It names the
// operations that those templates need and nothing else: no policy, no loops.
// simd_avx2.h has the same members for 256 bits. Everything is internal to the
// including translation unit.
#ifndef RUY_LIKE_KERNELS_SIMD_SIMD_AVX512_H_
#define RUY_LIKE_KERNELS_SIMD_SIMD_AVX512_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/simd/always_inline.h"
#include "ruy_like/kernels/simd/x86_intrinsics.h"

namespace ruy_like {
namespace kernels {
namespace {

struct Simd512 {
  static constexpr int kLanes = 16;  // 32-bit lanes
  // Whether tiles run beside the epilogue of the one before: panel_epilogue.h.
  static constexpr bool kInterleavesEpilogue = true;
  // Whether four vectors as bytes lie in their order, unpermuted
  // (StoreBytes()).
  static constexpr bool kBytesInOrder = false;
  typedef __m512i Int;
  typedef __m512 Float;
  typedef __mmask16 Mask;

  // The first n lanes, 0 <= n <= kLanes.
  static RUY_LIKE_ALWAYS_INLINE Mask FirstLanes(int n) {
    return static_cast<Mask>((1u << n) - 1);
  }

  // ## 32-bit integers
  static RUY_LIKE_ALWAYS_INLINE Int Zero() { return _mm512_setzero_si512(); }
  static RUY_LIKE_ALWAYS_INLINE Int Set(int32_t x) {
    return _mm512_set1_epi32(x);
  }
  // `p` is aligned to the vector.
  static RUY_LIKE_ALWAYS_INLINE Int LoadAligned(const int32_t* p) {
    return _mm512_load_si512(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(int32_t* p, Int x) {
    _mm512_store_si512(p, x);
  }
  // x, which the compiler is not to read from memory once more instead.
  static RUY_LIKE_ALWAYS_INLINE Int InRegister(Int x) {
    __asm__("" : "+v"(x));
    return x;
  }
  // Reads the masked lanes alone, the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadMasked(const int32_t* p, Mask mask) {
    return _mm512_maskz_loadu_epi32(mask, p);
  }
  // 2 * kLanes int8 as int16; `p` is aligned to half a vector.
  static RUY_LIKE_ALWAYS_INLINE Int LoadWidened(const int8_t* p) {
    return _mm512_cvtepi8_epi16(
        _mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Add(Int a, Int b) {
    return _mm512_add_epi32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Sub(Int a, Int b) {
    return _mm512_sub_epi32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Mul(Int a, Int b) {
    return _mm512_mullo_epi32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Min(Int a, Int b) {
    return _mm512_min_epi32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Max(Int a, Int b) {
    return _mm512_max_epi32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int ShiftRightArith(Int x, Int counts) {
    return _mm512_srav_epi32(x, counts);
  }
  static RUY_LIKE_ALWAYS_INLINE Int ShiftLeft(Int x, Int counts) {
    return _mm512_sllv_epi32(x, counts);
  }

  // ## 64-bit lanes, made of the even or the odd 32-bit lanes
  // Moves the odd lanes to the even ones; the odd lanes are then anything.
  static RUY_LIKE_ALWAYS_INLINE Int OddToEven(Int x) {
    return _mm512_shuffle_epi32(x, _MM_PERM_DDBB);
  }
  // The odd lanes, zero-extended to 64 bits.
  static RUY_LIKE_ALWAYS_INLINE Int ZeroExtendOdd(Int x) {
    return _mm512_srli_epi64(x, 32);
  }
  // The even lanes, zero-extended to 64 bits.
  static RUY_LIKE_ALWAYS_INLINE Int ZeroExtendEven(Int x) {
    return _mm512_maskz_mov_epi32(0x5555, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int MulEven(Int a, Int b) {
    return _mm512_mul_epi32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Set64(int64_t x) {
    return _mm512_set1_epi64(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Add64(Int a, Int b) {
    return _mm512_add_epi64(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int ShiftLeft64(Int x, Int counts) {
    return _mm512_sllv_epi64(x, counts);
  }
  static RUY_LIKE_ALWAYS_INLINE Int ShiftRightArith64(Int x, Int counts) {
    return _mm512_srav_epi64(x, counts);
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt32(Int x) {
    return _mm512_max_epi64(_mm512_min_epi64(x, Set64(INT32_MAX)),
                            Set64(INT32_MIN));
  }
  // 32-bit lanes from the high (low) halves of the even lanes' and the odd
  // lanes' 64-bit values.
  static RUY_LIKE_ALWAYS_INLINE Int InterleaveHigh(Int even, Int odd) {
    return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
  }
  static RUY_LIKE_ALWAYS_INLINE Int InterleaveLow(Int even, Int odd) {
    return _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA);
  }

  // ## Four vectors of 32-bit values to one of bytes, in 128-bit parts
  static RUY_LIKE_ALWAYS_INLINE Int Set16(int16_t x) {
    return _mm512_set1_epi16(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Set8(int8_t x) {
    return _mm512_set1_epi8(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt16(Int a, Int b) {
    return _mm512_packs_epi32(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int AddSaturated16(Int a, Int b) {
    return _mm512_adds_epi16(a, b);
  }
  // 16-bit values to bytes of the bounds' type, clamped.
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, int8_t low,
                                                 int8_t high) {
    return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(a, b), Set8(low)),
                           Set8(high));
  }
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, uint8_t low,
                                                 uint8_t high) {
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(a, b),
                                           Set8(static_cast<int8_t>(low))),
                           Set8(static_cast<int8_t>(high)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt8(Int a, Int b) {
    return _mm512_packs_epi16(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Halve16(Int x) {
    return _mm512_srai_epi16(x, 1);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Min8(Int a, Int b) {
    return _mm512_min_epi8(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Max8(Int a, Int b) {
    return _mm512_max_epi8(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Xor(Int a, Int b) {
    return _mm512_xor_si512(a, b);
  }
  // Dwords in order of row quarter and vector, to order of vector and row.
  static RUY_LIKE_ALWAYS_INLINE Int GroupColumns(Int bytes) {
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
        bytes);
  }
  // The first n bytes of each half (quarter).
  static RUY_LIKE_ALWAYS_INLINE void StoreHalves(int8_t* a, int8_t* b, Int x,
                                                 int n) {
    const __m256i low = _mm512_castsi512_si256(x);
    const __m256i high = _mm512_extracti64x4_epi64(x, 1);
    if (n == 2 * kLanes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(a), low);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(b), high);
    } else {
      const __mmask32 mask = (static_cast<__mmask32>(1) << n) - 1;
      _mm256_mask_storeu_epi8(a, mask, low);
      _mm256_mask_storeu_epi8(b, mask, high);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreQuarters(int8_t* a, int8_t* b,
                                                   int8_t* c, int8_t* d, Int x,
                                                   int n) {
    const __m128i x0 = _mm512_castsi512_si128(x);
    const __m128i x1 = _mm512_extracti32x4_epi32(x, 1);
    const __m128i x2 = _mm512_extracti32x4_epi32(x, 2);
    const __m128i x3 = _mm512_extracti32x4_epi32(x, 3);
    if (n == kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(a), x0);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(b), x1);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(c), x2);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(d), x3);
    } else {
      const Mask mask = FirstLanes(n);
      _mm_mask_storeu_epi8(a, mask, x0);
      _mm_mask_storeu_epi8(b, mask, x1);
      _mm_mask_storeu_epi8(c, mask, x2);
      _mm_mask_storeu_epi8(d, mask, x3);
    }
  }

  // ## Stores of the first n lanes, truncated to the destination's type
  static RUY_LIKE_ALWAYS_INLINE void Store(int8_t* dst, Int x, int n) {
    const __m128i narrow = _mm512_maskz_cvtepi32_epi8(0xffff, x);
    if (n == kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), narrow);
    } else {
      _mm_mask_storeu_epi8(dst, FirstLanes(n), narrow);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(uint8_t* dst, Int x, int n) {
    Store(reinterpret_cast<int8_t*>(dst), x, n);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int16_t* dst, Int x, int n) {
    const __m256i narrow = _mm512_maskz_cvtepi32_epi16(0xffff, x);
    if (n == kLanes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), narrow);
    } else {
      _mm256_mask_storeu_epi16(dst, FirstLanes(n), narrow);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int32_t* dst, Int x, int n) {
    if (n == kLanes) {
      _mm512_storeu_si512(dst, x);
    } else {
      _mm512_mask_storeu_epi32(dst, FirstLanes(n), x);
    }
  }

  // ## Floats
  static RUY_LIKE_ALWAYS_INLINE Float SetFloat(float x) {
    return _mm512_set1_ps(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadAligned(const float* p) {
    return _mm512_load_ps(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(float* p, Float x) {
    _mm512_store_ps(p, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadMasked(const float* p, Mask mask) {
    return _mm512_maskz_loadu_ps(mask, p);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AddFloat(Float a, Float b) {
    return _mm512_add_ps(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulFloat(Float a, Float b) {
    return _mm512_mul_ps(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  // Both keep `x` when it is a NaN: the instructions return their second
  // operand then.
  static RUY_LIKE_ALWAYS_INLINE Float AtLeast(Float bound, Float x) {
    return _mm512_max_ps(bound, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtMost(Float bound, Float x) {
    return _mm512_min_ps(bound, x);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(float* dst, Float x, int n) {
    if (n == kLanes) {
      _mm512_storeu_ps(dst, x);
    } else {
      _mm512_mask_storeu_ps(dst, FirstLanes(n), x);
    }
  }
  // The values, rounded.
  static RUY_LIKE_ALWAYS_INLINE Float ToFloat(Int x) {
    return _mm512_cvtepi32_ps(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AsFloat(Int x) {
    return _mm512_castsi512_ps(x);
  }

  // Transposes the kLanes x kLanes matrix of 32-bit elements in `m`.
  static RUY_LIKE_ALWAYS_INLINE void Transpose(Int* m) {
    Int t[kLanes];
    // Within 128-bit quarters: 4x4 blocks.
    for (int i = 0; i < kLanes; i += 4) {
      const Int a = _mm512_unpacklo_epi32(m[i], m[i + 1]);
      const Int b = _mm512_unpackhi_epi32(m[i], m[i + 1]);
      const Int c = _mm512_unpacklo_epi32(m[i + 2], m[i + 3]);
      const Int d = _mm512_unpackhi_epi32(m[i + 2], m[i + 3]);
      t[i] = _mm512_unpacklo_epi64(a, c);
      t[i + 1] = _mm512_unpackhi_epi64(a, c);
      t[i + 2] = _mm512_unpacklo_epi64(b, d);
      t[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    // The 4x4 matrix of quarters.
    for (int i = 0; i < 4; ++i) {
      const Int a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88);
      const Int b = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
      const Int c = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
      const Int d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
      m[i] = _mm512_shuffle_i32x4(a, c, 0x88);
      m[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
      m[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
      m[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_SIMD_SIMD_AVX512_H_
