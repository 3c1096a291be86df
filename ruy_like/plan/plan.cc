#include "ruy_like/plan/plan.h"

#include <algorithm>
#include <cstdint>

#include "ruy_like/base/allocator.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/kernels/kernel_facts.h"

namespace ruy_like {
namespace {

using kernels::Kernel;
using kernels::PanelFormat;

// Products of at most this many multiply-adds run as one block on this thread:
// 64^3. Packed, their operands are at most kSmallBytes, so that the one block
// does not outgrow L2.
constexpr std::int64_t kSmallMacs = 64 * 64 * 64;
constexpr std::int64_t kSmallBytes = 128 * 1024;

// Kernels this fast spend a good part of the time on packing: if the operands
// do not fit L2, a lhs that is used once is best packed in small pieces, each
// right before its products, into a buffer that stays in L2 (block_map.h).
constexpr int kFastMacsPerNs = 300;

// In 64 bits whatever the size of pointers, and each factor first, so that no
// product overflows.
bool IsSmall(const Plan& plan) {
  const std::int64_t rows = plan.side.lhs.shape.width;
  const std::int64_t cols = plan.side.rhs.shape.width;
  const std::int64_t depth = plan.padded_depth;
  return rows <= kSmallMacs && cols <= kSmallMacs && depth <= kSmallMacs &&
         rows * cols <= kSmallMacs && rows * cols * depth <= kSmallMacs &&
         std::int64_t{plan.side.lhs.shape.panels_bytes} +
                 plan.side.rhs.shape.panels_bytes <=
             kSmallBytes;
}

// True if packing would copy the operand's columns as they are. (Only floats:
// other operands need their sums.) Not for many columns: those a multiple of
// 4096 bytes apart would compete for one cache set.
bool HasFormAlready(const KernelQuery& query, const Kernel& kernel, Side side) {
  constexpr std::ptrdiff_t kMaxColumns = 4;
  const PanelFormat& format = FormatOf(kernel, side);
  return format.width == 1 && format.dot_width == 1 &&
         DepthMultiple(kernel) == 1 && format.scalar == query.scalar[side] &&
         query.depth_contiguous[side] && IsFloat(format.scalar) &&
         (side == Side::kLhs ? query.rows : query.cols) <= kMaxColumns;
}

// How panels are made before it is known whether blocks make them.
SideSource SourceOf(const KernelQuery& query, const Kernel& kernel, Side side) {
  if (query.packed[side] != nullptr &&
      (query.depth == 0 || side == Side::kRhs || !WidensLhs(kernel))) {
    return SideSource::kPrepacked;
  }
  if (FormatOf(kernel, side).in_place || query.depth == 0) {
    return SideSource::kInPlace;
  }
  if (query.cached[side]) return SideSource::kCached;
  return HasFormAlready(query, kernel, side) ? SideSource::kInPlace
                                             : SideSource::kPackedOnce;
}

// The activations' side of a product with group-scaled weights. They are read
// in place if packing would copy them as they are.
void SetGroups(const KernelQuery& query, const Kernel& kernel,
               SideShape* shape) {
  const bool is_form = kernel.rhs.width == 1 &&
                       kernel.rhs.scalar == query.scalar.rhs &&
                       query.depth_contiguous.rhs &&
                       query.depth % kernel.rhs.depth_multiple == 0;
  shape->SetGroups(CeilDiv(query.depth, query.group_depth), is_form,
                   query.depth_contiguous.rhs);
}

BlockMapParams BlockParams(const Plan& plan, const CacheSizes& caches) {
  const Kernel& kernel = *plan.choice.kernel;
  const auto panel_width = [](const SideShape& shape) {
    return shape.format->in_place ? 1 : shape.panel_width;
  };
  const auto element_bytes = [](const PanelFormat& format) {
    return (format.code_bits != 0 ? format.code_bits
                                  : InfoOf(format.scalar).bits) /
           8.0;
  };
  const bool has_groups = kernel.packed_lhs != nullptr;
  BlockMapParams params;
  params.rows = plan.side.lhs.shape.width;
  params.cols = plan.side.rhs.shape.width;
  params.depth = plan.padded_depth;
  params.lhs_element_bytes = element_bytes(kernel.lhs);
  params.rhs_element_bytes = element_bytes(kernel.rhs);
  params.accum_bytes = InfoOf(InfoOf(kernel.family).accum).bits / 8;
  params.tile_rows = kernel.tile_rows;
  params.tile_cols = kernel.tile_cols;
  params.lhs_panel_width = panel_width(plan.side.lhs.shape);
  params.rhs_panel_width = panel_width(plan.side.rhs.shape);
  if (has_groups && params.rhs_panel_width > 1) {
    params.tile_cols = params.rhs_panel_width;
  }
  // Where all columns are in one tile, as for narrow kernels, the lhs is read
  // once: there is nothing to keep in a cache by splitting depth. (4096x4096x8
  // in float, cached, by AVX-512 on a Zen 5: 40% of peak if it is split, 47%
  // else.)
  const bool is_one_tile_wide = params.cols <= kernel.tile_cols;
  // Packed weights with group scales are narrow kernels' lhs in this; widened
  // ones are best a piece at a time that stays in L2.
  params.depth_multiple = (has_groups ? !WidensLhs(kernel) : is_one_tile_wide)
                              ? 0
                              : static_cast<int>(DepthMultiple(kernel));
  params.keeps_depth = has_groups;
  params.lhs_is_packed_here = plan.side.lhs.source == SideSource::kPackedOnce;
  params.rhs_is_packed_here =
      plan.side.rhs.source == SideSource::kPackedOnce && !has_groups;
  params.row_granularity = kernel.row_granularity;
  params.packs_small_pieces = kernel.macs_per_ns >= kFastMacsPerNs &&
                              params.lhs_is_packed_here && !has_groups;
  params.streams_lhs = is_one_tile_wide && !params.lhs_is_packed_here;
  params.thread_count = 1;
  params.l1d_bytes = caches.l1d_bytes;
  params.l2_bytes = caches.l2_bytes;
  params.l3_bytes = caches.l3_bytes / caches.l3_sharing_cores;
  params.macs_per_ns = kernel.macs_per_ns;
  return params;
}

void CutIntoBlocks(const ThreadLimit& limit, const CacheSizes& caches,
                   Plan* plan) {
  plan->is_small = !limit.force && IsSmall(*plan);
  if (plan->is_small) {
    plan->map = OneBlock(plan->side.lhs.shape.width, plan->side.rhs.shape.width,
                         plan->padded_depth);
    plan->threads = 1;
    return;
  }
  BlockMapParams params = BlockParams(*plan, caches);
  params.thread_count = limit.most == 1 || limit.force
                            ? limit.most
                            : ChooseThreadCount(params, limit.most);
  plan->map = MakeBlockMap(params);
  plan->threads = static_cast<int>(
      std::min<std::ptrdiff_t>(params.thread_count, BlockCount(plan->map)));
  if (!plan->map.in_pieces) return;
  for (const Side side : kSides) {
    SideSource& source = plan->side[side].source;
    // Quantizing activations costs more than to share what is quantized.
    if (source == SideSource::kPackedOnce &&
        plan->side[side].shape.groups == 0) {
      source = SideSource::kPackedByBlock;
    }
  }
}

// Chooses the tile that the kernel fills between two calls of post-ops: whole
// micro-tiles, so few that it stays in L1 or close to it, but all columns of
// kernels that are chosen for few. Between passes over a split depth a piece's
// accumulators can't be taken apart.
void SetPostOps(const KernelQuery& query, Plan* plan) {
  plan->post_ops = nullptr;
  if ((query.post_op_needs & kernels::kNeedsTile) == 0) return;
  constexpr std::ptrdiff_t kTileElements = 8192;
  const Kernel& kernel = *plan->choice.kernel;
  const BlockMap& map = plan->map;
  plan->post_ops = RoutinesOf(plan->choice.path).post_ops;
  plan->tile_rows = std::min(map.piece_rows, map.rows);
  plan->tile_cols = std::min(map.piece_cols, map.cols);
  if (map.depth_block < plan->kernel_depth) return;
  const auto cut = [](std::ptrdiff_t most, std::ptrdiff_t unit,
                      std::ptrdiff_t* size) {
    *size = std::min(*size, std::max(unit, most / unit * unit));
  };
  const SideShape& rhs = plan->side.rhs.shape;
  if (kernel.max_cols == kernels::kNoLimit) {
    cut(kTileElements / plan->tile_rows,
        std::max<std::ptrdiff_t>(kernel.tile_cols, rhs.panel_width),
        &plan->tile_cols);
  }
  cut(kTileElements / plan->tile_cols, kernel.tile_rows, &plan->tile_rows);
}

// Bytes of a tile, whichever way it lies.
std::size_t TileBytes(const Plan& plan) {
  if (plan.post_ops == nullptr) return 0;
  const Scalar scalar = InfoOf(plan.choice.kernel->family).accum;
  return BytesOf(scalar, kernels::TileStride(plan.tile_rows) *
                             kernels::TileStride(plan.tile_cols));
}

// Hands out offsets.
std::size_t Take(std::size_t bytes, std::size_t* taken) {
  const std::size_t offset = *taken;
  *taken = SaturatingAdd(offset, ScratchArena::Footprint(bytes));
  return offset;
}

// The accumulators that a block saves between passes, piece by piece.
std::size_t AccumBytesOfBlock(const Plan& plan) {
  const BlockMap& map = plan.map;
  if (map.depth_block >= plan.kernel_depth) return 0;
  return CeilDiv(map.block_rows, map.piece_rows) *
         CeilDiv(map.block_cols, map.piece_cols) *
         PieceAccumBytes(*plan.choice.kernel, map.piece_rows, map.piece_cols);
}

void LayOutScratch(Plan* plan) {
  const BlockMap& map = plan->map;
  plan->shared_bytes = 0;
  plan->thread_bytes = 0;
  Take(AccumBytesOfBlock(*plan), &plan->thread_bytes);
  plan->tile_at = Take(TileBytes(*plan), &plan->thread_bytes);
  for (const Side s : kSides) {
    SidePlan& side = plan->side[s];
    const bool is_lhs = s == Side::kLhs;
    side.scratch_at = 0;
    side.part_columns = 0;
    if (side.source == SideSource::kPackedByBlock) {
      const std::ptrdiff_t block = is_lhs ? map.block_rows : map.block_cols;
      const std::ptrdiff_t piece = is_lhs ? map.piece_rows : map.piece_cols;
      const std::ptrdiff_t held = !is_lhs && KeepsRhs(map) ? block : piece;
      const std::ptrdiff_t panels = held / side.shape.format->width;
      side.panels_at =
          Take(panels * PanelBytes(*side.shape.format, map.depth_block),
               &plan->thread_bytes);
      if (!side.shape.has_sums) continue;
      side.sums_at = Take(block * sizeof(std::int32_t), &plan->thread_bytes);
      side.pass_sums_at =
          Take(piece * sizeof(std::int32_t), &plan->thread_bytes);
      continue;
    }
    if (side.source == SideSource::kPackedOnce) {
      side.panels_at = Take(side.shape.panels_bytes, &plan->shared_bytes);
      side.sums_at = Take(side.shape.SumsBytes(), &plan->shared_bytes);
    }
    if (side.shape.scratch_bytes != 0) {
      side.scratch_at = Take(side.shape.scratch_bytes, &plan->thread_bytes);
    }
    const std::ptrdiff_t blocks = is_lhs ? map.row_blocks : map.col_blocks;
    if (plan->threads > 1 && side.shape.groups != 0) {
      constexpr std::ptrdiff_t kPartColumns = 16;
      side.part_columns = CeilDiv(kPartColumns, side.shape.panel_width) *
                          side.shape.panel_width;
    }
    if (BlockCount(map) > 1 && (side.source == SideSource::kPackedOnce ||
                                side.source == SideSource::kCached)) {
      side.status_at = Take(side.part_columns == 0
                                ? blocks
                                : CeilDiv(side.shape.width, side.part_columns),
                            &plan->shared_bytes);
    }
  }
  plan->scratch_bytes =
      SaturatingAdd(plan->shared_bytes,
                    SaturatingMul(plan->thread_bytes,
                                  static_cast<std::size_t>(plan->threads)));
}

}  // namespace

std::size_t PieceAccumBytes(const Kernel& kernel, std::ptrdiff_t rows,
                            std::ptrdiff_t cols) {
  const auto round_up = [](std::ptrdiff_t size, std::ptrdiff_t multiple) {
    return CeilDiv(size, multiple) * multiple;
  };
  return ScratchArena::Footprint(BytesOf(
      InfoOf(kernel.family).accum,
      round_up(rows, kernel.tile_rows) * round_up(cols, kernel.tile_cols)));
}

double EstimateNs(const Plan& plan, const CacheSizes& caches) {
  return EstimateNs(BlockParams(plan, caches));
}

void MakePlan(const KernelQuery& query, const KernelChoice& choice,
              const ThreadLimit& limit, const CacheSizes& caches, Plan* plan) {
  const Kernel& kernel = *choice.kernel;
  const KernelQuery seen = choice.swap_sides ? Swapped(query) : query;
  plan->choice = choice;
  for (const Side side : kSides) {
    SidePlan& side_plan = plan->side[side];
    side_plan.shape = SideShape(kernel, side, seen.scalar[side], seen.depth,
                                side == Side::kLhs ? seen.rows : seen.cols);
    side_plan.source = SourceOf(seen, kernel, side);
    if (side == Side::kRhs && seen.group_depth != 0) {
      SetGroups(seen, kernel, &side_plan.shape);
    }
  }
  const std::ptrdiff_t lhs_depth = plan->side.lhs.shape.padded_depth;
  const std::ptrdiff_t rhs_depth = plan->side.rhs.shape.padded_depth;
  plan->kernel_depth = std::min(lhs_depth, rhs_depth);
  plan->padded_depth = std::max(lhs_depth, rhs_depth);
  CutIntoBlocks(limit, caches, plan);
  SetPostOps(query, plan);
  LayOutScratch(plan);
}

}  // namespace ruy_like
