// Run: many products in one parallel region.
//
// Called by mul_batch.cc. Decides which products are large enough to be cut for
// several threads; plan.h decides how. product.h runs them.
//
//   RunBatch   one shape: one plan, and on each thread one Product that moves
//              from address to address
//   RunGroup   a Product and a plan for each, in the Context's memory; also for
//              a batch of few products, whose blocks are dealt out together
//
// A thread draws the next product or, where the product is cut for several
// threads, the next block from one counter until none is left. Nothing is
// written before all memory is there. The prepacked cache is not used.
#ifndef RUY_LIKE_RUN_BATCH_H_
#define RUY_LIKE_RUN_BATCH_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Bytes from one product's addresses to the next one's.
struct BatchSteps {
  SidePair<std::ptrdiff_t> side;
  std::ptrdiff_t dst, bias;
};

// `count` >= 1 products like `first`, none of them empty. Threads, errors and
// last_used as of Product::Run.
absl::Status RunBatch(const TrMulParams& first, const BatchSteps& steps,
                      std::ptrdiff_t count, int call_limit,
                      ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

// Products of any shapes and one set of types, which fill(source, i, &params)
// writes down; those that are empty are passed over.
absl::Status RunGroup(void (*fill)(const void* source, std::ptrdiff_t product,
                                   TrMulParams* params),
                      const void* source, std::ptrdiff_t count, int call_limit,
                      ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_BATCH_H_
