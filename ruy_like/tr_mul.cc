#include "ruy_like/tr_mul.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/block_map.h"
#include "ruy_like/cpu_features.h"
#include "ruy_like/denormals.h"
#include "ruy_like/packed_side.h"
#include "ruy_like/prepacked_cache.h"
#include "ruy_like/registry.h"
#include "ruy_like/thread_pool.h"
#include "ruy_like/wait.h"

namespace ruy_like {
namespace {

using kernels::EpilogueArgs;
using kernels::Kernel;
using kernels::KernelArgs;
using kernels::PanelFormat;

// Products of at most this many multiply-adds run as one block on this thread,
// without a block map: 64^3. Packed, their operands are at most
// kSingleBlockBytes, so that the one block does not outgrow L2.
constexpr std::ptrdiff_t kSingleBlockMacs = 64 * 64 * 64;
constexpr std::ptrdiff_t kSingleBlockBytes = 128 * 1024;

// The flip of pack.h moves an 8-bit zero point by half the range.
std::int32_t PackedZeroPoint(const Operand& operand, Scalar packed) {
  const bool source_unsigned = operand.scalar == Scalar::kU8;
  const bool packed_unsigned = packed == Scalar::kU8;
  if (!Is8Bit(operand.scalar) || source_unsigned == packed_unsigned) {
    return operand.zero_point;
  }
  return operand.zero_point + (packed_unsigned ? 128 : -128);
}

bool WantsCache(CachePolicy policy, std::ptrdiff_t other_width) {
  switch (policy) {
    case CachePolicy::kNeverCache:
      return false;
    case CachePolicy::kCacheIfLargeSpeedup:
      return other_width <= 16;
    case CachePolicy::kCacheIfSignificantSpeedup:
      return other_width <= 128;
    case CachePolicy::kAlwaysCache:
      return true;
  }
  return false;
}

PrepackedKey CacheKey(const PackedSide& side) {
  const Operand& operand = *side.operand;
  return PrepackedKey{operand.data,
                      operand.width,
                      operand.depth,
                      operand.stride,
                      operand.zero_point,
                      operand.scalar,
                      operand.depth_contiguous,
                      *side.format,
                      /*has_sums=*/!IsFloat(operand.scalar)};
}

constexpr Side kSides[] = {Side::kLhs, Side::kRhs};

constexpr Side Other(Side side) {
  return side == Side::kLhs ? Side::kRhs : Side::kLhs;
}

// One product: what its tasks share. Lives on the stack of TrMul.
class Product {
 public:
  Product(const TrMulParams& params, const Kernel& kernel)
      : params_(params),
        kernel_(kernel),
        side_{PackedSide(params.side.lhs, kernel, Side::kLhs),
              PackedSide(params.side.rhs, kernel, Side::kRhs)} {
    InitEpilogue();
  }

  // Chooses threads and blocks and finds memory. False: there is none.
  bool Prepare(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // 1 after RunSingleBlock.
  int num_threads() const { return num_threads_; }
  // Works until no block is left. Called once by each of num_threads threads.
  void Work(int thread);
  // Hands what was packed for the prepacked cache over to it.
  void KeepPacked(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

  // The short cut for small products: instead of all of the above. False, with
  // nothing done, where it does not apply.
  bool RunSingleBlock(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

 private:
  void InitEpilogue();
  bool SumsAreWanted(Side side) const {
    return !IsFloat(params_.side[side].scalar) &&
           (side == Side::kLhs ? epilogue_.rhs_zero_point
                               : epilogue_.lhs_zero_point) != 0;
  }
  bool IsCached(Side side) const {
    return !side_[side].format->in_place &&
           WantsCache(params_.side[side].cache_policy,
                      params_.side[Other(side)].width);
  }
  // The side's packed form, if the cache holds it.
  bool FindInCache(Side side, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // A new buffer, to be packed into and then kept by the cache.
  bool AllocateForCache(Side side);
  BlockMapParams BlockParams() const;
  void ChooseBlocks(const ContextImpl& context)
      ABSL_SHARED_LOCKS_REQUIRED(context.mutex);

  // Scratch memory of a side that is not read in place: its size, and its
  // taking. Panels and sums, unless a buffer of the cache holds them.
  std::size_t PanelFootprint(Side side) const;
  void TakePanels(Side side, ScratchArena* arena);
  std::size_t StatusFootprint(Side side) const;
  void TakeStatus(Side side, ScratchArena* arena);

  // True when the block of that side is packed, by this thread or by another;
  // false while another thread is at it.
  bool TryPack(Side side, std::ptrdiff_t block);
  void EnsurePacked(Side side, std::ptrdiff_t block);
  void RunBlock(const BlockExtent& extent, std::ptrdiff_t depth_block,
                void* accum);

  const TrMulParams& params_;
  const Kernel& kernel_;
  SidePair<PackedSide> side_;
  EpilogueArgs epilogue_;
  SidePair<PrepackedCache::Value> cached_;
  SidePair<bool> cache_miss_ = {false, false};
  BlockMap map_;
  std::ptrdiff_t accum_bytes_ = 0;  // per thread; 0 when depth is not split
  char* accums_ = nullptr;
  int num_threads_ = 1;
  std::atomic<std::ptrdiff_t> next_block_{0};
};

void Product::InitEpilogue() {
  epilogue_ = params_.epilogue;
  const std::int32_t lhs_zero_point =
      PackedZeroPoint(params_.side.lhs, kernel_.lhs.scalar);
  const std::int32_t rhs_zero_point =
      PackedZeroPoint(params_.side.rhs, kernel_.rhs.scalar);
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
  const bool in_place = kernel_.lhs.in_place || kernel_.rhs.in_place;
  const CacheSizes& caches = DetectedCacheSizes();
  BlockMapParams params;
  params.rows = params_.rows();
  params.cols = params_.cols();
  params.depth = std::max(side_.lhs.padded_depth, side_.rhs.padded_depth);
  params.lhs_element_bytes = ScalarBytes(kernel_.lhs.scalar);
  params.rhs_element_bytes = ScalarBytes(kernel_.rhs.scalar);
  params.accum_bytes = params_.family == kernels::Family::kF64 ? 8 : 4;
  params.tile_rows = kernel_.tile_rows;
  params.tile_cols = kernel_.tile_cols;
  params.lhs_panel_width = panel_width(kernel_.lhs);
  params.rhs_panel_width = panel_width(kernel_.rhs);
  // What is read in place is read once: there is nothing to keep in a cache by
  // splitting depth.
  params.depth_multiple =
      in_place ? 0 : static_cast<int>(DepthMultiple(kernel_));
  params.thread_count = 1;
  params.l1d_bytes = caches.l1d_bytes;
  params.l2_bytes = caches.l2_bytes;
  params.l3_bytes = caches.l3_bytes / caches.l3_sharing_cores;
  params.macs_per_ns = 0;
  return params;
}

void Product::ChooseBlocks(const ContextImpl& context) {
  BlockMapParams params = BlockParams();
  const int max_threads = context.max_num_threads;
  params.thread_count =
      max_threads == 1 || context.num_threads_strategy ==
                              NumThreadsStrategy::kForceMaxNumThreads
          ? max_threads
          : ChooseThreadCount(params, max_threads);
  map_ = MakeBlockMap(params);
  num_threads_ = static_cast<int>(
      std::min<std::ptrdiff_t>(params.thread_count, BlockCount(map_)));
  if (map_.depth_block < params.depth) {
    const auto round_up = [](std::ptrdiff_t value, int multiple) {
      return (value + multiple - 1) / multiple * multiple;
    };
    accum_bytes_ = ScratchArena::Footprint(
        round_up(map_.block_rows, kernel_.tile_rows) *
        round_up(map_.block_cols, kernel_.tile_cols) * params.accum_bytes);
  }
  side_.lhs.blocks = map_.row_blocks;
  side_.rhs.blocks = map_.col_blocks;
}

bool Product::FindInCache(Side side, ContextImpl* context) {
  PackedSide& packed = side_[side];
  cached_[side] = context->prepacked_cache.Find(CacheKey(packed));
  if (cached_[side] == nullptr) return false;
  packed.data = static_cast<const char*>(cached_[side]->panels);
  packed.sums = cached_[side]->sums;
  return true;
}

bool Product::AllocateForCache(Side side) {
  PackedSide& packed = side_[side];
  // Sums are kept whether this call needs them or not: the next one may have
  // another zero point.
  const std::size_t panels_bytes =
      ScratchArena::Footprint(packed.panels_bytes());
  const bool integer = !IsFloat(packed.operand->scalar);
  const std::size_t sums_bytes =
      integer ? packed.operand->width * sizeof(std::int32_t) : 0;
  auto data = std::make_shared<PackedData>();
  if (!AlignedBuffer::Allocate(panels_bytes + sums_bytes, &data->storage)) {
    return false;
  }
  data->panels = data->storage.data();
  packed.data = static_cast<const char*>(data->panels);
  if (integer) {
    data->sums = reinterpret_cast<std::int32_t*>(
        static_cast<char*>(data->panels) + panels_bytes);
    packed.writable_sums = data->sums;
    packed.sums = data->sums;
  }
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

void Product::TakePanels(Side side, ScratchArena* arena) {
  PackedSide& packed = side_[side];
  packed.data = static_cast<const char*>(arena->Take(packed.panels_bytes()));
  if (!SumsAreWanted(side)) return;
  packed.writable_sums = static_cast<std::int32_t*>(
      arena->Take(packed.operand->width * sizeof(std::int32_t)));
  packed.sums = packed.writable_sums;
}

std::size_t Product::StatusFootprint(Side side) const {
  return ScratchArena::Footprint(side_[side].blocks *
                                 sizeof(std::atomic<std::uint8_t>));
}

void Product::TakeStatus(Side side, ScratchArena* arena) {
  PackedSide& packed = side_[side];
  packed.status =
      static_cast<std::atomic<std::uint8_t>*>(arena->Take(packed.blocks));
  for (std::ptrdiff_t i = 0; i < packed.blocks; ++i) {
    new (&packed.status[i]) std::atomic<std::uint8_t>(PackedSide::kNotStarted);
  }
}

bool Product::Prepare(ContextImpl* context) {
  ChooseBlocks(*context);
  std::size_t scratch_bytes = accum_bytes_ * num_threads_;
  SidePair<bool> in_scratch = {false, false};
  SidePair<bool> to_pack = {false, false};
  for (const Side side : kSides) {
    if (side_[side].format->in_place) continue;
    if (IsCached(side)) {
      if (FindInCache(side, context)) continue;
      if (!AllocateForCache(side)) return false;
    } else {
      in_scratch[side] = true;
      scratch_bytes += PanelFootprint(side);
    }
    to_pack[side] = true;
    scratch_bytes += StatusFootprint(side);
  }
  ScratchArena& arena = context->arena;
  if (!arena.Reserve(scratch_bytes)) return false;
  for (const Side side : kSides) {
    if (in_scratch[side]) TakePanels(side, &arena);
    if (to_pack[side]) TakeStatus(side, &arena);
  }
  if (accum_bytes_ != 0) {
    accums_ = static_cast<char*>(arena.Take(accum_bytes_ * num_threads_));
  }
  return true;
}

bool Product::TryPack(Side side, std::ptrdiff_t block) {
  const PackedSide& packed = side_[side];
  std::atomic<std::uint8_t>& state = packed.status[block];
  std::uint8_t seen = state.load(std::memory_order_acquire);
  if (seen == PackedSide::kDone) return true;
  if (seen == PackedSide::kInProgress ||
      !state.compare_exchange_strong(seen, PackedSide::kInProgress,
                                     std::memory_order_acquire)) {
    return seen == PackedSide::kDone;
  }
  if (side == Side::kLhs) {
    const BlockExtent extent = BlockRange(map_, {block, 0});
    packed.Pack(extent.start_row, extent.end_row);
  } else {
    const BlockExtent extent = BlockRange(map_, {0, block});
    packed.Pack(extent.start_col, extent.end_col);
  }
  state.store(PackedSide::kDone, std::memory_order_release);
  return true;
}

void Product::EnsurePacked(Side side, std::ptrdiff_t block) {
  const PackedSide& packed = side_[side];
  if (packed.status == nullptr) return;
  // While another thread packs the block, pack one that will be needed later
  // rather than wait.
  std::ptrdiff_t ahead = block;
  SpinPacer pacer(std::chrono::hours(1));
  while (!TryPack(side, block)) {
    if (++ahead < packed.blocks) {
      TryPack(side, ahead);
    } else {
      pacer.Pause();
    }
  }
}

void Product::RunBlock(const BlockExtent& extent, std::ptrdiff_t depth_block,
                       void* accum) {
  const std::ptrdiff_t row = extent.start_row;
  const std::ptrdiff_t col = extent.start_col;
  EpilogueArgs epilogue = epilogue_;
  epilogue.dst =
      static_cast<char*>(epilogue_.dst) +
      (row * epilogue_.dst_row_stride + col * epilogue_.dst_col_stride) *
          ScalarBytes(epilogue_.dst_scalar);
  const std::ptrdiff_t channel = epilogue_.channels_are_rows ? row : col;
  if (epilogue_.bias != nullptr) {
    epilogue.bias = static_cast<const char*>(epilogue_.bias) +
                    channel * ScalarBytes(epilogue_.bias_scalar);
  }
  if (epilogue_.per_channel) {
    epilogue.fixedpoint = epilogue_.fixedpoint + channel;
    epilogue.exponent = epilogue_.exponent + channel;
  }
  if (epilogue_.scaled_bias != nullptr) {
    epilogue.scaled_bias = epilogue_.scaled_bias + channel;
  }
  if (epilogue_.lhs_scale_per_row) {
    epilogue.lhs_scales = epilogue_.lhs_scales + row;
  }
  if (epilogue_.rhs_scale_per_col) {
    epilogue.rhs_scales = epilogue_.rhs_scales + col;
  }
  // A cached side has sums whether they are wanted or not.
  epilogue.lhs_sums = epilogue_.rhs_zero_point == 0 || !side_.lhs.sums
                          ? nullptr
                          : side_.lhs.sums + row;
  epilogue.rhs_sums = epilogue_.lhs_zero_point == 0 || !side_.rhs.sums
                          ? nullptr
                          : side_.rhs.sums + col;

  KernelArgs args;
  args.rows = extent.end_row - row;
  args.cols = extent.end_col - col;
  args.lhs_stride_bytes = side_.lhs.stride_bytes;
  args.rhs_stride_bytes = side_.rhs.stride_bytes;
  args.accum = accum;
  args.epilogue = &epilogue;
  // With an in-place side the kernel sees the true depth.
  const std::ptrdiff_t depth =
      std::min(side_.lhs.padded_depth, side_.rhs.padded_depth);
  const char* lhs = side_.lhs.data + side_.lhs.Offset(row, 0);
  const char* rhs = side_.rhs.data + side_.rhs.Offset(col, 0);
  for (std::ptrdiff_t level = 0; level < depth; level += depth_block) {
    args.lhs = lhs + side_.lhs.Offset(0, level);
    args.rhs = rhs + side_.rhs.Offset(0, level);
    args.depth = std::min(depth_block, depth - level);
    args.first_pass = level == 0;
    args.last_pass = level + args.depth == depth;
    kernel_.run(&args);
  }
}

void Product::Work(int thread) {
  std::optional<ScopedSuppressDenormals> suppress_denormals;
  if (IsFloat(params_.side.lhs.scalar)) suppress_denormals.emplace();
  std::optional<ScopedDefaultFloatState> default_float_state;
  if (epilogue_.lhs_scales != nullptr) default_float_state.emplace();
  char* accum = accums_ == nullptr ? nullptr : accums_ + thread * accum_bytes_;
  const std::ptrdiff_t blocks = BlockCount(map_);
  // The first block of each thread needs no agreement.
  for (std::ptrdiff_t index = thread; index < blocks;
       index =
           num_threads_ + next_block_.fetch_add(1, std::memory_order_relaxed)) {
    const BlockPosition block = BlockAt(map_, index);
    EnsurePacked(Side::kLhs, block.row_block);
    EnsurePacked(Side::kRhs, block.col_block);
    RunBlock(BlockRange(map_, block), map_.depth_block, accum);
  }
}

void Product::KeepPacked(ContextImpl* context) {
  for (const Side side : kSides) {
    if (cache_miss_[side]) {
      context->prepacked_cache.Insert(CacheKey(side_[side]), cached_[side]);
    }
  }
}

bool Product::RunSingleBlock(ContextImpl* context) {
  const std::ptrdiff_t rows = params_.rows();
  const std::ptrdiff_t cols = params_.cols();
  const std::ptrdiff_t depth =
      std::max(side_.lhs.padded_depth, side_.rhs.padded_depth);
  // Each factor first, so that the product can't overflow.
  if (rows > kSingleBlockMacs || cols > kSingleBlockMacs ||
      depth > kSingleBlockMacs || rows * cols > kSingleBlockMacs ||
      rows * cols * depth > kSingleBlockMacs ||
      side_.lhs.panels_bytes() + side_.rhs.panels_bytes() > kSingleBlockBytes ||
      context->num_threads_strategy ==
          NumThreadsStrategy::kForceMaxNumThreads) {
    return false;
  }
  std::size_t scratch_bytes = 0;
  SidePair<bool> in_scratch = {false, false};
  for (const Side side : kSides) {
    if (side_[side].format->in_place) continue;
    if (IsCached(side)) {
      if (!FindInCache(side, context)) return false;
    } else {
      in_scratch[side] = true;
      scratch_bytes += PanelFootprint(side);
    }
  }
  ScratchArena& arena = context->arena;
  if (!arena.Reserve(scratch_bytes)) return false;
  std::optional<ScopedSuppressDenormals> suppress_denormals;
  if (IsFloat(params_.side.lhs.scalar)) suppress_denormals.emplace();
  std::optional<ScopedDefaultFloatState> default_float_state;
  if (epilogue_.lhs_scales != nullptr) default_float_state.emplace();
  for (const Side side : kSides) {
    if (!in_scratch[side]) continue;
    TakePanels(side, &arena);
    side_[side].Pack(0, params_.side[side].width);
  }
  RunBlock({0, rows, 0, cols}, depth, nullptr);
  return true;
}

class WorkTask final : public Task {
 public:
  WorkTask() = default;
  WorkTask(Product* product, int thread) : product_(product), thread_(thread) {}
  void Run() override { product_->Work(thread_); }

 private:
  Product* product_ = nullptr;
  int thread_ = 0;
};

// The whole way: blocks, threads, the cache. False: no memory.
bool RunBlocks(Product* product, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  if (!product->Prepare(context)) return false;
  const int num_threads = product->num_threads();
  if (num_threads == 1) {
    product->Work(0);
  } else {
    // Inline storage for 64: more threads than that pay for an allocation.
    absl::FixedArray<WorkTask, 64> tasks(num_threads);
    for (int i = 0; i < num_threads; ++i) tasks[i] = WorkTask(product, i);
    context->thread_pool.Execute(num_threads, tasks.data());
  }
  product->KeepPacked(context);
  return true;
}

KernelChoice ChooseKernel(const KernelQuery& query, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  if (context->last_permitted_paths != context->permitted_paths ||
      !(context->last_query == query)) {
    context->last_choice = SelectKernel(query, context->permitted_paths);
    context->last_query = query;
    context->last_permitted_paths = context->permitted_paths;
  }
  return context->last_choice;
}

}  // namespace

absl::Status TrMul(TrMulParams* params, ContextImpl* context) {
  KernelQuery query = MakeKernelQuery(*params);
  query.cached.lhs = WantsCache(params->side.lhs.cache_policy, params->cols());
  query.cached.rhs = WantsCache(params->side.rhs.cache_policy, params->rows());
  const KernelChoice choice = ChooseKernel(query, context);
  if (choice.swap_sides) SwapSides(params);

  Product product(*params, *choice.kernel);
  if (!product.RunSingleBlock(context) && !RunBlocks(&product, context)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory to pack a ", params->rows(), "x", params->depth(), " by ",
        params->depth(), "x", params->cols(), " product"));
  }
  context->last_path = choice.path;
  context->last_kernel = choice.kernel->name;
  context->last_num_threads = product.num_threads();
  return absl::OkStatus();
}

}  // namespace ruy_like
