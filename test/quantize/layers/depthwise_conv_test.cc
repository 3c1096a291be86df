#include "ruy_like/quantize/depthwise_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "test/quantize/expect_conv.h"
#include "test/quantize/reference_conv.h"
#include "test/support/count_allocations.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

// With as many groups as channels.
template <typename In, typename Out>
ConvProblem<In, Out> RandomDepthwise(std::uint64_t seed) {
  Rng rng(seed);
  ConvProblem<In, Out> p;
  p.window = RandomWindow(&rng);
  p.groups = rng.Between(1, rng.OneIn(3) ? 70 : 9);
  p.in_shape = RandomShape(p.window, p.groups, &rng);
  p.out_shape.channels = p.groups * (rng.OneIn(2) ? 1 : rng.Between(2, 4));
  FillConvProblem(&rng, &p);
  // Some multipliers beyond 1, too.
  if (rng.OneIn(4)) p.out_params.scale *= 0x1p-12f;
  if (sizeof(In) == 2 && rng.OneIn(4)) {
    for (QuantParams& w : p.weight_params) w.zero_point = -77;
  }
  return p;
}

template <typename In, typename Out>
void ExpectEqualsReference(const ConvProblem<In, Out>& p, Workspace* workspace,
                           Context* context) {
  ExpectEqualsReference(
      p, DepthwiseWeights::Pack(p.WeightMatrix(), p.weight_params),
      [](const auto&... args) { return DepthwiseConv2D(args...); }, workspace,
      context);
}

class DepthwiseConvTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(DepthwiseConvTest);

TEST_P(DepthwiseConvTest, EqualsReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < 60 / kThinning; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 3));
    ForEachLayerType([&](auto in, auto out, int i) {
      ExpectEqualsReference(RandomDepthwise<decltype(in), decltype(out)>(seed),
                            i == 6 ? nullptr : &workspace,
                            i == 4 ? nullptr : &context_);
    });
    ExpectEqualsReference(RandomDepthwise<std::int16_t, std::int16_t>(seed),
                          &workspace, &context_);
    if (seed % 4 == 0) {
      ExpectEqualsReference(RandomDepthwise<std::int16_t, std::int32_t>(seed),
                            nullptr, nullptr);
    }
    if (HasFatalFailure()) return;
  }
}

// Shapes that have loops of their own: both orders, all numbers of
// channels up to more than a vector's bytes and around its multiples, planes
// that are cut into tiles, all strides and dilations of such windows, and
// weights with a zero point.
template <typename In, typename Out>
ConvProblem<In, Out> RandomVectorized(std::uint64_t seed) {
  Rng rng(seed);
  ConvProblem<In, Out> p;
  const auto draw = [&](int low, int high) { return rng.Between(low, high); };
  p.window.kernel_height =
      rng.OneIn(4) ? draw(1, rng.OneIn(4) ? 18 : 7) : 3 + 2 * draw(0, 1);
  p.window.kernel_width =
      rng.OneIn(4) ? draw(1, rng.OneIn(4) ? 18 : 7) : p.window.kernel_height;
  p.window.stride_height = draw(1, rng.OneIn(4) ? 5 : 2);
  p.window.stride_width = draw(1, rng.OneIn(4) ? 5 : 2);
  p.window.dilation_height = rng.OneIn(4) ? draw(1, 3) : 1;
  p.window.dilation_width = rng.OneIn(4) ? draw(1, 3) : 1;
  p.window.padding = {draw(0, 3), draw(0, 3), draw(0, 3), draw(0, 3)};
  p.groups = draw(1, rng.OneIn(2) ? 140 : 20);
  p.in_shape = RandomShape(p.window, p.groups, &rng);
  p.in_shape.batch = draw(1, 2);
  if (rng.OneIn(3)) {
    p.in_shape.width += draw(0, 200);
    p.in_shape.height += draw(0, 20);
    p.groups = p.in_shape.channels = draw(1, 20);
  }
  p.out_shape.channels = p.groups * (rng.OneIn(5) ? draw(2, 9) : 1);
  FillConvProblem(&rng, &p);
  if (!rng.OneIn(5)) {
    for (QuantParams& w : p.weight_params) w.zero_point = 0;
  }
  if (rng.OneIn(4)) p.out_params.scale *= 0x1p-12f;
  return p;
}

TEST_P(DepthwiseConvTest, VectorizedEqualsReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < (kSanitized ? 10 : 25); ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 2));
    ForEachByteType([&](auto in, auto out, int i) {
      ExpectEqualsReference(
          RandomVectorized<decltype(in), decltype(out)>(4 * seed + i),
          &workspace, &context_);
    });
    if (HasFatalFailure()) return;
  }
}

// Windows whose neighbouring outputs are computed together: widths of less
// outputs than that, and around its multiples; kernels of other heights. Blocks
// of few channels compute several rows at once: heights of 1 to 6 leave groups
// of fewer rows.
TEST_P(DepthwiseConvTest, NeighboursEqualReference) {
  Workspace workspace;
  std::uint64_t seed = 0;
  for (const int width : {3, 5}) {
    for (const int stride : {1, 2}) {
      for (const int image_width : {1, 2, 3, 4, 7, 8, 9, 14, 31, 64}) {
        SCOPED_TRACE(++seed);
        Window window = Square(width, stride, 1, width / 2);
        if (seed % 4 == 0) {
          window.kernel_height = 9;
          window.padding.top = window.padding.bottom = 4;
        }
        constexpr std::ptrdiff_t kChannels[] = {33, 24, 80, 5, 16, 48, 97};
        const std::ptrdiff_t channels = kChannels[seed % 7];
        auto p = MakeConvProblem<std::int8_t, std::int8_t>(
            seed, window,
            {1, 1 + static_cast<std::ptrdiff_t>(seed % 6), image_width,
             channels, seed % 2 == 0 ? TensorOrder::kNhwc : TensorOrder::kNchw},
            channels, channels);
        for (QuantParams& w : p.weight_params) w.zero_point = 0;
        if (seed % 5 == 0) p.out_params.scale *= 0x1p-12f;
        ExpectEqualsReference(p, &workspace, &context_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// The numbers with the largest sums: no product or sum may saturate.
TEST_P(DepthwiseConvTest, ExtremeValues) {
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    for (const int weight : {-128, 127}) {
      for (const int input : {0, 255}) {
        auto p = MakeConvProblem<std::uint8_t, std::uint8_t>(
            7, Square(5, 1, 1, 2), {1, 9, 40, 67, order}, 67, 67);
        for (QuantParams& w : p.weight_params) w.zero_point = 0;
        p.in_params.zero_point = 255 - input;
        std::fill(p.weights.begin(), p.weights.end(),
                  static_cast<std::int8_t>(weight));
        std::fill(p.input.begin(), p.input.end(),
                  static_cast<std::uint8_t>(input));
        p.out_params = {2000, 128, 0, 255};
        ExpectEqualsReference(p, nullptr, &context_);
      }
    }
  }
}

// TensorFlow Lite's rule for int16 in int64, written out: one channel as deep
// as its sums may be, 516 taps of 127, which inputs of -2^15 bring to 2^31 less
// 130,752, and a second one of random weights. One tap more is refused.
TEST_P(DepthwiseConvTest, Int16UpToTheLargestSums) {
  constexpr int kTaps = 12 * 43, kPixels = 3;
  std::vector<std::int8_t> w(2 * kTaps, 127);
  const auto random = RandomVector<std::int8_t>(kTaps, 3);
  std::copy(random.begin(), random.end(), w.begin() + kTaps);
  const QuantParams in = {0.01f, 0, -32768, 32767},
                    out = {0.7f, 0, -32768, 32767};
  const QuantParams scales[] = {ParamsOf(0.005f, 0), ParamsOf(0.02f, 0)};
  ASSERT_VALUE(const auto weights,
               DepthwiseWeights::Pack(RowMajorOf(w, 2, kTaps), scales));
  Window window;
  window.kernel_height = 12;
  window.kernel_width = 43;
  const TensorShape in_shape = {1, 12, 43 + kPixels - 1, 2},
                    out_shape = {1, 1, kPixels, 2};
  auto x = RandomVector<std::int16_t>(CountOf(in_shape), 4);
  for (std::ptrdiff_t i = 0; i < CountOf(in_shape); i += 2) x[i] = -32768;
  const std::int32_t bias[] = {-130000, 77777};
  std::vector<std::int16_t> y(CountOf(out_shape));
  TensorView<std::int16_t> output{y.data(), out_shape, out};
  const TensorView<const std::int16_t> input{x.data(), in_shape, in};
  ASSERT_OK(DepthwiseConv2D(input, weights, bias, window, nullptr, &context_,
                            &output));
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    for (int c = 0; c < 2; ++c) {
      std::int64_t sum = bias[c];
      for (int tap = 0; tap < kTaps; ++tap) {
        const std::ptrdiff_t at =
            OffsetIn(in_shape, 0, tap / 43, pixel + tap % 43, c);
        sum += std::int64_t{x[at]} * w[c * kTaps + tap];
      }
      int exponent;
      const double multiplier =
          static_cast<double>(in.scale) * scales[c].scale / out.scale;
      const auto fixedpoint = static_cast<std::int64_t>(
          std::round(std::frexp(multiplier, &exponent) * 0x1p31));
      const std::int64_t reduced = (fixedpoint + (1 << 15)) >> 16;
      const int shift = 15 - exponent;
      const std::int64_t result =
          (sum * reduced + (std::int64_t{1} << (shift - 1))) >> shift;
      EXPECT_EQ(y[2 * pixel + c],
                std::clamp<std::int64_t>(result, -32768, 32767))
          << pixel << ", " << c;
    }
  }
  const std::vector<std::int8_t> deep(11 * 47, 127);
  ASSERT_VALUE(
      const auto too_deep,
      DepthwiseWeights::Pack(RowMajorOf(deep, 1, 11 * 47), {scales[0]}));
  ExpectStatus(
      QuantizedLayer::Make<std::int16_t, std::int16_t>(too_deep, {}, in, out)
          .status(),
      kInvalid, {"may overflow int32", "65659", "65535 are safe"});
}

TEST_P(DepthwiseConvTest, LargeImagesOnThreads) {
  context_.set_max_num_threads(3);
  for (const TensorOrder order : {TensorOrder::kNhwc, TensorOrder::kNchw}) {
    ExpectEqualsReference(
        MakeConvProblem<std::int16_t, std::int16_t>(
            8, Square(3, 1, 1, 1), {2, 37, 61, 17, order}, 34, 17),
        nullptr, &context_);
    ExpectEqualsReference(
        MakeConvProblem<std::int8_t, std::int8_t>(
            7, Square(3, 1, 1, 1), {3, 64, 66, 40, order}, 40, 40),
        nullptr, &context_);
  }
}

TEST(DepthwiseAllocationTest, SteadyStateAllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP();
  const auto p = RandomDepthwise<std::int8_t, std::int8_t>(4);
  ASSERT_VALUE(const auto weights,
               DepthwiseWeights::Pack(p.WeightMatrix(), p.weight_params));
  Workspace workspace;
  Context context;
  std::vector<std::int8_t> out(CountOf(p.out_shape));
  TensorView<std::int8_t> output{out.data(), p.out_shape, p.out_params};
  long allocated = -1;
  for (int i = 0; i < 3; ++i) {
    const long before = allocation_count;
    ASSERT_OK(DepthwiseConv2D(p.Input(), weights, BiasSpan<std::int8_t>(p.bias),
                              p.window, &workspace, &context, &output));
    allocated = allocation_count - before;
  }
  EXPECT_EQ(allocated, 0);
}

TEST(DepthwiseErrorTest, BadInputChangesNothing) {
  Window tall;
  tall.kernel_height = 3;
  const auto p = MakeConvProblem<std::int8_t, std::int8_t>(
      1, tall, {1, 5, 5, 4, TensorOrder::kNhwc}, 8, 4);
  const DepthwiseWeights good =
      DepthwiseWeights::Pack(p.WeightMatrix(), p.weight_params).value();
  std::vector<std::int8_t> out(CountOf(p.out_shape), 77);
  const auto message =
      [&](TensorView<const std::int8_t> input, const DepthwiseWeights& weights,
          const std::vector<std::int32_t>& bias, const Window& window,
          const QuantParams& out_params) {
        TensorView<std::int8_t> output{out.data(), p.out_shape, out_params};
        return std::string(DepthwiseConv2D(input, weights, bias, window,
                                           nullptr, nullptr, &output)
                               .message());
      };
  EXPECT_THAT(
      message(p.Input(), DepthwiseWeights(), {}, p.window, p.out_params),
      HasSubstr("weights are empty"));
  EXPECT_THAT(message(p.Input(), good, {1, 2}, p.window, p.out_params),
              HasSubstr("2 biases"));
  Window window = p.window;
  window.kernel_height = 2;
  window.dilation_height = 2;
  EXPECT_THAT(message(p.Input(), good, {}, window, p.out_params),
              HasSubstr("for a kernel of 2x1"));
  auto input = p.Input();
  input.shape.channels = 3;
  EXPECT_THAT(message(input, good, {}, p.window, p.out_params),
              HasSubstr("8 channels and 3 taps"));
  input = p.Input();
  input.data = nullptr;
  EXPECT_THAT(message(input, good, {}, p.window, p.out_params),
              HasSubstr("null data"));
  QuantParams params = p.out_params;
  params.scale = 0;
  EXPECT_THAT(message(p.Input(), good, {}, p.window, params),
              HasSubstr("output"));
  std::vector<std::int16_t> of_int16(CountOf(p.out_shape), 77);
  TensorView<std::int16_t> output{of_int16.data(), p.out_shape, {1}};
  TensorView<const std::int16_t> wide{of_int16.data(), p.in_shape, {1, 3}};
  const auto run = [&] {
    return DepthwiseConv2D(wide, good, {}, p.window, nullptr, nullptr, &output);
  };
  ExpectStatus(run(), kInvalid, {"input", "zero point is 3"});
  wide.params.zero_point = 0;
  ExpectStatus(run(), kInvalid, {"input and output share memory"});
  EXPECT_THAT(of_int16, Each(77));
  EXPECT_THAT(out, Each(77));
  EXPECT_FALSE(DepthwiseWeights::Pack(p.WeightMatrix(), {}).ok());
  Matrix<std::int8_t> null = p.WeightMatrix();
  null.set_data(nullptr);
  EXPECT_FALSE(DepthwiseWeights::Pack(null, p.weight_params).ok());
}

}  // namespace
}  // namespace ruy_like
