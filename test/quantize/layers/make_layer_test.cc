// Layers of which some channels have hardly any weights, as filters of trained
// networks have. layer_test.cc has the other tests of MakeConv2D and its like.
#include "ruy_like/quantize/make_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ruy_like/quantize/conv.h"
#include "ruy_like/quantize/depthwise_conv.h"
#include "ruy_like/quantize/fully_connected.h"
#include "test/quantize/reference_conv.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

enum class Kind { kConv, kDepthwise, kFullyConnected };

// A layer of float weights on an image of one output position.
template <typename In, typename Out>
class FloatLayer {
 public:
  FloatLayer(Kind kind, std::ptrdiff_t channels, std::ptrdiff_t depth,
             std::uint64_t seed)
      : rng_(seed), kind_(kind), channels_(channels), depth_(depth) {
    input_ = RandomParams<In>(&rng_, false);
    output_ = RandomParams<Out>(&rng_, false);
    output_.scale = input_.scale * static_cast<float>(rng_.Between(1, 64)) / 8;
    x_ = RandomVector<In>(kind == Kind::kDepthwise ? channels * depth : depth,
                          rng_.Next());
    for (std::ptrdiff_t i = 0; i < channels * depth; ++i) {
      weights_.push_back(static_cast<float>(rng_.Signed()) / 8);
    }
    for (std::ptrdiff_t c = 0; c < channels; ++c) {
      bias_.push_back(static_cast<float>(rng_.Signed()) * 127 * output_.scale);
    }
    is_dead_.resize(channels);
  }

  // The channel's weights become `factor` of what they were.
  void Kill(std::ptrdiff_t channel, float factor) {
    is_dead_[channel] = true;
    for (std::ptrdiff_t k = 0; k < depth_; ++k) {
      weights_[channel * depth_ + k] *= factor;
    }
  }

  absl::StatusOr<QuantizedLayer> Make() {
    const Matrix<float> weights = RowMajorOf(weights_, channels_, depth_);
    options_.report = &report_;
    const auto make = kind_ == Kind::kConv        ? MakeConv2D<In, Out>
                      : kind_ == Kind::kDepthwise ? MakeDepthwiseConv2D<In, Out>
                                                  : MakeFullyConnected<In, Out>;
    return make(weights, bias_, input_, output_, &context_, options_);
  }

  // Dead channels are off by half a step, for rounding the result; what else
  // they may lose is what one scale for all leaves of bias and weights.
  void ExpectFloatResult() {
    ASSERT_VALUE(const auto layer, Make());
    std::vector<Out> out(channels_);
    TensorView<Out> result{
        out.data(), {1, 1, 1, channels_, TensorOrder::kNhwc}, output_};
    const TensorView<const In> image = {
        x_.data(),
        {1, 1, kind_ == Kind::kDepthwise ? depth_ : 1,
         kind_ == Kind::kDepthwise ? channels_ : depth_, TensorOrder::kNhwc},
        input_};
    Window window;
    if (kind_ == Kind::kDepthwise) window.kernel_width = depth_;
    ASSERT_OK(
        kind_ == Kind::kConv
            ? Conv2D(image, layer, window, nullptr, &context_, &result)
        : kind_ == Kind::kDepthwise
            ? DepthwiseConv2D(image, layer, window, nullptr, &context_, &result)
            : FullyConnected(image, layer, &context_, &result));
    const double qmax = (1 << (options_.weight_bits - 1)) - 1;
    double of_tensor = 0;
    for (const float w : weights_) {
      of_tensor = std::max<double>(of_tensor, std::abs(w) / qmax);
    }
    for (std::ptrdiff_t c = 0; c < channels_; ++c) {
      double sum = bias_[c], inputs = 0, largest = 0;
      for (std::ptrdiff_t k = 0; k < depth_; ++k) {
        const float w = weights_[c * depth_ + k];
        const double x =
            input_.scale *
            (x_[kind_ == Kind::kDepthwise ? k * channels_ + c : k] -
             input_.zero_point);
        sum += x * w;
        inputs += std::abs(x);
        largest = std::max<double>(largest, std::abs(w));
      }
      const double step =
          options_.per_channel ? largest / qmax : std::max(of_tensor, 1e-30);
      double lost = inputs * std::min(step / 2, largest);
      lost += std::min<double>(
          input_.scale * step / 2,
          is_dead_[c] && largest == 0 ? output_.scale / 512 : kInf);
      const double expected = std::clamp<double>(
          sum / output_.scale + output_.zero_point, output_.qmin, output_.qmax);
      EXPECT_NEAR(out[c], expected, 0.502 + lost / output_.scale)
          << "channel " << c << (is_dead_[c] ? ", dead" : "");
    }
  }

  Rng rng_;
  Kind kind_;
  std::ptrdiff_t channels_, depth_;
  Context context_;
  MakeLayerOptions options_;
  MakeLayerReport report_;
  QuantParams input_, output_;
  std::vector<In> x_;
  std::vector<float> weights_, bias_;
  std::vector<bool> is_dead_;
};

// Too small for the bias to fit, for a scale at all, and zeros.
constexpr float kDeadFactors[] = {1e-12f, 1e-30f, 1e-37f, 0.0f};

template <typename In, typename Out>
void ExpectDeadChannelsWork(std::uint64_t seed) {
  SCOPED_TRACE(seed);
  Rng rng(seed);
  const auto kind = static_cast<Kind>(rng.Between(0, 2));
  FloatLayer<In, Out> layer(kind, rng.Between(1, 40), rng.Between(1, 30), seed);
  layer.options_.weight_bits = rng.OneIn(2) ? 8 : 7;
  layer.options_.per_channel = !rng.OneIn(3);
  const bool all = rng.OneIn(5);
  for (std::ptrdiff_t c = 0; c < layer.channels_; ++c) {
    if (all || rng.OneIn(4)) layer.Kill(c, kDeadFactors[rng.Between(0, 3)]);
  }
  layer.ExpectFloatResult();
  for (const auto& rescaled : layer.report_.rescaled) {
    EXPECT_TRUE(layer.is_dead_[rescaled.channel]) << rescaled.channel;
  }
}

TEST(DeadChannelsTest, LayersAreWithinHalfAStepOfFloat) {
  for (std::uint64_t seed = 0; seed < 400; seed += 4) {
    ExpectDeadChannelsWork<std::int8_t, std::int8_t>(seed);
    ExpectDeadChannelsWork<std::uint8_t, std::uint8_t>(seed + 1);
    ExpectDeadChannelsWork<std::int8_t, std::uint8_t>(seed + 2);
    ExpectDeadChannelsWork<std::uint8_t, std::int8_t>(seed + 3);
    if (testing::Test::HasFailure()) return;
  }
}

using Layer8 = FloatLayer<std::int8_t, std::int8_t>;

TEST(DeadChannelsTest, AreReported) {
  Layer8 layer(Kind::kConv, 6, 9, 1);
  layer.bias_.assign(6, 0.5f);
  layer.Kill(2, 1e-12f);
  layer.Kill(4, 0);
  ASSERT_OK(layer.Make());
  ASSERT_EQ(layer.report_.rescaled.size(), 2u);
  const auto needed = 0.5f / layer.input_.scale * 0x1p-30f;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(layer.report_.rescaled[i].channel, 2 + 2 * i);
    EXPECT_NEAR(layer.report_.rescaled[i].scale, needed, 1e-6f * needed);
  }
  // A report that was used is written anew.
  layer.bias_.clear();
  ASSERT_OK(layer.Make());
  EXPECT_TRUE(layer.report_.rescaled.empty());
}

// The caller's scales for one tensor: one channel gets its own.
TEST(DeadChannelsTest, GivenScalesAreEnlarged) {
  Layer8 layer(Kind::kFullyConnected, 5, 7, 2);
  const QuantParams one = {1e-12f, 0, -127, 127};
  layer.options_.weight_params = absl::MakeConstSpan(&one, 1);
  for (float& w : layer.weights_) w *= 1e-10f;
  layer.bias_ = {0, 1e-6f, 0.25f, 1e-7f, 0};
  ASSERT_OK(layer.Make());
  ASSERT_EQ(layer.report_.rescaled.size(), 1u);
  EXPECT_EQ(layer.report_.rescaled[0].channel, 2);
  layer.ExpectFloatResult();
}

TEST(DeadChannelsTest, ScalesOfInt32OutputsChangeOnlyWithAReport) {
  Layer8 layer(Kind::kConv, 3, 4, 3);
  layer.bias_.assign(3, 1);
  layer.Kill(1, 1e-14f);
  const auto make = [&] {
    return MakeConv2D<std::int8_t, std::int32_t>(
        RowMajorOf(layer.weights_, 3, 4), layer.bias_, layer.input_,
        layer.output_, &layer.context_, layer.options_);
  };
  const auto refused = make();
  EXPECT_CODE(kInvalid, refused);
  EXPECT_THAT(std::string(refused.status().message()),
              testing::AllOf(HasSubstr("channel 1"), HasSubstr("report")));
  layer.options_.report = &layer.report_;
  ASSERT_OK(make());
  EXPECT_EQ(layer.report_.rescaled.size(), 1u);
}

TEST(DeadChannelsTest, BiasesThatNoScaleFits) {
  Layer8 layer(Kind::kConv, 3, 4, 4);
  for (const float bias : {kInf, -kInf, kNan}) {
    layer.bias_[2] = bias;
    const auto refused = layer.Make();
    EXPECT_CODE(kInvalid, refused);
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("bias of channel 2"));
  }
  layer.bias_[2] = 1e38f;
  layer.input_.scale = 1e-37f;
  EXPECT_THAT(std::string(layer.Make().status().message()),
              HasSubstr("no scale"));
}

}  // namespace
}  // namespace ruy_like
