// Back-end: the operations of group_tile.h for x86, with and without VNNI.
#ifndef RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_X86_H_
#define RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_X86_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "ruy_like/kernels/groups/group_table.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx2.h"
#include "ruy_like/simd/x86_intrinsics.h"

namespace ruy_like::kernels {
namespace {

// Bytes: a part is four codes of each row.
template <class S>
struct X86Dot : WithoutTable {
  static constexpr int kParts = 2;
  typedef typename S::Int Int;
  typedef Int Acc;
  typedef Int Weights;
  typedef Int Activations;
  static constexpr int kActivationBytes = 1;
  static constexpr bool kHasVnni = false;
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
  static constexpr bool kHasVnni = true;
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, Int weights,
                                          Int activations) {
    acc = Quads::Quads(acc, weights, activations);
    S::HoldInRegister(acc);
  }
};

template <class S, class Dot>
struct X86Nibbles : HalvesOf<Dot> {
  typedef typename HalvesOf<Dot>::Weights Weights;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    const typename S::Int both = X86Dot<S>::LoadWeights(p);
    return {S::And(both, S::Set8(0x0f)),
            S::And(S::ShiftRight16(both, 4), S::Set8(0x0f))};
  }
};
// One accumulator for both halves.
template <class S, class Quads>
using VnniNibbles = X86Nibbles<S, VnniDot<S, Quads>>;

// The high halves are multiplied where they are, which saves a shift, and
// their sums divided by 16 at the group's end: exactly, for groups of up to
// 2^16 codes.
template <class S, class Quads>
struct VnniColumnNibbles : VnniNibbles<S, Quads> {
  typedef typename S::Int Int;
  typedef typename VnniNibbles<S, Quads>::Weights Weights;
  typedef Weights Acc;
  static RUY_LIKE_ALWAYS_INLINE Acc Start(int32_t x) {
    return {S::Set(x), S::Zero()};
  }
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    const Int both = X86Dot<S>::LoadWeights(p);
    return {S::And(both, S::Set8(0x0f)),
            S::And(both, S::Set8(static_cast<int8_t>(0xf0)))};
  }
  template <class Activations>
  static RUY_LIKE_ALWAYS_INLINE void Step(Acc& acc, const Weights& weights,
                                          const Activations& activations) {
    acc.low = Quads::Quads(acc.low, weights.low, activations.low);
    acc.high = Quads::Quads(acc.high, weights.high, activations.high);
    S::HoldInRegister(acc.low);
    S::HoldInRegister(acc.high);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Finish(const Acc& acc) {
    return S::Add(acc.low, S::ShiftRightArith(acc.high, S::Set(4)));
  }
};

// Values of at most 63, whose products are summed in 16 bits: two operations
// for four of them.
template <class S>
struct MaddWords : X86Dot<S> {
  typedef typename S::Int Int;
  typedef Int Words;
  static constexpr bool kSumsWords = true;
  static constexpr int kMaxValue = 63;
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& words, Int weights,
                                          Int activations) {
    words = S::Add16(words, Multiply(weights, activations));
    S::HoldInRegister(words);
  }
  static RUY_LIKE_ALWAYS_INLINE Int Multiply(Int weights, Int activations) {
    return S::MultiplyBytes(weights, activations);
  }
  static RUY_LIKE_ALWAYS_INLINE Int SumOf(Int words) {
    return S::MultiplyWords(words, S::Set16(1));
  }
};

// Words, whose products are summed in 32 bits.
template <class S>
struct MaddDot16 : X86Dot<S> {
  typedef typename S::Int Int;
  static constexpr int kActivationBytes = 2;
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, Int weights,
                                          Int activations) {
    acc = S::Add(acc, S::MultiplyWords(weights, activations));
    S::HoldInRegister(acc);
  }
};
// Any bytes: the even ones as words, then the odd ones.
template <class S>
struct MaddDot8 : HalvesOf<MaddDot16<S>> {
  typedef typename HalvesOf<MaddDot16<S>>::Weights Weights;
  static constexpr int kParts = X86Dot<S>::kParts;
  static RUY_LIKE_ALWAYS_INLINE Weights LoadWeights(const uint8_t* p) {
    const typename S::Int quads = X86Dot<S>::LoadWeights(p);
    return {S::And(quads, S::Set16(0xff)), S::ShiftRight16(quads, 8)};
  }
};

template <class S>
using MaddNibbles = X86Nibbles<S, MaddWords<S>>;

// Values from -127 to 127, by magnitudes of activations: these are the unsigned
// factors, and their signs go to the values, so that two products fit 16 bits:
// 2 * 127 * 128.
template <class S>
struct MaddSignedDot : X86Dot<S> {
  typedef typename S::Int Int;
  static constexpr int kMaxValue = 254;  // less the least one
  static RUY_LIKE_ALWAYS_INLINE void Step(Int& acc, Int values,
                                          Int activations) {
    acc = S::Add(
        acc, S::MultiplyWords(
                 S::MultiplyBytes(S::Magnitudes8(activations),
                                  S::NegateIfNegative8(activations, values)),
                 S::Set16(1)));
    S::HoldInRegister(acc);
  }
};
template <class S>
using MaddSigned = X86Nibbles<S, MaddSignedDot<S>>;

// Two accumulators, as one column has few.
template <class S, class Quads>
struct VnniColumnHalves : VnniColumnNibbles<S, Quads> {
  static RUY_LIKE_ALWAYS_INLINE typename S::Int Finish(
      const typename VnniColumnNibbles<S, Quads>::Acc& acc) {
    return S::Add(acc.low, acc.high);
  }
};

// Codes of a table, as Base multiplies halves of a step.
template <class S, class Base, int kBits>
struct X86ByTable : Base {
  typedef typename S::Int Int;
  static constexpr bool kByTable = true;
  static constexpr int kSteps = 4 / kBits;
  static RUY_LIKE_ALWAYS_INLINE Int LoadTable(const uint8_t* table) {
    return S::LoadEach16(table);
  }
  template <int kStep>
  static RUY_LIKE_ALWAYS_INLINE typename Base::Weights LoadWeights(
      const uint8_t* p, Int table) {
    constexpr int kShift = 2 * kBits * kStep;
    const Int mask = S::Set8((1 << kBits) - 1);
    const Int codes = X86Dot<S>::LoadWeights(p);
    const Int first = kShift == 0 ? codes : S::ShiftRight16(codes, kShift);
    return {S::LookUp16(table, S::And(first, mask)),
            S::LookUp16(table,
                        S::And(S::ShiftRight16(codes, kShift + kBits), mask))};
  }
};

// PackByTable's Codes, of 256 bits on all paths.
template <int kBits>
using X86Lookup =
    X86ByTable<Simd256, X86Nibbles<Simd256, X86Dot<Simd256>>, kBits>;

// VPSADBW adds up bytes, here with their top bits flipped: 128 more each.
RUY_LIKE_ALWAYS_INLINE __m256i SumFlipped(const __m256i& values) {
  return _mm256_sad_epu8(_mm256_xor_si256(values, _mm256_set1_epi8(INT8_MIN)),
                         _mm256_setzero_si256());
}

// The sums of n elements of each of four columns.
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

// The most columns of a tile of codes as they are packed. With AVX-512-VNNI,
// whose multiplications take less time than memory, seven and eight columns are
// worth float sums in L1; of more, tiles of six are faster (doc/tuning.md).
template <class S, class CodesT>
constexpr int kStreamTileCols = S::kLanes != 16    ? 4
                                : CodesT::kHasVnni ? 8
                                                   : 6;

// Codes as they are packed, for few columns. kSigned: they are signed.
template <class S, class CodesT, class OneColumnCodesT, bool kSigned = false>
struct X86StreamForm : GroupForm<S, CodesT, kStreamTileCols<S, CodesT>> {
  typedef OneColumnCodesT OneColumnCodes;
  static constexpr bool kInterleavesColumns = false;
  static constexpr bool kIsSigned = kSigned;
  static constexpr bool kIsBytes = CodesT::kParts == 2;
  static constexpr int TileCols(ptrdiff_t cols) {
    return S::kLanes == 16 && cols > 13 ? 6 : kStreamTileCols<S, CodesT>;
  }
  static constexpr bool FloatsInRegisters(int cols) {
    return S::kLanes == 16 ? cols <= 6 : cols == 1 || !CodesT::kSumsWords;
  }
  static constexpr int Turns(int /*cols*/) { return S::kLanes == 16 ? 1 : 4; }
  static constexpr bool kReadsApart = true;
  static constexpr int Panels(int cols) {
    return kIsBytes && cols == 1 ? 2
           : S::kLanes == 16     ? (cols <= 2 ? 4 : 2)
                                 : (cols == 1 ? 2 : 1);
  }
  // AVX-512 reads one column, or codes of 8 bits, from caches faster without
  // (doc/tuning.md).
  static constexpr bool Prefetches(int cols) {
    return S::kLanes == 8 || (!kIsBytes && cols != 1);
  }
  static constexpr bool HasMemoryTile(int cols) {
    return S::kLanes == 8 ? cols != 1 : !Prefetches(cols);
  }
};

// Codes in bytes. 512-bit tiles hold their float sums in registers, 256-bit
// ones can not.
template <class S, class CodesT, int kPanels, int kCols>
struct X86TileForm : GroupForm<S, CodesT, kCols> {
  static constexpr bool kInterleavesColumns = false;
  static constexpr bool FloatsInRegisters(int /*cols*/) {
    return S::kLanes == 16;
  }
  static constexpr int Panels(int /*cols*/) { return kPanels; }
  // AVX-512-VNNI is no faster with it (doc/tuning.md), AVX-VNNI not measured.
  static constexpr bool Prefetches(int /*cols*/) { return !CodesT::kHasVnni; }
};

// For PackActivations.
struct X86GroupOps {
  static constexpr PackFn* kCopyInt8 = PackAvx2_8_S8_1x1;
  static constexpr PackFn* kCopyFloats = PackAvx2_F32_F32_1x1;
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
};

// Without VNNI nibbles as packed take three operations more for a step of a
// vector of rows than widened codes: these are for many columns. Codes of 8
// bits are as fast by tiles from three columns on, which stay fast where
// weights come from memory (doc/tuning.md). Wide tables take eight, but are
// looked up once for each column.
template <class S, int kPanels, int kCols>
struct MaddGroupKernels {
  typedef X86GroupOps Ops;
  typedef X86StreamForm<S, MaddNibbles<S>, MaddNibbles<S>> Stream4;
  struct Stream8 : X86StreamForm<S, MaddDot8<S>, MaddDot8<S>> {
    static constexpr int kMaxCols = 2;
    static constexpr int TileCols(ptrdiff_t /*cols*/) { return kMaxCols; }
  };
  typedef X86ByTable<S, MaddNibbles<S>, 4> Table4;
  typedef X86StreamForm<S, Table4, Table4> StreamT4;
  typedef X86ByTable<S, MaddSigned<S>, 4> SignedTable4;
  typedef X86StreamForm<S, SignedTable4, SignedTable4, true> StreamSigned4;
  // Sums of 16 bits hold both steps of a byte.
  struct Table2 : X86ByTable<S, MaddNibbles<S>, 2> {
    static constexpr int kMaxValue = 31;
  };
  typedef X86StreamForm<S, Table2, Table2> StreamT2;
  typedef X86TileForm<S, MaddWords<S>, kPanels, kCols> TileWords;
  typedef X86TileForm<S, MaddDot8<S>, kPanels, kCols> Tile8;
  static constexpr int kMacsPerNs = S::kLanes == 16 ? 120 : 80;
  static constexpr int kStreamCols = 16;
  static constexpr Kernel kList[] = {
      GroupEntry<Ops, Stream4>("G4S8", kPackedCodes4, nullptr, kMacsPerNs,
                               kStreamCols),
      GroupEntry<Ops, TileWords>("G4W8S8", kPackedCodes4, PackNibbles<>,
                                 kMacsPerNs),
      GroupEntry<Ops, Stream8>("G8W16", kPackedCodes8, nullptr, kMacsPerNs,
                               Stream8::kMaxCols),
      GroupEntry<Ops, Tile8>("G8W16", kPackedCodes8, nullptr, kMacsPerNs),
      GroupEntry<Ops, StreamT4>("T4S8", kPackedTable4, nullptr, kMacsPerNs,
                                kStreamCols),
      GroupEntry<Ops, StreamT2>("T2S8", kPackedTable2, nullptr, kMacsPerNs,
                                kStreamCols),
      GroupEntry<Ops, StreamSigned4>("T4M8", kPackedTable4, nullptr, kMacsPerNs,
                                     /*max_cols=*/12),
      GroupEntry<Ops, TileWords>("T4W8S8", kPackedTable4,
                                 PackByTable<X86Lookup<4>>, kMacsPerNs),
      GroupEntry<Ops, TileWords>("T2W8S8", kPackedTable2,
                                 PackByTable<X86Lookup<2>>, kMacsPerNs),
      GroupEntry<Ops, Tile8>("T4W8W16", kPackedTable4,
                             PackByTable<X86Lookup<4>>, kMacsPerNs),
      GroupEntry<Ops, Tile8>("T2W8W16", kPackedTable2,
                             PackByTable<X86Lookup<2>>, kMacsPerNs),
  };
};

// With VNNI a larger tile of widened codes is faster for many columns, with 512
// bits from fewer on if codes as they are packed are looked up (doc/tuning.md).
template <class S, class Quads, int kPanels, int kCols>
struct VnniGroupKernels {
  typedef X86GroupOps Ops;
  typedef VnniDot<S, Quads> Dot;
  typedef X86StreamForm<S, VnniNibbles<S, Quads>, VnniColumnNibbles<S, Quads>>
      Stream4;
  typedef VnniNibbles<S, Quads> Halves;
  typedef VnniColumnHalves<S, Quads> OneColumn;
  typedef X86StreamForm<S, X86ByTable<S, Halves, 4>,
                        X86ByTable<S, OneColumn, 4>>
      StreamT4;
  typedef X86StreamForm<S, X86ByTable<S, Halves, 2>,
                        X86ByTable<S, OneColumn, 2>>
      StreamT2;
  typedef X86TileForm<S, Dot, kPanels, kCols> Tile;
  // With 256 bits tiles are as fast (doc/tuning.md).
  typedef std::conditional_t<S::kLanes == 16, X86StreamForm<S, Dot, Dot>, Tile>
      Form8;
  static constexpr int kMacsPerNs = S::kLanes == 16 ? 200 : 120;
  static constexpr Kernel kList[] = {
      GroupEntry<Ops, Stream4>("G4S8", kPackedCodes4, nullptr, kMacsPerNs,
                               /*max_cols=*/128),
      GroupEntry<Ops, Tile>("G4W8S8", kPackedCodes4, PackNibbles<>, kMacsPerNs),
      GroupEntry<Ops, Form8>("G8S8", kPackedCodes8, nullptr, kMacsPerNs),
      GroupEntry<Ops, StreamT4>("T4S8", kPackedTable4, nullptr, kMacsPerNs,
                                /*max_cols=*/S::kLanes == 16 ? 64 : 128),
      GroupEntry<Ops, StreamT2>("T2S8", kPackedTable2, nullptr, kMacsPerNs,
                                /*max_cols=*/S::kLanes == 16 ? 48 : 128),
      GroupEntry<Ops, Tile>("T4W8S8", kPackedTable4, PackByTable<X86Lookup<4>>,
                            kMacsPerNs),
      GroupEntry<Ops, Tile>("T2W8S8", kPackedTable2, PackByTable<X86Lookup<2>>,
                            kMacsPerNs),
  };
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_GROUPS_GROUP_OPS_X86_H_
