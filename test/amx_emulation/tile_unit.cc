#include "test/amx_emulation/tile_unit.h"

#include <cstddef>
#include <cstring>
#include <initializer_list>

#if defined(__x86_64__)
#include "ruy_like/simd/x86_intrinsics.h"
#endif

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

#if defined(__x86_64__)

// Rows of a product's tiles: `rows` of A and C, `depth` of B; the columns of C
// in `mask`. By instructions that every machine has which has the AMX path's
// others, or tests would take hours.
struct ProductRows {
  int rows, depth;
  __mmask16 mask;
  const std::uint8_t (*a)[TileUnit::kMaxRowBytes];
  const std::uint8_t (*b)[TileUnit::kMaxRowBytes];
  std::uint8_t (*c)[TileUnit::kMaxRowBytes];
};

// The even and the odd bytes of `quads` as 16-bit integers.
template <bool kSigned>
__attribute__((target("avx512bw"))) void Widen(__m512i quads, __m512i* even,
                                               __m512i* odd) {
  *even = _mm512_slli_epi16(quads, 8);
  *even = kSigned ? _mm512_srai_epi16(*even, 8) : _mm512_srli_epi16(*even, 8);
  *odd = kSigned ? _mm512_srai_epi16(quads, 8) : _mm512_srli_epi16(quads, 8);
}

template <bool kSignedA, bool kSignedB>
__attribute__((target("avx512bw"))) void MultiplyBytes(const ProductRows& r) {
  for (int k = 0; k < r.depth; ++k) {
    __m512i b[2], a[2];
    Widen<kSignedB>(_mm512_loadu_si512(r.b[k]), &b[0], &b[1]);
    for (int m = 0; m < r.rows; ++m) {
      int quad;
      std::memcpy(&quad, r.a[m] + 4 * k, sizeof(quad));
      Widen<kSignedA>(_mm512_set1_epi32(quad), &a[0], &a[1]);
      const __m512i products = _mm512_add_epi32(_mm512_madd_epi16(a[0], b[0]),
                                                _mm512_madd_epi16(a[1], b[1]));
      const __m512i c = _mm512_loadu_si512(r.c[m]);
      _mm512_mask_storeu_epi32(r.c[m], r.mask, _mm512_add_epi32(c, products));
    }
  }
}

// bfloat16's bits are the upper half of a float's.
__attribute__((target("avx512f"))) void WidenFloats(__m512i pairs, __m512* even,
                                                    __m512* odd) {
  *even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  *odd =
      _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_srli_epi32(pairs, 16), 16));
}

__attribute__((target("avx512f"), noinline)) void MultiplyBFloat16s(
    const ProductRows& r) {
  for (int m = 0; m < r.rows; ++m) {
    __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int k = 0; k < r.depth; ++k) {
      __m512 a[2], b[2];
      int pair;
      std::memcpy(&pair, r.a[m] + 4 * k, sizeof(pair));
      WidenFloats(_mm512_set1_epi32(pair), &a[0], &a[1]);
      WidenFloats(_mm512_loadu_si512(r.b[k]), &b[0], &b[1]);
      for (int odd = 0; odd < 2; ++odd) {
        sums[odd] = _mm512_fmadd_ps(a[odd], b[odd], sums[odd]);
      }
    }
    const __m512 c = _mm512_loadu_ps(r.c[m]);
    _mm512_mask_storeu_ps(r.c[m], r.mask,
                          _mm512_add_ps(c, _mm512_add_ps(sums[0], sums[1])));
  }
}

// Rounds to nearest even, takes denormals for zeros and raises nothing.
void MultiplyBFloat16sFlushing(const ProductRows& r) {
  const unsigned int before = _mm_getcsr();
  _mm_setcsr(0x9fc0);
  MultiplyBFloat16s(r);  // a call, which nothing is moved out of
  _mm_setcsr(before);
}

#endif

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

// C[m][n] += sum over k of A[m][4k..4k+3] . B[k][4n..4n+3], modulo 2^32.
//
// With bfloat16, sum over k of A[m][2k..2k+1] . B[k][2n..2n+1]: first the even
// and the odd levels, each from 0 on with a fused multiply-add a level, then
// these two sums, then C. Rounded to nearest even; denormals count as zero.
void TileUnit::Multiply(const TileInstruction& i) {
#if defined(__x86_64__)
  const ProductRows rows = {
      config_.rows[i.c],
      config_.rows[i.b],
      static_cast<__mmask16>((1u << config_.row_bytes[i.c] / 4) - 1),
      data_[i.a],
      data_[i.b],
      data_[i.c]};
  switch (i.op) {
    case TileOp::kMulS8S8:
      return MultiplyBytes<true, true>(rows);
    case TileOp::kMulS8U8:
      return MultiplyBytes<true, false>(rows);
    case TileOp::kMulU8S8:
      return MultiplyBytes<false, true>(rows);
    case TileOp::kMulU8U8:
      return MultiplyBytes<false, false>(rows);
    default:
      return MultiplyBFloat16sFlushing(rows);
  }
#else
  (void)i;  // there are no tile instructions
#endif
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
      Multiply(i);
  }
  return nullptr;
}

}  // namespace ruy_like
