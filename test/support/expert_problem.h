// Test support: calls of MulExperts, drawn from a seed, against single products
// and plain sums.
//
// Shared by mul_experts_test.cc and random_test.cc. Every buffer lies at a
// guard page.
#ifndef RUY_LIKE_TEST_SUPPORT_EXPERT_PROBLEM_H_
#define RUY_LIKE_TEST_SUPPORT_EXPERT_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/context.h"

namespace ruy_like {

// Draws types, experts, some of them without pairs, routing and parameters,
// multiplies by way of each of the contexts, and fails fatally where an
// element's bits are others or one outside of dst was written. Group-scaled
// weights are compared with ReferenceGroupMul, other ones with Mul in the same
// Context. Returns the types and what is routed: "bf16 by groups -> float,
// gathered, summed".
void CheckExperts(std::uint64_t seed, const std::vector<Context*>& contexts,
                  std::string* what = nullptr);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_EXPERT_PROBLEM_H_
