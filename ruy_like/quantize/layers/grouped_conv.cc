// Tested in test/quantize/layers/conv_test.cc.
#include <algorithm>

#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/direct_conv.h"
#include "ruy_like/quantize/layers/grouped_weights.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/grouped_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

// The input elements that `count` outputs see, padding included.
std::ptrdiff_t SpanOf(std::ptrdiff_t count, std::ptrdiff_t stride,
                      std::ptrdiff_t kernel, std::ptrdiff_t dilation) {
  return (count - 1) * stride + (kernel - 1) * dilation + 1;
}

// True if the loops are faster than products, which need many channels in a
// group to fill their tiles, and for a single tap gather nothing. Measured with
// AVX-512-VNNI and AVX2 on Zen 4.
bool LoopsPayOff(const GroupedLayout& layout) {
  const double channels_of_fast_products = layout.taps == 1 ? 13 : 36;
  return layout.ShareOfLanes() * channels_of_fast_products >=
         static_cast<double>(layout.in_channels);
}

// One call.
class GroupedConvolution final {
 public:
  GroupedConvolution(const LayerCall& call, const Window& window)
      : call_(call),
        layer_(call.layer()),
        window_(window),
        kernels_(GroupedKernelsFor(call.context)),
        tensors_(call.input, layer_.BeforeLookup(call.output)) {
    Plan();
  }

  // The loops can run it, and faster than products.
  bool Applies() const { return weights_ != nullptr; }
  // Both only if Applies().
  void Place(Carver* carver) {
    tensors_.Place(carver);
    const std::ptrdiff_t batch = call_.input.shape.batch;
    // The plan keeps the product of these near the size of the input.
    staged_ = carver->Take<std::uint8_t>(batch * staged_height_ * staged_width_,
                                         layout_.vectors * layout_.pixel_bytes);
  }
  absl::Status Run() {
    const TensorShape& in = call_.input.shape;
    const TensorShape& out = call_.output.shape;
    RUY_LIKE_RETURN_IF_ERROR(tensors_.CopyInput(call_.context));
    const GroupedArgs args = {tensors_.Sliding(window_),
                              layout_,
                              in.channels,
                              ElementCount(in),
                              out.batch * out.height,
                              staged_,
                              staged_height_,
                              staged_width_,
                              weights_,
                              layer_.packed->grouped()->sums(),
                              static_cast<const std::int32_t*>(layer_.bias),
                              layer_.table};
    constexpr std::ptrdiff_t kMaxCost = 64 * 1024;
    RUY_LIKE_RETURN_IF_ERROR(ForEachRange(
        in.batch * staged_height_, /*grain=*/1,
        std::min(2 * layout_.vectors * staged_width_ * args.PixelBytes(),
                 kMaxCost),
        call_.context, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          kernels_->stage(args, first, last);
        }));
    const std::ptrdiff_t chunks = layout_.vectors * layout_.chunks;
    RUY_LIKE_RETURN_IF_ERROR(ForEachRange(
        chunks * args.output_rows, /*grain=*/1,
        SlidingCost(window_, CeilDiv(out.width * out.channels, chunks) *
                                 CeilDiv(layout_.in_channels, 4)),
        call_.context, [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          kernels_->rows(args, first, last);
        }));
    return tensors_.FinishResult(call_.context, layer_.lookup);
  }

 private:
  // Sets weights_ if the loops apply.
  void Plan() {
    GroupedWeights* const weights = layer_.packed->grouped();
    const TensorShape& in = call_.input.shape;
    const TensorShape& out = call_.output.shape;
    if (weights == nullptr || layer_.packed->groups() == 1 ||
        layer_.packed->params()[0].zero_point != 0 || kernels_ == nullptr ||
        !Is8Bit(layer_.out) || ElementCount(out) == 0 || in.channels == 0) {
      return;
    }
    const std::ptrdiff_t groups = layer_.packed->groups();
    const auto layout_of = [&](std::ptrdiff_t count) {
      return GroupedLayout(kernels_->form, count, in.channels / count,
                           out.channels / count,
                           window_.kernel_height * window_.kernel_width);
    };
    layout_ = layout_of(groups);
    // Two groups that fit in a lane, as one with weights of 0 in between, take
    // as many products and fewer shuffles: 0.3 to 0.7 of the time.
    if (layout_.inputs > 1 && groups % 2 == 0 &&
        2 * layout_.in_channels <= layout_.form.per_lane) {
      layout_ = layout_of(groups / 2);
    }
    if (layout_.taps == 0 || layout_.AllSteps() > kMaxGroupedSteps ||
        !LoopsPayOff(layout_)) {
      return;
    }
    staged_height_ = SpanOf(out.height, window_.stride_height,
                            window_.kernel_height, window_.dilation_height);
    staged_width_ = SpanOf(out.width, window_.stride_width,
                           window_.kernel_width, window_.dilation_width);
    // Where most of what is staged would be padding, products take less memory.
    constexpr double kMostPadding = 8;
    if (static_cast<double>(staged_height_) *
            static_cast<double>(staged_width_) >
        kMostPadding * static_cast<double>(in.height * in.width + 64)) {
      return;
    }
    weights_ = weights->For(layout_, in.order);
  }

  const LayerCall& call_;
  const Layer& layer_;
  const Window& window_;
  const GroupedKernels* const kernels_;
  NhwcTensors tensors_;
  GroupedLayout layout_;
  std::ptrdiff_t staged_height_ = 0, staged_width_ = 0;
  const std::int8_t* weights_ = nullptr;
  std::uint8_t* staged_ = nullptr;
};

}  // namespace

std::optional<absl::Status> TryGrouped(const Window& window, LayerCall* call) {
  GroupedConvolution grouped(*call, window);
  if (!grouped.Applies()) return std::nullopt;
  RUY_LIKE_RETURN_IF_ERROR(
      call->Prepare([&](Carver* carver) { grouped.Place(carver); }));
  return grouped.Run();
}

}  // namespace ruy_like::quantize_internal
