// A 3x1 kernel for each of two channels, over four rows, with stride 2.
#include <cstdint>
#include <iostream>

#include "ruy_like/quantize/quantize.h"

int main() {
  const std::int8_t w[] = {1, 2, 1, -1, 0, 1};  // channels x taps
  const ruy_like::QuantParams w_params[] = {{0.25f}, {0.5f}};
  const std::uint8_t x[] = {128, 130, 132, 128, 140, 120, 128, 128};
  ruy_like::TensorView<const std::uint8_t> input = {
      x, {1, 4, 1, 2}, {1, 128, 0, 255}};
  ruy_like::Window window;
  window.kernel_height = 3;
  window.stride_height = 2;
  window.padding.top = 1;
  const auto weights =
      ruy_like::DepthwiseWeights::Pack(ruy_like::RowMajor(w, 2, 3), w_params);
  const auto shape = OutputShape(input.shape, window, /*channels=*/2);
  if (!weights.ok() || !shape.ok()) return 1;
  float y[2 * 2];
  ruy_like::TensorView<float> output = {y, *shape, {}};
  ruy_like::Context context;
  const absl::Status status =
      DepthwiseConv2D(input, *weights, ruy_like::BiasSpan<float>(), window,
                      /*workspace=*/nullptr, &context, &output);
  std::cout << status << "\n" << ruy_like::RowMajor(y, 2, 2);
}
