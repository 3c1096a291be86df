// Back-end: WebAssembly's 128-bit SIMD trait that kernels and epilogue are
// templates of.
//
// Included by kernels/wasm128.cc and its headers. It has the members of Simd512
// (simd_avx512.h) that the templates need here, with the same meaning. A mask
// is a number of lanes: there are no masked loads or stores. Shifts take one
// count for all lanes, so that requantization has routines of its own
// (epilogue/epilogue_wasm.h). There is no fused multiply-add: a product is
// rounded, then the sum.
#ifndef RUY_LIKE_SIMD_SIMD_WASM_H_
#define RUY_LIKE_SIMD_SIMD_WASM_H_

#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

#include "ruy_like/float16.h"
#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

struct SimdWasm {
  static constexpr int kLanes = 4;  // 32-bit lanes
  // The engine's compiler allocates registers: 16 on x86, of which a tile
  // leaves none for the epilogue of another.
  static constexpr bool kInterleavesEpilogue = false;
  // Whether four vectors as bytes lie in their order, unpermuted
  // (StoreBytes()).
  static constexpr bool kBytesInOrder = true;
  typedef v128_t Int;
  typedef float Float __attribute__((vector_size(16)));  // unlike Int
  typedef int Mask;

  // The first n lanes, 0 <= n <= kLanes.
  static RUY_LIKE_ALWAYS_INLINE Mask FirstLanes(int n) { return n; }

  // ## 32-bit integers
  static RUY_LIKE_ALWAYS_INLINE Int Zero() { return wasm_i32x4_const_splat(0); }
  static RUY_LIKE_ALWAYS_INLINE Int Set(int32_t x) {
    return wasm_i32x4_splat(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadAligned(const int32_t* p) {
    return wasm_v128_load(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(int32_t* p, Int x) {
    wasm_v128_store(p, x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadMasked(const int32_t* p, Mask n) {
    return LoadFirst(p, n);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Add(Int a, Int b) {
    return wasm_i32x4_add(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Sub(Int a, Int b) {
    return wasm_i32x4_sub(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Mul(Int a, Int b) {
    return wasm_i32x4_mul(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Min(Int a, Int b) {
    return wasm_i32x4_min(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Max(Int a, Int b) {
    return wasm_i32x4_max(a, b);
  }
  // Sums of two products of words.
  static RUY_LIKE_ALWAYS_INLINE Int MultiplyWords(Int a, Int b) {
    return wasm_i32x4_dot_i16x8(a, b);
  }
  // Moves the odd lanes to the even ones.
  static RUY_LIKE_ALWAYS_INLINE Int OddToEven(Int x) {
    return wasm_i32x4_shuffle(x, x, 1, 1, 3, 3);
  }

  // ## Elements at any alignment as 16-bit ones
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int8_t* p) {
    return wasm_i16x8_load8x8(p);
  }

  // ## Four vectors of 32-bit values to one of bytes
  static RUY_LIKE_ALWAYS_INLINE Int Set16(int16_t x) {
    return wasm_i16x8_splat(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Set8(int8_t x) {
    return wasm_i8x16_splat(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt16(Int a, Int b) {
    return wasm_i16x8_narrow_i32x4(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int AddSaturated16(Int a, Int b) {
    return wasm_i16x8_add_sat(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Halve16(Int x) {
    return wasm_i16x8_shr(x, 1);
  }
  // 16-bit values to bytes of the bounds' type, clamped.
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, int8_t low,
                                                 int8_t high) {
    return Min8(Max8(SaturateToInt8(a, b), Set8(low)), Set8(high));
  }
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, uint8_t low,
                                                 uint8_t high) {
    return wasm_u8x16_min(
        wasm_u8x16_max(wasm_u8x16_narrow_i16x8(a, b), wasm_u8x16_splat(low)),
        wasm_u8x16_splat(high));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SaturateToInt8(Int a, Int b) {
    return wasm_i8x16_narrow_i16x8(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Min8(Int a, Int b) {
    return wasm_i8x16_min(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Max8(Int a, Int b) {
    return wasm_i8x16_max(a, b);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Xor(Int a, Int b) {
    return wasm_v128_xor(a, b);
  }
  // A vector's four bytes are together already: it has but one 128-bit part.
  static RUY_LIKE_ALWAYS_INLINE Int GroupColumns(Int bytes) { return bytes; }
  static RUY_LIKE_ALWAYS_INLINE void StoreBytes(void* dst, Int bytes) {
    wasm_v128_store(dst, bytes);
  }
  // The first n bytes of each half (quarter).
  static RUY_LIKE_ALWAYS_INLINE void StoreHalves(int8_t* a, int8_t* b, Int x,
                                                 int n) {
    StoreFirst(a, static_cast<uint64_t>(wasm_i64x2_extract_lane(x, 0)), n);
    StoreFirst(b, static_cast<uint64_t>(wasm_i64x2_extract_lane(x, 1)), n);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreQuarters(int8_t* a, int8_t* b,
                                                   int8_t* c, int8_t* d, Int x,
                                                   int n) {
    StoreFirst(a, Lane<0>(x), n);
    StoreFirst(b, Lane<1>(x), n);
    StoreFirst(c, Lane<2>(x), n);
    StoreFirst(d, Lane<3>(x), n);
  }

  // ## Stores of the first n lanes, truncated to the destination's type
  static RUY_LIKE_ALWAYS_INLINE void Store(int8_t* dst, Int x, int n) {
    StoreFirst(dst,
               Lane<0>(wasm_i8x16_shuffle(x, x, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4,
                                          8, 12, 0, 4, 8, 12)),
               n);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(uint8_t* dst, Int x, int n) {
    Store(reinterpret_cast<int8_t*>(dst), x, n);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int16_t* dst, Int x, int n) {
    const Int words = wasm_i16x8_shuffle(x, x, 0, 2, 4, 6, 0, 2, 4, 6);
    StoreFirst(dst, static_cast<uint64_t>(wasm_i64x2_extract_lane(words, 0)),
               2 * n);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int32_t* dst, Int x, int n) {
    if (n == kLanes) {
      wasm_v128_store(dst, x);
      return;
    }
    if (n & 2) {
      wasm_v128_store64_lane(dst, x, 0);
      dst += 2;
      x = wasm_i64x2_shuffle(x, x, 1, 1);
    }
    if (n & 1) wasm_v128_store32_lane(dst, x, 0);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(float* dst, Float x, int n) {
    Store(reinterpret_cast<int32_t*>(dst), BitsOf(x), n);
  }

  // ## Floats
  static RUY_LIKE_ALWAYS_INLINE Float SetFloat(float x) {
    return AsFloat(wasm_f32x4_splat(x));
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadAligned(const float* p) {
    return LoadFloats(p);
  }
  // At any alignment.
  static RUY_LIKE_ALWAYS_INLINE Float LoadFloats(const float* p) {
    return AsFloat(wasm_v128_load(p));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(float* p, Float x) {
    wasm_v128_store(p, BitsOf(x));
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadMasked(const float* p, Mask n) {
    return AsFloat(LoadFirst(p, n));
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
  // Both keep `x` when it is a NaN, and of two zeros.
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
      alignas(16) uint32_t bits[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        bits[i] = float16_internal::WidenFloat16(p[i]);
      }
      return AsFloat(wasm_v128_load(bits));
    }
  }
  // The nearest ones, ties to even, in the lanes' lower halves.
  template <Scalar kTo>
  static RUY_LIKE_ALWAYS_INLINE Int Round(Float x) {
    alignas(16) uint32_t bits[kLanes];
    wasm_v128_store(bits, BitsOf(x));
    for (int i = 0; i < kLanes; ++i) {
      if constexpr (kTo == Scalar::kBF16) {
        bits[i] = float16_internal::RoundToBFloat16(bits[i]);
      } else {
        static_assert(kTo == Scalar::kF16);
        bits[i] = float16_internal::RoundToFloat16(bits[i]);
      }
    }
    return wasm_v128_load(bits);
  }

  // Transposes the kLanes x kLanes matrix of 32-bit elements in `m`.
  static RUY_LIKE_ALWAYS_INLINE void Transpose(Int* m) {
    const Int a = wasm_i32x4_shuffle(m[0], m[1], 0, 4, 1, 5);
    const Int b = wasm_i32x4_shuffle(m[0], m[1], 2, 6, 3, 7);
    const Int c = wasm_i32x4_shuffle(m[2], m[3], 0, 4, 1, 5);
    const Int d = wasm_i32x4_shuffle(m[2], m[3], 2, 6, 3, 7);
    m[0] = wasm_i64x2_shuffle(a, c, 0, 2);
    m[1] = wasm_i64x2_shuffle(a, c, 1, 3);
    m[2] = wasm_i64x2_shuffle(b, d, 0, 2);
    m[3] = wasm_i64x2_shuffle(b, d, 1, 3);
  }

 private:
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE uint32_t Lane(Int x) {
    return static_cast<uint32_t>(wasm_i32x4_extract_lane(x, kLane));
  }
  // Reads the first n lanes alone, the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadFirst(const void* p, int n) {
    const int32_t* const lanes = static_cast<const int32_t*>(p);
    switch (n) {
      case 4:
        return wasm_v128_load(lanes);
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
  // Stores the first n <= 8 bytes.
  static RUY_LIKE_ALWAYS_INLINE void StoreFirst(void* dst, uint64_t bytes,
                                                int n) {
    unsigned char* p = static_cast<unsigned char*>(dst);
    if (n & 8) {
      __builtin_memcpy(p, &bytes, 8);
      return;
    }
    if (n & 4) {
      const uint32_t four = static_cast<uint32_t>(bytes);
      __builtin_memcpy(p, &four, 4);
      bytes >>= 32;
      p += 4;
    }
    if (n & 2) {
      const uint16_t two = static_cast<uint16_t>(bytes);
      __builtin_memcpy(p, &two, 2);
      bytes >>= 16;
      p += 2;
    }
    if (n & 1) *p = static_cast<unsigned char>(bytes);
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_SIMD_SIMD_WASM_H_
