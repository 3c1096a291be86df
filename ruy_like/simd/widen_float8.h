// Back-end: 8-bit floats to bfloat16, which is exact: for packing, and for the
// kernels that read them in place.
//
// A value's bits are those of a bfloat16, shifted, with another bias of the
// exponent, but for denormals, infinity and NaN. These have magnitudes that are
// adjacent modulo 128, at most nine of them, so that one table of 16 bytes has
// what the lower (upper) byte of their words must be corrected by; an index
// outside of it reads 0:
//
//   magnitude            0 .. 2^m - 1   2^m ........ 127 - s   128 - s .. 127
//                        denormals      normal                 inf, NaN
//   (magnitude + s)%128  s .. s+2^m-1   more                   0 .. s - 1
#ifndef RUY_LIKE_SIMD_WIDEN_FLOAT8_H_
#define RUY_LIKE_SIMD_WIDEN_FLOAT8_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/float8.h"
#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"

#if defined(__SSSE3__)
#include "ruy_like/simd/x86_intrinsics.h"
#elif defined(__ARM_NEON)
#include "ruy_like/simd/neon.h"
#endif

namespace ruy_like::kernels {
namespace {

template <Scalar kFrom>
struct Float8Words {
  static constexpr bool kIsE4M3 = kFrom == Scalar::kE4M3;
  static constexpr int kMantissaBits = kIsE4M3 ? 3 : 2;
  static constexpr int kSpecials = kIsE4M3 ? 1 : 4;
  static constexpr int kUpperShift = 1 + kMantissaBits;
  static constexpr int kLowerShift = 7 - kMantissaBits;
  static constexpr uint8_t kUpperBias = kIsE4M3 ? 0x3c : 0x38;

  static constexpr uint16_t Widen(uint8_t bits) {
    return static_cast<uint16_t>(
        (kIsE4M3 ? float16_internal::FormatE4M3::Widen(bits)
                 : float16_internal::FormatE5M2::Widen(bits)) >>
        16);
  }
  struct Tables {
    // Corrections of the lower and the upper byte, by exclusive or, for the
    // kSpecials greatest magnitudes and the subnormal ones.
    alignas(16) uint8_t lower[16];
    alignas(16) uint8_t upper[16];
    // E4M3: a normal value's upper byte by its sign and three bits of exponent.
    alignas(16) uint8_t e4m3_upper[16];
  };
  static constexpr Tables MakeTables() {
    Tables result = {};
    for (int i = 0; i < 16; ++i) {
      result.e4m3_upper[i] =
          static_cast<uint8_t>(kUpperBias + (i & 7) + (i & 8) * 16);
    }
    for (int i = 0; i < kSpecials + (1 << kMantissaBits); ++i) {
      const int magnitude = (i - kSpecials) & 0x7f;
      const int as_normal = (magnitude << kLowerShift) + (kUpperBias << 8);
      const int wrong = Widen(static_cast<uint8_t>(magnitude)) ^ as_normal;
      result.lower[i] = static_cast<uint8_t>(wrong & 0xff);
      result.upper[i] = static_cast<uint8_t>(wrong >> 8);
    }
    return result;
  }
  static constexpr Tables kTables = MakeTables();
};

// kFloat8Step: bytes that are widened at a time. LookUp: table[index], or 0
// where index is no less than 16 (on x86 where its top bit is set: hence
// kFloat8IndexBias). StoreWords interleaves lower and upper bytes of words,
// whose source was loaded by LoadInOrder.
#if defined(__AVX2__)
constexpr int kFloat8Step = 32;
typedef uint8_t Float8Bytes __attribute__((vector_size(32)));
RUY_LIKE_ALWAYS_INLINE Float8Bytes LoadInOrder(const uint8_t* p) {
  return reinterpret_cast<Float8Bytes>(_mm256_permute4x64_epi64(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), 0xd8));
}
RUY_LIKE_ALWAYS_INLINE Float8Bytes LookUp(const uint8_t* table,
                                          Float8Bytes index) {
  return reinterpret_cast<Float8Bytes>(_mm256_shuffle_epi8(
      _mm256_broadcastsi128_si256(
          _mm_load_si128(reinterpret_cast<const __m128i*>(table))),
      reinterpret_cast<__m256i>(index)));
}
#ifdef __AVX512BW__
typedef uint8_t Float8Bytes64 __attribute__((vector_size(64)));
RUY_LIKE_ALWAYS_INLINE Float8Bytes64 LookUp(const uint8_t* table,
                                            Float8Bytes64 index) {
  return reinterpret_cast<Float8Bytes64>(_mm512_shuffle_epi8(
      _mm512_broadcast_i32x4(
          _mm_load_si128(reinterpret_cast<const __m128i*>(table))),
      reinterpret_cast<__m512i>(index)));
}
#endif
RUY_LIKE_ALWAYS_INLINE void StoreWords(uint16_t* dst, Float8Bytes lower,
                                       Float8Bytes upper) {
  const __m256i a = reinterpret_cast<__m256i>(lower);
  const __m256i b = reinterpret_cast<__m256i>(upper);
  __m256i* const to = reinterpret_cast<__m256i*>(dst);
  _mm256_storeu_si256(to, _mm256_unpacklo_epi8(a, b));
  _mm256_storeu_si256(to + 1, _mm256_unpackhi_epi8(a, b));
}
#elif defined(__SSSE3__) || defined(__ARM_NEON)
constexpr int kFloat8Step = 16;
typedef uint8_t Float8Bytes __attribute__((vector_size(16)));
RUY_LIKE_ALWAYS_INLINE Float8Bytes LoadInOrder(const uint8_t* p) {
  Float8Bytes x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
RUY_LIKE_ALWAYS_INLINE Float8Bytes LookUp(const uint8_t* table,
                                          Float8Bytes index) {
#if defined(__SSSE3__)
  return reinterpret_cast<Float8Bytes>(
      _mm_shuffle_epi8(_mm_load_si128(reinterpret_cast<const __m128i*>(table)),
                       reinterpret_cast<__m128i>(index)));
#else
  return reinterpret_cast<Float8Bytes>(
      vqtbl1q_u8(vld1q_u8(table), reinterpret_cast<uint8x16_t>(index)));
#endif
}
RUY_LIKE_ALWAYS_INLINE void StoreWords(uint16_t* dst, Float8Bytes lower,
                                       Float8Bytes upper) {
  const Float8Bytes words[2] = {
      __builtin_shufflevector(lower, upper, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                              5, 21, 6, 22, 7, 23),
      __builtin_shufflevector(lower, upper, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                              28, 13, 29, 14, 30, 15, 31)};
  __builtin_memcpy(dst, words, sizeof(words));
}
#else
constexpr int kFloat8Step = 1;
#endif

#ifdef __SSSE3__
constexpr uint8_t kFloat8IndexBias = 0x70;
#else
constexpr uint8_t kFloat8IndexBias = 0;
#endif

// The lower and upper bytes of a vector's elements as words.
template <Scalar kFrom, class Vector>
RUY_LIKE_ALWAYS_INLINE void SplitFloat8s(Vector elements, Vector* lower,
                                         Vector* upper) {
  typedef Float8Words<kFrom> Words;
  typedef uint8_t Bytes __attribute__((vector_size(sizeof(Vector))));
  typedef uint16_t Pairs __attribute__((vector_size(sizeof(Vector))));
  const Bytes x = reinterpret_cast<Bytes>(elements);
  const Pairs pairs = reinterpret_cast<Pairs>(elements);
  const Bytes index = ((x + Words::kSpecials) & 0x7f) + kFloat8IndexBias;
  const Bytes wrong = LookUp(Words::kTables.upper, index);
  *lower = reinterpret_cast<Vector>(
      (reinterpret_cast<Bytes>(pairs << Words::kLowerShift) &
       static_cast<uint8_t>(0xff << Words::kLowerShift)) ^
      LookUp(Words::kTables.lower, index));
  const Bytes shifted =
      reinterpret_cast<Bytes>(pairs >> Words::kUpperShift) & 0x0f;
  *upper = reinterpret_cast<Vector>(
      Words::kIsE4M3 ? LookUp(Words::kTables.e4m3_upper, shifted) ^ wrong
                     : ((shifted + Words::kUpperBias) ^ wrong) | (x & 0x80));
}

// `count` elements, rounded up to whole steps: src and dst have room for them.
template <Scalar kFrom>
RUY_LIKE_ALWAYS_INLINE void WidenFloat8s(const uint8_t* src, ptrdiff_t count,
                                         uint16_t* dst) {
#if defined(__SSSE3__) || defined(__ARM_NEON)
  for (ptrdiff_t i = 0; i < count; i += kFloat8Step) {
    Float8Bytes lower, upper;
    SplitFloat8s<kFrom>(LoadInOrder(src + i), &lower, &upper);
    StoreWords(dst + i, lower, upper);
  }
#else
  for (ptrdiff_t i = 0; i < count; ++i) {
    dst[i] = Float8Words<kFrom>::Widen(src[i]);
  }
#endif
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_SIMD_WIDEN_FLOAT8_H_
