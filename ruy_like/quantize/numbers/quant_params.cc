#include "ruy_like/quantize/quant_params.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

constexpr double kSmallestScale = std::numeric_limits<float>::min();
constexpr double kLargestScale = std::numeric_limits<float>::max();
// Stored values are handled as floats: all integers up to 2^24 are.
constexpr int kLargestBound = 1 << 23;

// Whatever the rounding mode.
double RoundHalfToEven(double x) {
  const double rounded = std::round(x);
  return std::abs(x - std::trunc(x)) == 0.5 ? 2 * std::round(x / 2) : rounded;
}

double NextPowerOfTwo(double scale) {
  int exponent;
  const double mantissa = std::frexp(scale, &exponent);  // [0.5, 1)
  return std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

}  // namespace

absl::StatusOr<QuantParams> ChooseSymmetric(float absmax, int bits,
                                            ScaleRounding rounding) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantParams> {
    if (!(absmax >= 0) || !std::isfinite(absmax)) {
      return Invalid("absmax is ", absmax, ", must be finite and at least 0");
    }
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckRange("bits", bits, 2, 16));
    RUY_LIKE_RETURN_IF_ERROR(
        CheckEnum("rounding of scales", rounding, ScaleRounding::kPowerOfTwo));
    QuantParams params;
    params.qmax = (1 << (bits - 1)) - 1;
    params.qmin = -params.qmax;
    double scale = static_cast<double>(absmax) / params.qmax;
    if (scale < kSmallestScale) return params;
    if (rounding == ScaleRounding::kPowerOfTwo) scale = NextPowerOfTwo(scale);
    if (scale > kLargestScale) {
      return Invalid("absmax is ", absmax, ", with ", bits,
                     " bits no power of two that a float holds covers it");
    }
    params.scale = static_cast<float>(scale);
    return params;
  });
}

absl::StatusOr<QuantParams> ChooseAffine(float lo, float hi, int qmin, int qmax,
                                         Rounding rounding) {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantParams> {
    if (!std::isfinite(lo) || !std::isfinite(hi) || lo > hi) {
      return Invalid("range is [", lo, ", ", hi,
                     "], must be finite and in order");
    }
    RUY_LIKE_RETURN_IF_ERROR(
        CheckEnum("rounding", rounding, Rounding::kHalfToEven));
    if (qmin >= qmax || qmin < -kLargestBound || qmax > kLargestBound) {
      return Invalid("qmin is ", qmin, ", qmax is ", qmax,
                     ", must be in order and within 2^23 of 0");
    }
    QuantParams params;
    params.qmin = qmin;
    params.qmax = qmax;
    const double min = std::min(static_cast<double>(lo), 0.0);
    const double max = std::max(static_cast<double>(hi), 0.0);
    const double scale = (max - min) / (qmax - qmin);
    if (scale > kLargestScale) {
      return Invalid("range is [", lo, ", ", hi, "]: no float holds a ",
                     qmax - qmin, "th part of it");
    }
    double zero_point = 0;
    if (scale >= kSmallestScale && rounding == Rounding::kHalfToEven) {
      const auto low = static_cast<float>(min);
      params.scale =
          (static_cast<float>(max) - low) / static_cast<float>(qmax - qmin);
      zero_point =
          RoundHalfToEven(static_cast<float>(qmin) - low / params.scale);
    } else if (scale >= kSmallestScale) {
      params.scale = static_cast<float>(scale);
      const double from_min = qmin - min / scale;
      const double from_max = qmax - max / scale;
      const double error_of_min = std::abs(qmin) + std::abs(min / scale);
      const double error_of_max = std::abs(qmax) + std::abs(max / scale);
      zero_point = error_of_min < error_of_max ? from_min : from_max;
    }
    zero_point = std::round(zero_point);
    params.zero_point = static_cast<std::int32_t>(
        std::clamp<double>(zero_point, params.qmin, params.qmax));
    return params;
  });
}

absl::Status ValidateQuantParams(const QuantParams& params, std::int32_t lowest,
                                 std::int32_t highest, const char* what) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckScale(what, params.scale));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckBounds(what, params, lowest, highest));
    if (params.zero_point < lowest || params.zero_point > highest) {
      return Invalid(what, ": zero point is ", params.zero_point,
                     ", the type holds [", lowest, ", ", highest, "]");
    }
    return absl::OkStatus();
  });
}

}  // namespace ruy_like
