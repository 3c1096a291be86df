// Quantization toolkit, public: int32 to 8 or 16 bits, by the rounding of Mul's
// own epilogue (multiplier.h).
//
// For accumulators whose product could not requantize them at once, because the
// scale of the result depends on the result. Mul does the rest by itself.
//
// Errors are InvalidArgument, with the destination untouched: null data, spans
// that differ in size or share memory, parameters that ValidateQuantParams
// refuses for Q. Empty spans are OK. On the Context and its threads see
// quantize_dequantize.h.
#ifndef RUY_LIKE_QUANTIZE_REQUANTIZE_H_
#define RUY_LIKE_QUANTIZE_REQUANTIZE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {
namespace quantize_internal {

RUY_LIKE_EXPORT absl::Status Requantize(const Erased& x,
                                        QuantizedMultiplier multiplier,
                                        const QuantParams& params,
                                        const Erased& q, Context* context);
RUY_LIKE_EXPORT absl::StatusOr<QuantizedMultiplier> RequantizeMultiplier(
    double x_scale, const QuantParams& params);

}  // namespace quantize_internal

// q = clamp(MultiplyByQuantizedMultiplier(x, multiplier) + zero point, qmin,
// qmax); params.scale is not used. Q is int8_t, uint8_t or int16_t.
// InvalidArgument also for a multiplier whose fixed point is negative or whose
// exponent is outside [-31, 30].
template <typename Q>
absl::Status Requantize(absl::Span<const std::int32_t> x,
                        QuantizedMultiplier multiplier,
                        const QuantParams& params, absl::Span<Q> q,
                        Context* context = nullptr) {
  static_assert(sizeof(Q) < sizeof(std::int32_t), "");
  return quantize_internal::Requantize(x, multiplier, params, q, context);
}

// The same for x that stand for x * x_scale: the multiplier is x_scale /
// params.scale.
template <typename Q>
absl::Status Requantize(absl::Span<const std::int32_t> x, double x_scale,
                        const QuantParams& params, absl::Span<Q> q,
                        Context* context = nullptr) {
  const auto multiplier =
      quantize_internal::RequantizeMultiplier(x_scale, params);
  if (!multiplier.ok()) return multiplier.status();
  return Requantize(x, *multiplier, params, q, context);
}

// Finds what x holds, chooses parameters for that range (ChooseAffine to
// [0, 255]) and requantizes to them, in two passes. Returns the parameters; for
// an empty x those of the range [0, 0]. InvalidArgument also for an x_scale
// that is not positive and finite, or so large that the range is not.
RUY_LIKE_EXPORT absl::StatusOr<QuantParams> RequantizeToUsedRange(
    absl::Span<const std::int32_t> x, double x_scale,
    absl::Span<std::uint8_t> q, Context* context = nullptr);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_REQUANTIZE_H_
