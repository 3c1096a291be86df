// Drop-in for ruy: ReferenceMul, the definition of Mul in plain loops.
#ifndef RUY_LIKE_DROPIN_RUY_REFERENCE_MUL_H_
#define RUY_LIKE_DROPIN_RUY_REFERENCE_MUL_H_

#include "ruy/dropin_visibility.h"
#include "ruy/matrix.h"
#include "ruy/mul_params.h"
#include "ruy_like/reference_mul.h"

namespace ruy {

// Mul has the same result: for integers bit for bit, which in ruy depends on
// the processor.
template <typename LhsScalar, typename RhsScalar, typename AccumScalar,
          typename DstScalar>
RUY_LIKE_LOCAL void ReferenceMul(
    const Matrix<LhsScalar>& lhs, const Matrix<RhsScalar>& rhs,
    const MulParams<AccumScalar, DstScalar>& mul_params,
    Matrix<DstScalar>* dst) {
  ruy_like::Matrix<DstScalar> result = dst->ToRuyLike();
  ruy_like::ReferenceMul(lhs.ToRuyLike(), rhs.ToRuyLike(),
                         mul_params.ToRuyLike(), &result);
}

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_REFERENCE_MUL_H_
