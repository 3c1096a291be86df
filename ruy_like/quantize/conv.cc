#include "ruy_like/quantize/conv.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/blocks.h"
#include "ruy_like/quantize/im2col.h"
#include "ruy_like/quantize/quantized_product.h"
#include "ruy_like/quantize/tensor_checks.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

absl::Status CheckConvolution(const ErasedTensor& input,
                              const ErasedTensor& output,
                              const PackedWeights& weights,
                              const Window& window) {
  if (weights.groups() == 0) {
    return absl::InvalidArgumentError("weights are empty");
  }
  const absl::StatusOr<TensorShape> expected =
      OutputShape(input.shape, window, weights.channels());
  if (!expected.ok()) return expected.status();
  absl::Status status = CheckTensors(input, output, *expected);
  if (!status.ok()) return status;
  std::ptrdiff_t depth;
  if (input.shape.channels % weights.groups() != 0 ||
      !CheckedMul(window.kernel_height, window.kernel_width, &depth) ||
      !CheckedMul(depth, input.shape.channels / weights.groups(), &depth) ||
      depth != weights.depth()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weights of depth ", weights.depth(), " in ", weights.groups(),
        " groups for a kernel of ", window.kernel_height, "x",
        window.kernel_width, " on input ", DescribeShape(input.shape)));
  }
  return CheckDepth(depth, weights.params()[0], input);
}

// Whether each output element sees one input element, at its own position.
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
  // Of the gathered patches of a part: from one patch (kNhwc) or one of its
  // elements (kNchw) to the next.
  std::ptrdiff_t patch_stride;
  std::ptrdiff_t patch_bytes;
};

// A part's patches and outputs should stay in L2 beside the weights.
constexpr std::ptrdiff_t kPartBytes = 256 * 1024;
// Fewer positions than that make inefficient products.
constexpr std::ptrdiff_t kMinPart = 256;

// ForEachRange deals with smaller elements than some of our patches.
constexpr std::ptrdiff_t kMaxGatherBytes = 64 * 1024;

// False where the patches' size overflows.
bool MakePlan(const TensorShape& input, const TensorShape& output,
              const Window& window, std::ptrdiff_t depth, int max_threads,
              Plan* plan) {
  plan->is_pointwise = IsPointwise(window);
  plan->is_nhwc = input.order == TensorOrder::kNhwc;
  const std::ptrdiff_t plane = output.height * output.width;
  plan->images = plan->is_nhwc ? 1 : output.batch;
  plan->positions = plan->is_nhwc ? output.batch * plane : plane;
  plan->part = plan->positions;
  plan->patch_stride = plan->patch_bytes = 0;
  if (plan->is_pointwise) return true;
  plan->part =
      std::min(plan->positions,
               std::max(kMinPart, kPartBytes * max_threads /
                                      std::max<std::ptrdiff_t>(depth, 1)));
  plan->patch_stride = depth;
  if (!plan->is_nhwc && !CheckedAlign(plan->part, &plan->patch_stride)) {
    return false;
  }
  return CheckedMul(plan->patch_stride, plan->is_nhwc ? plan->part : depth,
                    &plan->patch_bytes);
}

// One call, valid and with its scratch.
template <typename In, typename Out>
class Convolution {
 public:
  Convolution(const TensorView<const In>& input, const PackedWeights& weights,
              const Window& window, const TensorView<Out>& output,
              const Plan& plan, std::uint8_t* patches, Context* context,
              QuantizedProduct<Out>* product)
      : input_(input),
        weights_(weights),
        output_(output),
        plan_(plan),
        patches_(patches),
        context_(context),
        product_(product) {
    im2col_.input = reinterpret_cast<const std::uint8_t*>(input.data);
    im2col_.input_shape = input.shape;
    im2col_.window = window;
    im2col_.output_height = output.shape.height;
    im2col_.output_width = output.shape.width;
    im2col_.channels = input.shape.channels / weights.groups();
    im2col_.padding_value = static_cast<std::uint8_t>(input.params.zero_point);
  }

  absl::Status Run() {
    for (std::ptrdiff_t image = 0; image < plan_.images; ++image) {
      for (std::ptrdiff_t group = 0; group < weights_.groups(); ++group) {
        im2col_.first_channel = group * im2col_.channels;
        for (std::ptrdiff_t first = 0; first < plan_.positions;
             first += plan_.part) {
          absl::Status status =
              RunPart(image, group, first,
                      std::min(first + plan_.part, plan_.positions));
          if (!status.ok()) return status;
        }
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunPart(std::ptrdiff_t image, std::ptrdiff_t group,
                       std::ptrdiff_t first, std::ptrdiff_t end) {
    Matrix<In> rhs;
    if (plan_.is_pointwise) {
      rhs = InputInPlace(image);
    } else {
      absl::Status status = Gather(image, first, end);
      if (!status.ok()) return status;
      rhs = MatrixOf<In>(reinterpret_cast<const In*>(patches_), im2col_.Depth(),
                         end - first,
                         plan_.is_nhwc ? Order::kColMajor : Order::kRowMajor,
                         plan_.patch_stride);
    }
    Matrix<Out> dst = Destination(image, group, first, end);
    return product_->Run(group, &rhs, context_, &dst);
  }

  Matrix<In> InputInPlace(std::ptrdiff_t image) const {
    const TensorShape& shape = input_.shape;
    if (plan_.is_nhwc) {
      return MatrixOf(input_.data + im2col_.first_channel, im2col_.channels,
                      plan_.positions, Order::kColMajor, shape.channels);
    }
    return MatrixOf(
        input_.data +
            (image * shape.channels + im2col_.first_channel) * plan_.positions,
        im2col_.channels, plan_.positions, Order::kRowMajor, plan_.positions);
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
    return GatherOnThreads(depth, end - first,
                           [&](std::ptrdiff_t begin, std::ptrdiff_t stop) {
                             GatherNchw(im2col_, image, first, end, begin, stop,
                                        plan_.patch_stride, patches_);
                           });
  }

  // gather(begin, stop) for ranges of [0, count), of so many bytes each.
  template <typename Function>
  absl::Status GatherOnThreads(std::ptrdiff_t count, std::ptrdiff_t bytes,
                               const Function& gather) {
    if (bytes == 0) return absl::OkStatus();
    return ForEachRange(count, /*grain=*/1, std::min(bytes, kMaxGatherBytes),
                        context_, gather);
  }

  Matrix<Out> Destination(std::ptrdiff_t image, std::ptrdiff_t group,
                          std::ptrdiff_t first, std::ptrdiff_t end) const {
    const std::ptrdiff_t channels = output_.shape.channels;
    const std::ptrdiff_t rows = channels / weights_.groups();
    if (plan_.is_nhwc) {
      return MutableMatrixOf(output_.data + first * channels + group * rows,
                             rows, end - first, Order::kColMajor, channels);
    }
    return MutableMatrixOf(
        output_.data + (image * channels + group * rows) * plan_.positions +
            first,
        rows, end - first, Order::kRowMajor, plan_.positions);
  }

  const TensorView<const In>& input_;
  const PackedWeights& weights_;
  const TensorView<Out>& output_;
  const Plan& plan_;
  std::uint8_t* const patches_;
  Context* const context_;
  QuantizedProduct<Out>* const product_;
  Im2Col im2col_ = {};
};

}  // namespace

template <typename In, typename Out>
absl::Status Conv2DTyped(const TensorView<const In>& input,
                         const PackedWeights& weights, BiasSpan<Out> bias,
                         const Window& window, Workspace* workspace,
                         Context* context, const TensorView<Out>& output) {
  return CatchNoMemory([&]() -> absl::Status {
    if (context == nullptr) {
      return absl::InvalidArgumentError("context is null");
    }
    absl::Status status =
        CheckConvolution(EraseTensor("input", input),
                         EraseTensor("output", output), weights, window);
    if (status.ok())
      status = CheckBias(bias, weights.channels(),
                         LargestSum(weights.depth(), weights.params()[0],
                                    EraseTensor("input", input)),
                         EraseTensor("output", output));
    if (!status.ok()) return status;
    Plan plan;
    std::ptrdiff_t product_bytes;
    if (!MakePlan(input.shape, output.shape, window, weights.depth(),
                  context->max_num_threads(), &plan) ||
        !CheckedAlign(static_cast<std::ptrdiff_t>(
                          QuantizedProduct<Out>::ScratchBytes(weights)),
                      &product_bytes)) {
      return absl::OutOfRangeError("the size of the patches overflows");
    }
    Workspace of_this_call;
    if (workspace == nullptr) workspace = &of_this_call;
    auto* const scratch = static_cast<std::uint8_t*>(
        workspace->Reserve(static_cast<std::size_t>(product_bytes) +
                           static_cast<std::size_t>(plan.patch_bytes)));
    if (scratch == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no memory for ", plan.patch_bytes, " bytes of patches"));
    }
    QuantizedProduct<Out> product;
    status =
        product.Prepare(weights, bias, input.params, output.params, scratch);
    if (!status.ok()) return status;
    return Convolution<In, Out>(input, weights, window, output, plan,
                                scratch + product_bytes, context, &product)
        .Run();
  });
}

#define RUY_LIKE_INSTANTIATE(In, Out)                                   \
  template absl::Status Conv2DTyped<In, Out>(                           \
      const TensorView<const In>&, const PackedWeights&, BiasSpan<Out>, \
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
