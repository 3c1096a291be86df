// Quantization toolkit, internal: the sums that the cosine of a row of outputs
// is made of.
//
// Called by eq_search.cc.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_COSINE_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_COSINE_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace ruy_like::quantize_internal {

// y and q are column-major, of `stride` rows without gaps. For the rows
// [first, last), summed over all columns:
//
//   dot[row] += y * q,  square[row] += q * q
//
// in double precision, column after column, so that the order of summation is
// one for all of Highway's targets.
using RowSumsKernel = void (*)(const float* y, const std::int32_t* q,
                               std::ptrdiff_t stride, std::ptrdiff_t cols,
                               std::ptrdiff_t first, std::ptrdiff_t last,
                               double* dot, double* square);

RowSumsKernel RowSumsFor(std::int64_t targets);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_COSINE_KERNELS_H_
