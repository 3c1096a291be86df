#include "ruy_like/quantize/depthwise_conv.h"

#include <algorithm>
#include <cstring>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/direct_conv.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/depthwise_kernels.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

absl::Status CheckDepthwise(const LayerCall& call, const Window& window) {
  const Erased& input = call.input;
  const DepthwiseWeights* const weights = call.layer().depthwise;
  if (weights == nullptr || weights->channels() == 0) {
    return Invalid("weights are empty, or not depthwise");
  }
  RUY_LIKE_ASSIGN_OR_RETURN(
      const auto expected,
      OutputShape(input.shape, window, weights->channels()));
  RUY_LIKE_RETURN_IF_ERROR(CheckTensors(input, call.output, expected));
  const std::ptrdiff_t channels = input.shape.channels;
  if (channels == 0 || weights->channels() % channels != 0 ||
      window.kernel_height * window.kernel_width != weights->taps()) {
    return Invalid("depthwise weights of ", weights->channels(),
                   " channels and ", weights->taps(), " taps for a kernel of ",
                   window.kernel_height, "x", window.kernel_width, " on input ",
                   Describe(input));
  }
  return absl::OkStatus();
}

// to[i * repeats + j] = from[i], of elements of type T
template <typename T>
void RepeatEach(const void* from, std::ptrdiff_t count, std::ptrdiff_t repeats,
                void* to) {
  auto* repeated = static_cast<T*>(to);
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    repeated = std::fill_n(repeated, repeats, static_cast<const T*>(from)[i]);
  }
}

// One call, valid.
class Depthwise final {
 public:
  Depthwise(const LayerCall& call, const DepthwiseWeights& weights,
            const Window& window)
      : call_(call),
        layer_(call.layer()),
        weights_(weights),
        window_(window),
        tensors_(call.input, layer_.BeforeLookup(call.output)),
        multiplier_(layer_.Channels() / call.input.shape.channels) {
    const Scalar in = call.input.scalar, out = layer_.out;
    if (Is8Bit(in) && Is8Bit(out) && FitsDepthwiseKernels(Args())) {
      kernel_ = DepthwiseKernelFor(call.context);
    }
    if (kernel_ != nullptr) {
      needs_last_rows_ = multiplier_ > 1 || layer_.Channels() < 16;
      return;
    }
    kernel_ = LayerKernelsFor(TargetsFor(call.context))
                  .depthwise[static_cast<std::size_t>(in)][out];
    needs_repeats_ = multiplier_ > 1;
  }

  void Place(Carver* carver) {
    tensors_.Place(carver);
    if (needs_repeats_) {
      copy_ = carver->Take<std::uint8_t>(
          static_cast<std::ptrdiff_t>(BytesOf(call_.input).size()),
          multiplier_);
    } else if (needs_last_rows_) {
      copy_ = carver->Take<std::uint8_t>(LastRows() * RowBytes() + kReadBehind);
    }
  }

  absl::Status Run() {
    RUY_LIKE_RETURN_IF_ERROR(tensors_.CopyInput(call_.context));
    DepthwiseArgs args = Args();
    const std::ptrdiff_t elements = ElementCount(call_.input.shape);
    if (needs_repeats_) {
      (Is8Bit(call_.input.scalar)
           ? RepeatEach<std::uint8_t>
           : RepeatEach<std::uint16_t>)(args.input, elements, multiplier_,
                                        copy_);
      args.input = copy_;
    } else if (needs_last_rows_ && elements > 0) {
      const std::ptrdiff_t bytes = LastRows() * RowBytes();
      std::memcpy(copy_, args.input + elements - bytes,
                  static_cast<std::size_t>(bytes));
      args.last_rows = copy_;
    }
    return tensors_.WriteRows(args, kernel_, call_.context, layer_.lookup);
  }

 private:
  // Bytes that may be read behind a row of inputs of 8 bits.
  static constexpr std::ptrdiff_t kReadBehind = 16;

  std::ptrdiff_t RowBytes() const {
    return call_.input.shape.width * call_.input.shape.channels;
  }
  std::ptrdiff_t AllRows() const {
    return call_.input.shape.batch * call_.input.shape.height;
  }
  // Those behind which the input may end too soon.
  std::ptrdiff_t LastRows() const {
    return RowBytes() == 0
               ? 0
               : std::min(AllRows(), 1 + CeilDiv(kReadBehind, RowBytes()));
  }

  DepthwiseArgs Args() const {
    const TensorShape& shape = call_.input.shape;
    return {tensors_.Sliding(window_),
            shape.channels,
            weights_.data(),
            weights_.stride(),
            weights_.bytes(),
            layer_.int_bias,
            layer_.table,
            weights_.scales(),
            call_.input.params.scale,
            layer_.float_bias,
            AllRows() - LastRows(),
            /*last_rows=*/nullptr};
  }

  const LayerCall& call_;
  const Layer& layer_;
  const DepthwiseWeights& weights_;
  const Window& window_;
  NhwcTensors tensors_;
  const std::ptrdiff_t multiplier_;
  DepthwiseFunction* kernel_ = nullptr;
  // A copy of the input, each element as often as output channels see it, or of
  // its last rows.
  bool needs_repeats_ = false, needs_last_rows_ = false;
  std::uint8_t* copy_ = nullptr;
};

}  // namespace

absl::Status RunDepthwise(const DepthwiseWeights& weights, const Window& window,
                          LayerCall* call) {
  Depthwise depthwise(*call, weights, window);
  RUY_LIKE_RETURN_IF_ERROR(
      call->Prepare([&](Carver* carver) { depthwise.Place(carver); }));
  return depthwise.Run();
}

absl::Status DepthwiseConv2D(const Erased& input, const LayerSource& source,
                             const Window& window, Workspace* workspace,
                             Context* context, const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    LayerCall call(input, source, workspace, context, output);
    RUY_LIKE_RETURN_IF_ERROR(CheckDepthwise(call, window));
    return RunDepthwise(*call.layer().depthwise, window, &call);
  });
}

}  // namespace ruy_like::quantize_internal
