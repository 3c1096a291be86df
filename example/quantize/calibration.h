// Example: the ranges of activations, observed on some images, and scales that
// follow from them.
#ifndef EXAMPLE_QUANTIZE_CALIBRATION_H_
#define EXAMPLE_QUANTIZE_CALIBRATION_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "example/quantize/float_net.h"
#include "example/quantize/quantized_net.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/ruy_like.h"

namespace digits {

class Calibration {
 public:
  // `tensors` are the inputs of each layer, in float, for `images` images.
  absl::Status Observe(std::vector<std::vector<float>> tensors, int images);

  // For the input of each layer.
  absl::StatusOr<std::vector<ruy_like::QuantParams>> InputParams(
      const ruy_like::CalibrationOptions& options) const;

  // Scales of weights and activations for which the quantized products are most
  // like the float ones (EqSearch), layer by layer. Zero points are 0.
  absl::StatusOr<std::vector<QuantizedLayer>> SearchScales(
      const FloatNet& folded, ruy_like::CalibrationMethod start, int bits,
      ruy_like::Context* context) const;

 private:
  int images_ = 0;
  std::vector<std::vector<float>> tensors_;
  std::vector<ruy_like::Observer> observers_;
};

}  // namespace digits

#endif  // EXAMPLE_QUANTIZE_CALIBRATION_H_
