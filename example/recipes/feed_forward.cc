// A gated feed-forward layer in three calls: x + down(SiLU(gate(x)) * up(x)).
#include <iostream>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  constexpr int kTokens = 2, kWidth = 2, kHidden = 3;
  float x[kTokens * kWidth] = {1, 2, 3, 4};
  const float w_gate[kWidth * kHidden] = {1, 0, -1, 0, 1, 1};
  const float w_up[kWidth * kHidden] = {1, 1, 1, 0, 0, 2};
  const float w_down[kHidden * kWidth] = {1, 0, 0, 1, 1, 1};
  float up[kTokens * kHidden], hidden[kTokens * kHidden];
  auto tokens = rl::RowMajor(x, kTokens, kWidth);
  auto up_matrix = rl::RowMajor(up, kTokens, kHidden);
  auto hidden_matrix = rl::RowMajor(hidden, kTokens, kHidden);
  rl::Context context;
  rl::MulParams<float, float> params;
  absl::Status status = Mul(tokens, rl::RowMajor(w_up, kWidth, kHidden), params,
                            &context, &up_matrix);
  rl::PostOps gated;
  gated.activation = rl::Activation::kSilu;
  gated.factor = up_matrix;
  params.set_post_ops(&gated);
  status.Update(Mul(tokens, rl::RowMajor(w_gate, kWidth, kHidden), params,
                    &context, &hidden_matrix));
  rl::PostOps residual;
  residual.residual = tokens;  // dst itself
  params.set_post_ops(&residual);
  status.Update(Mul(hidden_matrix, rl::RowMajor(w_down, kHidden, kWidth),
                    params, &context, &tokens));
  std::cout.precision(4);
  std::cout << status << "\n" << tokens;
}
