// Back-end: the 128-bit SIMD trait of RISC-V's vector extension that kernels
// and epilogue are templates of.
//
// Included by kernels/rvv128.cc and pack/rvv128.cc. The extension's own vectors
// have a length that the processor chooses, of 128 bits or more; the compiler
// makes instructions for the first 128 bits of them. simd_vectors.h has all but
// what is said otherwise here.
#ifndef RUY_LIKE_SIMD_SIMD_RVV_H_
#define RUY_LIKE_SIMD_SIMD_RVV_H_

#include <stdint.h>

#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_vectors.h"

namespace ruy_like::kernels {
namespace {

struct SimdRvv : SimdVectors<SimdRvv> {
  // As the compiler wants them in order to find saturating narrowing (vnclip).
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt16(Int a, Int b) {
    typedef int32_t Int32x8 __attribute__((vector_size(32)));
    const Int32x8 x = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
    return As<Int>(__builtin_convertvector(
        Clamped<Int32x8, int32_t>(x, INT16_MIN, INT16_MAX), Int16x8));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt8(Int a, Int b) {
    return As<Int>(__builtin_convertvector(
        Clamped<Int16x16, int16_t>(Join(a, b), INT8_MIN, INT8_MAX), Int8x16));
  }
  static RUY_LIKE_ALWAYS_INLINE Int AddSaturated16(Int a, Int b) {
    return As<Int>(
        __builtin_elementwise_add_sat(As<Int16x8>(a), As<Int16x8>(b)));
  }
  using SimdVectors::ClampToBytes;
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, uint8_t low,
                                                 uint8_t high) {
    return As<Int>(__builtin_convertvector(
        Clamped<Int16x16, int16_t>(Join(a, b), low, high), Int8x16));
  }
  // The high 32 bits of products.
  static RUY_LIKE_ALWAYS_INLINE Int MultiplyHigh(Int a, Int b) {
    const Int64x4 products = __builtin_convertvector(a, Int64x4) *
                             __builtin_convertvector(b, Int64x4);
    return __builtin_convertvector(products >> 32, Int);
  }
  // Arithmetic shifts by each lane's count, 0 to 29; others give any value.
  struct LaneShifts {
    explicit RUY_LIKE_ALWAYS_INLINE LaneShifts(Int shifts)
        : counts(shifts & Set(31)) {}
    RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const { return x >> counts; }
    const Int counts;
  };
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    return __builtin_elementwise_fma(a, b, c);
  }

 private:
  typedef int16_t Int16x16 __attribute__((vector_size(32)));
  static RUY_LIKE_ALWAYS_INLINE Int16x16 Join(Int a, Int b) {
    return __builtin_shufflevector(As<Int16x8>(a), As<Int16x8>(b), 0, 1, 2, 3,
                                   4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  template <class Vector, typename Lane>
  static RUY_LIKE_ALWAYS_INLINE Vector Clamped(Vector x, Lane low, Lane high) {
    return __builtin_elementwise_min(
        __builtin_elementwise_max(x, Vector{} + low), Vector{} + high);
  }
};
typedef SimdRvv SimdOfPath;

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_RVV_H_
