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
    // The layer as a product: its weights by the patches of all images.
    std::vector<float> patches;
    Im2Col(layer, tensors_[i].data(), images_, &patches);
    ruy_like::Matrix<float> activations;
    MakeSimpleLayout(
        layer.depth(),
        static_cast<std::ptrdiff_t>(patches.size()) / layer.depth(),
        ruy_like::Order::kColMajor, activations.mutable_layout());
    activations.set_data(patches.data());
    auto found =
        EqSearch(WeightMatrix(layer), absl::MakeConstSpan(&activations, 1),
                 options, context, layer.bias);
    if (!found.ok()) return found.status();
    layers.push_back({std::move(found->weights), found->activations});
  }
  return layers;
}

}  // namespace digits
