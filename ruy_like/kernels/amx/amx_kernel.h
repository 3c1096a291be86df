// Back-end: the AMX int8 kernel as a template over the tile unit.
//
// Included by kernels/amx.cc. It walks over a block of dst in blocks of tiles
// (amx_block.h) and has the epilogue of each run during the next one
// (amx_pending.h). It does not pack. doc/amx.md explains the choices.
//
// Columns of dst go in groups of 32; inside a group all rows stream by:
//
//        group 0    group 1
//      +----------+----------+--
//      | 1st      | 4th      |      A group's columns of the rhs stay in L1
//      +----------+----------+--    while the lhs panels come from L2.
//      | 2nd      | 5th      |
//      +----------+----------+--
//      | 3rd      | 6th      |
#ifndef RUY_LIKE_KERNELS_AMX_AMX_KERNEL_H_
#define RUY_LIKE_KERNELS_AMX_AMX_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_block.h"
#include "ruy_like/kernels/amx/amx_pending.h"
#include "ruy_like/kernels/amx/amx_rhs.h"
#include "ruy_like/kernels/amx/amx_terms.h"
#include "ruy_like/kernels/amx/amx_tile_config.h"
#include "ruy_like/kernels/kernel.h"

namespace ruy_like {
namespace kernels {
namespace {

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
inline Stream ChooseStream(const KernelArgs& args) {
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
  // In `accum`, blocks lie in the order in which they are visited.
  ptrdiff_t saved = col0 * ((args.rows + 31) / 32 * 32);
  TileBlock block;
  block.rhs = &group;
  block.lhs = static_cast<const char*>(args.lhs);
  block.lhs_panel_bytes = args.lhs_stride_bytes;
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
    block.prefetch = block.prefetch_begin < block.prefetch_end
                         ? ColumnAddress(next, block.prefetch_begin, 0)
                         : group.data;
    const bool single_pass = args.first_pass && args.last_pass;
    int32_t* accum =
        single_pass ? nullptr : static_cast<int32_t*>(args.accum) + saved;
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
    saved += kBlockElements;
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
      Tiles::Configure(kTileConfigs.of[group.cols]);
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

#endif  // RUY_LIKE_KERNELS_AMX_AMX_KERNEL_H_
