#include "ruy_like/quantize/bias.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

constexpr double kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr double kMinInt32 = std::numeric_limits<std::int32_t>::min();

absl::Status Validate(absl::Span<const float> bias, const QuantParams& input,
                      absl::Span<const QuantParams> weights,
                      absl::Span<std::int32_t> quantized) {
  if (quantized.size() != bias.size() ||
      (weights.size() != 1 && weights.size() != bias.size())) {
    return Invalid(bias.size(), " biases, but ", weights.size(),
                   " weight scales and ", quantized.size(),
                   " quantized biases to write");
  }
  RUY_LIKE_RETURN_IF_ERROR(
      qi::CheckMemory({{"bias", bias}}, {"quantized", quantized}));
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"weights", weights}));
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckScale("input", input.scale));
  for (const QuantParams& channel : weights) {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckScale("weights", channel.scale));
  }
  for (std::size_t c = 0; c < bias.size(); ++c) {
    if (std::isnan(bias[c])) {
      return Invalid("the bias of channel ", c, " is NaN");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::ptrdiff_t> QuantizeBias(
    absl::Span<const float> bias, const QuantParams& input,
    absl::Span<const QuantParams> weights, absl::Span<std::int32_t> quantized) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::ptrdiff_t> {
    RUY_LIKE_RETURN_IF_ERROR(Validate(bias, input, weights, quantized));
    std::ptrdiff_t saturated = 0;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      const double scale = static_cast<double>(input.scale) *
                           weights[weights.size() == 1 ? 0 : c].scale;
      const double value = std::round(bias[c] / scale);
      const double clamped = std::clamp(value, kMinInt32, kMaxInt32);
      if (clamped != value) ++saturated;
      quantized[c] = static_cast<std::int32_t>(clamped);
    }
    return saturated;
  });
}

absl::StatusOr<std::vector<std::int32_t>> NarrowBias(
    absl::Span<const std::int64_t> bias) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::vector<std::int32_t>> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"bias", bias}));
    std::vector<std::int32_t> narrow;
    for (const std::int64_t value : bias) {
      narrow.push_back(static_cast<std::int32_t>(value));
      if (narrow.back() == value) continue;
      return Invalid("the bias of channel ", narrow.size() - 1, ", ", value,
                     ", does not fit int32");
    }
    return narrow;
  });
}

}  // namespace ruy_like
