// Back-end: the kernel over packed panels, one source for x86 and Arm.
//
// Included by the per-ISA files, which instantiate PanelKernel<> for their SIMD
// width and multiply instructions and list the result in their table; called by
// run/blocks.cc through that table with pieces of dst (kernels/kernel.h). The
// lhs is packed, the rhs packed or in place (panel_rhs.h); narrow kernels,
// which read the lhs in place, are elsewhere.
//
// ## Register tile
//
// A lhs panel is as wide as a vector has 32-bit lanes: one row of dst per lane.
// A tile is up to kMaxVectors lhs panels by up to kRhsWidth columns, each of
// its accumulators one register. Per step of depth kDotWidth:
//
//                  rhs panel:  r0   r1   ...  r7     dot of a column,
//                              |    |         |      broadcast
//     lhs panel p:     l0  ->  a00  a01  ...  a07
//     lhs panel p + 1: l1  ->  a10  a11  ...  a17
//     lhs panel p + 2: l2  ->  a20  a21  ...  a27
//
//    512 bits: 3 x 8 = 24 accumulators + 3 lhs + 1 rhs + 1 product = 29 of 32
//    256 bits: 2 x 6 = 12 accumulators + 2 lhs + 1 rhs + 1 product = 16 of 16
//
// A rhs panel stays in the L1 cache while the lhs panels of the block stream by
// from L2. A tile of a single lhs panel is kSinglePanelWidth rhs panels wide,
// two on x86, as it else has too few accumulators to hide the latency of the
// multiplication, and too many loads. Each element of dst is summed in order of
// depth in one accumulator, so that a float result depends on nothing but its
// own row and column.
//
// ## Deferred epilogue
//
// In the common calls (panel_epilogue.h) panels are taken in pairs. A tile's
// accumulators go to a buffer, from which they are finished two columns at a
// time between the steps of the next tile, for instance at depth 32 and with
// vpdpbusd:
//
//    product of tile i:    2 steps   2 steps   2 steps   2 steps   spill
//    epilogue of i - 1:            c 0,1     c 2,3     c 4,5     c 6,7
//
// Shallow products, whose epilogue takes as long as the multiplications, gain
// most: 6.4 instead of 10.4 cycles a vector at depth 32 (doc/tuning.md).
//
// ## Saved accumulators
//
// Between passes over depth, tiles lie in `accum` in the order in which they
// are visited, each one column-major, as the epilogue wants it.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_KERNEL_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/kernels/panel/panel_rhs.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

template <class Op, int kMaxVectors, int kRhsWidth,
          class RhsSource = PackedRhs<Op, kRhsWidth>>
struct PanelKernel {
  typedef typename Op::Accum Accum;
  typedef typename Op::Epilogue Epilogue;
  static constexpr int kLanes = Op::Simd::kLanes;
  static constexpr int kTileRows = kMaxVectors * kLanes;
  static constexpr int kSinglePanelCols = Op::kSinglePanelWidth * kRhsWidth;

  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    Kernel kernel = {};
    kernel.name = name;
    kernel.family = family;
    kernel.kind = RhsSource::kFormat.in_place ? KernelKind::kRhsInPlace
                                              : KernelKind::kPanels;
    kernel.lhs = {internal::ScalarOf<typename Op::Lhs>(),
                  /*in_place=*/false,
                  kLanes,
                  Op::kDotWidth * Op::kSubSteps,
                  Op::kDepthMultiple,
                  Op::kLhsRange};
    kernel.rhs = RhsSource::kFormat;
    kernel.tile_rows = kTileRows;
    kernel.tile_cols = kRhsWidth;
    kernel.row_granularity = kMaxVectors == 3 ? 2 * kLanes : kTileRows;
    kernel.max_rows = Op::kMaxRows;
    kernel.row_major_depth =
        RhsSource::kFormat.in_place          ? (kLanes < 8 ? 40 : 32)
        : Op::kLhsRange == ValueRange::kInt7 ? 256
                                             : kNotRowMajor;
    kernel.macs_per_ns =
        5 * kLanes * Op::kDotWidth;  // two instructions a cycle at 2.5 GHz
    kernel.pack_lhs = pack_lhs;
    kernel.pack_rhs = pack_rhs;
    kernel.run = Run;
    return kernel;
  }

  RUY_LIKE_HOT_KERNEL static void Run(const KernelArgs* args) {
    const ptrdiff_t vectors = (args->rows + kLanes - 1) / kLanes;
    const ptrdiff_t others = vectors - SinglePanels(vectors);
    if (others != 0) RunPanels<kMaxVectors, kRhsWidth>(*args, 0, others);
    if (others != vectors) RunPanels<1, kSinglePanelCols>(*args, others, 1);
  }

 protected:
  // 1 if the last of `vectors` lhs panels is a tile of its own, else 0: an odd
  // number is cut into 3 + 2 + 2 + ... unless tiles have at most two panels.
  static RUY_LIKE_ALWAYS_INLINE int SinglePanels(ptrdiff_t vectors) {
    return vectors == 1 || (kMaxVectors == 2 && vectors % 2 == 1);
  }

  // True if tiles are pairs of panels, each interleaved with the epilogue of
  // the one before.
  static RUY_LIKE_ALWAYS_INLINE bool RunsPairs(const KernelArgs& args) {
    return args.first_pass && args.last_pass &&
           Epilogue::CanDefer(*args.epilogue);
  }

  // Lhs panels of the next tile, of `left`: kMost, unless that would leave a
  // single one.
  template <int kMost>
  static RUY_LIKE_ALWAYS_INLINE int VectorsOfNextTile(ptrdiff_t left) {
    if (left <= kMost) return static_cast<int>(left);
    return left == kMost + 1 ? (kMost + 1) / 2 : kMost;
  }

  // The lhs panels from first_vector on, in tiles of up to kMostVectors x
  // kMostCols: as many panels at once as an epilogue object serves, but never
  // a single one in the end.
  template <int kMostVectors, int kMostCols>
  RUY_LIKE_HOT_KERNEL static void RunPanels(const KernelArgs& args,
                                            ptrdiff_t first_vector,
                                            ptrdiff_t vectors) {
    static_assert(kMostVectors <= kMaxTileVectors && kMostCols <= kMaxTileCols);
    while (vectors > 0) {
      const ptrdiff_t some =
          vectors > kMaxEpilogueVectors ? kMaxEpilogueVectors - 2 : vectors;
      RunRows<kMostVectors, kMostCols>(args, first_vector, some);
      first_vector += some;
      vectors -= some;
    }
  }

  template <int kMostVectors, int kMostCols>
  RUY_LIKE_HOT_KERNEL static void RunRows(const KernelArgs& args,
                                          ptrdiff_t first_vector,
                                          ptrdiff_t vectors) {
    const ptrdiff_t row = first_vector * kLanes;
    const ptrdiff_t rows_left = args.rows - row;
    Epilogue epilogue(
        args, row, rows_left < vectors * kLanes ? rows_left : vectors * kLanes);
    if constexpr (Op::kFinishesTiles) {
      const int last_rows = Min(rows_left - (vectors - 1) * kLanes, kLanes);
      if ((Epilogue::Finish::kHasParts || last_rows == kLanes) &&
          args.first_pass && args.last_pass && epilogue.FinishesTiles()) {
        return RunFinished<kMostVectors, kMostCols>(args, first_vector, vectors,
                                                    last_rows, epilogue);
      }
    }
    // Rhs panels of one column are narrow_panels.h's, which wants many lhs
    // panels at once. Tiles with sub-steps have no register left.
    if constexpr (kMostVectors > 1 && kRhsWidth > 1 && Op::kSubSteps == 1 &&
                  Epilogue::kDefers) {
      // An odd number of panels ends in a tile of three, not of one.
      const ptrdiff_t pairs = vectors % 2 == 0 ? vectors : vectors - 3;
      if (pairs != 0 && RunsPairs(args)) {
        const ptrdiff_t cols = args.cols / kMostCols * kMostCols;
        RunPairs(args, first_vector, pairs, cols, &epilogue);
        if (cols < args.cols) {
          RunColumns<kMostVectors, kMostCols>(args, first_vector, pairs, cols,
                                              &epilogue);
        }
        first_vector += pairs;
        vectors -= pairs;
        if (vectors == 0) return;
      }
    }
    RunColumns<kMostVectors, kMostCols>(args, first_vector, vectors, 0,
                                        &epilogue);
  }

  // The first `cols` columns, whole rhs panels, of an even number of lhs
  // panels: each tile interleaved with the epilogue of the one before.
  RUY_LIKE_HOT_KERNEL static __attribute__((noinline)) void RunPairs(
      const KernelArgs& args, ptrdiff_t first_vector, ptrdiff_t vectors,
      ptrdiff_t cols, Epilogue* epilogue) {
    alignas(64) Accum spilled[2 * kLanes * kRhsWidth];
    TileArgs tile = FirstTile(args, first_vector);
    const void* const lhs = tile.lhs;
    tile.result = spilled;
    typedef typename Epilogue::EpilogueSteps EpilogueSteps;
    auto deferred = epilogue->NoDeferredTile();
    for (ptrdiff_t col = 0; col < cols; col += kRhsWidth) {
      if constexpr (Epilogue::kHasColumnStart) {
        tile.column_start = epilogue->ColumnStart(col, kRhsWidth);
      }
      tile.lhs = lhs;
      tile.rhs = RhsSource::Columns(args, col);
      for (ptrdiff_t vector = 0; vector < vectors; vector += 2) {
        const ptrdiff_t row = (first_vector + vector) * kLanes;
        const ptrdiff_t rows_left = args.rows - row;
        tile.start = epilogue->Start(row);
        MultiplyPair<EpilogueSteps>(tile, rows_left, deferred);
        deferred =
            epilogue->Defer(spilled, Min(rows_left, 2 * kLanes), row, col);
        tile.lhs =
            static_cast<const char*>(tile.lhs) + 2 * args.lhs_stride_bytes;
      }
    }
    if (deferred.IsEmpty()) return;
    const EpilogueSteps epilogue_steps(deferred);
    for (int i = 0; i < EpilogueSteps::Count(kRhsWidth); ++i)
      epilogue_steps.Run(i);
  }

  template <class EpilogueSteps, class DeferredTile>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyPair(
      const TileArgs& tile, ptrdiff_t rows_left, const DeferredTile& deferred) {
    if constexpr (Op::kMultipliesHalves) {
      if (EndsInHalf<Op>(2, rows_left)) {
        return MultiplyTile<Op, RhsSource, 2, kRhsWidth, EpilogueSteps,
                            /*kCopiesLhs=*/false, /*kEndsInHalf=*/true>(
            tile, deferred);
      }
    }
    MultiplyTile<Op, RhsSource, 2, kRhsWidth, EpilogueSteps,
                 /*kCopiesLhs=*/false>(tile, deferred);
  }

  // Rows whose tiles are finished in registers, last_rows of the last vector;
  // separate from RunColumns(), whose further instructions cost too much for
  // small tiles.
  template <int kMostVectors, int kMostCols>
  static __attribute__((noinline)) void RunFinished(const KernelArgs& args,
                                                    ptrdiff_t first_vector,
                                                    ptrdiff_t vectors,
                                                    int last_rows,
                                                    Epilogue& epilogue) {
    constexpr const auto& tiles =
        kTileTable<Op, RhsSource, kMostVectors, kMostCols>.fns;
    const ptrdiff_t first_row = first_vector * kLanes;
    TileArgs tile = FirstTile(args, first_vector);
    const void* const lhs = tile.lhs;
    const ptrdiff_t lhs_stride = tile.lhs_stride_bytes;
    const void* const start = epilogue.Start(first_row);
    typename Epilogue::Finish finish = epilogue.FinishAt(first_row, 0);
    [[maybe_unused]] bool is_plain = false;
    if constexpr (Epilogue::Finish::kHasParts) is_plain = finish.is_plain;
    tile.finish = &finish;
    for (ptrdiff_t col = 0;;) {
      const int cols = Min(args.cols - col, kMostCols);
      if constexpr (Epilogue::kHasColumnStart) {
        tile.column_start = epilogue.ColumnStart(col, cols);
      }
      tile.lhs = lhs;
      tile.rhs = RhsSource::Columns(args, col);
      tile.start = start;
      for (ptrdiff_t left = vectors; left > 0;) {
        const int n = VectorsOfNextTile<kMostVectors>(left);
        TileFn* run = tiles[n - 1][cols - 1];
        if constexpr (Epilogue::Finish::kHasParts) {
          if (last_rows < kLanes) {
            finish.last_rows = left == n ? last_rows : kLanes;
            finish.is_plain = is_plain && left != n;
          }
        }
        if constexpr (Op::kMultipliesHalves) {
          if (finish.last_rows <= kLanes / 2 && cols == kMostCols) {
            run = kHalfTiles<Op, RhsSource, kMostVectors, kMostCols>.fns[n - 1];
          }
        }
        run(tile);
        Epilogue::Move(n, 0, &finish);
        tile.start = Epilogue::StartBelow(tile.start, n);
        tile.lhs = static_cast<const char*>(tile.lhs) + n * lhs_stride;
        left -= n;
      }
      col += kMostCols;
      // There may be no address behind the last column.
      if (col >= args.cols) return;
      Epilogue::Move(-vectors, kMostCols, &finish);
    }
  }

  // Tile after tile, columns from `col` on.
  template <int kMostVectors, int kMostCols>
  RUY_LIKE_HOT_KERNEL static void RunColumns(const KernelArgs& args,
                                             ptrdiff_t first_vector,
                                             ptrdiff_t vectors, ptrdiff_t col,
                                             Epilogue* epilogue) {
    constexpr const auto& tiles =
        kTileTable<Op, RhsSource, kMostVectors, kMostCols>.fns;
    const ptrdiff_t padded_cols =
        (args.cols + kRhsWidth - 1) / kRhsWidth * kRhsWidth;
    Accum* saved = static_cast<Accum*>(args.accum);
    if (saved != nullptr) saved += first_vector * kLanes * padded_cols;
    alignas(64) Accum spilled[kMostVectors * kLanes * kMostCols];
    TileArgs tile = FirstTile(args, first_vector);
    const void* const lhs = tile.lhs;
    [[maybe_unused]] bool finishes = false;
    if constexpr (Op::kFinishesTiles) {
      finishes = args.last_pass && epilogue->FinishesTiles();
    }
    for (; col < args.cols; col += kMostCols) {
      const int cols = Min(args.cols - col, kMostCols);
      if constexpr (Epilogue::kHasColumnStart) {
        if (args.first_pass || Epilogue::kColumnStartInEveryPass) {
          tile.column_start = epilogue->ColumnStart(col, cols);
        }
      }
      tile.lhs = lhs;
      tile.rhs = RhsSource::Columns(args, col);
      for (ptrdiff_t vector = 0; vector < vectors;) {
        const int tile_vectors =
            VectorsOfNextTile<kMostVectors>(vectors - vector);
        const ptrdiff_t row = (first_vector + vector) * kLanes;
        if (args.first_pass) {
          tile.start = epilogue->Start(row);
        } else {
          tile.start = saved;
          tile.start_col_stride = tile_vectors * kLanes;
        }
        tile.result = args.last_pass ? spilled : saved;
        const ptrdiff_t rows_left = args.rows - row;
        const int tile_rows = tile_vectors * kLanes;
        TileFn* run = tiles[tile_vectors - 1][cols - 1];
        if constexpr (Op::kMultipliesHalves) {
          if (EndsInHalf<Op>(tile_vectors, rows_left) && cols == kMostCols) {
            run = kHalfTiles<Op, RhsSource, kMostVectors, kMostCols>.fns
                      [tile_vectors - 1];
          }
        }
        bool finishes_tile = false;
        if constexpr (Op::kFinishesTiles) {
          finishes_tile = finishes && tile_rows <= rows_left;
          if (finishes_tile) {
            const auto finish = epilogue->FinishAt(row, col);
            tile.finish = &finish;
            run(tile);
            tile.finish = nullptr;
          }
        }
        if (!finishes_tile) {
          run(tile);
          if (args.last_pass) {
            epilogue->Store(spilled, tile_rows, Min(rows_left, tile_rows), cols,
                            row, col);
          }
        }
        if (saved != nullptr) saved += tile_vectors * kLanes * cols;
        tile.lhs = static_cast<const char*>(tile.lhs) +
                   tile_vectors * args.lhs_stride_bytes;
        vector += tile_vectors;
      }
    }
  }

  // The first tile of rows; callers set `rhs`, `start` and `result`.
  static RUY_LIKE_ALWAYS_INLINE TileArgs FirstTile(const KernelArgs& args,
                                                   ptrdiff_t first_vector) {
    TileArgs tile;
    tile.lhs = static_cast<const char*>(args.lhs) +
               first_vector * args.lhs_stride_bytes;
    tile.lhs_stride_bytes = args.lhs_stride_bytes;
    tile.steps = args.depth / Op::kStepDepth;
    tile.prefetches_lhs = args.rows * args.depth >
                          kSmallLhsBytes / ptrdiff_t{sizeof(typename Op::Lhs)};
    return tile;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_KERNEL_H_
