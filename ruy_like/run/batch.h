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
//   BatchRun   either of them in parts
//
// A thread draws the next product or, if products are cut for several threads,
// the next block from one counter until none is left. Nothing is written before
// all memory is allocated. The prepacked cache is not used.
#ifndef RUY_LIKE_RUN_BATCH_H_
#define RUY_LIKE_RUN_BATCH_H_

#include <atomic>
#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/diagnostics/verbose.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/kept_plans.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/run/product.h"

namespace ruy_like {

// Where products lie: `inner_count` of them `inner` apart, and each such row
// `outer` from the next.
struct BatchSteps {
  std::ptrdiff_t inner_count;
  ProductStep inner, outer;
};
ProductStep StepBetween(const BatchSteps& steps, std::ptrdiff_t from,
                        std::ptrdiff_t to);

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

// Products of one plan.
struct UniformBatch {
  // Product 0 and steps as the caller sees them; kernel_steps as the kernel.
  TrMulParams first;
  BatchSteps steps, kernel_steps;
  const Plan* plan;
  char* scratch;  // plan->scratch_bytes for each thread
  std::ptrdiff_t count, at_a_time;
  std::atomic<std::ptrdiff_t> next{0};
};

// A product with a plan of its own. A unit of work is one of its blocks, if it
// is cut for several threads, else the whole product.
struct GroupItem {
  Product product;
  Plan plan;
  double ns;
  std::size_t shared_at;          // if cut: offset in MixedBatch::shared
  std::ptrdiff_t first_unit = 0;  // units before this product's
  std::ptrdiff_t units = 0;       // 0: empty

  bool IsCut() const { return plan.threads > 1; }
};

// The items, in an arena's memory.
class MixedBatch final {
 public:
  MixedBatch() = default;
  ~MixedBatch();
  MixedBatch(const MixedBatch&) = delete;
  MixedBatch& operator=(const MixedBatch&) = delete;

  // False without memory.
  bool Make(std::ptrdiff_t count, ScratchArena* arena);
  GroupItem* begin() { return items_; }
  GroupItem* end() { return items_ + count_; }

  char* shared;   // of the products that are cut
  char* scratch;  // thread_bytes for each thread
  std::size_t thread_bytes = 0;
  std::ptrdiff_t lhs_bytes = 0;  // of all products
  std::ptrdiff_t units = 0;
  std::atomic<std::ptrdiff_t> next{0};

 private:
  GroupItem* items_ = nullptr;
  std::ptrdiff_t count_ = 0;
};

// The plans, the items and the scratch memory of one call.
struct BatchMemory {
  KeptPlans* plans;
  ScratchArena *items, *scratch;
};

// The products of one call, planned; then what threads do. mul_plan.cc's are on
// the caller's threads, while the Context is not locked, again and again.
class BatchRun final {
 public:
  // For at most `most` threads. Errors as of RunBatch. What `memory` and the
  // parameters point to must outlive this.
  absl::Status Prepare(const TrMulParams& first, const BatchSteps& steps,
                       std::ptrdiff_t count, int most,
                       const BatchMemory& memory, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  absl::Status PrepareGroup(FillProductFn* fill, const void* source,
                            std::ptrdiff_t count, int most,
                            const BatchMemory& memory, ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  int threads() const { return threads_; }
  // Works until no product is left. For each number below threads(), or some of
  // them, as Product::Work.
  void Work(int thread);
  // Makes Work() run all products once more. No thread may be in Work().
  void Restart();
  // On the Context's own threads, to the end.
  absl::Status RunOn(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  // Afterwards: last_used, and, if HasReport(), what is to be printed.
  void Remember(ContextImpl* context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
  static bool HasReport() { return VerboseCall::IsOn(); }
  void Print(const ContextImpl& context);

 private:
  Product head_;
  UniformBatch batch_;
  MixedBatch group_;
  bool is_group_ = false;
  int threads_ = 0;
  double ns_ = 0;  // of a group
  VerboseCall verbose_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_BATCH_H_
