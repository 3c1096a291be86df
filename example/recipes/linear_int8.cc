// Y = X W^T + b, all row-major, float in and out, with products in int8.
#include <iostream>
#include <thread>

#include "ruy_like/quantize/quantize.h"
namespace rl = ruy_like;

int main() {
  const float w[] = {0.5f, -1, 0.25f, 8, 2, -4};  // 2 outputs of 3 inputs
  const float bias[] = {0.125f, -1};
  rl::Context context;
  // Once: int8 with a scale for each output, which 0 asks for.
  const auto w8 = rl::QuantizeGroups(rl::RowMajor(w, 2, 3), /*bits=*/8, 0);
  const auto weights = rl::PackGroupWeights(w8->description(), &context);

  const auto layer = [&](std::vector<float> x, int batch, rl::Matrix<float> y) {
    rl::GroupMulParams params;
    params.bias = bias;
    params.channel_dimension = rl::ChannelDimension::kCol;
    rl::Context own;  // one for each thread
    // The call quantizes each row of x.
    const absl::Status status =
        Mul(rl::RowMajor(x, batch, 3), weights.value(), params, &own, &y);
    if (!status.ok()) std::abort();
  };
  float y[2], ys[16 * 2];
  std::thread other(layer, std::vector<float>(48), 16, rl::RowMajor(ys, 16, 2));
  layer({1, 2, 4}, 1, rl::RowMajor(y, 1, 2));
  other.join();
  std::cout << rl::RowMajor(y, 1, 2) << rl::RowMajor(ys, 2, 2);
}
