// Drop-in for ruy: Mul, and with it all that ruy's main header brings along.
//
// The whole drop-in only translates: types, names, and errors, which end the
// program here. Nothing of it computes. What differs from ruy is told in
// doc/migrating_from_ruy.md.
#ifndef RUY_LIKE_DROPIN_RUY_RUY_H_
#define RUY_LIKE_DROPIN_RUY_RUY_H_

#include "absl/status/status.h"
#include "ruy/check_macros.h"
#include "ruy/context.h"
#include "ruy/context_get_ctx.h"
#include "ruy/cpuinfo.h"
#include "ruy/ctx.h"
#include "ruy/dropin_visibility.h"
#include "ruy/lenient_mul.h"
#include "ruy/matrix.h"
#include "ruy/mul_params.h"
#include "ruy/path.h"
#include "ruy/profiler/instrumentation.h"
#include "ruy/thread_pool.h"
#include "ruy/time.h"
#include "ruy/tune.h"
#include "ruy_like/mul.h"

namespace ruy {
namespace detail {

// Prints the status to stderr and aborts.
[[noreturn]] RUY_LIKE_DROPIN_EXPORT void MulFailed(const absl::Status& status);

}  // namespace detail

// Mul with a choice of paths: it uses the best one of CompiledPaths, a set,
// that Context permits and the machine has.
template <Path CompiledPaths, typename LhsScalar, typename RhsScalar,
          typename AccumScalar, typename DstScalar>
RUY_LIKE_LOCAL void Mul(const Matrix<LhsScalar>& lhs,
                        const Matrix<RhsScalar>& rhs,
                        const MulParams<AccumScalar, DstScalar>& mul_params,
                        Context* context, Matrix<DstScalar>* dst) {
  static_assert(CompiledPaths != Path::kNone, "no path");
  static_assert(Disjoint(CompiledPaths, ~kAllPathsIncludingInternalVariants),
                "no such path on this processor");
  ruy_like::Context* const ruy_like_context =
      context == nullptr ? nullptr
                         : get_ctx(context)->ContextForPaths(CompiledPaths);
  ruy_like::Matrix<DstScalar> result;
  if (dst != nullptr) result = dst->ToRuyLike();
  absl::Status status =
      ruy_like::Mul(lhs.ToRuyLike(), rhs.ToRuyLike(), mul_params.ToRuyLike(),
                    ruy_like_context, dst == nullptr ? nullptr : &result);
  if (status.code() == absl::StatusCode::kInvalidArgument &&
      context != nullptr && dst != nullptr) {
    status =
        detail::LenientMul(lhs.ToRuyLike(), rhs.ToRuyLike(),
                           mul_params.ToRuyLike(), ruy_like_context, result);
  }
  if (!status.ok()) detail::MulFailed(status);
}

// dst = epilogue((lhs - lhs zero point) * (rhs - rhs zero point)): see
// ruy_like::Mul. An argument that it refuses ends the program, with its
// message on stderr.
template <typename LhsScalar, typename RhsScalar, typename AccumScalar,
          typename DstScalar>
RUY_LIKE_LOCAL void Mul(const Matrix<LhsScalar>& lhs,
                        const Matrix<RhsScalar>& rhs,
                        const MulParams<AccumScalar, DstScalar>& mul_params,
                        Context* context, Matrix<DstScalar>* dst) {
  Mul<kDefaultPaths>(lhs, rhs, mul_params, context, dst);
}

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_RUY_H_
