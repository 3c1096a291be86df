#include "ruy_like/quantize/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

constexpr float kDeadVariance = 10;  // in epsilons

// The memory of all operands; none is among what is written.
absl::Status ValidateMemory(const BatchNorm& norm, const Matrix<float>* weights,
                            absl::Span<float> bias) {
  const qi::Erased erased = weights;
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckWritable("weights", erased));
  RUY_LIKE_RETURN_IF_ERROR(
      qi::CheckBiasCount(bias.size(), "weights", weights->layout().rows()));
  RUY_LIKE_RETURN_IF_ERROR(
      qi::CheckDisjoint({"weights", erased}, {"bias", bias}));
  for (const qi::Memory& written :
       {qi::Memory("weights", erased), qi::Memory("bias", bias)}) {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckMemory({{"gamma", norm.gamma},
                                              {"beta", norm.beta},
                                              {"mean", norm.mean},
                                              {"variance", norm.variance}},
                                             written));
  }
  return absl::OkStatus();
}

absl::Status ValidateNorm(const BatchNorm& norm, std::size_t channels) {
  const auto fits = [channels](absl::Span<const float> values) {
    return values.size() == channels;
  };
  if (!fits(norm.mean) || !fits(norm.variance) ||
      !(norm.gamma.empty() || fits(norm.gamma)) ||
      !(norm.beta.empty() || fits(norm.beta))) {
    return Invalid(norm.gamma.size(), " gammas, ", norm.beta.size(), " betas, ",
                   norm.mean.size(), " means and ", norm.variance.size(),
                   " variances for ", channels, " channels");
  }
  if (!(norm.epsilon >= 0) || !std::isfinite(norm.epsilon)) {
    return Invalid("epsilon is ", norm.epsilon);
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const float variance = norm.variance[c];
    if (!std::isfinite(variance) || variance < 0 ||
        !(static_cast<double>(variance) + norm.epsilon > 0)) {
      return Invalid("channel ", c, " has variance ", variance,
                     " with epsilon ", norm.epsilon);
    }
    if (!std::isfinite(norm.mean[c]) ||
        !(norm.gamma.empty() || std::isfinite(norm.gamma[c])) ||
        !(norm.beta.empty() || std::isfinite(norm.beta[c]))) {
      return Invalid("channel ", c,
                     " has a gamma, beta or mean that is not finite");
    }
  }
  return absl::OkStatus();
}

double GainOf(const BatchNorm& norm, std::size_t channel) {
  const double gamma = norm.gamma.empty() ? 1 : norm.gamma[channel];
  return gamma /
         std::sqrt(static_cast<double>(norm.variance[channel]) + norm.epsilon);
}

// function(result, &number) for a channel's bias and weights.
template <typename Function>
void ForEachResult(const BatchNorm& norm, std::size_t channel,
                   Matrix<float>* weights, absl::Span<float> bias,
                   const Function& function) {
  const double gain = GainOf(norm, channel);
  const double beta = norm.beta.empty() ? 0 : norm.beta[channel];
  function(
      beta + gain * (static_cast<double>(bias[channel]) - norm.mean[channel]),
      &bias[channel]);
  const auto row = static_cast<std::ptrdiff_t>(channel);
  for (std::ptrdiff_t col = 0; col < weights->layout().cols(); ++col) {
    float* const weight = ElementPtr(weights, row, col);
    function(gain * *weight, weight);
  }
}

// InvalidArgument unless floats hold all results. Gains beyond that may give
// such results, but are not to be reported.
absl::Status ValidateResults(const BatchNorm& norm, Matrix<float>* weights,
                             absl::Span<float> bias) {
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const double gain = GainOf(norm, c);
    bool all_fit = qi::IsFloat(gain);
    ForEachResult(norm, c, weights, bias, [&](double result, float*) {
      all_fit &= qi::IsFloat(result);
    });
    if (!all_fit) {
      return Invalid(
          "channel ", c, " with gain ", gain,
          " has weights or a bias that are not finite, or would not be");
    }
  }
  return absl::OkStatus();
}

double MedianOf(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 != 0 ? values[middle]
                                : (values[middle - 1] + values[middle]) / 2;
}

BatchNormReport ReportOn(const BatchNorm& norm, std::size_t channels) {
  BatchNormReport report;
  if (channels == 0) return report;
  std::vector<double> gains(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    gains[c] = std::abs(GainOf(norm, c));
    if (norm.variance[c] < kDeadVariance * norm.epsilon) {
      report.dead_channels.push_back(static_cast<std::ptrdiff_t>(c));
    }
  }
  const double max = *std::max_element(gains.begin(), gains.end());
  const double median = MedianOf(std::move(gains));
  report.max_gain = static_cast<float>(max);
  report.median_gain = static_cast<float>(median);
  if (median > 0) {
    report.max_over_median = static_cast<float>(max / median);
  } else if (max > 0) {
    report.max_over_median = std::numeric_limits<float>::infinity();
  }
  return report;
}

}  // namespace

absl::StatusOr<BatchNormReport> FoldBatchNorm(const BatchNorm& norm,
                                              Matrix<float>* weights,
                                              absl::Span<float> bias) {
  return CatchNoMemory([&]() -> absl::StatusOr<BatchNormReport> {
    RUY_LIKE_RETURN_IF_ERROR(ValidateMemory(norm, weights, bias));
    RUY_LIKE_RETURN_IF_ERROR(ValidateNorm(norm, bias.size()));
    RUY_LIKE_RETURN_IF_ERROR(ValidateResults(norm, weights, bias));
    // Before anything is written: it takes memory.
    BatchNormReport report = ReportOn(norm, bias.size());
    for (std::size_t c = 0; c < bias.size(); ++c) {
      ForEachResult(norm, c, weights, bias, [](double result, float* number) {
        *number = static_cast<float>(result);
      });
    }
    return report;
  });
}

}  // namespace ruy_like
