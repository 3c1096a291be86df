#include "ruy_like/quantize/depthwise_conv.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/blocks.h"
#include "ruy_like/quantize/dispatch.h"
#include "ruy_like/quantize/layer_kernels.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/staging.h"
#include "ruy_like/quantize/tensor_checks.h"

namespace ruy_like {

absl::StatusOr<DepthwiseWeights> DepthwiseWeights::Pack(
    const Matrix<std::int8_t>& weights, absl::Span<const QuantParams> params) {
  return CatchNoMemory([&]() -> absl::StatusOr<DepthwiseWeights> {
    const absl::Status status =
        quantize_internal::CheckWeights(weights, params);
    if (!status.ok()) return status;
    if (weights.layout().cols() == 0) {
      return absl::InvalidArgumentError("weights have no taps");
    }
    return Expand(weights, params);
  });
}

DepthwiseWeights DepthwiseWeights::Expand(
    const Matrix<std::int8_t>& weights, absl::Span<const QuantParams> params) {
  const auto slack =
      static_cast<std::ptrdiff_t>(quantize_internal::kChannelSlack);
  DepthwiseWeights result;
  result.channels_ = weights.layout().rows();
  result.taps_ = weights.layout().cols();
  result.stride_ = result.channels_ + slack;
  result.params_.assign(params.begin(), params.end());
  result.data_.assign(static_cast<std::size_t>(result.taps_ * result.stride_),
                      0);
  result.scales_.assign(static_cast<std::size_t>(result.stride_), 1);
  for (std::ptrdiff_t c = 0; c < result.channels_; ++c) {
    for (std::ptrdiff_t tap = 0; tap < result.taps_; ++tap) {
      result.data_[static_cast<std::size_t>(tap * result.stride_ + c)] =
          Element(weights, c, tap) - params[0].zero_point;
    }
    result.scales_[static_cast<std::size_t>(c)] =
        params[params.size() == 1 ? 0 : static_cast<std::size_t>(c)].scale;
  }
  return result;
}

namespace quantize_internal {
namespace {

absl::Status CheckDepthwise(const ErasedTensor& input,
                            const ErasedTensor& output,
                            const DepthwiseWeights& weights,
                            const Window& window) {
  if (weights.channels() == 0) {
    return absl::InvalidArgumentError("weights are empty");
  }
  const absl::StatusOr<TensorShape> expected =
      OutputShape(input.shape, window, weights.channels());
  if (!expected.ok()) return expected.status();
  absl::Status status = CheckTensors(input, output, *expected);
  if (!status.ok()) return status;
  const std::ptrdiff_t channels = input.shape.channels;
  if (channels == 0 || weights.channels() % channels != 0 ||
      window.kernel_height * window.kernel_width != weights.taps()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "depthwise weights of ", weights.channels(), " channels and ",
        weights.taps(), " taps for a kernel of ", window.kernel_height, "x",
        window.kernel_width, " on input ", DescribeShape(input.shape)));
  }
  return CheckDepth(weights.taps(), weights.params()[0], input);
}

// Scratch memory, part by part.
class Carver final {
 public:
  // The first pass counts, the second one takes.
  explicit Carver(char* memory) : memory_(memory) {}

  template <typename T>
  T* Take(std::ptrdiff_t count) {
    std::ptrdiff_t bytes;
    if (!CheckedMul<std::ptrdiff_t>(count, sizeof(T), &bytes) ||
        !CheckedAlign(bytes, &bytes)) {
      overflowed_ = true;
      return nullptr;
    }
    const std::ptrdiff_t begin = used_;
    if (!CheckedAdd(used_, bytes, &used_)) overflowed_ = true;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + begin);
  }
  std::ptrdiff_t used() const { return used_; }
  bool overflowed() const { return overflowed_; }

 private:
  char* memory_;
  std::ptrdiff_t used_ = 0;
  bool overflowed_ = false;
};

// to[i * repeats + j] = from[i]
template <typename T>
void RepeatEach(const T* from, std::ptrdiff_t count, std::ptrdiff_t repeats,
                T* to) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    std::memset(to + i * repeats, static_cast<unsigned char>(from[i]),
                static_cast<std::size_t>(repeats));
  }
}

// One call, valid.
template <typename In, typename Out>
class Depthwise final {
 public:
  using Bias = typename MulParams<std::int32_t, Out>::BiasScalar;
  static constexpr bool kQuantized = sizeof(Out) == 1;
  static constexpr bool kScaled = std::is_same<Out, float>::value;

  Depthwise(const TensorView<const In>& input, const DepthwiseWeights& weights,
            BiasSpan<Out> bias, const Window& window, Context* context,
            const TensorView<Out>& output)
      : input_(input),
        weights_(weights),
        bias_(bias),
        window_(window),
        context_(context),
        output_(output),
        is_nchw_(input.shape.order == TensorOrder::kNchw),
        multiplier_(weights.channels() / input.shape.channels) {}

  // Finds the places of all scratch; with null memory it only counts.
  void Place(Carver* carver) {
    const std::ptrdiff_t padded =
        weights_.channels() + static_cast<std::ptrdiff_t>(kChannelSlack);
    int_bias_ = carver->Take<std::int32_t>(padded);
    if (kScaled) float_bias_ = carver->Take<float>(padded);
    if (kQuantized) {
      table_ = carver->Take<std::int32_t>(
          static_cast<std::ptrdiff_t>(RequantizeTable::Elements(
              static_cast<std::size_t>(weights_.channels()))));
    }
    const std::ptrdiff_t input_count = ElementCount(input_.shape);
    if (is_nchw_) {
      reordered_ = carver->Take<In>(input_count);
      result_ = carver->Take<Out>(ElementCount(output_.shape));
    }
    if (multiplier_ > 1) {
      std::ptrdiff_t count = 0;
      if (!CheckedMul(input_count, multiplier_, &count)) {
        count = std::numeric_limits<std::ptrdiff_t>::max();
      }
      repeated_ = carver->Take<In>(count);
    }
  }

  absl::Status Run() {
    absl::Status status = PrepareArgs();
    if (status.ok()) status = PrepareInput();
    if (!status.ok() || ElementCount(output_.shape) == 0) return status;
    const LayerKernels& kernels =
        LayerKernelsFor(PermittedTargets(PermittedPaths(context_)));
    const auto kernel = kernels.depthwise[TypeOf<In>()][TypeOf<Out>()];
    status = ForEachRange(output_.shape.batch * output_.shape.height,
                          /*grain=*/1, SlidingRowCost(args_.sliding), context_,
                          [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                            kernel(args_, first, last);
                          });
    if (!status.ok() || !is_nchw_) return status;
    return Reorder(static_cast<const Out*>(result_), output_.shape,
                   /*to_nhwc=*/false, context_, output_.data);
  }

 private:
  template <typename T>
  static constexpr int TypeOf() {
    if (std::is_same<T, std::int8_t>::value) return kLayerI8;
    if (std::is_same<T, std::uint8_t>::value) return kLayerU8;
    if (std::is_same<T, std::int32_t>::value) return kLayerI32;
    return kLayerF32;
  }

  absl::Status PrepareArgs() {
    const TensorShape& in = input_.shape;
    const TensorShape& out = output_.shape;
    const auto channels = static_cast<std::size_t>(weights_.channels());
    args_.sliding = {nullptr,
                     in.height,
                     in.width,
                     out.height,
                     out.width,
                     channels,
                     window_,
                     is_nchw_ ? result_ : output_.data,
                     input_.params.zero_point,
                     output_.params.qmin,
                     output_.params.qmax};
    args_.weights = weights_.data();
    args_.weight_stride = weights_.stride();
    std::fill_n(int_bias_, channels + kChannelSlack, 0);
    args_.bias = int_bias_;
    args_.zero_point = output_.params.zero_point;
    args_.weight_scale = weights_.scales();
    args_.input_scale = input_.params.scale;
    if constexpr (kScaled) {
      std::fill_n(float_bias_, channels + kChannelSlack, 0.0f);
      std::copy(bias_.begin(), bias_.end(), float_bias_);
      args_.float_bias = float_bias_;
    } else {
      std::copy(bias_.begin(), bias_.end(), int_bias_);
    }
    if constexpr (kQuantized) {
      args_.table = RequantizeTable(table_, channels);
      const absl::Span<const QuantParams> params = weights_.params();
      for (std::size_t c = 0; c < channels; ++c) {
        const absl::StatusOr<QuantizedMultiplier> multiplier =
            ProductMultiplier(params[params.size() == 1 ? 0 : c], input_.params,
                              output_.params,
                              std::numeric_limits<Out>::lowest(),
                              std::numeric_limits<Out>::max());
        if (!multiplier.ok()) return multiplier.status();
        args_.table.Set(c, *multiplier);
      }
    }
    return absl::OkStatus();
  }

  // NHWC with as many channels as the output.
  absl::Status PrepareInput() {
    const In* source = input_.data;
    if (is_nchw_) {
      absl::Status status = Reorder(source, input_.shape,
                                    /*to_nhwc=*/true, context_, reordered_);
      if (!status.ok()) return status;
      source = reordered_;
    }
    if (multiplier_ > 1) {
      RepeatEach(source, ElementCount(input_.shape), multiplier_, repeated_);
      source = repeated_;
    }
    args_.sliding.input = source;
    return absl::OkStatus();
  }

  const TensorView<const In>& input_;
  const DepthwiseWeights& weights_;
  const BiasSpan<Out> bias_;
  const Window& window_;
  Context* const context_;
  const TensorView<Out>& output_;
  const bool is_nchw_;
  const std::ptrdiff_t multiplier_;
  DepthwiseArgs args_ = {};
  std::int32_t* int_bias_ = nullptr;
  float* float_bias_ = nullptr;
  std::int32_t* table_ = nullptr;
  In* reordered_ = nullptr;
  In* repeated_ = nullptr;
  Out* result_ = nullptr;
};

}  // namespace

template <typename In, typename Out>
absl::Status DepthwiseConv2DTyped(const TensorView<const In>& input,
                                  const DepthwiseWeights& weights,
                                  BiasSpan<Out> bias, const Window& window,
                                  Workspace* workspace, Context* context,
                                  const TensorView<Out>& output) {
  return CatchNoMemory([&]() -> absl::Status {
    absl::Status status =
        CheckDepthwise(EraseTensor("input", input),
                       EraseTensor("output", output), weights, window);
    if (!status.ok()) return status;
    status = CheckBias(bias, weights.channels(),
                       LargestSum(weights.taps(), weights.params()[0],
                                  EraseTensor("input", input)),
                       EraseTensor("output", output));
    if (!status.ok()) return status;
    Depthwise<In, Out> depthwise(input, weights, bias, window, context, output);
    Carver counted(nullptr);
    depthwise.Place(&counted);
    if (counted.overflowed()) {
      return absl::OutOfRangeError("the size of the workspace overflows");
    }
    Workspace of_this_call;
    if (workspace == nullptr) workspace = &of_this_call;
    void* const memory =
        workspace->Reserve(static_cast<std::size_t>(counted.used()));
    if (memory == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no memory for a workspace of ", counted.used(), " bytes"));
    }
    Carver carver(static_cast<char*>(memory));
    depthwise.Place(&carver);
    return depthwise.Run();
  });
}

#define RUY_LIKE_INSTANTIATE(In, Out)                                      \
  template absl::Status DepthwiseConv2DTyped<In, Out>(                     \
      const TensorView<const In>&, const DepthwiseWeights&, BiasSpan<Out>, \
      const Window&, Workspace*, Context*, const TensorView<Out>&)
RUY_LIKE_INSTANTIATE(std::int8_t, std::int8_t);
RUY_LIKE_INSTANTIATE(std::int8_t, std::uint8_t);
RUY_LIKE_INSTANTIATE(std::int8_t, std::int32_t);
RUY_LIKE_INSTANTIATE(std::int8_t, float);
RUY_LIKE_INSTANTIATE(std::uint8_t, std::int8_t);
RUY_LIKE_INSTANTIATE(std::uint8_t, std::uint8_t);
RUY_LIKE_INSTANTIATE(std::uint8_t, std::int32_t);
RUY_LIKE_INSTANTIATE(std::uint8_t, float);
#undef RUY_LIKE_INSTANTIATE

}  // namespace quantize_internal
}  // namespace ruy_like
