// Middle-end: one validated, type-erased product from kernel selection to the
// last block.
//
// Called by the front-end (mul.cc). Chooses the kernel (registry), the number
// of threads and the blocks (block_map), packs what is not read in place or
// found in the prepacked cache, and deals the blocks out over the thread pool.
// Knows no instruction set and no scalar type beyond its size.
#ifndef RUY_LIKE_TR_MUL_H_
#define RUY_LIKE_TR_MUL_H_

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "ruy_like/context_impl.h"
#include "ruy_like/tr_mul_params.h"

namespace ruy_like {

// Runs the product. `params` is changed (sides may be swapped). dst must not be
// empty. ResourceExhausted, with dst untouched, when there is no memory.
absl::Status TrMul(TrMulParams* params, ContextImpl* context)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(context->mutex);

}  // namespace ruy_like

#endif  // RUY_LIKE_TR_MUL_H_
