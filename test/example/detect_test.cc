// Tests what example/detect computes without the package's weights: boxes, the
// reading of weights, float steps, the equalization of its networks. The test
// `detect` runs the whole program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "example/detect/boxes.h"
#include "example/detect/detectors.h"
#include "example/detect/int_network.h"
#include "example/detect/network.h"
#include "example/detect/weights.h"

namespace detect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Values in [-1, 1).
class Noise {
 public:
  float operator()() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<float>(state_ >> 8) / 8388608.0f - 1.0f;
  }

 private:
  std::uint32_t state_ = 1;
};

// Channels of very different magnitudes, as trained depthwise layers have.
void FillWeights(Network* network) {
  Noise noise;
  const auto fill = [&](std::ptrdiff_t depth, std::ptrdiff_t channels,
                        std::vector<float>* tensor) {
    tensor->clear();
    for (std::ptrdiff_t i = 0; i < depth * channels; ++i) {
      const auto power = static_cast<int>(i % channels % 5);
      tensor->push_back(std::ldexp(noise(), -power) /
                        std::sqrt(static_cast<float>(depth)));
    }
  };
  for (Step& step : network->steps) {
    if (!HasWeights(step)) continue;
    const std::ptrdiff_t taps =
        step.window.kernel_height * step.window.kernel_width;
    const bool is_depthwise = step.kind == Kind::kDepthwise;
    fill(is_depthwise ? taps : taps * step.in.channels, step.out.channels,
         &step.weights);
    if (!step.bias_name.empty() || !step.norm_name.empty()) {
      fill(1, step.out.channels, &step.bias);
    }
  }
}

float Largest(const std::vector<float>& values) {
  float largest = 0;
  for (const float v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// Equalization changes no output for an input of noise.
void ExpectEqualizingKeeps(const Detector& detector) {
  Network network = detector.network;
  FillWeights(&network);
  // The bound of ReLU6 is not kept.
  ReplaceRelu6(&network);
  Network equalized = network;
  std::string error;
  ASSERT_TRUE(Equalize(&equalized, &error)) << error;
  std::vector<unsigned char> rgb(kPhotoSize * kPhotoSize * 3);
  Noise noise;
  for (unsigned char& value : rgb) {
    value = static_cast<unsigned char>(127 + 127 * noise());
  }
  ruy_like::Context context;
  const std::vector<float> input = detector.prepare(rgb);
  const Outputs before = RunFloat(network, input, nullptr, &context, nullptr);
  const Outputs after = RunFloat(equalized, input, nullptr, &context, nullptr);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t o = 0; o < before.size(); ++o) {
    const float largest = Largest(before[o]);
    ASSERT_GT(largest, 0);
    ASSERT_EQ(before[o].size(), after[o].size());
    for (std::size_t i = 0; i < before[o].size(); ++i) {
      ASSERT_NEAR(before[o][i], after[o][i], 1e-4f * largest) << o << " " << i;
    }
  }
  // All layers but the heads that share what they read.
  for (std::size_t i = 0; i < network.steps.size(); ++i) {
    const Step& step = network.steps[i];
    const bool is_head = step.is_output && network.steps.size() > 40;
    EXPECT_EQ(step.weights == equalized.steps[i].weights,
              !HasWeights(step) || is_head)
        << step.name;
  }
}

TEST(DetectTest, EqualizingKeepsTheFloatNetworkOfTheTinyDetector) {
  ExpectEqualizingKeeps(TinyFaceDetector());
}

TEST(DetectTest, EqualizingKeepsTheFloatNetworkOfMobileNet) {
  ExpectEqualizingKeeps(SsdMobileNet({}));
}

TEST(DetectTest, EqualizedDepthwiseChannelsHaveTheirPointwiseRange) {
  Network network = TinyFaceDetector().network;
  FillWeights(&network);
  std::string error;
  ASSERT_TRUE(Equalize(&network, &error)) << error;
  const auto find = [&](Kind kind) -> const std::vector<float>& {
    return std::find_if(network.steps.begin(), network.steps.end(),
                        [&](const Step& step) {
                          return step.name == "conv5" && step.kind == kind;
                        })
        ->weights;
  };
  const std::vector<float>& depthwise = find(Kind::kDepthwise);
  const std::vector<float>& pointwise = find(Kind::kPointwise);
  constexpr std::size_t kIn = 256, kOut = 512;
  ASSERT_THAT(depthwise, SizeIs(9 * kIn));
  ASSERT_THAT(pointwise, SizeIs(kIn * kOut));
  for (std::size_t c = 0; c < kIn; ++c) {
    float row = 0, column = 0;
    for (std::size_t tap = 0; tap < 9; ++tap) {
      row = std::max(row, std::abs(depthwise[tap * kIn + c]));
    }
    for (std::size_t o = 0; o < kOut; ++o) {
      column = std::max(column, std::abs(pointwise[c * kOut + o]));
    }
    ASSERT_NEAR(row, column, 0.01f * row) << c;
  }
}

// The same sums as plain loops over all taps, with what lies outside as 0.
TEST(DetectTest, FloatStepsPadAsTensorFlowDoes) {
  for (const Kind kind : {Kind::kConv, Kind::kDepthwise}) {
    Network network;
    network.input = {1, 6, 6, 3};
    ruy_like::Window window;
    window.kernel_height = window.kernel_width = 3;
    window.stride_height = window.stride_width = 2;
    window.padding = SamePadding(network.input, window).value();
    // On an even size, all of it is at the bottom and on the right.
    EXPECT_EQ(window.padding.top, 0);
    EXPECT_EQ(window.padding.bottom, 1);
    const std::ptrdiff_t channels = kind == Kind::kConv ? 5 : 3;
    Step* const step = AddStep(kind, "step", window, channels, &network);
    step->bias_name = "bias";
    step->activation = Activation::kRelu6;
    step->is_output = true;
    FillWeights(&network);
    std::vector<float> input(6 * 6 * 3);
    Noise noise;
    for (float& value : input) value = 20 * noise();
    ruy_like::Context context;
    const Outputs outputs =
        RunFloat(network, input, nullptr, &context, nullptr);
    ASSERT_THAT(outputs, SizeIs(1));
    ASSERT_THAT(outputs[0], SizeIs(static_cast<std::size_t>(9 * channels)));
    const std::vector<float>& w = network.steps[0].weights;
    int inside = 0;
    for (std::ptrdiff_t i = 0; i < 9 * channels; ++i) {
      const std::ptrdiff_t c = i % channels;
      double sum = network.steps[0].bias[static_cast<std::size_t>(c)];
      for (std::ptrdiff_t tap = 0; tap < 9; ++tap) {
        const std::ptrdiff_t y = i / channels / 3 * 2 + tap / 3;
        const std::ptrdiff_t x = i / channels % 3 * 2 + tap % 3;
        if (y >= 6 || x >= 6) continue;
        for (std::ptrdiff_t k = 0; k < 3; ++k) {
          if (kind == Kind::kDepthwise && k != c) continue;
          const std::ptrdiff_t column = kind == Kind::kConv ? tap * 3 + k : tap;
          sum += static_cast<double>(
                     w[static_cast<std::size_t>(column * channels + c)]) *
                 static_cast<double>(
                     input[static_cast<std::size_t>((y * 6 + x) * 3 + k)]);
        }
      }
      const float value = outputs[0][static_cast<std::size_t>(i)];
      EXPECT_NEAR(value, std::min(std::max(sum, 0.0), 6.0), 1e-4) << i;
      if (value > 0 && value < 6) ++inside;
    }
    EXPECT_GT(inside, 3);
  }
}

double Mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v);
  return sum / static_cast<double>(values.size());
}

// One that has all that the detectors have: two readers of one activation,
// outputs in the middle and at the end, pooling and leaky ReLU.
Network SmallNetwork() {
  Network network;
  network.input = {1, 12, 12, 3};
  const auto add = [&](Kind kind, std::ptrdiff_t size,
                       std::ptrdiff_t channels) {
    ruy_like::Window window;
    window.kernel_height = window.kernel_width = size;
    window.padding = {size / 2, size / 2, size / 2, size / 2};
    Step* const step = AddStep(kind, "step", window, channels, &network);
    step->bias_name = "bias";
    return step;
  };
  add(Kind::kConv, 3, 16)->activation = Activation::kRelu6;
  add(Kind::kPointwise, 1, 4)->is_output = true;
  add(Kind::kDepthwise, 3, 16)->activation = Activation::kRelu;
  add(Kind::kPool, 3, 16);
  add(Kind::kPointwise, 1, 16);
  add(Kind::kLeaky, 1, 16);
  add(Kind::kPointwise, 1, 1)->is_output = true;
  FillWeights(&network);
  return network;
}

TEST(DetectTest, IntegersFollowFloatsAndBiasCorrectionTheirMean) {
  const Network network = SmallNetwork();
  std::vector<std::vector<float>> inputs(4, std::vector<float>(12 * 12 * 3));
  Noise noise;
  for (std::vector<float>& input : inputs) {
    for (float& value : input) value = 2 + 3 * noise();
  }
  ruy_like::Context context;
  Calibration calibration;
  std::string error;
  ASSERT_TRUE(Calibrate(network, inputs, &context, &calibration, &error))
      << error;
  // Sums of errors of the outputs' means, by whether the bias was corrected.
  double mean_errors[2] = {0, 0};
  for (const int bits : {8, 3}) {
    for (const bool per_channel : {false, true}) {
      for (const bool correct_bias : {false, true}) {
        IntOptions options;
        options.per_channel = per_channel;
        options.weight_bits = bits;
        options.correct_bias = correct_bias;
        IntNetwork quantized;
        ASSERT_TRUE(
            quantized.Make(network, calibration, options, &context, &error))
            << error;
        for (const std::vector<float>& input : inputs) {
          const Outputs expected =
              RunFloat(network, input, nullptr, &context, nullptr);
          const Outputs outputs =
              quantized.Run(input, &context, nullptr, &error);
          ASSERT_THAT(outputs, SizeIs(2)) << error;
          for (std::size_t o = 0; o < 2; ++o) {
            ASSERT_EQ(outputs[o].size(), expected[o].size());
            const float largest = Largest(expected[o]);
            for (std::size_t i = 0; bits == 8 && i < outputs[o].size(); ++i) {
              EXPECT_NEAR(outputs[o][i], expected[o][i], 0.05f * largest);
            }
            if (bits == 3) {
              mean_errors[correct_bias ? 1 : 0] +=
                  std::abs(Mean(outputs[o]) - Mean(expected[o]));
            }
          }
        }
      }
    }
  }
  EXPECT_LT(mean_errors[1], 0.5 * mean_errors[0]);
  EXPECT_GT(mean_errors[0], 0);
}

TEST(DetectTest, OverlapIsSharedAreaByCovered) {
  const Box a = {1, 0, 0, 10, 10};
  EXPECT_FLOAT_EQ(Overlap(a, a), 1);
  EXPECT_FLOAT_EQ(Overlap(a, {1, 5, 0, 15, 10}), 1.0f / 3);
  EXPECT_FLOAT_EQ(Overlap(a, {1, 10, 0, 20, 10}), 0);
}

TEST(DetectTest, BoxesAreCompared) {
  const Box a = {1, 0, 0, 10, 10}, near = {1, 0, 0, 10, 8},
            far = {1, 8, 0, 18, 10};
  EXPECT_FLOAT_EQ(Compare({a}, {far, near}).least, 0.8f);
  EXPECT_EQ(Compare({a}, {far, near}).missed, 0);
  EXPECT_EQ(Compare({a}, {far, near}).extra, 1);
  EXPECT_EQ(Compare({a}, {far}).missed, 1);
  EXPECT_EQ(Compare({a}, {far}).least, 1);
}

TEST(DetectTest, BoxesAreDecodedAndThinnedOut) {
  const Detector detector = TinyFaceDetector();
  Outputs outputs = {std::vector<float>(13 * 13 * 25, -10.0f)};
  std::vector<float>& output = outputs[0];
  EXPECT_THAT(detector.find_boxes(outputs), IsEmpty());
  // The second anchor of the cell (6, 6), and a worse one at the same place.
  float* const best = output.data() + (6 * 13 + 6) * 25 + 5;
  std::fill_n(best, 4, 0.0f);
  best[4] = 3;
  float* const worse = best + 25;
  std::fill_n(worse, 4, 0.0f);
  worse[0] = -5;
  worse[4] = 2;
  const std::vector<Box> boxes = detector.find_boxes(outputs);
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_NEAR(boxes[0].score, 1 / (1 + std::exp(-3.0)), 1e-6);
  EXPECT_NEAR((boxes[0].left + boxes[0].right) / 2, 208, 1e-3);
  EXPECT_NEAR(boxes[0].right - boxes[0].left, 6.041143 * 32, 1e-3);
  EXPECT_NEAR(boxes[0].bottom - boxes[0].top, 7.080126 * 32, 1e-3);
}

TEST(DetectTest, BoxesAreDecodedFromTheirAnchors) {
  // All anchors alike: (top, left, bottom, right).
  std::vector<float> anchors;
  for (std::size_t i = 0; i < kSsdAnchors; ++i) {
    anchors.insert(anchors.end(), {0.25f, 0.125f, 0.75f, 0.375f});
  }
  const Detector detector = SsdMobileNet(anchors);
  Outputs outputs;
  std::size_t boxes = 0;
  for (const Step& step : detector.network.steps) {
    if (!step.is_output) continue;
    const auto size = static_cast<std::size_t>(Count(step.out));
    outputs.emplace_back(size, outputs.size() % 2 == 0 ? 0.0f : -10.0f);
    if (outputs.size() % 2 == 1) boxes += size / 4;
  }
  EXPECT_EQ(boxes, kSsdAnchors);
  ASSERT_THAT(outputs, SizeIs(12));
  EXPECT_THAT(detector.find_boxes(outputs), IsEmpty());
  // Two boxes of the second size: the better one moved to the right by 1/2 of
  // its width and made twice as high.
  outputs[3][3 * 7 + 1] = 2;
  outputs[2][4 * 7 + 1] = 5;
  outputs[2][4 * 7 + 2] = 5 * std::log(2.0f);
  outputs[3][3 * 9 + 1] = 1;
  const std::vector<Box> found = detector.find_boxes(outputs);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_NEAR(found[0].score, 1 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(found[0].left, 0.25 * kPhotoSize, 1e-3);
  EXPECT_NEAR(found[0].right, 0.5 * kPhotoSize, 1e-3);
  EXPECT_NEAR(found[0].top, 0, 1e-3);
  EXPECT_NEAR(found[0].bottom, kPhotoSize, 1e-3);
  EXPECT_NEAR(found[1].left, 0.125 * kPhotoSize, 1e-3);
  EXPECT_NEAR(found[1].bottom, 0.75 * kPhotoSize, 1e-3);
}

// A manifest whose entries have their keys in another order each, and of which
// one has no scale.
TEST(DetectTest, WeightsAreReadByTheirEntries) {
  const std::string folder = ::testing::TempDir() + "detect_weights";
  std::filesystem::create_directories(folder + "/model");
  const std::string stem = folder + "/model/net_model";
  const auto write = [&](const std::string& manifest,
                         const std::string& bytes) {
    std::ofstream(stem + "-weights_manifest.json") << manifest;
    std::ofstream(stem + ".bin", std::ios::binary) << bytes;
  };
  const std::string manifest =
      R"([{"weights":[{"dtype":"float32","shape":[1,2],"name":"plain"},)"
      R"({"dtype":"float32","shape":[],"quantization":{"scale":2,"min":-1,)"
      R"("dtype":"uint8"},"name":"scalar"},)"
      R"({"name":"last","shape":[2],"dtype":"float32","quantization":)"
      R"({"dtype":"uint8","scale":0.5,"min":1}}],"paths":["net_model.bin"]}])";
  // 1.0f and -2.0f, little-endian.
  const std::string bytes("\0\0\x80\x3f\0\0\0\xc0\x03\x00\xff", 11);
  write(manifest, bytes);
  Weights weights;
  std::string error;
  ASSERT_TRUE(LoadWeights(folder, "net", &weights, &error)) << error;
  EXPECT_THAT(weights, SizeIs(3));
  EXPECT_THAT(weights["plain"], ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(weights["scalar"], ElementsAre(5.0f));
  EXPECT_THAT(weights["last"], ElementsAre(1.0f, 128.5f));
  write(manifest, bytes.substr(0, 10));
  EXPECT_FALSE(LoadWeights(folder, "net", &weights, &error));
  EXPECT_THAT(error, HasSubstr("too short for last"));
  write(manifest, bytes + "x");
  EXPECT_FALSE(LoadWeights(folder, "net", &weights, &error));
  EXPECT_THAT(error, HasSubstr("3 tensors of 11 bytes"));
  write(R"([{"weights":[{"name":"half","shape":[1],"dtype":"float16"}]}])",
        "xx");
  EXPECT_FALSE(LoadWeights(folder, "net", &weights, &error));
  EXPECT_THAT(error, HasSubstr("unknown form"));
  std::filesystem::remove_all(folder);
}

TEST(DetectTest, MissingTensorIsRefused) {
  Network network = TinyFaceDetector().network;
  std::string error;
  EXPECT_FALSE(TakeWeights({}, &network, &error));
  EXPECT_THAT(error, HasSubstr("conv0/filters of 432"));
}

TEST(DetectTest, MissingPackageIsRefused) {
  Detector detector;
  std::string error;
  EXPECT_FALSE(
      MakeDetector("/no/such/folder", "ssd_mobilenetv1", &detector, &error));
  EXPECT_THAT(error, HasSubstr("0 tensors"));
}

}  // namespace
}  // namespace detect
