#include "ruy_like/quantize/pooling.h"

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

// So that sums of 8-bit values fit in int32.
constexpr std::ptrdiff_t kMaxTaps = std::ptrdiff_t{1} << 22;

absl::Status CheckPooling(const Erased& input, const Erased& output,
                          const Window& window) {
  RUY_LIKE_ASSIGN_OR_RETURN(
      const auto expected,
      OutputShape(input.shape, window, input.shape.channels));
  RUY_LIKE_RETURN_IF_ERROR(CheckTensors(input, output, expected));
  if (input.params.scale != output.params.scale ||
      input.params.zero_point != output.params.zero_point) {
    return Invalid("pooling does not requantize: input has scale ",
                   input.params.scale, " and zero point ",
                   input.params.zero_point, ", output ", output.params.scale,
                   " and ", output.params.zero_point);
  }
  if (window.kernel_height * window.kernel_width > kMaxTaps) {
    return Invalid("a window of ", window.kernel_height, "x",
                   window.kernel_width, " is too large for a sum");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Pool(const Erased& input, const Window& window, Pooling pooling,
                  AveragePadding average_padding, Workspace* workspace,
                  Context* context, const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    RUY_LIKE_RETURN_IF_ERROR(CheckPooling(input, output, window));
    RUY_LIKE_RETURN_IF_ERROR(CheckEnum("padding of averages", average_padding,
                                       AveragePadding::kInclude));
    NhwcTensors tensors(input, output);
    Workspace spare;
    RUY_LIKE_RETURN_IF_ERROR(Carver::Carve(
        workspace, &spare, [&](Carver* carver) { tensors.Place(carver); }));
    RUY_LIKE_RETURN_IF_ERROR(tensors.CopyInput(context));
    const PoolArgs args = {tensors.Sliding(window),
                           average_padding == AveragePadding::kInclude};
    const LayerKernels& kernels = LayerKernelsFor(TargetsFor(context));
    return tensors.WriteRows(
        args,
        (pooling == Pooling::kMax ? kernels.max_pool
                                  : kernels.average_pool)[input.scalar],
        context);
  });
}

}  // namespace ruy_like::quantize_internal
