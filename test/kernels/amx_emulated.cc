#include "test/kernels/amx_emulated.h"

#include <string.h>

#include "ruy_like/kernels/amx/amx_kernel.h"
#include "ruy_like/kernels/amx/amx_tile_config.h"

namespace ruy_like {
namespace kernels {
namespace {

constexpr int kTiles = 8;
constexpr int kMaxRows = 16;
constexpr int kMaxRowBytes = 64;

AmxEmulation unit;
TileConfig config;
uint8_t data[kTiles][kMaxRows][kMaxRowBytes];

void Fault(const char* what) {
  if (unit.fault == nullptr) unit.fault = what;
}

bool AllZero(const void* p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (static_cast<const char*>(p)[i] != 0) return false;
  }
  return true;
}

// Why LDTILECFG would trap, or null. Stricter in one point: every tile that is
// not used has to be left zero by the caller, half-set ones are never all
// right.
const char* ConfigFault(const TileConfig& c) {
  if (c.palette != 1) return "palette is not 1";
  if (c.start_row != 0) return "start_row is not 0";
  if (!AllZero(c.reserved, sizeof(c.reserved))) return "reserved bytes set";
  for (int tile = 0; tile < 16; ++tile) {
    if (tile >= kTiles && (c.rows[tile] != 0 || c.row_bytes[tile] != 0)) {
      return "configures a tile that there is not";
    }
    if ((c.rows[tile] == 0) != (c.row_bytes[tile] == 0)) {
      return "tile with rows but no bytes or the reverse";
    }
    if (c.rows[tile] > kMaxRows || c.row_bytes[tile] > kMaxRowBytes) {
      return "tile too large";
    }
  }
  return nullptr;
}

// Whether `tile` may be used; faults if not.
bool Usable(int tile) {
  if (!unit.configured) {
    Fault("tile instruction without configuration");
    return false;
  }
  if (config.rows[tile] == 0) {
    Fault("tile is not configured");
    return false;
  }
  return true;
}

bool ProductFaults(int c, int a, int b) {
  if (!Usable(c) || !Usable(a) || !Usable(b)) return true;
  if (c == a || c == b || a == b) {
    Fault("product with the same tile twice");
  } else if (config.row_bytes[c] % 4 != 0 || config.row_bytes[a] % 4 != 0 ||
             config.row_bytes[b] % 4 != 0) {
    Fault("row bytes of a product's tile are not a multiple of 4");
  } else if (config.rows[c] != config.rows[a]) {
    Fault("rows of C and A differ");
  } else if (config.row_bytes[c] != config.row_bytes[b]) {
    Fault("columns of C and B differ");
  } else if (config.row_bytes[a] / 4 != config.rows[b]) {
    Fault("depths of A and B differ");
  } else {
    return false;
  }
  return true;
}

template <typename A>
void Product(int c, int a, int b) {
  if (ProductFaults(c, a, b)) return;
  ++unit.products;
  for (int m = 0; m < config.rows[c]; ++m) {
    uint32_t sums[kMaxRowBytes / 4];
    memcpy(sums, data[c][m], sizeof(sums));
    for (int k = 0; k < config.rows[b]; ++k) {
      for (int n = 0; n < config.row_bytes[c] / 4; ++n) {
        for (int i = 0; i < 4; ++i) {
          sums[n] +=
              static_cast<uint32_t>(static_cast<A>(data[a][m][4 * k + i]) *
                                    static_cast<int8_t>(data[b][k][4 * n + i]));
        }
      }
    }
    memcpy(data[c][m], sums, sizeof(sums));
  }
}

// The tile unit in plain memory: what HardwareTiles of amx_tile.h is in fact.
// An instruction that would trap is noted and has no effect.
struct EmulatedTiles {
  static void Configure(const TileConfig& new_config) {
    ++unit.configurations;
    if (const char* fault = ConfigFault(new_config)) {
      Fault(fault);
      return;
    }
    config = new_config;
    unit.configured = true;
    memset(data, 0, sizeof(data));
  }

  static void Release() {
    unit.configured = false;
    memset(&config, 0, sizeof(config));
    memset(data, 0, sizeof(data));
  }

  template <int kTile>
  static void Zero() {
    if (Usable(kTile)) memset(data[kTile], 0, sizeof(data[kTile]));
  }

  // Reads the configured part alone; the rest of the tile becomes zero.
  template <int kTile>
  static void Load(const void* src, ptrdiff_t stride_bytes) {
    if (!Usable(kTile)) return;
    memset(data[kTile], 0, sizeof(data[kTile]));
    for (int row = 0; row < config.rows[kTile]; ++row) {
      memcpy(data[kTile][row],
             static_cast<const char*>(src) + row * stride_bytes,
             config.row_bytes[kTile]);
    }
  }

  template <int kTile>
  static void LoadStreaming(const void* src, ptrdiff_t stride_bytes) {
    ++unit.streaming_loads;
    Load<kTile>(src, stride_bytes);
  }

  template <int kTile>
  static void Store(void* dst, ptrdiff_t stride_bytes) {
    if (!Usable(kTile)) return;
    for (int row = 0; row < config.rows[kTile]; ++row) {
      memcpy(static_cast<char*>(dst) + row * stride_bytes, data[kTile][row],
             config.row_bytes[kTile]);
    }
  }

  template <int kC, int kA, int kB>
  static void MulS8S8() {
    Product<int8_t>(kC, kA, kB);
  }

  template <int kC, int kA, int kB>
  static void MulU8S8() {
    Product<uint8_t>(kC, kA, kB);
  }
};

constexpr PanelFormat kLhs = {Scalar::kI8, false, 16, 4, 64};
constexpr Kernel Entry(const char* name, const PanelFormat& rhs,
                       KernelFn* run) {
  Kernel kernel = {};
  kernel.name = name;
  kernel.family = Family::k8x8;
  kernel.kind = rhs.in_place ? KernelKind::kRhsInPlace : KernelKind::kPanels;
  kernel.lhs = kLhs;
  kernel.rhs = rhs;
  kernel.tile_rows = 32;
  kernel.tile_cols = 32;
  kernel.row_granularity = 32;
  kernel.max_cols = kNoLimit;
  kernel.stream_cols = 1;
  kernel.row_major_min_depth = rhs.in_place ? 256 : kNotRowMajor;
  kernel.min_macs = 16384;
  kernel.run = run;
  return kernel;
}

constexpr Kernel kKernels[] = {
    Entry("EmulatedAmx_S8S8InPlace_32x32x64", {Scalar::kI8, true, 0, 0, 0},
          RunAmx<EmulatedTiles, RhsKind::kInPlaceS8>),
    Entry("EmulatedAmx_S8U8InPlace_32x32x64", {Scalar::kU8, true, 0, 0, 0},
          RunAmx<EmulatedTiles, RhsKind::kInPlaceU8>),
    Entry("EmulatedAmx_S8S8_32x32x64", {Scalar::kI8, false, 16, 64, 64},
          RunAmx<EmulatedTiles, RhsKind::kPackedS8>),
};

}  // namespace

KernelTable EmulatedAmxKernels() {
  return {kKernels, sizeof(kKernels) / sizeof(kKernels[0])};
}

const AmxEmulation& GetAmxEmulation() { return unit; }

void ResetAmxEmulation() {
  unit = AmxEmulation();
  EmulatedTiles::Release();
}

const char* FaultOfMistake(int mistake) {
  ResetAmxEmulation();
  TileConfig c = MakeTileConfig(32);
  char memory[16 * 64] = {};
  // Mistakes in the configuration.
  if (mistake == 0) c.palette = 2;
  if (mistake == 1) c.reserved[3] = 1;
  if (mistake == 2) c.rows[1] = 17;
  if (mistake == 3) c.row_bytes[1] = 68;
  if (mistake == 4) c.rows[7] = 0;
  if (mistake == 5) c.rows[8] = 16;
  // Mistakes in shape.
  if (mistake == 6) c.rows[4] = 15;
  if (mistake == 7) c.row_bytes[6] = 60;
  if (mistake == 8) c.rows[6] = 15;
  if (mistake == 9) c.rows[6] = c.row_bytes[6] = 0;
  if (mistake != 10) EmulatedTiles::Configure(c);
  if (mistake == 11) EmulatedTiles::Release();
  EmulatedTiles::Load<4>(memory, 64);
  EmulatedTiles::Load<6>(memory, 64);
  EmulatedTiles::MulS8S8<0, 4, 6>();
  if (mistake == 12) EmulatedTiles::MulS8S8<0, 4, 4>();
  const char* fault = unit.fault;
  ResetAmxEmulation();
  return fault;
}

}  // namespace kernels
}  // namespace ruy_like
