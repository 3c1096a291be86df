// Mistakes that must not compile, one for each value of MISTAKE, with one error
// that says what is wrong (compile_errors_test.cmake). 0 compiles.
#include <cstdint>
#include <vector>

#include "ruy_like/ruy_like.h"

absl::Status Product(const float* x, const float* w, float* y) {
  ruy_like::Context context;
#if MISTAKE == 1
  const ruy_like::MulParams<float, double> mul_params;
#elif MISTAKE == 2
  const ruy_like::MulParams<std::int32_t, float> mul_params;
#else
  const ruy_like::MulParams<float, float> mul_params;
#endif
#if MISTAKE == 3
  auto dst = ruy_like::RowMajor(x, 2, 2);
#else
  auto dst = ruy_like::RowMajor(y, 2, 2);
#endif
#if MISTAKE == 4
  const auto lhs = ruy_like::RowMajor(std::vector<float>(4), 2, 2);
#else
  const auto lhs = ruy_like::RowMajor(x, 2, 2);
#endif
  const auto rhs = ruy_like::RowMajor(w, 2, 2);
#if MISTAKE == 7  // with -ffast-math alone
  ruy_like::ReferenceMul(lhs, rhs, mul_params, &dst);
#elif MISTAKE == 8
  ruy_like::ReferenceGroupMul(ruy_like::GroupWeights(), rhs,
                              ruy_like::GroupMulParams(), &dst);
#endif
#if MISTAKE == 5
  ruy_like::MulPlan plan;
  const ruy_like::MulParams<float, double> other_params;
  return plan.Prepare(lhs, rhs, other_params, 1, &context, &dst);
#elif MISTAKE == 6
  const auto packed = ruy_like::Pack(lhs, ruy_like::Side::kLhs, {}, &context);
  const ruy_like::MulParams<float, double> other_params;
  return ruy_like::Mul(*packed, rhs, other_params, &context, &dst);
#endif
  return ruy_like::Mul(lhs, rhs, mul_params, &context, &dst);
}
