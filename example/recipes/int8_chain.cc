// Two layers in int8 from end to end: sums are requantized between them.
#include <iostream>

#include "ruy_like/quantize/quantize.h"
namespace rl = ruy_like;

struct Layer {
  std::int8_t weights[2 * 2];  // outputs x inputs
  rl::QuantParams params[2];   // of each output's weights
  std::int32_t bias[2];        // in the scale of the sums: QuantizeBias
  rl::QuantParams output;      // its bounds are the clamp
};

int main() {
  // The first ends with a ReLU: -128, the least value, stands for 0.
  const Layer layers[] = {
      {{64, -32, 16, 127}, {{0.01f}, {0.02f}}, {100, 0}, {0.2f, -128}},
      {{1, 2, -3, 4}, {{0.05f}, {0.1f}}, {0, -20}, {0.3f}}};
  rl::Context context;
  std::int8_t data[3][2] = {{10, 20}};  // input, between, output
  rl::QuantParams input = {0.1f};
  for (int i = 0; i < 2; ++i) {
    const Layer& layer = layers[i];
    rl::MulParams<std::int32_t, std::int8_t> params;
    params.set_bias(layer.bias);
    params.set_channel_dimension(rl::ChannelDimension::kCol);
    int fixedpoint[2], exponent[2];
    auto x = rl::RowMajor(data[i], 1, 2), y = rl::RowMajor(data[i + 1], 1, 2);
    x.set_zero_point(input.zero_point);
    y.set_zero_point(layer.output.zero_point);
    absl::Status status = SetMultipliers(layer.params, input, layer.output,
                                         absl::MakeSpan(fixedpoint),
                                         absl::MakeSpan(exponent), &params);
    status.Update(
        Mul(x, rl::ColMajor(layer.weights, 2, 2), params, &context, &y));
    if (!status.ok()) return 1;
    std::cout << y;
    input = layer.output;
  }
}
