// Back-end: the one pack routine behind every x86 layout whose depth group is
// a pair or a quad (pack_ymm.h says what a quad is).
//
// Included by pack/avx2.cc and pack/avx512.cc (anonymous namespace), which
// instantiate Pack<Format<...>> per layout. Does not know layouts whose group
// is longer than 4 bytes; those are in avx512.cc.
//
// Everything goes through blocks: 16 source bytes of each column of a panel,
// held as four registers of quads. Only loading a block depends on the source's
// order and only writing it depends on the layout:
//
//   depth-contiguous: 16 bytes per column, transposed  \            / as it is
//   width-contiguous: rows of one level, interleaved    > 4 quads --> pairs
//   any edge: copied to a zeroed tile, then as above   /   |        \ widened
//                                                       flip, sums
#ifndef RUY_LIKE_PACK_PACK_PANELS_H_
#define RUY_LIKE_PACK_PACK_PANELS_H_

#include "ruy_like/pack/pack.h"
#include "ruy_like/pack/pack_partial.h"

namespace ruy_like {
namespace kernels {
namespace {

// A packed layout, and the element size of the sources it is made from.
template <typename V_, int kWidth_, Scalar kPacked_, int kGroup_,
          int kSrcBytes_>
struct Format {
  typedef V_ V;
  static constexpr int kWidth = kWidth_;
  static constexpr Scalar kPacked = kPacked_;
  static constexpr int kSrcBytes = kSrcBytes_;
  static constexpr int kPackedBytes =
      kPacked == Scalar::kF32 ? 4 : (kPacked == Scalar::kI16 ? 2 : 1);
  static constexpr bool kHasSums = kPacked != Scalar::kF32;
  // A group is a whole quad, or a pair of bytes that may be widened to words.
  static constexpr bool kPairs = kGroup_ * kSrcBytes == 2;
  static constexpr bool kWidened = kPackedBytes > kSrcBytes;
  static_assert(kPairs || kGroup_ * kSrcBytes == 4, "");
  static_assert(!kWidened || kPairs, "");
  static constexpr int kBlockLevels = 16 / kSrcBytes;
  static constexpr int kBlockBytes = kBlockLevels * kWidth * kPackedBytes;
};

// What happens to all blocks alike.
template <typename F>
struct Transform {
  typename F::V::Reg flip;  // bits to flip in each quad
  bool flips;               // whether there are any
  bool sums;                // whether sums are wanted
};

// Addresses of the columns of a panel. A few bases and two strides, so that
// each column is reached by one addressing mode.
template <int kWidth>
struct Columns {
  static constexpr int kBases = (kWidth + 3) / 4;
  const char* bases[kBases];
  ptrdiff_t stride;
  ptrdiff_t stride3;

  template <int w>
  PACK_INLINE const char* At() const {
    if constexpr (w % 4 == 3) {
      return bases[w / 4] + stride3;
    } else {
      return bases[w / 4] + w % 4 * stride;
    }
  }
  PACK_INLINE void Advance(ptrdiff_t bytes) {
    for (int i = 0; i < kBases; ++i) bases[i] += bytes;
  }
};

template <int kWidth>
PACK_INLINE Columns<kWidth> MakeColumns(const char* src, ptrdiff_t stride) {
  Columns<kWidth> columns;
  for (int i = 0; i < Columns<kWidth>::kBases; ++i) {
    columns.bases[i] = src + 4 * i * stride;
  }
  columns.stride = stride;
  columns.stride3 = 3 * stride;
  return columns;
}

// Loads kBlocks successive blocks of a depth-contiguous source as quads. All
// bytes of a column are fetched before the next columns are touched: columns a
// multiple of 4096 bytes apart compete for the same cache set, where 16 of them
// do not fit.
template <typename F, int kBlocks>
PACK_INLINE void LoadColumnBlocks(const Columns<F::kWidth>& columns,
                                  typename F::V::Reg blocks[kBlocks][4]) {
  typedef typename F::V V;
  constexpr int kWidth = F::kWidth;
  for (int b = 0; b < kBlocks; ++b) {
    blocks[b][0] = V::template LoadColumns<kWidth, 0>(columns, 16 * b);
  }
  for (int b = 0; b < kBlocks; ++b) {
    blocks[b][1] = V::template LoadColumns<kWidth, 1>(columns, 16 * b);
  }
  for (int b = 0; b < kBlocks; ++b) {
    blocks[b][2] = V::template LoadColumns<kWidth, 2>(columns, 16 * b);
  }
  for (int b = 0; b < kBlocks; ++b) {
    blocks[b][3] = V::template LoadColumns<kWidth, 3>(columns, 16 * b);
  }
  for (int b = 0; b < kBlocks; ++b) V::Transpose(blocks[b]);
}

// Loads one block of a width-contiguous source.
template <typename F>
PACK_INLINE void LoadRowBlock(const char* src, ptrdiff_t stride,
                              typename F::V::Reg quads[4]) {
  for (int q = 0; q < 4; ++q) {
    quads[q] = F::V::template LoadRows<F::kSrcBytes>(
        src + q * (4 / F::kSrcBytes) * stride, stride);
  }
}

// Sums of the elements of a block, not yet reduced to one per column (bytes:
// two 16-bit halves, which the sums of 16 blocks still fit).
template <typename F>
PACK_INLINE typename F::V::Reg SumBlock(const typename F::V::Reg quads[4]) {
  typedef typename F::V V;
  if constexpr (F::kSrcBytes == 2) {
    return V::Add32(V::Add32(V::SumWords(quads[0]), V::SumWords(quads[1])),
                    V::Add32(V::SumWords(quads[2]), V::SumWords(quads[3])));
  } else if constexpr (F::kPacked == Scalar::kU8) {
    return V::Add16(
        V::Add16(V::SumHalvesU8(quads[0]), V::SumHalvesU8(quads[1])),
        V::Add16(V::SumHalvesU8(quads[2]), V::SumHalvesU8(quads[3])));
  } else {
    return V::Add16(
        V::Add16(V::SumHalvesS8(quads[0]), V::SumHalvesS8(quads[1])),
        V::Add16(V::SumHalvesS8(quads[2]), V::SumHalvesS8(quads[3])));
  }
}

// Adds the elements of kBlocks blocks to the sums.
template <typename F, int kBlocks>
PACK_INLINE typename F::V::Reg AddSums(
    typename F::V::Reg sums, const typename F::V::Reg blocks[kBlocks][4]) {
  typedef typename F::V V;
  typename V::Reg total = SumBlock<F>(blocks[0]);
  for (int b = 1; b < kBlocks; ++b) {
    const typename V::Reg more = SumBlock<F>(blocks[b]);
    total = F::kSrcBytes == 2 ? V::Add32(total, more) : V::Add16(total, more);
  }
  return V::Add32(sums, F::kSrcBytes == 2 ? total : V::SumWords(total));
}

// Writes the leading kWidth quads of a register. Unless it is the block's last
// one, more may be written, over what comes next and is written later.
template <int kWidth, typename V>
PACK_INLINE void StorePanelQuads(char* dst, typename V::Reg quads, bool last) {
  if constexpr (kWidth == V::kColumns) {
    V::Store(dst, quads);
  } else if (last) {
    V::Store6(dst, quads);
  } else {
    V::Store(dst, quads);
  }
}

// Writes one block, kBlockBytes in all.
template <typename F>
PACK_INLINE void StoreBlock(char* dst, const typename F::V::Reg quads[4]) {
  typedef typename F::V V;
  constexpr int kWidth = F::kWidth;
  constexpr int kBytes = 4 * kWidth;
  for (int q = 0; q < 4; ++q) {
    if constexpr (F::kWidened) {
      StorePanelQuads<kWidth, V>(dst + 2 * q * kBytes,
                                 V::WidenLowPair(quads[q]), false);
      StorePanelQuads<kWidth, V>(dst + (2 * q + 1) * kBytes,
                                 V::WidenHighPair(quads[q]), q == 3);
    } else if constexpr (F::kPairs) {
      static_assert(kWidth == V::kColumns, "");
      V::Store(dst + q * kBytes, V::SplitPairs(quads[q]));
    } else {
      StorePanelQuads<kWidth, V>(dst + q * kBytes, quads[q], q == 3);
    }
  }
}

// Flips, sums up and writes kBlocks whole blocks; returns the new sums.
template <typename F, int kBlocks>
PACK_INLINE typename F::V::Reg FinishBlocks(
    typename F::V::Reg blocks[kBlocks][4], const Transform<F>& transform,
    typename F::V::Reg sums, char* dst) {
  typedef typename F::V V;
  if (F::kSrcBytes == 1 && transform.flips) {
    for (int b = 0; b < kBlocks; ++b) {
      for (int q = 0; q < 4; ++q) {
        blocks[b][q] = V::Xor(blocks[b][q], transform.flip);
      }
    }
  }
  if constexpr (F::kHasSums) {
    if (transform.sums) sums = AddSums<F, kBlocks>(sums, blocks);
  }
  for (int b = 0; b < kBlocks; ++b) {
    StoreBlock<F>(dst + b * F::kBlockBytes, blocks[b]);
  }
  return sums;
}

// The same for one block of which only `levels` levels of `columns` columns are
// there, the others being zero and staying so; writes only `room` bytes of it
// if they are fewer than a block has.
template <typename F>
PACK_INLINE typename F::V::Reg FinishEdgeBlock(
    typename F::V::Reg quads[1][4], int levels, int columns, ptrdiff_t room,
    Transform<F> transform, typename F::V::Reg sums, char* dst) {
  typedef typename F::V V;
  if (F::kSrcBytes == 1 && transform.flips) {
    const typename V::Reg flip = V::And(transform.flip, V::ColumnMask(columns));
    for (int q = 0; q < 4; ++q) {
      const int count = levels - 4 * q;
      const uint32_t present =
          count >= 4 ? ~0u : (count <= 0 ? 0u : (1u << (8 * count)) - 1u);
      quads[0][q] = V::Xor(quads[0][q], V::And(flip, V::Splat(present)));
    }
  }
  transform.flips = false;
  if (room >= F::kBlockBytes) {
    return FinishBlocks<F, 1>(quads, transform, sums, dst);
  }
  alignas(64) char block[F::kBlockBytes];
  sums = FinishBlocks<F, 1>(quads, transform, sums, block);
  __builtin_memcpy(dst, block, static_cast<size_t>(room));
  return sums;
}

// Packs `bytes` source bytes, a multiple of 16, of each column of a whole panel
// of a depth-contiguous source.
template <typename F>
PACK_NOINLINE typename F::V::Reg PackColumns(const char* src, ptrdiff_t stride,
                                             ptrdiff_t bytes,
                                             Transform<F> transform,
                                             char* dst) {
  typedef typename F::V V;
  constexpr int kStep = V::kBlocksPerStep;
  typename V::Reg sums = V::Zero();
  Columns<F::kWidth> columns = MakeColumns<F::kWidth>(src, stride);
  for (; bytes >= 16 * kStep; bytes -= 16 * kStep) {
    typename V::Reg blocks[kStep][4];
    LoadColumnBlocks<F, kStep>(columns, blocks);
    sums = FinishBlocks<F, kStep>(blocks, transform, sums, dst);
    columns.Advance(16 * kStep);
    dst += kStep * F::kBlockBytes;
  }
  for (; bytes > 0; bytes -= 16) {
    typename V::Reg blocks[1][4];
    LoadColumnBlocks<F, 1>(columns, blocks);
    sums = FinishBlocks<F, 1>(blocks, transform, sums, dst);
    columns.Advance(16);
    dst += F::kBlockBytes;
  }
  return sums;
}

// Packs `bytes` source bytes of each of `columns` depth-contiguous columns, the
// edges of depth and width; `room` bytes may be written.
template <typename F>
PACK_NOINLINE typename F::V::Reg PackEdgeColumns(const char* src,
                                                 ptrdiff_t stride,
                                                 ptrdiff_t bytes, int columns,
                                                 Transform<F> transform,
                                                 typename F::V::Reg sums,
                                                 char* dst, ptrdiff_t room) {
  alignas(64) char tile[F::V::kColumns * 16] = {};
  const Columns<F::kWidth> tile_columns = MakeColumns<F::kWidth>(tile, 16);
  for (; bytes > 0; bytes -= 16) {
    const int count = bytes < 16 ? static_cast<int>(bytes) : 16;
    for (int w = 0; w < columns; ++w) {
      CopyPadded<16>(tile + 16 * w, src + w * stride, count);
    }
    typename F::V::Reg quads[1][4];
    LoadColumnBlocks<F, 1>(tile_columns, quads);
    sums = FinishEdgeBlock<F>(quads, count / F::kSrcBytes, columns, room,
                              transform, sums, dst);
    src += 16;
    dst += F::kBlockBytes;
    room -= F::kBlockBytes;
  }
  return sums;
}

PACK_INLINE void ZeroFrom(char* dst, ptrdiff_t written, ptrdiff_t size) {
  if (written < size) {
    __builtin_memset(dst + written, 0, static_cast<size_t>(size - written));
  }
}

// Panel after panel, each over the whole depth.
template <typename F>
void PackDepthContiguous(const PackArgs* args, const Transform<F>& transform) {
  typedef typename F::V V;
  const ptrdiff_t stride = args->src_stride * F::kSrcBytes;
  const ptrdiff_t depth_bytes = args->depth * F::kSrcBytes;
  const ptrdiff_t panel_bytes =
      args->padded_depth * F::kWidth * F::kPackedBytes;
  const char* src = static_cast<const char*>(args->src);
  char* dst = static_cast<char*>(args->dst);
  for (ptrdiff_t first = 0; first < args->width; first += F::kWidth) {
    const ptrdiff_t rest = args->width - first;
    const int count = rest < F::kWidth ? static_cast<int>(rest) : F::kWidth;
    const ptrdiff_t whole = count == F::kWidth ? depth_bytes / 16 : 0;
    ptrdiff_t written = whole * F::kBlockBytes;
    typename V::Reg sums =
        PackColumns<F>(src, stride, 16 * whole, transform, dst);
    if (16 * whole < depth_bytes) {
      sums = PackEdgeColumns<F>(src + 16 * whole, stride,
                                depth_bytes - 16 * whole, count, transform,
                                sums, dst + written, panel_bytes - written);
      written = (depth_bytes + 15) / 16 * F::kBlockBytes;
    }
    ZeroFrom(dst, written, panel_bytes);
    if (transform.sums) V::StoreSums(args->sums + first, count, sums);
    src += F::kWidth * stride;
    dst += panel_bytes;
  }
}

// Packs kBlocks blocks of a whole panel of a width-contiguous source.
template <typename F, int kBlocks>
PACK_INLINE typename F::V::Reg PackRows(const char* src, ptrdiff_t stride,
                                        const Transform<F>& transform,
                                        typename F::V::Reg sums, char* dst) {
  for (int b = 0; b < kBlocks; ++b) {
    typename F::V::Reg quads[1][4];
    LoadRowBlock<F>(src + b * F::kBlockLevels * stride, stride, quads[0]);
    sums = FinishBlocks<F, 1>(quads, transform, sums, dst + b * F::kBlockBytes);
  }
  return sums;
}

// Packs `levels` levels of `columns` columns of a width-contiguous source, the
// edges of depth and width; `room` bytes may be written.
template <typename F>
PACK_NOINLINE typename F::V::Reg PackEdgeRows(const char* src, ptrdiff_t stride,
                                              ptrdiff_t levels, int columns,
                                              Transform<F> transform,
                                              typename F::V::Reg sums,
                                              char* dst, ptrdiff_t room) {
  constexpr int kRowBytes = F::V::kColumns * F::kSrcBytes;
  for (; levels > 0; levels -= F::kBlockLevels) {
    const int count =
        levels < F::kBlockLevels ? static_cast<int>(levels) : F::kBlockLevels;
    alignas(64) char tile[F::kBlockLevels * kRowBytes] = {};
    for (int k = 0; k < count; ++k) {
      CopyPadded<kRowBytes>(tile + k * kRowBytes, src + k * stride,
                            columns * F::kSrcBytes);
    }
    typename F::V::Reg quads[1][4];
    LoadRowBlock<F>(tile, kRowBytes, quads[0]);
    sums =
        FinishEdgeBlock<F>(quads, count, columns, room, transform, sums, dst);
    src += F::kBlockLevels * stride;
    dst += F::kBlockBytes;
    room -= F::kBlockBytes;
  }
  return sums;
}

// Chunks of 16 levels, each over all panels: rows are then read from end to
// end, a whole cache line of them soon after its first part, however far apart
// the rows are. The sums live in the caller's array in the meantime.
template <typename F>
void PackWidthContiguous(const PackArgs* args,
                         const Transform<F>& transform_in) {
  typedef typename F::V V;
  constexpr int kChunkLevels = 16;
  const Transform<F> transform = transform_in;
  const ptrdiff_t stride = args->src_stride * F::kSrcBytes;
  const ptrdiff_t level_bytes = F::kWidth * F::kPackedBytes;
  const ptrdiff_t panel_bytes = args->padded_depth * level_bytes;
  const ptrdiff_t depth = args->depth;
  const ptrdiff_t width = args->width;
  int32_t* const all_sums = args->sums;
  const char* src = static_cast<const char*>(args->src);
  char* dst = static_cast<char*>(args->dst);
  if (transform.sums) ZeroFrom(reinterpret_cast<char*>(all_sums), 0, 4 * width);
  for (ptrdiff_t k = 0; k < depth; k += kChunkLevels) {
    const ptrdiff_t levels =
        depth - k < kChunkLevels ? depth - k : kChunkLevels;
    const char* rows = src + k * stride;
    char* panel = dst + k * level_bytes;
    for (ptrdiff_t first = 0; first < width; first += F::kWidth) {
      const ptrdiff_t rest = width - first;
      const int count = rest < F::kWidth ? static_cast<int>(rest) : F::kWidth;
      typename V::Reg sums =
          transform.sums ? V::LoadSums(all_sums + first, count) : V::Zero();
      // Whole registers may be read where the columns are there, the next
      // panel's included.
      if (levels == kChunkLevels && rest >= V::kColumns) {
        sums = PackRows<F, kChunkLevels / F::kBlockLevels>(
            rows, stride, transform, sums, panel);
      } else {
        sums = PackEdgeRows<F>(rows, stride, levels, count, transform, sums,
                               panel, panel_bytes - k * level_bytes);
      }
      if (transform.sums) V::StoreSums(all_sums + first, count, sums);
      rows += F::kWidth * F::kSrcBytes;
      panel += panel_bytes;
    }
  }
  constexpr ptrdiff_t kLevels = F::kBlockLevels;
  for (ptrdiff_t first = 0; first < width; first += F::kWidth) {
    ZeroFrom(dst, (depth + kLevels - 1) / kLevels * F::kBlockBytes,
             panel_bytes);
    dst += panel_bytes;
  }
}

template <typename F>
void Pack(const PackArgs* args) {
  Transform<F> transform;
  // 16-bit elements made of bytes are signed, as packed S8 ones are.
  const Scalar unflipped =
      F::kPacked == Scalar::kU8 ? Scalar::kU8 : Scalar::kI8;
  transform.flips = F::kSrcBytes == 1 && args->src_scalar != unflipped;
  transform.flip = F::V::Splat(0x80808080u);
  transform.sums = F::kHasSums && args->sums != nullptr;
  // A single column of adjacent elements has both orders.
  if (args->depth_contiguous || (args->width == 1 && args->src_stride == 1)) {
    PackDepthContiguous<F>(args, transform);
  } else {
    PackWidthContiguous<F>(args, transform);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_PACK_PACK_PANELS_H_
