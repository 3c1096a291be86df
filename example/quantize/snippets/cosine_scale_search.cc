// Scales for a product: of weights and activations with outliers, so that the
// quantized product points where the float one does. By 8, 7 and 6 bits.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ruy_like/quantize/quantize.h"
#include "ruy_like/ruy_like.h"

double Gaussian(std::uint32_t* state) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    *state = 1664525 * *state + 1013904223;
    sum += (*state >> 8) / 16777216.0;
  }
  return sum;
}

int main() {
  constexpr int kRows = 4, kDepth = 32, kCols = 16;
  std::uint32_t state = 7;
  std::vector<float> w, a;
  for (int i = 0; i < kRows * kDepth; ++i) {
    const double deviation = i < kDepth ? 0.2 : 0.05;
    w.push_back(static_cast<float>(deviation * Gaussian(&state)));
  }
  for (int i = 0; i < kDepth * kCols; ++i) {
    a.push_back(static_cast<float>(std::max(0.0, Gaussian(&state))));
  }
  w[1 * kDepth + 3] = 0.9f;
  w[2 * kDepth + 5] = -0.5f;
  a[0] = 9;
  a[7 * kCols + 3] = 7.5f;

  using ruy_like::Order;
  ruy_like::Matrix<float> weights, activations;
  MakeSimpleLayout(kRows, kDepth, Order::kRowMajor, weights.mutable_layout());
  MakeSimpleLayout(kDepth, kCols, Order::kRowMajor,
                   activations.mutable_layout());
  weights.set_data(w.data());
  activations.set_data(a.data());
  ruy_like::Context context;
  for (const int bits : {8, 7, 6}) {
    ruy_like::EqOptions options;
    options.bits = bits;
    const auto result = EqSearch(weights, absl::MakeConstSpan(&activations, 1),
                                 options, &context);
    if (!result.ok()) return 1;
    std::printf("%d bits: cosine %.4f before, %.4f after; scales\n  ", bits,
                result->cos_init, result->cos_final);
    for (const auto& row : result->weights) std::printf(" %.6f", row.scale);
    std::printf(" of the rows, %.5f of the activations\n",
                result->activations.scale);
  }
}
