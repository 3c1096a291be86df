// Where to clip 65,536 numbers that are nearly normal: by relative entropy, for
// int8 and int7, and by the other methods.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ruy_like/quantize/quantize.h"

int main() {
  std::vector<float> values;
  std::uint32_t state = 1;
  for (int i = 0; i < 65536; ++i) {
    double sum = -6;  // twelve uniform numbers have variance 1
    for (int j = 0; j < 12; ++j) {
      state = 1664525 * state + 1013904223;
      sum += (state >> 8) / 16777216.0;
    }
    values.push_back(static_cast<float>(sum));
  }
  // The first pass finds the range, the second one counts.
  ruy_like::Observer range, observer;
  absl::Status status = range.Observe(values);
  status.Update(observer.SetRange(range.absmax()));
  status.Update(observer.Observe(values));
  if (!status.ok()) return 1;
  std::printf("largest magnitude %.6f, standard deviation %.6f\n",
              observer.absmax(), observer.standard_deviation());

  for (const int levels : {128, 64}) {
    const auto entropy =
        ruy_like::ChooseEntropyThreshold(observer.histogram(), levels);
    if (!entropy.ok()) return 1;
    std::printf("%3d levels: %d of %d bins, threshold %.6f, divergence %.5f\n",
                levels, entropy->bins, ruy_like::Observer::kBins,
                entropy->threshold, entropy->divergence);
  }
  using Method = ruy_like::CalibrationMethod;
  for (const Method method :
       {Method::kEntropy, Method::kMinMax, Method::kPercentile, Method::kMse,
        Method::kAciqGauss, Method::kAciqLaplace, Method::kAciqRange}) {
    ruy_like::CalibrationOptions options;
    options.method = method;
    const auto params = observer.ChooseParams(options);
    if (!params.ok()) return 1;
    std::printf("%-12s scale %.8f = threshold %.5f / 127\n",
                CalibrationMethodName(method), params->scale,
                127 * params->scale);
  }
}
