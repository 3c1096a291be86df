// Back-end: what the narrow kernels need of 256-bit SIMD beyond Simd256.
//
// Included by the per-ISA files built with AVX2 and FMA. It has the members of
// NarrowSimd512 (narrow_simd_avx512.h), with the same meaning; what AVX2 lacks,
// masked loads of bytes, is made here.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_AVX2_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_AVX2_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/simd/loops.h"
#include "ruy_like/kernels/simd/simd_avx2.h"
#include "ruy_like/kernels/simd/x86_intrinsics.h"

namespace ruy_like {
namespace kernels {
namespace {

struct NarrowSimd256 : Simd256 {
  typedef Simd256 Base;

  // Accumulators of a tile of dot products: 12 of 16 registers, the others are
  // for operands.
  static constexpr int kDotVectors = 12;

  // ## A whole vector of elements, widened to 16 bits where the name says so
  static RUY_LIKE_ALWAYS_INLINE Int Load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int8_t* p) {
    return _mm256_cvtepi8_epi16(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const uint8_t* p) {
    return _mm256_cvtepu8_epi16(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int16_t* p) {
    return Load(p);
  }

  // ## The first n elements, n less than a whole vector; the others are 0
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirst(const void* p, int n) {
    alignas(32) char padded[32] = {};
    CopyLessThan32(padded, static_cast<const char*>(p), n);
    return Load(padded);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const int8_t* p, int n) {
    return _mm256_cvtepi8_epi16(_mm256_castsi256_si128(LoadFirst(p, n)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const uint8_t* p, int n) {
    return _mm256_cvtepu8_epi16(_mm256_castsi256_si128(LoadFirst(p, n)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const int16_t* p, int n) {
    return LoadFirst(p, 2 * n);
  }

  // ## Floats of kLanes rows, `stride` bytes apart, to one row per lane
  // Levels that are loaded together: half of the registers.
  static constexpr int kRowLevels = 8;

  // Four levels of rows 0 and 4.
  static RUY_LIKE_ALWAYS_INLINE Float LoadFourLevels(const char* p,
                                                     ptrdiff_t stride) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(LoadFour(p)),
                                LoadFour(p + 4 * stride), 1);
  }

  // Makes the compiler hold an accumulator in a register at this point of a
  // loop. GCC 12 otherwise shuttles each of them through a second register or
  // the stack in every step, which halves the speed.
  template <typename Vector>
  static RUY_LIKE_ALWAYS_INLINE void HoldInRegister(Vector& x) {
    asm("" : "+x"(x));
  }

  // Keeps the compiler from loading a vector anew for each use.
  static RUY_LIKE_ALWAYS_INLINE void HoldLoaded(Int& x) { HoldInRegister(x); }

  // Writes the sums of the 32-bit lanes of four vectors.
  static RUY_LIKE_ALWAYS_INLINE void StoreLaneSums(int32_t* dst, Int a, Int b,
                                                   Int c, Int d) {
    const Int abcd = SumsInParts(a, b, c, d);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst),
                     _mm_add_epi32(_mm256_castsi256_si128(abcd),
                                   _mm256_extracti128_si256(abcd, 1)));
  }

 private:
  static RUY_LIKE_ALWAYS_INLINE __m128 LoadFour(const char* p) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(p));
  }
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
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_AVX2_H_
