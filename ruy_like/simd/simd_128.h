// Back-end: what the traits of 128-bit vectors have in common, whatever the
// instruction set.
//
// The base of SimdNeon and SimdVectors, which pass themselves as V, and their
// vector types. The members here use V's loads and stores of whole vectors, and
//
//   LoadLanes(p, n)     the first n < kLanes 32-bit lanes; the others are 0
//   Half<i>, Quarter<i> 64 (32) bits of a vector, as an unsigned integer
//   StoreHalf<i>        64 bits to memory, at any alignment
//   UpperHalf           a vector whose lower half is x's upper one
//   Truncate16          the lanes' lower 16 bits, in a vector's lower half
//   Truncate8           the lanes' lower 8 bits, as an integer
//   Zip8, 16, 32, 64(a, b)  interleaves elements of so many bits: a becomes
//                       those of both lower halves, b those of the upper ones
//
// A mask is a number of lanes. There are no masked loads and stores: parts of
// vectors are moved in pieces.
#ifndef RUY_LIKE_SIMD_SIMD_128_H_
#define RUY_LIKE_SIMD_SIMD_128_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/float16.h"
#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"

// Members that are one intrinsic, of one argument and of two.
#define RUY_LIKE_UNARY(Result, Name, Argument, intrinsic) \
  static RUY_LIKE_ALWAYS_INLINE Result Name(Argument x) { return intrinsic(x); }
#define RUY_LIKE_BINARY(Result, Name, intrinsic)                  \
  static RUY_LIKE_ALWAYS_INLINE Result Name(Result a, Result b) { \
    return intrinsic(a, b);                                       \
  }

namespace ruy_like::kernels {
namespace {

template <class V, class IntVector, class FloatVector>
struct Simd128 {
  static constexpr int kLanes = 4;  // 32-bit lanes
  // True if four vectors as bytes lie in their order, unpermuted
  // (StoreBytes()).
  static constexpr bool kBytesInOrder = true;
  typedef IntVector Int;
  typedef FloatVector Float;
  typedef int Mask;
  typedef V Bytes16;  // of StoreSixteenRows()

  // The first n lanes, 0 <= n <= kLanes.
  static RUY_LIKE_ALWAYS_INLINE Mask FirstLanes(int n) { return n; }

  // Reads only the masked lanes; the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadMasked(const int32_t* p, Mask n) {
    return n == kLanes ? V::LoadAligned(p) : V::LoadLanes(p, n);
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadMasked(const float* p, Mask n) {
    return n == kLanes ? V::LoadAligned(p) : V::AsFloat(V::LoadLanes(p, n));
  }

  // ## Four vectors of 32-bit values to one of bytes
  // 16-bit values to int8, clamped; V has the same for uint8.
  static RUY_LIKE_ALWAYS_INLINE Int ClampToBytes(Int a, Int b, int8_t low,
                                                 int8_t high) {
    return V::Min8(V::Max8(V::SaturateToInt8(a, b), V::Set8(low)),
                   V::Set8(high));
  }
  // Nothing to do: a vector has only one 128-bit part.
  static RUY_LIKE_ALWAYS_INLINE Int JoinColumns(Int bytes) { return bytes; }
  // The first n bytes of each half (quarter).
  static RUY_LIKE_ALWAYS_INLINE void StoreHalves(int8_t* a, int8_t* b, Int x,
                                                 int n) {
    if (n == 2 * kLanes) {
      V::template StoreHalf<0>(a, x);
      V::template StoreHalf<1>(b, x);
    } else {
      StoreFew(a, V::template Half<0>(x), n);
      StoreFew(b, V::template Half<1>(x), n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreQuarters(int8_t* a, int8_t* b,
                                                   int8_t* c, int8_t* d, Int x,
                                                   int n) {
    if (n == kLanes) {
      StoreFour(a, V::template Quarter<0>(x));
      StoreFour(b, V::template Quarter<1>(x));
      StoreFour(c, V::template Quarter<2>(x));
      StoreFour(d, V::template Quarter<3>(x));
    } else {
      StoreFew(a, V::template Quarter<0>(x), n);
      StoreFew(b, V::template Quarter<1>(x), n);
      StoreFew(c, V::template Quarter<2>(x), n);
      StoreFew(d, V::template Quarter<3>(x), n);
    }
  }

  // ## Stores of the first n lanes, truncated to the destination's type
  static RUY_LIKE_ALWAYS_INLINE void Store(int8_t* dst, Int x, int n) {
    const uint32_t four = V::Truncate8(x);
    if (n == kLanes) {
      StoreFour(dst, four);
    } else {
      StoreFew(dst, four, n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(uint8_t* dst, Int x, int n) {
    Store(reinterpret_cast<int8_t*>(dst), x, n);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int16_t* dst, Int x, int n) {
    const Int words = V::Truncate16(x);
    if (n == kLanes) {
      V::template StoreHalf<0>(dst, words);
    } else {
      StoreFew(dst, V::template Half<0>(words), 2 * n);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(int32_t* dst, Int x, int n) {
    StoreLanes(dst, x, n);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(float* dst, Float x, int n) {
    StoreLanes(dst, V::BitsOf(x), n);
  }

  // Transposes the kLanes x kLanes matrix of 32-bit elements in `m`.
  static RUY_LIKE_ALWAYS_INLINE void Transpose(Int* m) {
    ZipFour<V::Zip32, V::Zip64>(m);
  }

  // Elements of kBytes bytes, 1 or 2, of four columns, 4 bytes of each: those
  // of one depth side by side.
  template <int kBytes>
  static RUY_LIKE_ALWAYS_INLINE Int SplitDepth(Int x) {
    if constexpr (kBytes == 1) {
      typedef int8_t Bytes __attribute__((vector_size(16)));
      const Bytes bytes = reinterpret_cast<Bytes>(x);
      return reinterpret_cast<Int>(__builtin_shufflevector(
          bytes, bytes, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    } else {
      typedef int16_t Words __attribute__((vector_size(16)));
      const Words words = reinterpret_cast<Words>(x);
      return reinterpret_cast<Int>(
          __builtin_shufflevector(words, words, 0, 2, 4, 6, 1, 3, 5, 7));
    }
  }

 protected:
  // ## 16-bit floats, for sets without such conversions
  // Float16, zero-extended. Denormal ones are whole multiples of 2^-24; the
  // greatest exponent stays the greatest, and a NaN becomes quiet.
  static RUY_LIKE_ALWAYS_INLINE Float WidenFloat16s(Int bits) {
    const Int magnitude = bits & V::Set(0x7fff);
    const Int sign = (bits ^ magnitude) << 16;
    const Int bias = V::Set(112 << 23);
    const Int special = bias & ~IsBelow(magnitude, 0x7c00);
    const Int quiet = V::Set(0x00400000) & ~IsBelow(magnitude, 0x7c01);
    const Int normal = V::Add(V::Add(magnitude << 13, bias), special) | quiet;
    const Int denormal =
        V::BitsOf(V::MulFloat(V::ToFloat(magnitude), V::SetFloat(0x1p-24f)));
    const Int is_denormal = IsBelow(magnitude, 0x400);
    return V::AsFloat(sign | (denormal & is_denormal) |
                      (normal & ~is_denormal));
  }
  // x rounded to kTo, ties to even, in the lanes' lower halves.
  template <Scalar kTo>
  static RUY_LIKE_ALWAYS_INLINE Int RoundInScalars(Float x) {
    alignas(16) int32_t lanes[kLanes];
    V::StoreAligned(lanes, V::BitsOf(x));
    for (int i = 0; i < kLanes; ++i) {
      const uint32_t bits = static_cast<uint32_t>(lanes[i]);
      if constexpr (kTo == Scalar::kBF16) {
        lanes[i] = float16_internal::RoundToBFloat16(bits);
      } else {
        static_assert(kTo == Scalar::kF16);
        lanes[i] = float16_internal::RoundToFloat16(bits);
      }
    }
    return V::LoadAligned(lanes);
  }

 private:
  // All ones where x < bound; both are at least 0.
  static RUY_LIKE_ALWAYS_INLINE Int IsBelow(Int x, int32_t bound) {
    return V::Sub(x, V::Set(bound)) >> 31;
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreFour(void* dst, uint32_t four) {
    __builtin_memcpy(dst, &four, sizeof(four));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreLanes(void* dst, Int x, int n) {
    if (n == kLanes) {
      V::StoreBytes(dst, x);
      return;
    }
    char* p = static_cast<char*>(dst);
    if (n & 2) {
      V::template StoreHalf<0>(p, x);
      p += 8;
      x = V::UpperHalf(x);
    }
    if (n & 1) StoreFour(p, V::template Quarter<0>(x));
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_128_H_
