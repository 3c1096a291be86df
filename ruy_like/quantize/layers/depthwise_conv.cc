#include "ruy_like/quantize/depthwise_conv.h"

#include <cstring>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/depthwise_kernels.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

absl::Status CheckDepthwise(const Erased& input, const Erased& output,
                            const Layer& layer, const Window& window) {
  const DepthwiseWeights* const weights = layer.depthwise;
  if (weights == nullptr || weights->channels() == 0) {
    return Invalid("weights are empty, or not depthwise");
  }
  RUY_LIKE_ASSIGN_OR_RETURN(
      const auto expected,
      OutputShape(input.shape, window, weights->channels()));
  RUY_LIKE_RETURN_IF_ERROR(CheckTensors(input, output, expected));
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

// to[i * repeats + j] = from[i]
void RepeatEach(const std::uint8_t* from, std::ptrdiff_t count,
                std::ptrdiff_t repeats, std::uint8_t* to) {
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    std::memset(to + i * repeats, from[i], static_cast<std::size_t>(repeats));
  }
}

// One call, valid.
class Depthwise final {
 public:
  Depthwise(const LayerCall& call, const Layer& layer, const Window& window)
      : call_(call),
        layer_(layer),
        window_(window),
        tensors_(call.input, call.output),
        multiplier_(layer.Channels() / call.input.shape.channels) {
    const Scalar out = call.output.scalar;
    if (FitsDepthwiseKernels(Args())) {
      kernel_ = DepthwiseKernelsFor(call.context)[out];
    }
    if (kernel_ != nullptr) return;
    const LayerKernels& any = LayerKernelsFor(TargetsFor(call.context));
    kernel_ = (call.input.scalar == Scalar::kI8 ? any.depthwise_i8
                                                : any.depthwise_u8)[out];
  }

  void Place(Carver* carver) {
    tensors_.Place(carver);
    if (multiplier_ > 1) {
      repeated_ = carver->Take<std::uint8_t>(ElementCount(call_.input.shape),
                                             multiplier_);
    }
  }

  absl::Status Run() {
    RUY_LIKE_RETURN_IF_ERROR(tensors_.CopyInput(call_.context));
    DepthwiseArgs args = Args();
    if (multiplier_ > 1) {
      RepeatEach(args.input, ElementCount(call_.input.shape), multiplier_,
                 repeated_);
      args.input = repeated_;
    }
    return tensors_.WriteRows(args, kernel_, call_.context);
  }

 private:
  DepthwiseArgs Args() const {
    const DepthwiseWeights& weights = *layer_.depthwise;
    return {
        tensors_.Sliding(window_), weights.data(),           weights.stride(),
        weights.bytes(),           layer_.int_bias,          layer_.table,
        weights.scales(),          call_.input.params.scale, layer_.float_bias};
  }

  const LayerCall& call_;
  const Layer& layer_;
  const Window& window_;
  NhwcTensors tensors_;
  const std::ptrdiff_t multiplier_;
  DepthwiseFunction* kernel_ = nullptr;
  std::uint8_t* repeated_ = nullptr;
};

}  // namespace

absl::Status DepthwiseConv2D(const Erased& input, const LayerSource& source,
                             const Window& window, Workspace* workspace,
                             Context* context, const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    const LayerCall call = {input, source, workspace, context, output};
    Layer own(call);
    const Layer& layer = source.made != nullptr ? *source.made : own;
    RUY_LIKE_RETURN_IF_ERROR(CheckDepthwise(input, output, layer, window));
    Depthwise depthwise(call, layer, window);
    Workspace spare;
    RUY_LIKE_RETURN_IF_ERROR(PrepareLayer(
        call, &spare, &own, [&](Carver* carver) { depthwise.Place(carver); }));
    return depthwise.Run();
  });
}

}  // namespace ruy_like::quantize_internal
