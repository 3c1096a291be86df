// Back-end: the 512-bit SIMD trait that kernels and epilogue are templates of.
//
// Included by the per-ISA files built with AVX-512 F/BW/DQ/VL. It names the
// operations that those templates need and nothing else: no policy, no loops.
// simd_avx2.h has the same members for 256 bits, except halves;
// simd_x86_members.inc has those that are the same word for word. Everything is
// internal to the including translation unit.
#ifndef RUY_LIKE_SIMD_SIMD_AVX512_H_
#define RUY_LIKE_SIMD_SIMD_AVX512_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_sse.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

struct Simd512 {
  static constexpr int kLanes = 16;  // 32-bit lanes
  typedef __m512i Int;
  typedef __m512 Float;
  typedef __mmask16 Mask;
  typedef Simd512 Base;  // the trait of narrow kernels' epilogues

  // Accumulators of a tile of dot products: 20 of 32 registers, the others are
  // for operands.
  static constexpr int kDotVectors = 20;

  // The first n lanes, 0 <= n <= kLanes.
  static RUY_LIKE_ALWAYS_INLINE Mask FirstLanes(int n) {
    return static_cast<Mask>((1u << n) - 1);
  }

  // The same 16 bytes in each quarter.
  static RUY_LIKE_ALWAYS_INLINE Int LoadEach16(const void* p) {
    return _mm512_broadcast_i32x4(
        _mm_loadu_si128(static_cast<const __m128i*>(p)));
  }
  // Bytes of `high` where those of x are negative.
  static RUY_LIKE_ALWAYS_INLINE Int HighIfNegative8(Int x, Int low, Int high) {
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high);
  }
  // Bytes of x, negated where those of `signs` are negative; any number where
  // they are 0.
  static RUY_LIKE_ALWAYS_INLINE Int NegateIfNegative8(Int signs, Int x) {
    return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(signs), Zero(), x);
  }
  // Bytes, widened to lanes.
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo32(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }

#define RUY_LIKE_MM(name) _mm512_##name
#include "ruy_like/simd/simd_x86_members.inc"
#undef RUY_LIKE_MM

  // ## Loads
  // Reads only the masked lanes; the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadMasked(const int32_t* p, Mask mask) {
    return _mm512_maskz_loadu_epi32(mask, p);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadMasked(const float* p, Mask mask) {
    return _mm512_maskz_loadu_ps(mask, p);
  }
  // Whole vectors and halves at any alignment, and the first n bytes, n less
  // than the whole; the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int Load(const void* p) {
    return _mm512_loadu_si512(p);
  }
  static RUY_LIKE_ALWAYS_INLINE __m256i LoadHalf(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirst(const void* p, int n) {
    return _mm512_maskz_loadu_epi8((uint64_t{1} << n) - 1, p);
  }
  static RUY_LIKE_ALWAYS_INLINE __m256i LoadFirstOfHalf(const void* p, int n) {
    return _mm256_maskz_loadu_epi8((1u << n) - 1, p);
  }
  // As LookUpVectors. VPERMI2B looks up in each half of the table: two times
  // two cycles, at most 16 bytes a cycle instead of 3. In assembly, since this
  // is compiled for processors without it, too.
  static ptrdiff_t LookUpPermuted(const uint8_t* table, const uint8_t* from,
                                  ptrdiff_t n, ptrdiff_t step, ptrdiff_t runs,
                                  uint8_t* to) {
    if (n < 64) return 0;
    const Int quarters[4] = {Load(table), Load(table + 64), Load(table + 128),
                             Load(table + 192)};
    const ptrdiff_t whole = n / 64 * 64;
    for (; runs > 0; --runs, from += step, to += step) {
      for (ptrdiff_t at = 0; at < whole; at += 64) {
        const Int x = Load(from + at);
        Int low = x, high = x;
        asm("vpermi2b %2, %1, %0"
            : "+v"(low)
            : "v"(quarters[0]), "v"(quarters[1]));
        asm("vpermi2b %2, %1, %0"
            : "+v"(high)
            : "v"(quarters[2]), "v"(quarters[3]));
        _mm512_storeu_si512(to + at, HighIfNegative8(x, low, high));
      }
    }
    return whole;
  }
  // ## Halves
  static RUY_LIKE_ALWAYS_INLINE __m256i LowHalf(Int x) {
    return _mm512_castsi512_si256(x);
  }
  static RUY_LIKE_ALWAYS_INLINE __m256 LowHalf(Float x) {
    return _mm512_castps512_ps256(x);
  }
  // The upper half is undefined.
  static RUY_LIKE_ALWAYS_INLINE Int WithLowHalf(__m256i x) {
    return _mm512_castsi256_si512(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float WithLowHalf(__m256 x) {
    return _mm512_castps256_ps512(x);
  }
  static RUY_LIKE_ALWAYS_INLINE __m256 MulAddFloat(__m256 a, __m256 b,
                                                   __m256 c) {
    return _mm256_fmadd_ps(a, b, c);
  }

  // Does nothing: with 512 bits loading a vector anew is faster.
  static RUY_LIKE_ALWAYS_INLINE void HoldLoaded(Int&) {}

  // ## 32-bit words of kLanes rows, `stride` bytes apart, to one row per lane
  // Words that are loaded together: a cache line of each row. Lines of rows a
  // multiple of 4096 bytes apart share one set of L1, so each must be used up
  // before others evict it.
  static constexpr int kRowWords = 16;
  // Four words of rows 0, 4, 8 and 12. Insertions from memory need no shuffle
  // and leave 8 shuffles of the 16 that four whole vectors would take.
  static RUY_LIKE_ALWAYS_INLINE Float LoadFourWords(const char* p,
                                                    ptrdiff_t stride) {
    Float x = _mm512_castps128_ps512(LoadFour(p));
    x = _mm512_insertf32x4(x, LoadFour(p + 4 * stride), 1);
    x = _mm512_insertf32x4(x, LoadFour(p + 8 * stride), 2);
    return _mm512_insertf32x4(x, LoadFour(p + 12 * stride), 3);
  }

  // Exchanges each lane's halves of 16 bits.
  static RUY_LIKE_ALWAYS_INLINE Int SwapWords(Int x) {
    return _mm512_rol_epi32(x, 16);
  }
  // The lower 16 bits of all lanes, then the upper ones.
  static RUY_LIKE_ALWAYS_INLINE Int EvenWordsFirst(Int x) {
    return _mm512_permutexvar_epi16(
        _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3,
                         1, 30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4,
                         2, 0),
        x);
  }
  static RUY_LIKE_ALWAYS_INLINE void SplitWords(Int x, __m256i* low,
                                                __m256i* high) {
    x = EvenWordsFirst(x);
    *low = _mm512_castsi512_si256(x);
    *high = _mm512_extracti64x4_epi64(x, 1);
  }

  // ## 64-bit lanes, made of the even or the odd 32-bit lanes
  // Moves the odd lanes to the even ones; the odd lanes are undefined.
  static RUY_LIKE_ALWAYS_INLINE Int OddToEven(Int x) {
    return _mm512_shuffle_epi32(x, _MM_PERM_DDBB);
  }
  // The even lanes, zero-extended to 64 bits.
  static RUY_LIKE_ALWAYS_INLINE Int ZeroExtendEven(Int x) {
    return _mm512_maskz_mov_epi32(0x5555, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Set64(int64_t x) {
    return _mm512_set1_epi64(x);
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
  // Reorders dwords from (row quarter, vector) to (vector, row quarter).
  static RUY_LIKE_ALWAYS_INLINE Int JoinColumns(Int bytes) {
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

  static RUY_LIKE_ALWAYS_INLINE void Store(float* dst, Float x, int n) {
    if (n == kLanes) {
      _mm512_storeu_ps(dst, x);
    } else {
      _mm512_mask_storeu_ps(dst, FirstLanes(n), x);
    }
  }

  // Writes the sums of the 32-bit lanes of four vectors.
  static RUY_LIKE_ALWAYS_INLINE void StoreLaneSums(int32_t* dst, Int a, Int b,
                                                   Int c, Int d) {
    const Int abcd = SumsInParts(a, b, c, d);
    const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(abcd),
                                          _mm512_extracti64x4_epi64(abcd, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst),
                     _mm_add_epi32(_mm256_castsi256_si128(half),
                                   _mm256_extracti128_si256(half, 1)));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreLaneSums(float* dst, Float a, Float b,
                                                   Float c, Float d) {
    const Float abcd = SumsInParts(a, b, c, d);
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(abcd),
                                      _mm512_extractf32x8_ps(abcd, 1));
    _mm_storeu_ps(dst, _mm_add_ps(_mm256_castps256_ps128(half),
                                  _mm256_extractf128_ps(half, 1)));
  }

  // Transposes the 4x4 matrix of 128-bit parts in `v`.
  static RUY_LIKE_ALWAYS_INLINE void TransposeLanes(Int v[4]) {
    const Int a = _mm512_shuffle_i32x4(v[0], v[1], 0x88);
    const Int b = _mm512_shuffle_i32x4(v[0], v[1], 0xdd);
    const Int c = _mm512_shuffle_i32x4(v[2], v[3], 0x88);
    const Int d = _mm512_shuffle_i32x4(v[2], v[3], 0xdd);
    v[0] = _mm512_shuffle_i32x4(a, c, 0x88);
    v[1] = _mm512_shuffle_i32x4(b, d, 0x88);
    v[2] = _mm512_shuffle_i32x4(a, c, 0xdd);
    v[3] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
  // Transposes the kLanes x kLanes matrix of 32-bit elements in `m`.
  static RUY_LIKE_ALWAYS_INLINE void Transpose(Int* m) {
    for (int i = 0; i < kLanes; i += 4) TransposeParts(m + i);
    for (int i = 0; i < 4; ++i) {
      Int lanes[4] = {m[i], m[i + 4], m[i + 8], m[i + 12]};
      TransposeLanes(lanes);
      for (int j = 0; j < 4; ++j) m[i + 4 * j] = lanes[j];
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_AVX512_H_
