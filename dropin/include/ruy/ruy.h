// Drop-in for ruy: Mul, and with it all that ruy's main header brings along.
//
// The whole drop-in only translates: types, names, and errors, which end the
// program here. Nothing of it computes. What differs from ruy is told in
// doc/migrating_from_ruy.md.
#ifndef RUY_LIKE_DROPIN_RUY_RUY_H_
#define RUY_LIKE_DROPIN_RUY_RUY_H_

#include "ruy/check_macros.h"
#include "ruy/context.h"
#include "ruy/context_get_ctx.h"
#include "ruy/cpuinfo.h"
#include "ruy/ctx.h"
#include "ruy/dropin_visibility.h"
#include "ruy/matrix.h"
#include "ruy/mul_params.h"
#include "ruy/path.h"
#include "ruy/profiler/instrumentation.h"
#include "ruy/thread_pool.h"
#include "ruy/time.h"
#include "ruy/tune.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/mul.h"

namespace ruy {
namespace detail {

// Runs the call; ends the program, with a message on stderr, if neither
// ruy_like nor ruy computes such a product. In the library, like all that deals
// with errors: what is in this header becomes part of the client's library.
RUY_LIKE_DROPIN_EXPORT void MulErased(const ruy_like::MulCall& call,
                                      Path compiled_paths, Context* context);

[[noreturn]] RUY_LIKE_DROPIN_EXPORT void NullArgument(const char* name);

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
  static_assert(ruy_like::internal::TypesAreSupported<LhsScalar, RhsScalar,
                                                      AccumScalar, DstScalar>(),
                "no such product: see the README's type table");
  if (context == nullptr) detail::NullArgument("context");
  if (dst == nullptr) detail::NullArgument("dst");
  ruy_like::MulCall call;
  ruy_like::internal::Erase(lhs.ToRuyLike(), &call.lhs);
  ruy_like::internal::Erase(rhs.ToRuyLike(), &call.rhs);
  ruy_like::internal::CompleteCall<LhsScalar, RhsScalar>(
      mul_params.ToRuyLike(), dst->ToRuyLike(), /*max_num_threads=*/0, &call);
  detail::MulErased(call, CompiledPaths, context);
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
