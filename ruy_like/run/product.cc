// Tested in test/threads_test.cc.
#include "ruy_like/run/product.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/attributes.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/diagnostics/trace.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {

using kernels::EpilogueArgs;
using kernels::KernelArgs;
using kernels::PanelFormat;

namespace {

// Products of at most this many multiply-adds run as one block on this thread,
// without a block map: 64^3. Packed, their operands are at most
// kSingleBlockBytes, so that the one block does not outgrow L2.
constexpr std::ptrdiff_t kSingleBlockMacs = 64 * 64 * 64;
constexpr std::ptrdiff_t kSingleBlockBytes = 128 * 1024;

// The shift of pack.h moves an 8-bit zero point alike.
std::int32_t PackedZeroPoint(const Operand& operand,
                             const PanelFormat& format) {
  if (!Is8Bit(operand.scalar)) return operand.zero_point;
  return operand.zero_point + PackedZero(format.scalar, format.range) -
         PackedZero(operand.scalar, ValueRange::kFull);
}

}  // namespace

RUY_LIKE_HOT void Product::InitEpilogue() {
  // Operands of depth 0 have no sums, and need none.
  const bool is_empty = params_.depth() == 0;
  const std::int32_t lhs_zero_point =
      is_empty ? 0 : PackedZeroPoint(params_.side.lhs, kernel_.lhs);
  const std::int32_t rhs_zero_point =
      is_empty ? 0 : PackedZeroPoint(params_.side.rhs, kernel_.rhs);
  epilogue_.scales = params_.scaled ? &params_.scales : nullptr;
  epilogue_.lhs_sums = nullptr;
  epilogue_.rhs_sums = nullptr;
  epilogue_.lhs_zero_point = lhs_zero_point;
  epilogue_.rhs_zero_point = rhs_zero_point;
  epilogue_.zero_point_product =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(params_.depth()) *
                                static_cast<std::uint32_t>(lhs_zero_point) *
                                static_cast<std::uint32_t>(rhs_zero_point));
}

BlockMapParams Product::BlockParams() const {
  const auto panel_width = [](const PanelFormat& format) {
    return format.in_place ? 1 : format.width;
  };
  const CacheSizes& caches = DetectedCacheSizes();
  BlockMapParams params;
  params.rows = params_.rows();
  params.cols = params_.cols();
  params.depth = padded_depth_;
  params.lhs_element_bytes = InfoOf(kernel_.lhs.scalar).bits / 8.0;
  params.rhs_element_bytes = InfoOf(kernel_.rhs.scalar).bits / 8.0;
  params.accum_bytes = InfoOf(InfoOf(params_.family).accum).bits / 8;
  params.tile_rows = kernel_.tile_rows;
  params.tile_cols = kernel_.tile_cols;
  params.lhs_panel_width = panel_width(kernel_.lhs);
  params.rhs_panel_width = panel_width(kernel_.rhs);
  // Where all columns are in one tile, as for narrow kernels, the lhs is read
  // once: there is nothing to keep in a cache by splitting depth. (4096x4096x8
  // in float, cached, by AVX-512 on a Zen 5: 40% of peak if it is split, 47%
  // else.)
  const bool is_one_tile_wide = params_.cols() <= kernel_.tile_cols;
  params.depth_multiple =
      is_one_tile_wide ? 0 : static_cast<int>(DepthMultiple(kernel_));
  params.lhs_is_packed_here = IsPackedHere(Side::kLhs);
  params.rhs_is_packed_here = IsPackedHere(Side::kRhs);
  params.row_granularity = kernel_.row_granularity;
  params.widens_lhs = kernel_.widens_lhs;
  params.packs_small_pieces =
      kernel_.packs_small_pieces && params.lhs_is_packed_here;
  params.streams_lhs =
      params_.cols() <= kernel_.stream_cols && !params.lhs_is_packed_here;
  params.thread_count = 1;
  params.l1d_bytes = caches.l1d_bytes;
  params.l2_bytes = caches.l2_bytes;
  params.l3_bytes = caches.l3_bytes / caches.l3_sharing_cores;
  params.macs_per_ns = kernel_.macs_per_ns;
  return params;
}

void Product::ChooseBlocks(int max_threads, const ContextImpl& context) {
  const ScopedFloatState float_state(FloatState::kDefault);
  BlockMapParams params = BlockParams();
  params.thread_count =
      max_threads == 1 || context.num_threads_strategy ==
                              NumThreadsStrategy::kForceMaxNumThreads
          ? max_threads
          : ChooseThreadCount(params, max_threads);
  map_ = MakeBlockMap(params);
  num_threads_ = static_cast<int>(
      std::min<std::ptrdiff_t>(params.thread_count, BlockCount(*map_)));
  first_dealt_ = num_threads_;
}

RUY_LIKE_HOT bool Product::FindInCache(Side side, ContextImpl* context) {
  const PrepackedCache::Value& found = context->prepacked_cache.Find(
      KeyOf(*side_[side].operand, *side_[side].format));
  if (found == nullptr) return false;
  side_[side].Use(*found);
  cache_hit_[side] = true;
  if (lifetime_ == Lifetime::kBeyondLock) cached_[side] = found;
  return true;
}

bool Product::AllocateForCache(Side side) {
  auto data = std::make_shared<PackedData>();
  if (!AlignedBuffer::Allocate(side_[side].PackedBytes(), &data->storage)) {
    return false;
  }
  side_[side].PackTo(data->storage.data(), data.get());
  cached_[side] = std::move(data);
  cache_miss_[side] = true;
  return true;
}

std::size_t Product::PanelFootprint(Side side) const {
  const PackedSide& packed = side_[side];
  const std::size_t sums_bytes =
      SumsAreWanted(side) ? packed.operand->width * sizeof(std::int32_t) : 0;
  return ScratchArena::Footprint(packed.panels_bytes()) +
         ScratchArena::Footprint(sums_bytes);
}

RUY_LIKE_HOT void Product::TakePanels(Side side, ScratchArena* arena) {
  PackedSide& packed = side_[side];
  packed.data = static_cast<const char*>(arena->Take(packed.panels_bytes()));
  if (!SumsAreWanted(side)) return;
  packed.writable_sums = static_cast<std::int32_t*>(
      arena->Take(packed.operand->width * sizeof(std::int32_t)));
  packed.sums = packed.writable_sums;
}

std::size_t Product::StatusFootprint(Side side) const {
  const std::ptrdiff_t blocks =
      side == Side::kLhs ? map_->row_blocks : map_->col_blocks;
  return ScratchArena::Footprint(blocks * sizeof(SharedPacking::AtomicStatus));
}

void Product::SharePacking(Side side, ScratchArena* arena) {
  const bool is_lhs = side == Side::kLhs;
  shared_[side].emplace(side_[side], is_lhs ? RowCuts(*map_) : ColCuts(*map_),
                        is_lhs ? map_->row_blocks : map_->col_blocks,
                        arena->Take(StatusFootprint(side)));
}

bool Product::Prepare(int max_threads, ScratchArena* arena,
                      ContextImpl* context) {
  ChooseBlocks(max_threads, *context);
  std::size_t scratch_bytes = 0;
  SidePair<bool> in_scratch = {false, false};
  SidePair<bool> to_pack = {false, false};
  SidePair<BlockPieces::SideUse> use = {{false, false}, {false, false}};
  for (const Side side : kSides) {
    if (side_[side].IsReady()) continue;
    if (IsCached(side)) {
      if (FindInCache(side, context)) continue;
      if (!AllocateForCache(side)) return false;
    } else if (map_->in_pieces) {
      use[side] = {true, SumsAreWanted(side)};
      continue;
    } else {
      in_scratch[side] = true;
      scratch_bytes = SaturatingAdd(scratch_bytes, PanelFootprint(side));
    }
    to_pack[side] = true;
    scratch_bytes = SaturatingAdd(scratch_bytes, StatusFootprint(side));
  }
  std::size_t pieces_bytes = 0;
  if (map_->in_pieces) {
    pieces_.emplace(kernel_, side_, *map_, InfoOf(params_.family).accum,
                    kernel_depth_, use);
    pieces_bytes = SaturatingMul(pieces_->scratch_bytes(),
                                 static_cast<std::size_t>(num_threads_));
    scratch_bytes = SaturatingAdd(scratch_bytes, pieces_bytes);
  }
  if (!arena->Reserve(scratch_bytes)) return false;
  for (const Side side : kSides) {
    if (in_scratch[side]) TakePanels(side, arena);
    if (to_pack[side]) SharePacking(side, arena);
  }
  if (map_->in_pieces) {
    pieces_scratch_ = static_cast<char*>(arena->Take(pieces_bytes));
  }
  UseSums();
  return true;
}

void Product::UseSums() {
  // A cached side has sums whether they are wanted or not.
  if (epilogue_.rhs_zero_point != 0) epilogue_.lhs_sums = side_.lhs.sums;
  if (epilogue_.lhs_zero_point != 0) epilogue_.rhs_sums = side_.rhs.sums;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Product::RunBlock(
    const BlockExtent& extent, const EpilogueArgs& epilogue) {
  const TraceSpan span(TraceSpan::kKernel, kernel_.name,
                       extent.end_row - extent.start_row, params_.depth(),
                       extent.end_col - extent.start_col);
  KernelArgs args;
  args.lhs = side_.lhs.data + side_.lhs.Offset(extent.start_row, 0);
  args.rhs = side_.rhs.data + side_.rhs.Offset(extent.start_col, 0);
  args.lhs_stride_bytes = side_.lhs.stride_bytes;
  args.rhs_stride_bytes = side_.rhs.stride_bytes;
  args.rows = extent.end_row - extent.start_row;
  args.cols = extent.end_col - extent.start_col;
  args.depth = kernel_depth_;
  args.first_pass = true;
  args.last_pass = true;
  args.accum = nullptr;
  args.epilogue = &epilogue;
  RunHere(kernel_)(&args);
}

void Product::Work(int thread) {
  const ScopedFloatState float_state(StateOfFloats());
  const std::ptrdiff_t blocks = BlockCount(*map_);
  const auto deal_out = [this] {
    return first_dealt_ + next_block_.fetch_add(1, std::memory_order_relaxed);
  };
  for (std::ptrdiff_t index = thread < first_dealt_ ? thread : deal_out();
       index < blocks; index = deal_out()) {
    const BlockPosition block = BlockAt(*map_, index);
    if (shared_.lhs.has_value()) shared_.lhs->EnsurePacked(block.row_block);
    if (shared_.rhs.has_value()) shared_.rhs->EnsurePacked(block.col_block);
    const BlockExtent extent = BlockRange(*map_, block);
    kernels::ScaleArgs scales;
    const EpilogueArgs epilogue =
        EpilogueAt(epilogue_, extent.start_row, extent.start_col, &scales);
    if (pieces_.has_value()) {
      pieces_->Run(extent, epilogue,
                   pieces_scratch_ + thread * pieces_->scratch_bytes());
    } else {
      RunBlock(extent, epilogue);
    }
  }
}

void Product::KeepPacked(ContextImpl* context) {
  if (!HasPackedToKeep()) return;
  // The hash table's load factor is a float.
  const ScopedFloatState float_state(FloatState::kDefault);
  for (const Side side : kSides) {
    if (cache_miss_[side]) {
      context->prepacked_cache.Insert(
          KeyOf(*side_[side].operand, *side_[side].format), cached_[side]);
    }
  }
}

ProductReport Product::Describe(const KernelChoice& choice) const {
  ProductReport report = {choice, num_threads_, 1, 1, 1, {}};
  if (map_.has_value()) {
    report.row_blocks = map_->row_blocks;
    report.col_blocks = map_->col_blocks;
    report.depth_blocks = CeilDiv(padded_depth_, map_->depth_block);
  }
  for (const Side side : kSides) {
    report.source[side] = params_.side[side].packed ? SideSource::kPrepacked
                          : side_[side].format->in_place ? SideSource::kInPlace
                          : cache_miss_[side]            ? SideSource::kKept
                          : cache_hit_[side]             ? SideSource::kCached
                                                         : SideSource::kPacked;
  }
  return report;
}

RUY_LIKE_HOT bool Product::PrepareSingleBlock(ScratchArena* arena,
                                              ContextImpl* context) {
  // In 64 bits whatever the size of pointers, and each factor first, so that no
  // product overflows.
  const std::int64_t rows = params_.rows();
  const std::int64_t cols = params_.cols();
  const std::int64_t depth = padded_depth_;
  const std::int64_t panels_bytes =
      std::int64_t{side_.lhs.panels_bytes()} + side_.rhs.panels_bytes();
  if (rows > kSingleBlockMacs || cols > kSingleBlockMacs ||
      depth > kSingleBlockMacs || rows * cols > kSingleBlockMacs ||
      rows * cols * depth > kSingleBlockMacs ||
      panels_bytes > kSingleBlockBytes ||
      context->num_threads_strategy ==
          NumThreadsStrategy::kForceMaxNumThreads) {
    return false;
  }
  std::size_t scratch_bytes = 0;
  for (const Side side : kSides) {
    if (side_[side].IsReady()) continue;
    if (IsCached(side)) {
      if (!FindInCache(side, context)) return false;
    } else {
      single_block_packs_[side] = true;
      scratch_bytes = SaturatingAdd(scratch_bytes, PanelFootprint(side));
    }
  }
  if (!arena->Reserve(scratch_bytes)) return false;
  for (const Side side : kSides) {
    if (single_block_packs_[side]) TakePanels(side, arena);
  }
  UseSums();
  return true;
}

RUY_LIKE_HOT void Product::RunSingleBlock() {
  // Integers have no use for it, and it takes some of the 100 ns of a tiny
  // product.
  std::optional<ScopedFloatState> float_state;
  if (IsFloat(params_.side.lhs.scalar) || params_.scaled) {
    float_state.emplace(StateOfFloats());
  }
  for (const Side side : kSides) {
    if (single_block_packs_[side]) {
      side_[side].Pack(0, params_.side[side].width);
    }
  }
  RunBlock({0, params_.rows(), 0, params_.cols()}, epilogue_);
}

}  // namespace ruy_like
