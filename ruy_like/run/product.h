// Run: one product with a kernel: its blocks, its memory, and the work
// on them.
//
// Used by tr_mul.cc, which chooses the kernel and brings the threads. What
// threads pack together is in shared_packing.h, what each block packs for
// itself in block_pieces.h.
#ifndef RUY_LIKE_RUN_PRODUCT_H_
#define RUY_LIKE_RUN_PRODUCT_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/diagnostics/verbose.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/packed/prepacked_cache.h"
#include "ruy_like/plan/block_map.h"
#include "ruy_like/plan/choose_kernel.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/run/block_pieces.h"
#include "ruy_like/run/shared_packing.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Lives on the stack of TrMul, or in a TrMulPlan.
class Product final {
 public:
  // Whether all is done before the Context is unlocked. If not, the product
  // holds on to what it found in the prepacked cache.
  enum class Lifetime : std::uint8_t { kWithinLock, kBeyondLock };

  // Completes params->epilogue.
  Product(TrMulParams* params, const kernels::Kernel& kernel, Lifetime lifetime)
      : params_(*params),
        kernel_(kernel),
        lifetime_(lifetime),
        side_{PackedSide(params->side.lhs, kernel, Side::kLhs),
              PackedSide(params->side.rhs, kernel, Side::kRhs)},
        kernel_depth_(std::min(side_.lhs.padded_depth, side_.rhs.padded_depth)),
        padded_depth_(std::max(side_.lhs.padded_depth, side_.rhs.padded_depth)),
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
  // Scratch memory of a side that is not read in place: its size, and its
  // taking. Panels and sums, unless a buffer of the cache holds them.
  std::size_t PanelFootprint(Side side) const;
  void TakePanels(Side side, ScratchArena* arena);
  std::size_t StatusFootprint(Side side) const;
  // Has the side packed by all threads, block by block.
  void SharePacking(Side side, ScratchArena* arena);

  // Once it is known where the sides' sums are.
  void UseSums();
  // Over the whole depth at once. The epilogue begins with the block.
  void RunBlock(const BlockExtent& extent,
                const kernels::EpilogueArgs& epilogue);

  const TrMulParams& params_;
  const kernels::Kernel& kernel_;
  const Lifetime lifetime_;
  SidePair<PackedSide> side_;
  // As the kernel sees it: with a side in place the true depth. And padded, as
  // the packed sides have it.
  const std::ptrdiff_t kernel_depth_, padded_depth_;
  // Sides that are packed once for all threads.
  SidePair<std::optional<SharedPacking>> shared_;
  // Where the call was put together: copying a struct right after its fields
  // were stored stalls on store forwarding.
  kernels::EpilogueArgs& epilogue_;
  SidePair<bool> cache_hit_ = {false, false};
  // What is to be kept, or held.
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

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_PRODUCT_H_
