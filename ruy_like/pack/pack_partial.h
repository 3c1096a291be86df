// Back-end: loads and stores of less than a register, for the edges of packing
// on x86, and the operations that registers of both widths share.
//
// Included by the x86 pack files, each of which gets its own copy (anonymous
// namespace). None of these touches a byte outside of the count that it is
// given: with AVX-512 by masks, else with overlapping scalar loads.
#ifndef RUY_LIKE_PACK_PACK_PARTIAL_H_
#define RUY_LIKE_PACK_PACK_PARTIAL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/simd/simd_avx2.h"
#include "ruy_like/simd/x86_intrinsics.h"

// Hides a register's origin. Clang 14 merges an insert or blend, a permutation
// across lanes and one within lanes into twice as many instructions (8 instead
// of 18 bytes per cycle for rows of 16 bytes).
#define PACK_HIDE(reg) __asm__("" : "+v"(reg))

namespace ruy_like::kernels {
namespace {

RUY_LIKE_ALWAYS_INLINE __m128i Load16(const char* src) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
}

RUY_LIKE_ALWAYS_INLINE __m128i Load8(const char* src) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src));
}

// Byte orders that interleave, within 16 bytes, four rows of 4 bytes or two
// rows of 4 words: column by column afterwards.
RUY_LIKE_ALWAYS_INLINE __m128i InterleaveBytes() {
  return _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}
RUY_LIKE_ALWAYS_INLINE __m128i InterleaveWords() {
  return _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
}

#ifdef __AVX512BW__

template <int kBytes>
void CopyPadded(char* dst, const char* src, int count) {
  if constexpr (kBytes <= 16) {
    const __m128i row = _mm_maskz_loadu_epi8((1u << count) - 1u, src);
    if constexpr (kBytes == 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(dst), row);
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), row);
    }
  } else if constexpr (kBytes == 32) {
    const __mmask32 mask = static_cast<__mmask32>((uint64_t{1} << count) - 1);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                        _mm256_maskz_loadu_epi8(mask, src));
  } else {
    const __mmask64 mask =
        count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    _mm512_storeu_si512(dst, _mm512_maskz_loadu_epi8(mask, src));
  }
}

#else  // __AVX512BW__

template <typename T>
uint64_t LoadBits(const char* src) {
  T value;
  __builtin_memcpy(&value, src, sizeof(T));
  return value;
}

// The first count <= 8 bytes, zeros above. Two loads that overlap cover any
// count down to half of their size.
RUY_LIKE_ALWAYS_INLINE uint64_t LoadPadded8(const char* src, int count) {
  if (count >= 8) return LoadBits<uint64_t>(src);
  if (count >= 4) {
    return LoadBits<uint32_t>(src) | LoadBits<uint32_t>(src + count - 4)
                                         << (8 * (count - 4));
  }
  if (count >= 2) {
    return LoadBits<uint16_t>(src) | LoadBits<uint16_t>(src + count - 2)
                                         << (8 * (count - 2));
  }
  return count == 1 ? LoadBits<uint8_t>(src) : 0;
}

template <int kBytes>
void CopyPadded(char* dst, const char* src, int count) {
  if constexpr (kBytes == 32) {  // rows of floats
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst),
                        _mm256_maskload_epi32(reinterpret_cast<const int*>(src),
                                              Simd256::FirstLanes(count / 4)));
  } else if (kBytes == 16 && count == 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), Load16(src));
  } else if (kBytes == 16 && count >= 8) {
    // Loads that overlap; the shift leaves what `low` does not have.
    const __m128i low = Load8(src), high = Load8(src + count - 8);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(dst),
        _mm_unpacklo_epi64(
            low, _mm_srl_epi64(high, _mm_cvtsi32_si128(8 * (16 - count)))));
  } else {
    const uint64_t bits[] = {LoadPadded8(src, count), 0};
    __builtin_memcpy(dst, bits, kBytes);
  }
}

#endif  // __AVX512BW__

// Operations of both widths; pack_ymm.h explains the terms.
template <class Simd>
struct PackRegisters : Simd {
  typedef typename Simd::Int Reg;
  static constexpr int kColumns = Simd::kLanes;

  // In: v[i] from LoadColumns(i). Out: v[j] holds quad j of all columns. A 4x4
  // transposition of quads in each 128 bits.
  RUY_LIKE_ALWAYS_INLINE static void Transpose(Reg v[4]) {
    Simd::TransposeParts(v);
  }

  // Sums over depth: one 32-bit sum for each column. The elements of a quad are
  // first added up in two 16-bit halves for bytes (SumHalves of a few quads may
  // be added with Add16: each is in [-256, 510]), in 32 bits for words.
  // vpmaddubsw can't saturate here, one factor being 1.
  RUY_LIKE_ALWAYS_INLINE static Reg SumHalvesS8(Reg quads) {
    return Simd::MultiplyBytes(Simd::Set8(1), quads);
  }
  RUY_LIKE_ALWAYS_INLINE static Reg SumHalvesU8(Reg quads) {
    return Simd::MultiplyBytes(quads, Simd::Set8(1));
  }
  RUY_LIKE_ALWAYS_INLINE static Reg SumWords(Reg quads) {
    return Simd::MultiplyWords(quads, Simd::Set16(1));
  }
  RUY_LIKE_ALWAYS_INLINE static Reg LoadSums(const int32_t* sums, int columns) {
    return Simd::LoadMasked(sums, Simd::FirstLanes(columns));
  }
  RUY_LIKE_ALWAYS_INLINE static void StoreSums(int32_t* sums, int columns,
                                               Reg a) {
    Simd::Store(sums, a, columns);
  }

  // Writes one block in the layout F, whose dots are quads, pairs of
  // bytes that may be widened to words, 16-bit floats that are widened, or
  // pairs of BFloat16, in reverse order (panel_format.h).
  template <typename F>
  RUY_LIKE_ALWAYS_INLINE static void StoreBlock(char* dst, const Reg quads[4]) {
    typedef typename F::V V;
    constexpr bool kPairs = F::kDotWidth * F::kSrcBytes == 2;
    constexpr bool kWidened = F::kPackedBytes > F::kSrcBytes;
    static_assert(kPairs || (F::kDotWidth * F::kSrcBytes == 4 && !kWidened));
    constexpr int kBytes = 4 * F::kWidth;
    for (int q = 0; q < 4; ++q) {
      if constexpr (kWidened) {
        StorePanelQuads<F>(dst + 2 * q * kBytes, WidenHalf<F, 0>(quads[q]),
                           false);
        StorePanelQuads<F>(dst + (2 * q + 1) * kBytes,
                           WidenHalf<F, 1>(quads[q]), q == 3);
      } else if constexpr (kPairs) {
        static_assert(F::kWidth == kColumns, "");
        // Depth 0, 1 of all columns, then depth 2, 3 of all columns.
        V::Store(dst + q * kBytes, Simd::EvenWordsFirst(quads[q]));
      } else if constexpr (F::kPacked == Scalar::kBF16) {
        StorePanelQuads<F>(dst + q * kBytes, Simd::SwapWords(quads[q]), q == 3);
      } else {
        StorePanelQuads<F>(dst + q * kBytes, quads[q], q == 3);
      }
    }
  }

 private:
  // The lower (0) or the upper (1) halves of quads, as quads.
  template <typename F, int kHalf>
  RUY_LIKE_ALWAYS_INLINE static Reg WidenHalf(Reg quads) {
    if constexpr (F::Packed::kWidensFloats) {
      typename Simd::Float halves[2];
      Simd::template WidenPairs<F::Packed::kSource>(Simd::AsFloat(quads),
                                                    halves);
      return Simd::BitsOf(halves[kHalf]);
    } else {
      return kHalf == 0 ? F::V::WidenLowPair(quads)
                        : F::V::WidenHighPair(quads);
    }
  }
  // Writes the quads of a panel. Except for the block's last register it may
  // write more, which later stores overwrite.
  template <typename F>
  RUY_LIKE_ALWAYS_INLINE static void StorePanelQuads(char* dst, Reg quads,
                                                     bool last) {
    if constexpr (F::kWidth < kColumns) {
      if (last) return F::V::Store6(dst, quads);
    }
    F::V::Store(dst, quads);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_PARTIAL_H_
