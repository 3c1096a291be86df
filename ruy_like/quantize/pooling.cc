#include "ruy_like/quantize/pooling.h"

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/blocks.h"
#include "ruy_like/quantize/dispatch.h"
#include "ruy_like/quantize/layer_kernels.h"
#include "ruy_like/quantize/staging.h"
#include "ruy_like/quantize/tensor_checks.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

// So that sums of 8-bit values fit in int32.
constexpr std::ptrdiff_t kMaxTaps = std::ptrdiff_t{1} << 22;

absl::Status CheckPooling(const ErasedTensor& input, const ErasedTensor& output,
                          const Window& window) {
  const absl::StatusOr<TensorShape> expected =
      OutputShape(input.shape, window, input.shape.channels);
  if (!expected.ok()) return expected.status();
  absl::Status status = CheckTensors(input, output, *expected);
  if (!status.ok()) return status;
  if (input.params.scale != output.params.scale ||
      input.params.zero_point != output.params.zero_point) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pooling does not requantize: input has scale ", input.params.scale,
        " and zero point ", input.params.zero_point, ", output ",
        output.params.scale, " and ", output.params.zero_point));
  }
  if (window.kernel_height * window.kernel_width > kMaxTaps) {
    return absl::InvalidArgumentError(
        absl::StrCat("a window of ", window.kernel_height, "x",
                     window.kernel_width, " is too large for a sum"));
  }
  return absl::OkStatus();
}

}  // namespace

template <typename T>
absl::Status PoolTyped(const TensorView<const T>& input, const Window& window,
                       Pooling pooling, AveragePadding average_padding,
                       Workspace* workspace, Context* context,
                       const TensorView<T>& output) {
  return CatchNoMemory([&]() -> absl::Status {
    absl::Status status = CheckPooling(EraseTensor("input", input),
                                       EraseTensor("output", output), window);
    if (!status.ok()) return status;
    if (average_padding != AveragePadding::kExclude &&
        average_padding != AveragePadding::kInclude) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown padding of averages ", static_cast<int>(average_padding)));
    }
    const TensorShape& in = input.shape;
    const TensorShape& out = output.shape;
    const T* source = input.data;
    T* result = output.data;
    Workspace of_this_call;
    const bool is_staged = in.order == TensorOrder::kNchw;
    if (is_staged) {
      if (workspace == nullptr) workspace = &of_this_call;
      const std::ptrdiff_t input_bytes = ElementCount(in);
      std::ptrdiff_t bytes;
      T* staged = nullptr;
      if (CheckedAdd(input_bytes, ElementCount(out), &bytes)) {
        staged = static_cast<T*>(
            workspace->Reserve(static_cast<std::size_t>(bytes)));
      }
      if (staged == nullptr) {
        return absl::ResourceExhaustedError("no memory to reorder tensors");
      }
      status = Reorder(input.data, in, /*to_nhwc=*/true, context, staged);
      if (!status.ok()) return status;
      source = staged;
      result = staged + input_bytes;
    }

    PoolArgs args;
    args.sliding = {source,
                    in.height,
                    in.width,
                    out.height,
                    out.width,
                    static_cast<std::size_t>(in.channels),
                    window,
                    result,
                    input.params.zero_point,
                    output.params.qmin,
                    output.params.qmax};
    args.include_padding = average_padding == AveragePadding::kInclude;
    const LayerKernels& kernels =
        LayerKernelsFor(PermittedTargets(PermittedPaths(context)));
    constexpr int kType =
        std::is_same<T, std::int8_t>::value ? kLayerI8 : kLayerU8;
    const auto kernel = pooling == Pooling::kMax ? kernels.max_pool[kType]
                                                 : kernels.average_pool[kType];
    if (ElementCount(out) == 0) return absl::OkStatus();
    status = ForEachRange(out.batch * out.height, /*grain=*/1,
                          SlidingRowCost(args.sliding), context,
                          [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                            kernel(args, first, last);
                          });
    if (!status.ok() || !is_staged) return status;
    return Reorder(result, out, /*to_nhwc=*/false, context, output.data);
  });
}

template absl::Status PoolTyped<std::int8_t>(
    const TensorView<const std::int8_t>&, const Window&, Pooling,
    AveragePadding, Workspace*, Context*, const TensorView<std::int8_t>&);
template absl::Status PoolTyped<std::uint8_t>(
    const TensorView<const std::uint8_t>&, const Window&, Pooling,
    AveragePadding, Workspace*, Context*, const TensorView<std::uint8_t>&);

}  // namespace quantize_internal
}  // namespace ruy_like
