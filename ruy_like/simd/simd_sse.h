// Back-end: the 128-bit SIMD trait of x86 processors with AVX but without AVX2
// that kernels and epilogue are templates of.
//
// Included by kernels/avx.cc and pack/avx.cc, and for a few members by the
// traits of wider vectors. AVX has 256 bits for floats alone, so that integers
// take SSE4.1's instructions, in AVX's encoding with three operands.
// simd_vectors.h has all but what is an instruction here that the compiler does
// not find. Shifts take one count for all lanes, and there is no fused
// multiply-add: a product is rounded, then the sum.
#ifndef RUY_LIKE_SIMD_SIMD_SSE_H_
#define RUY_LIKE_SIMD_SIMD_SSE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_vectors.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

struct SimdSse : SimdVectors<SimdSse> {
#define RUY_LIKE_SSE(Name, intrinsic)                          \
  static RUY_LIKE_ALWAYS_INLINE Int Name(Int a, Int b) {       \
    return As<Int>(intrinsic(As<__m128i>(a), As<__m128i>(b))); \
  }
  RUY_LIKE_SSE(Min, _mm_min_epi32)
  RUY_LIKE_SSE(Max, _mm_max_epi32)
  RUY_LIKE_SSE(Min8, _mm_min_epi8)
  RUY_LIKE_SSE(Max8, _mm_max_epi8)
  RUY_LIKE_SSE(MultiplyWords, _mm_madd_epi16)
  RUY_LIKE_SSE(SaturateToInt16, _mm_packs_epi32)
  RUY_LIKE_SSE(AddSaturated16, _mm_adds_epi16)
  RUY_LIKE_SSE(SaturateToInt8, _mm_packs_epi16)
#undef RUY_LIKE_SSE
  // At any alignment, which aligned loads are not.
  static RUY_LIKE_ALWAYS_INLINE Int LoadMasked(const int32_t* p, Mask n) {
    return n == kLanes ? LoadBytes(p) : LoadLanes(p, n);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadMasked(const float* p, Mask n) {
    return n == kLanes ? LoadVector(p) : AsFloat(LoadLanes(p, n));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SumBytePairs(Int x) {
    return As<Int>(_mm_maddubs_epi16(_mm_set1_epi8(1), As<__m128i>(x)));
  }
  using SimdVectors::ClampToBytes;
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, uint8_t low,
                                                 uint8_t high) {
    const __m128i bytes = _mm_packus_epi16(As<__m128i>(a), As<__m128i>(b));
    return As<Int>(
        _mm_min_epu8(_mm_max_epu8(bytes, _mm_set1_epi8(static_cast<char>(low))),
                     _mm_set1_epi8(static_cast<char>(high))));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int8_t* p) {
    return As<Int>(_mm_cvtepi8_epi16(LoadHalf(p)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadQuarters(const char* p,
                                                 ptrdiff_t stride) {
    return Int{LoadQuarter(p), LoadQuarter(p + stride),
               LoadQuarter(p + 2 * stride), LoadQuarter(p + 3 * stride)};
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadLow(const char* p) {
    return As<Int>(LoadHalf(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    return a * b + c;  // two roundings: paths are built with -ffp-contract=off
  }
  // The high 32 bits of products.
  static RUY_LIKE_ALWAYS_INLINE Int MultiplyHigh(Int a, Int b) {
    const Products products(a, b);
    return Interleave(_mm_srli_epi64(products.even, 32), products.odd);
  }
  // Arithmetic shifts by each lane's count, 0 to 29; others give any value.
  struct LaneShifts {
    explicit RUY_LIKE_ALWAYS_INLINE LaneShifts(Int shifts)
        : factors{Factor(shifts[0]), Factor(shifts[1]), Factor(shifts[2]),
                  Factor(shifts[3])},
          first(_mm_cvtsi32_si128(shifts[0])),
          are_equal(shifts[0] == shifts[1] && shifts[0] == shifts[2] &&
                    shifts[0] == shifts[3]) {}
    RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const {
      if (are_equal) return As<Int>(_mm_sra_epi32(As<__m128i>(x), first));
      // x * 2^(30 - shift) / 2^30.
      const Products products(x, factors);
      return Interleave(_mm_srli_epi64(products.even, 30),
                        _mm_slli_epi64(products.odd, 2));
    }
    static RUY_LIKE_ALWAYS_INLINE int32_t Factor(int32_t shift) {
      return 1 << ((30 - shift) & 31);
    }
    const Int factors;
    const __m128i first;
    const bool are_equal;
  };

 private:
  // 64-bit products of the even and of the odd lanes.
  struct Products {
    RUY_LIKE_ALWAYS_INLINE Products(Int a, Int b)
        : even(_mm_mul_epi32(As<__m128i>(a), As<__m128i>(b))),
          odd(_mm_mul_epi32(_mm_srli_epi64(As<__m128i>(a), 32),
                            _mm_srli_epi64(As<__m128i>(b), 32))) {}
    const __m128i even, odd;
  };
  // The lower halves of `even`, the upper ones of `odd`.
  static RUY_LIKE_ALWAYS_INLINE Int Interleave(__m128i even, __m128i odd) {
    return As<Int>(_mm_blend_epi16(even, odd, 0xcc));
  }
  static RUY_LIKE_ALWAYS_INLINE __m128i LoadHalf(const void* p) {
    return _mm_loadl_epi64(static_cast<const __m128i*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE int32_t LoadQuarter(const char* p) {
    int32_t quarter;
    __builtin_memcpy(&quarter, p, sizeof(quarter));
    return quarter;
  }
};
typedef SimdSse SimdOfPath;

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_SSE_H_
