// Y = X W^T + b, all row-major, float in and out, with products in int8.
#include <iostream>
#include <thread>

#include "ruy_like/quantize/quantize.h"
namespace rl = ruy_like;

// Quantizes each row of x with a scale of its own, and returns the scales.
std::vector<float> ToInt8(const rl::Matrix<float>& x, rl::Matrix<int8_t> q) {
  const auto params = ChooseSymmetricChannels(x, rl::ChannelDimension::kRow, 8);
  if (!QuantizeRows(x, params.value(), &q).ok()) std::abort();
  std::vector<float> scales;
  for (const rl::QuantParams& row : *params) scales.push_back(row.scale);
  return scales;
}
int main() {
  const float w[] = {0.5f, -1, 0.25f, 8, 2, -4}, bias[] = {0.125f, -1};
  int8_t w8[6];  // 2 outputs of 3 inputs: quantized and packed once
  const auto w_scales = ToInt8(rl::RowMajor(w, 2, 3), rl::RowMajor(w8, 2, 3));
  rl::Context context;
  const auto packed = Pack(rl::ColMajor(w8, 3, 2), rl::Side::kRhs,
                           {rl::Order::kRowMajor}, &context);
  const auto layer = [&](std::vector<float> x, int batch, rl::Matrix<float> y) {
    std::vector<int8_t> x8(x.size());
    const auto lhs = rl::RowMajor(x8, batch, 3);
    const auto x_scales = ToInt8(rl::RowMajor(x, batch, 3), lhs);
    rl::MulParams<int32_t, float> params;
    params.set_lhs_scale_perrow(x_scales.data());
    params.set_rhs_scale_percol(w_scales.data());
    params.set_bias(bias);
    params.set_channel_dimension(rl::ChannelDimension::kCol);
    rl::Context own;  // one for each thread
    if (!Mul(lhs, packed.value(), params, &own, &y).ok()) std::abort();
  };
  float y[2], ys[16 * 2];
  std::thread other(layer, std::vector<float>(48), 16, rl::RowMajor(ys, 16, 2));
  layer({1, 2, 4}, 1, rl::RowMajor(y, 1, 2));
  other.join();
  std::cout << rl::RowMajor(y, 1, 2) << rl::RowMajor(ys, 2, 2);
}
