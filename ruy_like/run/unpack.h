// Run: the way back from panels to a plain matrix, for operands that
// were packed for a kernel that the product cannot have.
//
// Used by product.cc where no kernel reads the operands as they are packed: one
// was packed for an int7 or a bfloat16 operand, and the other one is none; or a
// bfloat16 matrix was packed widened, and the product with another one has a
// rounding of its own (Kernel::rounds_otherwise). Such a product is right, and
// as slow as if nothing had been packed, or slower.
#ifndef RUY_LIKE_RUN_UNPACK_H_
#define RUY_LIKE_RUN_UNPACK_H_

#include "absl/status/status.h"
#include "ruy_like/base/allocator.h"
#include "ruy_like/path.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/side.h"

namespace ruy_like {

// Replaces a packed operand, the narrower one of two, by a plain matrix whose
// elements are in unpacked[its side]. FailedPrecondition where the reason that
// there is no kernel is another: an operand is packed for a path that is not
// permitted. ResourceExhausted without memory. *params is then as before.
absl::Status UnpackOne(Path permitted, TrMulParams* params,
                       SidePair<AlignedBuffer>* unpacked);

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_UNPACK_H_
