// Plan: asks the registry for a product's kernel, and keeps the plans of
// repeated products.
//
// Used by run/ and verbose.cc. Turns a product's operands and cache policies
// into a query; the registry chooses the kernel, plan.h does the rest.
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

// The registry's query for the product.
KernelQuery MakeKernelQuery(const TrMulParams& params);

// The kept plan of the product's query. Its kernel is chosen; KeptPlan::MakeFor
// completes it. Valid until *plans is used again.
//
// Null if an operand is packed for a path whose kernels are not permitted (then
// NoKernelError() is the error), or otherwise than the other one needs
// (unpack.h). If the kernel relies on an operand's value range, the operand
// is read to verify it, unless it is cached; afterwards Operand::value_range is
// the verified one.
KeptPlan* ChooseKernel(TrMulParams* params, KeptPlans* plans,
                       ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

// The kernel for a new query. If `may_run` refuses a chosen kernel's own path,
// that path is removed from *permitted, and the search is repeated.
KernelChoice SelectThatMayRun(const KernelQuery& query,
                              const TrMulParams& params, bool (*may_run)(Path),
                              Path* permitted);
// The kernels that this search rejects, in its order.
std::vector<Rejection> ExplainChoice(const TrMulParams& params, Path permitted);
absl::Status NoKernelError(const TrMulParams& params, Path permitted);

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_CHOOSE_PLAN_H_
