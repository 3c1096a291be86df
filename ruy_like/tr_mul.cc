#include "ruy_like/tr_mul.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "absl/container/fixed_array.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/block_map.h"
#include "ruy_like/cpu_features.h"
#include "ruy_like/denormals.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/prepacked_cache.h"
#include "ruy_like/registry.h"
#include "ruy_like/thread_pool.h"
#include "ruy_like/wait.h"

namespace ruy_like {
namespace {

using kernels::EpilogueArgs;
using kernels::Kernel;
using kernels::KernelArgs;
using kernels::PackArgs;
using kernels::PanelFormat;

std::ptrdiff_t RoundUp(std::ptrdiff_t value, std::ptrdiff_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

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

// One side of a product on its way to the kernel.
//
// Blocks of a side that is not read in place are packed by the first thread
// that needs them; `status` has one entry per block.
struct PackedSide {
  enum Status : std::uint8_t { kNotStarted, kInProgress, kDone };

  const Operand* operand = nullptr;
  const PanelFormat* format = nullptr;
  kernels::PackFn* pack = nullptr;
  std::ptrdiff_t padded_depth = 0;
  // Where kernels read: packed panels, or the operand's own data.
  const char* data = nullptr;
  // Bytes from panel to panel, or from column to column in place.
  std::ptrdiff_t stride_bytes = 0;
  const std::int32_t* sums = nullptr;

  // Null where nothing is left to pack.
  std::atomic<std::uint8_t>* status = nullptr;
  std::ptrdiff_t blocks = 0;
  std::int32_t* writable_sums = nullptr;

  std::ptrdiff_t PanelBytes() const {
    return padded_depth * format->width * ScalarBytes(format->scalar);
  }
  std::ptrdiff_t PanelsBytes() const {
    return RoundUp(operand->width, format->width) / format->width *
           PanelBytes();
  }
  // Offset in bytes of column `start` (the first of a panel) at depth `level`.
  std::ptrdiff_t Offset(std::ptrdiff_t start, std::ptrdiff_t level) const {
    const std::ptrdiff_t scalar_bytes = ScalarBytes(format->scalar);
    if (format->in_place) return start * stride_bytes + level * scalar_bytes;
    return start / format->width * stride_bytes +
           level * format->width * scalar_bytes;
  }

  // Packs columns [start, end); start is the first of a panel.
  void Pack(std::ptrdiff_t start, std::ptrdiff_t end) const {
    const std::ptrdiff_t column_step =
        operand->depth_contiguous ? operand->stride : 1;
    PackArgs args;
    args.src = static_cast<const char*>(operand->data) +
               start * column_step * ScalarBytes(operand->scalar);
    args.src_scalar = operand->scalar;
    args.depth_contiguous = operand->depth_contiguous;
    args.src_stride = operand->stride;
    args.depth = operand->depth;
    args.width = end - start;
    args.dst = const_cast<char*>(data) + Offset(start, 0);
    args.padded_depth = padded_depth;
    args.sums = writable_sums == nullptr ? nullptr : writable_sums + start;
    pack(&args);
  }
};

// One product: what its tasks share. Lives on the stack of TrMul.
class Product {
 public:
  Product(const TrMulParams& params, const Kernel& kernel)
      : params_(params), kernel_(kernel) {}

  // Sizes the blocks and gathers the packed sides. False: no memory.
  bool Prepare(ContextImpl* context);
  int num_threads() const { return num_threads_; }
  // Works until no block is left. Called once by each of num_threads threads.
  void Work(int thread);
  // Hands what was packed for the prepacked cache over to it.
  void KeepPacked(ContextImpl* context);

 private:
  void InitSide(Side side);
  // Finds the side in the cache or makes room for it there; otherwise adds its
  // scratch to `bytes`. False: no memory.
  bool LookUp(Side side, ContextImpl* context, std::size_t* scratch_bytes);
  void TakeScratch(Side side, ScratchArena* arena);
  std::size_t StatusBytes(Side side) const;
  BlockMapParams BlockParams() const;
  void ChooseBlocks(const ContextImpl& context);
  void InitEpilogue();
  // True when the block of that side is packed, by this thread or by another;
  // false while another thread is at it.
  bool TryPack(Side side, std::ptrdiff_t block);
  void EnsurePacked(Side side, std::ptrdiff_t block);
  void RunBlock(const BlockExtent& extent, void* accum);

  const TrMulParams& params_;
  const Kernel& kernel_;
  SidePair<PackedSide> side_;
  SidePair<std::shared_ptr<const PackedData>> cached_;
  SidePair<PrepackedKey> cache_key_;
  SidePair<bool> cache_miss_ = {false, false};
  EpilogueArgs epilogue_;
  BlockMap map_;
  std::ptrdiff_t accum_bytes_ = 0;  // per thread; 0 when depth is not split
  char* accums_ = nullptr;
  int num_threads_ = 1;
  std::atomic<std::ptrdiff_t> next_block_{0};
};

void Product::InitSide(Side side) {
  PackedSide& packed = side_[side];
  packed.operand = &params_.side[side];
  packed.format = side == Side::kLhs ? &kernel_.lhs : &kernel_.rhs;
  packed.pack = side == Side::kLhs ? kernel_.pack_lhs : kernel_.pack_rhs;
  if (packed.format->in_place) {
    packed.padded_depth = packed.operand->depth;
    packed.data = static_cast<const char*>(packed.operand->data);
    packed.stride_bytes =
        packed.operand->stride * ScalarBytes(packed.operand->scalar);
    return;
  }
  // Both sides are padded to the same depth; a depth of 0 becomes zeros, whose
  // product is the zero accumulators that it asks for.
  const std::ptrdiff_t multiple =
      std::max(kernel_.lhs.in_place ? 1 : kernel_.lhs.depth_multiple,
               kernel_.rhs.in_place ? 1 : kernel_.rhs.depth_multiple);
  packed.padded_depth =
      RoundUp(std::max<std::ptrdiff_t>(packed.operand->depth, 1), multiple);
  packed.stride_bytes = packed.PanelBytes();
}

std::size_t Product::StatusBytes(Side side) const {
  return side_[side].blocks * sizeof(std::atomic<std::uint8_t>);
}

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
  params.depth_multiple = in_place ? 0
                                   : std::max(kernel_.lhs.depth_multiple,
                                              kernel_.rhs.depth_multiple);
  params.thread_count = 1;
  params.l1d_bytes = caches.l1d_bytes;
  params.l2_bytes = caches.l2_bytes;
  params.l3_bytes = caches.l3_bytes / caches.l3_sharing_cores;
  params.macs_per_ns = 0;
  return params;
}

void Product::ChooseBlocks(const ContextImpl& context)
    ABSL_SHARED_LOCKS_REQUIRED(context.mutex) {
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
    accum_bytes_ = RoundUp(RoundUp(map_.block_rows, kernel_.tile_rows) *
                               RoundUp(map_.block_cols, kernel_.tile_cols) *
                               params.accum_bytes,
                           kBufferAlignment);
  }
  side_.lhs.blocks = map_.row_blocks;
  side_.rhs.blocks = map_.col_blocks;
}

bool Product::LookUp(Side side, ContextImpl* context,
                     std::size_t* scratch_bytes)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  PackedSide& packed = side_[side];
  if (packed.format->in_place) return true;
  const Operand& operand = *packed.operand;
  const Side other = side == Side::kLhs ? Side::kRhs : Side::kLhs;
  // Cached sums serve later calls with any zero points; scratch ones are made
  // only when this call needs them.
  const bool integer = !IsFloat(operand.scalar);
  const std::size_t sums_bytes =
      integer ? operand.width * sizeof(std::int32_t) : 0;
  if (WantsCache(operand.cache_policy, params_.side[other].width)) {
    cache_key_[side] = PrepackedKey{operand.data,
                                    operand.width,
                                    operand.depth,
                                    operand.stride,
                                    operand.zero_point,
                                    operand.scalar,
                                    operand.depth_contiguous,
                                    *packed.format,
                                    /*has_sums=*/integer};
    cached_[side] = context->prepacked_cache.Find(cache_key_[side]);
    cache_miss_[side] = cached_[side] == nullptr;
    if (cache_miss_[side]) {
      auto data = std::make_shared<PackedData>();
      const std::size_t panels_bytes =
          ScratchArena::Footprint(packed.PanelsBytes());
      if (!AlignedBuffer::Allocate(panels_bytes + sums_bytes, &data->storage)) {
        return false;
      }
      data->panels = data->storage.data();
      if (integer) {
        data->sums = reinterpret_cast<std::int32_t*>(
            static_cast<char*>(data->panels) + panels_bytes);
      }
      packed.writable_sums = data->sums;
      cached_[side] = std::move(data);
      *scratch_bytes += ScratchArena::Footprint(StatusBytes(side));
    }
    packed.data = static_cast<const char*>(cached_[side]->panels);
    packed.sums = cached_[side]->sums;
    return true;
  }
  const std::int32_t other_zero_point =
      side == Side::kLhs ? epilogue_.rhs_zero_point : epilogue_.lhs_zero_point;
  const bool sums_wanted = integer && other_zero_point != 0;
  *scratch_bytes += ScratchArena::Footprint(packed.PanelsBytes()) +
                    (sums_wanted ? ScratchArena::Footprint(sums_bytes) : 0) +
                    ScratchArena::Footprint(StatusBytes(side));
  // TakeScratch gives these their places.
  packed.sums = nullptr;
  return true;
}

void Product::TakeScratch(Side side, ScratchArena* arena) {
  PackedSide& packed = side_[side];
  if (packed.format->in_place) return;
  if (cached_[side] != nullptr && !cache_miss_[side]) return;
  if (cached_[side] == nullptr) {
    packed.data = static_cast<const char*>(arena->Take(packed.PanelsBytes()));
    const std::int32_t other_zero_point = side == Side::kLhs
                                              ? epilogue_.rhs_zero_point
                                              : epilogue_.lhs_zero_point;
    if (!IsFloat(packed.operand->scalar) && other_zero_point != 0) {
      packed.writable_sums = static_cast<std::int32_t*>(
          arena->Take(packed.operand->width * sizeof(std::int32_t)));
      packed.sums = packed.writable_sums;
    }
  }
  packed.status =
      static_cast<std::atomic<std::uint8_t>*>(arena->Take(StatusBytes(side)));
  for (std::ptrdiff_t i = 0; i < packed.blocks; ++i) {
    new (&packed.status[i]) std::atomic<std::uint8_t>(PackedSide::kNotStarted);
  }
}

bool Product::Prepare(ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  InitSide(Side::kLhs);
  InitSide(Side::kRhs);
  InitEpilogue();
  ChooseBlocks(*context);
  std::size_t scratch_bytes = accum_bytes_ * num_threads_;
  if (!LookUp(Side::kLhs, context, &scratch_bytes) ||
      !LookUp(Side::kRhs, context, &scratch_bytes)) {
    return false;
  }
  ScratchArena& arena = context->arena;
  if (!arena.Reserve(scratch_bytes)) return false;
  TakeScratch(Side::kLhs, &arena);
  TakeScratch(Side::kRhs, &arena);
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

void Product::RunBlock(const BlockExtent& extent, void* accum) {
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
  for (std::ptrdiff_t level = 0; level < depth; level += map_.depth_block) {
    args.lhs = side_.lhs.data + side_.lhs.Offset(row, level);
    args.rhs = side_.rhs.data + side_.rhs.Offset(col, level);
    args.depth = std::min(map_.depth_block, depth - level);
    args.first_pass = level == 0;
    args.last_pass = level + args.depth == depth;
    kernel_.run(&args);
  }
}

void Product::Work(int thread) {
  std::optional<ScopedSuppressDenormals> suppress_denormals;
  if (IsFloat(params_.side.lhs.scalar)) suppress_denormals.emplace();
  char* accum = accums_ == nullptr ? nullptr : accums_ + thread * accum_bytes_;
  const std::ptrdiff_t blocks = BlockCount(map_);
  // The first block of each thread needs no agreement.
  for (std::ptrdiff_t index = thread; index < blocks;
       index =
           num_threads_ + next_block_.fetch_add(1, std::memory_order_relaxed)) {
    const BlockPosition block = BlockAt(map_, index);
    EnsurePacked(Side::kLhs, block.row_block);
    EnsurePacked(Side::kRhs, block.col_block);
    RunBlock(BlockRange(map_, block), accum);
  }
}

void Product::KeepPacked(ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  for (const Side side : {Side::kLhs, Side::kRhs}) {
    if (cache_miss_[side]) {
      context->prepacked_cache.Insert(cache_key_[side], cached_[side]);
    }
  }
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

}  // namespace

absl::Status TrMul(TrMulParams* params, ContextImpl* context) {
  KernelQuery query = MakeKernelQuery(*params);
  query.cached.lhs = WantsCache(params->side.lhs.cache_policy, params->cols());
  query.cached.rhs = WantsCache(params->side.rhs.cache_policy, params->rows());
  const KernelChoice choice = SelectKernel(query, context->permitted_paths);
  if (choice.swap_sides) SwapSides(params);

  Product product(*params, *choice.kernel);
  if (!product.Prepare(context)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no memory to pack a ", params->rows(), "x", params->depth(), " by ",
        params->depth(), "x", params->cols(), " product"));
  }
  const int num_threads = product.num_threads();
  if (num_threads == 1) {
    product.Work(0);
  } else {
    // Inline storage for 64: more threads than that pay for an allocation.
    absl::FixedArray<WorkTask, 64> tasks(num_threads);
    for (int i = 0; i < num_threads; ++i) tasks[i] = WorkTask(&product, i);
    context->thread_pool.Execute(num_threads, tasks.data());
  }
  product.KeepPacked(context);
  context->last_path = choice.path;
  context->last_kernel = choice.kernel->name;
  context->last_num_threads = num_threads;
  return absl::OkStatus();
}

}  // namespace ruy_like
