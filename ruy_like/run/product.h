// Run: one product, carried out as its plan says: memory, packing, blocks.
//
// Used by mul.cc (on the stack), by mul_plan.cc (for the caller's threads), and
// by batch.cc (for many products in one parallel region). Decides nothing:
// plan.h does. product.cc gets memory and threads, blocks.cc is the work of
// each thread.
#ifndef RUY_LIKE_RUN_PRODUCT_H_
#define RUY_LIKE_RUN_PRODUCT_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/diagnostics/verbose.h"
#include "ruy_like/kernels/groups/group_args.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/packed/prepacked_cache.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/side.h"

namespace ruy_like {

// The floating-point state in which blocks of the product run. Scaled products
// keep denormals: they are equal to ReferenceMul bit for bit. Integer products
// skip it, since it takes some of the 100 ns of a tiny product.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void EnterFloatState(
    const TrMulParams& params, std::optional<ScopedFloatState>* state) {
  // Weights with group scales are on either side.
  const bool is_float = IsFloat(params.side.lhs.scalar) && !params.scaled();
  if (is_float || params.scaled()) {
    state->emplace(is_float ? FloatState::kFlushDenormals
                            : FloatState::kDefault);
  }
}

// Addresses that differ between products of a batch; the sides come first.
enum Term : int {
  kLhsTerm,
  kRhsTerm,
  kDstTerm,
  kBiasTerm,
  kFactorTerm,
  kResidualTerm,
  kTerms
};
constexpr Term TermOf(Side side) {
  return side == Side::kLhs ? kLhsTerm : kRhsTerm;
}
// Null for what a product does not have.
using Addresses = std::array<const void*, kTerms>;
// Bytes from the addresses of one product to another one's; 0 for null.
using ProductStep = std::array<std::ptrdiff_t, kTerms>;

inline Addresses Moved(Addresses addresses, const ProductStep& step) {
  for (int term = 0; term < kTerms; ++term) {
    addresses[term] = static_cast<const char*>(addresses[term]) + step[term];
  }
  return addresses;
}

Addresses AddressesOf(const TrMulParams& params);
void SetAddresses(const Addresses& addresses, TrMulParams* params);

class Product final {
 public:
  // Whose threads work on it. The caller's threads work while the Context is
  // not locked: then the product pins what it found in the prepacked cache, and
  // ignores promised value ranges, which nobody would verify again.
  enum class Workers : std::uint8_t { kContexts, kCallers };

  // The product's parameters, to be set before Prepare or Run, which change
  // them. What they point to must outlive the product.
  TrMulParams* params() { return &params_; }

  // All of it, on the Context's threads, at most `call_limit` (0: no limit but
  // the Context's). dst must not be empty. With dst untouched:
  // ResourceExhausted without memory, FailedPrecondition when an operand is
  // packed for a path that is not permitted.
  absl::Status Run(int call_limit, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

  // After Run or Prepare: prepares RunAgain and WorkByCalls, if that is
  // possible: for a small product that relies on nothing but sizes, types and
  // operands that are packed, and of which nothing is printed.
  bool KeepCalls();
  // Once more, after the caller has changed addresses in *params, whose sides
  // are the kernel's now (plan()). With the plans' generation that Run left.
  // False, with dst untouched, without memory and while tracing is on, since it
  // opens no spans (trace.h).
  bool RunAgain(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

  // The same in parts. Does all that precedes the threads' work, for at most
  // `thread_limit` of them. *plans and *arena must outlive the product. Errors
  // as above.
  absl::Status Prepare(Workers workers, int thread_limit, KeptPlans* plans,
                       ScratchArena* arena, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  int num_threads() const { return threads_; }
  // True if Repeat is possible: nothing of it is in the cache, or unpacked.
  bool CanRepeat() const;
  // After all of Work: has it done once more, at the same addresses.
  void Repeat(ContextImpl* context);
  // Works until no block is left. For all of num_threads() threads or some of
  // them, at the same time, each with its own number; waits only for threads
  // that are packing at that moment.
  void Work(int thread);
  // After KeepCalls, the same for the one thread of such a product.
  void WorkByCalls();
  // Afterwards, if HasReport(): puts new entries into the cache, prints
  // diagnostics. Skipped otherwise, which saves locking the Context.
  bool HasReport() const { return HasPackedToKeep() || VerboseCall::IsOn(); }
  // All threads' together, for diagnostics.
  std::chrono::nanoseconds packing_time() const {
    return std::chrono::nanoseconds(side_.lhs.pack_ns + side_.rhs.pack_ns);
  }
  void Report(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // Releases pinned cache entries.
  void Finish();

  // For batch.cc, which plans, allocates memory and assigns blocks itself:
  // Choose, Adopt, UseScratch, then RunBlock for each block. Cache policies
  // must be kNeverCache.

  // The kept plan, to be completed by MakeFor; unpacks an operand that no
  // kernel reads. Errors as in Run.
  absl::Status Choose(KeptPlans* plans, ContextImpl* context, KeptPlan** kept)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // Uses *plan, which was made for its params and must outlive the product.
  void Adopt(const Plan* plan);
  const Plan& plan() const { return *plan_; }
  // The bytes of all weights of a group of products: whether they come from
  // memory.
  void SetGroupBytes(std::ptrdiff_t bytes) { group_bytes_ = bytes; }
  // `shared`: plan().shared_bytes of memory, for the whole product.
  void UseScratch(char* shared);
  // `scratch`: plan().thread_bytes of memory, this thread's.
  void RunBlock(std::ptrdiff_t index, char* scratch);
  // Makes this the same product at other addresses. Packed panels of an operand
  // whose address stays are reused; all blocks must have run.
  void MoveTo(const Addresses& addresses);
  // True if the product is one call of a kernel that reads both sides without
  // packing, so that products of this plan differ by addresses alone.
  bool IsOneCall() const;
  // RunBlock for such products, `count` of them, `step` apart in bytes.
  void RunSeries(const Addresses& first, const ProductStep& step,
                 std::ptrdiff_t count) const;

 private:
  // The range of depth of a pass.
  struct DepthRange {
    std::ptrdiff_t start, count;
  };
  // Panels that a kernel may read.
  struct Panels {
    const char* data;
    std::ptrdiff_t stride_bytes;
  };

  // In product.cc.
  void DealOut() { next_block_.store(first_dealt_, std::memory_order_relaxed); }
  bool HasPackedToKeep() const {
    return source_.lhs == SideSource::kKept || source_.rhs == SideSource::kKept;
  }
  bool FindAgain(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  void InitSide(Side side, char* scratch);
  void InitPacking(Side side);
  void InitSums();
  void InitZeroPoints();
  void InitSides(char* shared);
  void CompleteSides();
  void InitGroups();
  absl::Status ChoosePlan(Workers workers, int thread_limit, KeptPlans* plans,
                          ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  void InitEpilogue();
  bool SumsAreWanted(Side side) const {
    return plan_->side[side].shape.has_sums &&
           plan_->side[side].shape.groups == 0 &&
           ((side == Side::kLhs ? params_.epilogue.rhs_zero_point
                                : params_.epilogue.lhs_zero_point) != 0 ||
            (params_.post_op_needs &
             (side == Side::kLhs ? kernels::kNeedsLhsSums
                                 : kernels::kNeedsRhsSums)) != 0);
  }
  // True if this product packs the side, once for all its threads.
  bool IsPackedOnce(Side side) const {
    return source_[side] == SideSource::kPackedOnce ||
           source_[side] == SideSource::kKept;
  }
  // True if kernels read the side where it lies: also activations with group
  // scales of which sums alone are packed.
  bool IsReadInPlace(Side side) const {
    const SidePlan& plan = plan_->side[side];
    return plan.source == SideSource::kInPlace ||
           (plan.source == SideSource::kPackedOnce && plan.shape.groups != 0 &&
            plan.shape.panels_bytes == 0);
  }
  bool FindOrAllocate(Side side, Workers workers, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  bool TakeSides(char* scratch, Workers workers, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

  enum PackStatus : std::uint8_t { kNotStarted, kInProgress, kDone };

  // In blocks.cc.
  std::ptrdiff_t NextBlock();
  void SetKernelArgs(const BlockExtent& piece, DepthRange range, Panels lhs,
                     Panels rhs, const kernels::EpilogueArgs& epilogue,
                     char* accum, kernels::KernelArgs* args) const;
  void CallKernel(const kernels::KernelArgs& args) const;
  void SetCalls();
  void RunCalls();
  void RunOneBlock(char* scratch);
  bool TryPack(Side side, std::ptrdiff_t part, std::ptrdiff_t start,
               std::ptrdiff_t end, char* scratch);
  void WaitForPart(Side side, std::ptrdiff_t part) const;
  void EnsurePacked(Side side, std::ptrdiff_t block, std::ptrdiff_t start,
                    std::ptrdiff_t end, char* scratch);
  kernels::GroupArgs GroupsAt(const BlockExtent& piece) const;
  bool HasGroups() const { return params_.family == Family::kGroupScaled; }
  void RunKernel(const BlockExtent& piece, DepthRange range, Panels lhs,
                 Panels rhs, const kernels::EpilogueArgs& epilogue,
                 char* accum) const;
  void RunPiece(const BlockExtent& piece, DepthRange range, Panels lhs,
                Panels rhs, const kernels::EpilogueArgs& epilogue, char* accum,
                char* scratch) const;
  void RunWithPostOps(const BlockExtent& piece, DepthRange range, Panels lhs,
                      Panels rhs, const kernels::EpilogueArgs& epilogue,
                      char* accum, char* scratch) const;
  void RunInPieces(const BlockExtent& block, char* scratch) const;
  char* RunRowOfPieces(const BlockExtent& block, std::ptrdiff_t first_row,
                       DepthRange range, char* accum, char* scratch) const;
  Panels PanelsOf(Side side, std::ptrdiff_t origin, std::ptrdiff_t start,
                  DepthRange range, char* scratch) const;
  void PackPiece(Side side, std::ptrdiff_t origin, std::ptrdiff_t start,
                 std::ptrdiff_t end, DepthRange range, char* scratch) const;
  bool BlockHasSums(Side side) const;
  std::int32_t* BlockSums(Side side, char* scratch) const;

  TrMulParams params_;
  const Plan* plan_;
  // The plan's sources, but kKept for a kCached side that the cache did not
  // have.
  SidePair<SideSource> source_;
  SidePair<PackedSide> side_;
  // PackStatus of each part of sides that are packed once, by a product of
  // several blocks.
  SidePair<std::atomic<std::uint8_t>*> pack_status_;
  // For RunAgain: the calls of routines that are all of a small product.
  SidePair<kernels::PackArgs> pack_args_;
  kernels::KernelArgs kernel_args_;
  kernels::KernelFn* run_;
  bool finds_again_;  // cached operands
  // The addresses of cached operands whose packed forms the calls have, and the
  // cache's changes() when it had them. Null where the calls pack.
  SidePair<const void*> found_for_;
  std::uint64_t found_at_ = 0;
  // With group-scaled weights: of the whole product.
  kernels::GroupArgs groups_;
  kernels::GroupPackArgs group_packing_;
  std::ptrdiff_t group_bytes_ = 0;
  // New entries for the cache, or entries pinned until Finish().
  SidePair<PrepackedCache::Value> entry_;
  // Plain copies of packed operands that no kernel reads.
  std::unique_ptr<SidePair<AlignedBuffer>> unpacked_;
  char* thread_scratch_;
  char* shared_scratch_;  // of UseScratch
  int threads_;
  // Block i < first_dealt_ is thread i's first one: that saves an atomic
  // increment, but each of these threads must come.
  int first_dealt_;
  std::atomic<std::ptrdiff_t> next_block_;
  VerboseCall verbose_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_PRODUCT_H_
