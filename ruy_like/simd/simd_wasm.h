// Back-end: WebAssembly's 128-bit SIMD trait that kernels and epilogue are
// templates of.
//
// Included by kernels/wasm128.cc and pack/wasm128.cc. simd_vectors.h has all
// but what is an instruction here that the compiler does not find. Shifts take
// one count for all lanes, so that requantization has routines of its own
// (epilogue/epilogue_vectors.h). There is no fused multiply-add: a product is
// rounded, then the sum.
#ifndef RUY_LIKE_SIMD_SIMD_WASM_H_
#define RUY_LIKE_SIMD_SIMD_WASM_H_

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_vectors.h"

namespace ruy_like::kernels {
namespace {

struct SimdWasm : SimdVectors<SimdWasm> {
  RUY_LIKE_BINARY(Int, MultiplyWords, wasm_i32x4_dot_i16x8)
  RUY_LIKE_BINARY(Int, SaturateToInt16, wasm_i16x8_narrow_i32x4)
  RUY_LIKE_BINARY(Int, AddSaturated16, wasm_i16x8_add_sat)
  RUY_LIKE_BINARY(Int, SaturateToInt8, wasm_i8x16_narrow_i16x8)
  using SimdVectors::ClampToBytes;
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, uint8_t low,
                                                 uint8_t high) {
    return wasm_u8x16_min(
        wasm_u8x16_max(wasm_u8x16_narrow_i16x8(a, b), wasm_u8x16_splat(low)),
        wasm_u8x16_splat(high));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadQuarters(const char* p,
                                                 ptrdiff_t stride) {
    Int x = wasm_v128_load32_zero(p);
    x = wasm_v128_load32_lane(p + stride, x, 1);
    x = wasm_v128_load32_lane(p + 2 * stride, x, 2);
    return wasm_v128_load32_lane(p + 3 * stride, x, 3);
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    return a * b + c;  // two roundings: paths are built with -ffp-contract=off
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtLeast(Float bound, Float x) {
    return AsFloat(wasm_f32x4_pmax(BitsOf(x), BitsOf(bound)));
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtMost(Float bound, Float x) {
    return AsFloat(wasm_f32x4_pmin(BitsOf(x), BitsOf(bound)));
  }
  // The high 32 bits of products.
  static RUY_LIKE_ALWAYS_INLINE Int MultiplyHigh(Int a, Int b) {
    return wasm_i32x4_shuffle(wasm_i64x2_extmul_low_i32x4(a, b),
                              wasm_i64x2_extmul_high_i32x4(a, b), 1, 3, 5, 7);
  }
  // Arithmetic shifts by each lane's count, 0 to 29; others give any value.
  struct LaneShifts {
    explicit RUY_LIKE_ALWAYS_INLINE LaneShifts(Int shifts)
        : factors(wasm_i32x4_make(Factor(shifts[0]), Factor(shifts[1]),
                                  Factor(shifts[2]), Factor(shifts[3]))),
          first(shifts[0]),
          are_equal(wasm_i32x4_all_true(wasm_i32x4_eq(shifts, Set(first)))) {}
    RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const {
      if (are_equal) return wasm_i32x4_shr(x, first);
      // x * 2^(30 - shift) / 2^30.
      return wasm_i32x4_shuffle(
          wasm_u64x2_shr(wasm_i64x2_extmul_low_i32x4(x, factors), 30),
          wasm_u64x2_shr(wasm_i64x2_extmul_high_i32x4(x, factors), 30), 0, 2, 4,
          6);
    }
    static RUY_LIKE_ALWAYS_INLINE int32_t Factor(int32_t shift) {
      return 1 << ((30 - shift) & 31);
    }
    const Int factors;
    const int32_t first;
    const bool are_equal;
  };
};
typedef SimdWasm SimdOfPath;

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_WASM_H_
