#include "ruy_like/quantize/depthwise_conv.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/depthwise_kernels.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

absl::Status CheckDepthwise(const Erased& input, const Erased& output,
                            const Layer& layer, const Window& window) {
  const DepthwiseWeights* const weights = layer.depthwise;
  if (weights == nullptr || weights->channels() == 0) {
    return absl::InvalidArgumentError("weights are empty, or not depthwise");
  }
  const absl::StatusOr<TensorShape> expected =
      OutputShape(input.shape, window, weights->channels());
  if (!expected.ok()) return expected.status();
  absl::Status status = CheckTensors(input, output, *expected);
  if (!status.ok()) return status;
  const std::ptrdiff_t channels = input.shape.channels;
  if (channels == 0 || weights->channels() % channels != 0 ||
      window.kernel_height * window.kernel_width != weights->taps()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "depthwise weights of ", weights->channels(), " channels and ",
        weights->taps(), " taps for a kernel of ", window.kernel_height, "x",
        window.kernel_width, " on input ", Describe(input)));
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
  Depthwise(const Erased& input, const Layer& layer, const Window& window,
            Context* context, const Erased& output)
      : input_(input),
        layer_(layer),
        window_(window),
        context_(context),
        output_(output),
        tensors_(input, output),
        multiplier_(layer.Channels() / input.shape.channels) {
    if (FitsDepthwiseKernels(Args(input.data, nullptr))) {
      kernel_ = DepthwiseKernelsFor(context)[output.scalar];
    }
    if (kernel_ != nullptr) return;
    const LayerKernels& any = LayerKernelsFor(TargetsFor(context));
    kernel_ = (input.scalar == Scalar::kI8 ? any.depthwise_i8
                                           : any.depthwise_u8)[output.scalar];
  }

  void Place(Carver* carver) {
    tensors_.Place(carver);
    if (multiplier_ > 1) {
      repeated_ =
          carver->Take<std::uint8_t>(ElementCount(input_.shape), multiplier_);
    }
  }

  absl::Status Run() {
    const TensorShape& out = output_.shape;
    if (ElementCount(out) == 0) return absl::OkStatus();
    absl::Status status = tensors_.CopyInput(context_);
    if (!status.ok()) return status;
    const std::uint8_t* source = tensors_.source();
    if (multiplier_ > 1) {
      RepeatEach(source, ElementCount(input_.shape), multiplier_, repeated_);
      source = repeated_;
    }
    const DepthwiseArgs args = Args(source, tensors_.result());
    status =
        ForEachRange(out.batch * out.height, /*grain=*/1,
                     SlidingCost(window_, out.width * out.channels), context_,
                     [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                       kernel_(args, first, last);
                     });
    return status.ok() ? tensors_.CopyOutput(context_) : status;
  }

 private:
  DepthwiseArgs Args(const void* source, void* result) const {
    const TensorShape& in = input_.shape;
    const TensorShape& out = output_.shape;
    const DepthwiseWeights& weights = *layer_.depthwise;
    DepthwiseArgs args;
    args.sliding = {source,
                    in.height,
                    in.width,
                    out.height,
                    out.width,
                    static_cast<std::size_t>(weights.channels()),
                    window_,
                    result,
                    input_.params.zero_point,
                    output_.params.qmin,
                    output_.params.qmax};
    args.input_is_signed = input_.scalar == Scalar::kI8;
    args.weights = weights.data();
    args.weight_stride = weights.stride();
    args.weight_bytes = weights.bytes();
    args.bias = layer_.int_bias;
    args.table = layer_.table;
    args.zero_point = output_.params.zero_point;
    args.weight_scale = weights.scales();
    args.input_scale = input_.params.scale;
    args.float_bias = layer_.float_bias;
    return args;
  }

  const Erased& input_;
  const Layer& layer_;
  const Window& window_;
  Context* const context_;
  const Erased& output_;
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
    Layer own(source, input, output);
    const Layer& layer = source.made != nullptr ? *source.made : own;
    absl::Status status = CheckDepthwise(input, output, layer, window);
    if (!status.ok()) return status;
    Depthwise depthwise(input, layer, window, context, output);
    Workspace spare;
    status = PrepareLayer(source, input, output, workspace, &spare, &own,
                          [&](Carver* carver) { depthwise.Place(carver); });
    return status.ok() ? depthwise.Run() : status;
  });
}

}  // namespace ruy_like::quantize_internal
