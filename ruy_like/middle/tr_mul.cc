#include "ruy_like/middle/tr_mul.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/trace.h"
#include "ruy_like/base/wait.h"
#include "ruy_like/middle/block_map.h"
#include "ruy_like/middle/block_pieces.h"
#include "ruy_like/middle/choose_kernel.h"
#include "ruy_like/middle/packed_operand.h"
#include "ruy_like/middle/packed_side.h"
#include "ruy_like/middle/parallel.h"
#include "ruy_like/middle/prepacked_cache.h"
#include "ruy_like/middle/verbose.h"
#include "ruy_like/registry/cpu_features.h"
#include "ruy_like/registry/registry.h"

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

PrepackedKey CacheKey(const PackedSide& side) {
  const Operand& operand = *side.operand;
  return PrepackedKey{operand.data,
                      operand.width,
                      operand.depth,
                      operand.stride,
                      operand.zero_point,
                      operand.scalar,
                      operand.depth_contiguous,
                      *side.format};
}

// One product: what its tasks share. Lives on the stack of TrMul, or in a
// TrMulPlan.
class Product {
 public:
  // Completes params->epilogue.
  Product(TrMulParams* params, const Kernel& kernel)
      : params_(*params),
        kernel_(kernel),
        side_{PackedSide(params->side.lhs, kernel, Side::kLhs),
              PackedSide(params->side.rhs, kernel, Side::kRhs)},
        epilogue_(params->epilogue) {
    InitEpilogue();
  }

  // Chooses threads, at most `max_threads`, and blocks, and finds memory.
  // False: there is none.
  bool Prepare(int max_threads, ScratchArena* arena, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // 1 after PrepareSingleBlock.
  int num_threads() const { return num_threads_; }
  // Once it is done: how many there were.
  void set_num_threads(int threads) { num_threads_ = threads; }
  // What was done, once it is.
  ProductReport Describe(const KernelChoice& choice) const;
  // Has all blocks dealt out to those who come. Else each thread's first one is
  // its own, which saves an agreement but needs all threads to come.
  void DealOutAllBlocks() { first_dealt_ = 0; }
  // Works until no block is left. Each of num_threads threads may call it, from
  // several threads at once with distinct numbers; it waits for nobody but
  // those that are packing at that moment.
  void Work(int thread);
  // Hands what was packed for the prepacked cache over to it.
  bool HasPackedToKeep() const { return cache_miss_.lhs || cache_miss_.rhs; }
  void KeepPacked(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

  // The short cut for small products, instead of Prepare and Work: one block,
  // without a block map. False where it does not apply.
  bool PrepareSingleBlock(ScratchArena* arena, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // Once.
  void RunSingleBlock();

 private:
  void InitEpilogue();
  bool SumsAreWanted(Side side) const {
    return !IsFloat(params_.side[side].scalar) &&
           (side == Side::kLhs ? epilogue_.rhs_zero_point
                               : epilogue_.lhs_zero_point) != 0;
  }
  bool IsCached(Side side) const {
    return !side_[side].format->in_place && WantsCache(params_, side);
  }
  // For this product alone.
  bool IsPackedHere(Side side) const {
    return !side_[side].IsReady() && !IsCached(side);
  }
  // The side's packed form, if the cache holds it.
  bool FindInCache(Side side, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // A new buffer, to be packed into and then kept by the cache.
  bool AllocateForCache(Side side);
  // While threads work. Scaled products keep denormals: they are equal to
  // ReferenceMul bit for bit.
  FloatState StateOfFloats() const {
    return IsFloat(params_.side.lhs.scalar) ? FloatState::kFlushDenormals
                                            : FloatState::kDefault;
  }
  BlockMapParams BlockParams() const;
  void ChooseBlocks(int max_threads, const ContextImpl& context)
      ABSL_SHARED_LOCKS_REQUIRED(context.mutex);
  // What the threads share the packing of a side by.
  void CutIntoChunks();

  // Scratch memory of a side that is not read in place: its size, and its
  // taking. Panels and sums, unless a buffer of the cache holds them.
  std::size_t PanelFootprint(Side side) const;
  void TakePanels(Side side, ScratchArena* arena);
  std::size_t StatusFootprint(Side side) const;
  void TakeStatus(Side side, ScratchArena* arena);

  // Packs the chunk of that side unless a thread has begun to.
  void TryPack(Side side, std::ptrdiff_t chunk);
  void EnsurePacked(Side side, std::ptrdiff_t block);
  // Once it is known where the sides' sums are.
  void UseSums();
  // Over the whole depth at once. The epilogue begins with the block.
  void RunBlock(const BlockExtent& extent, const EpilogueArgs& epilogue);

  const TrMulParams& params_;
  const Kernel& kernel_;
  SidePair<PackedSide> side_;
  // Where the call was put together: a copy of a struct just written field by
  // field waits for the stores.
  EpilogueArgs& epilogue_;
  SidePair<PrepackedCache::Value> cached_;
  SidePair<bool> cache_miss_ = {false, false};
  // After PrepareSingleBlock: what RunSingleBlock packs.
  SidePair<bool> single_block_packs_ = {false, false};
  // None after PrepareSingleBlock.
  std::optional<BlockMap> map_;
  // Where blocks are run in pieces, with scratch for each thread.
  std::optional<BlockPieces> pieces_;
  char* pieces_scratch_ = nullptr;
  int num_threads_ = 1;
  // Blocks before this one are the first ones of the threads of that number.
  int first_dealt_ = 0;
  std::atomic<std::ptrdiff_t> next_block_{0};
};

void Product::InitEpilogue() {
  const std::int32_t lhs_zero_point =
      PackedZeroPoint(params_.side.lhs, kernel_.lhs.scalar);
  const std::int32_t rhs_zero_point =
      PackedZeroPoint(params_.side.rhs, kernel_.rhs.scalar);
  if (params_.scaled) epilogue_.scales = &params_.scales;
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
  params.depth = std::max(side_.lhs.padded_depth, side_.rhs.padded_depth);
  params.lhs_element_bytes = ScalarBytes(kernel_.lhs.scalar);
  params.rhs_element_bytes = ScalarBytes(kernel_.rhs.scalar);
  params.accum_bytes = AccumBytes(params_.family);
  params.tile_rows = kernel_.tile_rows;
  params.tile_cols = kernel_.tile_cols;
  params.lhs_panel_width = panel_width(kernel_.lhs);
  params.rhs_panel_width = panel_width(kernel_.rhs);
  // Where all columns are in one tile, as for narrow kernels, the lhs is read
  // once: there is nothing to keep in a cache by splitting depth. (4096x4096x8
  // in float, cached, by AVX-512 on a Zen 5: 40% of peak if it is split, 47%
  // else.)
  const bool lhs_is_read_once = params_.cols() <= kernel_.tile_cols;
  params.depth_multiple =
      lhs_is_read_once ? 0 : static_cast<int>(DepthMultiple(kernel_));
  params.lhs_is_packed_here = IsPackedHere(Side::kLhs);
  params.rhs_is_packed_here = IsPackedHere(Side::kRhs);
  params.row_granularity = kernel_.row_granularity;
  params.widens_lhs = kernel_.widens_lhs;
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
  CutIntoChunks();
}

void Product::CutIntoChunks() {
  // Some 300 ns of packing, beside which it costs little to claim a chunk.
  constexpr std::ptrdiff_t kChunkBytes = 16 * 1024;
  const SidePair<std::ptrdiff_t> blocks = {map_->row_blocks, map_->col_blocks};
  const SidePair<std::ptrdiff_t> width = {map_->block_rows, map_->block_cols};
  for (const Side side : kSides) {
    PackedSide& packed = side_[side];
    if (packed.IsReady()) continue;
    // Who needs a block that nobody else does may as well pack it alone.
    const bool is_shared = num_threads_ > 1 && blocks[Other(side)] > 1;
    const std::ptrdiff_t panels =
        std::max<std::ptrdiff_t>(1, kChunkBytes / packed.stride_bytes);
    packed.chunks_per_block =
        is_shared ? CeilDiv(width[side], panels * packed.format->width) : 1;
    packed.chunks = blocks[side] * packed.chunks_per_block;
  }
}

bool Product::FindInCache(Side side, ContextImpl* context) {
  cached_[side] = context->prepacked_cache.Find(CacheKey(side_[side]));
  if (cached_[side] == nullptr) return false;
  side_[side].Use(*cached_[side]);
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

void Product::TakePanels(Side side, ScratchArena* arena) {
  PackedSide& packed = side_[side];
  packed.data = static_cast<const char*>(arena->Take(packed.panels_bytes()));
  if (!SumsAreWanted(side)) return;
  packed.writable_sums = static_cast<std::int32_t*>(
      arena->Take(packed.operand->width * sizeof(std::int32_t)));
  packed.sums = packed.writable_sums;
}

std::size_t Product::StatusFootprint(Side side) const {
  return ScratchArena::Footprint(side_[side].chunks *
                                 sizeof(std::atomic<std::uint8_t>));
}

void Product::TakeStatus(Side side, ScratchArena* arena) {
  PackedSide& packed = side_[side];
  packed.status =
      static_cast<std::atomic<std::uint8_t>*>(arena->Take(packed.chunks));
  for (std::ptrdiff_t i = 0; i < packed.chunks; ++i) {
    new (&packed.status[i]) std::atomic<std::uint8_t>(PackedSide::kNotStarted);
  }
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
      scratch_bytes += PanelFootprint(side);
    }
    to_pack[side] = true;
    scratch_bytes += StatusFootprint(side);
  }
  std::size_t pieces_bytes = 0;
  if (map_->in_pieces) {
    pieces_.emplace(kernel_, side_, *map_, AccumBytes(params_.family), use);
    pieces_bytes = pieces_->scratch_bytes() * num_threads_;
    scratch_bytes += pieces_bytes;
  }
  if (!arena->Reserve(scratch_bytes)) return false;
  for (const Side side : kSides) {
    if (in_scratch[side]) TakePanels(side, arena);
    if (to_pack[side]) TakeStatus(side, arena);
  }
  if (map_->in_pieces) {
    pieces_scratch_ = static_cast<char*>(arena->Take(pieces_bytes));
  }
  UseSums();
  return true;
}

void Product::TryPack(Side side, std::ptrdiff_t chunk) {
  const PackedSide& packed = side_[side];
  std::atomic<std::uint8_t>& status = packed.status[chunk];
  std::uint8_t seen = status.load(std::memory_order_relaxed);
  if (seen != PackedSide::kNotStarted ||
      !status.compare_exchange_strong(seen, PackedSide::kInProgress,
                                      std::memory_order_relaxed)) {
    return;
  }
  const std::ptrdiff_t block = chunk / packed.chunks_per_block;
  const BlockExtent extent = side == Side::kLhs ? BlockRange(*map_, {block, 0})
                                                : BlockRange(*map_, {0, block});
  const std::ptrdiff_t start =
      side == Side::kLhs ? extent.start_row : extent.start_col;
  const std::ptrdiff_t end =
      side == Side::kLhs ? extent.end_row : extent.end_col;
  // Even shares of the block's panels; there may be fewer than chunks.
  const std::ptrdiff_t panel_width = packed.format->width;
  const std::ptrdiff_t panels = CeilDiv(end - start, panel_width);
  const std::ptrdiff_t index = chunk % packed.chunks_per_block;
  const auto share = [&](std::ptrdiff_t i) {
    return std::min(start + panels * i / packed.chunks_per_block * panel_width,
                    end);
  };
  if (share(index) < share(index + 1)) {
    packed.Pack(share(index), share(index + 1));
  }
  status.store(PackedSide::kDone, std::memory_order_release);
}

void Product::EnsurePacked(Side side, std::ptrdiff_t block) {
  const PackedSide& packed = side_[side];
  if (packed.status == nullptr) return;
  const std::ptrdiff_t first = block * packed.chunks_per_block;
  const std::ptrdiff_t end = first + packed.chunks_per_block;
  std::ptrdiff_t next = first;
  while (next < end) TryPack(side, next++);
  // While other threads pack some of them, packs what will be needed later
  // rather than wait.
  SpinPacer pacer(std::chrono::hours(1));
  for (std::ptrdiff_t chunk = first; chunk < end; ++chunk) {
    while (packed.status[chunk].load(std::memory_order_acquire) !=
           PackedSide::kDone) {
      if (next < packed.chunks) {
        TryPack(side, next++);
      } else {
        pacer.Pause();
      }
    }
  }
}

void Product::UseSums() {
  // A cached side has sums whether they are wanted or not.
  if (epilogue_.rhs_zero_point != 0) epilogue_.lhs_sums = side_.lhs.sums;
  if (epilogue_.lhs_zero_point != 0) epilogue_.rhs_sums = side_.rhs.sums;
}

void Product::RunBlock(const BlockExtent& extent,
                       const EpilogueArgs& epilogue) {
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
  // With an in-place side the kernel sees the true depth.
  args.depth = std::min(side_.lhs.padded_depth, side_.rhs.padded_depth);
  args.first_pass = true;
  args.last_pass = true;
  args.accum = nullptr;
  args.epilogue = &epilogue;
  kernel_.run(&args);
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
    EnsurePacked(Side::kLhs, block.row_block);
    EnsurePacked(Side::kRhs, block.col_block);
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
      context->prepacked_cache.Insert(CacheKey(side_[side]), cached_[side]);
    }
  }
}

ProductReport Product::Describe(const KernelChoice& choice) const {
  ProductReport report = {choice, num_threads_, 1, 1, 1, {}};
  if (map_.has_value()) {
    report.row_blocks = map_->row_blocks;
    report.col_blocks = map_->col_blocks;
    const std::ptrdiff_t depth =
        std::max(side_.lhs.padded_depth, side_.rhs.padded_depth);
    report.depth_blocks = CeilDiv(depth, map_->depth_block);
  }
  for (const Side side : kSides) {
    report.source[side] = params_.side[side].packed ? SideSource::kPrepacked
                          : side_[side].format->in_place ? SideSource::kInPlace
                          : cache_miss_[side]            ? SideSource::kKept
                          : cached_[side] != nullptr     ? SideSource::kCached
                                                         : SideSource::kPacked;
  }
  return report;
}

bool Product::PrepareSingleBlock(ScratchArena* arena, ContextImpl* context) {
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
  for (const Side side : kSides) {
    if (side_[side].IsReady()) continue;
    if (IsCached(side)) {
      if (!FindInCache(side, context)) return false;
    } else {
      single_block_packs_[side] = true;
      scratch_bytes += PanelFootprint(side);
    }
  }
  if (!arena->Reserve(scratch_bytes)) return false;
  for (const Side side : kSides) {
    if (single_block_packs_[side]) TakePanels(side, arena);
  }
  UseSums();
  return true;
}

void Product::RunSingleBlock() {
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

void CallWork(void* product, int thread) {
  static_cast<Product*>(product)->Work(thread);
}

// The whole way: blocks, threads, the cache. False: no memory.
bool RunBlocks(Product* product, int call_limit, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  if (!product->Prepare(MaxThreads(*context, call_limit), &context->arena,
                        context)) {
    return false;
  }
  // A host's pool may begin some calls late: nothing should be left to them.
  if (context->executor != nullptr) product->DealOutAllBlocks();
  product->set_num_threads(
      RunParallel(product->num_threads(), &CallWork, product, context));
  product->KeepPacked(context);
  return true;
}

absl::Status NoMemoryError(const TrMulParams& params) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory to pack a ", params.rows(), "x", params.depth(),
                   " by ", params.depth(), "x", params.cols(), " product"));
}

// For the Context's last_used functions.
void Remember(const KernelChoice& choice, const Product& product,
              ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex) {
  context->last_path = choice.path;
  context->last_kernel = choice.kernel->name;
  context->last_num_threads = product.num_threads();
}

// After the product, for stderr.
void Report(const KernelChoice& choice, const TrMulParams& params,
            const Product& product, const VerboseCall& verbose,
            const ContextImpl& context)
    ABSL_SHARED_LOCKS_REQUIRED(context.mutex) {
  if (VerboseCall::IsOn()) {
    verbose.Print(params, product.Describe(choice), context.permitted_paths);
  }
}

}  // namespace

absl::Status TrMul(TrMulParams* params, int max_num_threads,
                   ContextImpl* context) {
  const TraceSpan span(TraceSpan::kMul, "Mul", params->rows(), params->depth(),
                       params->cols());
  const VerboseCall verbose;
  const KernelChoice choice = ChooseKernel(*params, context);
  if (choice.kernel == nullptr) {
    return NoKernelError(*params, context->permitted_paths);
  }
  if (choice.swap_sides) SwapSides(params);

  Product product(params, *choice.kernel);
  if (product.PrepareSingleBlock(&context->arena, context)) {
    product.RunSingleBlock();
  } else if (!RunBlocks(&product, max_num_threads, context)) {
    return NoMemoryError(*params);
  }
  Remember(choice, product, context);
  Report(choice, *params, product, verbose, *context);
  return absl::OkStatus();
}

struct TrMulPlan::Impl {
  TrMulParams params;
  KernelChoice choice;
  ScratchArena arena;
  std::optional<Product> product;
  // The product is a single block, which nobody has run yet.
  bool is_single_block = false;
  std::atomic<bool> single_block_is_left{false};
  VerboseCall verbose;
};

TrMulPlan::TrMulPlan() : impl_(std::make_unique<Impl>()) {}
TrMulPlan::~TrMulPlan() = default;

TrMulParams* TrMulPlan::NewParams() {
  impl_->product.reset();
  return &impl_->params;
}

absl::Status TrMulPlan::Prepare(int max_threads, ContextImpl* context) {
  Impl& impl = *impl_;
  impl.verbose = VerboseCall();
  impl.choice = ChooseKernel(impl.params, context);
  if (impl.choice.kernel == nullptr) {
    return NoKernelError(impl.params, context->permitted_paths);
  }
  if (impl.choice.swap_sides) SwapSides(&impl.params);
  Product& product = impl.product.emplace(&impl.params, *impl.choice.kernel);
  impl.is_single_block = product.PrepareSingleBlock(&impl.arena, context);
  impl.single_block_is_left.store(impl.is_single_block,
                                  std::memory_order_relaxed);
  if (!impl.is_single_block) {
    if (!product.Prepare(max_threads, &impl.arena, context)) {
      impl.product.reset();
      return NoMemoryError(impl.params);
    }
    product.DealOutAllBlocks();
  }
  Remember(impl.choice, product, context);
  return absl::OkStatus();
}

int TrMulPlan::num_threads() const { return impl_->product->num_threads(); }

void TrMulPlan::Work(int thread) {
  if (!impl_->is_single_block) {
    impl_->product->Work(thread);
  } else if (impl_->single_block_is_left.load(std::memory_order_relaxed) &&
             impl_->single_block_is_left.exchange(false)) {
    impl_->product->RunSingleBlock();
  }
}

bool TrMulPlan::HasReport() const {
  return impl_->product->HasPackedToKeep() || VerboseCall::IsOn();
}

void TrMulPlan::Report(ContextImpl* context) {
  impl_->product->KeepPacked(context);
  ruy_like::Report(impl_->choice, impl_->params, *impl_->product,
                   impl_->verbose, *context);
}

void TrMulPlan::Finish() { impl_->product.reset(); }

}  // namespace ruy_like
