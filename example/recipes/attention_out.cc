// The end of an attention layer in one call: x + heads * w_out, in place, with
// weights that were packed once.
#include <iostream>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  constexpr int kTokens = 2, kRow = 4;
  // Outputs of the heads, side by side in a row for each token.
  const float heads[kTokens * kRow] = {2, 3, 6, 7, 4, 5, 5, 5};
  const float w_out[kRow * kRow] = {1, 0, 0, 0, 0, 1, 0, 0,
                                    0, 0, 1, 0, 1, 0, 0, 1};
  float x[kTokens * kRow] = {10, 20, 30, 40, 50, 60, 70, 80};
  rl::Context context;
  // Packed for a dst in row-major order.
  const auto weights = Pack(rl::RowMajor(w_out, kRow, kRow), rl::Side::kRhs,
                            {rl::Order::kRowMajor}, &context);
  if (!weights.ok()) {
    std::cerr << weights.status() << "\n";
    return 1;
  }
  auto tokens = rl::RowMajor(x, kTokens, kRow);
  rl::PostOps post_ops;
  post_ops.residual = tokens;  // dst itself
  rl::MulParams<float, float> params;
  params.set_post_ops(&post_ops);
  const absl::Status status = Mul(rl::RowMajor(heads, kTokens, kRow), *weights,
                                  params, &context, &tokens);
  std::cout << status << "\n" << tokens;
}
