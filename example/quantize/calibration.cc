#include "example/quantize/calibration.h"

#include <algorithm>
#include <utility>

namespace digits {

absl::Status Calibration::Observe(std::vector<std::vector<float>> tensors,
                                  int images) {
  images_ = images;
  for (std::vector<float>& tensor : tensors) {
    ruy_like::Observer observer;
    const absl::Status status = observer.Observe(tensor);
    if (!status.ok()) return status;
    observers_.push_back(std::move(observer));
    tensors_.push_back(std::move(tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ruy_like::QuantParams>> Calibration::InputParams(
    const ruy_like::CalibrationOptions& options) const {
  std::vector<ruy_like::QuantParams> params;
  for (const ruy_like::Observer& observer : observers_) {
    const auto of_layer = observer.ChooseParams(options);
    if (!of_layer.ok()) return of_layer.status();
    params.push_back(*of_layer);
  }
  return params;
}

absl::StatusOr<std::vector<QuantizedLayer>> Calibration::SearchScales(
    const FloatNet& folded, ruy_like::CalibrationMethod start, int bits,
    ruy_like::Context* context) const {
  ruy_like::EqOptions options;
  options.start = start;
  options.bits = bits;
  std::vector<QuantizedLayer> layers;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    const Layer& layer = folded[i];
    const ruy_like::TensorView<const float> inputs = {
        tensors_[i].data(),
        {images_, layer.in_side, layer.in_side, layer.in_channels},
        {}};
    ruy_like::Window window;
    window.kernel_height = window.kernel_width = layer.kernel;
    window.padding = {layer.padding, layer.padding, layer.padding,
                      layer.padding};
    auto found =
        EqSearchConv2D(WeightMatrix(layer), absl::MakeConstSpan(&inputs, 1),
                       window, options, context, layer.bias);
    if (!found.ok()) return found.status();
    layers.push_back({std::move(found->weights), found->activations});
  }
  return layers;
}

}  // namespace digits
