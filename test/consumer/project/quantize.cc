// A user's program of the second library: a tensor there and back, an error.
#include "ruy_like/quantize/quantize.h"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  const std::vector<float> x = {-1, -0.25f, 0, 0.5f, 1};
  ruy_like::Observer observer;
  if (!observer.Observe(x).ok()) return 1;
  ruy_like::CalibrationOptions options;
  options.method = ruy_like::CalibrationMethod::kMinMax;
  const auto params = observer.ChooseParams(options);
  if (!params.ok()) {
    std::cerr << params.status() << "\n";
    return 2;
  }
  std::vector<std::int8_t> q(x.size());
  std::vector<float> back(x.size());
  ruy_like::Context context;
  if (!ruy_like::Quantize(absl::MakeConstSpan(x), *params, absl::MakeSpan(q),
                          &context)
           .ok() ||
      !ruy_like::Dequantize(absl::MakeConstSpan(q), *params,
                            absl::MakeSpan(back), &context)
           .ok()) {
    return 3;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::abs(back[i] - x[i]) > params->scale / 2) return 4;
  }
  if (ruy_like::ChooseAffine(1, -1, 0, 255).ok()) return 5;
  return 0;
}
