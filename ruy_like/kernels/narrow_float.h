// Back-end: the float kernel for narrow products, the lhs read in place.
//
// Included by the x86 per-ISA files, which instantiate NarrowFloatKernel<> over
// their panel kernel and list it in front of that; called by the middle-end
// through the table for products of at most kMaxNarrowCols columns. It handles
// depth-contiguous lhs only, and does not split depth.
//
// A float sum must run over depth one level after the other, as in the panel
// kernel (panel_kernel.h), so that lanes can't run along depth but must hold
// different rows: what is contiguous in memory has to be transposed. The lhs
// goes through a piece of packed panels that never leaves the L1 cache:
//
//      lhs, in place           piece: panels          accumulators
//     +------------------+     of kPieceLevels        kTileRows x cols
//     |[....]            |
//     |[....] kTileRows  | --> |p0|p1|p2|  x  rhs --> | | | |
//     |[....]            |
//     +------------------+
//
// Packing costs less than reading the lhs from memory does: 40 cycles per KiB
// of lhs against about 100. The panel kernel's own tiles then do the product,
// with their accumulators kept from piece to piece.
#ifndef RUY_LIKE_KERNELS_NARROW_FLOAT_H_
#define RUY_LIKE_KERNELS_NARROW_FLOAT_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow_common.h"
#include "ruy_like/kernels/panel_kernel.h"
#include "ruy_like/pack/pack.h"

namespace ruy_like {
namespace kernels {
namespace {

#ifndef LEVELS
#define LEVELS 64
#define AHEAD 1
#endif
// The product of PanelKernel<Op, kMaxVectors, kRhsWidth>, whose lhs kPackRows
// packs.
template <class Op, int kMaxVectors, int kRhsWidth, PackFn* kPackRows>
struct NarrowFloatKernel {
  typedef PanelKernel<Op, kMaxVectors, kRhsWidth> Panel;
  static constexpr int kLanes = Panel::kLanes;
  static constexpr int kTileRows = Panel::kTileRows;
  static constexpr int kMaxPanels =
      (kMaxNarrowCols + kRhsWidth - 1) / kRhsWidth;
  static constexpr int kPieceLevels = LEVELS;

  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    return {name,
            Family::kF32,
            {Scalar::kF32, /*in_place=*/true, 1, 1, 1},
            {Scalar::kF32, /*in_place=*/false, kRhsWidth, /*group=*/1,
             /*depth_multiple=*/1},
            kTileRows,
            kMaxNarrowCols,
            /*max_cols=*/kMaxNarrowCols,
            /*pack_lhs=*/nullptr,
            pack_rhs,
            Run};
  }

  static void Run(const KernelArgs* args) {
    alignas(64) float piece[kTileRows * kPieceLevels];
    alignas(64) float accum[kMaxPanels * kRhsWidth * kTileRows];
    const ptrdiff_t lhs_stride = args->lhs_stride_bytes;
    const char* lhs = static_cast<const char*>(args->lhs);
    for (ptrdiff_t row = 0; row < args->rows; row += kTileRows) {
      const ptrdiff_t rows_left = args->rows - row;
      const int rows =
          rows_left < kTileRows ? static_cast<int>(rows_left) : kTileRows;
      for (ptrdiff_t k = 0; k < args->depth; k += kPieceLevels) {
        const ptrdiff_t levels_left = args->depth - k;
        const int levels = levels_left < kPieceLevels
                               ? static_cast<int>(levels_left)
                               : kPieceLevels;
        const char* src = lhs + k * sizeof(float);
        const char* next =
            levels_left > AHEAD * kPieceLevels
                ? src + AHEAD * kPieceLevels * sizeof(float)
                : src + rows * lhs_stride -
                      (args->depth - AHEAD * kPieceLevels) * sizeof(float);
        Prefetch(next, lhs_stride, rows, levels);
        PackPiece(src, lhs_stride, rows, levels, piece);
        Multiply(*args, piece, rows, k, levels, accum);
      }
      Store(*args, accum, row, rows);
      lhs += kTileRows * lhs_stride;
    }
  }

 private:
  static RUY_LIKE_ALWAYS_INLINE int Vectors(int rows) {
    return (rows + kLanes - 1) / kLanes;
  }

  static RUY_LIKE_ALWAYS_INLINE void Prefetch(const char* src, ptrdiff_t stride,
                                              int rows, int levels) {
    for (int r = 0; r < rows; ++r, src += stride) {
      for (int line = 0; line < levels * 4; line += 64) {
        __builtin_prefetch(src + line, 0, HINT);
      }
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void PackPiece(const char* src,
                                               ptrdiff_t stride, int rows,
                                               int levels, float* piece) {
    PackArgs pack;
    pack.src = src;
    pack.src_scalar = Scalar::kF32;
    pack.depth_contiguous = true;
    pack.src_stride = stride / static_cast<ptrdiff_t>(sizeof(float));
    pack.depth = levels;
    pack.width = rows;
    pack.dst = piece;
    pack.padded_depth = levels;
    pack.sums = nullptr;
    kPackRows(&pack);
  }

  // Adds the product of the piece and of the rhs from level `k` on.
  static RUY_LIKE_ALWAYS_INLINE void Multiply(const KernelArgs& args,
                                              const float* piece, int rows,
                                              ptrdiff_t k, int levels,
                                              float* accum) {
    TileArgs tile;
    tile.lhs = piece;
    tile.lhs_stride_bytes = levels * kLanes * sizeof(float);
    tile.steps = levels;
    const float* rhs = static_cast<const float*>(args.rhs) + k * kRhsWidth;
    for (int col = 0; col < args.cols; col += kRhsWidth) {
      const int left = static_cast<int>(args.cols) - col;
      const int cols = left < kRhsWidth ? left : kRhsWidth;
      tile.rhs = rhs;
      tile.start = k == 0 ? nullptr : accum;
      tile.result = accum;
      Panel::Table::kTiles[(Vectors(rows) - 1) * kRhsWidth + cols - 1](tile);
      accum += kTileRows * kRhsWidth;
      rhs += args.rhs_stride_bytes / sizeof(float);
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void Store(const KernelArgs& args,
                                           const float* accum, ptrdiff_t row,
                                           int rows) {
    for (int col = 0; col < args.cols; col += kRhsWidth) {
      const int left = static_cast<int>(args.cols) - col;
      Op::Store(accum, Vectors(rows) * kLanes, rows,
                left < kRhsWidth ? left : kRhsWidth, row, col, *args.epilogue);
      accum += kTileRows * kRhsWidth;
    }
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_FLOAT_H_
