// Back-end: the 256-bit SIMD trait that kernels and epilogue are templates of.
//
// Included by the per-ISA files built with AVX2 and FMA. It has the members of
// Simd512 (simd_avx512.h), with the same meaning; what AVX2 lacks (masked byte
// stores, 64-bit arithmetic shifts and minima) is made here, so that no
// template needs to know.
#ifndef RUY_LIKE_SIMD_SIMD_AVX2_H_
#define RUY_LIKE_SIMD_SIMD_AVX2_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_sse.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

struct Simd256 {
  static constexpr int kLanes = 8;  // 32-bit lanes
  typedef __m256i Int;
  typedef __m256 Float;
  typedef __m256i Mask;
  typedef Simd256 Base;  // the trait of narrow kernels' epilogues

  // Accumulators of a tile of dot products: 12 of 16 registers, the others are
  // for operands.
  static constexpr int kDotVectors = 12;

  static RUY_LIKE_ALWAYS_INLINE Mask FirstLanes(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

  // The same 16 bytes in each half.
  static RUY_LIKE_ALWAYS_INLINE Int LoadEach16(const void* p) {
    return _mm256_broadcastsi128_si256(
        _mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int HighIfNegative8(Int x, Int low, Int high) {
    return _mm256_blendv_epi8(low, high, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int NegateIfNegative8(Int signs, Int x) {
    return _mm256_sign_epi8(x, signs);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo32(const uint8_t* p) {
    return _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }

#define RUY_LIKE_MM(name) _mm256_##name
#include "ruy_like/simd/simd_x86_members.inc"
#undef RUY_LIKE_MM

  // ## Loads
  static RUY_LIKE_ALWAYS_INLINE Int LoadMasked(const int32_t* p, Mask mask) {
    return _mm256_maskload_epi32(p, mask);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadMasked(const float* p, Mask mask) {
    return _mm256_maskload_ps(p, mask);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE __m128i LoadHalf(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirst(const void* p, int n) {
    alignas(32) char padded[32] = {};
    CopyLessThan32(padded, static_cast<const char*>(p), n);
    return Load(padded);
  }
  static RUY_LIKE_ALWAYS_INLINE __m128i LoadFirstOfHalf(const void* p, int n) {
    return _mm256_castsi256_si128(LoadFirst(p, n));
  }
  // Keeps the compiler from loading a vector anew for each use.
  static RUY_LIKE_ALWAYS_INLINE void HoldLoaded(Int& x) { HoldInRegister(x); }

  // ## 32-bit words of kLanes rows, `stride` bytes apart, to one row per lane
  // Words of a row that are loaded together.
  static constexpr int kRowWords = 4;
  // Four words of rows 0 and 4.
  static RUY_LIKE_ALWAYS_INLINE Float LoadFourWords(const char* p,
                                                    ptrdiff_t stride) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(LoadFour(p)),
                                LoadFour(p + 4 * stride), 1);
  }

  static RUY_LIKE_ALWAYS_INLINE Int SwapWords(Int x) {
#ifdef __AVX512VL__
    return _mm256_rol_epi32(x, 16);
#else
    return _mm256_or_si256(_mm256_slli_epi32(x, 16), _mm256_srli_epi32(x, 16));
#endif
  }
  static RUY_LIKE_ALWAYS_INLINE Int EvenWordsFirst(Int x) {
    // 0, 2, 4, 6, 1, 3, 5, 7 of each 128 bits.
    x = _mm256_shuffle_epi8(
        x, _mm256_broadcastsi128_si256(_mm_setr_epi8(
               0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)));
    return _mm256_permute4x64_epi64(x, 0xd8);
  }
  static RUY_LIKE_ALWAYS_INLINE void SplitWords(Int x, __m128i* low,
                                                __m128i* high) {
    x = EvenWordsFirst(x);
    *low = _mm256_castsi256_si128(x);
    *high = _mm256_extracti128_si256(x, 1);
  }

  // ## 64-bit lanes, made of the even or the odd 32-bit lanes
  static RUY_LIKE_ALWAYS_INLINE Int OddToEven(Int x) {
    return _mm256_shuffle_epi32(x, 0xf5);
  }
  static RUY_LIKE_ALWAYS_INLINE Int ZeroExtendEven(Int x) {
    return _mm256_blend_epi32(Zero(), x, 0x55);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Set64(int64_t x) {
    return _mm256_set1_epi64x(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int ShiftRightArith64(Int x, Int counts) {
    // A logical shift brings the sign bit to 63 - count: extend it from there.
    const Int sign = _mm256_srlv_epi64(Set64(INT64_MIN), counts);
    return _mm256_sub_epi64(Xor(_mm256_srlv_epi64(x, counts), sign), sign);
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt32(Int x) {
    const Int high = Set64(INT32_MAX);
    const Int low = Set64(INT32_MIN);
    x = _mm256_blendv_epi8(x, high, _mm256_cmpgt_epi64(x, high));
    return _mm256_blendv_epi8(x, low, _mm256_cmpgt_epi64(low, x));
  }
  static RUY_LIKE_ALWAYS_INLINE Int InterleaveHigh(Int even, Int odd) {
    return _mm256_blend_epi32(ZeroExtendOdd(even), odd, 0xaa);
  }
  static RUY_LIKE_ALWAYS_INLINE Int InterleaveLow(Int even, Int odd) {
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
  }

  // ## Four vectors of 32-bit values to one of bytes, in 128-bit parts
  // Reorders dwords from (row half, vector) to (vector, row half).
  static RUY_LIKE_ALWAYS_INLINE Int JoinColumns(Int bytes) {
    return _mm256_permutevar8x32_epi32(
        bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreHalves(int8_t* a, int8_t* b, Int x,
                                                 int n) {
    const __m128i low = _mm256_castsi256_si128(x);
    const __m128i high = _mm256_extracti128_si256(x, 1);
    if (n == 2 * kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(a), low);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(b), high);
    } else {
      StoreBytes(a, low, n);
      StoreBytes(b, high, n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreQuarters(int8_t* a, int8_t* b,
                                                   int8_t* c, int8_t* d, Int x,
                                                   int n) {
    const __m128i low = _mm256_castsi256_si128(x);
    const __m128i high = _mm256_extracti128_si256(x, 1);
    if (n == kLanes) {
      StoreTwo(a, b, low);
      StoreTwo(c, d, high);
    } else {
      StoreBytes(a, low, n);
      StoreBytes(b, _mm_unpackhi_epi64(low, low), n);
      StoreBytes(c, high, n);
      StoreBytes(d, _mm_unpackhi_epi64(high, high), n);
    }
  }

  // ## Stores of the first n lanes, truncated to the destination's type
  static RUY_LIKE_ALWAYS_INLINE void Store(int8_t* dst, Int x, int n) {
    const Int bytes = _mm256_shuffle_epi8(
        x, _mm256_broadcastsi128_si256(_mm_setr_epi8(
               0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)));
    const __m128i narrow = _mm_unpacklo_epi32(
        _mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
    if (n == kLanes) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(dst), narrow);
    } else {
      StoreBytes(dst, narrow, n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int16_t* dst, Int x, int n) {
    const Int words = _mm256_shuffle_epi8(
        x, _mm256_broadcastsi128_si256(_mm_setr_epi8(
               0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1)));
    const __m128i narrow = _mm_unpacklo_epi64(
        _mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    if (n == kLanes) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), narrow);
    } else {
      StoreBytes(dst, narrow, 2 * n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int32_t* dst, Int x, int n) {
    if (n == kLanes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), x);
    } else {
      _mm256_maskstore_epi32(dst, FirstLanes(n), x);
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void Store(float* dst, Float x, int n) {
    if (n == kLanes) {
      _mm256_storeu_ps(dst, x);
    } else {
      _mm256_maskstore_ps(dst, FirstLanes(n), x);
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void StoreLaneSums(int32_t* dst, Int a, Int b,
                                                   Int c, Int d) {
    const Int abcd = SumsInParts(a, b, c, d);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst),
                     _mm_add_epi32(_mm256_castsi256_si128(abcd),
                                   _mm256_extracti128_si256(abcd, 1)));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreLaneSums(float* dst, Float a, Float b,
                                                   Float c, Float d) {
    const Float abcd = SumsInParts(a, b, c, d);
    _mm_storeu_ps(dst, _mm_add_ps(_mm256_castps256_ps128(abcd),
                                  _mm256_extractf128_ps(abcd, 1)));
  }

  static RUY_LIKE_ALWAYS_INLINE void Transpose(Int* m) {
    for (int i = 0; i < kLanes; i += 4) TransposeParts(m + i);
    // The 2x2 matrix of halves.
    for (int i = 0; i < 4; ++i) {
      const Int low = _mm256_permute2x128_si256(m[i], m[i + 4], 0x20);
      m[i + 4] = _mm256_permute2x128_si256(m[i], m[i + 4], 0x31);
      m[i] = low;
    }
  }

 private:
  // Two copies that overlap cover any n down to half of their size.
  static RUY_LIKE_ALWAYS_INLINE void CopyLessThan32(char* dst, const char* src,
                                                    int n) {
    if (n >= 16) return CopyEnds<16>(dst, src, n);
    if (n >= 8) return CopyEnds<8>(dst, src, n);
    if (n >= 4) return CopyEnds<4>(dst, src, n);
    if (n >= 2) return CopyEnds<2>(dst, src, n);
    if (n == 1) *dst = *src;
  }
  template <int kBytes>
  static RUY_LIKE_ALWAYS_INLINE void CopyEnds(char* dst, const char* src,
                                              int n) {
    char last[kBytes];
    __builtin_memcpy(last, src + n - kBytes, kBytes);
    __builtin_memcpy(dst, src, kBytes);
    __builtin_memcpy(dst + n - kBytes, last, kBytes);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreTwo(void* low, void* high,
                                              __m128i x) {
    _mm_storel_epi64(static_cast<__m128i*>(low), x);
    // Compiles to one store of the upper half; the intrinsic for it wants an
    // aligned double.
    const double upper = _mm_castsi128_pd(x)[1];
    __builtin_memcpy(high, &upper, sizeof(upper));
  }
  // Stores the first n < 16 bytes; AVX2 has no masked byte store.
  static RUY_LIKE_ALWAYS_INLINE void StoreBytes(void* dst, __m128i x, int n) {
    unsigned char* p = static_cast<unsigned char*>(dst);
    if (n & 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), x);
      x = _mm_srli_si128(x, 8);
      p += 8;
    }
    StoreFew(p, static_cast<uint64_t>(_mm_cvtsi128_si64(x)), n);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_AVX2_H_
