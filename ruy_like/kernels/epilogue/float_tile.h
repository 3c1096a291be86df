// Back-end: where a tile of floats goes that is finished in registers.
//
// Made by panel_epilogue.h, read by what finishes the tile (epilogue_neon.h).
#ifndef RUY_LIKE_KERNELS_EPILOGUE_FLOAT_TILE_H_
#define RUY_LIKE_KERNELS_EPILOGUE_FLOAT_TILE_H_

#include <stddef.h>

namespace ruy_like {
namespace kernels {
namespace {

struct FloatTile {
  float* dst;  // the tile's first element; rows are adjacent
  ptrdiff_t dst_col_stride;
  const float* row_bias;  // of the tile's first row, or null
  float low, high;
  bool is_plain;  // no bias, no bounds: accumulators are results
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_EPILOGUE_FLOAT_TILE_H_
