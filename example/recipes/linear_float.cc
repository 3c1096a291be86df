// Y = max(X W^T + b, 0) in float, all row-major; weights packed once.
#include <iostream>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  const float w[] = {0.5f, -1, 0.25f, 8, 2, -4};  // 2 outputs of 3 inputs
  const float bias[] = {0.125f, -1};
  const float x[] = {1, -2, 4, 100, -50, 0};  // a batch of 2
  float y[2 * 2];

  // Memory of W, row by row, is that of W^T column by column.
  rl::Context context;
  context.set_max_num_threads(4);
  const auto weights = Pack(rl::ColMajor(w, 3, 2), rl::Side::kRhs,
                            {rl::Order::kRowMajor}, &context);

  rl::MulParams<float, float> params;
  params.set_bias(bias);
  params.set_channel_dimension(rl::ChannelDimension::kCol);
  params.set_clamp_min(0);  // ReLU; set_clamp_max(6) makes it a ReLU6
  auto dst = rl::RowMajor(y, 2, 2);
  const absl::Status status =
      Mul(rl::RowMajor(x, 2, 3), weights.value(), params, &context, &dst);
  if (!status.ok()) std::cerr << status << "\n";
  std::cout << dst;
}
