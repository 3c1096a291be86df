// A MobileNet block in int8: 1x1, hard swish, depthwise, hard swish, 1x1.
#include <iostream>

#include "ruy_like/quantize/quantize.h"
namespace rl = ruy_like;
using Int8 = std::int8_t;

int main() {
  const float expand[4 * 2] = {.8f, -.6f, .5f, 1.2f, -1, .2f, .4f, .7f};
  const float taps[4 * 9] = {.2f, .1f, .2f, .1f, .8f, .1f, .2f, .1f, .2f, -.3f};
  const float project[2 * 4] = {1, -.4f, .6f, .2f, -.8f, 1.2f, .4f, .6f};
  const rl::QuantParams x = {0.1f}, wide_x = {0.05f, 5};
  const auto hard_swish =
      rl::ByteTable::Make<Int8, Int8>(wide_x, wide_x, rl::HardSwish);
  rl::Context context;
  rl::MakeLayerOptions with_table, without;
  with_table.table = &*hard_swish;  // looked up in the layer's call
  const auto expanding = rl::MakeConv2D<Int8, Int8>(
      rl::RowMajor(expand, 4, 2), /*bias=*/{}, x, wide_x, &context, with_table);
  const auto filtering = rl::MakeDepthwiseConv2D<Int8, Int8>(
      rl::RowMajor(taps, 4, 9), {}, wide_x, wide_x, &context, with_table);
  const auto projecting = rl::MakeConv2D<Int8, Int8>(
      rl::RowMajor(project, 2, 4), {}, wide_x, x, &context, without);
  if (!expanding.ok() || !filtering.ok() || !projecting.ok()) return 1;

  const Int8 in[] = {10, -20, 30, 40, -50, 60, 70, -80};  // 2 x 2 pixels
  Int8 first[16], second[16], out[8];
  const rl::TensorView<const Int8> a = {in, {1, 2, 2, 2}, x};
  rl::TensorView<Int8> b = {first, {1, 2, 2, 4}, wide_x},
                       c = {second, {1, 2, 2, 4}, wide_x},
                       d = {out, {1, 2, 2, 2}, x};
  const rl::Window window = {3, 3, 1, 1, 1, 1, {1, 1, 1, 1}};
  absl::Status status = Conv2D(a, *expanding, {}, nullptr, &context, &b);
  status.Update(DepthwiseConv2D(b, *filtering, window, nullptr, &context, &c));
  status.Update(Conv2D(c, *projecting, {}, nullptr, &context, &d));
  std::cout << status << "\n" << rl::ColMajor(out, 2, 4);
}
