#include "ruy_like/quantize/bias_correction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/calibration/channel_columns.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/rounding.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

// bias -= error, if all of that can be said with floats.
absl::Status Subtract(const std::vector<double>& error,
                      absl::Span<float> bias) {
  for (std::size_t c = 0; c < error.size(); ++c) {
    if (!qi::IsFloat(bias[c] - error[c])) {
      return Invalid("channel ", c, " has a bias of ", bias[c],
                     " and a mean error of ", error[c],
                     ", of values that are not finite or too large");
    }
  }
  for (std::size_t c = 0; c < error.size(); ++c) {
    bias[c] = static_cast<float>(bias[c] - error[c]);
  }
  return absl::OkStatus();
}

// The integral of x * p(x) and of p(x), the standard normal density, up to x.
struct NormalIntegrals {
  explicit NormalIntegrals(double x)
      : first(-std::exp(-x * x / 2) / std::sqrt(8 * std::atan(1))),
        zeroth(std::erfc(-x / std::sqrt(2.0)) / 2) {}
  double first, zeroth;
};

double MeanOfClipped(double mean, double deviation, double lowest,
                     double highest) {
  if (deviation == 0) return std::clamp(mean, lowest, highest);
  const NormalIntegrals a((lowest - mean) / deviation);
  const NormalIntegrals b((highest - mean) / deviation);
  double sum = mean * (b.zeroth - a.zeroth) + deviation * (b.first - a.first);
  if (std::isfinite(lowest)) sum += lowest * a.zeroth;
  if (std::isfinite(highest)) sum += highest * (1 - b.zeroth);
  return std::clamp(sum, lowest, highest);
}

}  // namespace

absl::StatusOr<std::vector<float>> MeansOfClippedNormals(
    absl::Span<const float> means, absl::Span<const float> deviations,
    float lowest, float highest) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::vector<float>> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckNormals(means, deviations));
    if (!(lowest <= highest)) {
      return Invalid("clipped to [", lowest, ", ", highest, "]");
    }
    std::vector<float> clipped;
    for (std::size_t c = 0; c < means.size(); ++c) {
      const double mean =
          MeanOfClipped(means[c], deviations[c], lowest, highest);
      if (!qi::IsFloat(mean)) return Invalid("no float holds mean ", c);
      clipped.push_back(static_cast<float>(mean));
    }
    return clipped;
  });
}

absl::Status CorrectBias(const Matrix<float>& weights,
                         absl::Span<const QuantParams> params,
                         absl::Span<const float> input_means,
                         absl::Span<float> bias, ChannelColumns columns) {
  return CatchNoMemory([&]() -> absl::Status {
    const qi::Erased erased = weights;
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("weights", erased));
    const std::ptrdiff_t rows = weights.layout().rows();
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckBiasCount(bias.size(), "weights", rows));
    RUY_LIKE_RETURN_IF_ERROR(
        qi::CheckChannelParams("params", params, rows, Scalar::kI16));
    const qi::InputChannels inputs(
        columns, weights.layout(),
        static_cast<std::ptrdiff_t>(input_means.size()));
    RUY_LIKE_RETURN_IF_ERROR(inputs.Check());
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckMemory(
        {{"weights", erased}, {"input_means", input_means}, {"params", params}},
        {"bias", bias}));
    std::vector<double> error(bias.size());
    for (std::ptrdiff_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::size_t>(row);
      const QuantParams& p = params.size() == 1 ? params[0] : params[r];
      const float inverse = qi::InverseScale(p);
      for (std::ptrdiff_t col = 0; col < weights.layout().cols(); ++col) {
        const float weight = Element(weights, row, col);
        const double quantized =
            qi::DequantizeOne(qi::QuantizeOne(weight, inverse, p), p);
        error[r] +=
            (quantized - weight) * input_means[inputs.ChannelOf(row, col)];
      }
    }
    return Subtract(error, bias);
  });
}

absl::Status CorrectMeasuredBias(const Matrix<float>& reference,
                                 const Matrix<float>& quantized,
                                 ChannelDimension channels,
                                 absl::Span<float> bias) {
  return CatchNoMemory([&]() -> absl::Status {
    const qi::Erased a = reference, b = quantized;
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("reference", a));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("quantized", b));
    const std::ptrdiff_t rows = reference.layout().rows();
    const std::ptrdiff_t cols = reference.layout().cols();
    if (quantized.layout().rows() != rows ||
        quantized.layout().cols() != cols) {
      return Invalid("reference is ", qi::Describe(a), ", quantized ",
                     qi::Describe(b));
    }
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckDimension(channels));
    const bool by_row = channels == ChannelDimension::kRow;
    RUY_LIKE_RETURN_IF_ERROR(
        qi::CheckBiasCount(bias.size(), "weights", by_row ? rows : cols));
    RUY_LIKE_RETURN_IF_ERROR(
        qi::CheckMemory({{"reference", a}, {"quantized", b}}, {"bias", bias}));
    if (rows == 0 || cols == 0) return absl::OkStatus();
    std::vector<double> error(bias.size());
    qi::ForEachElement(reference.layout(),
                       [&](std::ptrdiff_t row, std::ptrdiff_t col) {
                         error[static_cast<std::size_t>(by_row ? row : col)] +=
                             static_cast<double>(Element(quantized, row, col)) -
                             Element(reference, row, col);
                       });
    const auto outputs = static_cast<double>(by_row ? cols : rows);
    for (double& sum : error) sum /= outputs;
    return Subtract(error, bias);
  });
}

}  // namespace ruy_like
