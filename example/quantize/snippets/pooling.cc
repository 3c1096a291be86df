// 2x2 pooling of a 2x4 image with one channel.
#include <cstdint>
#include <iostream>

#include "ruy_like/quantize/quantize.h"

int main() {
  const std::int8_t x[] = {1, 2, 3, 4, 5, 6, -7, -8};
  std::int8_t y[2];
  const ruy_like::QuantParams params = {0.1f, 3};  // in and out
  ruy_like::TensorView<const std::int8_t> input = {x, {1, 2, 4, 1}, params};
  ruy_like::TensorView<std::int8_t> output = {y, {1, 1, 2, 1}, params};
  ruy_like::Window window;
  window.kernel_height = window.kernel_width = 2;
  window.stride_height = window.stride_width = 2;
  ruy_like::Context context;
  absl::Status status =
      MaxPool2D(input, window, /*workspace=*/nullptr, &context, &output);
  std::cout << status << "\nmax " << ruy_like::RowMajor(y, 1, 2);
  status =
      AveragePool2D(input, window, /*workspace=*/nullptr, &context, &output);
  std::cout << status << "\naverage " << ruy_like::RowMajor(y, 1, 2);
}
