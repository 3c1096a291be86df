// Back-end: narrow products of a lhs that is packed.
//
// Used by tables_x86.h, neon.cc and neondot.cc, which list NarrowPanelKernel<>
// in front of their PanelKernel<>; called by run/blocks.cc through the table
// for products of a few columns whose lhs is in the prepacked cache, was packed
// by the caller, or can't be read in place. The lhs's panels are the ones of
// that PanelKernel: a cached operand serves both.
//
// Reading the lhs is the bound here, which the wide kernel misses for two
// reasons. With one column a tile of 2 or 3 panels has too few accumulators to
// hide the latency of the multiplications; here a tile has kOneColumnVectors
// panels. And most of a rhs panel of 6 or 8 columns is padding, which L1 can't
// hold while the lhs streams through it; here rhs panels are one column wide:
//
//                      rhs columns:  c0   c1
//                                    |    |
//     lhs panel p:     l0  ->       a00  a01      up to kMaxVectors panels
//     lhs panel p + 1: l1  ->       a10  a11      by kMaxCols columns
//     ...
//
// Where int8 is widened, more panels at once would not fit the registers.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_PANELS_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_PANELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// kOneColumnVectors: lhs panels of a tile where there is only one column.
template <class Op, int kOneColumnVectors, int kMaxVectors, int kMaxCols>
struct NarrowPanelKernel : private PanelKernel<Op, kMaxVectors, 1> {
  typedef PanelKernel<Op, kMaxVectors, 1> Base;
  static constexpr int kLanes = Op::Simd::kLanes;

  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    Kernel kernel = Base::Entry(name, family, pack_lhs, pack_rhs);
    kernel.kind = KernelKind::kNarrowPanels;
    kernel.tile_cols = kMaxCols;
    kernel.row_granularity = kernel.tile_rows;
    kernel.max_cols = kMaxCols;
    kernel.row_major_depth = 0;
    kernel.macs_per_ns =
        kNarrowMacsPerNs / static_cast<int>(sizeof(typename Op::Lhs));
    kernel.run = Run;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const ptrdiff_t vectors = (args->rows + kLanes - 1) / kLanes;
    if (args->cols == 1) {
      const ptrdiff_t in_streams =
          args->first_pass && args->last_pass ? RunStreams(*args, vectors) : 0;
      if (in_streams < vectors) {
        Base::template RunPanels<kOneColumnVectors, 1>(*args, in_streams,
                                                       vectors - in_streams);
      }
    } else {
      Base::template RunPanels<kMaxVectors, kMaxCols>(*args, 0, vectors);
    }
  }

 private:
  typedef typename Op::Accum Accum;
  // A stream's sums are collected in segments, one call of the epilogue each.
  static constexpr int kSegmentPanels = 16;
  static constexpr int kSegmentRows = kSegmentPanels * kLanes;

  // One column. The kOneColumnVectors panels of a tile lie far apart, so that
  // memory is read as few long streams. Returns the number of panels done: all
  // but the last few, or none if streams were short.
  static ptrdiff_t RunStreams(const KernelArgs& args, ptrdiff_t vectors) {
    const ptrdiff_t apart =
        vectors / kOneColumnVectors / kSegmentPanels * kSegmentPanels;
    alignas(64) Accum sums[kOneColumnVectors][kSegmentRows];
    alignas(64) Accum tile_sums[kOneColumnVectors * kLanes];
    alignas(64) static constexpr Accum kZeros[kOneColumnVectors * kLanes] = {};
    TileArgs tile = Base::FirstTile(args, 0);
    tile.rhs = PackedRhs<Op, 1>::Columns(args, 0);
    tile.lhs_stride_bytes = apart * args.lhs_stride_bytes;
    tile.start = kZeros;
    tile.result = tile_sums;
    for (ptrdiff_t segment = 0; segment < apart; segment += kSegmentPanels) {
      for (int i = 0; i < kSegmentPanels; ++i) {
        RunTile<Op, PackedRhs<Op, 1>, kOneColumnVectors, 1>(tile);
        tile.lhs = static_cast<const char*>(tile.lhs) + args.lhs_stride_bytes;
        for (int v = 0; v < kOneColumnVectors; ++v) {
          Op::Simd::StoreAligned(sums[v] + i * kLanes,
                                 Op::Simd::LoadAligned(tile_sums + v * kLanes));
        }
      }
      for (int v = 0; v < kOneColumnVectors; ++v) {
        const ptrdiff_t row = (v * apart + segment) * kLanes;
        StoreTile<typename Op::Simd>(
            {sums[v], kSegmentRows, Min(args.rows - row, kSegmentRows),
             /*cols=*/1, row, 0},
            *args.epilogue);
      }
    }
    return apart * kOneColumnVectors;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_PANELS_H_
