// Back-end: products of a few columns with lanes along depth, the lhs read in
// place: integers, and floats whose sums may be taken in any order.
//
// Used by tables_x86.h and the Arm per-ISA files, which list NarrowDotsKernel<>
// for their SIMD width and multiply instructions in front of the packed kernels
// of its family; called by run/blocks.cc through that table. For so few columns
// packing the lhs would cost more than the product: here each of its elements
// comes from memory once, where it lies. It handles depth-contiguous lhs only,
// and depth that is not split into passes. Float sums in order of depth are
// narrow_float.h's.
//
// ## Dot products
//
// Both sides are contiguous along depth, so that lanes run along depth, in
// steps of a vector. A tile is kDotRows rows by a few columns; when the rows'
// own sums are wanted they take the place of one column:
//
//                     rhs column c:   [k .. k+n) [k+n .. k+2n) ...
//                                         |
//     lhs row r:  [k .. k+n) ...  ->  acc[c][r]    1, 2 or 4 products a lane
//
// The sums over lanes are made for the rows of a tile together, at the end, and
// collected for the epilogue in a tile of more rows:
//
//            c = 0     c = 1   ...   c = cols-1   lhs sums
//     r = 0 |         |         |              |            |
//     ...   |         |         |              |            |
//     15    |         |         |              |            |
//
// Where a tile has more rows than the block, the last one is read again and its
// result dropped. The tiles of a single column have a row of each of
// narrow_row_streams.h's streams.
//
// The rhs is packed into panels of one column. Those of integers are padded to
// whole vectors with zeros, so that only the last vector of a lhs row needs
// care; of other columns, and of one that is read in place too, the elements
// after the last whole vector are copied.
//
// Partial sums of floats lie in the lanes of one vector, of a single column in
// those of two, so that at least eight multiply-adds are under way. What is
// added in which order follows from the depth and the number of columns alone:
// not from the row's place in a block, nor from blocks and threads.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_DOTS_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_DOTS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_dot_tile.h"
#include "ruy_like/kernels/narrow/narrow_row_streams.h"
#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// The tiles of a single column, for RowStreamRunner<>. kSums: there is an rhs
// zero point, and the sums of the rows are needed.
template <class Op, bool kSums>
struct ColumnTiles {
  typedef typename Op::Accum Accum;

  const KernelArgs& args;
  const char* rest;  // DotArgs::rest

  RUY_LIKE_NOINLINE void Run(const StreamTiles& tiles, Accum* sums) const {
    // Copied: compilers would read them again after each store.
    const ptrdiff_t segment_rows = tiles.segment_rows;
    const ptrdiff_t stride = args.lhs_stride_bytes;
    alignas(16) Accum results[kDotRows];
    const char* rows[kDotRows];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kDotRows; ++r) rows[r] = tiles.rows[r];
    DotArgs<Accum> dots;
    dots.rhs = static_cast<const char*>(args.rhs);
    dots.rest = rest;
    dots.rhs_stride = dots.rest_stride = dots.result_stride = 0;
    dots.depth = args.depth;
    dots.result = results;
    dots.rhs_zero_point = args.epilogue->rhs_zero_point;
    for (Accum* const end = sums + tiles.count; sums != end; ++sums) {
      MultiplyRows<Op, 1, kSums, /*kPrefetched=*/0>(rows, dots);
      RUY_LIKE_UNROLL
      for (int r = 0; r < kDotRows; ++r) {
        sums[r * segment_rows] = results[r];
        rows[r] += stride;
      }
    }
  }
};

// MultiplyRows() for 1 .. kMaxCols columns.
template <class Op>
using DotFn = void(const char* const (&rows)[kDotRows],
                   const DotArgs<typename Op::Accum>& args);
template <class Op, bool kSums, int kPrefetched, int kMaxCols>
constexpr auto kDots = TableOf<DotFn<Op>, kMaxCols>([](auto cols) {
  return MultiplyRows<Op, cols(), kSums, kPrefetched>;
});

template <class Op>
struct NarrowDotsKernel {
  typedef typename Op::Simd V;
  typedef typename Op::Accum Accum;
  typedef typename Op::Rhs Rhs;
  // From five columns on the order of float sums costs nothing.
  static constexpr int kMaxCols = Op::kIsFloat ? 4 : kMaxNarrowCols;
  static constexpr int kMaxVectors =
      Op::kIsFloat ? kMaxCols : V::kDotVectors / kDotRows;
  // Rows whose results are collected for one call of the epilogue.
  static constexpr int kCollectedRows = Op::kIsFloat ? 64 : 16;
  // From one column to the next: the last tile may store two rows too many.
  static constexpr int kResultStride = kCollectedRows + (Op::kIsFloat ? 16 : 0);
  // A float lhs of more bytes is prefetched; otherwise that is slower
  // (doc/tuning.md).
  static constexpr ptrdiff_t kCachedFloats = 6 << 20;

  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_rhs, int max_cols = kMaxCols) {
    Kernel kernel =
        NarrowInPlaceEntry(name, family, Op::kLhsScalar,
                           {Op::kRhsScalar, /*in_place=*/false, /*width=*/1,
                            /*dot_width=*/Op::kStep < 16 ? Op::kStep : 16,
                            /*depth_multiple=*/Op::kStep},
                           16, pack_rhs, RunPadded);
    kernel.tile_cols = kernel.max_cols = max_cols;
    return kernel;
  }
  // The same of floats, whose columns are not padded.
  static constexpr Kernel AnyOrderEntry(const char* name,
                                        PackFn* pack_rhs = nullptr) {
    Kernel kernel =
        NarrowFloatEntry(name, /*rhs_width=*/1, kDotRows, pack_rhs, Run);
    kernel.lhs.dot_width = V::kLanes;  // of elements; only for the name
    kernel.any_order = true;
    kernel.tile_cols = kernel.max_cols = kMaxCols;
    return kernel;
  }
  // The same of a single column in place, of the type that the operation reads.
  // Packing one took 401 of 5576 instructions for a lhs of 64 x 256 (SDOT).
  static constexpr Kernel ColumnEntry(const char* name,
                                      int dot_width = Op::kStep) {
    Kernel kernel =
        Op::kIsFloat ? AnyOrderEntry(name) : Entry(name, Family::k8x8, nullptr);
    kernel.lhs.dot_width = dot_width;  // only for the name
    kernel.rhs = {Op::kRhsScalar, /*in_place=*/true, 0, 0, 0};
    kernel.tile_rows = kernel.row_granularity = kDotRows;
    kernel.tile_cols = kernel.max_cols = 1;
    kernel.run = Run;
    return kernel;
  }

  // The rhs in panels that are padded with zeros to whole steps.
  static void RunPadded(const KernelArgs* args) {
    const ptrdiff_t whole = args->depth / Op::kStep * Op::kStep;
    Multiply(*args, static_cast<const char*>(args->rhs) + whole * sizeof(Rhs),
             args->rhs_stride_bytes);
  }

  // Columns without padding.
  static void Run(const KernelArgs* args) {
    const int rest = static_cast<int>(args->depth % Op::kStep);
    const ptrdiff_t whole = args->depth - rest;
    alignas(64) char padded[kMaxUnpadded][Op::kStep * sizeof(Rhs)] = {};
    for (int c = 0; c < kMaxUnpadded && c < args->cols && rest > 0; ++c) {
      const char* const column =
          static_cast<const char*>(args->rhs) + c * args->rhs_stride_bytes;
      __builtin_memcpy(padded[c], column + whole * sizeof(Rhs),
                       rest * sizeof(Rhs));
    }
    if constexpr (!Op::kIsFloat) {
      const EpilogueArgs& epilogue = *args->epilogue;
      if (epilogue.lhs_zero_point != 0) {
        // A column in place comes without its sum.
        EpilogueArgs with_sum = epilogue;
        with_sum.zero_point_product = static_cast<int32_t>(
            static_cast<uint32_t>(epilogue.zero_point_product) -
            static_cast<uint32_t>(epilogue.lhs_zero_point) *
                static_cast<uint32_t>(SumColumn<Op>(args->rhs, args->depth)));
        KernelArgs with_epilogue = *args;
        with_epilogue.epilogue = &with_sum;
        return Multiply(with_epilogue, padded[0], 0);
      }
    }
    Multiply(*args, padded[0], sizeof(padded[0]));
  }

 private:
  // Columns that may be without padding.
  static constexpr int kMaxUnpadded = Op::kIsFloat ? kMaxCols : 1;

  static void Multiply(const KernelArgs& args, const char* rest,
                       ptrdiff_t rest_stride) {
    if (args.cols > 1) return MultiplyColumns(args, rest, rest_stride);
    if constexpr (!Op::kIsFloat) {
      if (HasSums(args)) {
        ColumnTiles<Op, true> tiles = {args, rest};
        return RowStreamRunner<V, Accum, ColumnTiles<Op, true>>(args, &tiles)
            .Run();
      }
    }
    ColumnTiles<Op, false> tiles = {args, rest};
    RowStreamRunner<V, Accum, ColumnTiles<Op, false>>(args, &tiles).Run();
  }

  static void MultiplyColumns(const KernelArgs& args, const char* rest,
                              ptrdiff_t rest_stride) {
    alignas(64) Accum collected[(kMaxCols + 1) * kResultStride];
    if (!Op::kIsFloat) __builtin_memset(collected, 0, sizeof(collected));
    Accum* const sums = collected + kMaxCols * kResultStride;
    const int cols = static_cast<int>(args.cols);
    const int tile_rows = TileRows(cols);
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const ptrdiff_t ahead =
        Op::kIsFloat ? tile_rows * stride : PrefetchDistance(stride);
    DotArgs<Accum> dots;
    dots.rest_stride = rest_stride;
    dots.rhs_stride = args.rhs_stride_bytes;
    dots.depth = args.depth;
    dots.result_stride = kResultStride;
    for (ptrdiff_t row = 0; row < args.rows; row += kCollectedRows) {
      const int rows = Min(args.rows - row, kCollectedRows);
      for (int r = 0; r < rows; r += tile_rows) {
        dots.rhs = static_cast<const char*>(args.rhs);
        dots.rest = rest;
        dots.result = collected + r;
        dots.sums = sums + r;
        MultiplyTile(args, row + r, ahead, &dots);
      }
      if constexpr (!Op::kIsFloat) {
        if (HasSums(args)) {
          SubtractRowSums<V>(args.epilogue->rhs_zero_point, sums,
                             kCollectedRows, cols, kResultStride, collected);
        }
      }
      StoreTile<typename V::Base>(
          {collected, kResultStride, rows, cols, row, 0}, *args.epilogue);
    }
  }

  static RUY_LIKE_ALWAYS_INLINE int TileRows(int cols) {
    return Op::kIsFloat && cols == kMaxCols ? kTileRows<Op, kMaxCols>
                                            : kDotRows;
  }

  // A tile's rows, from `row` on, and all columns. `ahead`: bytes from them to
  // what is prefetched.
  static RUY_LIKE_ALWAYS_INLINE void MultiplyTile(const KernelArgs& args,
                                                  ptrdiff_t row,
                                                  ptrdiff_t ahead,
                                                  DotArgs<Accum>* dots) {
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const char* rows[kDotRows];
    rows[0] = static_cast<const char*>(args.lhs) + row * stride;
    dots->prefetch[0] = rows[0] + ahead;
    for (int r = 1; r < kDotRows; ++r) {
      rows[r] = rows[r - 1] + (row + r < args.rows ? stride : 0);
      dots->prefetch[r] = rows[r] + ahead;
    }
    const int cols = static_cast<int>(args.cols);
    if constexpr (Op::kIsFloat) {
      return (args.rows * stride > kCachedFloats
                  ? kDots<Op, false, kDotRows, kMaxCols>.fns
                  : kDots<Op, false, 0, kMaxCols>.fns)[cols - 1](rows, *dots);
    } else {
      int next;
      if (HasSums(args)) {
        next = NextColumns<kMaxVectors - 1>(cols);
        (next == cols
             ? kDots<Op, true, kDotRows, kMaxVectors - 1>.fns
             : kDots<Op, true, 1, kMaxVectors - 1>.fns)[next - 1](rows, *dots);
      } else {
        next = NextColumns<kMaxVectors>(cols);
        (next == cols
             ? kDots<Op, false, kDotRows, kMaxVectors>.fns
             : kDots<Op, false, 1, kMaxVectors>.fns)[next - 1](rows, *dots);
      }
      int tile = 1;
      for (int col = next; col < cols; col += next) {
        // Prefetches are spread over the tiles, a row each.
        dots->prefetch[0] = tile < kDotRows ? dots->prefetch[tile] : rows[0];
        ++tile;
        dots->rhs += next * dots->rhs_stride;
        dots->rest += next * dots->rest_stride;
        dots->result += next * kResultStride;
        next = NextColumns<kMaxVectors>(cols - col);
        kDots<Op, false, 1, kMaxVectors>.fns[next - 1](rows, *dots);
      }
    }
  }

  static RUY_LIKE_ALWAYS_INLINE bool HasSums(const KernelArgs& args) {
    return !Op::kIsFloat && args.epilogue->rhs_zero_point != 0;
  }

  // Columns of the next tile: the `left` ones are divided evenly.
  template <int kMax>
  static RUY_LIKE_ALWAYS_INLINE int NextColumns(int left) {
    const int tiles = (left + kMax - 1) / kMax;
    return tiles == 1 ? left : (left + tiles - 1) / tiles;
  }

  // Hardware prefetchers stop at a row's end, or at the next 4 KiB, so what
  // lies about 16 KiB ahead is prefetched: the next four rows if they have 4
  // KiB each.
  static RUY_LIKE_ALWAYS_INLINE ptrdiff_t PrefetchDistance(ptrdiff_t stride) {
    constexpr ptrdiff_t kBytes = 16384;
    const ptrdiff_t tile_bytes = kDotRows * stride;
    if (tile_bytes >= 2 * kBytes) return kBytes / kDotRows;
    return tile_bytes >= kBytes
               ? tile_bytes
               : (kBytes + tile_bytes - 1) / tile_bytes * tile_bytes;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_DOTS_H_
