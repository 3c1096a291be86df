#include "ruy_like/quantize/requantize.h"

#include <algorithm>
#include <limits>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/element_kernels.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

absl::Status ValidateMultiplier(QuantizedMultiplier multiplier) {
  if (multiplier.fixedpoint >= 0 && multiplier.exponent >= -31 &&
      multiplier.exponent <= 30) {
    return absl::OkStatus();
  }
  return Invalid("multiplier has fixed point ", multiplier.fixedpoint,
                 ", exponent ", multiplier.exponent,
                 ": must be at least 0, and in [-31, 30]");
}

}  // namespace

absl::Status Requantize(const Erased& x, QuantizedMultiplier multiplier,
                        const QuantParams& params, const Erased& q,
                        Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(CheckPair("x", x, "q", q));
    RUY_LIKE_RETURN_IF_ERROR(ValidateMultiplier(multiplier));
    RUY_LIKE_RETURN_IF_ERROR(CheckParams("params", q.scalar, params));
    const auto* const src = static_cast<const std::int32_t*>(x.data);
    char* const dst = static_cast<char*>(const_cast<void*>(q.data));
    const std::ptrdiff_t n = x.layout.cols();
    const std::ptrdiff_t bytes = sizeof(std::int32_t) + BytesOf(q.scalar, 1);
    const bool streaming = BypassesCaches(n * bytes);
    RequantizeFunction* const kernel =
        ElementKernelsFor(TargetsFor(context)).requantize[q.scalar];
    const RequantizeConstants constants(multiplier);
    const QuantizedOutput output = {params.zero_point, params.qmin,
                                    params.qmax};
    return ForEachRange(
        n, 1, bytes, context, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          kernel(src + first, static_cast<std::size_t>(last - first), constants,
                 output, streaming, dst + first * BytesOf(q.scalar, 1));
        });
  });
}

absl::StatusOr<QuantizedMultiplier> RequantizeMultiplier(
    double x_scale, const QuantParams& params) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantizedMultiplier> {
    RUY_LIKE_RETURN_IF_ERROR(CheckScale("params", params.scale));
    RUY_LIKE_RETURN_IF_ERROR(CheckScale("x", x_scale));
    return QuantizeMultiplier(
        std::min(x_scale / params.scale, std::numeric_limits<double>::max()));
  });
}

}  // namespace quantize_internal

namespace qi = quantize_internal;

absl::StatusOr<QuantParams> RequantizeToUsedRange(
    absl::Span<const std::int32_t> x, double x_scale,
    absl::Span<std::uint8_t> q, Context* context) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantParams> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckPair("x", x, "q", q));
    const qi::ElementKernels& kernels =
        qi::ElementKernelsFor(qi::TargetsFor(context));
    qi::SharedRange shared({0, 0});  // the range includes 0
    RUY_LIKE_RETURN_IF_ERROR(qi::ForEachRange(
        static_cast<std::ptrdiff_t>(x.size()), 1, sizeof(std::int32_t), context,
        [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          qi::IntRange part = {0, 0};
          kernels.range_32(x.data() + first,
                           static_cast<std::size_t>(last - first), &part);
          shared.Extend(part);
        }));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckScale("x", x_scale));
    const qi::IntRange& used = shared.range();
    const auto lo = static_cast<float>(used.min * x_scale);
    const auto hi = static_cast<float>(used.max * x_scale);
    RUY_LIKE_ASSIGN_OR_RETURN(const auto params, ChooseAffine(lo, hi, 0, 255));
    // x_scale / params.scale, without the rounding of either: what was found
    // becomes [0, 255], whatever it stands for. Unless that is too little for a
    // scale (ChooseAffine), and therefore 0.
    const double width = static_cast<double>(used.max) - used.min;
    const bool is_zero = static_cast<double>(hi) - lo <
                         255.0 * std::numeric_limits<float>::min();
    RUY_LIKE_ASSIGN_OR_RETURN(const auto multiplier,
                              QuantizeMultiplier(is_zero ? 0 : 255 / width));
    RUY_LIKE_RETURN_IF_ERROR(Requantize(x, multiplier, params, q, context));
    return params;
  });
}

}  // namespace ruy_like
