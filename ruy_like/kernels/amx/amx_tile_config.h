// Back-end: the AMX unit's configuration record, and those the kernel uses.
//
// Included by amx_kernel.h and amx_tile.h. Does not load anything.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_TILE_CONFIG_H_
#define RUY_LIKE_KERNELS_AMX_AMX_TILE_CONFIG_H_

#include <stddef.h>
#include <stdint.h>

namespace ruy_like {
namespace kernels {
namespace {

// Rows and columns of dst that the four accumulator tiles make.
enum class BlockShape { k32x32, k64x16 };

constexpr BlockShape ShapeFor(int cols) {
  return cols > 16 ? BlockShape::k32x32 : BlockShape::k64x16;
}
constexpr int RowsOf(BlockShape shape) {
  return shape == BlockShape::k32x32 ? 32 : 64;
}

// The 64 bytes that LDTILECFG reads; reserved ones and those of unused tiles
// are zero.
struct TileConfig {
  uint8_t palette;
  uint8_t start_row;
  uint8_t reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64, "LDTILECFG reads 64 bytes");

inline constexpr int kStepLevels = 64;  // depth levels of one tile product

// Tiles for `cols` columns of dst, 1..32, numbered as amx_block.h draws it. A
// tiles have a row per column, so that no column is read that does not exist;
// and only `levels` of depth, a multiple of 4, where there are no more.
constexpr TileConfig MakeTileConfig(int cols, int levels) {
  TileConfig config = {};
  config.palette = 1;
  const int a_tiles = cols > 16 ? 2 : 1;
  for (int tile = 0; tile < 8; ++tile) {
    // Accumulator tiles 0..3, then A tiles, then B tiles.
    const bool is_b = tile >= 4 + a_tiles;
    const int a = tile < 4 ? tile / (4 / a_tiles) : tile - 4;
    const int left = cols - 16 * a;
    const bool is_a = tile >= 4 && !is_b;
    config.row_bytes[tile] = static_cast<uint16_t>(is_a ? levels : 64);
    config.rows[tile] = static_cast<uint8_t>(is_b        ? levels / 4
                                             : left > 16 ? 16
                                                         : left);
  }
  return config;
}

struct TileConfigTable {
  alignas(64) TileConfig of[33];
};

constexpr TileConfigTable MakeTileConfigTable() {
  TileConfigTable table = {};
  for (int cols = 1; cols <= 32; ++cols)
    table.of[cols] = MakeTileConfig(cols, kStepLevels);
  return table;
}

// All of them, by columns: loading one that is made in the call would wait
// until its many small stores have left the store buffer.
constexpr TileConfigTable kTileConfigs = MakeTileConfigTable();

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_TILE_CONFIG_H_
