// Back-end: the one pack routine behind every layout whose dot width is a
// pair or a quad: the walk over panels and their edges.
//
// Included by pack/avx2.cc, pack/avx512.cc and pack_vectors.h (anonymous
// namespace), which instantiate Pack<Format<...>> per layout, and by
// pack_rows_neon.h, for what Arm's own routines do not pack. What happens to a
// block is in pack_blocks.h.
#ifndef RUY_LIKE_PACK_PACK_PANELS_H_
#define RUY_LIKE_PACK_PACK_PANELS_H_

#include "ruy_like/pack/pack_blocks.h"
#include "ruy_like/pack/pack_common.h"

namespace ruy_like::kernels {
namespace {

// Packs `bytes` source bytes, a multiple of 16, of each column of a whole panel
// of a depth-contiguous source.
template <typename F>
RUY_LIKE_NOINLINE typename F::V::Reg PackColumns(const char* src,
                                                 ptrdiff_t stride,
                                                 ptrdiff_t bytes,
                                                 Transform<F> transform,
                                                 char* dst) {
  typedef typename F::V V;
  constexpr int kStep = V::kBlocksPerStep;
  typename V::Reg sums = V::Zero();
  Columns<F::kWidth> columns(src, stride);
  for (; kStep > 1 && bytes >= 16 * kStep; bytes -= 16 * kStep) {
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
RUY_LIKE_NOINLINE typename F::V::Reg PackEdgeColumns(
    const char* src, ptrdiff_t stride, ptrdiff_t bytes, int columns,
    const Transform<F>& transform, typename F::V::Reg sums, char* dst,
    ptrdiff_t room) {
  alignas(64) char tile[F::V::kColumns * 16];
  ZeroFrom(tile, 16 * columns, 16 * F::kWidth);
  const Columns<F::kWidth> tile_columns(tile, 16);
  const ptrdiff_t all_bytes = bytes;
  for (; bytes > 0; bytes -= 16) {
    if (F::kBlocksOverlap && bytes < 16 && all_bytes > 16) {
      const ptrdiff_t back = 16 - bytes;
      src -= back;
      dst -= back / F::kSrcBytes * F::kWidth * F::kPackedBytes;
      room += back / F::kSrcBytes * F::kWidth * F::kPackedBytes;
      bytes = 16;
    }
    const int count = Min(bytes, 16);
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
  // Bytes from dst to the last panel's end: a block may reach beyond its own.
  ptrdiff_t room = (args->width + F::kWidth - 1) / F::kWidth * panel_bytes;
  for (ptrdiff_t first = 0; first < args->width; first += F::kWidth) {
    const ptrdiff_t rest = args->width - first;
    const int count = Min(rest, F::kWidth);
    const ptrdiff_t whole = count == F::kWidth ? depth_bytes >> 4 : 0;
    ptrdiff_t written = whole * F::kBlockBytes;
    typename V::Reg sums = V::Zero();
    if (whole > 0) {
      sums = PackColumns<F>(src, stride, 16 * whole, transform, dst);
    }
    const ptrdiff_t left = depth_bytes - 16 * whole;
    if (left > 0 && F::kBlocksOverlap) {
      // The last block ends where the panel does.
      const ptrdiff_t end = args->depth * F::kWidth * F::kPackedBytes;
      if (whole > 0) {
        PackColumns<F>(src + depth_bytes - 16, stride, 16, transform,
                       dst + end - F::kBlockBytes);
      } else {
        PackEdgeColumns<F>(src, stride, left, count, transform, sums, dst,
                           room);
      }
      written = end;
    } else if (left > 0) {
      sums = PackEdgeColumns<F>(src + 16 * whole, stride, left, count,
                                transform, sums, dst + written, room - written);
      written = ((depth_bytes + 15) >> 4) * F::kBlockBytes;
    }
    ZeroFrom(dst, written, panel_bytes);
    if (transform.sums) V::StoreSums(args->sums + first, count, sums);
    src += F::kWidth * stride;
    dst += panel_bytes;
    room -= panel_bytes;
  }
}

// Packs kBlocks blocks of a whole panel of a width-contiguous source.
template <typename F, int kBlocks>
RUY_LIKE_ALWAYS_INLINE typename F::V::Reg PackRows(
    const char* src, ptrdiff_t stride, const Transform<F>& transform,
    typename F::V::Reg sums, char* dst) {
  for (int b = 0; b < kBlocks; ++b) {
    typename F::V::Reg quads[1][4];
    LoadRowBlock<F>(src + b * F::kBlockDepth * stride, stride, quads[0]);
    sums = FinishBlocks<F, 1>(quads, transform, sums, dst + b * F::kBlockBytes);
  }
  return sums;
}

// Packs `depth` elements of `columns` columns of a width-contiguous source, the
// edges of depth and width; `room` bytes may be written.
template <typename F>
RUY_LIKE_NOINLINE typename F::V::Reg PackEdgeRows(const char* src,
                                                  ptrdiff_t stride,
                                                  ptrdiff_t depth, int columns,
                                                  const Transform<F>& transform,
                                                  typename F::V::Reg sums,
                                                  char* dst, ptrdiff_t room) {
  constexpr int kRowBytes = F::V::kColumns * F::kSrcBytes;
  for (; depth > 0; depth -= F::kBlockDepth) {
    const int count = Min(depth, F::kBlockDepth);
    alignas(64) char tile[F::kBlockDepth * kRowBytes];
    ZeroFrom(tile, count * kRowBytes, sizeof(tile));
    for (int k = 0; k < count; ++k) {
      CopyPadded<kRowBytes>(tile + k * kRowBytes, src + k * stride,
                            columns * F::kSrcBytes);
    }
    typename F::V::Reg quads[1][4];
    LoadRowBlock<F>(tile, kRowBytes, quads[0]);
    sums =
        FinishEdgeBlock<F>(quads, count, columns, room, transform, sums, dst);
    src += F::kBlockDepth * stride;
    dst += F::kBlockBytes;
    room -= F::kBlockBytes;
  }
  return sums;
}

// Chunks of depth 16, each over all panels: rows are then read from end to
// end, a whole cache line of them soon after its first part, however far apart
// the rows are. The sums live in the caller's array in the meantime.
//
// In longer chunks more rows would compete for a cache set than it has ways.
template <typename F>
void PackWidthContiguous(const PackArgs* args,
                         const Transform<F>& transform_in) {
  typedef typename F::V V;
  constexpr int kChunkDepth = 16;
  const Transform<F> transform = transform_in;
  const ptrdiff_t stride = args->src_stride * F::kSrcBytes;
  const ptrdiff_t depth_bytes = F::kWidth * F::kPackedBytes;
  const ptrdiff_t panel_bytes = args->padded_depth * depth_bytes;
  const ptrdiff_t depth = args->depth;
  const ptrdiff_t width = args->width;
  int32_t* const all_sums = args->sums;
  const char* src = static_cast<const char*>(args->src);
  char* dst = static_cast<char*>(args->dst);
  if (transform.sums) ZeroFrom(reinterpret_cast<char*>(all_sums), 0, 4 * width);
  for (ptrdiff_t k = 0; k < depth; k += kChunkDepth) {
    const ptrdiff_t chunk_depth =
        depth - k < kChunkDepth ? depth - k : kChunkDepth;
    const char* rows = src + k * stride;
    char* panel = dst + k * depth_bytes;
    for (ptrdiff_t first = 0; first < width; first += F::kWidth) {
      const ptrdiff_t rest = width - first;
      const int count = Min(rest, F::kWidth);
      typename V::Reg sums =
          transform.sums ? V::LoadSums(all_sums + first, count) : V::Zero();
      // Whole registers may be read if their columns exist, in the next panel
      // too.
      if (chunk_depth == kChunkDepth && rest >= V::kColumns) {
        sums = PackRows<F, kChunkDepth / F::kBlockDepth>(
            rows, stride, transform, sums, panel);
      } else if (F::kBlockDepth < kChunkDepth && rest >= V::kColumns &&
                 chunk_depth % F::kBlockDepth == 0) {
        for (ptrdiff_t i = 0; i < chunk_depth; i += F::kBlockDepth) {
          sums = PackRows<F, 1>(rows + i * stride, stride, transform, sums,
                                panel + i * depth_bytes);
        }
      } else {
        sums = PackEdgeRows<F>(rows, stride, chunk_depth, count, transform,
                               sums, panel, panel_bytes - k * depth_bytes);
      }
      if (transform.sums) V::StoreSums(all_sums + first, count, sums);
      rows += F::kWidth * F::kSrcBytes;
      panel += panel_bytes;
    }
  }
  constexpr ptrdiff_t kDepth = F::kBlockDepth;
  for (ptrdiff_t first = 0; first < width; first += F::kWidth) {
    ZeroFrom(dst, (depth + kDepth - 1) / kDepth * F::kBlockBytes, panel_bytes);
    dst += panel_bytes;
  }
}

template <typename F>
void Pack(const PackArgs* args) {
  Transform<F> transform;
  const uint32_t shift =
      (F::Packed::kZero - (args->src_scalar == Scalar::kU8 ? 128 : 0)) & 0xff;
  transform.shifts = F::kSrcBytes == 1 && shift != 0;
  transform.shift = F::V::Set(static_cast<int32_t>(shift * 0x01010101u));
  transform.sums = F::Packed::kHasSums && args->sums != nullptr;
  // A single column of adjacent elements has both orders.
  if (args->depth_contiguous || (args->width == 1 && args->src_stride == 1)) {
    PackDepthContiguous<F>(args, transform);
  } else {
    PackWidthContiguous<F>(args, transform);
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_PANELS_H_
