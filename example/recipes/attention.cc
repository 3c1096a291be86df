// Attention with two heads: softmax(Q K^T / sqrt(d)) V for each, where a
// token's heads lie side by side in one row.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  constexpr int kTokens = 2, kHeads = 2, kDim = 2, kRow = kHeads * kDim;
  const float q[kTokens * kRow] = {1, 0, 2, 0, 0, 1, 0, 2};
  const float k[kTokens * kRow] = {1, 0, 0, 1, 0, 1, 1, 0};
  const float v[kTokens * kRow] = {1, 2, 3, 4, 5, 6, 7, 8};
  float out[kTokens * kRow], weights[kTokens * kTokens];
  rl::Context context;
  const rl::MulParams<float, float> params;
  for (int first = 0; first < kRow; first += kDim) {  // of a head's columns
    auto scores = rl::RowMajor(weights, kTokens, kTokens);
    absl::Status status =
        Mul(rl::RowMajor(q + first, kTokens, kDim, kRow),
            rl::ColMajor(k + first, kDim, kTokens, kRow),  // transposed
            params, &context, &scores);
    for (float* row = weights; row != std::end(weights); row += kTokens) {
      const float highest = *std::max_element(row, row + kTokens);
      float sum = 0;
      for (int i = 0; i < kTokens; ++i) {
        sum += row[i] = std::exp((row[i] - highest) / std::sqrt(float{kDim}));
      }
      for (int i = 0; i < kTokens; ++i) row[i] /= sum;
    }
    auto dst = rl::RowMajor(out + first, kTokens, kDim, kRow);
    status.Update(Mul(scores, rl::RowMajor(v + first, kTokens, kDim, kRow),
                      params, &context, &dst));
    if (!status.ok()) return 1;
  }
  std::cout.precision(4);
  std::cout << rl::RowMajor(out, kTokens, kRow);
}
