#include "ruy_like/quantize/pooling.h"

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

// So that sums of 8-bit values fit in int32.
constexpr std::ptrdiff_t kMaxTaps = std::ptrdiff_t{1} << 22;

absl::Status CheckPooling(const Erased& input, const Erased& output,
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

absl::Status Pool(const Erased& input, const Window& window, Pooling pooling,
                  AveragePadding average_padding, Workspace* workspace,
                  Context* context, const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    absl::Status status = CheckPooling(input, output, window);
    if (!status.ok()) return status;
    if (average_padding != AveragePadding::kExclude &&
        average_padding != AveragePadding::kInclude) {
      return UnknownError("padding of averages",
                          static_cast<int>(average_padding));
    }
    const TensorShape& in = input.shape;
    const TensorShape& out = output.shape;
    NhwcTensors tensors(input, output);
    Workspace spare;
    status = Carver::Carve(workspace, &spare,
                           [&](Carver* carver) { tensors.Place(carver); });
    if (status.ok()) status = tensors.CopyInput(context);
    if (!status.ok()) return status;

    PoolArgs args;
    args.sliding = {tensors.source(),
                    in.height,
                    in.width,
                    out.height,
                    out.width,
                    static_cast<std::size_t>(in.channels),
                    window,
                    tensors.result(),
                    input.params.zero_point,
                    output.params.qmin,
                    output.params.qmax};
    args.include_padding = average_padding == AveragePadding::kInclude;
    const LayerKernels& kernels = LayerKernelsFor(TargetsFor(context));
    PoolFunction* const kernel = pooling == Pooling::kMax
                                     ? kernels.max_pool[input.scalar]
                                     : kernels.average_pool[input.scalar];
    if (ElementCount(out) == 0) return absl::OkStatus();
    status =
        ForEachRange(out.batch * out.height, /*grain=*/1,
                     SlidingCost(window, out.width * out.channels), context,
                     [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                       kernel(args, first, last);
                     });
    return status.ok() ? tensors.CopyOutput(context) : status;
  });
}

}  // namespace ruy_like::quantize_internal
