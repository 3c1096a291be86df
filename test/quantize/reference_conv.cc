#include "test/quantize/reference_conv.h"

namespace ruy_like {
namespace {

template <typename In>
std::int32_t Sum(const TensorView<const In>& input, const std::int8_t* weights,
                 std::int32_t weight_zero_point, const Window& window,
                 std::ptrdiff_t channels, std::ptrdiff_t n, std::ptrdiff_t y,
                 std::ptrdiff_t x, std::ptrdiff_t first) {
  const TensorShape& shape = input.shape;
  const bool is_nhwc = shape.order == TensorOrder::kNhwc;
  const std::ptrdiff_t taps = window.kernel_height * window.kernel_width;
  std::int32_t sum = 0;
  for (std::ptrdiff_t i = 0; i < window.kernel_height; ++i) {
    for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j) {
      const std::ptrdiff_t iy = y * window.stride_height +
                                i * window.dilation_height - window.padding.top;
      const std::ptrdiff_t ix = x * window.stride_width +
                                j * window.dilation_width - window.padding.left;
      if (iy < 0 || iy >= shape.height || ix < 0 || ix >= shape.width) continue;
      const std::ptrdiff_t tap = i * window.kernel_width + j;
      for (std::ptrdiff_t c = 0; c < channels; ++c) {
        const std::int32_t in =
            input.data[OffsetIn(shape, n, iy, ix, first + c)];
        const std::int32_t weight =
            weights[is_nhwc ? tap * channels + c : c * taps + tap];
        sum += (in - input.params.zero_point) * (weight - weight_zero_point);
      }
    }
  }
  return sum;
}

}  // namespace

template <typename In>
std::vector<std::int32_t> ReferenceSums(const TensorView<const In>& input,
                                        const std::int8_t* weights,
                                        std::int32_t weight_zero_point,
                                        const Window& window,
                                        std::ptrdiff_t groups,
                                        const TensorShape& out_shape) {
  const std::ptrdiff_t channels = input.shape.channels / groups;
  const std::ptrdiff_t depth =
      window.kernel_height * window.kernel_width * channels;
  std::vector<std::int32_t> sums;
  sums.reserve(CountOf(out_shape));
  for (std::ptrdiff_t n = 0; n < out_shape.batch; ++n) {
    for (std::ptrdiff_t y = 0; y < out_shape.height; ++y) {
      for (std::ptrdiff_t x = 0; x < out_shape.width; ++x) {
        for (std::ptrdiff_t c = 0; c < out_shape.channels; ++c) {
          sums.push_back(Sum(input, weights + c * depth, weight_zero_point,
                             window, channels, n, y, x,
                             c / (out_shape.channels / groups) * channels));
        }
      }
    }
  }
  return sums;
}

#define RUY_LIKE_REFERENCE_SUMS(In)                                  \
  template std::vector<std::int32_t> ReferenceSums(                  \
      const TensorView<const In>& input, const std::int8_t* weights, \
      std::int32_t weight_zero_point, const Window& window,          \
      std::ptrdiff_t groups, const TensorShape& out_shape);
RUY_LIKE_REFERENCE_SUMS(std::int8_t)
RUY_LIKE_REFERENCE_SUMS(std::uint8_t)
RUY_LIKE_REFERENCE_SUMS(std::int16_t)
#undef RUY_LIKE_REFERENCE_SUMS

}  // namespace ruy_like
