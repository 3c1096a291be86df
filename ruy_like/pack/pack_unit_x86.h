// Back-end: units of 16 source bytes on x86, in which pack_narrow.h packs
// columns. Only widening needs AVX2.
#ifndef RUY_LIKE_PACK_PACK_UNIT_X86_H_
#define RUY_LIKE_PACK_PACK_UNIT_X86_H_

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_partial.h"

namespace ruy_like::kernels {
namespace {

struct X86Unit {
  typedef __m128i Reg;

  RUY_LIKE_ALWAYS_INLINE static Reg Zero() { return _mm_setzero_si128(); }
  RUY_LIKE_ALWAYS_INLINE static Reg Load(const char* src) {
    return Load16(src);
  }
  // Copies count <= 16 bytes and zeros behind them, 16 in all.
  static void CopyPadded(char* dst, const char* src, int count) {
    kernels::CopyPadded<16>(dst, src, count);
  }

  // The elements of the lower (upper) halves of a and b, alternating.
  template <int kBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg InterleaveLow(Reg a, Reg b) {
    return kBytes == 1   ? _mm_unpacklo_epi8(a, b)
           : kBytes == 2 ? _mm_unpacklo_epi16(a, b)
                         : _mm_unpacklo_epi32(a, b);
  }
  template <int kBytes>
  RUY_LIKE_ALWAYS_INLINE static Reg InterleaveHigh(Reg a, Reg b) {
    return kBytes == 1   ? _mm_unpackhi_epi8(a, b)
           : kBytes == 2 ? _mm_unpackhi_epi16(a, b)
                         : _mm_unpackhi_epi32(a, b);
  }

  // Flips the top bits of the first n bytes.
  RUY_LIKE_ALWAYS_INLINE static Reg FlipFirst(Reg unit, int n) {
    const Reg index =
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const Reg present =
        _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(n)), index);
    return _mm_xor_si128(
        unit, _mm_and_si128(present, _mm_set1_epi8(static_cast<char>(0x80))));
  }

  // Elements of kBytes bytes as packed: bytes may become 16-bit elements,
  // 16-bit floats become floats.
  template <int kBytes, class Packed>
  RUY_LIKE_ALWAYS_INLINE static void Store(char* dst, Reg unit) {
    if constexpr (Packed::kWidensFloats) {
      _mm256_storeu_ps(reinterpret_cast<float*>(dst),
                       Simd256::Widen<Packed::kSource>(unit));
    } else if constexpr (Packed::kBytes > kBytes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                          _mm256_cvtepi8_epi16(unit));
    } else {
      // Pairs in reverse order (panel_format.h).
      if constexpr (Packed::kScalar == Scalar::kBF16) {
        unit = _mm_or_si128(_mm_slli_epi32(unit, 16), _mm_srli_epi32(unit, 16));
      }
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), unit);
    }
  }

  // Adds a unit's elements to four 32-bit sums. vpmaddubsw can't saturate with
  // one factor 1.
  template <int kBytes, Scalar kPacked>
  RUY_LIKE_ALWAYS_INLINE static Reg AddSums(Reg sums, Reg unit) {
    const Reg one = _mm_set1_epi8(1);
    if constexpr (kBytes == 1 && kPacked == Scalar::kU8) {
      unit = _mm_maddubs_epi16(unit, one);
    } else if constexpr (kBytes == 1) {
      unit = _mm_maddubs_epi16(one, unit);
    }
    return _mm_add_epi32(sums, _mm_madd_epi16(unit, _mm_set1_epi16(1)));
  }
  RUY_LIKE_ALWAYS_INLINE static int32_t LaneSum(Reg x) {
    x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 1)));
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_UNIT_X86_H_
