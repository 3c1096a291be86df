// Back-end: products of few columns whose lhs is contiguous along its rows
// instead of depth, read in place.
//
// Included by tables_x86.h and the Arm per-ISA files, which list
// NarrowByDepthKernel<> in front of their panel kernels; called by
// run/blocks.cc through the table: a column-major lhs and a few columns, or,
// with sides swapped, a few rows and a row-major matrix, as the keys and values
// of attention lie in a cache. Depth is not split.
//
// Rows are in the lanes of a vector as they lie. Floats need no more; of bytes
// and words a few depth positions are interleaved in registers (narrow_ops.h).
// Float sums run in order of depth: results are the panel kernel's, bit for
// bit. What matters is the order in which memory is read. A vector of rows over
// the whole depth touches another page in every step. So a strip of rows has
// its sums in an array in L1, to which a few depth positions at a time are
// added:
//
//                     rows of the strip ->
//      sums          |s s s s|s s s s|s s s s| ...      loaded and stored
//                        ^
//      lhs, depth k  |a a a a|a a a a|a a a a| ...  x b[k]      one stream
//           depth k+1|a a a a|a a a a|a a a a| ...  x b[k+1]    each
//           ...                                             b: in registers
//
// At most 8 positions: where these are a multiple of 4096 bytes apart, their
// lines share one set of L1, which may have no more ways.
//
// If rows are so few that their sums fit registers, or positions lie close to
// each other, tiles of rows keep their sums in registers over all of depth.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_BY_DEPTH_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_BY_DEPTH_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_depth.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Op: NarrowFloatsOp, or of bytes NarrowQuadsOp, NarrowPairsOp, or Arm's
// NarrowBytesOp. FlippedOp: FlippedQuadsOp where it saves the lhs's sums.
// kLargeCols: columns up to which a large lhs is read in place.
template <class Op, int kMaxCols = kMaxNarrowCols, class FlippedOp = Op,
          int kLargeCols = kMaxCols>
struct NarrowByDepthKernel {
  typedef typename Op::Simd V;
  typedef DepthOf<Op> Depth;
  typedef typename Op::Accum Accum;
  static constexpr int kDepth = Depth::kDepth;
  // Columns at once, with the one of ones: their sums take half of the
  // registers.
  static constexpr int kColsAtOnce =
      Min(kLargeCols,
          V::kLanes == 16 && kDepth == 4
              ? 5
              : Min(4, kHalfOfRegisters<V> / (kDepth == 1 ? 2 : kDepth)));

  // The kernel's line in its path's table. pack_rhs makes panels of one column.
  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_rhs) {
    Kernel kernel = NarrowInPlaceEntry(
        name, family, Op::kLhsScalar,
        {Op::kRhsScalar, /*in_place=*/false, /*width=*/1, /*dot_width=*/1,
         /*depth_multiple=*/kDepth},
        kTileRows, pack_rhs, Run);
    kernel.macs_per_ns /= static_cast<int>(sizeof(typename Op::Lhs));
    kernel.lhs.by_depth = true;
    kernel.tile_cols = kernel.max_cols = kLargeCols;
    kernel.max_cols_of_small_lhs = kMaxCols;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const int32_t zero_point = args->epilogue->rhs_zero_point;
    if (FlippedOp::kFlips && zero_point == 128) {
      Multiply<FlippedOp>(*args, /*with_ones=*/false);
    } else {
      Multiply<Op>(*args, !Depth::kCentres && zero_point != 0);
    }
  }

 private:
  static constexpr int kTileRows =
      Op::kStep < 64 && kDepth == 1 ? 64 : Op::kStep;
  static constexpr int kMaxSums = 4096;
  static constexpr ptrdiff_t kDotBytes = 4;  // of the rhs
  // Depth that is added for all columns before the next are read: with the
  // sums they fit L1.
  static constexpr int kStretchDepth = 8;
  // Depth positions at most this many bytes apart are read in tiles of a few
  // rows.
  static constexpr ptrdiff_t kMostTiledStride = 512;

  template <class O>
  static void Multiply(const KernelArgs& args, bool with_ones) {
    alignas(64) Accum sums[kMaxSums];
    const int cols = static_cast<int>(args.cols);
    const int all_cols = cols + (with_ones ? 1 : 0);
    const int strip = kMaxSums / all_cols / kTileRows * kTileRows;
    Accum start[kMaxNarrowCols + 1] = {};
    if constexpr (O::kFlips) {
      for (int c = 0; c < cols; ++c) start[c] = FlippedStart(args, c);
    }
    for (ptrdiff_t row = 0; row < args.rows; row += strip) {
      const int rows = Min(args.rows - row, strip);
      RunStrip<O>(args, row, rows, strip, all_cols, start, sums);
      if constexpr (!Depth::kCentres) {
        if (with_ones) {
          // The lhs's sums lie behind those of the last column.
          SubtractRowSums<V>(args.epilogue->rhs_zero_point, sums + cols * strip,
                             rows, cols, strip, sums);
        }
      }
      StoreTile<typename V::Base>({sums, strip, rows, cols, row, 0},
                                  *args.epilogue);
    }
  }

  // The start of a column's sums with flipped bits: -128 times the sum of
  // its elements, modulo 2^32. Of a dot that lacks elements the rhs has zeros,
  // which become -128, and the lhs's zeros become 128.
  static int32_t FlippedStart(const KernelArgs& args, int col) {
    const char* const packed =
        static_cast<const char*>(args.rhs) + col * args.rhs_stride_bytes;
    const ptrdiff_t padded = (args.depth + kDepth - 1) / kDepth * kDepth;
    return static_cast<int32_t>(
        128 * (128 * static_cast<uint32_t>(padded) -
               static_cast<uint32_t>(SumColumn<Op>(packed, padded))));
  }

  // The whole depth of a strip of rows.
  template <class O>
  static void RunStrip(const KernelArgs& args, ptrdiff_t row, int rows,
                       int strip, int all_cols, const Accum* start,
                       Accum* sums) {
    static constexpr int32_t kOnes = 0x01010101;
    const auto& first_fns =
        *kDepthFns<O, kColsAtOnce>.fns[Min(all_cols, kColsAtOnce) - 1];
    const bool in_tiles = rows <= first_fns.most_steps * Op::kStep ||
                          (args.lhs_stride_bytes <= kMostTiledStride &&
                           (kDepth != 2 || first_fns.most_steps > 1));
    const ptrdiff_t stretch =
        in_tiles || all_cols <= kColsAtOnce ? args.depth : kStretchDepth;
    DepthArgs<Accum> part;
    part.lhs_stride = args.lhs_stride_bytes;
    part.rhs_zero_point = args.epilogue->rhs_zero_point;
    part.rows = rows;
    part.sums_stride = strip;
    if (!in_tiles) Clear(rows, strip, all_cols, start, sums);
    for (ptrdiff_t k = 0; k < args.depth; k += stretch) {
      for (int col = 0; col < all_cols; col += kColsAtOnce) {
        const int cols = Min(all_cols - col, kColsAtOnce);
        part.depth = args.depth - k < stretch ? args.depth - k : stretch;
        part.lhs = static_cast<const char*>(args.lhs) +
                   k * args.lhs_stride_bytes +
                   row * static_cast<ptrdiff_t>(sizeof(typename Op::Lhs));
        part.last_rhs_step = kDotBytes;
        for (int c = 0; c < cols; ++c) {
          part.rhs[c] = static_cast<const char*>(args.rhs) +
                        (col + c) * args.rhs_stride_bytes +
                        k / kDepth * kDotBytes;
          part.start[c] = start[col + c];
        }
        if (col + cols > args.cols) {
          part.rhs[cols - 1] = reinterpret_cast<const char*>(&kOnes);
          part.last_rhs_step = 0;
        }
        part.sums = sums + col * strip;
        const auto& fns = *kDepthFns<O, kColsAtOnce>.fns[cols - 1];
        if (in_tiles) {
          RunTiles<O>(fns, cols, part);
        } else {
          fns.add(part);
        }
      }
    }
    if (in_tiles) return;
    for (int c = 0; c < all_cols; ++c) PutInOrder(rows, sums + c * strip);
  }

  // Sums of whole steps of rows, as they are interleaved.
  static void Clear(int rows, int strip, int all_cols, const Accum* start,
                    Accum* sums) {
    const int end = (rows + Op::kStep - 1) / Op::kStep * Op::kStep;
    for (int c = 0; c < all_cols; ++c) {
      for (int r = 0; r < end; r += V::kLanes) {
        V::StoreAligned(sums + c * strip + r, Depth::SetAll(start[c]));
      }
    }
  }

  template <class O>
  static void RunTiles(const DepthFnsOf<O>& fns, int cols,
                       const DepthArgs<Accum>& strip) {
    DepthArgs<Accum> args = strip;
    const int rows = strip.rows;
    for (int row = 0; row < rows;) {
      int steps = Min((rows - row + Op::kStep - 1) / Op::kStep, fns.most_steps);
      if constexpr (!Depth::kMasks) {
        // The last rows may be multiplied twice.
        steps = PowerOf2UpTo(Min((rows - row) / Op::kStep, fns.most_steps));
        if (row + Op::kStep > rows && rows >= Op::kStep) row = rows - Op::kStep;
      }
      args.lhs =
          strip.lhs + row * static_cast<ptrdiff_t>(sizeof(typename Op::Lhs));
      args.rows = Min(rows - row, steps * Op::kStep);
      args.sums = strip.sums + row;
      fns.tiles[steps - 1](args);
      row += steps * Op::kStep;
      for (int c = 0; c < cols; ++c) {
        PutInOrder(steps * Op::kStep, args.sums + c * strip.sums_stride);
      }
    }
  }

  // A column's sums, from the order of interleaved elements to that of rows.
  static void PutInOrder(int rows, Accum* sums) {
    constexpr int kParts = V::kLanes / 4;  // of a vector
    if constexpr (kParts == 1 || kDepth == 1) return;
    struct Part {
      Accum lanes[4];
    };
    for (int row = 0; row < rows; row += Op::kStep) {
      Part parts[kDepth * kParts];
      __builtin_memcpy(parts, sums + row, sizeof(parts));
      for (int i = 0; i < kDepth * kParts; ++i) {
        __builtin_memcpy(sums + row + 4 * i,
                         parts + (i % kDepth * kParts + i / kDepth),
                         sizeof(Part));
      }
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_BY_DEPTH_H_
