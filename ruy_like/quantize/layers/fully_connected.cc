#include "ruy_like/quantize/fully_connected.h"

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/layer_data.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

absl::Status Check(const Erased& input, const Erased& output,
                   const Layer& layer, const Context* context) {
  absl::Status status = CheckNotNull("context", context);
  if (status.ok()) status = CheckOperand("input", input);
  if (status.ok()) status = CheckOperand("output", output);
  if (status.ok()) {
    status = CheckDisjoint("input", BytesOf(input), "output", BytesOf(output));
  }
  if (!status.ok()) return status;
  if (layer.packed == nullptr || layer.packed->groups() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "FullyConnected with weights of ",
        layer.packed == nullptr ? 0 : layer.packed->groups(), " groups"));
  }
  TensorShape image = input.shape, result = output.shape;
  image.batch = result.batch = 1;
  if (output.shape.batch != input.shape.batch ||
      ElementCount(image) != layer.packed->depth() ||
      ElementCount(result) != layer.packed->channels()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weights of ", layer.packed->channels(), " channels and depth ",
        layer.packed->depth(), " between input ", Describe(input),
        " and output ", Describe(output)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FullyConnected(const Erased& input, const LayerSource& source,
                            Workspace* workspace, Context* context,
                            const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    Layer own(source, input, output);
    const Layer& layer = source.made != nullptr ? *source.made : own;
    absl::Status status = Check(input, output, layer, context);
    if (!status.ok()) return status;
    Workspace spare;
    status = PrepareLayer(source, input, output, workspace, &spare, &own,
                          [](Carver*) {});
    if (!status.ok()) return status;
    const std::ptrdiff_t depth = layer.packed->depth();
    const std::ptrdiff_t channels = layer.packed->channels();
    const std::ptrdiff_t batch = input.shape.batch;
    return layer.Multiply(
        /*group=*/0, {input.data, depth, batch, Order::kColMajor, depth},
        context, {output.data, channels, batch, Order::kColMajor, channels});
  });
}

}  // namespace quantize_internal
}  // namespace ruy_like
