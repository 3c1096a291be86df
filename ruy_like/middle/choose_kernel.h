// Middle-end: the kernel of a product: what the registry is asked, and the
// answer.
//
// Used by tr_mul.cc. The registry selects; here is what a product's operands
// and cache policies mean for it.
#ifndef RUY_LIKE_MIDDLE_CHOOSE_KERNEL_H_
#define RUY_LIKE_MIDDLE_CHOOSE_KERNEL_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/matrix.h"
#include "ruy_like/middle/context_impl.h"
#include "ruy_like/middle/tr_mul_params.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/registry.h"

namespace ruy_like {

// Whether an operand of that policy is to be cached, if the other one is so
// wide.
bool WantsCache(CachePolicy policy, std::ptrdiff_t other_width);

// The product as the registry is asked for it, with nothing cached.
KernelQuery MakeKernelQuery(const TrMulParams& params);

// The kernel is null where an operand is packed for a path whose kernels are
// not permitted: NoKernelError is then what to return.
const KernelChoice& ChooseKernel(const TrMulParams& params,
                                 ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);
absl::Status NoKernelError(const TrMulParams& params, Path permitted);

}  // namespace ruy_like

#endif  // RUY_LIKE_MIDDLE_CHOOSE_KERNEL_H_
