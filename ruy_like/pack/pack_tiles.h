// Back-end: packing operands for AMX's A tiles, 16 columns x depth 64 of bytes
// or 32 of bfloat16.
//
// Included by pack/avx512.cc (anonymous namespace). A panel is a sequence of
// tiles, each of them 16 rows of 64 bytes, one row per column:
//
//          64 elements of column 0    |
//          64 elements of column 1    |  tile of depth 0..63, 1024 bytes
//          ...                        |
//          64 elements of column 15   |
//          64 elements (64..127) of column 0 ...
//
// A depth-contiguous source is thus copied in pieces of 64 bytes; elements of
// bfloat16 change places within each pair (panel_format.h). A width-contiguous
// source of bytes is transposed in blocks of 64 x 64, a cache line of each row:
// otherwise rows a multiple of 1024 bytes apart would evict each other before
// the next panel reads the next 16 bytes of the same lines (1.8 bytes per cycle
// at a stride of 4096).
#ifndef RUY_LIKE_PACK_PACK_TILES_H_
#define RUY_LIKE_PACK_PACK_TILES_H_

#include "ruy_like/pack/pack_common.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

constexpr int kTileColumns = 16;
constexpr int kTileDepth = 64;  // of bytes: a row of a tile
constexpr int kBlockTiles = 4;  // side by side in a block
constexpr int kBlockColumns = kBlockTiles * kTileColumns;

// Sums of 8 adjacent bytes, in 64-bit elements. vpsadbw adds unsigned bytes:
// signed ones are shifted by 128, padding too; SumOffset() undoes that for a
// column of a tile.
template <Scalar kPacked>
RUY_LIKE_ALWAYS_INLINE __m512i SumEighths(__m512i v) {
  const __m512i shift = _mm512_set1_epi8(kPacked == Scalar::kU8 ? 0 : -128);
  return _mm512_sad_epu8(_mm512_xor_si512(v, shift), _mm512_setzero_si512());
}
template <Scalar kPacked>
RUY_LIKE_ALWAYS_INLINE __m512i SumOffset() {
  return _mm512_set1_epi32(kPacked == Scalar::kU8 ? 0 : -128 * kTileDepth);
}

// Sums of the two 64-bit elements (< 2^15) of each lane of four registers: in
// lane l, those of lane l of v[0..3]. Packing them side by side beats adding
// registers up, and is far from saturating.
RUY_LIKE_ALWAYS_INLINE __m512i SumLanes(const __m512i v[4]) {
  return _mm512_madd_epi16(_mm512_packus_epi32(_mm512_packus_epi32(v[0], v[1]),
                                               _mm512_packus_epi32(v[2], v[3])),
                           _mm512_set1_epi16(1));
}

// Writes a tile; returns the sums of its columns, or 0 if not wanted.
template <Scalar kPacked>
RUY_LIKE_ALWAYS_INLINE __m512i StoreTile(const __m512i columns[kTileColumns],
                                         bool want_sums, char* dst) {
  for (int w = 0; w < kTileColumns; ++w) {
    _mm512_storeu_si512(dst + w * kTileDepth, columns[w]);
  }
  if (!want_sums) return _mm512_setzero_si512();
  __m512i fours[4];  // sums of columns 4 * i .. 4 * i + 3 in each lane
  for (int i = 0; i < 4; ++i) {
    __m512i eighths[4];
    for (int j = 0; j < 4; ++j) {
      eighths[j] = SumEighths<kPacked>(columns[4 * i + j]);
    }
    fours[i] = SumLanes(eighths);
  }
  Simd512::TransposeLanes(fours);
  return _mm512_add_epi32(
      SumOffset<kPacked>(),
      _mm512_add_epi32(_mm512_add_epi32(fours[0], fours[1]),
                       _mm512_add_epi32(fours[2], fours[3])));
}

// Adds to the first sums in memory, at most 16.
RUY_LIKE_ALWAYS_INLINE void AddToStoredSums(int32_t* sums, ptrdiff_t count,
                                            __m512i more) {
  const __mmask16 mask = Simd512::FirstLanes(Min(count, 16));
  _mm512_mask_storeu_epi32(
      sums, mask, _mm512_add_epi32(_mm512_maskz_loadu_epi32(mask, sums), more));
}

// The bytes of a register that are among the first `count`.
RUY_LIKE_ALWAYS_INLINE __mmask64 FirstBytes(ptrdiff_t count) {
  return count >= 64 ? ~uint64_t{0}
                     : (uint64_t{1} << (count > 0 ? count : 0)) - 1;
}

// 64 bytes of a column: int8 and uint8 become each other by `flip`, the
// elements of a pair of bfloat16 change places.
template <Scalar kPacked>
RUY_LIKE_ALWAYS_INLINE __m512i AsPacked(__m512i bytes, __m512i flip) {
  return kPacked == Scalar::kBF16 ? _mm512_rol_epi32(bytes, 16)
                                  : _mm512_xor_si512(bytes, flip);
}

// Panel after panel, each over the whole depth.
template <Scalar kPacked>
void PackTilesDepthContiguous(const PackArgs* args, __m512i flip) {
  constexpr int kBytes = static_cast<int>(BytesOf(kPacked, 1));
  const char* src = static_cast<const char*>(args->src);
  char* dst = static_cast<char*>(args->dst);
  int32_t* all_sums = HasSums(kPacked) ? args->sums : nullptr;
  const ptrdiff_t stride = args->src_stride * kBytes;
  const ptrdiff_t depth = args->depth * kBytes;  // and k: in bytes
  for (ptrdiff_t width = args->width; width > 0; width -= kTileColumns) {
    const int count = Min(width, kTileColumns);
    __m512i sums = _mm512_setzero_si512();
    for (ptrdiff_t k = 0; k < depth; k += kTileDepth) {
      const __mmask64 present = FirstBytes(depth - k);
      __m512i columns[kTileColumns];
      if (count == kTileColumns && k + kTileDepth <= depth) {
        for (int w = 0; w < kTileColumns; ++w) {
          columns[w] =
              AsPacked<kPacked>(_mm512_loadu_si512(src + w * stride + k), flip);
        }
      } else {
        for (int w = 0; w < kTileColumns; ++w) {
          columns[w] = _mm512_setzero_si512();
          if (w < count) {
            columns[w] = AsPacked<kPacked>(
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
    dst += kTileColumns * args->padded_depth * kBytes;
    if (all_sums != nullptr) {
      AddToStoredSums(all_sums, width, sums);
      all_sums += kTileColumns;
    }
  }
}

// Four tiles side by side, from a block of a width-contiguous source: lane t of
// column[w][m] has elements 16 * m .. 16 * m + 15 of column w of tile t.
struct TransposedBlock {
  __m512i column[kTileColumns][4];
};

// Loads a block: `depth` rows, of which the bytes in `present` exist.
RUY_LIKE_NOINLINE void LoadTransposedBlock(const char* src, ptrdiff_t stride,
                                           ptrdiff_t depth, __mmask64 present,
                                           __m512i flip,
                                           TransposedBlock* block) {
  const __m512i flip_present = _mm512_maskz_mov_epi8(present, flip);
  for (int m = 0; m < 4; ++m) {
    __m512i rows[16];
    if (depth >= 16 * m + 16 && present == ~uint64_t{0}) {
      for (int r = 0; r < 16; ++r) {
        rows[r] = _mm512_xor_si512(_mm512_loadu_si512(src), flip);
        src += stride;
      }
    } else {
      for (int r = 0; r < 16; ++r) {
        rows[r] = _mm512_setzero_si512();
        if (16 * m + r < depth) {
          rows[r] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(present, src),
                                     flip_present);
          src += stride;
        }
      }
    }
    // The 16x16 bytes of each lane, transposed.
    ShufflePerfectly<16, 4>(rows, Simd512::Zip8);
    for (int w = 0; w < kTileColumns; ++w) block->column[w][m] = rows[w];
  }
}

// Writes the leading `tiles` of a block's tiles, tile_stride bytes apart.
RUY_LIKE_NOINLINE void StoreTransposedBlock(const TransposedBlock& block,
                                            ptrdiff_t tiles,
                                            ptrdiff_t tile_stride, char* dst) {
  for (int w = 0; w < kTileColumns; ++w, dst += kTileDepth) {
    __m512i v[kBlockTiles];
    for (int m = 0; m < 4; ++m) v[m] = block.column[w][m];
    Simd512::TransposeLanes(v);
    _mm512_storeu_si512(dst, v[0]);
    if (tiles > 1) _mm512_storeu_si512(dst + tile_stride, v[1]);
    if (tiles > 2) _mm512_storeu_si512(dst + 2 * tile_stride, v[2]);
    if (tiles > 3) _mm512_storeu_si512(dst + 3 * tile_stride, v[3]);
  }
}

// Adds the sums of a block's columns to the first `count` sums in memory.
template <Scalar kPacked>
RUY_LIKE_NOINLINE void SumTransposedBlock(const TransposedBlock& block,
                                          ptrdiff_t count, int32_t* sums) {
  __m512i fours[4];  // in lane t, those of columns 4 * i .. 4 * i + 3 of tile t
  for (int i = 0; i < 4; ++i) {
    __m512i halves[4];
    for (int j = 0; j < 4; ++j) {
      const __m512i* v = block.column[4 * i + j];
      halves[j] = _mm512_add_epi64(_mm512_add_epi64(SumEighths<kPacked>(v[0]),
                                                    SumEighths<kPacked>(v[1])),
                                   _mm512_add_epi64(SumEighths<kPacked>(v[2]),
                                                    SumEighths<kPacked>(v[3])));
    }
    fours[i] = SumLanes(halves);
  }
  Simd512::TransposeLanes(fours);
  for (int t = 0; t < kBlockTiles && t * kTileColumns < count; ++t) {
    AddToStoredSums(sums + t * kTileColumns, count - t * kTileColumns,
                    _mm512_add_epi32(fours[t], SumOffset<kPacked>()));
  }
}

// Blocks of depth 64, side by side over the whole width, one below the other.
template <Scalar kPacked>
void PackTilesWidthContiguous(const PackArgs* args, __m512i flip) {
  const ptrdiff_t tile_stride = kTileColumns * args->padded_depth;
  TransposedBlock block;
  for (ptrdiff_t k = 0; k < args->depth; k += kTileDepth) {
    for (ptrdiff_t w = 0; w < args->width; w += kBlockColumns) {
      const ptrdiff_t columns = args->width - w;
      LoadTransposedBlock(
          static_cast<const char*>(args->src) + k * args->src_stride + w,
          args->src_stride, args->depth - k, FirstBytes(columns), flip, &block);
      StoreTransposedBlock(
          block, (columns + kTileColumns - 1) / kTileColumns, tile_stride,
          static_cast<char*>(args->dst) + w / kTileColumns * tile_stride +
              kTileColumns * k);
      if (args->sums != nullptr) {
        SumTransposedBlock<kPacked>(block, columns, args->sums + w);
      }
    }
  }
}

// Loads 32 elements of 16 width-contiguous columns of bfloat16, a register for
// each pair of them, and transposes them to one for each column; missing
// elements are 0.
RUY_LIKE_ALWAYS_INLINE void LoadPairs(const uint16_t* src, ptrdiff_t stride,
                                      ptrdiff_t depth, ptrdiff_t columns,
                                      __m512i* words) {
  const auto row_at = [&](ptrdiff_t k) {
    const auto present =
        static_cast<__mmask16>(k < depth ? FirstBytes(columns) : 0);
    return _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(present, k < depth ? src + k * stride : src));
  };
  for (int pair = 0; pair < 16; ++pair) {
    words[pair] = _mm512_or_si512(_mm512_slli_epi32(row_at(2 * pair), 16),
                                  row_at(2 * pair + 1));
  }
  Simd512::Transpose(words);
}

inline void PackPairsWidthContiguous(const PackArgs* args) {
  constexpr ptrdiff_t kDepth = 32;
  const auto* const src = static_cast<const uint16_t*>(args->src);
  for (ptrdiff_t w = 0; w < args->width; w += kTileColumns) {
    char* const dst =
        static_cast<char*>(args->dst) + 2 * w * args->padded_depth;
    for (ptrdiff_t k = 0; k < args->depth; k += kDepth) {
      __m512i columns[kTileColumns];
      LoadPairs(src + k * args->src_stride + w, args->src_stride,
                args->depth - k, args->width - w, columns);
      StoreTile<Scalar::kBF16>(columns, false, dst + 2 * kTileColumns * k);
    }
  }
}

template <Scalar kPacked>
void PackTiles(const PackArgs* args) {
  constexpr ptrdiff_t kBytes = BytesOf(kPacked, 1);
  const __m512i flip = _mm512_set1_epi8(args->src_scalar == kPacked ? 0 : -128);
  if (HasSums(kPacked) && args->sums != nullptr) {
    __builtin_memset(args->sums, 0,
                     static_cast<size_t>(args->width) * sizeof(int32_t));
  }
  if (args->depth_contiguous || (args->width == 1 && args->src_stride == 1)) {
    PackTilesDepthContiguous<kPacked>(args, flip);
  } else if constexpr (kPacked == Scalar::kBF16) {
    PackPairsWidthContiguous(args);
  } else {
    PackTilesWidthContiguous<kPacked>(args, flip);
  }
  // Padding beyond the last tile that has source elements.
  const ptrdiff_t written = (args->depth * kBytes + kTileDepth - 1) /
                            kTileDepth * kTileDepth * kTileColumns;
  const ptrdiff_t panel_bytes = args->padded_depth * kTileColumns * kBytes;
  char* dst = static_cast<char*>(args->dst);
  for (ptrdiff_t w = 0; w < args->width; w += kTileColumns) {
    ZeroFrom(dst, written, panel_bytes);
    dst += panel_bytes;
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_TILES_H_
