// Test support: from element types as data to calls of the templates.
//
// A table with one line for each combination of types that compiles, so that
// tests loop over types, and one file instantiates the templates.
#ifndef RUY_LIKE_TEST_SUPPORT_TYPED_MUL_H_
#define RUY_LIKE_TEST_SUPPORT_TYPED_MUL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "test/support/mul_problem.h"

namespace ruy_like {

// A problem with its memory.
struct Call {
  const MulProblem* problem;
  const void* lhs;
  const void* rhs;
  const void* bias;
  void* dst;
  // Arrays, of one element if per tensor; the problem says whether they count.
  const std::int32_t* fixedpoint;
  const int* exponent;
  const float* lhs_scales;
  const float* rhs_scales;
};

// The product behind a line of AllTypes.
struct TypedProduct {
  Types types;
  absl::Status (*mul)(const Call& call, Context* context);
  void (*reference_mul)(const Call& call);
};

// Never null: a combination that is not in the table ends the program.
const TypedProduct& FindTypedProduct(const MulProblem& problem);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_TYPED_MUL_H_
