// Quantization toolkit, public: LayerReport, what quantization did to the
// outputs of one layer, as a table and as JSON for example/quantize/plot.py.
//
// For finding the layers at which a quantized network loses accuracy. Run
// offline.
#ifndef RUY_LIKE_QUANTIZE_LAYER_REPORT_H_
#define RUY_LIKE_QUANTIZE_LAYER_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

struct LayerReport {
  std::string name;
  QuantParams params;
  // Values of the reference: all, and those that are NaN or infinite, which
  // count nowhere else.
  std::uint64_t count = 0, nonfinite = 0;
  float min = 0, max = 0;
  // 10 log10(sum of reference^2 / sum of (reference - quantized)^2), in dB:
  // infinite where nothing was lost, minus infinite where only noise is left.
  double snr_db = 0;
  // Share, in [0, 1], of the finite values that lie more than half a step
  // beyond what [qmin, qmax] stands for.
  double clipped_share = 0;
  // Not empty where clipping costs more than the finer steps gain: quantizing
  // the reference by `params` loses at least 1 dB more than by a range that
  // holds all of its values.
  std::string warning;
  // Magnitudes of the reference other than 0, as Observer::histogram: bins from
  // 0, each bin_width wide. Empty, with width 0, where there are none.
  double bin_width = 0;
  std::vector<std::uint64_t> bins;
};

// reference: outputs of the float layer. quantized: what the quantized layer
// made of the same inputs, dequantized, in the same order; empty for what
// quantizing the reference by `params` alone loses. params: the outputs'
// parameters.
//
// Errors of all functions here: InvalidArgument for null data, sizes that
// differ, quantized values that are not finite, parameters that are not valid,
// names that are not UTF-8; ResourceExhausted. Callable from any thread.
RUY_LIKE_EXPORT absl::StatusOr<LayerReport> ReportLayer(
    absl::string_view name, absl::Span<const float> reference,
    absl::Span<const float> quantized, const QuantParams& params);

// A table with a line for each layer and one for the column names; a line for
// each warning.
RUY_LIKE_EXPORT absl::StatusOr<std::string> LayerReportTable(
    absl::Span<const LayerReport> layers);

// {"layers": [{"name": "conv1", "scale": 0.1, "zero_point": 3, "qmin": -128,
//   "qmax": 127, "count": 9, "nonfinite": 0, "min": -1, "max": 2,
//   "snr_db": 35.5, "warning": "", "clipped_share": 0.001, "bin_width": 0.01,
//   "bins": [...]}]}
//
// An SNR that is not finite is null.
RUY_LIKE_EXPORT absl::StatusOr<std::string> LayerReportJson(
    absl::Span<const LayerReport> layers);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_LAYER_REPORT_H_
