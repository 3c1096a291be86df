// Test support: sums of products of bfloat16 values, step by step as the
// instructions make them whose rounding is not that of fused multiply-adds
// (doc/numerics.md).
#ifndef RUY_LIKE_TEST_SUPPORT_BFLOAT16_SUMS_H_
#define RUY_LIKE_TEST_SUPPORT_BFLOAT16_SUMS_H_

#include <vector>

#include "ruy_like/float16.h"
#include "ruy_like/path.h"

namespace ruy_like {

// The sum over depth of a row of lhs times a column of rhs, of the same depth.
using BFloat16SumFn = float(const std::vector<BFloat16>& row,
                            const std::vector<BFloat16>& column);

// Arm's BFMMLA, by the functions BFMulH, BFAdd and BFRound of the Arm
// Architecture Reference Manual's pseudocode.
BFloat16SumFn SumOfBfmmla;

// AMX's TDPBF16PS.
BFloat16SumFn SumOfTdpbf16ps;

// How products of two bfloat16 operands are summed on `path`; null: like those
// of the widened values.
BFloat16SumFn* OwnBFloat16Sum(Path path);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_BFLOAT16_SUMS_H_
