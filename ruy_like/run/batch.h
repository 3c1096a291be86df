// Run: many products in one parallel region.
//
// Called by mul_batch.cc and mul_plan.cc. Decides which products are large
// enough to be cut for several threads; plan.h decides how. product.h runs
// them.
//
//   RunBatch   one shape: one plan, and on each thread one Product that moves
//              from address to address
//   RunGroup   a Product and a plan for each, in the Context's memory; also for
//              a batch of few products, whose blocks share one counter
//   PlannedBatch   a batch for the caller's threads, again and again
//
// A thread draws the next product or, if products are cut for several threads,
// the next block from one counter until none is left. Nothing is written before
// all memory is allocated. The prepacked cache is not used.
#ifndef RUY_LIKE_RUN_BATCH_H_
#define RUY_LIKE_RUN_BATCH_H_

#include <cstddef>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/run/product.h"

namespace ruy_like {

// `count` >= 1 products like `first`, none of them empty. Threads, errors and
// the Context's last_used as in Product::Run.
absl::Status RunBatch(const TrMulParams& first, const BatchSteps& steps,
                      std::ptrdiff_t count, int call_limit,
                      ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

// Sets *params to a product of a group.
using FillProductFn = void(const void* source, std::ptrdiff_t product,
                           TrMulParams* params);

// Products of any shapes and one set of types; empty ones are skipped.
absl::Status RunGroup(FillProductFn* fill, const void* source,
                      std::ptrdiff_t count, int call_limit,
                      ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

class BatchRun;

// A batch with plans and memory of its own, on the caller's threads, while the
// Context is not locked. Promised value ranges are ignored.
class PlannedBatch final {
 public:
  PlannedBatch();
  ~PlannedBatch();

  // As RunBatch, for at most `thread_limit` threads; sets the Context's
  // last_used. Throws std::bad_alloc. What the parameters point to must outlive
  // the work.
  absl::Status Prepare(const TrMulParams& first, const BatchSteps& steps,
                       std::ptrdiff_t count, int thread_limit,
                       ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // The other members may be called after a Prepare that was OK.
  int num_threads() const;
  // Works until no product is left. Threads as in Product::Work.
  void Work(int thread);
  // Starts the same batch again, after all Works have returned.
  void Restart();
  // Afterwards, if HasReport(): prints the diagnostics.
  static bool HasReport();
  void Report(const ContextImpl& context);

 private:
  KeptPlans plans_;
  ScratchArena items_, scratch_;
  std::unique_ptr<BatchRun> run_;  // refers to the others
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_BATCH_H_
