// Decoding: one row times a cache that grows by a row with each token.
#include <iostream>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  constexpr int kDim = 4;
  std::vector<float> keys;  // a row for each token so far
  rl::Context context;
  for (int tokens = 1; tokens <= 3; ++tokens) {
    for (int i = 0; i < kDim; ++i) keys.push_back(tokens);
    const float query[kDim] = {1, 2, 3, 4};
    std::vector<float> scores(tokens);
    auto dst = rl::RowMajor(scores, 1, tokens);
    // Neither is packed or cached: kernels for a few rows or columns read the
    // large operand once, where it lies.
    const absl::Status status =
        Mul(rl::RowMajor(query, 1, kDim), rl::ColMajor(keys, kDim, tokens),
            rl::MulParams<float, float>(), &context, &dst);
    if (!status.ok()) return 1;
    std::cout << dst;
  }
}
