// Quantization toolkit, internal: Mul's requantization of vectors of int32, for
// results of 8 or 16 bits.
//
// Included once for each of Highway's targets, by the files of kernels. The
// formula is MultiplyByQuantizedMultiplier's (multiplier.h),
//
//   (x * f + 2^(30 - e)) >> (31 - e),
//
// in 32-bit lanes as far as possible:
//
//   x' = x << left           left  = max(e + 1, 0)
//   h  = high half of x' * f
//   (h + round) >> right     right = max(-1 - e, 0), round = 2^(right - 1)
//
// With right = 0 the rounding term is the top bit of the product's low half,
// low_round, and is added to the 64-bit product.
// The shift to the left saturates, which the exact formula does not: with a
// fixed point of 2^30 or more such a product is 2^28 or more in magnitude,
// beyond any bound that the caller clamps to.
//
// kFloat: x * scale in float, rounded to nearest, ties to even, by the sum with
// 1.5 * 2^23, in whose lower bits it then is.
#if defined(RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_INL_H_
#undef RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_INL_H_
#else
#define RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "ruy_like/quantize/loops/requantize_table.h"

HWY_BEFORE_NAMESPACE();
namespace ruy_like::quantize_internal::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The constants of as many channels as D has lanes, or of one for all lanes.
template <class D>
struct RequantizeVectors {
  using V = hn::Vec<D>;
  using C = RequantizeConstants;
  V fixedpoint, right, round, left, lowest, highest, low_round;
  bool is_float = false;

  HWY_INLINE RequantizeVectors(D d, const RequantizeTable& table,
                               std::size_t channel)
      : fixedpoint(hn::LoadU(d, table[C::kFixedpoint] + channel)),
        right(hn::LoadU(d, table[C::kRight] + channel)),
        round(hn::LoadU(d, table[C::kRound] + channel)),
        left(hn::LoadU(d, table[C::kLeft] + channel)),
        lowest(hn::LoadU(d, table[C::kLowest] + channel)),
        highest(hn::LoadU(d, table[C::kHighest] + channel)),
        low_round(hn::LoadU(d, table[C::kLowRound] + channel)),
        is_float(table.form == RequantizeForm::kFloat) {}
  HWY_INLINE RequantizeVectors(D d, const RequantizeConstants& constants)
      : fixedpoint(hn::Set(d, constants.values[C::kFixedpoint])),
        right(hn::Set(d, constants.values[C::kRight])),
        round(hn::Set(d, constants.values[C::kRound])),
        left(hn::Set(d, constants.values[C::kLeft])),
        lowest(hn::Set(d, constants.values[C::kLowest])),
        highest(hn::Set(d, constants.values[C::kHighest])),
        low_round(hn::Set(d, constants.values[C::kLowRound])) {}
};

template <class D, class V = hn::Vec<D>>
HWY_INLINE V RoundScaled(D d, V x, V scale_bits) {
  const hn::RebindToFloat<D> df;
  const auto most = hn::Set(df, 2097152.0f), add = hn::Set(df, 12582912.0f);
  const auto scaled =
      hn::Mul(hn::ConvertTo(df, x), hn::BitCast(df, scale_bits));
  const auto bounded = hn::Min(hn::Max(scaled, hn::Neg(most)), most);
  return hn::Sub(hn::BitCast(d, hn::Add(bounded, add)), hn::BitCast(d, add));
}

// At most 2^30 in magnitude.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Requantize(D d, V x, const RequantizeVectors<D>& r,
                        RequantizeForm form) {
  if (form != RequantizeForm::kRight && r.is_float) {
    return RoundScaled(d, x, r.fixedpoint);
  }
#if HWY_TARGET == HWY_SCALAR  // which has no pairs of lanes
  (void)form;
  const std::int64_t shifted =
      std::int64_t{hn::GetLane(hn::Min(hn::Max(x, r.lowest), r.highest))} *
      (std::int64_t{1} << hn::GetLane(r.left));
  const std::int64_t product = shifted * hn::GetLane(r.fixedpoint);
  const int right = hn::GetLane(r.right);
  return hn::Set(
      d, static_cast<std::int32_t>(
             (product + (std::int64_t{1} << (31 + right))) >> (32 + right)));
#else
  const hn::Repartition<std::uint64_t, D> d64;
  if (form != RequantizeForm::kRight) {
    x = hn::Min(hn::Max(x, r.lowest), r.highest) << r.left;
  }
  const auto low_half = [&](V v) {
    return hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, v)));
  };
  const auto high_half = [&](V v) {
    return hn::BitCast(d, hn::ShiftLeft<32>(hn::BitCast(d64, v)));
  };
  auto even = hn::BitCast(d64, hn::MulEven(x, r.fixedpoint));
  auto odd = hn::BitCast(d64, hn::MulEven(low_half(x), low_half(r.fixedpoint)));
  if (form != RequantizeForm::kRight) {
    const V even_round = hn::OddEven(high_half(r.round), r.low_round);
    const V odd_round = hn::OddEven(r.round, low_half(r.low_round));
    even = hn::Add(even, hn::BitCast(d64, even_round));
    odd = hn::Add(odd, hn::BitCast(d64, odd_round));
  }
  V high = hn::OddEven(hn::BitCast(d, odd),
                       hn::BitCast(d, hn::ShiftRight<32>(even)));
  if (form == RequantizeForm::kLeft) return high;
  if (form == RequantizeForm::kRight) high = hn::Add(high, r.round);
  return high >> r.right;
#endif
}

// The whole output stage: 8 or 16 bits, as int32.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RequantizeToOutput(D d, V x, const RequantizeVectors<D>& r,
                                RequantizeForm form,
                                const QuantizedOutput& output) {
  const V sum =
      hn::Add(Requantize(d, x, r, form), hn::Set(d, output.zero_point));
  return hn::Min(hn::Max(sum, hn::Set(d, output.lowest)),
                 hn::Set(d, output.highest));
}

// body(form) for a form that is kRight or kOther, as a type: for loops that
// test nothing.
template <RequantizeForm kOther = RequantizeForm::kLeft, class Body>
HWY_INLINE void WithForm(RequantizeForm form, const Body& body) {
  if (form == RequantizeForm::kRight) {
    body(std::integral_constant<RequantizeForm, RequantizeForm::kRight>());
  } else {
    body(std::integral_constant<RequantizeForm, kOther>());
  }
}

}  // namespace ruy_like::quantize_internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_INL_H_
