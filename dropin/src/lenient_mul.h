// A second try for products that ruy computes and ruy_like refuses. Called by
// MulErased (mul.cc) alone, after ruy_like's answer was an error, so that other
// products do not pay for it.
//
// Accepted at the cost of a copy:
//
//   - a stride below the inner dimension, from 0 on: rows or columns of an
//     operand that overlap each other (0: all of them are the same one)
//   - dst sharing elements with an operand: it is written last
//   - exponents below -31: by ruy_like's formula the scaled accumulator is 0
//
// and, without one, any stride where there is a single row or column to which
// it leads. Everything else stays the error that it was.
#ifndef RUY_LIKE_DROPIN_SRC_LENIENT_MUL_H_
#define RUY_LIKE_DROPIN_SRC_LENIENT_MUL_H_

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"

namespace ruy::detail {

// The product that ruy_like refused, with what is harmless in it mended.
// ResourceExhausted where there is no memory for a copy.
absl::Status LenientMul(const ruy_like::MulCall& refused,
                        ruy_like::Context* context);

}  // namespace ruy::detail

#endif  // RUY_LIKE_DROPIN_SRC_LENIENT_MUL_H_
