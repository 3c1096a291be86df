// A layer with float input and output that multiplies in int8: quantize,
// multiply, dequantize. Two input channels, four pixels.
#include <cstdint>
#include <iostream>

#include "absl/types/span.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/ruy_like.h"

using ruy_like::ChannelDimension;
using ruy_like::Matrix;
using ruy_like::Order;

template <typename T>
Matrix<T> View(T* data, int rows, int cols) {
  Matrix<T> matrix;
  MakeSimpleLayout(rows, cols, Order::kRowMajor, matrix.mutable_layout());
  matrix.set_data(data);
  return matrix;
}

int main() {
  float w[] = {0.3f, -0.6f, 1.2f, 0.05f};  // output x input channels
  float x[] = {0.5f, -1, 0.25f, 2, -0.125f, 0.75f, -2, 1};
  const float bias[] = {0.1f, -0.2f};
  std::int8_t qw[4], qx[8];
  std::int32_t acc[8];
  float y[8];
  Matrix<float> weights = View(w, 2, 2), input = View(x, 2, 4);
  Matrix<float> output = View(y, 2, 4);
  Matrix<std::int8_t> lhs = View(qw, 2, 2), rhs = View(qx, 2, 4);
  Matrix<std::int32_t> sums = View(acc, 2, 4);

  // Once: a scale for each output channel of the weights, and one for the
  // input, whose threshold calibration found to be 2.
  const auto weight_params =
      ChooseSymmetricChannels(weights, ChannelDimension::kRow, 8);
  const auto input_params = ruy_like::ChooseSymmetric(2, 8);
  if (!weight_params.ok() || !input_params.ok()) return 1;
  absl::Status status = QuantizeRows(weights, *weight_params, &lhs);

  // For each input.
  ruy_like::Context context;
  status.Update(Quantize(input, *input_params, &rhs));
  const ruy_like::MulParams<std::int32_t, std::int32_t> raw;
  status.Update(Mul(lhs, rhs, raw, &context, &sums));
  const float scale[] = {(*weight_params)[0].scale * input_params->scale,
                         (*weight_params)[1].scale * input_params->scale};
  status.Update(
      DequantizeAcc(sums, scale, bias, ChannelDimension::kRow, &output));
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << "input\n" << rhs << "weights\n" << lhs;
  std::cout << "sums\n" << sums << "output\n" << output;
}
