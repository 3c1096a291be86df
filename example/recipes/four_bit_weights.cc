// A layer of a language model with 4-bit weights, a token at a time.
#include <iostream>
#include <vector>

#include "ruy_like/quantize/quantize_groups.h"
#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  constexpr int kIn = 32, kOut = 4, kGroup = 16;
  std::vector<float> w;  // a row for each output
  for (int i = 0; i < kOut * kIn; ++i) {
    w.push_back(static_cast<float>((i / kIn + 1) * (i % 15 - 7)));
  }
  rl::Context context;
  // Once: 4 bits for each weight, a scale for each 16 of a row. The floats are
  // not needed any more.
  const auto quantized =
      rl::QuantizeGroups(rl::RowMajor(w, kOut, kIn), /*bits=*/4, kGroup);
  if (!quantized.ok()) return 1;
  const auto weights = rl::PackGroupWeights(quantized->description(), &context);
  if (!weights.ok()) return 1;
  for (int token = 1; token <= 3; ++token) {
    std::vector<float> x(kIn, static_cast<float>(token)), y(kOut);
    auto dst = rl::ColMajor(y, kOut, 1);
    // The call quantizes float activations to int8.
    const absl::Status status = Mul(*weights, rl::ColMajor(x, kIn, 1),
                                    rl::GroupMulParams(), &context, &dst);
    if (!status.ok()) return 1;
    std::cout << rl::RowMajor(y, 1, kOut);
  }
}
