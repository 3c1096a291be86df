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
// A depth-contiguous source is thus copied in pieces of 64 bytes. A
// width-contiguous one is staged, 64 rows of 64 bytes at a time, and transposed
// from there.
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
// Columns of a stage: a cache line of them, read once. Without the stage, rows
// a multiple of 1024 bytes apart evict each other before the next panel comes
// for their second 16 bytes.
constexpr int kStageColumns = 64;

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

// Loads 64 rows of 16 bytes from a stage and transposes them: out[w] = 64
// levels of column w. Lane m of rows[r] is row 16 * m + r, so that what remains
// is a 16x16 byte transposition in each lane, which is what four perfect
// shuffles of 16 registers amount to.
PACK_INLINE void LoadTransposed(const char* stage, __m512i out[kTileColumns]) {
  __m512i rows[16];
  for (int r = 0; r < 16; ++r) {
    const char* row = stage + r * kStageColumns;
    __m512i v = _mm512_castsi128_si512(Load16(row));
    v = _mm512_inserti32x4(v, Load16(row + 16 * kStageColumns), 1);
    v = _mm512_inserti32x4(v, Load16(row + 32 * kStageColumns), 2);
    rows[r] = _mm512_inserti32x4(v, Load16(row + 48 * kStageColumns), 3);
  }
  for (int pass = 0; pass < 4; ++pass) {
    for (int i = 0; i < 8; ++i) {
      out[2 * i] = _mm512_unpacklo_epi8(rows[i], rows[i + 8]);
      out[2 * i + 1] = _mm512_unpackhi_epi8(rows[i], rows[i + 8]);
    }
    for (int i = 0; i < 16; ++i) rows[i] = out[i];
  }
}

// Writes a tile; returns the sums of its columns, or anything if not wanted.
template <Scalar kPacked>
PACK_INLINE __m512i StoreTile(const __m512i columns[kTileColumns],
                              bool want_sums, char* dst) {
  for (int w = 0; w < kTileColumns; ++w) {
    _mm512_storeu_si512(dst + w * kTileLevels, columns[w]);
  }
  if (!want_sums) return _mm512_setzero_si512();
  // vpsadbw adds unsigned bytes: signed ones are shifted by 128, pads too.
  constexpr int kShift = kPacked == Scalar::kU8 ? 0 : 128;
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(kShift));
  __m512i eighths[kTileColumns];
  for (int w = 0; w < kTileColumns; ++w) {
    eighths[w] = _mm512_sad_epu8(_mm512_xor_si512(columns[w], shift),
                                 _mm512_setzero_si512());
  }
  return _mm512_sub_epi32(ReduceSums(eighths),
                          _mm512_set1_epi32(kShift * kTileLevels));
}

// Adds to the first `count` sums in memory.
PACK_INLINE void AddToSums(int32_t* sums, int count, __m512i more) {
  const __mmask16 mask = static_cast<__mmask16>((1u << count) - 1u);
  _mm512_mask_storeu_epi32(
      sums, mask, _mm512_add_epi32(_mm512_maskz_loadu_epi32(mask, sums), more));
}

// The bytes of a register that are among the first `count`.
PACK_INLINE __mmask64 FirstBytes(ptrdiff_t count) {
  return count >= 64 ? ~uint64_t{0}
                     : (uint64_t{1} << (count > 0 ? count : 0)) - 1;
}

// Panel after panel, each over the whole depth.
template <Scalar kPacked>
void PackTilesDepthContiguous(const PackArgs* args, __m512i flip) {
  const char* src = static_cast<const char*>(args->src);
  char* dst = static_cast<char*>(args->dst);
  int32_t* all_sums = args->sums;
  const ptrdiff_t stride = args->src_stride;
  for (ptrdiff_t width = args->width; width > 0; width -= kTileColumns) {
    const int count =
        width < kTileColumns ? static_cast<int>(width) : kTileColumns;
    __m512i sums = _mm512_setzero_si512();
    for (ptrdiff_t k = 0; k < args->depth; k += kTileLevels) {
      const __mmask64 present = FirstBytes(args->depth - k);
      __m512i columns[kTileColumns];
      if (count == kTileColumns && k + kTileLevels <= args->depth) {
        for (int w = 0; w < kTileColumns; ++w) {
          columns[w] =
              _mm512_xor_si512(_mm512_loadu_si512(src + w * stride + k), flip);
        }
      } else {
        for (int w = 0; w < kTileColumns; ++w) {
          columns[w] = _mm512_setzero_si512();
          if (w < count) {
            columns[w] = _mm512_xor_si512(
                _mm512_maskz_loadu_epi8(present, src + w * stride + k),
                _mm512_maskz_mov_epi8(present, flip));
          }
        }
      }
      sums = _mm512_add_epi32(sums,
                              StoreTile<kPacked>(columns, all_sums != nullptr,
                                                 dst + kTileColumns * k));
    }
    src += kTileColumns * stride;
    dst += kTileColumns * args->padded_depth;
    if (all_sums != nullptr) {
      AddToSums(all_sums, count, sums);
      all_sums += kTileColumns;
    }
  }
}

// Stages of 64 levels, side by side over the whole width, one below the other.
template <Scalar kPacked>
void PackTilesWidthContiguous(const PackArgs* args, __m512i flip) {
  alignas(64) char stage[kTileLevels * kStageColumns];
  for (ptrdiff_t k = 0; k < args->depth; k += kTileLevels) {
    for (ptrdiff_t w = 0; w < args->width; w += kStageColumns) {
      const char* src =
          static_cast<const char*>(args->src) + k * args->src_stride + w;
      const __mmask64 present = FirstBytes(args->width - w);
      const __m512i flip_present = _mm512_maskz_mov_epi8(present, flip);
      for (int row = 0; row < kTileLevels; ++row) {
        __m512i v = _mm512_setzero_si512();
        if (k + row < args->depth) {
          v = _mm512_xor_si512(_mm512_maskz_loadu_epi8(present, src),
                               flip_present);
          src += args->src_stride;
        }
        _mm512_store_si512(stage + row * kStageColumns, v);
      }
      for (ptrdiff_t tile = w; tile < w + kStageColumns && tile < args->width;
           tile += kTileColumns) {
        const ptrdiff_t rest = args->width - tile;
        __m512i columns[kTileColumns];
        LoadTransposed(stage + (tile - w), columns);
        const __m512i sums = StoreTile<kPacked>(columns, args->sums != nullptr,
                                                static_cast<char*>(args->dst) +
                                                    tile * args->padded_depth +
                                                    kTileColumns * k);
        if (args->sums != nullptr) {
          AddToSums(args->sums + tile,
                    rest < kTileColumns ? static_cast<int>(rest) : kTileColumns,
                    sums);
        }
      }
    }
  }
}

template <Scalar kPacked>
void Pack16x64(const PackArgs* args) {
  const __m512i flip = _mm512_set1_epi8(args->src_scalar == kPacked ? 0 : -128);
  if (args->sums != nullptr) {
    __builtin_memset(args->sums, 0,
                     static_cast<size_t>(args->width) * sizeof(int32_t));
  }
  if (args->depth_contiguous || (args->width == 1 && args->src_stride == 1)) {
    PackTilesDepthContiguous<kPacked>(args, flip);
  } else {
    PackTilesWidthContiguous<kPacked>(args, flip);
  }
  // Padding beyond the last tile that has source elements.
  const ptrdiff_t written = (args->depth + kTileLevels - 1) / kTileLevels *
                            kTileLevels * kTileColumns;
  const ptrdiff_t panel_bytes = args->padded_depth * kTileColumns;
  char* dst = static_cast<char*>(args->dst);
  for (ptrdiff_t w = 0; w < args->width; w += kTileColumns) {
    ZeroFrom(dst, written, panel_bytes);
    dst += panel_bytes;
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_PACK_PACK_COLUMNS64_H_
