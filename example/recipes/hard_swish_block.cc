// A MobileNet block in int8: 1x1, hard swish, depthwise, hard swish, 1x1.
#include <iostream>

#include "ruy_like/quantize/quantize.h"
namespace rl = ruy_like;

int main() {
  const std::int8_t expand[] = {40, -30, 25, 60, -50, 10, 20, 35};  // 4 x 2
  const std::int8_t taps[4 * 9] = {9, 5, 9, 5, 40, 5, 9, 5, 9, -8, 16, 24};
  const std::int8_t project[] = {50, -20, 30, 10, -40, 60, 20, 30};  // 2 x 4
  const rl::QuantParams x = {0.1f}, w = {0.02f}, wide_x = {0.05f, 5};
  std::int8_t in[] = {10, -20, 30, 40, -50, 60, 70, -80}, out[8];
  std::int8_t first[16], second[16];  // 2 x 2 pixels of 4 channels
  const auto hard_swish = rl::ByteTable::Make<std::int8_t, std::int8_t>(
      wide_x, wide_x, rl::HardSwish);
  rl::Context context;
  absl::Status status;
  rl::PostOps ops;
  const auto conv_1x1 = [&](auto weights, auto a, auto from, auto b, auto to) {
    rl::MulParams<std::int32_t, std::int8_t> params;
    params.set_post_ops(&ops);
    a.set_zero_point(from.zero_point);
    b.set_zero_point(to.zero_point);
    status.Update(SetMultipliers(w, from, to, &params));
    status.Update(Mul(weights, a, params, &context, &b));
  };
  ops.table = hard_swish->bytes();  // no pass of its own over dst
  conv_1x1(rl::RowMajor(expand, 4, 2), rl::ColMajor(in, 2, 4), x,
           rl::ColMajor(first, 4, 4), wide_x);
  rl::TensorView<std::int8_t> h = {first, {1, 2, 2, 4}, wide_x}, to = h;
  to.data = second;
  const rl::Window window = {3, 3, 1, 1, 1, 1, {1, 1, 1, 1}};
  const auto f = rl::DepthwiseWeights::Pack(rl::RowMajor(taps, 4, 9), {w});
  status.Update(DepthwiseConv2D(h, *f, {}, window, nullptr, &context, &to));
  status.Update(ApplyTable(to, *hard_swish, &context, &to));
  ops.table = {};
  conv_1x1(rl::RowMajor(project, 2, 4), rl::ColMajor(second, 4, 4), wide_x,
           rl::ColMajor(out, 2, 4), x);
  std::cout << status << "\n" << rl::ColMajor(out, 2, 4);
}
