// Test support: products with post-ops, drawn from a seed, bit for bit against
// the oracle.
//
// Shared by post_ops_test.cc and random_test.cc.
#ifndef RUY_LIKE_TEST_SUPPORT_POST_PROBLEM_H_
#define RUY_LIKE_TEST_SUPPORT_POST_PROBLEM_H_

#include <cstdint>
#include <string>

#include "ruy_like/context.h"
#include "test/support/test_util.h"

namespace ruy_like {

// Draws types, layouts, threads, parameters, post-ops and the way into the
// library (Mul, packed operands, MulPlan, MulBatch with two levels, MulGroup)
// from the seed, and fails fatally where an element's bits are not the
// oracle's, made of the path's own sums, or one outside of dst was written.
// Returns what was drawn, "silu, float".
void CheckPostOps(const Shape& shape, std::uint64_t seed, Context* context,
                  std::string* what = nullptr);

// "silu" and the like.
const char* NameOf(Activation activation);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_POST_PROBLEM_H_
