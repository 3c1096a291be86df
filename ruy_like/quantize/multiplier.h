// Quantization toolkit, public: real multipliers as the fixed-point numbers
// that Mul requantizes with, and the same requantization for one value.
//
// For a quantized product that is set up by hand; the toolkit's operations use
// it, too. Vectors are requantized by Mul's epilogue.
//
// Everything here is a pure function, callable from any thread.
#ifndef RUY_LIKE_QUANTIZE_MULTIPLIER_H_
#define RUY_LIKE_QUANTIZE_MULTIPLIER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

// A real number >= 0 as fixedpoint / 2^31 * 2^exponent: either both are 0, or
// fixedpoint is in [2^30, 2^31) and exponent in [-31, 30]. What MulParams'
// multiplier setters take.
struct QuantizedMultiplier {
  std::int32_t fixedpoint = 0;
  int exponent = 0;
};

inline bool operator==(const QuantizedMultiplier& a,
                       const QuantizedMultiplier& b) {
  return a.fixedpoint == b.fixedpoint && a.exponent == b.exponent;
}

// The nearest such number, halves away from zero. Below 2^-32 it is 0; from
// 2^30 on it is the largest one. InvalidArgument for a negative multiplier, NaN
// and infinity.
//
// Pass the double that you have: a multiplier that was rounded to float first
// is another one (0.012f gives 1649267456, 0.012 gives 1649267442).
RUY_LIKE_EXPORT absl::StatusOr<QuantizedMultiplier> QuantizeMultiplier(
    double multiplier);

// x * multiplier as Mul's epilogue has it (MulParams): rounded once, half
// toward +infinity, saturated to int32. The exponent must be in [-31, 30] and
// the fixed point not negative.
inline std::int32_t MultiplyByQuantizedMultiplier(
    std::int32_t x, QuantizedMultiplier multiplier) {
  const std::int64_t product =
      static_cast<std::int64_t>(x) * multiplier.fixedpoint +
      (std::int64_t{1} << (30 - multiplier.exponent));
  using Limits = std::numeric_limits<std::int32_t>;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      product >> (31 - multiplier.exponent), Limits::min(), Limits::max()));
}

// The multiplier that TensorFlow Lite's operators of int16 activations use: its
// fixed point rounded to 15 bits, halves up, at most 32767 * 2^16. With it
// MultiplyByQuantizedMultiplier gives the bits of their int64 arithmetic, for
// exponents up to 14 and results within int32.
RUY_LIKE_EXPORT QuantizedMultiplier
RoundTo15Bits(QuantizedMultiplier multiplier);

// ## The arithmetic of gemmlowp and of TensorFlow Lite's reference kernels
//
// Rounds twice, and so differs by at most 1 from the above. Only for networks
// whose outputs must equal those of such an implementation bit for bit; nothing
// else in this library computes with it.

// a * b / 2^31, rounded to nearest, half away from zero for negative products
// and up for others; min * min saturates.
RUY_LIKE_EXPORT std::int32_t SaturatingRoundingDoublingHighMul(std::int32_t a,
                                                               std::int32_t b);

// x / 2^exponent, half away from zero. exponent in [0, 31].
RUY_LIKE_EXPORT std::int32_t RoundingDivideByPowerOfTwo(std::int32_t x,
                                                        int exponent);

// x * 2^max(exponent, 0), then the first of these with the fixed point, then
// the second with max(-exponent, 0). A left shift that leaves int32 saturates,
// where others wrap.
RUY_LIKE_EXPORT std::int32_t MultiplyByQuantizedMultiplierLegacy(
    std::int32_t x, QuantizedMultiplier multiplier);

// ## MulParams of a product of quantized operands

namespace quantize_internal {

// SetMultipliers' result, without MulParams' types. `lowest` and `highest` are
// the bounds of an element of dst.
RUY_LIKE_EXPORT absl::StatusOr<QuantizedMultiplier> ProductMultiplier(
    const QuantParams& lhs, const QuantParams& rhs, const QuantParams& dst,
    std::int32_t lowest, std::int32_t highest);
RUY_LIKE_EXPORT absl::Status ProductMultipliers(
    absl::Span<const QuantParams> channels, const QuantParams& other,
    const QuantParams& dst, std::int32_t lowest, std::int32_t highest,
    absl::Span<std::int32_t> fixedpoint, absl::Span<int> exponent);

template <typename Dst>
void SetClamp(const QuantParams& dst, MulParams<std::int32_t, Dst>* params) {
  params->set_clamp_min(static_cast<Dst>(dst.qmin));
  params->set_clamp_max(static_cast<Dst>(dst.qmax));
}

}  // namespace quantize_internal

// Sets the multiplier lhs.scale * rhs.scale / dst.scale (in double precision)
// and the clamp [dst.qmin, dst.qmax]. Zero points are not here: they go with
// the matrices. Dst is int8_t, uint8_t or int16_t.
//
// InvalidArgument, with *params as it was, for a scale that is not positive and
// finite, a qmin above its qmax, bounds that Dst does not hold, and null.
template <typename Dst>
absl::Status SetMultipliers(const QuantParams& lhs, const QuantParams& rhs,
                            const QuantParams& dst,
                            MulParams<std::int32_t, Dst>* params) {
  if (params == nullptr) {
    return internal::NullArgument("params");
  }
  const absl::StatusOr<QuantizedMultiplier> multiplier =
      quantize_internal::ProductMultiplier(lhs, rhs, dst,
                                           std::numeric_limits<Dst>::lowest(),
                                           std::numeric_limits<Dst>::max());
  if (!multiplier.ok()) return multiplier.status();
  params->set_multiplier_fixedpoint(multiplier->fixedpoint);
  params->set_multiplier_exponent(multiplier->exponent);
  quantize_internal::SetClamp(dst, params);
  return absl::OkStatus();
}

// The same with one scale per channel of the operand whose rows (lhs) or
// columns (rhs) are dst's channels: multiplier c is
// channels[c].scale * other.scale / dst.scale.
//
// `fixedpoint` and `exponent`, of one element per channel, are the caller's:
// they are written here, and *params refers to them until other multipliers are
// set, so they must stay valid in every Mul with it. On an error, such as
// arrays of another size, neither they nor *params change.
//
// Along which dimension the channels run is for the caller to set.
template <typename Dst>
absl::Status SetMultipliers(absl::Span<const QuantParams> channels,
                            const QuantParams& other, const QuantParams& dst,
                            absl::Span<std::int32_t> fixedpoint,
                            absl::Span<int> exponent,
                            MulParams<std::int32_t, Dst>* params) {
  if (params == nullptr) {
    return internal::NullArgument("params");
  }
  absl::Status status = quantize_internal::ProductMultipliers(
      channels, other, dst, std::numeric_limits<Dst>::lowest(),
      std::numeric_limits<Dst>::max(), fixedpoint, exponent);
  if (!status.ok()) return status;
  params->set_multiplier_fixedpoint_perchannel(fixedpoint.data());
  params->set_multiplier_exponent_perchannel(exponent.data());
  quantize_internal::SetClamp(dst, params);
  return absl::OkStatus();
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_MULTIPLIER_H_
