// Attention with two heads: softmax(Q K^T / sqrt(d)) V for each, where a
// token's heads lie side by side in one row. All heads are multiplied at once.
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
  float out[kTokens * kRow], weights[kHeads * kTokens * kTokens];
  rl::Context context;
  const rl::MulParams<float, float> params;
  // The first head's matrices; elements from each head to the next.
  auto scores = rl::RowMajor(weights, kTokens, kTokens);
  absl::Status status = MulBatch(
      rl::RowMajor(q, kTokens, kDim, kRow),
      rl::ColMajor(k, kDim, kTokens, kRow),  // transposed
      params, {kHeads, kDim, kDim, kTokens * kTokens}, &context, &scores);
  for (float* row = weights; row != std::end(weights); row += kTokens) {
    const float highest = *std::max_element(row, row + kTokens);
    float sum = 0;
    for (int i = 0; i < kTokens; ++i) {
      sum += row[i] = std::exp((row[i] - highest) / std::sqrt(float{kDim}));
    }
    for (int i = 0; i < kTokens; ++i) row[i] /= sum;
  }
  auto dst = rl::RowMajor(out, kTokens, kDim, kRow);
  status.Update(MulBatch(scores, rl::RowMajor(v, kTokens, kDim, kRow), params,
                         {kHeads, kTokens * kTokens, kDim, kDim}, &context,
                         &dst));
  std::cout.precision(4);
  std::cout << status << "\n" << rl::RowMajor(out, kTokens, kRow);
}
