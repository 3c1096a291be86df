// Back-end: the tile products of the AMX kernel, one block of tiles at a time.
//
// Included by amx_kernel.h. Knows tile numbers and addresses; is told what to
// start from and where to leave the accumulators, and gives the pending
// epilogue of the block before its turns.
//
// The unit multiplies C[16 x 16 int32] += A[16 x 64 B] * B[16 x (16 x 4 B)].
// Rows of dst are contiguous in the common case, so they take the contiguous
// direction of C: B tiles are lhs panels, A tiles are columns of the rhs.
//
//                       lhs: packed 16x4, one 1 KiB tile per 64 levels
//                       B0 (rows 0..15)     B1 (rows 16..31)
//   rhs:  A0 (cols  0..15)  C00                 C01
//         A1 (cols 16..31)  C10                 C11
//
// A column of dst is thus one row of C0x next to one row of C1x: 64 bytes each.
// At most 16 columns are left: one A tile and four B tiles instead, because the
// product of a single pair waits for its own predecessor (52 cycles) where four
// accumulators keep the unit busy (16 cycles each).
//
//   tile number     0    1    2    3    4    5    6    7
//   17..32 columns  C00  C01  C10  C11  A0   A1   B0   B1
//    1..16 columns  C00  C01  C02  C03  A0   B0,3 B1   B2
#ifndef RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_
#define RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_pending.h"
#include "ruy_like/kernels/amx/amx_rhs.h"
#include "ruy_like/kernels/amx/amx_terms.h"
#include "ruy_like/kernels/simd/always_inline.h"

namespace ruy_like {
namespace kernels {
namespace {

// Which side's tile loads bypass L1: the one that is not found there again.
enum class Stream { kNone, kLhs, kRhs };

struct TileBlock {
  const RhsGroup* rhs;
  const char* lhs;  // first panel, at this pass's first level
  ptrdiff_t lhs_panel_bytes;
  StartValues start;
  int32_t* acc;  // result: column-major, 16 * (B tiles) rows
  // Columns of the next group to pull into L2 meanwhile, and the first one's
  // address. Where there are none the address means nothing.
  int prefetch_begin, prefetch_end;
  const char* prefetch;
};

template <class Tiles, bool kUnsignedRhs, int kATiles, int kBTiles,
          Stream kStream>
struct TileBlockKernel {
  static constexpr int kMaxB = kATiles == 2 ? 2 : 4;
  static constexpr int kAccBytes = kBTiles * 64;  // from column to column

  // The product of A tile a and B tile b.
  template <int a, int b>
  static RUY_LIKE_ALWAYS_INLINE void Mul() {
    constexpr int kC = a * kMaxB + b;
    constexpr int kB = 4 + kATiles + b % (4 - kATiles);
    if constexpr (kUnsignedRhs) {
      Tiles::template MulU8S8<kC, 4 + a, kB>();
    } else {
      Tiles::template MulS8S8<kC, 4 + a, kB>();
    }
  }

  template <int a>
  static RUY_LIKE_ALWAYS_INLINE void LoadA(const char* src, ptrdiff_t stride) {
    if constexpr (kStream == Stream::kRhs) {
      Tiles::template LoadStreaming<4 + a>(src, stride);
    } else {
      Tiles::template Load<4 + a>(src, stride);
    }
  }

  template <int b>
  static RUY_LIKE_ALWAYS_INLINE void LoadB(const char* src) {
    constexpr int kB = 4 + kATiles + b % (4 - kATiles);
    if constexpr (kStream == Stream::kLhs) {
      Tiles::template LoadStreaming<kB>(src, 64);
    } else {
      Tiles::template Load<kB>(src, 64);
    }
  }

  // 64 levels: B tile b loaded and multiplied with every A tile.
  template <int b>
  static RUY_LIKE_ALWAYS_INLINE void StepB(const char* rhs1, ptrdiff_t stride,
                                           const char* lhs) {
    LoadB<b>(lhs);
    Mul<0, b>();
    if constexpr (kATiles == 2) {
      if constexpr (b == 0) LoadA<1>(rhs1, stride);
      Mul<1, b>();
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void Step(const char* rhs, ptrdiff_t rhs_tile,
                                          ptrdiff_t stride, const char* lhs,
                                          ptrdiff_t lhs_panel) {
    LoadA<0>(rhs, stride);
    StepB<0>(rhs + rhs_tile, stride, lhs);
    if constexpr (kBTiles > 1) StepB<1>(rhs, stride, lhs + lhs_panel);
    if constexpr (kBTiles > 2) StepB<2>(rhs, stride, lhs + 2 * lhs_panel);
    if constexpr (kBTiles > 3) StepB<3>(rhs, stride, lhs + 3 * lhs_panel);
  }

  // Accumulator tile (a, b): start value and result.
  template <int a, int b>
  static RUY_LIKE_ALWAYS_INLINE void Start(const TileBlock& block) {
    if constexpr (a < kATiles && b < kBTiles) {
      const StartValues& s = block.start;
      if (s.values == nullptr) {
        Tiles::template Zero<a * kMaxB + b>();
      } else {
        Tiles::template Load<a * kMaxB + b>(
            s.values + a * s.a_stride + b * s.b_stride,
            s.col_stride * sizeof(int32_t));
      }
    }
  }
  template <int a, int b>
  static RUY_LIKE_ALWAYS_INLINE void Finish(const TileBlock& block) {
    if constexpr (a < kATiles && b < kBTiles) {
      Tiles::template Store<a * kMaxB + b>(
          reinterpret_cast<char*>(block.acc) + a * 16 * kAccBytes + b * 64,
          kAccBytes);
    }
  }

  // Not inlined: thirty-six copies in one caller leave it no registers.
  __attribute__((noinline)) static void Run(const TileBlock& block,
                                            PendingBlock* pending) {
    Start<0, 0>(block);
    Start<0, 1>(block);
    Start<0, 2>(block);
    Start<0, 3>(block);
    Start<1, 0>(block);
    Start<1, 1>(block);
    const RhsGroup& g = *block.rhs;
    const char* rhs = g.data;
    const char* lhs = block.lhs;
    // Tile loads count as reading and writing all of memory, so what the loop
    // needs is copied out of it.
    const ptrdiff_t rhs_tile = g.tile_bytes;
    const ptrdiff_t rhs_col = g.col_bytes;
    const ptrdiff_t rhs_step = g.step_bytes;
    const ptrdiff_t lhs_panel = block.lhs_panel_bytes;
    const int prefetch_begin = block.prefetch_begin;
    const int prefetch_end = block.prefetch_end;
    const char* prefetch = block.prefetch;
    for (ptrdiff_t steps = g.steps; steps > 0; --steps) {
      Step(rhs, rhs_tile, rhs_col, lhs, lhs_panel);
      PrefetchColumns(prefetch, prefetch_begin, prefetch_end, rhs_col,
                      rhs_tile);
      RunPortion(pending);
      rhs += rhs_step;
      prefetch += rhs_step;
      lhs += 1024;
    }
    if (g.tail != nullptr) {
      Step(g.tail, 1024, 64, lhs, lhs_panel);
      RunPortion(pending);
    }
    Finish<0, 0>(block);
    Finish<0, 1>(block);
    Finish<0, 2>(block);
    Finish<0, 3>(block);
    Finish<1, 0>(block);
    Finish<1, 1>(block);
  }
};

template <class Tiles, bool kUnsignedRhs, Stream kStream>
void RunTileBlock(int a_tiles, int b_tiles, const TileBlock& block,
                  PendingBlock* pending) {
  switch (a_tiles * 4 + b_tiles) {
    case 2 * 4 + 2:
      return TileBlockKernel<Tiles, kUnsignedRhs, 2, 2, kStream>::Run(block,
                                                                      pending);
    case 2 * 4 + 1:
      return TileBlockKernel<Tiles, kUnsignedRhs, 2, 1, kStream>::Run(block,
                                                                      pending);
    case 1 * 4 + 1:
      return TileBlockKernel<Tiles, kUnsignedRhs, 1, 1, kStream>::Run(block,
                                                                      pending);
    case 1 * 4 + 2:
      return TileBlockKernel<Tiles, kUnsignedRhs, 1, 2, kStream>::Run(block,
                                                                      pending);
    case 1 * 4 + 3:
      return TileBlockKernel<Tiles, kUnsignedRhs, 1, 3, kStream>::Run(block,
                                                                      pending);
    default:
      return TileBlockKernel<Tiles, kUnsignedRhs, 1, 4, kStream>::Run(block,
                                                                      pending);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_BLOCK_H_
