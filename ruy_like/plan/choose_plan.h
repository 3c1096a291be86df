// Plan: the plan of a product: what the registry is asked, and the plans that
// are kept for products that come again.
//
// Used by product.cc. Here is what a product's operands and cache policies mean
// for the choice of a kernel; the registry chooses, plan.h does the rest.
#ifndef RUY_LIKE_PLAN_CHOOSE_PLAN_H_
#define RUY_LIKE_PLAN_CHOOSE_PLAN_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {

// The product as the registry is asked for it.
KernelQuery MakeKernelQuery(const TrMulParams& params);

// The kept plan of the product's query, with a kernel at least: MakeFor does
// the rest. Valid until *plans is used again.
//
// Null where an operand is packed for a path whose kernels are not permitted
// (NoKernelError is then what to return), or for an int7 operand which the
// other one is not (unpack.h). Where the kernel counts on an operand's value
// range, the operand is read to see whether it is true, unless it is cached;
// Operand::value_range is true afterwards.
KeptPlan* ChooseKernel(TrMulParams* params, KeptPlans* plans,
                       ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

// The kernel for a new query: where `may_run` denies a chosen kernel's path,
// that path leaves *permitted, and the next one is taken.
KernelChoice SelectThatMayRun(const KernelQuery& query,
                              const TrMulParams& params, bool (*may_run)(Path),
                              Path* permitted);
// What the search for that kernel passes over, in its order.
std::vector<Rejection> ExplainChoice(const TrMulParams& params, Path permitted);
absl::Status NoKernelError(const TrMulParams& params, Path permitted);

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_CHOOSE_PLAN_H_
