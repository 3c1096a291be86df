// Back-end: WebAssembly's 128-bit SIMD trait that kernels and epilogue are
// templates of.
//
// Included by kernels/wasm128.cc and its headers. It has the members of Simd512
// (simd_avx512.h) that the templates need here, with the same meaning; those of
// all 128-bit vectors are in simd_128.h. Shifts take one count for all lanes,
// so that requantization has routines of its own (epilogue/epilogue_wasm.h).
// There is no fused multiply-add: a product is rounded, then the sum.
#ifndef RUY_LIKE_SIMD_SIMD_WASM_H_
#define RUY_LIKE_SIMD_SIMD_WASM_H_

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_128.h"

namespace ruy_like::kernels {
namespace {

typedef float WasmFloats __attribute__((vector_size(16)));  // unlike v128_t

struct SimdWasm : Simd128<SimdWasm, v128_t, WasmFloats> {
  // The engine's compiler allocates registers. x86 has 16 of them, and a tile
  // leaves none for the epilogue of another.
  static constexpr bool kInterleavesEpilogue = false;

  // ## 32-bit integers
  static RUY_LIKE_ALWAYS_INLINE Int Zero() { return wasm_i32x4_const_splat(0); }
  RUY_LIKE_UNARY(Int, Set, int32_t, wasm_i32x4_splat)
  RUY_LIKE_UNARY(Int, LoadAligned, const int32_t*, wasm_v128_load)
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(int32_t* p, Int x) {
    wasm_v128_store(p, x);
  }
  // The first n < kLanes lanes, the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadLanes(const void* p, int n) {
    const int32_t* const lanes = static_cast<const int32_t*>(p);
    switch (n) {
      case 3:
        return wasm_v128_load32_lane(lanes + 2, wasm_v128_load64_zero(lanes),
                                     2);
      case 2:
        return wasm_v128_load64_zero(lanes);
      case 1:
        return wasm_v128_load32_zero(lanes);
      default:
        return Zero();
    }
  }
  RUY_LIKE_BINARY(Int, Add, wasm_i32x4_add)
  RUY_LIKE_BINARY(Int, Sub, wasm_i32x4_sub)
  RUY_LIKE_BINARY(Int, Mul, wasm_i32x4_mul)
  RUY_LIKE_BINARY(Int, Min, wasm_i32x4_min)
  RUY_LIKE_BINARY(Int, Max, wasm_i32x4_max)
  // Sums of two products of words.
  RUY_LIKE_BINARY(Int, MultiplyWords, wasm_i32x4_dot_i16x8)
  // Moves the odd lanes to the even ones.
  static RUY_LIKE_ALWAYS_INLINE Int OddToEven(Int x) {
    return wasm_i32x4_shuffle(x, x, 1, 1, 3, 3);
  }

  // ## Elements at any alignment as 16-bit ones
  RUY_LIKE_UNARY(Int, LoadTo16, const int8_t*, wasm_i16x8_load8x8)

  // ## Four vectors of 32-bit values to one of bytes
  RUY_LIKE_UNARY(Int, Set16, int16_t, wasm_i16x8_splat)
  RUY_LIKE_UNARY(Int, Set8, int8_t, wasm_i8x16_splat)
  RUY_LIKE_BINARY(Int, SaturateToInt16, wasm_i16x8_narrow_i32x4)
  RUY_LIKE_BINARY(Int, AddSaturated16, wasm_i16x8_add_sat)
  static RUY_LIKE_ALWAYS_INLINE Int Halve16(Int x) {
    return wasm_i16x8_shr(x, 1);
  }
  using Simd128::ClampToBytes;
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, uint8_t low,
                                                 uint8_t high) {
    return wasm_u8x16_min(
        wasm_u8x16_max(wasm_u8x16_narrow_i16x8(a, b), wasm_u8x16_splat(low)),
        wasm_u8x16_splat(high));
  }
  RUY_LIKE_BINARY(Int, SaturateToInt8, wasm_i8x16_narrow_i16x8)
  RUY_LIKE_BINARY(Int, Min8, wasm_i8x16_min)
  RUY_LIKE_BINARY(Int, Max8, wasm_i8x16_max)
  RUY_LIKE_BINARY(Int, Xor, wasm_v128_xor)
  static RUY_LIKE_ALWAYS_INLINE void StoreBytes(void* dst, Int bytes) {
    wasm_v128_store(dst, bytes);
  }

  // ## Parts of vectors
  template <int kHalf>
  static RUY_LIKE_ALWAYS_INLINE uint64_t Half(Int x) {
    return static_cast<uint64_t>(wasm_i64x2_extract_lane(x, kHalf));
  }
  template <int kQuarter>
  static RUY_LIKE_ALWAYS_INLINE uint32_t Quarter(Int x) {
    return static_cast<uint32_t>(wasm_i32x4_extract_lane(x, kQuarter));
  }
  template <int kHalf>
  static RUY_LIKE_ALWAYS_INLINE void StoreHalf(void* dst, Int x) {
    wasm_v128_store64_lane(dst, x, kHalf);
  }
  static RUY_LIKE_ALWAYS_INLINE Int UpperHalf(Int x) {
    return wasm_i64x2_shuffle(x, x, 1, 1);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Truncate16(Int x) {
    return wasm_i16x8_shuffle(x, x, 0, 2, 4, 6, 0, 2, 4, 6);
  }
  static RUY_LIKE_ALWAYS_INLINE uint32_t Truncate8(Int x) {
    return Quarter<0>(wasm_i8x16_shuffle(x, x, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4,
                                         8, 12, 0, 4, 8, 12));
  }
  RUY_LIKE_UNARY(Int, LoadBytes, const int8_t*, wasm_v128_load)
  static RUY_LIKE_ALWAYS_INLINE void Zip8(Int& a, Int& b) {
    const Int low = wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                       5, 21, 6, 22, 7, 23);
    b = wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                           14, 30, 15, 31);
    a = low;
  }
  static RUY_LIKE_ALWAYS_INLINE void Zip32(Int& a, Int& b) {
    const Int low = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5);
    b = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
    a = low;
  }
  static RUY_LIKE_ALWAYS_INLINE void Zip64(Int& a, Int& b) {
    const Int low = wasm_i64x2_shuffle(a, b, 0, 2);
    b = wasm_i64x2_shuffle(a, b, 1, 3);
    a = low;
  }

  // ## Floats
  static RUY_LIKE_ALWAYS_INLINE Float SetFloat(float x) {
    return AsFloat(wasm_f32x4_splat(x));
  }
  RUY_LIKE_UNARY(Float, LoadAligned, const float*, LoadFloats)
  // At any alignment.
  static RUY_LIKE_ALWAYS_INLINE Float LoadFloats(const float* p) {
    return AsFloat(wasm_v128_load(p));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(float* p, Float x) {
    wasm_v128_store(p, BitsOf(x));
  }
  static RUY_LIKE_ALWAYS_INLINE Float AddFloat(Float a, Float b) {
    return a + b;
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulFloat(Float a, Float b) {
    return a * b;
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulAddFloat(Float a, Float b, Float c) {
    return a * b + c;  // two roundings: paths are built with -ffp-contract=off
  }
  // Both return `x` if it is a NaN, or if both are zeros.
  static RUY_LIKE_ALWAYS_INLINE Float AtLeast(Float bound, Float x) {
    return AsFloat(wasm_f32x4_pmax(BitsOf(x), BitsOf(bound)));
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtMost(Float bound, Float x) {
    return AsFloat(wasm_f32x4_pmin(BitsOf(x), BitsOf(bound)));
  }
  // The values, rounded.
  static RUY_LIKE_ALWAYS_INLINE Float ToFloat(Int x) {
    return AsFloat(wasm_f32x4_convert_i32x4(x));
  }
  static RUY_LIKE_ALWAYS_INLINE Int BitsOf(Float x) {
    return reinterpret_cast<Int>(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Float AsFloat(Int x) {
    return reinterpret_cast<Float>(x);
  }

  // ## 16-bit floats (float16.h has the formats), in scalars
  template <Scalar kFrom>
  static RUY_LIKE_ALWAYS_INLINE Float LoadWidened(const uint16_t* p) {
    if constexpr (kFrom == Scalar::kBF16) {
      return AsFloat(wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16));
    } else {
      static_assert(kFrom == Scalar::kF16);
      return WidenFloat16s(p);
    }
  }
  // x rounded to kTo, ties to even, in the lanes' lower halves.
  template <Scalar kTo>
  static RUY_LIKE_ALWAYS_INLINE Int Round(Float x) {
    return RoundInScalars<kTo>(x);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_WASM_H_
