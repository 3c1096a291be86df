#include "ruy_like/quantize/pooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/quantize/reference_conv.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

enum class Kind { kMax, kAverage, kAverageWithPadding };

// True if a tap is in [low, high), on the image or on its padding.
bool IsWithin(std::ptrdiff_t i, std::ptrdiff_t low, std::ptrdiff_t high) {
  return i >= low && i < high;
}

template <typename T>
T ReferencePool(const std::vector<T>& in, const TensorShape& shape,
                const Window& w, Kind kind, const QuantParams& params,
                std::ptrdiff_t n, std::ptrdiff_t y, std::ptrdiff_t x,
                std::ptrdiff_t c) {
  std::int64_t max = params.qmin, sum = 0, count = 0;
  for (std::ptrdiff_t i = 0; i < w.kernel_height; ++i) {
    for (std::ptrdiff_t j = 0; j < w.kernel_width; ++j) {
      const std::ptrdiff_t iy =
          y * w.stride_height + i * w.dilation_height - w.padding.top;
      const std::ptrdiff_t ix =
          x * w.stride_width + j * w.dilation_width - w.padding.left;
      if (IsWithin(iy, 0, shape.height) && IsWithin(ix, 0, shape.width)) {
        const T value = in[OffsetIn(shape, n, iy, ix, c)];
        max = std::max<std::int64_t>(max, value);
        sum += value;
        ++count;
      } else if (kind == Kind::kAverageWithPadding &&
                 IsWithin(iy, -w.padding.top,
                          shape.height + w.padding.bottom) &&
                 IsWithin(ix, -w.padding.left, shape.width + w.padding.right)) {
        sum += params.zero_point;
        ++count;
      }
    }
  }
  std::int64_t value = max;
  if (kind != Kind::kMax) {
    value = count == 0 ? params.zero_point
                       : std::llround(static_cast<double>(sum) /
                                      static_cast<double>(count));
  }
  return static_cast<T>(
      std::clamp<std::int64_t>(value, params.qmin, params.qmax));
}

template <typename T>
absl::Status Pool(Kind kind, const TensorView<const T>& input,
                  const Window& window, Workspace* workspace, Context* context,
                  TensorView<T>* output) {
  if (kind == Kind::kMax) {
    return MaxPool2D(input, window, workspace, context, output);
  }
  return AveragePool2D(input, window, workspace, context, output,
                       kind == Kind::kAverage ? AveragePadding::kExclude
                                              : AveragePadding::kInclude);
}

class PoolingTest : public PathTest {
 protected:
  template <typename T>
  void Compare(std::uint64_t seed, Workspace* workspace) {
    Rng rng(seed);
    const Window window = RandomWindow(&rng);
    const TensorShape shape =
        RandomShape(window, rng.Between(1, rng.OneIn(3) ? 150 : 20), &rng);
    const QuantParams params = RandomParams<T>(&rng, false);
    const QuantParams clamped =
        rng.OneIn(2) ? RandomClamp(params, &rng) : params;
    const std::vector<T> in = RandomVector<T>(CountOf(shape), seed);
    GuardedBuffer input(in.size(), Flush::kEnd);
    std::copy(in.begin(), in.end(), input.as<T>());
    const TensorShape out_shape =
        OutputShape(shape, window, shape.channels).value();
    for (const Kind kind :
         {Kind::kMax, Kind::kAverage, Kind::kAverageWithPadding}) {
      GuardedBuffer out(CountOf(out_shape), Flush::kEnd);
      TensorView<T> output{out.as<T>(), out_shape, clamped};
      ASSERT_OK(Pool(kind, TensorView<const T>{input.as<T>(), shape, params},
                     window, workspace, &context_, &output));
      for (std::ptrdiff_t n = 0; n < out_shape.batch; ++n) {
        for (std::ptrdiff_t y = 0; y < out_shape.height; ++y) {
          for (std::ptrdiff_t x = 0; x < out_shape.width; ++x) {
            for (std::ptrdiff_t c = 0; c < out_shape.channels; ++c) {
              ASSERT_EQ(
                  out.as<T>()[OffsetIn(out_shape, n, y, x, c)],
                  ReferencePool(in, shape, window, kind, clamped, n, y, x, c))
                  << "kind " << static_cast<int>(kind) << " at " << n << ","
                  << y << "," << x << "," << c;
            }
          }
        }
      }
      ASSERT_TRUE(out.SlackIsIntact());
    }
  }
};
RUY_LIKE_INSTANTIATE_PER_PATH(PoolingTest);

TEST_P(PoolingTest, EqualsReference) {
  Workspace workspace;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    context_.set_max_num_threads(1 + static_cast<int>(seed % 2));
    Compare<std::int8_t>(seed, &workspace);
    Compare<std::uint8_t>(seed + 1000, nullptr);
    if (HasFatalFailure()) return;
  }
}

// A 2x2 window at a corner of padding.
TEST(PoolingGoldenTest, PaddingRules) {
  const std::vector<std::int8_t> in = {-7, 2, 4, 9};
  const TensorShape shape{1, 2, 2, 1};
  Window window = Square(2, 1, 1, 0);
  window.padding.top = window.padding.left = 1;
  const QuantParams params = {1, -3};
  const TensorView<const std::int8_t> input{in.data(), shape, params};
  std::vector<std::int8_t> out(4);
  TensorView<std::int8_t> output{out.data(), shape, params};
  ASSERT_OK(MaxPool2D(input, window, nullptr, nullptr, &output));
  EXPECT_THAT(out, ElementsAre(-7, 2, 4, 9));
  ASSERT_OK(AveragePool2D(input, window, nullptr, nullptr, &output));
  // -5/2 and -3/2 go away from zero.
  EXPECT_THAT(out, ElementsAre(-7, -3, -2, 2));
  ASSERT_OK(AveragePool2D(input, window, nullptr, nullptr, &output,
                          AveragePadding::kInclude));
  EXPECT_THAT(out, ElementsAre(-4, -3, -2, 2));
}

// Sums of a window as large as the image: global pooling.
TEST(PoolingGoldenTest, GlobalAverage) {
  const std::vector<std::uint8_t> in(200 * 300, 255);
  const QuantParams params = {1, 0, 0, 255};
  Window window;
  window.kernel_height = 200;
  window.kernel_width = 300;
  std::uint8_t out = 0;
  TensorView<std::uint8_t> output{&out, TensorShape{}, params};
  ASSERT_OK(AveragePool2D(
      TensorView<const std::uint8_t>{in.data(), TensorShape{1, 200, 300, 1},
                                     params},
      window, nullptr, nullptr, &output));
  EXPECT_EQ(out, 255);
}

TEST(PoolingErrorTest, BadInputChangesNothing) {
  const std::vector<std::int8_t> in(16, 1);
  std::vector<std::int8_t> out(16, 77);
  const TensorShape shape{1, 4, 4, 1};
  const auto message = [&](const QuantParams& in_params,
                           const QuantParams& out_params,
                           const TensorShape& out_shape, const Window& window,
                           const std::int8_t* data) {
    TensorView<std::int8_t> output{out.data(), out_shape, out_params};
    return std::string(
        MaxPool2D(TensorView<const std::int8_t>{data, shape, in_params}, window,
                  nullptr, nullptr, &output)
            .message());
  };
  const QuantParams params, other = {2};
  EXPECT_THAT(message(params, other, shape, Window(), in.data()),
              HasSubstr("does not requantize"));
  EXPECT_THAT(message(params, params, shape, Window(), nullptr),
              HasSubstr("null data"));
  EXPECT_THAT(
      message(params, params, TensorShape{1, 4, 4, 2}, Window(), in.data()),
      HasSubstr("output is"));
  Window window;
  window.kernel_height = 5;
  EXPECT_THAT(message(params, params, shape, window, in.data()),
              HasSubstr("the window covers 5"));
  window.kernel_height = window.kernel_width = 4000;
  window.padding = {3996, 3, 3996, 3};
  EXPECT_THAT(message(params, params, shape, window, in.data()),
              HasSubstr("too large for a sum"));
  EXPECT_THAT(message(params, params, shape, Window(), out.data()),
              HasSubstr("share memory"));
  EXPECT_THAT(out, Each(77));
}

}  // namespace
}  // namespace ruy_like
