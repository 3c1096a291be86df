// Back-end: requantization of vectors of accumulators, for one SIMD width.
//
// Used by epilogue_columns.h, which loads the per-channel values and stores the
// results; this header only does the arithmetic of kernel.h's formula.
//
// A vector of 32-bit values makes two vectors of 64-bit products, of its even
// and of its odd lanes. Shifting them right by s = 31 - exponent >= 32 means to
// take the high halves and to shift those right by s - 32:
//
//    even:  | p0 high | p0 low |  | p2 high | p2 low | ...
//    odd:   | p1 high | p1 low |  | p3 high | p3 low | ...
//    InterleaveHigh:  | p0 high | p1 high | p2 high | p3 high | ...
//
// so that no 64-bit arithmetic shift is needed, which AVX2 lacks. With s >= 33
// the rounding term is a multiple of 2^32 too: it is added to the high halves
// alone, and there is room for it, since they are below 2^30 in magnitude. A
// shift by 31 (exponent 0) becomes one by 32 when the products are doubled
// first. Only exponents > 0 need the 64-bit shifts and a saturation.
//
// Rounding twice (MultiplierRounding), with y = floor((p + 2^30) / 2^31) and n
// = -exponent > 0, means floor((y + 2^(n-1)) / 2^n), or y - 1 for y where y <
// 0. Floors nest: that is (p + 2^30 + 2^(30+n)) >> (31 + n), less 2^31 before
// the shift where p < 0: of the p below 0 for which y is 0 both give 0.
//
// A float32 estimate with a repair near ties was counted and rejected: 6
// instructions and a test against 7 here.
#ifndef RUY_LIKE_KERNELS_EPILOGUE_REQUANTIZE_H_
#define RUY_LIKE_KERNELS_EPILOGUE_REQUANTIZE_H_

#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// The bias that is added to integer accumulators, or null.
RUY_LIKE_ALWAYS_INLINE const int32_t* IntBias(const EpilogueArgs& e) {
  return e.output <= Output::kRounded ? static_cast<const int32_t*>(e.bias)
                                      : nullptr;
}

// How accumulators become integers of dst: the cheapest way that a call's
// exponents allow.
enum class Scaling {
  kIdentity,    // not at all, or by the multiplier 1
  kSmall,       // every exponent <= -2
  kUpToZero,    // every exponent <= 0
  kSaturating,  // any exponent, rounded once or twice
  kFloat,       // by float scales, the lhs's or the rhs's first
  kFloatRhsFirst
};

RUY_LIKE_ALWAYS_INLINE Scaling ChooseScaling(const EpilogueArgs& e) {
  if (e.output == Output::kRounded) {
    return e.scales->rhs_first ? Scaling::kFloatRhsFirst : Scaling::kFloat;
  }
  if (e.output != Output::kFixedPoint) return Scaling::kIdentity;
  if (e.rounds_twice) return Scaling::kSaturating;
  if (e.max_exponent <= -2) return Scaling::kSmall;
  if (e.max_exponent <= 0) return Scaling::kUpToZero;
  // The default multiplier, 2^30 * 2^(1 - 31).
  if (!e.per_channel && e.fixedpoint[0] == 1 << 30 && e.exponent[0] == 1) {
    return Scaling::kIdentity;
  }
  return Scaling::kSaturating;
}

// kernel.h's formula in 64-bit scalars.
RUY_LIKE_ALWAYS_INLINE int32_t ScaleOne(int32_t acc, int32_t fixedpoint,
                                        int32_t exponent, bool twice) {
  const int shift = 31 - exponent;
  int64_t scaled = static_cast<int64_t>(acc) * fixedpoint +
                   (static_cast<int64_t>(1) << (shift - 1));
  if (twice && exponent < 0) scaled += acc < 0 ? -(1 << 30) : 1 << 30;
  scaled >>= shift;
  return scaled > INT32_MAX   ? INT32_MAX
         : scaled < INT32_MIN ? INT32_MIN
                              : static_cast<int32_t>(scaled);
}

// Multipliers of one row vector (or of one column) and their application.
template <class V, Scaling kScaling>
struct Scaler {
  typedef typename V::Int Int;

  RUY_LIKE_ALWAYS_INLINE void Prepare(Int fixedpoint, Int exponent,
                                      bool twice) {
    fixedpoint_even_ = fixedpoint;
    fixedpoint_odd_ = V::OddToEven(fixedpoint);
    if (kScaling == Scaling::kSmall) {
      // At least 1, except in lanes beyond the rows.
      shift_high_ = V::Sub(V::Set(-1), exponent);
      round_high_ = V::ShiftLeft(V::Set(1), V::Sub(V::Set(-2), exponent));
      return;
    }
    const Int shift = V::Sub(V::Set(31), exponent);
    const Int shift_even = V::ZeroExtendEven(shift);
    const Int shift_odd = V::ZeroExtendOdd(shift);
    const Int one = V::Set64(1);
    round_even_ =
        V::ShiftLeft64(one, V::ZeroExtendEven(V::Sub(shift, V::Set(1))));
    round_odd_ =
        V::ShiftLeft64(one, V::ZeroExtendOdd(V::Sub(shift, V::Set(1))));
    if (kScaling == Scaling::kSaturating) {
      shift_even_ = shift_even;
      shift_odd_ = shift_odd;
      // -1 where the exponent is negative, times that.
      nudge_even_ = V::Mul(V::ShiftRightArith(exponent, V::Set(31)),
                           V::Set(twice ? -(1 << 30) : 0));
      nudge_odd_ = V::OddToEven(nudge_even_);
    } else {
      // 1 where the shift is 31, else 0.
      const Int doubling = V::Max(V::Sub(V::Set(32), shift), V::Zero());
      shift_even_ = V::ZeroExtendEven(doubling);
      shift_odd_ = V::ZeroExtendOdd(doubling);
      shift_high_ = V::Max(V::Sub(shift, V::Set(32)), V::Zero());
    }
  }

  RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const {
    Int even = V::MulEven(x, fixedpoint_even_);
    Int odd = V::MulEven(V::OddToEven(x), fixedpoint_odd_);
    if (kScaling == Scaling::kSmall) {
      return V::ShiftRightArith(
          V::Add(V::InterleaveHigh(even, odd), round_high_), shift_high_);
    }
    even = V::Add64(even, round_even_);
    odd = V::Add64(odd, round_odd_);
    if (kScaling == Scaling::kSaturating) {
      const Int negative = V::ShiftRightArith(x, V::Set(31));
      const Int sign = V::Sub(V::Add(negative, negative), V::Set(-1));
      even = V::Add64(even, V::MulEven(sign, nudge_even_));
      odd = V::Add64(odd, V::MulEven(V::OddToEven(sign), nudge_odd_));
      even = V::SaturateToInt32(V::ShiftRightArith64(even, shift_even_));
      odd = V::SaturateToInt32(V::ShiftRightArith64(odd, shift_odd_));
      return V::InterleaveLow(even, odd);
    }
    if (kScaling == Scaling::kUpToZero) {
      even = V::ShiftLeft64(even, shift_even_);
      odd = V::ShiftLeft64(odd, shift_odd_);
    }
    return V::ShiftRightArith(V::InterleaveHigh(even, odd), shift_high_);
  }

 private:
  Int fixedpoint_even_, fixedpoint_odd_;
  Int round_even_, round_odd_;
  Int nudge_even_, nudge_odd_;  // of a second rounding: 2^30 or 0
  Int shift_even_, shift_odd_;
  Int round_high_, shift_high_;
};

// Needs no multipliers.
template <class V>
struct Scaler<V, Scaling::kIdentity> {
  typedef typename V::Int Int;
  RUY_LIKE_ALWAYS_INLINE Int Apply(Int x) const { return x; }
};

// clamp(scaled + zero_point) as min(max(scaled, low), high) + offset, exactly
// and in 32 bits: the clamp comes first, so that the sum can't overflow.
template <class V>
class Clamp {
 public:
  typedef typename V::Int Int;

  explicit RUY_LIKE_ALWAYS_INLINE Clamp(const EpilogueArgs& e) {
    const int64_t low = static_cast<int64_t>(e.clamp_min) - e.dst_zero_point;
    const int64_t high = static_cast<int64_t>(e.clamp_max) - e.dst_zero_point;
    // Bounds that no int32 reaches: everything is clamped to the same value.
    if (low > INT32_MAX) {
      Assign(0, 0, e.clamp_min);
    } else if (high < INT32_MIN) {
      Assign(0, 0, e.clamp_max);
    } else {
      Assign(low < INT32_MIN ? INT32_MIN : static_cast<int32_t>(low),
             high > INT32_MAX ? INT32_MAX : static_cast<int32_t>(high),
             e.dst_zero_point);
    }
  }
  RUY_LIKE_ALWAYS_INLINE Int Apply(Int scaled) const {
    return V::Add(V::Min(V::Max(scaled, low_), high_), offset_);
  }

 private:
  RUY_LIKE_ALWAYS_INLINE void Assign(int32_t low, int32_t high,
                                     int32_t offset) {
    low_ = V::Set(low);
    high_ = V::Set(high);
    offset_ = V::Set(offset);
  }

  Int low_, high_, offset_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_EPILOGUE_REQUANTIZE_H_
