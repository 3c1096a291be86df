// Tested in test/quantize/calibration/eq_search_test.cc.
#include "ruy_like/quantize/loops/cosine_kernels.h"

#include "ruy_like/quantize/loops/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ruy_like/quantize/loops/cosine_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The rows [first, last) of some columns. Two vectors of rows at a time: with
// more, the sums leave the registers.
void SumColumns(const float* y, const std::int32_t* q, std::ptrdiff_t stride,
                std::ptrdiff_t cols, std::ptrdiff_t first, std::ptrdiff_t last,
                double* dot, double* square) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  // As far ahead as the same rows of the columns that follow. May point beyond
  // the end.
  const std::ptrdiff_t ahead = cols * stride;
  std::ptrdiff_t row = first;
  for (; row + 2 * lanes <= last; row += 2 * lanes) {
    auto dot0 = hn::LoadU(d, dot + row);
    auto dot1 = hn::LoadU(d, dot + row + lanes);
    auto square0 = hn::LoadU(d, square + row);
    auto square1 = hn::LoadU(d, square + row + lanes);
    const float* y_at = y + row;
    const std::int32_t* q_at = q + row;
    for (std::ptrdiff_t col = 0; col < cols; ++col) {
      hwy::Prefetch(y_at + ahead);
      hwy::Prefetch(q_at + ahead);
      const auto y0 = hn::PromoteTo(d, hn::LoadU(df, y_at));
      const auto y1 = hn::PromoteTo(d, hn::LoadU(df, y_at + lanes));
      const auto q0 = hn::PromoteTo(d, hn::LoadU(di, q_at));
      const auto q1 = hn::PromoteTo(d, hn::LoadU(di, q_at + lanes));
      dot0 = hn::Add(dot0, hn::Mul(y0, q0));
      dot1 = hn::Add(dot1, hn::Mul(y1, q1));
      square0 = hn::Add(square0, hn::Mul(q0, q0));
      square1 = hn::Add(square1, hn::Mul(q1, q1));
      y_at += stride;
      q_at += stride;
    }
    hn::StoreU(dot0, d, dot + row);
    hn::StoreU(dot1, d, dot + row + lanes);
    hn::StoreU(square0, d, square + row);
    hn::StoreU(square1, d, square + row + lanes);
  }
  for (; row < last; ++row) {
    for (std::ptrdiff_t col = 0; col < cols; ++col) {
      const double value = q[row + col * stride];
      const double product = static_cast<double>(y[row + col * stride]) * value;
      dot[row] += product;
      square[row] += value * value;
    }
  }
}

// As many columns at a time as stay in the first-level cache: a vector of rows
// is but a part of a column, and the next vectors find the rest there.
void RowSums(const float* y, const std::int32_t* q, std::ptrdiff_t stride,
             std::ptrdiff_t cols, std::ptrdiff_t first, std::ptrdiff_t last,
             double* dot, double* square) {
  constexpr std::ptrdiff_t kElements = 2048;
  const std::ptrdiff_t step = HWY_MAX(kElements / HWY_MAX(last - first, 1), 8);
  for (std::ptrdiff_t col = 0; col < cols; col += step) {
    SumColumns(y + col * stride, q + col * stride, stride,
               HWY_MIN(step, cols - col), first, last, dot, square);
  }
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ruy_like::quantize_internal {

HWY_EXPORT(RowSums);

RowSumsKernel RowSumsFor(std::int64_t targets) {
  return HWY_DISPATCH_TABLE(RowSums)[TargetIndex(targets)];
}

}  // namespace ruy_like::quantize_internal
#endif  // HWY_ONCE
