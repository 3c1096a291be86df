// Back-end: how NEON's panel kernels begin and end tiles of integers.
//
// The members of IntPanelEpilogue<> (panel_epilogue.h) that panel_kernel.h uses
// on Arm, where no tile's epilogue is deferred: common calls finish whole tiles
// in registers (epilogue_tiles_neon.h).
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_NEON_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/epilogue/epilogue_tiles_neon.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_epilogue.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like {
namespace kernels {
namespace {

class NeonIntEpilogue {
 public:
  typedef NeonIntTile Finish;
  typedef NothingDeferred DeferredTile;
  typedef NoEpilogueSteps EpilogueSteps;
  static constexpr bool kHasColumnStart = true;
  static constexpr bool kColumnStartInEveryPass = false;

  // For `rows` rows of the block, at most kMaxEpilogueVectors vectors, from
  // row0 on. With several passes over depth the first one lacks the sums that
  // accumulators could start from.
  NeonIntEpilogue(const KernelArgs& args, ptrdiff_t row0, ptrdiff_t rows)
      : e_(*args.epilogue), row0_(row0) {
    finish_.how =
        args.first_pass && args.last_pass ? FinishOf(e_) : TileFinish::kGeneral;
    if (!IsGeneral()) PrepareRows(rows);
  }

  // What the accumulators of a column start from, from that row on.
  RUY_LIKE_ALWAYS_INLINE const int32_t* Start(ptrdiff_t row) const {
    return IsGeneral() ? kZeros : addends_ + (row - row0_);
  }
  // What is added to all of a column's, for columns from `col` on; or null.
  // Valid until the next call.
  RUY_LIKE_ALWAYS_INLINE const int32_t* ColumnStart(ptrdiff_t col, int cols) {
    return has_column_start_ ? PrepareColumns(col, cols) : nullptr;
  }

  // Finishes a tile, with its first row and column in the block.
  void Store(int32_t* acc, ptrdiff_t acc_col_stride, int rows, int cols,
             ptrdiff_t row, ptrdiff_t col) const {
    if (IsGeneral()) {
      return StoreTile<SimdNeon>({acc, acc_col_stride, rows, cols, row, col},
                                 e_);
    }
    const Finish tile = FinishAt(row, col);
    if (finish_.how == TileFinish::kRaw) {
      StoreRaw(acc, acc_col_stride, rows, cols, tile);
    } else if (finish_.how == TileFinish::kBytesByColumn) {
      StoreBytesByColumn(acc, acc_col_stride, rows, cols, tile);
    } else {
      StoreByteTile<SimdNeon>(BytesByRow(tile, acc, acc_col_stride, rows),
                              cols);
    }
  }

  // Whether whole tiles may be finished in registers, and where one goes then.
  RUY_LIKE_ALWAYS_INLINE bool FinishesTiles() const {
    return finish_.how == TileFinish::kBytesByRow ||
           finish_.how == TileFinish::kRaw;
  }
  RUY_LIKE_ALWAYS_INLINE Finish FinishAt(ptrdiff_t row, ptrdiff_t col) const {
    const ptrdiff_t shift = finish_.how == TileFinish::kRaw ? 2 : 0;
    return {
        &finish_,
        static_cast<char*>(e_.dst) + ((row + col * e_.dst_col_stride) << shift),
        col, scales_ + (row - row0_) / SimdNeon::kLanes};
  }
  // To the tile so many vectors of rows below; and what its accumulators start
  // from.
  static RUY_LIKE_ALWAYS_INLINE void MoveDown(int vectors, Finish* finish) {
    finish->dst += vectors * finish->finish->dst_vector_size;
    finish->scale += vectors;
  }
  static RUY_LIKE_ALWAYS_INLINE const void* StartBelow(const void* start,
                                                       int vectors) {
    return static_cast<const int32_t*>(start) + vectors * SimdNeon::kLanes;
  }

 private:
  RUY_LIKE_ALWAYS_INLINE bool IsGeneral() const {
    return finish_.how == TileFinish::kGeneral;
  }

  __attribute__((noinline)) void PrepareRows(ptrdiff_t rows) {
    const int32_t* const bias = static_cast<const int32_t*>(e_.bias);
    column_bias_ = e_.channels_are_rows ? nullptr : bias;
    has_column_start_ = column_bias_ != nullptr || e_.rhs_sums != nullptr;
    const bool is_raw = finish_.how == TileFinish::kRaw;
    finish_.dst_col_stride = e_.dst_col_stride;
    finish_.dst_vector_size = SimdNeon::kLanes * (is_raw ? 4 : 1);
    finish_.fixedpoint = e_.fixedpoint;
    finish_.exponent = e_.exponent;
    if (!is_raw) finish_.bounds.Set(e_);
    const int32_t* const row_bias = e_.channels_are_rows ? bias : nullptr;
    const bool scales_rows = finish_.how == TileFinish::kBytesByRow;
    const bool equal_rows = row_bias == nullptr && e_.lhs_sums == nullptr &&
                            !(scales_rows && e_.per_channel);
    if (equal_rows) return PrepareEqualRows(rows, scales_rows);
    ByteScale<SimdNeon>* scale = scales_;
    for (ptrdiff_t row = 0; row < rows; row += SimdNeon::kLanes) {
      const int n = AtMost(rows - row, SimdNeon::kLanes);
      const ptrdiff_t from = row0_ + row;
      vst1q_s32(addends_ + row,
                Addends<SimdNeon>(e_.zero_point_product, row_bias,
                                  e_.rhs_zero_point, e_.lhs_sums, from, n));
      if (!scales_rows) continue;
      if (e_.per_channel) {
        scale->Set(SimdNeon::LoadMasked(e_.fixedpoint + from, n),
                   SimdNeon::LoadMasked(e_.exponent + from, n));
      } else {
        scale->Set(vdupq_n_s32(*e_.fixedpoint), vdupq_n_s32(*e_.exponent));
      }
      ++scale;
    }
  }

  // All rows have the same terms.
  RUY_LIKE_ALWAYS_INLINE void PrepareEqualRows(ptrdiff_t rows,
                                               bool scales_rows) {
    const int32x4_t addends = vdupq_n_s32(e_.zero_point_product);
    for (ptrdiff_t row = 0; row < rows; row += SimdNeon::kLanes) {
      vst1q_s32(addends_ + row, addends);
    }
    if (!scales_rows) return;
    const int32x4_t fixedpoint = vdupq_n_s32(*e_.fixedpoint);
    const int32x4_t exponent = vdupq_n_s32(*e_.exponent);
    ByteScale<SimdNeon>* scale = scales_;
    for (ptrdiff_t row = 0; row < rows; row += SimdNeon::kLanes) {
      scale->Set(fixedpoint, exponent);
      ++scale;
    }
  }

  __attribute__((noinline)) const int32_t* PrepareColumns(ptrdiff_t col,
                                                          int cols) {
    for (int i = 0; i < cols; i += SimdNeon::kLanes) {
      const int n = AtMost(cols - i, SimdNeon::kLanes);
      vst1q_s32(column_addends_ + i,
                Addends<SimdNeon>(0, column_bias_, e_.lhs_zero_point,
                                  e_.rhs_sums, col + i, n));
    }
    return column_addends_;
  }

  alignas(64) static constexpr int32_t
      kZeros[kMaxTileVectors * SimdNeon::kLanes] = {};

  const EpilogueArgs& e_;
  const ptrdiff_t row0_;
  NeonIntFinish finish_;
  bool has_column_start_ = false;
  // Set unless TileFinish::kGeneral.
  const int32_t* column_bias_;
  alignas(16) int32_t column_addends_[kMaxTileCols];
  alignas(16) int32_t addends_[kMaxEpilogueVectors * SimdNeon::kLanes];
  ByteScale<SimdNeon> scales_[kMaxEpilogueVectors];
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_EPILOGUE_NEON_H_
