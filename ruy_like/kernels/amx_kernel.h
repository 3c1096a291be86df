// Back-end: the AMX int8 kernel as a template over the tile unit.
//
// Included by kernels/amx.cc with the real unit (amx_tile.h), and by the
// kernel's test with an emulated one, so that this very source is tested where
// there is no AMX. It does not pack, and knows no requantization arithmetic:
// that is epilogue.h's. doc/amx.md explains the choices below.
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
#ifndef RUY_LIKE_KERNELS_AMX_KERNEL_H_
#define RUY_LIKE_KERNELS_AMX_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/always_inline.h"
#include "ruy_like/kernels/amx_epilogue.h"
#include "ruy_like/kernels/amx_rhs.h"
#include "ruy_like/kernels/amx_terms.h"
#include "ruy_like/kernels/amx_tile_config.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/x86_intrinsics.h"

namespace ruy_like {
namespace kernels {
namespace {

// ## One block of tiles

// Which side's tile loads bypass L1: the one that is not found there again.
enum class Stream { kNone, kLhs, kRhs };

struct TileBlock {
  const RhsGroup* rhs;
  const char* lhs;  // first panel, at this pass's first level
  ptrdiff_t lhs_panel_bytes;
  StartValues start;
  int32_t* acc;  // result: column-major, 16 * (B tiles) rows
  // Part of the next column group to pull into L2 meanwhile.
  const RhsGroup* next_rhs;
  int prefetch_begin, prefetch_end;
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
    for (ptrdiff_t steps = g.steps; steps > 0; --steps) {
      Step(rhs, rhs_tile, rhs_col, lhs, lhs_panel);
      PrefetchColumns(*block.next_rhs, block.prefetch_begin, block.prefetch_end,
                      g.steps - steps);
      RunPortion(pending);
      rhs += rhs_step;
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

// ## The call

// What a call keeps on its stack, all of it in L1.
struct CallState {
  PendingBlock pending;
  StartTerms terms;
  alignas(64) int32_t acc[kBlockElements];
  alignas(64) char tail[kGroupCols * kStepLevels];
  Stream stream;
};

// A column group is read once per block of rows, an lhs panel once per column
// group; whichever is not in L1 then is streamed. Of 48 KiB of L1 40 are
// counted on, the rest is CallState, dst and constants.
Stream ChooseStream(const KernelArgs& args) {
  if (args.rows <= 32) return Stream::kRhs;
  return (args.rows + kGroupCols) * args.depth <= 40 * 1024 ? Stream::kNone
                                                            : Stream::kLhs;
}

// All rows of one column group.
template <class Tiles, bool kUnsignedRhs>
void RunGroup(const KernelArgs& args, const RhsGroup& group,
              const RhsGroup& next, ptrdiff_t col0, CallState* state) {
  const int a_tiles = group.cols > 16 ? 2 : 1;
  const int max_b = a_tiles == 2 ? 2 : 4;
  const ptrdiff_t panels = (args.rows + 15) / 16;
  const ptrdiff_t blocks = (panels + max_b - 1) / max_b;
  // Each block prefetches its share of the next group's columns, so that the
  // group is in L2 when its turn comes.
  const int share = static_cast<int>((next.cols + blocks - 1) / blocks);
  int32_t* accum =
      static_cast<int32_t*>(args.accum) + col0 * ((args.rows + 31) / 32 * 32);
  TileBlock block;
  block.rhs = &group;
  block.lhs = static_cast<const char*>(args.lhs);
  block.lhs_panel_bytes = args.lhs_stride_bytes;
  block.next_rhs = &next;
  block.prefetch_end = 0;
  for (ptrdiff_t panel = 0; panel < panels; panel += max_b) {
    const int b_tiles =
        static_cast<int>(panels - panel < max_b ? panels - panel : max_b);
    const ptrdiff_t row0 = panel * 16;
    const int rows = static_cast<int>(
        args.rows - row0 < b_tiles * 16 ? args.rows - row0 : b_tiles * 16);
    const int acc_rows = b_tiles * 16;
    block.prefetch_begin = block.prefetch_end;
    block.prefetch_end += share;
    if (block.prefetch_end > next.cols) block.prefetch_end = next.cols;
    if (args.first_pass) {
      block.start = MakeStart(args, group.cols, row0, rows, &state->terms);
    } else {
      AddTerms(args, state->terms, row0, rows, group.cols, /*accumulate=*/true,
               accum);
      block.start = {accum, acc_rows, 16 * acc_rows, 16};
    }
    block.acc = args.last_pass ? state->acc : accum;
    SpreadPending(group.steps + (group.tail != nullptr), &state->pending);
    switch (state->stream) {
      case Stream::kNone:
        RunTileBlock<Tiles, kUnsignedRhs, Stream::kNone>(
            a_tiles, b_tiles, block, &state->pending);
        break;
      case Stream::kLhs:
        RunTileBlock<Tiles, kUnsignedRhs, Stream::kLhs>(a_tiles, b_tiles, block,
                                                        &state->pending);
        break;
      case Stream::kRhs:
        RunTileBlock<Tiles, kUnsignedRhs, Stream::kRhs>(a_tiles, b_tiles, block,
                                                        &state->pending);
        break;
    }
    if (args.last_pass) {
      SetPending(state->acc, acc_rows, rows, group.cols, row0, col0,
                 &state->pending);
    }
    block.lhs += max_b * args.lhs_stride_bytes;
    accum += acc_rows * 16 * a_tiles;
  }
}

// The kernel (KernelFn) for lhs packed as kI8 16x4 and this kind of rhs.
template <class Tiles, RhsKind kKind>
void RunAmx(const KernelArgs* args) {
  CallState state;
  InitPending(*args->epilogue, &state.pending);
  InitTerms(*args, &state.terms);
  state.stream = ChooseStream(*args);
  RhsGroup group = MakeRhsGroup(*args, kKind, 0);
  int configured_cols = 0;
  for (ptrdiff_t col0 = 0; col0 < args->cols; col0 += kGroupCols) {
    const RhsGroup next = MakeRhsGroup(*args, kKind, col0 + kGroupCols);
    if (group.cols != configured_cols) {
      TileConfig config;
      MakeTileConfig(group.cols, &config);
      Tiles::Configure(config);
      configured_cols = group.cols;
    }
    if (kKind != RhsKind::kPackedS8) {
      CopyTail(args->depth, state.tail, &group);
    }
    SetColumnTerms<kKind>(*args, group, col0, &state.terms);
    RunGroup<Tiles, kKind == RhsKind::kInPlaceU8>(*args, group, next, col0,
                                                  &state);
    group = next;
  }
  Tiles::Release();
  SpreadPending(1, &state.pending);
  RunPortion(&state.pending);
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_KERNEL_H_
