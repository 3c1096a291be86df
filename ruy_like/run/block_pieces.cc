#include "ruy_like/run/block_pieces.h"

#include <algorithm>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {

using kernels::EpilogueArgs;
using kernels::KernelArgs;
using std::ptrdiff_t;

namespace {

ptrdiff_t RoundUp(ptrdiff_t value, ptrdiff_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

BlockPieces::BlockPieces(const kernels::Kernel& kernel,
                         const SidePair<PackedSide>& side, const BlockMap& map,
                         Scalar accum, ptrdiff_t kernel_depth,
                         const SidePair<SideUse>& use)
    : kernel_(kernel),
      side_(side),
      map_(map),
      use_(use),
      accum_(accum),
      depth_(kernel_depth),
      keeps_rhs_(map.piece_rows < map.block_rows) {
  if (map.depth_block < depth_) {
    const auto pieces = [](ptrdiff_t block, ptrdiff_t piece) {
      return (block + piece - 1) / piece;
    };
    const std::size_t accum_footprint =
        AccumFootprint(map.piece_rows, map.piece_cols);
    AddToScratch(pieces(map.block_rows, map.piece_rows) *
                 pieces(map.block_cols, map.piece_cols) *
                 static_cast<ptrdiff_t>(accum_footprint));
  }
  for (const Side s : kSides) {
    if (!use[s].packs) continue;
    const ptrdiff_t block = s == Side::kLhs ? map.block_rows : map.block_cols;
    const ptrdiff_t piece = s == Side::kLhs ? map.piece_rows : map.piece_cols;
    // A row of pieces of the lhs is no longer needed when the next one begins.
    const bool keeps = s == Side::kRhs && keeps_rhs_;
    offsets_[s].panels = AddToScratch(BytesOf(
        side[s].format->scalar, (keeps ? block : piece) * map.depth_block));
    if (!use[s].sums) continue;
    offsets_[s].sums = AddToScratch(block * sizeof(std::int32_t));
    offsets_[s].last_sums = AddToScratch(piece * sizeof(std::int32_t));
  }
}

std::size_t BlockPieces::AccumFootprint(ptrdiff_t rows, ptrdiff_t cols) const {
  return ScratchArena::Footprint(BytesOf(
      accum_,
      RoundUp(rows, kernel_.tile_rows) * RoundUp(cols, kernel_.tile_cols)));
}

std::size_t BlockPieces::AddToScratch(ptrdiff_t bytes) {
  const std::size_t offset = scratch_bytes_;
  scratch_bytes_ = SaturatingAdd(
      scratch_bytes_, ScratchArena::Footprint(static_cast<std::size_t>(bytes)));
  return offset;
}

ptrdiff_t BlockPieces::PackedLevels(Side side, Levels levels) const {
  return std::min(map_.depth_block, side_[side].padded_depth - levels.start);
}

ptrdiff_t BlockPieces::PanelsOffset(Side side, ptrdiff_t origin,
                                    ptrdiff_t start, Levels levels) const {
  if (side == Side::kLhs || !keeps_rhs_) return 0;
  return BytesOf(side_[side].format->scalar,
                 (start - origin) * PackedLevels(side, levels));
}

void BlockPieces::Pack(Side side, ptrdiff_t origin, ptrdiff_t start,
                       ptrdiff_t end, Levels levels, char* scratch) const {
  char* const panels = scratch + offsets_[side].panels +
                       PanelsOffset(side, origin, start, levels);
  const ptrdiff_t count = PackedLevels(side, levels);
  if (!use_[side].sums) {
    side_[side].PackLevels(start, end, levels.start, count, panels, nullptr);
    return;
  }
  // uint32: sums wrap.
  std::uint32_t* const sums =
      reinterpret_cast<std::uint32_t*>(scratch + offsets_[side].sums) +
      (start - origin);
  std::int32_t* const last_sums =
      reinterpret_cast<std::int32_t*>(scratch + offsets_[side].last_sums);
  side_[side].PackLevels(start, end, levels.start, count, panels, last_sums);
  for (ptrdiff_t i = 0; i < end - start; ++i) {
    const std::uint32_t last = static_cast<std::uint32_t>(last_sums[i]);
    sums[i] = levels.start == 0 ? last : sums[i] + last;
  }
}

BlockPieces::Panels BlockPieces::PanelsAt(Side side, ptrdiff_t origin,
                                          ptrdiff_t start, Levels levels,
                                          const char* scratch) const {
  const PackedSide& packed = side_[side];
  if (!use_[side].packs) {
    return {packed.data + packed.Offset(start, levels.start),
            packed.stride_bytes};
  }
  return {scratch + offsets_[side].panels +
              PanelsOffset(side, origin, start, levels),
          BytesOf(packed.format->scalar,
                  PackedLevels(side, levels) * packed.format->width)};
}

char* BlockPieces::RunPieces(const BlockExtent& block, ptrdiff_t first_row,
                             Levels levels, const EpilogueArgs& epilogue,
                             char* accum, char* scratch) const {
  const ptrdiff_t end_row =
      std::min(first_row + map_.piece_rows, block.end_row);
  if (use_.lhs.packs) {
    Pack(Side::kLhs, block.start_row, first_row, end_row, levels, scratch);
  }
  const Panels lhs =
      PanelsAt(Side::kLhs, block.start_row, first_row, levels, scratch);
  KernelArgs args;
  args.lhs = lhs.data;
  args.lhs_stride_bytes = lhs.stride_bytes;
  args.rows = end_row - first_row;
  args.depth = levels.count;
  args.first_pass = levels.start == 0;
  args.last_pass = levels.start + levels.count == depth_;
  for (ptrdiff_t col = block.start_col; col < block.end_col;
       col += map_.piece_cols) {
    const ptrdiff_t end_col = std::min(col + map_.piece_cols, block.end_col);
    if (use_.rhs.packs && first_row == block.start_row) {
      Pack(Side::kRhs, block.start_col, col, end_col, levels, scratch);
    }
    const Panels rhs =
        PanelsAt(Side::kRhs, block.start_col, col, levels, scratch);
    kernels::ScaleArgs scales;
    const EpilogueArgs piece_epilogue = EpilogueAt(
        epilogue, first_row - block.start_row, col - block.start_col, &scales);
    args.rhs = rhs.data;
    args.rhs_stride_bytes = rhs.stride_bytes;
    args.cols = end_col - col;
    // There is no such memory for a single pass.
    const bool has_accum = !args.first_pass || !args.last_pass;
    args.accum = has_accum ? accum : nullptr;
    args.epilogue = &piece_epilogue;
    {
      const TraceSpan span(TraceSpan::kKernel, kernel_.name, args.rows,
                           args.depth, args.cols);
      RunHere(kernel_)(&args);
    }
    if (has_accum) accum += AccumFootprint(args.rows, args.cols);
  }
  return accum;
}

void BlockPieces::Run(const BlockExtent& block, const EpilogueArgs& epilogue,
                      char* scratch) const {
  EpilogueArgs with_sums = epilogue;
  const auto sums = [&](Side side) {
    return reinterpret_cast<const std::int32_t*>(scratch + offsets_[side].sums);
  };
  if (use_.lhs.sums) with_sums.lhs_sums = sums(Side::kLhs);
  if (use_.rhs.sums) with_sums.rhs_sums = sums(Side::kRhs);
  for (ptrdiff_t level = 0; level < depth_; level += map_.depth_block) {
    const Levels levels = {level, std::min(map_.depth_block, depth_ - level)};
    char* accum = scratch;
    for (ptrdiff_t row = block.start_row; row < block.end_row;
         row += map_.piece_rows) {
      accum = RunPieces(block, row, levels, with_sums, accum, scratch);
    }
  }
}

}  // namespace ruy_like
