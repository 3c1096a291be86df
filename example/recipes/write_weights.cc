// Packs weights and writes them to a file, for map_weights.cc.
#include <fstream>
#include <iostream>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  const float w[] = {0.5f, -1, 0.25f, 8, 2, -4};  // 2 outputs of 3 inputs
  rl::Context context;
  const auto weights = Pack(rl::ColMajor(w, 3, 2), rl::Side::kRhs,
                            {rl::Order::kRowMajor}, &context);
  std::ofstream file("weights.packed", std::ios::binary);
  if (!weights.ok() || !(file << weights->Serialize()).flush()) {
    std::cerr << "failed: " << weights.status() << "\n";
    return 1;
  }
}
