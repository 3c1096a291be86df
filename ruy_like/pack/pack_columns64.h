// Back-end: packing 8-bit operands for AMX's row-tile side, 16 columns x 64
// levels.
//
// Included by pack/avx512.cc (anonymous namespace). A panel is a sequence of
// tiles, each of them 16 rows of 64 bytes, one row per column:
//
//          64 levels of column 0      |
//          64 levels of column 1      |  tile of levels 0..63, 1024 bytes
//          ...                        |
//          64 levels of column 15     |
//          64 levels (64..127) of column 0 ...
//
// A depth-contiguous source is thus copied in pieces of 64 bytes; a
// width-contiguous one is transposed, 64 rows of 16 bytes at a time.
#ifndef RUY_LIKE_PACK_PACK_COLUMNS64_H_
#define RUY_LIKE_PACK_PACK_COLUMNS64_H_

#include "ruy_like/pack/pack.h"
#include "ruy_like/pack/pack_partial.h"

namespace ruy_like {
namespace kernels {
namespace {

constexpr int kTileColumns = 16;
constexpr int kTileLevels = 64;
constexpr ptrdiff_t kTileBytes = kTileColumns * kTileLevels;

// One tile: where it comes from, where it goes.
struct Tile {
  const char* src;
  ptrdiff_t stride;  // bytes between columns, or between levels
  int columns;       // how many of 16, and of 64, the source has
  int levels;
  int32_t* sums;  // of the columns, to be added to; or null
  char* dst;
};

// Sixteen vectors of 8 sums (vpsadbw) of up to 2040 each, one vector per
// column, to one vector of 16 sums. Packing two and then four columns side by
// side halves the work twice; the values are far from saturation.
PACK_INLINE __m512i ReduceSums(const __m512i v[kTileColumns]) {
  const __m512i ones = _mm512_set1_epi16(1);
  __m512i fours[4];  // four columns in each lane, to be added across lanes
  for (int i = 0; i < 4; ++i) {
    const __m512i ab = _mm512_packus_epi32(v[4 * i], v[4 * i + 1]);
    const __m512i cd = _mm512_packus_epi32(v[4 * i + 2], v[4 * i + 3]);
    fours[i] = _mm512_madd_epi16(_mm512_packus_epi32(ab, cd), ones);
  }
  __m512i pairs[2];
  for (int i = 0; i < 2; ++i) {
    pairs[i] = _mm512_add_epi32(
        _mm512_shuffle_i32x4(fours[2 * i], fours[2 * i + 1], 0x88),
        _mm512_shuffle_i32x4(fours[2 * i], fours[2 * i + 1], 0xdd));
  }
  return _mm512_add_epi32(_mm512_shuffle_i32x4(pairs[0], pairs[1], 0x88),
                          _mm512_shuffle_i32x4(pairs[0], pairs[1], 0xdd));
}

// Loads 64 rows of 16 bytes and transposes them: out[w] = 64 levels of column
// w. Lane m of rows[r] is row 16 * m + r, so that what remains is a 16x16 byte
// transposition in each lane; four perfect shuffles of the registers are one.
PACK_INLINE void LoadTransposed(const char* src, ptrdiff_t stride,
                                __m512i out[kTileColumns]) {
  __m512i a[16];
  for (int r = 0; r < 16; ++r) {
    const char* row = src + r * stride;
    __m512i v = _mm512_castsi128_si512(Load16(row));
    v = _mm512_inserti32x4(v, Load16(row + 16 * stride), 1);
    v = _mm512_inserti32x4(v, Load16(row + 32 * stride), 2);
    a[r] = _mm512_inserti32x4(v, Load16(row + 48 * stride), 3);
  }
  __m512i b[16];
  for (int i = 0; i < 8; ++i) {
    b[2 * i] = _mm512_unpacklo_epi8(a[i], a[i + 8]);
    b[2 * i + 1] = _mm512_unpackhi_epi8(a[i], a[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    a[2 * i] = _mm512_unpacklo_epi8(b[i], b[i + 8]);
    a[2 * i + 1] = _mm512_unpackhi_epi8(b[i], b[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    b[2 * i] = _mm512_unpacklo_epi8(a[i], a[i + 8]);
    b[2 * i + 1] = _mm512_unpackhi_epi8(a[i], a[i + 8]);
  }
  for (int i = 0; i < 8; ++i) {
    out[2 * i] = _mm512_unpacklo_epi8(b[i], b[i + 8]);
    out[2 * i + 1] = _mm512_unpackhi_epi8(b[i], b[i + 8]);
  }
}

// Loads a tile of a width-contiguous source, zeros where it has no elements.
PACK_INLINE void LoadTileRows(const Tile& tile, __m512i columns[kTileColumns]) {
  if (tile.columns == kTileColumns && tile.levels == kTileLevels) {
    LoadTransposed(tile.src, tile.stride, columns);
    return;
  }
  alignas(64) char rows[kTileBytes] = {};
  for (int k = 0; k < tile.levels; ++k) {
    CopyPadded<16>(rows + 16 * k, tile.src + k * tile.stride, tile.columns);
  }
  LoadTransposed(rows, 16, columns);
}

// Packs one tile, whole: zeros where the source has no elements.
template <Scalar kPacked, bool kDepthContiguous>
void PackTile(const Tile& tile, __m512i flip) {
  if (tile.levels == 0) {
    __builtin_memset(tile.dst, 0, kTileBytes);
    return;
  }
  // vpsadbw adds unsigned bytes: signed ones are shifted by 128, pads too.
  constexpr int kShift = kPacked == Scalar::kU8 ? 0 : 128;
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(kShift));
  const __mmask64 present = tile.levels == kTileLevels
                                ? ~uint64_t{0}
                                : (uint64_t{1} << tile.levels) - 1;
  const __m512i flip_present = _mm512_maskz_mov_epi8(present, flip);
  __m512i columns[kTileColumns];
  __m512i sums[kTileColumns];
  if constexpr (!kDepthContiguous) LoadTileRows(tile, columns);
  for (int w = 0; w < kTileColumns; ++w) {
    __m512i v = _mm512_setzero_si512();
    if (w < tile.columns) {
      if constexpr (kDepthContiguous) {
        v = _mm512_maskz_loadu_epi8(present, tile.src + w * tile.stride);
      } else {
        v = columns[w];
      }
      v = _mm512_xor_si512(v, flip_present);
    }
    _mm512_storeu_si512(tile.dst + w * kTileLevels, v);
    sums[w] =
        _mm512_sad_epu8(_mm512_xor_si512(v, shift), _mm512_setzero_si512());
  }
  if (tile.sums == nullptr) return;
  const __mmask16 mask = static_cast<__mmask16>((1u << tile.columns) - 1u);
  const __m512i before =
      _mm512_sub_epi32(_mm512_maskz_loadu_epi32(mask, tile.sums),
                       _mm512_set1_epi32(kShift * kTileLevels));
  _mm512_mask_storeu_epi32(tile.sums, mask,
                           _mm512_add_epi32(before, ReduceSums(sums)));
}

// Runs along the source's lines: panels, each over the whole depth, or 64
// levels, each over all panels.
template <Scalar kPacked, bool kDepthContiguous>
void PackTiles(const PackArgs* args) {
  const __m512i flip = _mm512_set1_epi8(args->src_scalar == kPacked ? 0 : -128);
  const ptrdiff_t panels = (args->width + kTileColumns - 1) / kTileColumns;
  const ptrdiff_t tiles = args->padded_depth / kTileLevels;
  if (args->sums != nullptr) {
    __builtin_memset(args->sums, 0,
                     static_cast<size_t>(args->width) * sizeof(int32_t));
  }
  for (ptrdiff_t i = 0; i < (kDepthContiguous ? panels : tiles); ++i) {
    for (ptrdiff_t j = 0; j < (kDepthContiguous ? tiles : panels); ++j) {
      const ptrdiff_t panel = kDepthContiguous ? i : j;
      const ptrdiff_t w = kTileColumns * panel;
      const ptrdiff_t k = kTileLevels * (kDepthContiguous ? j : i);
      const ptrdiff_t columns = args->width - w;
      const ptrdiff_t levels = args->depth > k ? args->depth - k : 0;
      Tile tile;
      tile.src = static_cast<const char*>(args->src) +
                 (kDepthContiguous ? w : k) * args->src_stride +
                 (kDepthContiguous ? k : w);
      tile.stride = args->src_stride;
      tile.columns =
          columns < kTileColumns ? static_cast<int>(columns) : kTileColumns;
      tile.levels =
          levels < kTileLevels ? static_cast<int>(levels) : kTileLevels;
      tile.sums = args->sums == nullptr ? nullptr : args->sums + w;
      tile.dst = static_cast<char*>(args->dst) +
                 panel * kTileColumns * args->padded_depth +
                 k / kTileLevels * kTileBytes;
      PackTile<kPacked, kDepthContiguous>(tile, flip);
    }
  }
}

template <Scalar kPacked>
void Pack16x64(const PackArgs* args) {
  if (args->depth_contiguous) {
    PackTiles<kPacked, true>(args);
  } else {
    PackTiles<kPacked, false>(args);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_PACK_PACK_COLUMNS64_H_
