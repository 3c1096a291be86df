#include <cmath>
#include <utility>

#include "example/detect/detectors.h"

namespace detect {
namespace {

constexpr std::ptrdiff_t kCells = 13, kAnchors = 5, kValues = 5;
constexpr float kMeanRgb[] = {117.001f, 114.697f, 97.404f};
// In cells.
constexpr float kAnchorSizes[kAnchors][2] = {{1.603231f, 2.094468f},
                                             {6.041143f, 7.080126f},
                                             {2.882459f, 3.518061f},
                                             {4.266906f, 5.178857f},
                                             {9.041765f, 10.66308f}};

Network MakeNetwork() {
  Network network;
  network.input = {1, kPhotoSize, kPhotoSize, 3};
  const auto add = [&](Kind kind, const std::string& name, std::ptrdiff_t size,
                       std::ptrdiff_t stride, ruy_like::Padding padding,
                       std::ptrdiff_t channels) {
    ruy_like::Window window;
    window.kernel_height = window.kernel_width = size;
    window.stride_height = window.stride_width = stride;
    window.padding = padding;
    Step* const step = AddStep(kind, name, window, channels, &network);
    if (kind == Kind::kDepthwise) {
      step->filter_name = name + "/depthwise_filter";
    } else if (HasWeights(*step)) {
      step->filter_name =
          name + (name == "conv0" || name == "conv8" ? "/filters"
                                                     : "/pointwise_filter");
      step->bias_name = name + "/bias";
    }
    return step;
  };
  add(Kind::kConv, "conv0", 3, 1, {}, 16);
  add(Kind::kLeaky, "", 1, 1, {}, 16);
  for (int i = 1; i <= 5; ++i) {
    // Pooling before each, and behind the last one with stride 1.
    const ruy_like::TensorShape shape = network.steps.back().out;
    const std::ptrdiff_t odd = shape.height % 2, channels = shape.channels;
    add(Kind::kPool, "", 2, 2, {0, odd, 0, odd}, channels);
    const std::string name = "conv" + std::to_string(i);
    add(Kind::kDepthwise, name, 3, 1, {1, 1, 1, 1}, channels);
    add(Kind::kPointwise, name, 1, 1, {}, 2 * channels);
    add(Kind::kLeaky, "", 1, 1, {}, 2 * channels);
  }
  add(Kind::kPool, "", 2, 1, {0, 1, 0, 1}, network.steps.back().out.channels);
  add(Kind::kPointwise, "conv8", 1, 1, {}, kAnchors * kValues)->is_output =
      true;
  return network;
}

// RGB of 0 to 255 less the means, by 255.
std::vector<float> Prepare(const std::vector<unsigned char>& rgb) {
  std::vector<float> input(rgb.size());
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    input[i] = (static_cast<float>(rgb[i]) - kMeanRgb[i % 3]) / 255;
  }
  return input;
}

// The output has 13x13 cells of 25 values.
std::vector<Box> FindBoxes(const Outputs& outputs) {
  std::vector<Box> found;
  constexpr float kCell = static_cast<float>(kPhotoSize) / kCells;
  const auto sigmoid = [](float x) { return ruy_like::Sigmoid(x); };
  for (std::ptrdiff_t i = 0; i < kCells * kCells * kAnchors; ++i) {
    const float* const v = outputs[0].data() + i * kValues;
    const std::ptrdiff_t cell = i / kAnchors;
    const float score = sigmoid(v[4]);
    if (!(score > 0.5f)) continue;
    const float x = (static_cast<float>(cell % kCells) + sigmoid(v[0])) * kCell;
    const float y = (static_cast<float>(cell / kCells) + sigmoid(v[1])) * kCell;
    const float width = std::exp(v[2]) * kAnchorSizes[i % kAnchors][0] * kCell;
    const float height = std::exp(v[3]) * kAnchorSizes[i % kAnchors][1] * kCell;
    found.push_back(
        {score, x - width / 2, y - height / 2, x + width / 2, y + height / 2});
  }
  return Suppress(std::move(found), 0.4f);
}

}  // namespace

Detector TinyFaceDetector() { return {MakeNetwork(), Prepare, FindBoxes}; }

}  // namespace detect
