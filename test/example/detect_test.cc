// Tests what example/detect computes without the package's weights: boxes, the
// equalization of its network and the refusal of missing files. The test
// `detect` runs the whole program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "example/detect/detector.h"

namespace detect {
namespace {

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
Weights RandomWeights() {
  Weights weights;
  Noise noise;
  std::ptrdiff_t inputs = 3;
  for (const Step& step : Steps()) {
    const auto channels = static_cast<std::size_t>(step.shape.channels);
    const auto fill = [&](const std::string& name, std::size_t rows) {
      std::vector<float>& tensor = weights.tensors[step.name + name];
      for (std::size_t i = 0; i < rows * channels; ++i) {
        const auto power = static_cast<int>(i % channels % 5);
        tensor.push_back(std::ldexp(noise(), -power) /
                         std::sqrt(static_cast<float>(rows)));
      }
    };
    const auto taps = static_cast<std::size_t>(inputs);
    if (step.kind == Kind::kConv) {
      fill("/filters", 9 * taps);
    } else if (step.kind == Kind::kDepthwise) {
      fill("/depthwise_filter", 9);
    } else if (step.kind == Kind::kPointwise) {
      fill(step.name == "conv8" ? "/filters" : "/pointwise_filter", taps);
    }
    if (step.kind == Kind::kConv || step.kind == Kind::kPointwise) {
      fill("/bias", 1);
    }
    inputs = step.shape.channels;
  }
  return weights;
}

float Largest(const std::vector<float>& values) {
  float largest = 0;
  for (const float v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

TEST(DetectTest, EqualizingKeepsTheFloatNetwork) {
  Weights weights = RandomWeights();
  Weights equalized = weights;
  std::string error;
  ASSERT_TRUE(Equalize(&equalized, &error)) << error;
  EXPECT_NE(weights.tensors, equalized.tensors);
  std::vector<unsigned char> rgb(kSize * kSize * 3);
  Noise noise;
  for (unsigned char& value : rgb) {
    value = static_cast<unsigned char>(127 + 127 * noise());
  }
  ruy_like::Context context;
  const std::vector<float> input = Normalize(rgb);
  const std::vector<float> before =
      RunFloat(input, &weights, nullptr, &context, nullptr);
  const std::vector<float> after =
      RunFloat(input, &equalized, nullptr, &context, nullptr);
  const float largest = Largest(before);
  ASSERT_GT(largest, 0);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    ASSERT_NEAR(before[i], after[i], 1e-4f * largest) << i;
  }
}

TEST(DetectTest, EqualizedDepthwiseChannelsHaveTheirPointwiseRange) {
  Weights weights = RandomWeights();
  std::string error;
  ASSERT_TRUE(Equalize(&weights, &error)) << error;
  const std::vector<float>& depthwise =
      weights.tensors["conv5/depthwise_filter"];
  const std::vector<float>& pointwise =
      weights.tensors["conv5/pointwise_filter"];
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

TEST(DetectTest, OverlapIsSharedAreaByCovered) {
  const Box a = {1, 0, 0, 10, 10};
  EXPECT_FLOAT_EQ(Overlap(a, a), 1);
  EXPECT_FLOAT_EQ(Overlap(a, {1, 5, 0, 15, 10}), 1.0f / 3);
  EXPECT_FLOAT_EQ(Overlap(a, {1, 10, 0, 20, 10}), 0);
}

TEST(DetectTest, BoxesAreDecodedAndThinnedOut) {
  std::vector<float> output(13 * 13 * 25, -10.0f);
  EXPECT_THAT(FindBoxes(output), IsEmpty());
  // The second anchor of the cell (6, 6), and a worse one at the same place.
  float* const best = output.data() + (6 * 13 + 6) * 25 + 5;
  std::fill_n(best, 4, 0.0f);
  best[4] = 3;
  float* const worse = best + 25;
  std::fill_n(worse, 4, 0.0f);
  worse[0] = -5;
  worse[4] = 2;
  const std::vector<Box> boxes = FindBoxes(output);
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_NEAR(boxes[0].score, 1 / (1 + std::exp(-3.0)), 1e-6);
  EXPECT_NEAR((boxes[0].left + boxes[0].right) / 2, 208, 1e-3);
  EXPECT_NEAR(boxes[0].right - boxes[0].left, 6.041143 * 32, 1e-3);
  EXPECT_NEAR(boxes[0].bottom - boxes[0].top, 7.080126 * 32, 1e-3);
}

TEST(DetectTest, MissingPackageIsRefused) {
  Weights weights;
  std::string error;
  EXPECT_FALSE(LoadWeights("/no/such/folder", &weights, &error));
  EXPECT_THAT(error, HasSubstr("0 tensors"));
}

}  // namespace
}  // namespace detect
