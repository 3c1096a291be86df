// Front-end: makes TrMulParams of a validated call.
//
// Called by mul.cc, mul_batch.cc, mul_plan.cc and packed_matrix.cc. It does not
// check anything: validate.h comes first.
#ifndef RUY_LIKE_FRONT_MAKE_CALL_H_
#define RUY_LIKE_FRONT_MAKE_CALL_H_

#include <cstdint>

#include "ruy_like/erased_call.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/plan/tr_mul_params.h"
#include "ruy_like/run/batch.h"
#include "ruy_like/side.h"

namespace ruy_like {

// One operand of a validated call.
Operand MakeOperand(const ErasedMatrix& matrix, Side side);

// Single multipliers and scales are referred to in place, so `call` must
// outlive *params. max_exponent is Validate's.
void MakeTrMulParams(const MulCall& call, std::int8_t max_exponent,
                     TrMulParams* params);

// The addresses among *params, of a call that may differ by addresses from the
// one that *params were made of. `swap_sides`: their sides were swapped.
void SetAddresses(const MulCall& call, bool swap_sides, TrMulParams* params);

Addresses AddressesOf(const MulCall& call);

// The strides of a batch, in elements, whatever they are.
ProductStep StridesOf(const Batch& batch);
ProductStep OuterStridesOf(const Batch& batch);

// A FillProductFn of valid GroupCalls.
void FillFromGroupCalls(const void* calls, std::ptrdiff_t product,
                        TrMulParams* params);

// The strides of a validated batch whose first product is `call`.
BatchSteps StepsOf(const MulCall& call, const Batch& batch);

}  // namespace ruy_like

#endif  // RUY_LIKE_FRONT_MAKE_CALL_H_
