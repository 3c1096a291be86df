// A mixture of three experts: the router gives token 0 to experts 0 and 2,
// token 1 to expert 0, and nothing to expert 1.
#include <iostream>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  constexpr int kRows = 2, kDepth = 3, kTokens = 2;
  const float w[3][kRows * kDepth] = {
      {1, 0, 0, 0, 1, 0}, {9, 9, 9, 9, 9, 9}, {1, 1, 1, 2, 2, 2}};
  rl::Context context;
  std::vector<rl::PackedMatrix<float>> experts;  // or PackedGroupWeights
  for (const auto& weights : w) {
    auto packed = rl::Pack(rl::RowMajor(weights, kRows, kDepth), rl::Side::kLhs,
                           rl::PackOptions(), &context);
    if (!packed.ok()) return 1;
    experts.push_back(*packed);
  }
  // A token's values lie side by side: it is a column.
  const float tokens[] = {1, 2, 3, 10, 20, 30};
  float result[kTokens * kRows];
  const std::vector<int> counts = {2, 0, 1};
  const std::vector<int> token_of_pair = {0, 1, 0};
  const std::vector<float> factors = {0.75f, 1, 0.25f};
  rl::ExpertRouting routing;
  routing.counts = counts;
  routing.sources = token_of_pair;
  routing.targets = token_of_pair;
  routing.factors = factors;
  auto dst = rl::ColMajor(result, kRows, kTokens);
  std::cout << MulExperts(experts, rl::ColMajor(tokens, kDepth, kTokens),
                          routing, rl::MulParams<float, float>(), &context,
                          &dst)
            << "\n"
            << dst;
}
