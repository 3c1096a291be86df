#include "ruy_like/quantize/conv.h"

#include <algorithm>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/direct_conv.h"
#include "ruy_like/quantize/layers/grouped_weights.h"
#include "ruy_like/quantize/layers/im2col.h"
#include "ruy_like/quantize/layers/layer_data.h"
#include "ruy_like/quantize/loops/blocks.h"

namespace ruy_like::quantize_internal {
namespace {

absl::Status CheckConvolution(const LayerCall& call, const Window& window) {
  RUY_LIKE_RETURN_IF_ERROR(CheckNotNull("context", call.context));
  const Erased& input = call.input;
  const PackedWeights* const weights = call.layer().packed;
  if (weights == nullptr || weights->groups() == 0) {
    return Invalid("weights are empty, or depthwise ones");
  }
  RUY_LIKE_ASSIGN_OR_RETURN(
      const auto expected,
      OutputShape(input.shape, window, weights->channels()));
  RUY_LIKE_RETURN_IF_ERROR(CheckTensors(input, call.output, expected));
  std::ptrdiff_t depth;
  if (input.shape.channels % weights->groups() != 0 ||
      !CheckedMul(window.kernel_height, window.kernel_width, &depth) ||
      !CheckedMul(depth, input.shape.channels / weights->groups(), &depth) ||
      depth != weights->depth()) {
    return Invalid("weights of depth ", weights->depth(), " in ",
                   weights->groups(), " groups for a kernel of ",
                   window.kernel_height, "x", window.kernel_width, " on input ",
                   Describe(input));
  }
  return absl::OkStatus();
}

// True if each output element sees one input element, at its own position.
bool IsPointwise(const Window& window) {
  const Padding& padding = window.padding;
  return window.kernel_height == 1 && window.kernel_width == 1 &&
         window.stride_height == 1 && window.stride_width == 1 &&
         padding.top == 0 && padding.bottom == 0 && padding.left == 0 &&
         padding.right == 0;
}

// How a convolution is cut into products.
struct Plan {
  bool is_pointwise;
  bool is_nhwc;
  // Products for each group are over `positions` output positions, `images`
  // times; in parts of at most `part` of them.
  std::ptrdiff_t images, positions, part;
  // Bytes of the gathered patches of a part: from one patch (kNhwc) or one of
  // its elements (kNchw) to the next, and how many of these.
  std::ptrdiff_t patch_stride, patch_count;
};

// A part's patches and outputs should stay in L2, together with the weights.
constexpr std::ptrdiff_t kPartBytes = 256 * 1024;
// Fewer positions than that make inefficient products.
constexpr std::ptrdiff_t kMinPart = 256;

// A byte of a patch takes as long to gather as so many that are copied.
constexpr std::ptrdiff_t kGatherCost = 4;
// ForEachRange deals with smaller elements than some of our patches.
constexpr std::ptrdiff_t kMaxGatherBytes = 64 * 1024;

// `depth` is in elements of so many bytes.
Plan MakePlan(const TensorShape& input, const TensorShape& output,
              const Window& window, std::ptrdiff_t depth,
              std::ptrdiff_t element_bytes, int max_threads) {
  Plan plan = {};
  plan.is_pointwise = IsPointwise(window);
  plan.is_nhwc = input.order == TensorOrder::kNhwc;
  const std::ptrdiff_t plane = output.height * output.width;
  plan.images = plan.is_nhwc ? 1 : output.batch;
  plan.positions = plan.is_nhwc ? output.batch * plane : plane;
  plan.part = plan.positions;
  if (plan.is_pointwise) return plan;
  const std::ptrdiff_t patch_bytes = depth * element_bytes;
  plan.part = std::min(
      plan.positions,
      std::max(kMinPart, kPartBytes * max_threads /
                             std::max<std::ptrdiff_t>(patch_bytes, 1)));
  constexpr std::ptrdiff_t kLine = 64;
  plan.patch_stride = plan.is_nhwc
                          ? patch_bytes
                          : CeilDiv(plan.part * element_bytes, kLine) * kLine;
  plan.patch_count = plan.is_nhwc ? plan.part : depth;
  return plan;
}

// One call, valid and with its scratch.
class Convolution {
 public:
  Convolution(const LayerCall& call, const Window& window, const Plan& plan,
              std::uint8_t* patches)
      : call_(call),
        plan_(plan),
        groups_(call.layer().packed->groups()),
        patches_(patches),
        im2col_{static_cast<const std::uint8_t*>(call.input.data),
                call.input.shape,
                window,
                call.output.shape.height,
                call.output.shape.width,
                call.input.shape.channels / groups_,
                /*first_channel=*/0,
                static_cast<std::uint8_t>(call.input.params.zero_point),
                BytesOf(call.input.scalar, 1)} {}

  absl::Status Run() {
    for (std::ptrdiff_t image = 0; image < plan_.images; ++image) {
      for (std::ptrdiff_t group = 0; group < groups_; ++group) {
        im2col_.first_channel = group * im2col_.channels;
        for (std::ptrdiff_t first = 0; first < plan_.positions;
             first += plan_.part) {
          RUY_LIKE_RETURN_IF_ERROR(
              RunPart(image, group, first,
                      std::min(first + plan_.part, plan_.positions)));
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunPart(std::ptrdiff_t image, std::ptrdiff_t group,
                       std::ptrdiff_t first, std::ptrdiff_t end) {
    Layer::Operand rhs;
    if (plan_.is_pointwise) {
      rhs = InputInPlace(image);
    } else {
      RUY_LIKE_RETURN_IF_ERROR(Gather(image, first, end));
      rhs = {patches_, im2col_.Depth(), end - first,
             plan_.is_nhwc ? Order::kColMajor : Order::kRowMajor,
             plan_.patch_stride / im2col_.element_bytes};
    }
    return call_.layer().Multiply(group, rhs, call_.context,
                                  Destination(image, group, first, end));
  }

  Layer::Operand InputInPlace(std::ptrdiff_t image) const {
    const TensorShape& shape = call_.input.shape;
    const std::ptrdiff_t first =
        plan_.is_nhwc ? im2col_.first_channel
                      : (image * shape.channels + im2col_.first_channel) *
                            plan_.positions;
    return {im2col_.input + first * im2col_.element_bytes, im2col_.channels,
            plan_.positions,
            plan_.is_nhwc ? Order::kColMajor : Order::kRowMajor,
            plan_.is_nhwc ? shape.channels : plan_.positions};
  }

  absl::Status Gather(std::ptrdiff_t image, std::ptrdiff_t first,
                      std::ptrdiff_t end) {
    const std::ptrdiff_t depth = im2col_.Depth();
    if (plan_.is_nhwc) {
      return GatherOnThreads(
          end - first, depth, [&](std::ptrdiff_t begin, std::ptrdiff_t stop) {
            GatherNhwc(im2col_, first + begin, first + stop, plan_.patch_stride,
                       patches_ + begin * plan_.patch_stride);
          });
    }
    return GatherOnThreads(
        depth, end - first, [&](std::ptrdiff_t begin, std::ptrdiff_t stop) {
          GatherNchw(im2col_, image, first, end, begin, stop,
                     plan_.patch_stride / im2col_.element_bytes, patches_);
        });
  }

  // gather(begin, stop) for ranges of [0, count), of so many elements each.
  template <typename Function>
  absl::Status GatherOnThreads(std::ptrdiff_t count, std::ptrdiff_t elements,
                               const Function& gather) {
    if (elements == 0) return absl::OkStatus();
    // A thread's patches are mostly those that it multiplies next.
    return ForEachRange(count, CeilDiv(count, call_.context->max_num_threads()),
                        std::min(kGatherCost * elements * im2col_.element_bytes,
                                 kMaxGatherBytes),
                        call_.context, gather);
  }

  Layer::Operand Destination(std::ptrdiff_t image, std::ptrdiff_t group,
                             std::ptrdiff_t first, std::ptrdiff_t end) const {
    const std::ptrdiff_t channels = call_.output.shape.channels;
    const std::ptrdiff_t rows = channels / groups_;
    const std::ptrdiff_t offset =
        plan_.is_nhwc
            ? first * channels + group * rows
            : (image * channels + group * rows) * plan_.positions + first;
    return {static_cast<const char*>(call_.output.data) +
                offset * BytesOf(call_.output.scalar, 1),
            rows, end - first,
            plan_.is_nhwc ? Order::kColMajor : Order::kRowMajor,
            plan_.is_nhwc ? channels : plan_.positions};
  }

  const LayerCall& call_;
  const Plan& plan_;
  const std::ptrdiff_t groups_;
  std::uint8_t* const patches_;
  Im2Col im2col_;
};

}  // namespace

absl::Status Conv2D(const Erased& input, const LayerSource& source,
                    const Window& window, Workspace* workspace,
                    Context* context, const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    LayerCall call(input, source, workspace, context, output);
    RUY_LIKE_RETURN_IF_ERROR(CheckConvolution(call, window));
    const PackedWeights& weights = *call.layer().packed;
    if (weights.groups() > 1 && weights.groups() == input.shape.channels &&
        weights.grouped() != nullptr) {
      const DepthwiseWeights* const depthwise =
          weights.grouped()->Depthwise(weights.params());
      if (depthwise != nullptr) return RunDepthwise(*depthwise, window, &call);
    }
    for (const auto direct : {TryWinograd, TryGrouped}) {
      if (const auto status = direct(window, &call)) return *status;
    }
    const Plan plan =
        MakePlan(input.shape, output.shape, window, weights.depth(),
                 BytesOf(input.scalar, 1), context->max_num_threads());
    std::uint8_t* patches = nullptr;
    RUY_LIKE_RETURN_IF_ERROR(call.Prepare([&](Carver* carver) {
      patches = carver->Take<std::uint8_t>(plan.patch_stride, plan.patch_count);
    }));
    return Convolution(call, window, plan, patches).Run();
  });
}

}  // namespace ruy_like::quantize_internal
