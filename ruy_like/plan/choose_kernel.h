// Plan: the kernel of a product: what the registry is asked, and the
// answer.
//
// Used by tr_mul.cc. The registry selects; here is what a product's operands
// and cache policies mean for it.
#ifndef RUY_LIKE_PLAN_CHOOSE_KERNEL_H_
#define RUY_LIKE_PLAN_CHOOSE_KERNEL_H_

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/matrix.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Whether the operand's packed form is to be in the prepacked cache.
inline bool WantsCache(const TrMulParams& params, Side side) {
  const std::ptrdiff_t other_width = params.side[Other(side)].width;
  switch (params.side[side].cache_policy) {
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

// The product as the registry is asked for it.
KernelQuery MakeKernelQuery(const TrMulParams& params);

// The kernel is null where an operand is packed for a path whose kernels are
// not permitted (NoKernelError is then what to return), or for an int7 operand
// which the other one is not (unpack.h). Of an operand with a
// value range that the kernel counts on, this looks whether it is true, unless
// it is cached; Operand::value_range is true afterwards.
KernelChoice ChooseKernel(TrMulParams* params, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
// What that does for a new query: where `may_run` denies a chosen kernel's
// path, that path leaves *permitted, and the next one is taken.
KernelChoice SelectThatMayRun(const KernelQuery& query,
                              const TrMulParams& params, bool (*may_run)(Path),
                              Path* permitted);
// What the search for that kernel passes over, in its order.
std::vector<Rejection> ExplainChoice(const TrMulParams& params, Path permitted);
absl::Status NoKernelError(const TrMulParams& params, Path permitted);

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_CHOOSE_KERNEL_H_
