// A residual block and a classifier: calibrated in float, run in int8.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ruy_like/quantize/quantize.h"

using ruy_like::ColMajor;
using ruy_like::QuantParams;
using ruy_like::RowMajor;
using ruy_like::TensorView;

constexpr int kPixels = 6, kChannels = 4, kClasses = 3;
constexpr float kSlope = 0.1f;
using Image = std::vector<float>;  // kPixels x kChannels, NHWC

struct FloatNet {
  std::vector<float> block, block_bias, classes;
  // The block's product, the sum with its input, its leaky ReLU, the classes.
  bool Run(const Image& x, ruy_like::Context* context, Image* y, Image* sum,
           Image* active, std::vector<float>* logits) const {
    ruy_like::MulParams<float, float> params;
    const auto w = RowMajor(block.data(), kChannels, kChannels);
    auto product = ColMajor(y->data(), kChannels, kPixels);
    params.set_bias(block_bias.data());
    if (!Mul(w, ColMajor(x.data(), kChannels, kPixels), params, context,
             &product)
             .ok()) {
      return false;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      (*sum)[i] = x[i] + (*y)[i];
      (*active)[i] = ruy_like::LeakyRelu((*sum)[i], kSlope);
    }
    auto dst = ColMajor(logits->data(), kClasses, 1);
    return Mul(RowMajor(classes.data(), kClasses, kPixels * kChannels),
               ColMajor(active->data(), kPixels * kChannels, 1),
               ruy_like::MulParams<float, float>(), context, &dst)
        .ok();
  }
};

std::vector<float> Waves(int count, float step) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(std::sin(step * i + step));
  return values;
}

int main() {
  const FloatNet net = {Waves(16, 0.9f), Waves(4, 1.7f), Waves(72, 0.37f)};
  ruy_like::Context context;
  Image y(24), sum(24), active(24);
  std::vector<float> logits(3);
  // Ranges of the activations, for a few images: x, y, sum, active.
  ruy_like::Observer observers[4];
  for (int image = 1; image <= 8; ++image) {
    const Image x = Waves(24, 0.31f * image);
    if (!net.Run(x, &context, &y, &sum, &active, &logits)) return 1;
    const Image* const seen[] = {&x, &y, &sum, &active};
    for (int i = 0; i < 4; ++i) {
      if (!observers[i].Observe(absl::MakeConstSpan(*seen[i])).ok()) return 1;
    }
  }
  ruy_like::CalibrationOptions calibration;
  calibration.method = ruy_like::CalibrationMethod::kMinMax;
  calibration.scheme = ruy_like::QuantScheme::kAffineSigned;
  QuantParams params[4];
  for (int i = 0; i < 4; ++i) {
    params[i] = observers[i].ChooseParams(calibration).value();
  }
  const auto block = ruy_like::MakeConv2D<std::int8_t, std::int8_t>(
      RowMajor(net.block.data(), kChannels, kChannels), net.block_bias,
      params[0], params[1], &context);
  const auto leaky = ruy_like::ByteTable::Make<std::int8_t, std::int8_t>(
      params[2], params[3],
      [](float v) { return ruy_like::LeakyRelu(v, kSlope); });
  const auto classes = ruy_like::MakeFullyConnected<std::int8_t, float>(
      RowMajor(net.classes.data(), kClasses, kPixels * kChannels), {},
      params[3], QuantParams(), &context);
  if (!block.ok() || !leaky.ok() || !classes.ok()) return 1;

  const Image x = Waves(24, 0.77f);  // not among the above
  if (!net.Run(x, &context, &y, &sum, &active, &logits)) return 1;
  const ruy_like::TensorShape shape = {1, 2, 3, kChannels};
  std::vector<std::int8_t> q[4] = {
      std::vector<std::int8_t>(24), std::vector<std::int8_t>(24),
      std::vector<std::int8_t>(24), std::vector<std::int8_t>(24)};
  TensorView<std::int8_t> t[4];
  for (int i = 0; i < 4; ++i) t[i] = {q[i].data(), shape, params[i]};
  float result[3];
  TensorView<float> output = {result, {1, 1, 1, kClasses}, {}};
  absl::Status status = Quantize(absl::MakeConstSpan(x), params[0],
                                 absl::MakeSpan(q[0]), &context);
  status.Update(
      Conv2D(t[0], *block, ruy_like::Window(), nullptr, &context, &t[1]));
  status.Update(QuantizedAdd(t[0], t[1], &context, &t[2]));
  status.Update(ApplyTable(t[2], *leaky, &context, &t[3]));
  status.Update(FullyConnected(t[3], *classes, &context, &output));
  if (!status.ok()) return 1;
  for (int c = 0; c < kClasses; ++c) {
    std::printf("class %d: float %6.2f, int8 %6.2f\n", c, logits[c], result[c]);
  }
}
