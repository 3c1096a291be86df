// Public: the oracle. Plain loops over the definition of a product, for tests
// and for callers who want to check Mul against something readable.
//
// Follows the numerics contract of README.md to the letter, except for floats,
// where it sums in order of depth without fused multiply-add. Does not validate
// its arguments, and knows no Context.
#ifndef RUY_LIKE_REFERENCE_MUL_H_
#define RUY_LIKE_REFERENCE_MUL_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"

namespace ruy_like {

// x * (fixedpoint / 2^31) * 2^exponent with one rounding, half toward
// +infinity, saturated to int32. fixedpoint >= 0, exponent in [-31, 30].
inline std::int32_t Requantize(std::int32_t x, std::int32_t fixedpoint,
                               int exponent) {
  const std::int64_t product = static_cast<std::int64_t>(x) * fixedpoint;
  const std::int64_t rounding = std::int64_t{1} << (30 - exponent);
  // Arithmetic shift of a negative value: what every supported compiler does.
  const std::int64_t scaled = (product + rounding) >> (31 - exponent);
  return static_cast<std::int32_t>(std::min<std::int64_t>(
      std::max<std::int64_t>(scaled, std::numeric_limits<std::int32_t>::min()),
      std::numeric_limits<std::int32_t>::max()));
}

namespace internal {

template <typename Accum, typename Dst>
Dst ReferenceEpilogue(Accum acc, const MulParams<Accum, Dst>& params,
                      std::ptrdiff_t channel, Dst dst_zero_point) {
  if constexpr (std::is_floating_point<Accum>::value) {
    // Comparisons are false for NaN, so a NaN stays.
    const Dst value = static_cast<Dst>(acc);
    if (value < params.clamp_min()) return params.clamp_min();
    if (value > params.clamp_max()) return params.clamp_max();
    return value;
  } else {
    std::int32_t scaled = acc;
    if constexpr (MulParams<Accum, Dst>::kQuantized) {
      scaled =
          params.perchannel()
              ? Requantize(acc,
                           params.multiplier_fixedpoint_perchannel()[channel],
                           params.multiplier_exponent_perchannel()[channel])
              : Requantize(acc, params.multiplier_fixedpoint(),
                           params.multiplier_exponent());
    }
    const std::int64_t shifted = std::int64_t{scaled} + dst_zero_point;
    return static_cast<Dst>(std::min<std::int64_t>(
        std::max<std::int64_t>(shifted, params.clamp_min()),
        params.clamp_max()));
  }
}

}  // namespace internal

// dst = epilogue((lhs - lhs zero point) * (rhs - rhs zero point)); see
// MulParams. Integer sums wrap modulo 2^32.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
void ReferenceMul(const Matrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                  const MulParams<Accum, Dst>& mul_params, Matrix<Dst>* dst) {
  // Unsigned, because signed overflow is undefined and these sums wrap.
  using Sum = typename std::conditional<std::is_floating_point<Accum>::value,
                                        Accum, std::uint32_t>::type;
  using Term = typename std::conditional<std::is_floating_point<Accum>::value,
                                         Accum, std::int32_t>::type;
  for (std::ptrdiff_t row = 0; row < dst->layout().rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < dst->layout().cols(); ++col) {
      Sum sum = 0;
      for (std::ptrdiff_t k = 0; k < lhs.layout().cols(); ++k) {
        const Term a = static_cast<Term>(Element(lhs, row, k)) -
                       static_cast<Term>(lhs.zero_point());
        const Term b = static_cast<Term>(Element(rhs, k, col)) -
                       static_cast<Term>(rhs.zero_point());
        sum += static_cast<Sum>(a * b);
      }
      const std::ptrdiff_t channel =
          mul_params.channel_dimension() == ChannelDimension::kRow ? row : col;
      if (mul_params.bias() != nullptr) {
        sum += static_cast<Sum>(mul_params.bias()[channel]);
      }
      *ElementPtr(dst, row, col) = internal::ReferenceEpilogue<Accum, Dst>(
          static_cast<Accum>(sum), mul_params, channel, dst->zero_point());
    }
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_REFERENCE_MUL_H_
