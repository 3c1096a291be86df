// Dynamic quantization in one pass: weights with a scale per output channel,
// activations quantized on the fly with a scale per token, float out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace {

// Symmetric int8 for each group of `size` values; returns the groups' scales.
std::vector<float> Quantize(const std::vector<float>& values, std::size_t size,
                            std::vector<std::int8_t>* quantized) {
  std::vector<float> scales;
  for (std::size_t group = 0; group < values.size(); group += size) {
    float highest = 0;
    for (std::size_t i = group; i < group + size; ++i) {
      highest = std::max(highest, std::fabs(values[i]));
    }
    const float scale = highest == 0 ? 1 : highest / 127;
    for (std::size_t i = group; i < group + size; ++i) {
      quantized->push_back(
          static_cast<std::int8_t>(std::lround(values[i] / scale)));
    }
    scales.push_back(scale);
  }
  return scales;
}

}  // namespace

int main() {
  constexpr int kChannels = 2, kDepth = 3, kTokens = 2;
  // Once: a row per output channel.
  std::vector<std::int8_t> weights;
  const std::vector<float> weight_scales =
      Quantize({0.5f, -1.0f, 0.25f, 8.0f, 2.0f, -4.0f}, kDepth, &weights);
  const float bias[] = {0.125f, -1.0f};  // of each channel, in float
  // For each batch: a column per token.
  std::vector<std::int8_t> tokens;
  const std::vector<float> token_scales =
      Quantize({1.0f, 2.0f, 4.0f, 100.0f, -50.0f, 0.0f}, kDepth, &tokens);

  using ruy_like::Order;
  ruy_like::Matrix<std::int8_t> lhs, rhs;
  MakeSimpleLayout(kChannels, kDepth, Order::kRowMajor, lhs.mutable_layout());
  MakeSimpleLayout(kDepth, kTokens, Order::kColMajor, rhs.mutable_layout());
  lhs.set_data(weights.data());
  lhs.set_cache_policy(ruy_like::CachePolicy::kAlwaysCache);
  rhs.set_data(tokens.data());
  float result[kChannels * kTokens];
  ruy_like::Matrix<float> dst;
  MakeSimpleLayout(kChannels, kTokens, Order::kColMajor, dst.mutable_layout());
  dst.set_data(result);

  ruy_like::MulParams<std::int32_t, float> params;
  params.set_lhs_scale_perrow(weight_scales.data());
  params.set_rhs_scale_percol(token_scales.data());
  params.set_bias(bias);
  ruy_like::Context context;
  absl::Status status = ruy_like::Mul(lhs, rhs, params, &context, &dst);

  // The next layer's product goes on top of it: dst = product + 1 * dst.
  ruy_like::MulParams<float, float> residual_params;
  residual_params.set_beta(1);
  const float identity[] = {1, 0, 0, 1};
  const float skipped[] = {10, 20, 30, 40};
  ruy_like::Matrix<float> a, b;
  MakeSimpleLayout(2, 2, Order::kRowMajor, a.mutable_layout());
  MakeSimpleLayout(2, 2, Order::kColMajor, b.mutable_layout());
  a.set_data(identity);
  b.set_data(skipped);
  if (status.ok()) {
    std::cout << dst;
    status = ruy_like::Mul(a, b, residual_params, &context, &dst);
  }
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << dst;
}
