// Back-end: packing of width-contiguous sources of bytes on Arm.
//
// Used by pack_neon.h in place of the general routine (pack_panels.h): up to 16
// columns at once, four rows at a time. Bytes of four rows are zipped to
// quads, a vector for four columns:
//
//    depth k     | c0 c1 c2 ... c15 |
//    depth k+1   | c0 c1 c2 ... c15 |     | c0: k k+1 k+2 k+3 | c1 | c2 | c3 |
//    depth k+2   | c0 c1 c2 ... c15 | ->  | c4 ...
//    depth k+3   | c0 c1 c2 ... c15 |     | c8 ...   | c12 ...
#ifndef RUY_LIKE_PACK_PACK_ROWS_NEON_H_
#define RUY_LIKE_PACK_PACK_ROWS_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/pack/pack_blocks.h"
#include "ruy_like/pack/pack_columns_neon.h"
#include "ruy_like/pack/pack_common.h"
#include "ruy_like/pack/pack_panels.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// A block of depth 16 of 16 columns, or of less depth.
struct SixteenColumns {
  const char* src;
  ptrdiff_t stride;
  int depth;
  uint8x16_t flip;  // makes int8 of uint8
  int32_t* sums;    // of the columns, or null
  bool is_first;    // sums begin here; else they are added to
  // Loads a row of fewer than 16 columns; else null.
  const TailLoader* tail;
  int columns;
};

// Four rows, from `first` on, as quads: element i has columns 4 * i to 4 * i
// + 3. kPlain: all rows exist, and their elements are not changed.
template <bool kPlain>
RUY_LIKE_ALWAYS_INLINE void LoadQuads(const SixteenColumns& block, int first,
                                      int32x4_t (&quads)[4]) {
  uint8x16_t rows[4];
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4; ++i) {
    if (!kPlain && first + i >= block.depth) {
      rows[i] = vdupq_n_u8(0);
      continue;
    }
    const char* const src = block.src + (first + i) * block.stride;
    if (!kPlain && block.tail != nullptr) {
      rows[i] =
          block.tail->InOrder(veorq_u8(block.tail->Load(src), block.flip));
      continue;
    }
    rows[i] = vld1q_u8(reinterpret_cast<const uint8_t*>(src));
    if (!kPlain) rows[i] = veorq_u8(rows[i], block.flip);
  }
  const uint16x8_t a = vreinterpretq_u16_u8(vzip1q_u8(rows[0], rows[1]));
  const uint16x8_t b = vreinterpretq_u16_u8(vzip2q_u8(rows[0], rows[1]));
  const uint16x8_t c = vreinterpretq_u16_u8(vzip1q_u8(rows[2], rows[3]));
  const uint16x8_t d = vreinterpretq_u16_u8(vzip2q_u8(rows[2], rows[3]));
  quads[0] = vreinterpretq_s32_u16(vzip1q_u16(a, c));
  quads[1] = vreinterpretq_s32_u16(vzip2q_u16(a, c));
  quads[2] = vreinterpretq_s32_u16(vzip1q_u16(b, d));
  quads[3] = vreinterpretq_s32_u16(vzip2q_u16(b, d));
}

// The sums of a block's columns.
RUY_LIKE_ALWAYS_INLINE void AddColumnSums(const int32x4_t (&quads)[4][4],
                                          int columns, bool is_first,
                                          int32_t* sums) {
  RUY_LIKE_UNROLL
  for (int c = 0; c < 4; ++c) {
    int16x8_t halves = vpaddlq_s8(vreinterpretq_s8_s32(quads[0][c]));
    RUY_LIKE_UNROLL
    for (int i = 1; i < 4; ++i) {
      halves = vpadalq_s8(halves, vreinterpretq_s8_s32(quads[i][c]));
    }
    const int n = Min(columns - 4 * c, 4);
    if (n <= 0) return;
    int32x4_t total = vpaddlq_s16(halves);
    if (!is_first) {
      total = vaddq_s32(
          total, SimdNeon::LoadMasked(sums + 4 * c, SimdNeon::FirstLanes(n)));
    }
    SimdNeon::Store(sums + 4 * c, total, n);
  }
}

// Writes a block to panels that are panel_bytes apart, at most `room` bytes to
// each, a multiple of 16.
template <typename F, bool kPlain>
RUY_LIKE_ALWAYS_INLINE void PackSixteenColumns(const SixteenColumns& block,
                                               ptrdiff_t panel_bytes,
                                               ptrdiff_t room, char* dst) {
  constexpr int kRegs = F::kWidth / 4;
  int32x4_t quads[4][4];  // [depth / 4][columns / 4]
  RUY_LIKE_UNROLL
  for (int i = 0; i < 4; ++i) LoadQuads<kPlain>(block, 4 * i, quads[i]);
  if (!kPlain && block.sums != nullptr)
    AddColumnSums(quads, block.columns, block.is_first, block.sums);
  RUY_LIKE_UNROLL
  for (int panel = 0; panel < 4 / kRegs; ++panel) {
    if (!kPlain && panel * F::kWidth >= block.columns) return;
    typename F::V::Reg v[4];
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kRegs; ++r) v[i].v[r] = quads[i][panel * kRegs + r];
    }
    char* const to = dst + panel * panel_bytes;
    if (kPlain || room >= F::kBlockBytes) {
      F::V::template StoreBlock<F>(to, v);
      continue;
    }
    alignas(16) char part[F::kBlockBytes];
    F::V::template StoreBlock<F>(part, v);
    for (ptrdiff_t i = 0; i < room; i += 16) {
      SimdNeon::StoreBytes(to + i, SimdNeon::LoadBytes(part + i));
    }
  }
}
template <typename F>
RUY_LIKE_NOINLINE void PackAnySixteenColumns(const SixteenColumns& block,
                                             ptrdiff_t panel_bytes,
                                             ptrdiff_t room, char* dst) {
  PackSixteenColumns<F, /*kPlain=*/false>(block, panel_bytes, room, dst);
}

// Packs columns from the first one on; returns their number: all, or a multiple
// of 16 if the other columns fill panels and the depth fills blocks, which the
// general routine packs as well. In chunks of depth 16, each over all columns,
// for the reasons given at PackWidthContiguous() (pack_panels.h).
template <typename F>
RUY_LIKE_ALWAYS_INLINE ptrdiff_t PackRowPanels(const PackArgs* args) {
  if constexpr (F::kSrcBytes != 1 || F::kPackedBytes != 1) {
    return 0;
  } else {
    constexpr int kDepth = F::kBlockDepth;
    const bool is_whole =
        args->width % F::kWidth == 0 && args->depth % kDepth == 0;
    const ptrdiff_t width = is_whole ? args->width & -16 : args->width;
    if (width == 0) return 0;
    const bool shifts = args->src_scalar != Scalar::kI8;
    const ptrdiff_t panel_bytes = args->padded_depth * F::kWidth;
    const TailLoader tail(static_cast<int>(width % 16));
    SixteenColumns block;
    block.stride = args->src_stride;
    block.flip = vdupq_n_u8(shifts ? 0x80 : 0);
    block.sums = nullptr;
    ptrdiff_t written = 0;
    for (ptrdiff_t k = 0; k < args->depth; k += kDepth) {
      block.depth = Min(args->depth - k, kDepth);
      block.is_first = k == 0;
      const bool plain =
          block.depth == kDepth && !shifts && args->sums == nullptr;
      char* dst = static_cast<char*>(args->dst) + written;
      for (ptrdiff_t first = 0; first < width; first += 16) {
        block.src =
            static_cast<const char*>(args->src) + k * block.stride + first;
        block.columns = Min(width - first, 16);
        block.tail = block.columns < 16 ? &tail : nullptr;
        if (args->sums != nullptr) block.sums = args->sums + first;
        if (plain && block.columns == 16) {
          PackSixteenColumns<F, /*kPlain=*/true>(block, panel_bytes, 0, dst);
        } else {
          PackAnySixteenColumns<F>(block, panel_bytes, panel_bytes - written,
                                   dst);
        }
        dst += 16 * args->padded_depth;
      }
      written += F::kBlockBytes;
    }
    char* panel = static_cast<char*>(args->dst);
    for (ptrdiff_t first = 0; first < width; first += F::kWidth) {
      ZeroFrom(panel, written, panel_bytes);
      panel += panel_bytes;
    }
    return width;
  }
}

template <typename F>
RUY_LIKE_ALWAYS_INLINE void PackNeon(const PackArgs* args) {
  // A single column of adjacent elements has both orders.
  if (args->depth_contiguous || (args->width == 1 && args->src_stride == 1)) {
    if constexpr (kPacksAllColumns<F>) {
      PackColumnPanels<F>(args);
    } else {
      // A copy, which stores of elements cannot change: not read again.
      const PackArgs copy = *args;
      if (!PackColumnPanels<F>(&copy)) Pack<F>(args);
    }
    return;
  }
  const ptrdiff_t done = PackRowPanels<F>(args);
  if (done == args->width) return;
  PackArgs rest = *args;
  rest.width -= done;
  rest.src = static_cast<const char*>(args->src) + done * F::kSrcBytes;
  rest.dst = static_cast<char*>(args->dst) +
             done * args->padded_depth * F::kPackedBytes;
  if (rest.sums != nullptr) rest.sums += done;
  Pack<F>(&rest);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_PACK_PACK_ROWS_NEON_H_
