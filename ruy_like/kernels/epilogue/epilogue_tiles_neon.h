// Back-end: how NEON's panel kernels finish tiles of integers without the
// general epilogue.
//
// Used by panel_epilogue_neon.h, whose object says how a call's tiles are
// finished, and by the tiles themselves, while their accumulators are still in
// registers: FinishTile(). The accumulators come with every term added; dst's
// rows are the contiguous ones. Shallow products gain most: 32x27x1000 with
// SDOT takes 28% to 49% of the instructions that it took by the general one.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_TILES_NEON_H_
#define RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_TILES_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/epilogue/epilogue_bytes_neon.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Tiles of bytes need negative exponents.
enum class TileFinish : uint8_t {
  kGeneral,        // by StoreTile() (epilogue.h)
  kBytesByRow,     // to bytes; multipliers of rows, or one for all
  kBytesByColumn,  // to bytes; multipliers of columns
  kRaw,            // int32 as they are, without bounds
};

RUY_LIKE_ALWAYS_INLINE TileFinish FinishOf(const EpilogueArgs& e) {
  if (e.needs_general || e.dst_row_stride != 1) return TileFinish::kGeneral;
  if (e.output == Output::kRaw) {
    return e.dst_zero_point == 0 && e.clamp_min == INT32_MIN &&
                   e.clamp_max == INT32_MAX
               ? TileFinish::kRaw
               : TileFinish::kGeneral;
  }
  if (!ByteBounds<SimdNeon>::CanServe(e) || e.max_exponent >= 0) {
    return TileFinish::kGeneral;
  }
  return e.per_channel && !e.channels_are_rows ? TileFinish::kBytesByColumn
                                               : TileFinish::kBytesByRow;
}

// Values that the tiles of some rows share.
struct NeonIntFinish {
  TileFinish how;
  ptrdiff_t dst_col_stride;  // elements
  int dst_shift;             // 1 << dst_shift bytes
  // kBytesByColumn: of the block's first column.
  NeonColumnScalers of_columns;
  ByteBounds<SimdNeon> bounds;  // of bytes
};

// Where a tile goes.
struct NeonIntTile {
  static constexpr bool kHasParts = false;  // as FloatTile's

  const NeonIntFinish* finish;
  char* dst;      // the tile's first element
  ptrdiff_t col;  // its first column in the block
  // kBytesByRow: of its first vector of rows.
  const ByteScale<SimdNeon>* scale;
};

// kBytesByColumn: columns of kVectors vectors of rows, `rows` of the last one.
template <int kVectors>
RUY_LIKE_NOINLINE void StoreVectorsByColumn(const int32_t* acc,
                                            ptrdiff_t acc_col_stride, int rows,
                                            int cols, const NeonIntTile& tile,
                                            char* dst) {
  const NeonIntFinish& finish = *tile.finish;
  const NeonColumnScalers scalers = {finish.of_columns.fixedpoint + tile.col,
                                     finish.of_columns.exponent + tile.col};
  StoreByteColumns<kVectors>(acc, acc_col_stride, rows, cols, scalers,
                             finish.bounds, reinterpret_cast<int8_t*>(dst),
                             finish.dst_col_stride);
}

// Any number of rows.
RUY_LIKE_NOINLINE inline void StoreBytesByColumn(const int32_t* acc,
                                                 ptrdiff_t acc_col_stride,
                                                 int rows, int cols,
                                                 const NeonIntTile& tile) {
  const int done = ForWholeVectors(rows, [&](auto vectors, int r) {
    StoreVectorsByColumn<vectors()>(acc + r, acc_col_stride, 4, cols, tile,
                                    tile.dst + r);
  });
  if (done == rows) return;
  StoreVectorsByColumn<1>(acc + done, acc_col_stride, rows - done, cols, tile,
                          tile.dst + done);
}

// kRaw: any number of rows.
__attribute__((noinline)) inline void StoreRaw(const int32_t* acc,
                                               ptrdiff_t acc_col_stride,
                                               int rows, int cols,
                                               const NeonIntTile& tile) {
  int32_t* to = reinterpret_cast<int32_t*>(tile.dst);
  for (; cols > 0; --cols) {
    int r = 0;
    for (; r + 4 <= rows; r += 4) vst1q_s32(to + r, vld1q_s32(acc + r));
    if (r < rows) SimdNeon::Store(to + r, vld1q_s32(acc + r), rows - r);
    acc += acc_col_stride;
    to += tile.finish->dst_col_stride;
  }
}

// A tile of bytes; `acc` is null for accumulators in registers.
RUY_LIKE_ALWAYS_INLINE ByteTile<SimdNeon> BytesOf(const NeonIntTile& tile,
                                                  const int32_t* acc = nullptr,
                                                  ptrdiff_t acc_col_stride = 0,
                                                  int rows = 0) {
  return {acc,
          acc_col_stride,
          rows,
          tile.scale,
          &tile.finish->bounds,
          reinterpret_cast<int8_t*>(tile.dst),
          tile.finish->dst_col_stride};
}

// A tile of whole vectors of rows that is still in registers. Tiles of
// kBytesByColumn are spilled first: instructions for every tile size would be
// many and save little time.
template <int kCols, int kVectors>
RUY_LIKE_ALWAYS_INLINE void FinishTile(const int32x4_t (&acc)[kCols][kVectors],
                                       const NeonIntTile& tile) {
  if (tile.finish->how == TileFinish::kBytesByRow) {
    return FinishTile(acc, BytesOf(tile));
  }
  const bool is_raw = tile.finish->how == TileFinish::kRaw;
  alignas(16) int32_t spilled[kCols * kVectors * 4];
  int32_t* to = is_raw ? reinterpret_cast<int32_t*>(tile.dst) : spilled;
  const ptrdiff_t stride = is_raw ? tile.finish->dst_col_stride : 4 * kVectors;
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) vst1q_s32(to + 4 * v, acc[c][v]);
    to += stride;
  }
  if (is_raw) return;
  StoreVectorsByColumn<kVectors>(spilled, 4 * kVectors, 4, kCols, tile,
                                 tile.dst);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_EPILOGUE_TILES_NEON_H_
