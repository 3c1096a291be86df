// Run: unpacks an operand to a plain matrix, if it was packed for a kernel that
// cannot serve the product.
//
// Used by product.cc where no kernel reads the operands as they are packed: one
// was packed for an int7 or a bfloat16 operand, which the other is not; or a
// bfloat16 matrix was packed widened to float, but products of two bfloat16
// matrices need a kernel that rounds otherwise (Kernel::rounds_otherwise). Such
// a product is correct, but as slow as if nothing had been packed, or slower.
#ifndef RUY_LIKE_RUN_UNPACK_H_
#define RUY_LIKE_RUN_UNPACK_H_

#include "absl/status/status.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Replaces a packed operand, the narrower one of two, by a plain matrix whose
// elements are in unpacked[its side]. FailedPrecondition if there is no kernel
// for another reason: an operand is packed for a path that is not permitted.
// ResourceExhausted without memory. On an error *params is unchanged.
absl::Status UnpackOne(Path permitted, TrMulParams* params,
                       SidePair<AlignedBuffer>* unpacked);

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_UNPACK_H_
