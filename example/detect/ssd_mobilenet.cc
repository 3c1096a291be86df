#include <algorithm>
#include <cmath>
#include <utility>

#include "example/detect/detectors.h"

namespace detect {
namespace {

constexpr std::ptrdiff_t kInputSize = 512, kClasses = 3;

class Builder {
 public:
  Builder() { network_.input = {1, kInputSize, kInputSize, 3}; }

  // A convolution with TensorFlow's padding "same", named as its tensors are.
  Step* Add(Kind kind, const std::string& group, const std::string& name,
            std::ptrdiff_t size, std::ptrdiff_t stride,
            std::ptrdiff_t channels) {
    ruy_like::Window window;
    window.kernel_height = window.kernel_width = size;
    window.stride_height = window.stride_width = stride;
    window.padding = SamePadding(shape_, window).value();
    Step* const step = AddStep(kind, name, window, channels, &network_);
    step->group = group;
    step->filter_name = name + "/weights";
    step->bias_name = name + "/convolution_bn_offset";
    step->activation = Activation::kRelu6;
    shape_ = step->out;
    return step;
  }

  void AddPair(int index, std::ptrdiff_t channels) {
    const std::string name = "MobilenetV1/Conv2d_" + std::to_string(index);
    const bool halves = index == 2 || index == 4 || index == 6 || index == 12;
    Step* const step =
        Add(Kind::kDepthwise, "depthwise 3x3", name + "_depthwise", 3,
            halves ? 2 : 1, shape_.channels);
    step->filter_name = step->name + "/depthwise_weights";
    step->bias_name.clear();
    step->norm_name = step->name + "/BatchNorm";
    Add(Kind::kPointwise, "pointwise 1x1", name + "_pointwise", 1, 1, channels);
  }

  void AddExtra(int index, std::ptrdiff_t size, std::ptrdiff_t channels) {
    Add(size == 1 ? Kind::kPointwise : Kind::kConv,
        size == 1 ? "extra 1x1" : "extra 3x3",
        "Prediction/Conv2d_" + std::to_string(index) + "_pointwise", size,
        size == 1 ? 1 : 2, channels);
  }

  // Boxes and classes of what is before it.
  void AddHeads(int index, std::ptrdiff_t anchors) {
    const ruy_like::TensorShape source = shape_;
    const std::string name =
        "Prediction/BoxPredictor_" + std::to_string(index) + "/";
    for (const bool is_box : {true, false}) {
      Step* const step =
          Add(Kind::kPointwise, "heads 1x1",
              name + (is_box ? "BoxEncodingPredictor" : "ClassPredictor"), 1, 1,
              anchors * (is_box ? 4 : kClasses));
      step->bias_name = step->name + "/biases";
      step->activation = Activation::kNone;
      step->is_output = true;
      shape_ = source;
    }
  }

  Network network_;

 private:
  ruy_like::TensorShape shape_ = {1, kInputSize, kInputSize, 3};
};

Network MakeNetwork() {
  Builder builder;
  builder.Add(Kind::kConv, "first 3x3", "MobilenetV1/Conv2d_0_pointwise", 3, 2,
              32);
  const std::ptrdiff_t channels[] = {64,  128, 128, 256, 256,  512, 512,
                                     512, 512, 512, 512, 1024, 1024};
  for (int i = 1; i <= 13; ++i) {
    builder.AddPair(i, channels[i - 1]);
    if (i == 11) builder.AddHeads(0, 3);
  }
  builder.AddHeads(1, 6);
  const std::ptrdiff_t extras[] = {256, 512, 128, 256, 128, 256, 64, 128};
  for (int i = 0; i < 8; ++i) {
    builder.AddExtra(i, i % 2 == 0 ? 1 : 3, extras[i]);
    if (i % 2 == 1) builder.AddHeads(2 + i / 2, 6);
  }
  return builder.network_;
}

// Enlarged to 512x512 by TensorFlow.js's resizeBilinear, which takes pixel i
// from i * 416 / 512 (not from (i + 1/2) * 416 / 512 - 1/2), then as -1 to 1.
std::vector<float> Prepare(const std::vector<unsigned char>& rgb) {
  std::vector<float> input(
      static_cast<std::size_t>(kInputSize * kInputSize * 3));
  constexpr double kScale =
      static_cast<double>(kPhotoSize) / static_cast<double>(kInputSize);
  const auto at = [&](std::ptrdiff_t y, std::ptrdiff_t x, std::ptrdiff_t c) {
    y = std::min(y, kPhotoSize - 1);
    x = std::min(x, kPhotoSize - 1);
    return static_cast<double>(
        rgb[static_cast<std::size_t>((y * kPhotoSize + x) * 3 + c)]);
  };
  auto to = input.begin();
  for (std::ptrdiff_t i = 0; i < kInputSize; ++i) {
    const double y = static_cast<double>(i) * kScale;
    const auto top = static_cast<std::ptrdiff_t>(y);
    const double down = y - static_cast<double>(top);
    for (std::ptrdiff_t j = 0; j < kInputSize; ++j) {
      const double x = static_cast<double>(j) * kScale;
      const auto left = static_cast<std::ptrdiff_t>(x);
      const double across = x - static_cast<double>(left);
      for (std::ptrdiff_t c = 0; c < 3; ++c) {
        const double upper =
            at(top, left, c) * (1 - across) + at(top, left + 1, c) * across;
        const double lower = at(top + 1, left, c) * (1 - across) +
                             at(top + 1, left + 1, c) * across;
        *to++ =
            static_cast<float>((upper * (1 - down) + lower * down) / 127.5 - 1);
      }
    }
  }
  return input;
}

// outputs: for each size of the image the offsets of the boxes from their
// anchors and their classes, of which the second is a face.
std::vector<Box> FindBoxes(const Outputs& outputs,
                           const std::vector<float>& anchors) {
  std::vector<Box> found;
  const float* anchor = anchors.data();
  for (std::size_t size = 0; size + 1 < outputs.size(); size += 2) {
    const float* offsets = outputs[size].data();
    const std::vector<float>& classes = outputs[size + 1];
    for (std::size_t i = 1; i < classes.size(); i += kClasses) {
      const float score = ruy_like::Sigmoid(classes[i]);
      if (score > 0.5f) {
        // Along one axis: 0 is vertical.
        const auto ends = [&](int axis) {
          const float length = anchor[2 + axis] - anchor[axis];
          const float middle =
              anchor[axis] + length / 2 + offsets[axis] / 10 * length;
          const float half = std::exp(offsets[2 + axis] / 5) * length / 2;
          return std::make_pair((middle - half) * kPhotoSize,
                                (middle + half) * kPhotoSize);
        };
        const auto vertical = ends(0), horizontal = ends(1);
        found.push_back({score, horizontal.first, vertical.first,
                         horizontal.second, vertical.second});
      }
      anchor += 4;
      offsets += 4;
    }
  }
  // Boxes are clipped when the better ones have been chosen.
  std::vector<Box> kept = Suppress(std::move(found), 0.5f);
  constexpr auto kEnd = static_cast<float>(kPhotoSize);
  for (Box& box : kept) {
    box.left = std::max(box.left, 0.0f);
    box.top = std::max(box.top, 0.0f);
    box.right = std::min(box.right, kEnd);
    box.bottom = std::min(box.bottom, kEnd);
  }
  return kept;
}

}  // namespace

Detector SsdMobileNet(const std::vector<float>& anchors) {
  return {MakeNetwork(), Prepare, [anchors](const Outputs& outputs) {
            return FindBoxes(outputs, anchors);
          }};
}

}  // namespace detect
