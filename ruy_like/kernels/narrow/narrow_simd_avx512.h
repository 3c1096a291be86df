// Back-end: what the narrow kernels need of 512-bit SIMD beyond Simd512.
//
// Included by the per-ISA files built with AVX-512 F/BW/DQ/VL, for
// narrow_int.h and narrow_float.h: loads of an operand that lies where its
// owner left it, at any alignment and never past its end, and the sums across
// lanes that a product along depth ends with. narrow_simd_avx2.h has the same
// members for 256 bits.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_AVX512_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_AVX512_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/simd/loops.h"
#include "ruy_like/kernels/simd/simd_avx512.h"
#include "ruy_like/kernels/simd/x86_intrinsics.h"

namespace ruy_like {
namespace kernels {
namespace {

struct NarrowSimd512 : Simd512 {
  typedef Simd512 Base;

  // Accumulators of a tile of dot products: 20 of 32 registers, the others are
  // for operands.
  static constexpr int kDotVectors = 20;

  // ## A whole vector of elements, widened to 16 bits where the name says so
  static RUY_LIKE_ALWAYS_INLINE Int Load(const void* p) {
    return _mm512_loadu_si512(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int8_t* p) {
    return _mm512_cvtepi8_epi16(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const uint8_t* p) {
    return _mm512_cvtepu8_epi16(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int16_t* p) {
    return Load(p);
  }

  // ## The first n elements, n less than a whole vector; the others are 0
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirst(const void* p, int n) {
    return _mm512_maskz_loadu_epi8((uint64_t{1} << n) - 1, p);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const int8_t* p, int n) {
    return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8((1u << n) - 1, p));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const uint8_t* p, int n) {
    return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8((1u << n) - 1, p));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirstTo16(const int16_t* p, int n) {
    return LoadFirst(p, 2 * n);
  }

  // ## Floats of kLanes rows, `stride` bytes apart, to one row per lane
  // Levels that are loaded together: a cache line of each row, so that a line
  // is done with before others need its place in the L1 cache, where rows a
  // multiple of 4096 bytes apart all want the same one.
  static constexpr int kRowLevels = 16;

  // Four levels of rows 0, 4, 8 and 12. Insertions from memory need no shuffle
  // and leave 8 shuffles of the 16 that four whole vectors would take.
  static RUY_LIKE_ALWAYS_INLINE Float LoadFourLevels(const char* p,
                                                     ptrdiff_t stride) {
    Float x = _mm512_castps128_ps512(LoadFour(p));
    x = _mm512_insertf32x4(x, LoadFour(p + 4 * stride), 1);
    x = _mm512_insertf32x4(x, LoadFour(p + 8 * stride), 2);
    return _mm512_insertf32x4(x, LoadFour(p + 12 * stride), 3);
  }

  // Makes the compiler hold an accumulator in a register at this point of a
  // loop. GCC 12 otherwise shuttles each of them through a second register or
  // the stack in every step, which halves the speed.
  template <typename Vector>
  static RUY_LIKE_ALWAYS_INLINE void HoldInRegister(Vector& x) {
    asm("" : "+v"(x));
  }

  // Nothing: with 512 bits, loading a vector anew is the faster way.
  static RUY_LIKE_ALWAYS_INLINE void HoldLoaded(Int&) {}

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

 private:
  static RUY_LIKE_ALWAYS_INLINE __m128 LoadFour(const char* p) {
    return _mm_loadu_ps(reinterpret_cast<const float*>(p));
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_SIMD_AVX512_H_
