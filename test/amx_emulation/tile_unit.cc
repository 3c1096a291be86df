#include "test/amx_emulation/tile_unit.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "ruy_like/float16.h"
#include "test/support/flushing_multiply_add.h"

namespace ruy_like {
namespace {

bool AllZero(const void* p, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (static_cast<const std::uint8_t*>(p)[i] != 0) return false;
  }
  return true;
}

template <typename T>
const T* ReadFrom(std::uint64_t address) {
  return reinterpret_cast<const T*>(address);
}

std::int32_t Widen(std::uint8_t byte, bool is_signed) {
  return is_signed ? static_cast<std::int8_t>(byte) : byte;
}

// sums[n] += a[k] * b[k][n]: one row of C. With AVX-512, which every machine
// with the AMX path's other instructions has, or tests would take hours.
#if defined(__x86_64__)
__attribute__((target("avx512f")))
#endif
void MultiplyRow(const std::int32_t (&a)[64], const std::int32_t (&b)[64][16],
                 std::uint32_t (&sums)[16]) {
  for (int k = 0; k < 64; ++k) {
    for (int n = 0; n < 16; ++n) {
      sums[n] += static_cast<std::uint32_t>(a[k] * b[k][n]);
    }
  }
}

}  // namespace

// Why LDTILECFG raises #GP, or null.
const char* TileUnit::ConfigFault(const Config& config) {
  if (config.palette > 1) return "#GP: there is no such palette";
  if (config.palette == 0) return nullptr;
  if (config.start_row != 0) return "start_row is not 0";
  if (!AllZero(config.reserved, sizeof(config.reserved))) {
    return "#GP: reserved bytes are set";
  }
  for (int tile = 0; tile < 16; ++tile) {
    const int rows = config.rows[tile];
    const int bytes = config.row_bytes[tile];
    if (tile >= kTiles && (rows != 0 || bytes != 0)) {
      return "#GP: configures a tile that there is not";
    }
    if (rows > kMaxRows || bytes > kMaxRowBytes) return "#GP: tile too large";
    if ((rows == 0) != (bytes == 0)) {
      return "#GP: a tile has rows but no bytes, or bytes but no rows";
    }
  }
  return nullptr;
}

void TileUnit::Clear() {
  configured_ = false;
  std::memset(&config_, 0, sizeof(config_));
  std::memset(data_, 0, sizeof(data_));
}

const char* TileUnit::LoadConfig(std::uint64_t address) {
  Config config;
  std::memcpy(&config, ReadFrom<char>(address), sizeof(config));
  if (const char* fault = ConfigFault(config)) return fault;
  Clear();
  if (config.palette == 0) return nullptr;
  config_ = config;
  configured_ = true;
  ++counts_.configurations;
  return nullptr;
}

const char* TileUnit::TileFault(int tile) const {
  if (!configured_) return "#UD: no tiles are configured";
  if (config_.rows[tile] == 0) return "#UD: this tile is not configured";
  return nullptr;
}

// The rest of the tile becomes zero.
void TileUnit::Load(const TileInstruction& i) {
  std::memset(data_[i.c], 0, sizeof(data_[i.c]));
  for (int row = 0; row < config_.rows[i.c]; ++row) {
    std::memcpy(data_[i.c][row], ReadFrom<char>(i.address + row * i.stride),
                config_.row_bytes[i.c]);
  }
}

void TileUnit::Store(const TileInstruction& i) {
  for (int row = 0; row < config_.rows[i.c]; ++row) {
    std::memcpy(reinterpret_cast<void*>(i.address + row * i.stride),
                data_[i.c][row], config_.row_bytes[i.c]);
  }
}

const char* TileUnit::ProductFault(const TileInstruction& i) const {
  for (const int tile : {i.c, i.a, i.b}) {
    if (const char* fault = TileFault(tile)) return fault;
  }
  if (i.c == i.a || i.c == i.b || i.a == i.b) {
    return "#UD: product with the same tile twice";
  }
  const std::uint16_t* const bytes = config_.row_bytes;
  if (bytes[i.c] % 4 != 0 || bytes[i.a] % 4 != 0 || bytes[i.b] % 4 != 0) {
    return "#UD: row bytes of a product's tile are not a multiple of 4";
  }
  if (config_.rows[i.c] != config_.rows[i.a]) {
    return "#UD: rows of C and A differ";
  }
  if (bytes[i.c] != bytes[i.b]) return "#UD: columns of C and B differ";
  if (bytes[i.a] / 4 != config_.rows[i.b]) {
    return "#UD: depths of A and B differ";
  }
  return nullptr;
}

// C[m][n] += sum over k of A[m][4k..4k+3] . B[k][4n..4n+3], modulo 2^32. What
// a tile has beyond its configured size is zero, so all of it may be summed.
void TileUnit::Multiply(const TileInstruction& i) {
  const bool a_signed = i.op == TileOp::kMulS8S8 || i.op == TileOp::kMulS8U8;
  const bool b_signed = i.op == TileOp::kMulS8S8 || i.op == TileOp::kMulU8S8;
  std::int32_t b[kMaxRowBytes][kMaxRows];
  for (int k = 0; k < kMaxRowBytes; ++k) {
    for (int n = 0; n < kMaxRows; ++n) {
      b[k][n] = Widen(data_[i.b][k / 4][4 * n + k % 4], b_signed);
    }
  }
  for (int m = 0; m < config_.rows[i.c]; ++m) {
    std::int32_t a[kMaxRowBytes];
    for (int k = 0; k < kMaxRowBytes; ++k) {
      a[k] = Widen(data_[i.a][m][k], a_signed);
    }
    std::uint32_t sums[kMaxRows];
    std::memcpy(sums, data_[i.c][m], sizeof(sums));
    MultiplyRow(a, b, sums);
    std::memcpy(data_[i.c][m], sums, sizeof(sums));
  }
}

// C[m][n] += sum over k of A[m][2k..2k+1] . B[k][2n..2n+1]: first the even and
// the odd levels, each from 0 on with a fused multiply-add a level, then these
// two sums, then C. Rounded to nearest even; denormals count as zero.
void TileUnit::MultiplyBFloat16(const TileInstruction& i) {
  const auto element = [this](int tile, int row, int index) {
    std::uint16_t bits;
    std::memcpy(&bits, &data_[tile][row][2 * index], sizeof(bits));
    return static_cast<float>(BFloat16::FromBits(bits));
  };
  for (int m = 0; m < config_.rows[i.c]; ++m) {
    for (int n = 0; n < config_.row_bytes[i.c] / 4; ++n) {
      float sums[2] = {0, 0};
      for (int k = 0; k < config_.rows[i.b]; ++k) {
        for (int odd = 0; odd < 2; ++odd) {
          sums[odd] =
              FlushingMultiplyAdd(element(i.a, m, 2 * k + odd),
                                  element(i.b, k, 2 * n + odd), sums[odd]);
        }
      }
      float c;
      std::memcpy(&c, &data_[i.c][m][4 * n], sizeof(c));
      c = FlushingSum(c, FlushingSum(sums[0], sums[1]));
      std::memcpy(&data_[i.c][m][4 * n], &c, sizeof(c));
    }
  }
}

const char* TileUnit::Execute(const TileInstruction& i) {
  switch (i.op) {
    case TileOp::kLoadConfig:
      return LoadConfig(i.address);
    case TileOp::kStoreConfig:
      std::memcpy(reinterpret_cast<void*>(i.address), &config_,
                  sizeof(config_));
      return nullptr;
    case TileOp::kRelease:
      Clear();
      return nullptr;
    default:
      break;
  }
  const bool is_product = i.op >= TileOp::kMulS8S8;
  if (const char* fault = is_product ? ProductFault(i) : TileFault(i.c)) {
    return fault;
  }
  switch (i.op) {
    case TileOp::kZero:
      std::memset(data_[i.c], 0, sizeof(data_[i.c]));
      break;
    case TileOp::kLoadStreaming:
      ++counts_.streaming_loads;
      [[fallthrough]];
    case TileOp::kLoad:
      ++counts_.loads;
      Load(i);
      break;
    case TileOp::kStore:
      ++counts_.stores;
      Store(i);
      break;
    default:
      ++counts_.products;
      i.op == TileOp::kMulBF16BF16 ? MultiplyBFloat16(i) : Multiply(i);
  }
  return nullptr;
}

}  // namespace ruy_like
