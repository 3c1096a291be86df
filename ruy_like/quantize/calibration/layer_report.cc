#include "ruy_like/quantize/layer_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/calibration/json.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/rounding.h"
#include "ruy_like/quantize/observer.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

absl::Status CheckLayer(absl::string_view name,
                        absl::Span<const float> reference,
                        absl::Span<const float> quantized,
                        const QuantParams& params) {
  if (!qi::IsUtf8(name)) {
    return Invalid("a layer's name is not UTF-8");
  }
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"reference", reference}));
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"quantized", quantized}));
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckParams("params", Scalar::kI32, params));
  if (!quantized.empty() && quantized.size() != reference.size()) {
    return Invalid(quantized.size(), " quantized values for ", reference.size(),
                   " of the reference");
  }
  return qi::CheckFinite("a quantized value", quantized);
}

double SnrDb(double signal, double noise) {
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal / noise);
}

// The sum of (reference - quantized)^2 over the finite values; without
// `quantized`, of quantizing the reference.
double Noise(absl::Span<const float> reference,
             absl::Span<const float> quantized, const QuantParams& params) {
  const float inverse = qi::InverseScale(params);
  double noise = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (!std::isfinite(reference[i])) continue;
    const double y =
        quantized.empty()
            ? qi::DequantizeOne(qi::QuantizeOne(reference[i], inverse, params),
                                params)
            : quantized[i];
    noise += (reference[i] - y) * (reference[i] - y);
  }
  return noise;
}

// Signal, noise and clipping, over the finite values.
void Measure(absl::Span<const float> reference,
             absl::Span<const float> quantized, LayerReport* report) {
  const QuantParams& params = report->params;
  const double lowest = static_cast<double>(params.qmin) - params.zero_point;
  const double highest = static_cast<double>(params.qmax) - params.zero_point;
  double signal = 0;
  std::uint64_t clipped = 0;
  for (const double x : reference) {
    if (!std::isfinite(x)) continue;
    signal += x * x;
    const double steps = x / params.scale;
    clipped += steps < lowest - 0.5 || steps > highest + 0.5 ? 1 : 0;
  }
  report->snr_db = SnrDb(signal, Noise(reference, quantized, params));
  const std::uint64_t finite = report->count - report->nonfinite;
  report->clipped_share =
      finite == 0 ? 0
                  : static_cast<double>(clipped) / static_cast<double>(finite);
  // No parameters hold ranges beyond float or steps beyond 24 bits.
  const absl::StatusOr<QuantParams> whole =
      clipped == 0
          ? params
          : ChooseAffine(report->min, report->max, params.qmin, params.qmax);
  if (!whole.ok()) return;
  const double loss =
      SnrDb(Noise(reference, {}, params), Noise(reference, {}, *whole));
  if (clipped == 0 || !(loss >= 1)) return;
  char text[160];
  absl::SNPrintF(text, sizeof(text),
                 "clipping to [%.4g, %.4g] loses %.1f dB more than the whole "
                 "range [%.4g, %.4g] would: see kMinMax and kMse",
                 lowest * params.scale, highest * params.scale, loss,
                 report->min, report->max);
  report->warning = text;
}

}  // namespace

absl::StatusOr<LayerReport> ReportLayer(absl::string_view name,
                                        absl::Span<const float> reference,
                                        absl::Span<const float> quantized,
                                        const QuantParams& params) {
  return CatchNoMemory([&]() -> absl::StatusOr<LayerReport> {
    RUY_LIKE_RETURN_IF_ERROR(CheckLayer(name, reference, quantized, params));
    Observer observer;
    RUY_LIKE_RETURN_IF_ERROR(observer.Observe(reference));
    LayerReport report;
    report.name = std::string(name);
    report.params = params;
    report.count = reference.size();
    report.nonfinite = observer.nonfinite_count();
    report.min = observer.min();
    report.max = observer.max();
    const MagnitudeHistogram histogram = observer.histogram();
    report.bin_width = histogram.bin_width;
    report.bins.assign(histogram.bins.begin(), histogram.bins.end());
    Measure(reference, quantized, &report);
    return report;
  });
}

absl::StatusOr<std::string> LayerReportTable(
    absl::Span<const LayerReport> layers) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::string> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"layers", layers}));
    std::size_t width = 5;
    for (const LayerReport& layer : layers) {
      width = std::max(width, layer.name.size());
    }
    // Formatted in a buffer: StrFormat may not throw std::bad_alloc.
    char numbers[160];
    absl::SNPrintF(numbers, sizeof(numbers), " %9s %10s %11s %11s %12s %10s\n",
                   "SNR, dB", "clipped, %", "min", "max", "scale", "values");
    std::string text = "layer";
    text.append(width - text.size(), ' ').append(numbers);
    for (const LayerReport& layer : layers) {
      absl::SNPrintF(numbers, sizeof(numbers),
                     " %9.2f %10.4f %11.5g %11.5g %12.6g %10d\n", layer.snr_db,
                     100 * layer.clipped_share, layer.min, layer.max,
                     layer.params.scale, layer.count);
      text += layer.name;
      text.append(width - layer.name.size(), ' ').append(numbers);
    }
    for (const LayerReport& layer : layers) {
      if (layer.warning.empty()) continue;
      absl::StrAppend(&text, layer.name, ": ", layer.warning, "\n");
    }
    return text;
  });
}

absl::StatusOr<std::string> LayerReportJson(
    absl::Span<const LayerReport> layers) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::string> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"layers", layers}));
    std::string text = "{\"layers\": [";
    const char* comma = "\n";
    for (const LayerReport& layer : layers) {
      if (!qi::IsUtf8(layer.name) || !qi::IsUtf8(layer.warning)) {
        return Invalid("a layer's name or warning is not UTF-8");
      }
      const QuantParams& params = layer.params;
      absl::StrAppend(
          &text, comma, " {\"name\": ", qi::JsonString(layer.name),
          ", \"scale\": ", qi::JsonNumber(params.scale),
          ", \"zero_point\": ", params.zero_point, ", \"qmin\": ", params.qmin,
          ", \"qmax\": ", params.qmax, ",\n  \"count\": ", layer.count,
          ", \"nonfinite\": ", layer.nonfinite,
          ", \"min\": ", qi::JsonNumber(layer.min),
          ", \"max\": ", qi::JsonNumber(layer.max), ", \"snr_db\": ",
          std::isfinite(layer.snr_db) ? absl::StrFormat("%.9g", layer.snr_db)
                                      : "null",
          ", \"warning\": ", qi::JsonString(layer.warning));
      char numbers[160];
      absl::SNPrintF(
          numbers, sizeof(numbers),
          ",\n  \"clipped_share\": %.9g, \"bin_width\": %.17g, \"bins\": [",
          layer.clipped_share, layer.bin_width);
      text += numbers;
      absl::StrAppend(&text, absl::StrJoin(layer.bins, ","), "]}");
      comma = ",\n";
    }
    text += "]}\n";
    return text;
  });
}

}  // namespace ruy_like
