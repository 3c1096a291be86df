// Public: the oracle. Plain loops over the definition of a product, for tests
// and for callers who want to check Mul against something readable.
//
// Follows the numerics contract of doc/numerics.md to the letter, except for
// the sum of products of floats, which it makes in order of depth without fused
// multiply-add. Expects the default floating-point state. Does not validate
// its arguments, and knows no Context.
//
// With -ffast-math, or a part of it, compilers lose NaNs and reorder sums:
// results of floating point are then refused at compile time, unless
// RUY_LIKE_FAST_MATH_REFERENCE is defined. A program that is linked with
// -ffast-math flushes denormals everywhere, which the compiler cannot see here.
#ifndef RUY_LIKE_REFERENCE_MUL_H_
#define RUY_LIKE_REFERENCE_MUL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ruy_like/activation.h"
#include "ruy_like/float16.h"
#include "ruy_like/fused_multiply_add.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/post_ops.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// x * (fixedpoint / 2^31) * 2^exponent with one rounding, half toward
// +infinity, or with two (MultiplierRounding), saturated to int32. fixedpoint
// >= 0, exponent at most 30.
inline std::int32_t Requantize(
    std::int32_t x, std::int32_t fixedpoint, int exponent,
    MultiplierRounding how = MultiplierRounding::kOnce) {
  if (exponent < -31) return 0;  // of any x, and no shift is that wide
  const std::int64_t product = static_cast<std::int64_t>(x) * fixedpoint;
  if (how == MultiplierRounding::kTwice && exponent < 0) {
    // To 2^31, half up; then the magnitude, half up.
    const std::int64_t high = (product + (std::int64_t{1} << 30)) >> 31;
    const std::int64_t half = std::int64_t{1} << (-exponent - 1);
    return static_cast<std::int32_t>(high < 0 ? -((half - high) >> -exponent)
                                              : (high + half) >> -exponent);
  }
  const std::int64_t rounding = std::int64_t{1} << (30 - exponent);
  // Arithmetic shift of a negative value: what every supported compiler does.
  const std::int64_t scaled = (product + rounding) >> (31 - exponent);
  return static_cast<std::int32_t>(std::min<std::int64_t>(
      std::max<std::int64_t>(scaled, std::numeric_limits<std::int32_t>::min()),
      std::numeric_limits<std::int32_t>::max()));
}

namespace internal {

#if defined(RUY_LIKE_FAST_MATH_REFERENCE)
constexpr bool kFloatsAreExact = true;
#elif defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
constexpr bool kFloatsAreExact = false;
#elif defined(__FINITE_MATH_ONLY__)
constexpr bool kFloatsAreExact = __FINITE_MATH_ONLY__ == 0;
#else
constexpr bool kFloatsAreExact = true;
#endif

// a * b and a + b, each rounded once. In double a product of floats is exact,
// and a sum's second rounding changes nothing (Figueroa, When is double
// rounding innocuous?, 1995: 53 >= 2 * 24 + 2 bits).
inline float RoundedProduct(float a, float b) {
  return Uncontracted(
      static_cast<float>(static_cast<double>(a) * static_cast<double>(b)));
}
inline float RoundedSum(float a, float b) {
  return static_cast<float>(static_cast<double>(a) + static_cast<double>(b));
}
inline double RoundedProduct(double a, double b) { return Uncontracted(a * b); }
inline double RoundedSum(double a, double b) { return a + b; }

// Narrow floats as float, in which their products are computed.
template <typename T>
auto Widened(T value) {
  if constexpr (IsNarrowFloat(ScalarOf<T>())) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// An operand of post-ops at (row, col).
inline float ReferencePostOperand(const PostOperand& operand,
                                  std::ptrdiff_t row, std::ptrdiff_t col,
                                  std::ptrdiff_t channel) {
  const std::ptrdiff_t at = operand.is_per_channel()
                                ? channel
                                : ElementOffset(operand.layout(), row, col);
  switch (operand.scalar()) {
    case Scalar::kBF16:
      return Widened(static_cast<const BFloat16*>(operand.data())[at]);
    case Scalar::kF16:
      return Widened(static_cast<const Float16*>(operand.data())[at]);
    default:
      return static_cast<const float*>(operand.data())[at];
  }
}

// x after post-ops, or x if `post_ops` is null.
inline float ReferencePostOps(float x, const PostOps* post_ops,
                              std::ptrdiff_t row, std::ptrdiff_t col,
                              std::ptrdiff_t channel) {
  if (post_ops == nullptr) return x;
  const PostOps& ops = *post_ops;
  x = Activate(ops.activation, x,
               ops.slope_perchannel.empty()
                   ? ops.slope
                   : ops.slope_perchannel[static_cast<std::size_t>(channel)]);
  if (!ops.factor.is_none()) {
    x = RoundedProduct(x, ReferencePostOperand(ops.factor, row, col, channel));
  }
  if (!ops.residual.is_none()) {
    x = RoundedSum(x, ReferencePostOperand(ops.residual, row, col, channel));
  }
  return x;
}

// A sum times the scales of its row and column.
template <typename Dst>
float ReferenceScaled(std::int32_t sum,
                      const MulParams<std::int32_t, Dst>& params,
                      std::ptrdiff_t row, std::ptrdiff_t col) {
  const float* lhs_scales = params.lhs_scale_perrow();
  const float* rhs_scales = params.rhs_scale_percol();
  const float x = RoundedProduct(
      static_cast<float>(sum),
      lhs_scales == nullptr ? params.lhs_scale() : lhs_scales[row]);
  return RoundedProduct(
      x, rhs_scales == nullptr ? params.rhs_scale() : rhs_scales[col]);
}

// Comparisons are false for NaN, so a NaN stays.
template <typename Accum, typename Dst>
Dst ReferenceClamp(Dst value, const MulParams<Accum, Dst>& params) {
  if (value < params.clamp_min()) return params.clamp_min();
  if (value > params.clamp_max()) return params.clamp_max();
  return value;
}

// The element of dst at (row, col) from its sum of products and, to be read
// only if beta is not 0, its old value.
template <typename Accum, typename Dst>
Dst ReferenceEpilogue(Accum acc, const MulParams<Accum, Dst>& params,
                      std::ptrdiff_t row, std::ptrdiff_t col,
                      std::int32_t dst_zero_point, const Dst* old_dst) {
  using Params = MulParams<Accum, Dst>;
  const std::ptrdiff_t channel =
      params.channel_dimension() == ChannelDimension::kRow ? row : col;
  const typename Params::BiasScalar* bias = params.bias();
  if constexpr (IsFloatType<Accum>()) {
    if (Widened(params.beta()) != 0) {
      acc = RoundedSum(acc, static_cast<Accum>(RoundedProduct(
                                Widened(params.beta()), Widened(*old_dst))));
    }
    if (bias != nullptr) acc = RoundedSum(acc, bias[channel]);
    if constexpr (std::is_same<Accum, float>::value) {
      acc = ReferencePostOps(acc, params.post_ops(), row, col, channel);
    }
    return ReferenceClamp(static_cast<Dst>(acc), params);
  } else if constexpr (Params::kScaled) {
    Dst x = ReferenceScaled(acc, params, row, col);
    if (params.beta() != 0) {
      x = RoundedSum(x, RoundedProduct(params.beta(), *old_dst));
    }
    if (bias != nullptr) x = RoundedSum(x, bias[channel]);
    x = ReferencePostOps(x, params.post_ops(), row, col, channel);
    return ReferenceClamp(x, params);
  } else {
    std::uint32_t sum = static_cast<std::uint32_t>(acc);
    if (params.beta() != 0) {
      sum += static_cast<std::uint32_t>(params.beta()) *
             static_cast<std::uint32_t>(*old_dst);
    }
    if (bias != nullptr) sum += static_cast<std::uint32_t>(bias[channel]);
    std::int32_t scaled = static_cast<std::int32_t>(sum);
    if constexpr (Params::kQuantized) {
      if (params.multiplier_rounding() == MultiplierRounding::kFloat) {
        // In double, which holds the sum; a comparison with NaN is false.
        const double x = std::nearbyint(static_cast<double>(
                             ReferenceScaled(scaled, params, row, col))) +
                         dst_zero_point;
        return x > params.clamp_min()
                   ? static_cast<Dst>(std::min<double>(x, params.clamp_max()))
                   : params.clamp_min();
      }
      scaled =
          params.perchannel()
              ? Requantize(scaled,
                           params.multiplier_fixedpoint_perchannel()[channel],
                           params.multiplier_exponent_perchannel()[channel],
                           params.multiplier_rounding())
              : Requantize(scaled, params.multiplier_fixedpoint(),
                           params.multiplier_exponent(),
                           params.multiplier_rounding());
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
  static_assert(internal::TypesAreSupported<Lhs, Rhs, Accum, Dst>(),
                "no such product: see the README's type table");
  static_assert(internal::kFloatsAreExact || !internal::IsFloatType<Dst>(),
                "ReferenceMul of floats is wrong with -ffast-math");
  // Unsigned, because signed overflow is undefined and these sums wrap.
  using Sum = typename std::conditional<internal::IsFloatType<Accum>(), Accum,
                                        std::uint32_t>::type;
  // From one depth to the next, in elements.
  const std::ptrdiff_t lhs_step =
      lhs.layout().order() == Order::kRowMajor ? 1 : lhs.layout().stride();
  const std::ptrdiff_t rhs_step =
      rhs.layout().order() == Order::kColMajor ? 1 : rhs.layout().stride();
  Sum lhs_zero_point = static_cast<Sum>(lhs.zero_point());
  Sum rhs_zero_point = static_cast<Sum>(rhs.zero_point());
  const PostOps* const ops = mul_params.post_ops();
  if (dst->layout().cols() == 0) return;  // there may be any number of rows
  for (std::ptrdiff_t row = 0; row < dst->layout().rows(); ++row) {
    for (std::ptrdiff_t col = 0; col < dst->layout().cols(); ++col) {
      std::ptrdiff_t a = ElementOffset(lhs.layout(), row, 0);
      std::ptrdiff_t b = ElementOffset(rhs.layout(), 0, col);
      Sum sum = 0;
      if (ops != nullptr && !ops->lhs_zero_points.empty()) {
        lhs_zero_point = static_cast<Sum>(ops->lhs_zero_points.data()[row]);
      }
      if (ops != nullptr && !ops->rhs_zero_points.empty()) {
        rhs_zero_point = static_cast<Sum>(ops->rhs_zero_points.data()[col]);
      }
      for (std::ptrdiff_t k = 0; k < lhs.layout().cols(); ++k) {
        sum += (static_cast<Sum>(lhs.data()[a]) - lhs_zero_point) *
               (static_cast<Sum>(rhs.data()[b]) - rhs_zero_point);
        a += lhs_step;
        b += rhs_step;
      }
      Dst* const element = ElementPtr(dst, row, col);
      *element = internal::ReferenceEpilogue<Accum, Dst>(
          static_cast<Accum>(sum), mul_params, row, col,
          static_cast<std::int32_t>(dst->zero_point()), element);
      if constexpr (sizeof(Dst) == 1) {
        if (ops != nullptr && !ops->table.empty()) {
          *element =
              static_cast<Dst>(ops->table[static_cast<std::uint8_t>(*element)]);
        }
      }
    }
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_REFERENCE_MUL_H_
