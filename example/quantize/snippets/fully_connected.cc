// Two images of three values by two outputs, int8 throughout.
#include <cstdint>
#include <iostream>

#include "ruy_like/quantize/quantize.h"

int main() {
  const std::int8_t w[] = {64, -127, 32, 127, 32, -64};  // outputs x inputs
  const ruy_like::QuantParams w_params[] = {{0.01f, 0, -127, 127},
                                            {0.06f, 0, -127, 127}};
  const float bias[] = {0.125f, -1};
  const std::int8_t x[] = {10, 20, 40, 100, -50, 0};
  std::int8_t y[2 * 2];
  ruy_like::TensorView<const std::int8_t> input = {x, {2, 1, 1, 3}, {0.1f, 3}};
  ruy_like::TensorView<std::int8_t> output = {y, {2, 1, 1, 2}, {0.5f, -10}};

  ruy_like::Context context;
  const auto weights = ruy_like::PackedWeights::Pack(
      ruy_like::RowMajor(w, 2, 3), w_params, &context);
  std::int32_t quantized_bias[2];
  const auto saturated = QuantizeBias(bias, input.params, w_params,
                                      absl::MakeSpan(quantized_bias));
  if (!weights.ok() || !saturated.ok()) return 1;
  ruy_like::Workspace workspace;
  const absl::Status status = FullyConnected(
      input, *weights, ruy_like::BiasSpan<std::int8_t>(quantized_bias),
      &workspace, &context, &output);
  std::cout << status << "\n" << ruy_like::RowMajor(y, 2, 2);
}
