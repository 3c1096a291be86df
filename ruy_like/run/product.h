// Run: one product, carried out as its plan says: memory, packing, blocks.
//
// Used by mul.cc, on the stack, by mul_plan.cc, for threads that are the
// caller's, and by batch.cc, for many products in one parallel region. Decides
// nothing: plan.h does. product.cc finds memory and brings the threads,
// blocks.cc is what each of them does.
#ifndef RUY_LIKE_RUN_PRODUCT_H_
#define RUY_LIKE_RUN_PRODUCT_H_

#include <atomic>
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
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/packed/prepacked_cache.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/run/shared_packing.h"
#include "ruy_like/side.h"

namespace ruy_like {

// The floating-point state in which blocks of such a product run. Scaled
// products keep denormals: they are equal to ReferenceMul bit for bit. Integers
// have no use for it, and it takes some of the 100 ns of a tiny product.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void EnterFloatState(
    const TrMulParams& params, std::optional<ScopedFloatState>* state) {
  const bool is_float = IsFloat(params.side.lhs.scalar);
  if (is_float || params.scaled()) {
    state->emplace(is_float ? FloatState::kFlushDenormals
                            : FloatState::kDefault);
  }
}

// Bytes from the addresses of one product of a batch to the next one's.
struct BatchSteps {
  SidePair<std::ptrdiff_t> side;
  std::ptrdiff_t dst, bias;
};

class Product final {
 public:
  // Whose threads work on it. The caller's do when the Context is no longer
  // locked: then the product holds on to what it found in the prepacked cache,
  // and counts on no promise of operands' values, for nobody would look whether
  // it is still kept.
  enum class Workers : std::uint8_t { kContexts, kCallers };

  // What is to be multiplied, to be written before Prepare or Run, which change
  // it. What it points to must outlive the product.
  TrMulParams* params() { return &params_; }

  // All of it, on the Context's threads, at most `call_limit` (0: no limit but
  // the Context's). dst must not be empty. With dst untouched:
  // ResourceExhausted without memory, FailedPrecondition when an operand is
  // packed for a path that is not permitted.
  absl::Status Run(int call_limit, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

  // The same in parts. What is to be done before threads come in, of which
  // there may be `thread_limit`; *plans and *arena must outlive the product.
  // Errors as above.
  absl::Status Prepare(Workers workers, int thread_limit, KeptPlans* plans,
                       ScratchArena* arena, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  int num_threads() const { return threads_; }
  // Works until no block is left. For each of num_threads() threads or some of
  // them, from several threads at once with distinct numbers; waits for nobody
  // but those that are packing at that moment.
  void Work(int thread);
  // Afterwards, if HasReport(): hands on what is to be cached, prints what is
  // to be printed. Not always done: locking a Context takes 6 to 14 ns.
  bool HasReport() const { return HasPackedToKeep() || VerboseCall::IsOn(); }
  void Report(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // Lets go of what the product held on to.
  void Finish();

  // For batch.cc, which plans, finds memory and deals blocks out by itself:
  // Choose, Adopt, UseScratch, then RunBlock for each block. Cache policies
  // must be kNeverCache.

  // The kept plan, complete but for MakeFor; unpacks an operand where no kernel
  // reads it. Errors as of Run.
  absl::Status Choose(KeptPlans* plans, ContextImpl* context, KeptPlan** kept)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // Carries *plan out, which must outlive the product, as made for its params.
  void Adopt(const Plan* plan);
  const Plan& plan() const { return *plan_; }
  // `shared`: plan().shared_bytes of memory, for the whole product.
  void UseScratch(char* shared);
  // `scratch`: plan().thread_bytes of memory, this thread's.
  void RunBlock(std::ptrdiff_t index, char* scratch);
  // Has the product be another one, like it but at other addresses. Packed
  // panels of an operand whose address stays are used again; all blocks must
  // have run.
  struct Addresses {
    SidePair<const void*> side;  // the kernel's
    void* dst;
    const void* bias;
  };
  void MoveTo(const Addresses& addresses);
  // Whether all of it is one call of a kernel that reads both sides as they
  // are, so that products like this one differ by addresses alone.
  bool IsOneCall() const;
  // RunBlock for such products, `count` of them, `step` apart in bytes.
  void RunSeries(const Addresses& first, const BatchSteps& step,
                 std::ptrdiff_t count) const;

 private:
  // Levels of a pass over depth.
  struct Levels {
    std::ptrdiff_t start, count;
  };
  // Panels that a kernel may read.
  struct Panels {
    const char* data;
    std::ptrdiff_t stride_bytes;
  };

  // product.cc
  bool HasPackedToKeep() const {
    return source_.lhs == SideSource::kKept || source_.rhs == SideSource::kKept;
  }
  void InitSide(Side side, char* scratch);
  void InitPacking(Side side, char* scratch);
  void InitSums();
  absl::Status ChoosePlan(Workers workers, int thread_limit, KeptPlans* plans,
                          ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  absl::Status Unpack(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  void InitEpilogue();
  bool SumsAreWanted(Side side) const {
    return plan_->side[side].shape.has_sums &&
           (side == Side::kLhs ? params_.epilogue.rhs_zero_point
                               : params_.epilogue.lhs_zero_point) != 0;
  }
  // By this product, for all its threads.
  bool IsPackedOnce(Side side) const {
    return source_[side] == SideSource::kPackedOnce ||
           source_[side] == SideSource::kKept;
  }
  bool FindOrAllocate(Side side, Workers workers, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  bool TakeSide(Side side, char* scratch, Workers workers, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  bool TakeMemory(Workers workers, ScratchArena* arena, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  void Remember(ContextImpl* context) const;

  // blocks.cc
  std::ptrdiff_t NextBlock();
  void RunPiece(const BlockExtent& piece, Levels levels, Panels lhs, Panels rhs,
                const kernels::EpilogueArgs& epilogue, char* accum) const;
  void RunInPieces(const BlockExtent& block, char* scratch) const;
  char* RunRowOfPieces(const BlockExtent& block, std::ptrdiff_t first_row,
                       Levels levels, char* accum, char* scratch) const;
  Panels PanelsOf(Side side, std::ptrdiff_t origin, std::ptrdiff_t start,
                  Levels levels, char* scratch) const;
  void PackPiece(Side side, std::ptrdiff_t origin, std::ptrdiff_t start,
                 std::ptrdiff_t end, Levels levels, char* scratch) const;
  bool BlockHasSums(Side side) const;
  std::int32_t* BlockSums(Side side, char* scratch) const;

  TrMulParams params_;
  const Plan* plan_;
  // The plan's, but kKept where it says kCached and the cache had nothing.
  SidePair<SideSource> source_;
  SidePair<PackedSide> side_;
  // For sides that are packed once, by a product of several blocks.
  SidePair<SharedPacking> packing_;
  // New entries for the cache, or entries pinned until Finish().
  SidePair<PrepackedCache::Value> entry_;
  // Plain operands instead of packed ones that no kernel reads.
  std::unique_ptr<SidePair<AlignedBuffer>> unpacked_;
  char* thread_scratch_;
  char* shared_scratch_;  // of UseScratch
  int threads_;
  // Block i < first_dealt_ is thread i's first one: it needs no atomic counter,
  // but each of these threads must come.
  int first_dealt_;
  std::atomic<std::ptrdiff_t> next_block_;
  VerboseCall verbose_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_PRODUCT_H_
