// Back-end: how NEON's panel kernels begin and end tiles of integers.
//
// The members of IntPanelEpilogue<> (panel_epilogue.h) that panel_kernel.h uses
// on Arm, where no tile's epilogue is deferred: common calls finish whole tiles
// in registers (epilogue_tiles_neon.h).
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/epilogue/epilogue_tiles_neon.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_epilogue.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

class NeonIntEpilogue : public IntPanelTerms<SimdNeon, kMaxEpilogueVectors> {
  typedef IntPanelTerms<SimdNeon, kMaxEpilogueVectors> Terms;

 public:
  typedef NeonIntTile Finish;
  static constexpr bool kDefers = false;

  // The same arguments as IntPanelEpilogue's.
  NeonIntEpilogue(const KernelArgs& args, ptrdiff_t row0, ptrdiff_t rows)
      : NeonIntEpilogue(args, row0, rows,
                        args.first_pass && args.last_pass
                            ? FinishOf(*args.epilogue)
                            : TileFinish::kGeneral) {}

  // Finishes a tile whose first row and column in the block are given.
  RUY_LIKE_ALWAYS_INLINE void Store(int32_t* acc, ptrdiff_t acc_col_stride,
                                    int rows, int cols, ptrdiff_t row,
                                    ptrdiff_t col) const {
    if (is_general_) {
      return StoreTile<SimdNeon>({acc, acc_col_stride, rows, cols, row, col},
                                 e_);
    }
    const Finish tile = FinishAt(row, col);
    if (finish_.how == TileFinish::kRaw) {
      StoreRaw(acc, acc_col_stride, rows, cols, tile);
    } else if (finish_.how == TileFinish::kBytesByColumn) {
      StoreBytesByColumn(acc, acc_col_stride, rows, cols, tile);
    } else {
      StoreByteTile<SimdNeon>(BytesOf(tile, acc, acc_col_stride, rows), cols);
    }
  }

  // True if whole tiles may be finished in registers; and where one goes then.
  RUY_LIKE_ALWAYS_INLINE bool FinishesTiles() const { return !is_general_; }
  RUY_LIKE_ALWAYS_INLINE Finish FinishAt(ptrdiff_t row, ptrdiff_t col) const {
    return {&finish_,
            static_cast<char*>(e_.dst) +
                ((row + col * e_.dst_col_stride) << finish_.dst_shift),
            col, Scales(row)};
  }
  // Moves `finish` by so many vectors of rows and columns.
  static RUY_LIKE_ALWAYS_INLINE void Move(ptrdiff_t vectors, ptrdiff_t cols,
                                          Finish* finish) {
    const NeonIntFinish& of_call = *finish->finish;
    finish->dst += (vectors * SimdNeon::kLanes + cols * of_call.dst_col_stride)
                   << of_call.dst_shift;
    finish->col += cols;
    finish->scale += vectors;
  }

 private:
  NeonIntEpilogue(const KernelArgs& args, ptrdiff_t row0, ptrdiff_t rows,
                  TileFinish how)
      : Terms(*args.epilogue, row0, how == TileFinish::kGeneral) {
    finish_.how = how;
    if (is_general_) return;
    const bool is_raw = how == TileFinish::kRaw;
    finish_.dst_col_stride = e_.dst_col_stride;
    finish_.dst_shift = is_raw ? 2 : 0;
    finish_.of_columns = {e_.fixedpoint, e_.exponent};
    if (!is_raw) finish_.bounds.Set(e_);
    PrepareRows(rows, /*scales_rows=*/how == TileFinish::kBytesByRow);
  }

  NeonIntFinish finish_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_NEON_H_
