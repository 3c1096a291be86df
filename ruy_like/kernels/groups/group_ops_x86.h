// Back-end: the operations of group_tile.h for x86, with and without VNNI.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_X86_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_X86_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/groups/group_stream.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

RUY_LIKE_ALWAYS_INLINE __m256i ShiftWordsRight(__m256i x, int count) {
  return _mm256_srli_epi16(x, count);
}
RUY_LIKE_ALWAYS_INLINE void WidenBytes(__m128i x, __m256i* widened) {
  *widened = _mm256_cvtepu8_epi32(x);
}
#ifdef __AVX512F__
RUY_LIKE_ALWAYS_INLINE __m512i ShiftWordsRight(__m512i x, int count) {
  return _mm512_srli_epi16(x, count);
}
RUY_LIKE_ALWAYS_INLINE void WidenBytes(__m128i x, __m512i* widened) {
  *widened = _mm512_cvtepu8_epi32(x);
}
#endif

// What both kinds have in common.
template <class S>
struct X86Dot {
  typedef typename S::Int Int;
  typedef Int Acc;
  typedef Int Weights;
  typedef Int Activations;
  static constexpr int kActivationBytes = 1;
  static RUY_LIKE_ALWAYS_INLINE Int Start(int32_t x) { return S::Set(x); }
  static RUY_LIKE_ALWAYS_INLINE Int Finish(Int acc) { return acc; }
  static RUY_LIKE_ALWAYS_INLINE Int LoadWeights(const uint8_t* p) {
    return S::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Int LoadActivations(const char* p) {
    int32_t quad;
    __builtin_memcpy(&quad, p, sizeof(quad));
    return S::Set(quad);
  }
};

// Quads(acc, u8, s8) sums four products without saturation.
template <class S, class Quads>
struct VnniDot : X86Dot<S> {
  typedef typename S::Int Int;
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, Int weights,
                                          Int activations) {
    acc = Quads::Quads(acc, weights, activations);
    S::HoldInRegister(acc);
  }
};

// 4-bit levels, widened to bytes: the low and the high halves of bytes.
template <class S>
struct SplitNibbles {
  typename S::Int low, high;
  static RUY_LIKE_ALWAYS_INLINE SplitNibbles Load(const uint8_t* p) {
    const typename S::Int both = X86Dot<S>::LoadWeights(p);
    return {S::And(both, S::Set8(0x0f)),
            S::And(ShiftWordsRight(both, 4), S::Set8(0x0f))};
  }
};

// One accumulator for both nibbles.
template <class S, class Quads>
struct VnniNibbles : VnniDot<S, Quads> {
  typedef typename S::Int Int;
  typedef SplitNibbles<S> Weights;
  static constexpr int kStepBytes = 64;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    return Weights::Load(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, const Weights& weights,
                                          Int low, Int high) {
    VnniDot<S, Quads>::Step(acc, weights.low, low);
    VnniDot<S, Quads>::Step(acc, weights.high, high);
  }
};

// The high nibbles are multiplied where they are, which saves a shift, and
// their sums divided by 16 at the group's end: exactly, for groups of up to
// 2^16 levels.
template <class S, class Quads>
struct VnniColumnNibbles : X86Dot<S> {
  typedef typename S::Int Int;
  struct Pair {
    Int low, high;
  };
  typedef Pair Acc;
  typedef Pair Weights;
  static constexpr int kStepBytes = 64;
  static RUY_LIKE_ALWAYS_INLINE Acc Start(int32_t x) {
    return {S::Set(x), S::Zero()};
  }
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    const Int both = X86Dot<S>::LoadWeights(p);
    return {S::And(both, S::Set8(0x0f)),
            S::And(both, S::Set8(static_cast<int8_t>(0xf0)))};
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(Acc& acc, const Weights& weights,
                                          Int low, Int high) {
    acc.low = Quads::Quads(acc.low, weights.low, low);
    acc.high = Quads::Quads(acc.high, weights.high, high);
    S::HoldInRegister(acc.low);
    S::HoldInRegister(acc.high);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Finish(const Acc& acc) {
    return S::Add(acc.low, S::ShiftRightArith(acc.high, S::Set(4)));
  }
};

// Levels of at most 31: two products fit 16 bits.
template <class S>
struct MaddDot4 : X86Dot<S> {
  typedef typename S::Int Int;
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, Int weights,
                                          Int activations) {
    acc = S::Add(acc, S::MultiplyWords(S::MultiplyBytes(weights, activations),
                                       S::Set16(1)));
    S::HoldInRegister(acc);
  }
};

// Any bytes: their products are summed in 32 bits.
template <class S>
struct MaddDot8 : X86Dot<S> {
  typedef typename S::Int Int;
  struct Pair {
    Int even, odd;
  };
  typedef Pair Weights;
  typedef Pair Activations;
  static constexpr int kActivationBytes = 2;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    const Int quads = X86Dot<S>::LoadWeights(p);
    return {S::And(quads, S::Set16(0xff)), ShiftWordsRight(quads, 8)};
  }
  static RUY_LIKE_ALWAYS_INLINE Activations LoadActivations(const char* p) {
    return {X86Dot<S>::LoadActivations(p), X86Dot<S>::LoadActivations(p + 4)};
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, const Weights& weights,
                                          const Activations& activations) {
    acc = S::Add(acc, S::MultiplyWords(weights.even, activations.even));
    S::HoldInRegister(acc);
    acc = S::Add(acc, S::MultiplyWords(weights.odd, activations.odd));
    S::HoldInRegister(acc);
  }
};

template <class S>
struct MaddNibbles : X86Dot<S> {
  typedef typename S::Int Int;
  typedef SplitNibbles<S> Weights;
  static constexpr int kStepBytes = 64;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    return Weights::Load(p);
  }
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, const Weights& weights,
                                          Int low, Int high) {
    const Int words = S::Add16(S::MultiplyBytes(weights.low, low),
                               S::MultiplyBytes(weights.high, high));
    acc = S::Add(acc, S::MultiplyWords(words, S::Set16(1)));
    S::HoldInRegister(acc);
  }
};

// VPSADBW adds up bytes, here with their top bits flipped: 128 more each.
RUY_LIKE_ALWAYS_INLINE __m256i SumFlipped(const __m256i& levels) {
  return _mm256_sad_epu8(_mm256_xor_si256(levels, _mm256_set1_epi8(INT8_MIN)),
                         _mm256_setzero_si256());
}

// The sums of n levels of each of four columns.
RUY_LIKE_ALWAYS_INLINE __m128i SumFourColumns(const int8_t* const columns[4],
                                              ptrdiff_t n) {
  __m256i sums[4];  // of each 8 bytes
  RUY_LIKE_UNROLL
  for (int c = 0; c < 4; ++c) sums[c] = _mm256_setzero_si256();
  ptrdiff_t i = 0;
  for (; i + 32 <= n; i += 32) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < 4; ++c) {
      sums[c] = _mm256_add_epi32(
          sums[c], SumFlipped(_mm256_loadu_si256(
                       reinterpret_cast<const __m256i*>(columns[c] + i))));
    }
  }
  if (i < n) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < 4; ++c) {
      alignas(32) int8_t rest[32] = {};
      // Groups are multiples of 16: but for a short last one, 16 bytes remain,
      // a size that the compiler copies without a call.
      if (n - i == 16) {
        __builtin_memcpy(rest, columns[c] + i, 16);
      } else {
        __builtin_memcpy(rest, columns[c] + i, n - i);
      }
      sums[c] = _mm256_add_epi32(
          sums[c],
          SumFlipped(_mm256_load_si256(reinterpret_cast<__m256i*>(rest))));
    }
    i += 32;
  }
  // Columns 0 1 0 1 of each 128-bit lane, and 2 3 2 3.
  const __m256i low = _mm256_or_si256(sums[0], _mm256_slli_epi64(sums[1], 32));
  const __m256i high = _mm256_or_si256(sums[2], _mm256_slli_epi64(sums[3], 32));
  const __m256i lanes = _mm256_add_epi32(_mm256_unpacklo_epi64(low, high),
                                         _mm256_unpackhi_epi64(low, high));
  return _mm_sub_epi32(_mm_add_epi32(_mm256_castsi256_si128(lanes),
                                     _mm256_extracti128_si256(lanes, 1)),
                       _mm_set1_epi32(static_cast<int32_t>(128 * i)));
}

RUY_LIKE_ALWAYS_INLINE void SetStartsOfFour(const int8_t* values,
                                            ptrdiff_t col_stride, int cols,
                                            ptrdiff_t n, int32_t factor,
                                            int32_t* starts) {
  // Fewer columns than four: the last one again.
  const int8_t* columns[4];
  for (int c = 0; c < 4; ++c) {
    columns[c] = values + (c < cols ? c : cols - 1) * col_stride;
  }
  const __m128i four = _mm_sub_epi32(
      _mm_setzero_si128(),
      _mm_mullo_epi32(SumFourColumns(columns, n), _mm_set1_epi32(factor)));
  if (cols >= 4) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(starts), four);
  } else {
    alignas(16) int32_t values4[4];
    _mm_store_si128(reinterpret_cast<__m128i*>(values4), four);
    for (int c = 0; c < cols; ++c) starts[c] = values4[c];
  }
}

// 512-bit tiles hold their float sums in registers, 256-bit ones can not.
template <class S, class Dot4T, class Dot8T, class ColumnNibblesT,
          class NibblesT, int kPanels, int kCols>
struct X86GroupOps {
  typedef S Simd;
  typedef Dot4T Dot4;
  typedef Dot8T Dot8;
  typedef ColumnNibblesT ColumnNibbles;
  typedef NibblesT Nibbles;
  typedef StreamedBytes<Dot8T> Bytes;
  static constexpr int kTilePanels = kPanels;
  static constexpr int kTileCols = kCols;
  static constexpr bool kFloatsInRegisters = S::kLanes == 16;
  static constexpr bool kInterleavesColumns = false;
  static constexpr bool kSignedLevels = false;
  static constexpr PackFn* kCopyInt8 = PackAvx2_8_S8_1x1;
  static constexpr PackFn* kCopyFloats = PackAvx2_F32_F32_1x1;
  // One panel by 8 columns is slower than two by 4 (doc/tuning.md).
  static constexpr int kStreamCols = S::kLanes == 16 ? 6 : 4;
  static constexpr bool kHasVnni = Dot8T::kActivationBytes == 1;
  // AVX-512-VNNI is no faster with it (doc/tuning.md), AVX-VNNI not measured.
  static constexpr int kTilePrefetchBytes = kHasVnni ? 0 : 2048;
  // Without VNNI, nibbles as packed take three multiplications for a step,
  // widened levels four. With VNNI the widened form's larger tile is faster for
  // many columns (doc/tuning.md).
  static constexpr ptrdiff_t kMaxStreamCols4 = kHasVnni ? 128 : PTRDIFF_MAX;
  // Without VNNI the widened form is as fast from three columns on, and its
  // tiles stay fast where weights come from memory (doc/tuning.md).
  static constexpr ptrdiff_t kMaxStreamCols8 = kHasVnni ? 32 : 2;
  // Measured in doc/tuning.md, but for AVX-VNNI: two panels.
  static constexpr ptrdiff_t kMaxStreamCols4Zeros =
      S::kLanes == 16 ? 20 : (kHasVnni ? 6 : 9);
  static constexpr ptrdiff_t kMaxStreamCols8Zeros = S::kLanes == 16 ? 10 : 6;
  static constexpr int StreamPanels(int cols) {
    return S::kLanes == 16 ? (cols <= 2 ? 4 : 2) : (cols == 1 ? 2 : 1);
  }
  static constexpr int kOneColumnPanels8 = 2;
  static RUY_LIKE_ALWAYS_INLINE void SetStarts(const int8_t* values,
                                               ptrdiff_t col_stride, int cols,
                                               ptrdiff_t n, int32_t factor,
                                               int32_t* starts) {
    for (int c = 0; c < cols; c += 4) {
      // The last four may overlap those before.
      const int first = c + 4 <= cols || cols < 4 ? c : cols - 4;
      SetStartsOfFour(values + first * col_stride, col_stride, cols - first, n,
                      factor, starts + first);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE typename S::Int LoadBytes(const uint8_t* p) {
    typename S::Int widened;
    if constexpr (S::kLanes == 16) {
      WidenBytes(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
                 &widened);
    } else {
      WidenBytes(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)),
                 &widened);
    }
    return widened;
  }
};

// Without VNNI, and with its instructions.
template <class S, int kPanels, int kCols>
using MaddGroupOps = X86GroupOps<S, MaddDot4<S>, MaddDot8<S>, MaddNibbles<S>,
                                 MaddNibbles<S>, kPanels, kCols>;
template <class S, class Quads, int kPanels, int kCols>
using VnniGroupOps = X86GroupOps<S, VnniDot<S, Quads>, VnniDot<S, Quads>,
                                 VnniColumnNibbles<S, Quads>,
                                 VnniNibbles<S, Quads>, kPanels, kCols>;

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_X86_H_
