// Back-end: 128-bit vectors in the compiler's own vector types, whatever the
// instruction set.
//
// The base of SimdSse, SimdWasm and SimdRvv, which pass themselves as V. It has
// the members of Simd512 (simd_avx512.h) that panel kernels and their epilogues
// need, with the same meaning; those of all 128-bit vectors are in simd_128.h.
// V replaces those for which its processor has an instruction that the compiler
// does not find, and adds MulAddFloat().
//
// Vectors at any alignment are read and written by types that say so: a copy of
// bytes would be one of single bytes where scalars must be aligned.
#ifndef RUY_LIKE_SIMD_SIMD_VECTORS_H_
#define RUY_LIKE_SIMD_SIMD_VECTORS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_128.h"

namespace ruy_like::kernels {
namespace {

typedef int8_t Int8x16 __attribute__((vector_size(16)));
typedef int8_t Int8x8 __attribute__((vector_size(8)));
typedef int8_t Int8x4 __attribute__((vector_size(4)));
typedef int16_t Int16x8 __attribute__((vector_size(16)));
typedef uint8_t Uint8x16 __attribute__((vector_size(16)));
typedef uint16_t Uint16x4 __attribute__((vector_size(8)));
typedef uint16_t Uint16x8 __attribute__((vector_size(16)));
typedef int32_t Int32x4 __attribute__((vector_size(16)));
typedef uint32_t Uint32x4 __attribute__((vector_size(16)));
typedef int64_t Int64x4 __attribute__((vector_size(32)));
typedef float Float32x4 __attribute__((vector_size(16)));

// The same in memory, at any alignment.
template <class Vector>
struct Unaligned;
#define RUY_LIKE_UNALIGNED(Vector)                                     \
  template <>                                                          \
  struct Unaligned<Vector> {                                           \
    typedef Vector InMemory __attribute__((aligned(1), may_alias));    \
    static RUY_LIKE_ALWAYS_INLINE Vector Load(const void* p) {         \
      return *static_cast<const InMemory*>(p);                         \
    }                                                                  \
    static RUY_LIKE_ALWAYS_INLINE void Store(void* p, Vector vector) { \
      *static_cast<InMemory*>(p) = vector;                             \
    }                                                                  \
  };
RUY_LIKE_UNALIGNED(Int8x16)
RUY_LIKE_UNALIGNED(Int8x8)
RUY_LIKE_UNALIGNED(Int8x4)
#undef RUY_LIKE_UNALIGNED

template <class V, class IntVector = Int32x4, class FloatVector = Float32x4>
struct SimdVectors : Simd128<V, IntVector, FloatVector> {
  using typename Simd128<V, IntVector, FloatVector>::Int;
  using typename Simd128<V, IntVector, FloatVector>::Float;
  using Simd128<V, IntVector, FloatVector>::ClampToBytes;
  // The epilogue of another tile would take registers that a tile has none of:
  // on WebAssembly those of x86 behind the engine's compiler. Arm's cores that
  // could gain from it reorder instructions themselves, and have few loads to
  // spare; see panel_epilogue.h.
  static constexpr bool kInterleavesEpilogue = false;

  // ## 32-bit integers
  static RUY_LIKE_ALWAYS_INLINE Int Zero() { return Int{}; }
  static RUY_LIKE_ALWAYS_INLINE Int Set(int32_t x) { return Int{x, x, x, x}; }
  static RUY_LIKE_ALWAYS_INLINE Int LoadAligned(const int32_t* p) {
    return *reinterpret_cast<const Int*>(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(int32_t* p, Int x) {
    *reinterpret_cast<Int*>(p) = x;
  }
  // The first n < kLanes lanes, the others are 0.
  static RUY_LIKE_ALWAYS_INLINE Int LoadLanes(const void* p, int n) {
    const int32_t* const lanes = static_cast<const int32_t*>(p);
    return Int{n > 0 ? lanes[0] : 0, n > 1 ? lanes[1] : 0, n > 2 ? lanes[2] : 0,
               0};
  }
  static RUY_LIKE_ALWAYS_INLINE Int Add(Int a, Int b) {
    return Signed(Unsigned(a) + Unsigned(b));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Sub(Int a, Int b) {
    return Signed(Unsigned(a) - Unsigned(b));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Mul(Int a, Int b) {
    return Signed(Unsigned(a) * Unsigned(b));
  }
  RUY_LIKE_BINARY(Int, Min, __builtin_elementwise_min)
  RUY_LIKE_BINARY(Int, Max, __builtin_elementwise_max)
  // Sums of two products of words.
  static RUY_LIKE_ALWAYS_INLINE Int MultiplyWords(Int a, Int b) {
    return Add(EvenWords(a) * EvenWords(b), OddWords(a) * OddWords(b));
  }
  // Moves the odd lanes to the even ones.
  static RUY_LIKE_ALWAYS_INLINE Int OddToEven(Int x) {
    return __builtin_shufflevector(x, x, 1, 1, 3, 3);
  }

  // ## Elements at any alignment as 16-bit ones
  static RUY_LIKE_ALWAYS_INLINE Int LoadTo16(const int8_t* p) {
    return Widen(Unaligned<Int8x8>::Load(p));
  }

  // ## Four vectors of 32-bit values to one of bytes
  static RUY_LIKE_ALWAYS_INLINE Int Set16(int16_t x) {
    return As<Int>(Int16x8{x, x, x, x, x, x, x, x});
  }
  static RUY_LIKE_ALWAYS_INLINE Int Set8(int8_t x) {
    return As<Int>(Int8x16{x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x});
  }
  static RUY_LIKE_ALWAYS_INLINE Int Halve16(Int x) {
    return As<Int>(As<Int16x8>(x) >> 1);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Add8(Int a, Int b) {
    return As<Int>(As<Uint8x16>(a) + As<Uint8x16>(b));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Add16(Int a, Int b) {
    return As<Int>(As<Uint16x8>(a) + As<Uint16x8>(b));
  }
  // Sums of neighbours, widened.
  static RUY_LIKE_ALWAYS_INLINE Int SumBytePairs(Int x) {
    const Int16x8 even = As<Int16x8>(As<Uint16x8>(x) << 8) >> 8;
    return As<Int>(even + (As<Int16x8>(x) >> 8));
  }
  static RUY_LIKE_ALWAYS_INLINE Int SumWordPairs(Int x) {
    return V::MultiplyWords(x, V::Set16(1));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Min8(Int a, Int b) {
    return As<Int>(__builtin_elementwise_min(As<Int8x16>(a), As<Int8x16>(b)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Max8(Int a, Int b) {
    return As<Int>(__builtin_elementwise_max(As<Int8x16>(a), As<Int8x16>(b)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int Xor(Int a, Int b) { return a ^ b; }
  static RUY_LIKE_ALWAYS_INLINE void StoreBytes(void* dst, Int bytes) {
    Unaligned<Int8x16>::Store(dst, As<Int8x16>(bytes));
  }

  // ## Parts of vectors
  template <int kHalf>
  static RUY_LIKE_ALWAYS_INLINE uint64_t Half(Int x) {
    typedef uint64_t Uint64x2 __attribute__((vector_size(16)));
    return As<Uint64x2>(x)[kHalf];
  }
  template <int kQuarter>
  static RUY_LIKE_ALWAYS_INLINE uint32_t Quarter(Int x) {
    return static_cast<uint32_t>(x[kQuarter]);
  }
  template <int kHalf>
  static RUY_LIKE_ALWAYS_INLINE void StoreHalf(void* dst, Int x) {
    Unaligned<Int8x8>::Store(dst, HalfOf<8 * kHalf>(As<Int8x16>(x)));
  }
  static RUY_LIKE_ALWAYS_INLINE Int UpperHalf(Int x) {
    return __builtin_shufflevector(x, x, 2, 3, 2, 3);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Truncate16(Int x) {
    const Int16x8 words = As<Int16x8>(x);
    return As<Int>(
        __builtin_shufflevector(words, words, 0, 2, 4, 6, 0, 2, 4, 6));
  }
  static RUY_LIKE_ALWAYS_INLINE uint32_t Truncate8(Int x) {
    const Int8x16 bytes = As<Int8x16>(x);
    return As<uint32_t>(__builtin_shufflevector(bytes, bytes, 0, 4, 8, 12));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadBytes(const void* p) {
    return As<Int>(Unaligned<Int8x16>::Load(p));
  }
  // Four bytes from each of four places; eight, and zeros.
  static RUY_LIKE_ALWAYS_INLINE Int LoadQuarters(const char* p,
                                                 ptrdiff_t stride) {
    const Int8x8 low = JoinQuarters(p, p + stride);
    const Int8x8 high = JoinQuarters(p + 2 * stride, p + 3 * stride);
    return JoinHalves(low, high);
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadLow(const char* p) {
    return JoinHalves(Unaligned<Int8x8>::Load(p), Int8x8{});
  }
  // Interleaves elements of 8, 16, 32 or 64 bits.
  static RUY_LIKE_ALWAYS_INLINE void Zip8(Int& a, Int& b) {
    const Int8x16 x = As<Int8x16>(a), y = As<Int8x16>(b);
    a = As<Int>(__builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                        5, 21, 6, 22, 7, 23));
    b = As<Int>(__builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                        28, 13, 29, 14, 30, 15, 31));
  }
  static RUY_LIKE_ALWAYS_INLINE void Zip16(Int& a, Int& b) {
    const Int16x8 x = As<Int16x8>(a), y = As<Int16x8>(b);
    a = As<Int>(__builtin_shufflevector(x, y, 0, 8, 1, 9, 2, 10, 3, 11));
    b = As<Int>(__builtin_shufflevector(x, y, 4, 12, 5, 13, 6, 14, 7, 15));
  }
  static RUY_LIKE_ALWAYS_INLINE void Zip32(Int& a, Int& b) {
    const Int low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    b = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    a = low;
  }
  static RUY_LIKE_ALWAYS_INLINE void Zip64(Int& a, Int& b) {
    const Int low = __builtin_shufflevector(a, b, 0, 1, 4, 5);
    b = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    a = low;
  }
  // Words of one half of the bytes.
  template <int kHalf>
  static RUY_LIKE_ALWAYS_INLINE Int WidenBytes(Int x) {
    return Widen(HalfOf<8 * kHalf>(As<Int8x16>(x)));
  }

  // ## Floats
  static RUY_LIKE_ALWAYS_INLINE Float SetFloat(float x) {
    return Float{x, x, x, x};
  }
  static RUY_LIKE_ALWAYS_INLINE Float LoadAligned(const float* p) {
    return *reinterpret_cast<const Float*>(p);
  }
  // At any alignment.
  static RUY_LIKE_ALWAYS_INLINE Float LoadVector(const float* p) {
    return As<Float>(Unaligned<Int8x16>::Load(p));
  }
  static RUY_LIKE_ALWAYS_INLINE void StoreAligned(float* p, Float x) {
    *reinterpret_cast<Float*>(p) = x;
  }
  static RUY_LIKE_ALWAYS_INLINE Float AddFloat(Float a, Float b) {
    return a + b;
  }
  static RUY_LIKE_ALWAYS_INLINE Float MulFloat(Float a, Float b) {
    return a * b;
  }
  // Both return `x` if it is a NaN, or if both are zeros.
  static RUY_LIKE_ALWAYS_INLINE Float AtLeast(Float bound, Float x) {
    return x < bound ? bound : x;
  }
  static RUY_LIKE_ALWAYS_INLINE Float AtMost(Float bound, Float x) {
    return x > bound ? bound : x;
  }
  // The values, rounded.
  static RUY_LIKE_ALWAYS_INLINE Float ToFloat(Int x) {
    return __builtin_convertvector(x, Float);
  }
  static RUY_LIKE_ALWAYS_INLINE Int BitsOf(Float x) { return As<Int>(x); }
  static RUY_LIKE_ALWAYS_INLINE Float AsFloat(Int x) { return As<Float>(x); }

  // ## 16-bit floats (float16.h has the formats), rounded in scalars
  template <Scalar kFrom>
  static RUY_LIKE_ALWAYS_INLINE Float LoadWidened(const uint16_t* p) {
    return WidenFour<kFrom>(As<Uint16x4>(Unaligned<Int8x8>::Load(p)));
  }
  // Those of one half of the words.
  template <Scalar kFrom, int kHalf>
  static RUY_LIKE_ALWAYS_INLINE Float WidenFloats(Int x) {
    return WidenFour<kFrom>(As<Uint16x4>(HalfOf<8 * kHalf>(As<Int8x16>(x))));
  }
  // x rounded to kTo, ties to even, in the lanes' lower halves.
  template <Scalar kTo>
  static RUY_LIKE_ALWAYS_INLINE Int Round(Float x) {
    return V::template RoundInScalars<kTo>(x);
  }

 protected:
  template <Scalar kFrom>
  static RUY_LIKE_ALWAYS_INLINE Float WidenFour(Uint16x4 words) {
    const Uint32x4 bits = __builtin_convertvector(words, Uint32x4);
    if constexpr (kFrom == Scalar::kBF16) {
      return As<Float>(bits << 16);
    } else {
      static_assert(kFrom == Scalar::kF16);
      return V::WidenFloat16s(Signed(bits));
    }
  }
  template <class To, class From>
  static RUY_LIKE_ALWAYS_INLINE To As(From from) {
    static_assert(sizeof(To) == sizeof(From));
    return reinterpret_cast<To>(from);
  }
  static RUY_LIKE_ALWAYS_INLINE Uint32x4 Unsigned(Int x) {
    return As<Uint32x4>(x);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Signed(Uint32x4 x) { return As<Int>(x); }
  static RUY_LIKE_ALWAYS_INLINE Int Widen(Int8x8 bytes) {
    return As<Int>(__builtin_convertvector(bytes, Int16x8));
  }
  static RUY_LIKE_ALWAYS_INLINE Int EvenWords(Int x) {
    return Signed(Unsigned(x) << 16) >> 16;
  }
  static RUY_LIKE_ALWAYS_INLINE Int OddWords(Int x) { return x >> 16; }
  static RUY_LIKE_ALWAYS_INLINE Int8x8 JoinQuarters(const char* a,
                                                    const char* b) {
    return __builtin_shufflevector(Unaligned<Int8x4>::Load(a),
                                   Unaligned<Int8x4>::Load(b), 0, 1, 2, 3, 4, 5,
                                   6, 7);
  }
  static RUY_LIKE_ALWAYS_INLINE Int JoinHalves(Int8x8 a, Int8x8 b) {
    return As<Int>(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                           10, 11, 12, 13, 14, 15));
  }
  template <int kFirst>
  static RUY_LIKE_ALWAYS_INLINE Int8x8 HalfOf(Int8x16 x) {
    return __builtin_shufflevector(x, x, kFirst, kFirst + 1, kFirst + 2,
                                   kFirst + 3, kFirst + 4, kFirst + 5,
                                   kFirst + 6, kFirst + 7);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_SIMD_VECTORS_H_
