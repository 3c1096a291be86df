// Back-end: AMX's tiles: the instructions, the unit's configuration record, and
// the configurations that the kernel uses.
//
// Included by the headers of all AMX kernels. Does not choose tiles, shapes or
// strides, and does not ask the OS for permission to use AMX state: the CPU
// detection has done that before a kernel of this path can be picked.
//
// Why not the compiler's intrinsics: gcc 12's are macros that paste the tile
// number into the assembly text, so a template argument cannot be passed; and
// its tile load and configuration load do not tell the compiler that they read
// memory (or only 8 bytes of it), so stores into a tile's source buffer may be
// dropped or moved behind the load.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_TILE_H_
#define RUY_LIKE_KERNELS_AMX_AMX_TILE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Elements of A and of B tiles: bytes with int32 sums, or bfloat16 with float
// ones.
enum class TileElements { kS8S8, kU8S8, kS8U8, kBF16 };

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

// Bytes of depth of one tile product: 64 of 8-bit operands, 32 of
// bfloat16.
inline constexpr int kStepBytes = 64;

// Tiles for `cols` columns of dst, 1..32, numbered as amx_block.h draws it. A
// tiles have a row per column, so that no column beyond the last is read, and
// depth `depth`, a multiple of 4.
constexpr TileConfig MakeTileConfig(int cols, int depth) {
  TileConfig config = {};
  config.palette = 1;
  const int a_tiles = cols > 16 ? 2 : 1;
  for (int tile = 0; tile < 8; ++tile) {
    // Accumulator tiles 0..3, then A tiles, then B tiles.
    const bool is_b = tile >= 4 + a_tiles;
    const int a = tile < 4 ? tile / (4 / a_tiles) : tile - 4;
    const int left = cols - 16 * a;
    const bool is_a = tile >= 4 && !is_b;
    config.row_bytes[tile] = static_cast<uint16_t>(is_a ? depth : 64);
    config.rows[tile] = static_cast<uint8_t>(is_b        ? depth / 4
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
    table.of[cols] = MakeTileConfig(cols, kStepBytes);
  return table;
}

// Indexed by number of columns. Made at compile time: a configuration that is
// loaded right after its many small stores stalls on store forwarding.
constexpr TileConfigTable kTileConfigs = MakeTileConfigTable();

// "%c" prints a constant without the '$' of an immediate. All are volatile:
// they depend on each other through tile registers, which the compiler does not
// track.
struct Tiles {
  static RUY_LIKE_ALWAYS_INLINE void Configure(const TileConfig& config) {
    asm volatile("ldtilecfg %0" : : "m"(config));
  }

  static RUY_LIKE_ALWAYS_INLINE void Release() { asm volatile("tilerelease"); }

  template <int kTile>
  static RUY_LIKE_ALWAYS_INLINE void Zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }

  // Loads the tile's configured rows, `stride_bytes` apart. kStreams: with the
  // hint that the lines will not be used again from L1.
  template <int kTile, bool kStreams = false>
  static RUY_LIKE_ALWAYS_INLINE void Load(const void* src,
                                          ptrdiff_t stride_bytes) {
    if constexpr (kStreams) {
      asm volatile("tileloaddt1 (%1,%2,1), %%tmm%c0"
                   :
                   : "i"(kTile), "r"(src), "r"(stride_bytes)
                   : "memory");
    } else {
      asm volatile("tileloadd (%1,%2,1), %%tmm%c0"
                   :
                   : "i"(kTile), "r"(src), "r"(stride_bytes)
                   : "memory");
    }
  }

  template <int kTile>
  static RUY_LIKE_ALWAYS_INLINE void Store(void* dst, ptrdiff_t stride_bytes) {
    asm volatile("tilestored %%tmm%c0, (%1,%2,1)"
                 :
                 : "i"(kTile), "r"(dst), "r"(stride_bytes)
                 : "memory");
  }

  // C[m][n] += sum over k of A[m][4k..4k+3] . B[k][4n..4n+3]; for bfloat16, of
  // A[m][2k..2k+1] . B[k][2n..2n+1]. AT&T syntax names the operands in reverse:
  // B, A, C.
  template <TileElements kElements, int kC, int kA, int kB>
  static RUY_LIKE_ALWAYS_INLINE void Multiply() {
#define RUY_LIKE_PRODUCT(kType, instruction)                 \
  if constexpr (kElements == TileElements::kType) {          \
    asm volatile(instruction " %%tmm%c2, %%tmm%c1, %%tmm%c0" \
                 :                                           \
                 : "i"(kC), "i"(kA), "i"(kB));               \
  }
    RUY_LIKE_PRODUCT(kS8S8, "tdpbssd")
    RUY_LIKE_PRODUCT(kU8S8, "tdpbusd")
    RUY_LIKE_PRODUCT(kS8U8, "tdpbsud")
    RUY_LIKE_PRODUCT(kBF16, "tdpbf16ps")
#undef RUY_LIKE_PRODUCT
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_TILE_H_
