// One program observes a tensor and saves what it saw; another loads it,
// chooses parameters and reports what they lose.
#include <cstdint>
#include <iostream>
#include <vector>

#include "ruy_like/quantize/quantize.h"

int main() {
  std::vector<float> values;  // outputs of a float layer
  for (int i = -50; i < 200; ++i) values.push_back(static_cast<float>(i) / 32);
  {
    ruy_like::Observer observer;
    ruy_like::Calibration calibration;
    if (!observer.Observe(values).ok()) return 1;
    calibration.tensors.push_back({"conv1", /*params=*/{}, {observer}});
    if (!SaveCalibration(calibration, "calibration.json").ok()) return 1;
  }
  const auto loaded = ruy_like::LoadCalibration("calibration.json");
  if (!loaded.ok()) {
    std::cerr << loaded.status() << "\n";
    return 1;
  }
  ruy_like::CalibrationOptions options;
  options.method = ruy_like::CalibrationMethod::kMinMax;
  options.scheme = ruy_like::QuantScheme::kAffineSigned;
  const ruy_like::CalibratedTensor* const tensor = loaded->Find("conv1");
  if (tensor == nullptr || tensor->observers.empty()) return 1;
  const auto params = tensor->observers[0].ChooseParams(options);
  if (!params.ok()) return 1;

  // In the place of the integer layer's outputs.
  std::vector<std::int8_t> q(values.size());
  std::vector<float> back(values.size());
  absl::Status status =
      ruy_like::Quantize<std::int8_t>(values, *params, absl::MakeSpan(q));
  status.Update(
      ruy_like::Dequantize<std::int8_t>(q, *params, absl::MakeSpan(back)));
  const auto report = ruy_like::ReportLayer("conv1", values, back, *params);
  if (!status.ok() || !report.ok()) return 1;
  std::cout << LayerReportTable(absl::MakeConstSpan(&*report, 1)).value();
}
