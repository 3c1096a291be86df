// Test support: convolutions of quantized tensors, element by element in the
// obvious way, and random ones to compare with.
#ifndef RUY_LIKE_TEST_QUANTIZE_REFERENCE_CONV_H_
#define RUY_LIKE_TEST_QUANTIZE_REFERENCE_CONV_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"
#include "test/support/test_util.h"

namespace ruy_like {

inline std::ptrdiff_t CountOf(const TensorShape& shape) {
  return shape.batch * shape.height * shape.width * shape.channels;
}

inline std::ptrdiff_t OffsetIn(const TensorShape& shape, std::ptrdiff_t n,
                               std::ptrdiff_t y, std::ptrdiff_t x,
                               std::ptrdiff_t c) {
  return shape.order == TensorOrder::kNhwc
             ? ((n * shape.height + y) * shape.width + x) * shape.channels + c
             : ((n * shape.channels + c) * shape.height + y) * shape.width + x;
}

// The accumulator's way into an output element.
template <typename Out>
Out ReferenceOutput(std::int32_t acc,
                    typename MulParams<std::int32_t, Out>::BiasScalar bias,
                    float in_scale, float weight_scale,
                    const QuantParams& output, MultiplierRounding rounding) {
  if constexpr (std::is_same<Out, float>::value) {
    return static_cast<float>(acc) * weight_scale * in_scale + bias;
  } else if constexpr (std::is_same<Out, std::int32_t>::value) {
    return acc + bias;
  } else if (rounding == MultiplierRounding::kFloat) {
    const float product = in_scale * weight_scale;
    const float scaled =
        static_cast<float>(acc + bias) * (product / output.scale);
    return static_cast<Out>(
        std::min(std::max(std::nearbyint(scaled) + output.zero_point,
                          static_cast<float>(output.qmin)),
                 static_cast<float>(output.qmax)));
  } else {
    const QuantizedMultiplier multiplier =
        QuantizeMultiplier(static_cast<double>(weight_scale) *
                           static_cast<double>(in_scale) /
                           static_cast<double>(output.scale))
            .value();
    std::int64_t value;
    if constexpr (std::is_same<Out, std::int16_t>::value) {
      // TensorFlow Lite's MultiplyByQuantizedMultiplier of int64.
      const std::int32_t reduced =
          multiplier.fixedpoint < 0x7FFF0000
              ? (multiplier.fixedpoint + (1 << 15)) >> 16
              : 0x7FFF;
      const int shift = 15 - multiplier.exponent;
      value = ((std::int64_t{acc} + bias) * reduced +
               (std::int64_t{1} << (shift - 1))) >>
              shift;
    } else {
      value =
          std::int64_t{MultiplyByQuantizedMultiplier(acc + bias, multiplier)} +
          output.zero_point;
    }
    return static_cast<Out>(std::min<std::int64_t>(
        std::max<std::int64_t>(value, output.qmin), output.qmax));
  }
}

// The accumulators of a convolution's output elements, by (n, y, x, c). In a
// file that is compiled with optimisation, as test programs are not: this is
// most of their time. For int8, uint8 and int16.
template <typename In>
std::vector<std::int32_t> ReferenceSums(const TensorView<const In>& input,
                                        const std::int8_t* weights,
                                        std::int32_t weight_zero_point,
                                        const Window& window,
                                        std::ptrdiff_t groups,
                                        const TensorShape& out_shape);

// A convolution with operands of its own. Weights lie as PackedWeights has it.
template <typename In, typename Out>
struct ConvProblem {
  using Bias = typename MulParams<std::int32_t, Out>::BiasScalar;

  TensorShape in_shape, out_shape;
  Window window;
  std::ptrdiff_t groups = 1;
  QuantParams in_params, out_params;
  std::vector<QuantParams> weight_params;
  std::vector<In> input;
  std::vector<std::int8_t> weights;
  std::vector<Bias> bias;
  MultiplierRounding rounding = MultiplierRounding::kOnce;

  std::ptrdiff_t GroupChannels() const { return in_shape.channels / groups; }
  std::ptrdiff_t Depth() const {
    return window.kernel_height * window.kernel_width * GroupChannels();
  }
  Matrix<std::int8_t> WeightMatrix() const {
    return RowMajorOf(weights, out_shape.channels, Depth());
  }
  TensorView<const In> Input() const {
    return {input.data(), in_shape, in_params};
  }

  std::vector<Out> Reference() const {
    std::vector<Out> out(CountOf(out_shape));
    const std::vector<std::int32_t> sums =
        ReferenceSums(Input(), weights.data(), weight_params[0].zero_point,
                      window, groups, out_shape);
    const std::int32_t* sum = sums.data();
    for (std::ptrdiff_t n = 0; n < out_shape.batch; ++n) {
      for (std::ptrdiff_t y = 0; y < out_shape.height; ++y) {
        for (std::ptrdiff_t x = 0; x < out_shape.width; ++x) {
          for (std::ptrdiff_t c = 0; c < out_shape.channels; ++c) {
            const QuantParams& weight =
                weight_params[weight_params.size() == 1 ? 0 : c];
            out[OffsetIn(out_shape, n, y, x, c)] = ReferenceOutput<Out>(
                *sum++, bias.empty() ? Bias{0} : bias[c], in_params.scale,
                weight.scale, out_params, rounding);
          }
        }
      }
    }
    return out;
  }

  std::string Describe() const {
    std::ostringstream s;
    s << "in " << in_shape.batch << "x" << in_shape.height << "x"
      << in_shape.width << "x" << in_shape.channels
      << (in_shape.order == TensorOrder::kNhwc ? " NHWC" : " NCHW") << " out "
      << out_shape.height << "x" << out_shape.width << "x" << out_shape.channels
      << " kernel " << window.kernel_height << "x" << window.kernel_width
      << " stride " << window.stride_height << "x" << window.stride_width
      << " dilation " << window.dilation_height << "x" << window.dilation_width
      << " padding " << window.padding.top << "," << window.padding.bottom
      << "," << window.padding.left << "," << window.padding.right << " groups "
      << groups << " weights' params " << weight_params.size();
    return s.str();
  }
};

// The parameters with some qmin and qmax around the zero point.
inline QuantParams RandomClamp(QuantParams params, Rng* rng) {
  params.qmin =
      static_cast<std::int32_t>(rng->Between(params.qmin, params.zero_point));
  params.qmax =
      static_cast<std::int32_t>(rng->Between(params.zero_point, params.qmax));
  return params;
}

template <typename T>
QuantParams RandomParams(Rng* rng, bool with_clamp) {
  QuantParams params;
  params.qmin = std::numeric_limits<T>::lowest();
  params.qmax = std::numeric_limits<T>::max();
  params.scale = static_cast<float>(std::ldexp(1.5 + 0.5 * rng->Signed(), -5));
  params.zero_point =
      std::is_same<T, std::int16_t>::value
          ? 0
          : static_cast<std::int32_t>(rng->Between(params.qmin, params.qmax));
  return with_clamp ? RandomClamp(params, rng) : params;
}

// Any qmin and qmax that Q holds, often all of them, and any zero point.
template <typename Q>
QuantParams AnyParams(Rng* rng) {
  constexpr std::int64_t kLowest = std::numeric_limits<Q>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<Q>::max();
  QuantParams params;
  params.qmin = static_cast<std::int32_t>(
      rng->OneIn(2) ? kLowest : rng->Between(kLowest, kHighest));
  params.qmax = static_cast<std::int32_t>(
      rng->OneIn(2) ? kHighest : rng->Between(params.qmin, kHighest));
  params.zero_point =
      static_cast<std::int32_t>(rng->Between(kLowest, kHighest));
  return params;
}

inline Window Square(std::ptrdiff_t kernel, std::ptrdiff_t stride,
                     std::ptrdiff_t dilation, std::ptrdiff_t padding) {
  Window window;
  window.kernel_height = window.kernel_width = kernel;
  window.stride_height = window.stride_width = stride;
  window.dilation_height = window.dilation_width = dilation;
  window.padding = {padding, padding, padding, padding};
  return window;
}

inline Window RandomWindow(Rng* rng) {
  Window window;
  const auto draw = [&](int low, int high) -> std::ptrdiff_t {
    return rng->Between(low, high);
  };
  if (rng->OneIn(5)) return window;  // 1x1
  window.kernel_height = draw(1, 4);
  window.kernel_width = draw(1, 5);
  window.stride_height = draw(1, 3);
  window.stride_width = draw(1, 3);
  window.dilation_height = draw(1, 3);
  window.dilation_width = draw(1, 3);
  window.padding = {draw(0, 4), draw(0, 4), draw(0, 4), draw(0, 4)};
  window.round_up = rng->OneIn(4);
  return window;
}

// A TensorShape on which the window fits.
inline TensorShape RandomShape(const Window& window, std::ptrdiff_t channels,
                               Rng* rng) {
  TensorShape shape;
  const auto least = [](std::ptrdiff_t kernel, std::ptrdiff_t dilation,
                        std::ptrdiff_t padding) {
    return std::max<std::ptrdiff_t>(1, (kernel - 1) * dilation + 1 - padding);
  };
  shape.batch = rng->Between(1, 3);
  shape.height = least(window.kernel_height, window.dilation_height,
                       window.padding.top + window.padding.bottom) +
                 rng->Between(0, 9);
  shape.width = least(window.kernel_width, window.dilation_width,
                      window.padding.left + window.padding.right) +
                rng->Between(0, 20);
  shape.channels = channels;
  shape.order = rng->OneIn(2) ? TensorOrder::kNhwc : TensorOrder::kNchw;
  return shape;
}

template <typename In, typename Out>
void FillConvProblem(Rng* rng, ConvProblem<In, Out>* p) {
  p->out_shape =
      OutputShape(p->in_shape, p->window, p->out_shape.channels).value();
  p->in_params = RandomParams<In>(rng, false);
  constexpr bool kIsInt16 = std::is_same<In, std::int16_t>::value;
  using Stored = std::conditional_t<sizeof(Out) < 4, Out, std::int8_t>;
  p->out_params = RandomParams<Stored>(rng, /*with_clamp=*/true);
  // Accumulators of some thousands to numbers of 8 bits.
  p->out_params.scale *= static_cast<float>(std::sqrt(p->Depth())) * 4;
  p->weight_params.assign(rng->OneIn(2) ? 1 : p->out_shape.channels,
                          QuantParams());
  const std::int32_t zero_point =
      kIsInt16 || rng->OneIn(2)
          ? 0
          : static_cast<std::int32_t>(rng->Between(-128, 127));
  for (QuantParams& w : p->weight_params) {
    w.scale = RandomParams<std::int8_t>(rng, false).scale;
    w.zero_point = zero_point;
  }
  p->input = RandomVector<In>(CountOf(p->in_shape), rng->Next());
  p->weights = RandomVector<std::int8_t>(p->out_shape.channels * p->Depth(),
                                         rng->Next());
  if (!rng->OneIn(4)) {
    p->bias.resize(p->out_shape.channels);
    for (auto& b : p->bias) {
      b = std::is_same<Out, float>::value
              ? static_cast<typename ConvProblem<In, Out>::Bias>(rng->Signed())
              : static_cast<typename ConvProblem<In, Out>::Bias>(
                    rng->Between(-20000, 20000));
    }
  }
  // Filters of zeros, whose scale is small for the sake of the bias.
  for (std::size_t c = 0; c < p->weight_params.size(); ++c) {
    if (p->weight_params.size() == 1 || !rng->OneIn(8)) continue;
    std::fill_n(p->weights.begin() + c * p->Depth(), p->Depth(),
                static_cast<std::int8_t>(zero_point));
    p->weight_params[c].scale *= 0x1p-20f;
    if (p->bias.empty() || std::is_same<Out, float>::value) continue;
    p->bias[c] = static_cast<typename ConvProblem<In, Out>::Bias>(
        rng->Between(-(1 << 30), 1 << 30) / (kIsInt16 ? 4 : 1));
  }
}

// A problem with operands from this seed.
template <typename In, typename Out>
ConvProblem<In, Out> MakeConvProblem(std::uint64_t seed, const Window& window,
                                     const TensorShape& in_shape,
                                     std::ptrdiff_t out_channels,
                                     std::ptrdiff_t groups = 1) {
  Rng rng(seed);
  ConvProblem<In, Out> p;
  p.window = window;
  p.in_shape = in_shape;
  p.out_shape.channels = out_channels;
  p.groups = groups;
  FillConvProblem(&rng, &p);
  return p;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_QUANTIZE_REFERENCE_CONV_H_
