// A thread's part of a product: blocks, one after the other.
//
// A block is run in pieces, in passes over a depth that is split; where there
// is nothing to split, one of each. A side that is kPackedByBlock is packed in
// the middle of that, by each block for itself: what is read of it next is
// small enough to be still in the cache, the same scratch serves what comes
// after it, and little of it ever goes to memory.
//
// One thread's scratch, of which only what is needed is there:
//
//   | saved accumulators | lhs panels | rhs panels | sums of rows and columns |
//   | of the block       | of a row   | of the     | of the block; those of   |
//   |                    | of pieces  | block      | the last pass            |
//
// Panels hold one pass. Those of the rhs are a piece's where there is but one
// row of pieces.
//
// Tested in test/run/blocks_test.cc.
#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "absl/base/attributes.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/base/wait.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/run/product.h"

namespace ruy_like {

using kernels::EpilogueArgs;
using kernels::KernelArgs;
using kernels::PanelBytes;
using std::ptrdiff_t;

// Reads before it draws: mostly nothing is left.
RUY_LIKE_HOT ptrdiff_t Product::NextBlock() {
  const ptrdiff_t blocks = BlockCount(plan_->map);
  return next_block_.load(std::memory_order_relaxed) >= blocks
             ? blocks
             : next_block_.fetch_add(1, std::memory_order_relaxed);
}

RUY_LIKE_HOT void Product::Work(int thread) {
  const ptrdiff_t blocks = BlockCount(plan_->map);
  ptrdiff_t index = thread < first_dealt_ ? thread : NextBlock();
  if (index >= blocks) return;
  std::optional<ScopedFloatState> float_state;
  EnterFloatState(params_, &float_state);
  char* const scratch =
      thread_scratch_ + static_cast<std::size_t>(thread) * plan_->thread_bytes;
  do {
    RunBlock(index, scratch);
    index = NextBlock();
  } while (index < blocks);
}

// The epilogue begins with the piece.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Product::SetKernelArgs(
    const BlockExtent& piece, DepthRange range, Panels lhs, Panels rhs,
    const EpilogueArgs& epilogue, char* accum, KernelArgs* args) const {
  args->lhs = lhs.data;
  args->rhs = rhs.data;
  args->lhs_stride_bytes = lhs.stride_bytes;
  args->rhs_stride_bytes = rhs.stride_bytes;
  args->rows = piece.end_row - piece.start_row;
  args->cols = piece.end_col - piece.start_col;
  args->depth = range.count;
  args->first_pass = range.start == 0;
  args->last_pass = range.start + range.count == plan_->kernel_depth;
  args->accum = accum;
  args->epilogue = &epilogue;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Product::CallKernel(
    const KernelArgs& args) const {
  const kernels::Kernel& kernel = *plan_->choice.kernel;
  const TraceSpan span(TraceSpan::kKernel, kernel.name, args.rows, args.depth,
                       args.cols);
  RoutineFor(kernel, params_.in_order)(&args);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Product::RunKernel(
    const BlockExtent& piece, DepthRange range, Panels lhs, Panels rhs,
    const EpilogueArgs& epilogue, char* accum) const {
  KernelArgs args;
  SetKernelArgs(piece, range, lhs, rhs, epilogue, accum, &args);
  kernels::GroupArgs groups;
  if (HasGroups()) {
    groups = GroupsAt(piece);
    args.groups = &groups;
  }
  CallKernel(args);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Product::RunPiece(
    const BlockExtent& piece, DepthRange range, Panels lhs, Panels rhs,
    const EpilogueArgs& epilogue, char* accum, char* scratch) const {
  const bool is_last = range.start + range.count == plan_->kernel_depth;
  if (ABSL_PREDICT_FALSE(plan_->post_ops != nullptr) && is_last) {
    return RunWithPostOps(piece, range, lhs, rhs, epilogue, accum, scratch);
  }
  RunKernel(piece, range, lhs, rhs, epilogue, accum);
}

// Accumulators as they are.
void WriteTo(void* tile, Scalar scalar, ptrdiff_t stride,
             EpilogueArgs* epilogue) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EpilogueArgs& e = *epilogue;
  const bool col_major = e.dst_row_stride == 1;
  e.dst = tile;
  e.dst_scalar = scalar;
  e.dst_row_stride = col_major ? 1 : stride;
  e.dst_col_stride = col_major ? stride : 1;
  e.bias = nullptr;
  e.needs_general = e.zeros != nullptr;
  e.dst_zero_point = 0;
  e.clamp_min = std::numeric_limits<std::int32_t>::min();
  e.clamp_max = std::numeric_limits<std::int32_t>::max();
  e.clamp_min_f = -kInfinity;
  e.clamp_max_f = kInfinity;
}

// The last pass of a piece, a tile at a time. A table replaces bytes of all of
// the piece: kernels take half a time more for tiles than for pieces.
ABSL_ATTRIBUTE_NOINLINE void Product::RunWithPostOps(
    const BlockExtent& piece, DepthRange range, Panels lhs, Panels rhs,
    const EpilogueArgs& epilogue, char* accum, char* scratch) const {
  const Plan& plan = *plan_;
  kernels::PostOpArgs args;
  if (params_.post_ops.table != nullptr) {
    RunKernel(piece, range, lhs, rhs, epilogue, accum);
    args.rows = piece.end_row - piece.start_row;
    args.cols = piece.end_col - piece.start_col;
    args.tile = nullptr;
    args.tile_scalar = Scalar::kI32;
    args.permutes_bytes = PermutesBytes(plan.choice.path);
    args.epilogue = &epilogue;
    args.terms = params_.post_ops;
    return plan.post_ops(&args);
  }
  args.tile = scratch + plan.tile_at;
  args.tile_scalar = params_.scaled()
                         ? Scalar::kF32
                         : InfoOf(plan.choice.kernel->family).accum;
  BlockExtent part;
  for (ptrdiff_t col = piece.start_col; col < piece.end_col;
       col += plan.tile_cols) {
    part.start_col = col;
    part.end_col = std::min(col + plan.tile_cols, piece.end_col);
    const Panels part_rhs = {
        rhs.data +
            side_.rhs.shape->Offset(col - piece.start_col, 0, rhs.stride_bytes),
        rhs.stride_bytes};
    for (ptrdiff_t row = piece.start_row; row < piece.end_row;
         row += plan.tile_rows) {
      part.start_row = row;
      part.end_row = std::min(row + plan.tile_rows, piece.end_row);
      EpilogueSides sides;
      const EpilogueArgs of_part = EpilogueAt(epilogue, row - piece.start_row,
                                              col - piece.start_col, &sides);
      args.rows = part.end_row - row;
      args.cols = part.end_col - col;
      args.tile_stride = kernels::TileStride(
          of_part.dst_row_stride == 1 ? args.rows : args.cols);
      EpilogueArgs to_tile = of_part;
      WriteTo(scratch + plan.tile_at, args.tile_scalar, args.tile_stride,
              &to_tile);
      RunKernel(part, range,
                {lhs.data + side_.lhs.shape->Offset(row - piece.start_row, 0,
                                                    lhs.stride_bytes),
                 lhs.stride_bytes},
                part_rhs, to_tile, accum);
      args.epilogue = &of_part;
      args.terms = PostOpsAt(params_.post_ops, row, col);
      plan.post_ops(&args);
    }
  }
}

// Begins with the piece.
kernels::GroupArgs Product::GroupsAt(const BlockExtent& piece) const {
  kernels::GroupArgs at = groups_;
  const ptrdiff_t panel = piece.start_row / kernels::kGroupPanelRows;
  const ptrdiff_t values = panel * at.sizes.groups * kernels::kGroupPanelRows;
  const ptrdiff_t rows = piece.end_row - piece.start_row;
  const CacheSizes& caches = DetectedCacheSizes();
  at.lhs_is_large =
      std::max(group_bytes_, rows / kernels::kGroupPanelRows *
                                 side_.lhs.stride_bytes) > caches.l2_bytes / 2;
  // Other operands and cores have their part of L3, too.
  at.lhs_is_in_memory = GroupImageBytes() > caches.l3_bytes / 2;
  at.scales =
      static_cast<const char*>(at.scales) + BytesOf(at.scale_type, values);
  if (at.zeros != nullptr) at.zeros += values;
  if (at.row_sums != nullptr) at.row_sums += piece.start_row;
  if (at.starts != nullptr) at.starts += piece.start_col;
  if (at.group_scales != nullptr) at.group_scales += piece.start_col;
  if (at.column_zeros != nullptr) at.column_zeros += piece.start_col;
  return at;
}

// Packs the part, columns [start, end), where `start` is the first of a panel,
// unless another thread has begun it. Returns whether it packed.
RUY_LIKE_HOT bool Product::TryPack(Side side, ptrdiff_t part, ptrdiff_t start,
                                   ptrdiff_t end, char* scratch) {
  std::atomic<std::uint8_t>& status = pack_status_[side][part];
  std::uint8_t seen = status.load(std::memory_order_relaxed);
  // A thread alone need not lock the bus.
  if (seen != kNotStarted ||
      (plan_->threads > 1 &&
       !status.compare_exchange_strong(seen, kInProgress,
                                       std::memory_order_relaxed))) {
    return false;
  }
  side_[side].Pack(start, end, scratch);
  status.store(kDone, std::memory_order_release);
  return true;
}

void Product::WaitForPart(Side side, ptrdiff_t part) const {
  const std::atomic<std::uint8_t>& status = pack_status_[side][part];
  if (status.load(std::memory_order_acquire) == kDone) return;
  const TraceSpan span(TraceSpan::kWait, "wait for packing", 1);
  SpinPacer pacer(std::chrono::hours(1));
  while (status.load(std::memory_order_acquire) != kDone) pacer.Pause();
}

// Packs what a block reads, unless other threads do: of several parts first
// those that nobody has begun. A thread that needs a part which another one is
// packing spins until it is done: there is no barrier between packing and
// multiplying.
RUY_LIKE_HOT void Product::EnsurePacked(Side side, ptrdiff_t block,
                                        ptrdiff_t start, ptrdiff_t end,
                                        char* scratch) {
  const SidePlan& plan = plan_->side[side];
  scratch += plan.scratch_at;
  const ptrdiff_t step = plan.part_columns;
  if (step == 0) {
    if (!TryPack(side, block, start, end, scratch)) WaitForPart(side, block);
    return;
  }
  const ptrdiff_t last = (end - 1) / step;
  for (ptrdiff_t part = start / step; part <= last; ++part) {
    TryPack(side, part, part * step,
            std::min((part + 1) * step, plan.shape.width), scratch);
  }
  for (ptrdiff_t part = start / step; part <= last; ++part) {
    WaitForPart(side, part);
  }
}

// All of dst, where that is one block.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Product::RunOneBlock(char* scratch) {
  const BlockMap& map = plan_->map;
  for (const Side side : kSides) {
    if (!IsPackedOnce(side)) continue;
    side_[side].Pack(0, side == Side::kLhs ? map.rows : map.cols,
                     scratch + plan_->side[side].scratch_at);
  }
  const BlockExtent block = {0, map.rows, 0, map.cols};
  if (map.in_pieces) return RunInPieces(block, scratch);
  RunPiece(block, {0, plan_->kernel_depth},
           {side_.lhs.data, side_.lhs.stride_bytes},
           {side_.rhs.data, side_.rhs.stride_bytes}, params_.epilogue, nullptr,
           scratch);
}

// All of a small product, as calls with the same arguments but for addresses.
RUY_LIKE_HOT void Product::SetCalls() {
  for (const Side side : kSides) {
    found_for_[side] = nullptr;
    if (IsPackedOnce(side)) side_[side].SetArgs(&pack_args_[side]);
  }
  SetKernelArgs({0, plan_->map.rows, 0, plan_->map.cols},
                {0, plan_->kernel_depth},
                {side_.lhs.data, side_.lhs.stride_bytes},
                {side_.rhs.data, side_.rhs.stride_bytes}, params_.epilogue,
                nullptr, &kernel_args_);
  finds_again_ = source_.lhs == SideSource::kCached ||
                 source_.rhs == SideSource::kCached || HasPackedToKeep();
  run_ = RoutineFor(*plan_->choice.kernel, params_.in_order);
}

RUY_LIKE_HOT void Product::RunBlock(ptrdiff_t index, char* scratch) {
  const BlockMap& map = plan_->map;
  if (BlockCount(map) == 1) return RunOneBlock(scratch);
  const BlockPosition position = BlockAt(map, index);
  const BlockExtent block = BlockRange(map, position);
  if (IsPackedOnce(Side::kLhs)) {
    EnsurePacked(Side::kLhs, position.row_block, block.start_row, block.end_row,
                 scratch);
  }
  if (IsPackedOnce(Side::kRhs)) {
    EnsurePacked(Side::kRhs, position.col_block, block.start_col, block.end_col,
                 scratch);
  }
  if (map.in_pieces) return RunInPieces(block, scratch);
  const DepthRange all = {0, plan_->kernel_depth};
  EpilogueSides sides;
  RunPiece(
      block, all, PanelsOf(Side::kLhs, 0, block.start_row, all, scratch),
      PanelsOf(Side::kRhs, 0, block.start_col, all, scratch),
      EpilogueAt(params_.epilogue, block.start_row, block.start_col, &sides),
      nullptr, scratch);
}

bool Product::IsOneCall() const {
  return BlockCount(plan_->map) == 1 && !plan_->map.in_pieces &&
         params_.depth() > 0 &&
         params_.post_op_needs == kernels::kNeedsNothing &&
         source_.lhs == SideSource::kInPlace &&
         source_.rhs == SideSource::kInPlace;
}

RUY_LIKE_HOT void Product::RunSeries(const Addresses& first,
                                     const ProductStep& step,
                                     ptrdiff_t count) const {
  EpilogueArgs epilogue = params_.epilogue;
  KernelArgs args;
  SetKernelArgs({0, plan_->map.rows, 0, plan_->map.cols},
                {0, plan_->kernel_depth}, {nullptr, side_.lhs.stride_bytes},
                {nullptr, side_.rhs.stride_bytes}, epilogue, nullptr, &args);
  for (Addresses at = first;; at = Moved(at, step)) {
    epilogue.dst = const_cast<void*>(at[kDstTerm]);
    epilogue.bias = at[kBiasTerm];
    args.lhs = at[kLhsTerm];
    args.rhs = at[kRhsTerm];
    CallKernel(args);
    if (--count == 0) return;
  }
}

void Product::RunInPieces(const BlockExtent& block, char* scratch) const {
  const BlockMap& map = plan_->map;
  const ptrdiff_t depth = plan_->kernel_depth;
  for (ptrdiff_t k = 0; k < depth; k += map.depth_block) {
    const DepthRange range = {k, std::min(map.depth_block, depth - k)};
    char* accum = map.depth_block < depth ? scratch : nullptr;
    for (ptrdiff_t row = block.start_row; row < block.end_row;
         row += map.piece_rows) {
      accum = RunRowOfPieces(block, row, range, accum, scratch);
    }
  }
}

// Returns the accumulators of the next row of pieces.
char* Product::RunRowOfPieces(const BlockExtent& block, ptrdiff_t first_row,
                              DepthRange range, char* accum,
                              char* scratch) const {
  const BlockMap& map = plan_->map;
  BlockExtent piece;
  piece.start_row = first_row;
  piece.end_row = std::min(first_row + map.piece_rows, block.end_row);
  if (source_.lhs == SideSource::kPackedByBlock) {
    PackPiece(Side::kLhs, block.start_row, first_row, piece.end_row, range,
              scratch);
  }
  const Panels lhs =
      PanelsOf(Side::kLhs, block.start_row, first_row, range, scratch);
  for (ptrdiff_t col = block.start_col; col < block.end_col;
       col += map.piece_cols) {
    piece.start_col = col;
    piece.end_col = std::min(col + map.piece_cols, block.end_col);
    if (source_.rhs == SideSource::kPackedByBlock &&
        first_row == block.start_row) {
      PackPiece(Side::kRhs, block.start_col, col, piece.end_col, range,
                scratch);
    }
    EpilogueSides sides;
    EpilogueArgs epilogue =
        EpilogueAt(params_.epilogue, first_row, col, &sides);
    // `sides` counts only where the epilogue points into it.
    if (BlockHasSums(Side::kLhs)) {
      epilogue.lhs_sums = sides.zeros.lhs_sums =
          BlockSums(Side::kLhs, scratch) + (first_row - block.start_row);
    }
    if (BlockHasSums(Side::kRhs)) {
      epilogue.rhs_sums = sides.zeros.rhs_sums =
          BlockSums(Side::kRhs, scratch) + (col - block.start_col);
    }
    RunPiece(piece, range, lhs,
             PanelsOf(Side::kRhs, block.start_col, col, range, scratch),
             epilogue, accum, scratch);
    if (accum != nullptr) {
      accum += PieceAccumBytes(*plan_->choice.kernel, piece.end_row - first_row,
                               piece.end_col - col);
    }
  }
  return accum;
}

// Columns from `start` on, where the block's first one is `origin`.
Product::Panels Product::PanelsOf(Side side, ptrdiff_t origin, ptrdiff_t start,
                                  DepthRange range, char* scratch) const {
  const PackedSide& packed = side_[side];
  if (source_[side] != SideSource::kPackedByBlock) {
    return {packed.data + packed.Offset(start, range.start),
            packed.stride_bytes};
  }
  // With the padding at the end of the depth.
  const ptrdiff_t stride =
      PanelBytes(*packed.shape->format,
                 std::min(plan_->map.depth_block,
                          packed.shape->padded_depth - range.start));
  const char* const panels = scratch + plan_->side[side].panels_at;
  // Each row of pieces overwrites the lhs panels of the one before.
  return side == Side::kLhs || !KeepsRhs(plan_->map)
             ? Panels{panels, stride}
             : Panels{panels + packed.shape->Offset(start - origin, 0, stride),
                      stride};
}

void Product::PackPiece(Side side, ptrdiff_t origin, ptrdiff_t start,
                        ptrdiff_t end, DepthRange range, char* scratch) const {
  const PackedSide& packed = side_[side];
  const ptrdiff_t count = std::min(plan_->map.depth_block,
                                   packed.shape->padded_depth - range.start);
  char* const panels =
      const_cast<char*>(PanelsOf(side, origin, start, range, scratch).data);
  if (!BlockHasSums(side)) {
    packed.PackDepth(start, end, range.start, count, panels, nullptr);
    return;
  }
  // Unsigned: sums wrap.
  auto* const sums = reinterpret_cast<std::uint32_t*>(BlockSums(side, scratch) +
                                                      (start - origin));
  auto* const pass_sums =
      reinterpret_cast<std::int32_t*>(scratch + plan_->side[side].pass_sums_at);
  packed.PackDepth(start, end, range.start, count, panels, pass_sums);
  for (ptrdiff_t i = 0; i < end - start; ++i) {
    const auto pass_sum = static_cast<std::uint32_t>(pass_sums[i]);
    sums[i] = range.start == 0 ? pass_sum : sums[i] + pass_sum;
  }
}

bool Product::BlockHasSums(Side side) const {
  return source_[side] == SideSource::kPackedByBlock && SumsAreWanted(side);
}

std::int32_t* Product::BlockSums(Side side, char* scratch) const {
  return reinterpret_cast<std::int32_t*>(scratch + plan_->side[side].sums_at);
}

}  // namespace ruy_like
