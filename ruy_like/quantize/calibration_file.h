// Quantization toolkit, public: calibration that lasts. What observers saw and
// the parameters that were chosen, by the names of tensors, as a JSON file; and
// parameters as a calibration table of ncnn's.
//
// For tools that calibrate once and programs that load the result.
#ifndef RUY_LIKE_QUANTIZE_CALIBRATION_FILE_H_
#define RUY_LIKE_QUANTIZE_CALIBRATION_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/moving_average_observer.h"
#include "ruy_like/quantize/observer.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

struct CalibratedTensor {
  // UTF-8, not empty, of at most kMaxNameBytes.
  std::string name;
  // Each may be empty, have one element for the tensor, or one per channel.
  std::vector<QuantParams> params;
  std::vector<Observer> observers;
  std::vector<MovingAverageObserver> moving_averages = {};

  static constexpr std::size_t kMaxNameBytes = 4096;
};

// Names are distinct. As safe in several threads as a std::vector.
struct Calibration {
  std::vector<CalibratedTensor> tensors;

  // The tensor of that name; null if there is none.
  RUY_LIKE_EXPORT const CalibratedTensor* Find(absl::string_view name) const;
};

// ## JSON
//
//   {"format": "ruy_like-calibration", "version": 1, "tensors": [
//     {"name": "conv1",
//      "params": [{"scale": 0.05, "zero_point": 0, "qmin": -127, "qmax": 127}],
//      "observers": [{
//        "range": 0, "exponent": 3,
//        "finite": 100, "zeros": 20, "nonfinite": 0, "min": -6.5, "max": 7.25,
//        "sum": [...], "sum_of_squares": [...], "sum_of_magnitudes": [...],
//        "bins": [...]}]}]}
//
// A tensor with moving averages also has
//
//      "moving_averages": [
//        {"constant": 0.01, "batches": 7, "min": -1.5, "max": 2}]
//
// Members may come in any order. All are required and no others permitted, but
// an observer that streams and saw only zeros has no "exponent". "range" is
// that of SetRange, 0 for one that streams; the bins are 2048 and cover [0,
// range) or [0, 2^exponent). The sums are exact: 23 digits of 32 bits, the
// first of which is worth 2^-384; the last may be -1. Numbers of elements are
// below 2^62, and those in bins with the zeros are all finite ones.
//
// Objects that are read back are equal, bit for bit: an observer goes on as if
// it had never been saved. Reading is strict, takes memory of a few times the
// text, and never more stack for deeper nesting. Text of more than
// kMaxCalibrationBytes is refused.
//
// Errors of all functions here: InvalidArgument for tensors or text that are
// not as described, naming the tensor or the line; of those with a path also
// NotFound, PermissionDenied and other codes for what the system reports;
// ResourceExhausted.
constexpr std::size_t kMaxCalibrationBytes = std::size_t{256} << 20;

RUY_LIKE_EXPORT absl::StatusOr<std::string> CalibrationToJson(
    const Calibration& calibration);
RUY_LIKE_EXPORT absl::StatusOr<Calibration> CalibrationFromJson(
    absl::string_view json);

// Replaces an existing file. After an error the file may be there in part, and
// is then not valid.
RUY_LIKE_EXPORT absl::Status SaveCalibration(const Calibration& calibration,
                                             const std::string& path);
RUY_LIKE_EXPORT absl::StatusOr<Calibration> LoadCalibration(
    const std::string& path);

// ## ncnn's calibration table
//
// A line for each tensor: its name and its factors, separated by blanks. A
// factor is the inverse of a scale, 127 / threshold. "<layer>_param_<n>" is for
// weights, with one factor for each output channel, "<layer>" for the layer's
// input. Source: ncnn, tools/quantize/ncnn2table.cpp and ncnn2int8.cpp.
//
// Observers are not written. Parameters must be symmetric (zero point 0), names
// without blanks and of at most 255 bytes: InvalidArgument. Weights are written
// first, as ncnn does, with as many digits as a float has (ncnn writes six
// decimals).
//
// Read parameters have zero point 0 and [-127, 127]: a table does not say that
// ncnn quantizes weights of 3x3 convolutions to [-31, 31]. The factor inf,
// which ncnn writes for a channel of zeros, becomes scale 1, as in
// ChooseSymmetric.
RUY_LIKE_EXPORT absl::StatusOr<std::string> CalibrationToNcnnTable(
    const Calibration& calibration);
RUY_LIKE_EXPORT absl::StatusOr<Calibration> CalibrationFromNcnnTable(
    absl::string_view table);

RUY_LIKE_EXPORT absl::Status SaveNcnnTable(const Calibration& calibration,
                                           const std::string& path);
RUY_LIKE_EXPORT absl::StatusOr<Calibration> LoadNcnnTable(
    const std::string& path);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_CALIBRATION_FILE_H_
