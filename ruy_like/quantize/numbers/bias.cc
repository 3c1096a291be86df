#include "ruy_like/quantize/bias.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

constexpr double kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr double kMinInt32 = std::numeric_limits<std::int32_t>::min();

absl::Status Validate(absl::Span<const float> bias, const QuantParams& input,
                      absl::Span<const QuantParams> weights,
                      absl::Span<std::int32_t> quantized) {
  if (quantized.size() != bias.size() ||
      (weights.size() != 1 && weights.size() != bias.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        bias.size(), " biases, but ", weights.size(), " weight scales and ",
        quantized.size(), " quantized biases to write"));
  }
  namespace qi = quantize_internal;
  absl::Status status = qi::CheckSpan("bias", bias);
  if (status.ok()) status = qi::CheckSpan("weights", weights);
  if (status.ok()) status = qi::CheckSpan("quantized", quantized);
  if (status.ok()) {
    status = qi::CheckDisjoint("bias", bias, "quantized", quantized);
  }
  if (!status.ok()) return status;
  status = qi::CheckScale("input", input.scale);
  for (std::size_t c = 0; status.ok() && c < weights.size(); ++c) {
    status = qi::CheckScale("weights", weights[c].scale);
  }
  if (!status.ok()) return status;
  for (std::size_t c = 0; c < bias.size(); ++c) {
    if (std::isnan(bias[c])) {
      return absl::InvalidArgumentError(
          absl::StrCat("the bias of channel ", c, " is NaN"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::ptrdiff_t> QuantizeBias(
    absl::Span<const float> bias, const QuantParams& input,
    absl::Span<const QuantParams> weights, absl::Span<std::int32_t> quantized) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::ptrdiff_t> {
    const absl::Status status = Validate(bias, input, weights, quantized);
    if (!status.ok()) return status;
    std::ptrdiff_t saturated = 0;
    for (std::size_t c = 0; c < bias.size(); ++c) {
      const double scale = static_cast<double>(input.scale) *
                           weights[weights.size() == 1 ? 0 : c].scale;
      double value = std::round(bias[c] / scale);
      if (value > kMaxInt32 || value < kMinInt32) {
        value = value > 0 ? kMaxInt32 : kMinInt32;
        ++saturated;
      }
      quantized[c] = static_cast<std::int32_t>(value);
    }
    return saturated;
  });
}

}  // namespace ruy_like
