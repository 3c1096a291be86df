// Back-end: blocks, the pieces in which layouts with short dots are
// packed. (Those of depth 64: pack_tiles.h.)
//
// Included by pack_panels.h, which walks over matrices; anonymous namespace.
// Does not know where a block lies in its matrix, nor the PackArgs.
//
// A block is 16 source bytes of each column of a panel, held as four registers
// of quads (pack_ymm.h says what a quad is). Only loading it depends on the
// source's order and only writing it depends on the layout: StoreBlock() of the
// register type (pack_quads.h, pack_partial.h).
//
//   depth-contiguous: 16 bytes per column, transposed  \            / as it is
//   width-contiguous: rows of one depth, interleaved    > 4 quads --> pairs
//   any edge: copied to a zeroed tile, then as above   /   |        \ widened
//                                                     shift, sums
#ifndef RUY_LIKE_PACK_PACK_BLOCKS_H_
#define RUY_LIKE_PACK_PACK_BLOCKS_H_

#include "ruy_like/pack/pack_common.h"

namespace ruy_like::kernels {
namespace {

// A packed layout, and the element size of the sources it is made from.
template <typename V_, int kWidth_, typename Packed_, int kDotWidth_,
          int kSrcBytes_>
struct Format {
  typedef V_ V;
  typedef Packed_ Packed;
  static constexpr int kWidth = kWidth_;
  static constexpr int kDotWidth = kDotWidth_;
  static constexpr Scalar kPacked = Packed::kScalar;
  static constexpr int kSrcBytes = kSrcBytes_;
  static constexpr int kPackedBytes = Packed::kBytes;
  static constexpr int kBlockDepth = 16 / kSrcBytes;
  static constexpr int kBlockBytes = kBlockDepth * kWidth * kPackedBytes;
  // Depth positions are rows of a panel, and there are no sums: the last block
  // of a depth that is no whole number of them may begin within the one before.
  static constexpr bool kBlocksOverlap = kDotWidth == 1 && !Packed::kHasSums;
};

// The transformation of every block.
template <typename F>
struct Transform {
  typename F::V::Reg shift;  // what is added to each byte, modulo 256
  bool shifts;               // whether it is not 0
  bool sums;                 // whether sums are wanted
};

// Addresses of the columns of a panel. A few bases and two strides, so that
// each column is reached by one addressing mode.
template <int kWidth>
struct Columns {
  static constexpr int kBases = (kWidth + 3) / 4;
  const char* bases[kBases];
  const ptrdiff_t stride, stride3;

  RUY_LIKE_ALWAYS_INLINE Columns(const char* src, ptrdiff_t column_stride)
      : stride(column_stride), stride3(3 * column_stride) {
    for (int i = 0; i < kBases; ++i) bases[i] = src + 4 * i * stride;
  }
  RUY_LIKE_ALWAYS_INLINE const char* At(int w) const {
    return bases[w / 4] + (w % 4 == 3 ? stride3 : w % 4 * stride);
  }
  RUY_LIKE_ALWAYS_INLINE void Advance(ptrdiff_t bytes) {
    for (int i = 0; i < kBases; ++i) bases[i] += bytes;
  }
};

// Loads kBlocks successive blocks of a depth-contiguous source as quads. All
// bytes of a column are fetched before the next columns are touched: columns a
// multiple of 4096 bytes apart compete for the same cache set, where 16 of them
// do not fit.
template <typename F, int kBlocks>
RUY_LIKE_ALWAYS_INLINE void LoadColumnBlocks(
    const Columns<F::kWidth>& columns, typename F::V::Reg blocks[kBlocks][4]) {
  typedef typename F::V V;
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4; ++i) {
    RUY_LIKE_UNROLL
    for (int b = 0; b < kBlocks; ++b) {
      blocks[b][i] = V::template LoadColumns<F::kWidth>(columns, i, 16 * b);
    }
  }
  for (int b = 0; b < kBlocks; ++b) V::Transpose(blocks[b]);
}

// Loads one block of a width-contiguous source.
template <typename F>
RUY_LIKE_ALWAYS_INLINE void LoadRowBlock(const char* src, ptrdiff_t stride,
                                         typename F::V::Reg quads[4]) {
  for (int q = 0; q < 4; ++q) {
    quads[q] = F::V::template LoadRows<F::kSrcBytes>(
        src + q * (4 / F::kSrcBytes) * stride, stride);
  }
}

// Sums of the elements of one quad and of several, not yet one sum per column:
// of bytes there are two 16-bit halves, in which the sums of 16 blocks fit.
template <typename F>
RUY_LIKE_ALWAYS_INLINE typename F::V::Reg SumQuads(typename F::V::Reg quads) {
  if constexpr (F::kSrcBytes == 2) {
    return F::V::SumWords(quads);
  } else if constexpr (F::kPacked == Scalar::kU8) {
    return F::V::SumHalvesU8(quads);
  } else {
    return F::V::SumHalvesS8(quads);
  }
}
template <typename F>
RUY_LIKE_ALWAYS_INLINE typename F::V::Reg AddPartial(typename F::V::Reg a,
                                                     typename F::V::Reg b) {
  return F::kSrcBytes == 2 ? F::V::Add(a, b) : F::V::Add16(a, b);
}

// Adds the elements of kBlocks blocks to the sums.
template <typename F, int kBlocks>
RUY_LIKE_ALWAYS_INLINE typename F::V::Reg AddSums(
    typename F::V::Reg sums, const typename F::V::Reg blocks[kBlocks][4]) {
  typedef typename F::V V;
  typename V::Reg total = V::Zero();
  for (int b = 0; b < kBlocks; ++b) {
    const typename V::Reg more = AddPartial<F>(
        AddPartial<F>(SumQuads<F>(blocks[b][0]), SumQuads<F>(blocks[b][1])),
        AddPartial<F>(SumQuads<F>(blocks[b][2]), SumQuads<F>(blocks[b][3])));
    total = b == 0 ? more : AddPartial<F>(total, more);
  }
  return V::Add(sums, F::kSrcBytes == 2 ? total : V::SumWords(total));
}

// Shifts, sums up and writes kBlocks whole blocks; returns the new sums.
template <typename F, int kBlocks>
RUY_LIKE_ALWAYS_INLINE typename F::V::Reg FinishBlocks(
    typename F::V::Reg blocks[kBlocks][4], const Transform<F>& transform,
    typename F::V::Reg sums, char* dst) {
  typedef typename F::V V;
  if (F::kSrcBytes == 1 && transform.shifts) {
    for (int b = 0; b < kBlocks; ++b) {
      for (int q = 0; q < 4; ++q) {
        blocks[b][q] = V::Add8(blocks[b][q], transform.shift);
      }
    }
  }
  if constexpr (F::Packed::kHasSums) {
    if (transform.sums) sums = AddSums<F, kBlocks>(sums, blocks);
  }
  for (int b = 0; b < kBlocks; ++b) {
    V::template StoreBlock<F>(dst + b * F::kBlockBytes, blocks[b]);
  }
  return sums;
}

// The same for one block at an edge: only `depth` elements of `columns` columns
// exist, the others are zero and stay so. Writes at most `room` bytes.
template <typename F>
RUY_LIKE_ALWAYS_INLINE typename F::V::Reg FinishEdgeBlock(
    typename F::V::Reg quads[1][4], int depth, int columns, ptrdiff_t room,
    Transform<F> transform, typename F::V::Reg sums, char* dst) {
  typedef typename F::V V;
  if (F::kSrcBytes == 1 && transform.shifts) {
    const typename V::Reg shift =
        V::And(transform.shift, V::ColumnMask(columns));
    for (int q = 0; q < 4; ++q) {
      const int count = depth - 4 * q;
      const int32_t present =
          count >= 4 ? -1 : (count <= 0 ? 0 : (1 << (8 * count)) - 1);
      quads[0][q] = V::Add8(quads[0][q], V::And(shift, V::Set(present)));
    }
  }
  transform.shifts = false;
  if (room >= F::kBlockBytes) {
    return FinishBlocks<F, 1>(quads, transform, sums, dst);
  }
  alignas(64) char block[F::kBlockBytes];
  sums = FinishBlocks<F, 1>(quads, transform, sums, block);
  // Else GCC, which knows that it is small, copies by `rep movs`: 30 cycles.
  __asm__("" : "+r"(room));
  __builtin_memcpy(dst, block, static_cast<size_t>(room));
  return sums;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_BLOCKS_H_
