// Back-end: the panel kernel of an int8 lhs where it must be widened to int16
// and the multiply-add is two instructions: paths without VNNI.
//
// Included by tables_x86.h, where it takes the place of PanelKernel<>; formats,
// tiles and results are the same. It only runs panel_tile.h's tiles in another
// order, and makes none of its own.
//
// ## Order
//
// Widening in every tile takes ports from the multiplications. Here only the
// first rhs panel's tile widens, and stores what it widened for the others:
//
//      rhs panels of a slice:    p     p+1   p+2   ...
//                             +-----+-----+-----+--
//     chunk of depth, 8 KiB   |     |     |     |     for each tile of rows:
//     of int16 for each       +-----+-----+-----+--     for each chunk:
//     lhs panel               |     |     |     |         p: widens, stores
//                             +-----+-----+-----+--       p+1, ...: read that
//     lhs, packed  int8
//       |  vpmovsxbw
//       +--> registers --> widened: int16, on the stack, stays in L1
//
//     widened  | panel l0, one chunk | l1 ... | l2 ... |   up to 24 KiB
//     partial  | tile at p | at p+1 | at p+2 | ...     |   up to 12 KiB
//
// Between chunks a tile's accumulators lie in `partial`, or in
// KernelArgs::accum where there is one. A block's columns are divided into
// slices that `partial` can hold. Sizes and alternatives: doc/tuning.md, Panel
// kernels.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_WIDEN_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_WIDEN_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_epilogue.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/kernels/panel/panel_rhs.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// RunTile() for 1 to kMaxVectors lhs panels by a whole rhs panel, which store
// the lhs as it is in the registers.
template <class Op, int kMaxVectors, int kRhsWidth>
constexpr auto kWideningTiles = TableOf<TileFn, kMaxVectors>([](auto vectors) {
  return RunTile<Op, PackedRhs<Op, kRhsWidth>, vectors(), kRhsWidth,
                 /*kCopiesLhs=*/true>;
});

template <class V, class Dot, int kMaxVectors, int kRhsWidth>
struct WideningPanelKernel
    : PanelKernel<PairsOp<V, Dot, int8_t>, kMaxVectors, kRhsWidth> {
  typedef PairsOp<V, Dot, int8_t> Op;
  typedef PairsOp<V, Dot, int16_t> WideOp;
  typedef PanelKernel<Op, kMaxVectors, kRhsWidth> Base;
  // For one strip: with the buffers, an epilogue for more rows would need more
  // stack than a thread must have (doc/threading.md).
  typedef IntPanelEpilogue<V, kMaxVectors> StripEpilogue;

  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    Kernel kernel = Base::Entry(name, family, pack_lhs, pack_rhs);
    kernel.run = Run;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const ptrdiff_t panels = (args->cols + kRhsWidth - 1) / kRhsWidth;
    const ptrdiff_t vectors = (args->rows + kLanes - 1) / kLanes;
    const ptrdiff_t others = vectors - Base::SinglePanels(vectors);
    // The widened lhs would be read once, or interleaving gains more.
    if (panels == 1 || others == 0 ||
        (args->depth <= kShallow && Base::RunsPairs(*args))) {
      RunBase(args);
      return;
    }
    const ptrdiff_t slices = (panels + kSlicePanels - 1) / kSlicePanels;
    for (ptrdiff_t slice = 0; slice < slices; ++slice) {
      const ptrdiff_t first = panels * slice / slices;
      RunSlice(*args, others, first, panels * (slice + 1) / slices - first);
    }
    if (others != vectors) RunSinglePanel(*args, others);
  }

 private:
  static constexpr int kLanes = V::kLanes;
  static constexpr int kVectorBytes = kLanes * sizeof(int32_t);
  // Up to this depth interleaving the epilogue with the product
  // (panel_kernel.h) gains more.
  static constexpr ptrdiff_t kShallow = 64;
  static constexpr int kChunkSteps = (8 << 10) / kVectorBytes;
  // One vector more, so that the panels do not share sets of L1.
  static constexpr int kWidenedStride = (kChunkSteps + 1) * kVectorBytes;
  static constexpr int kTileAccums = kMaxVectors * kLanes * kRhsWidth;
  static constexpr int kSlicePanels =
      (12 << 10) / (kTileAccums * static_cast<int>(sizeof(int32_t)));

  struct Buffers {
    alignas(64) char widened[kMaxVectors * kWidenedStride];
    alignas(64) int32_t partial[kTileAccums * kSlicePanels];
    alignas(64) int32_t spilled[kTileAccums];
  };

  // A tile of rows by a slice of rhs panels.
  struct Strip {
    const char* lhs;   // the first of the tile's lhs panels
    int vectors;       // how many
    ptrdiff_t row;     // the first row, in the block
    ptrdiff_t panel;   // the first rhs panel of the slice, in the block
    ptrdiff_t panels;  // how many
    int32_t* accums;   // its sums between chunks and passes
  };

  // Not inlined into Run(): each has buffers of its own, and the stack then
  // holds those of one at a time.
  static RUY_LIKE_NOINLINE void RunBase(const KernelArgs* args) {
    Base::Run(args);
  }

  static RUY_LIKE_NOINLINE void RunSinglePanel(const KernelArgs& args,
                                               ptrdiff_t vector) {
    Base::template RunPanels<1, Base::kSinglePanelCols>(args, vector, 1);
  }

  static RUY_LIKE_NOINLINE void RunSlice(const KernelArgs& args,
                                         ptrdiff_t vectors,
                                         ptrdiff_t first_panel,
                                         ptrdiff_t panels) {
    Buffers buffers;
    const ptrdiff_t steps = args.depth / Op::kDotWidth;
    const ptrdiff_t chunks = (steps + kChunkSteps - 1) / kChunkSteps;
    const ptrdiff_t chunk_steps = (steps + chunks - 1) / chunks;
    const ptrdiff_t first_col = first_panel * kRhsWidth;
    const ptrdiff_t cols_left = args.cols - first_col;
    const ptrdiff_t slice_cols =
        cols_left < panels * kRhsWidth ? cols_left : panels * kRhsWidth;
    Strip strip;
    strip.panel = first_panel;
    strip.panels = panels;
    for (ptrdiff_t vector = 0; vector < vectors; vector += strip.vectors) {
      strip.lhs =
          static_cast<const char*>(args.lhs) + vector * args.lhs_stride_bytes;
      strip.vectors =
          Base::template VectorsOfNextTile<kMaxVectors>(vectors - vector);
      strip.row = vector * kLanes;
      const ptrdiff_t rows_left = args.rows - strip.row;
      StripEpilogue epilogue(args, strip.row,
                             Min(rows_left, strip.vectors * kLanes));
      strip.accums =
          args.accum == nullptr
              ? buffers.partial
              : static_cast<int32_t*>(args.accum) +
                    (first_col * vectors + vector * slice_cols) * kLanes;
      for (ptrdiff_t step = 0; step < steps; step += chunk_steps) {
        const ptrdiff_t left = steps - step;
        RunChunk(args, strip, step, left < chunk_steps ? left : chunk_steps,
                 &buffers, &epilogue);
      }
    }
  }

  // `steps` steps of a strip, from `step` on.
  static void RunChunk(const KernelArgs& args, const Strip& strip,
                       ptrdiff_t step, ptrdiff_t steps, Buffers* buffers,
                       StripEpilogue* epilogue) {
    constexpr const auto& tiles =
        kTileTable<WideOp, PackedRhs<WideOp, kRhsWidth>, kMaxVectors, kRhsWidth>.fns;
    const bool starts = args.first_pass && step == 0;
    const bool finishes =
        args.last_pass && (step + steps) * Op::kDotWidth == args.depth;
    const int tile_rows = strip.vectors * kLanes;
    const int rows = Min(args.rows - strip.row, tile_rows);
    int32_t* accums = strip.accums;
    TileArgs tile;
    tile.steps = steps;
    tile.lhs = strip.lhs + step * kLanes * Op::kDotWidth;
    tile.lhs_stride_bytes = args.lhs_stride_bytes;
    tile.lhs_copy = buffers->widened;
    tile.lhs_copy_stride_bytes = kWidenedStride;
    tile.rhs.stride_bytes = args.rhs_stride_bytes;
    const ptrdiff_t step_bytes =
        kRhsWidth * Op::kDotWidth * sizeof(typename Op::Rhs);
    for (ptrdiff_t i = 0; i < strip.panels; ++i) {
      const ptrdiff_t panel = strip.panel + i;
      const ptrdiff_t col = panel * kRhsWidth;
      const int cols = Min(args.cols - col, kRhsWidth);
      tile.rhs.data = static_cast<const char*>(args.rhs) +
                      panel * args.rhs_stride_bytes + step * step_bytes;
      tile.start = starts ? epilogue->Start(strip.row) : accums;
      tile.start_col_stride = starts ? 0 : tile_rows;
      tile.column_start = starts ? epilogue->ColumnStart(col, cols) : nullptr;
      tile.result = finishes ? buffers->spilled : accums;
      if (i == 0) {  // whole: a slice has two panels or more
        kWideningTiles<Op, kMaxVectors, kRhsWidth>.fns[strip.vectors - 1](tile);
        tile.lhs = buffers->widened;
        tile.lhs_stride_bytes = kWidenedStride;
      } else {
        tiles[strip.vectors - 1][cols - 1](tile);
      }
      if (finishes) {
        epilogue->Store(buffers->spilled, tile_rows, rows, cols, strip.row,
                        col);
      }
      accums += tile_rows * cols;
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_WIDEN_H_
