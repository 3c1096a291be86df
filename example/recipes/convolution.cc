// A 3x3 convolution of an int8 image by the toolkit, with a ReLU.
#include <iostream>

#include "ruy_like/quantize/quantize.h"

namespace rl = ruy_like;

int main() {
  // Two output channels of one input channel: a blur and an edge detector.
  const std::int8_t w[2 * 9] = {1, 2,  1, 2,  4, 2,  1, 2,  1,
                                0, -1, 0, -1, 4, -1, 0, -1, 0};
  const rl::QuantParams w_params[] = {{1 / 16.0f, 0, -127, 127},
                                      {1.0f, 0, -127, 127}};
  rl::Context context;
  const auto weights =
      rl::PackedWeights::Pack(rl::RowMajor(w, 2, 9), w_params, &context);

  const std::int8_t pixels[4 * 4] = {0, 0, 0, 0, 0, 8, 8, 0,
                                     0, 8, 8, 0, 0, 0, 0, 0};
  rl::TensorView<const std::int8_t> input = {pixels, {1, 4, 4, 1}, {1.0f}};
  rl::Window window;
  window.kernel_height = window.kernel_width = 3;
  window.padding = SamePadding(input.shape, window).value();
  const auto shape = OutputShape(input.shape, window, /*channels=*/2);
  std::int8_t out[4 * 4 * 2];
  // Clamped at its zero point, 0: the ReLU.
  rl::TensorView<std::int8_t> output = {out, shape.value(), {1.0f, 0, 0, 127}};
  rl::Workspace workspace;  // to be used again for the next layer
  const absl::Status status = Conv2D(input, weights.value(), /*bias=*/{},
                                     window, &workspace, &context, &output);
  if (!status.ok()) std::cerr << status << "\n";
  std::cout << rl::RowMajor(out, 4 * 4, 2, 2);
}
