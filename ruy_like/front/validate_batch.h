// Front-end: what MulBatch and MulGroup refuse: validate.h for each product,
// and memory that products share. Errors begin with the product that is wrong.
//
// Called by mul_batch.cc and mul_plan.cc.
#ifndef RUY_LIKE_FRONT_VALIDATE_BATCH_H_
#define RUY_LIKE_FRONT_VALIDATE_BATCH_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/front/validate.h"
#include "ruy_like/mul_batch.h"

namespace ruy_like {

// Products of a valid batch.
inline std::ptrdiff_t ProductsOf(const Batch& batch) {
  return batch.count * batch.outer_count;
}

// `call` is product 0; *max_exponent is the bound for all products. Constant
// time unless the memory of dst and of operands is interleaved.
absl::Status ValidateBatch(const MulCall& call, const Batch& batch,
                           std::int8_t* max_exponent);

// Sets *call's addresses to those of a product of the batch; nothing else
// changes.
void MoveCall(const MulCall& first, const Batch& batch, std::ptrdiff_t product,
              MulCall* call);

// A product of a group, and Validate's bound.
struct GroupCall {
  MulCall call;
  std::int8_t max_exponent;
};
// Memory for ValidateGroup: one for each product.
struct DstSpan {
  ByteSpan span;
  std::ptrdiff_t product;
};
// Sets each max_exponent.
absl::Status ValidateGroup(GroupCall* calls, std::ptrdiff_t count,
                           DstSpan* scratch);

}  // namespace ruy_like

#endif  // RUY_LIKE_FRONT_VALIDATE_BATCH_H_
