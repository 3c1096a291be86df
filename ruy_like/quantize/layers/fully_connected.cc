#include "ruy_like/quantize/fully_connected.h"

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/layer_data.h"

namespace ruy_like::quantize_internal {
namespace {

// Whether image for image the layer's depth goes in and its channels come out.
bool ShapesFit(const Layer& layer, const TensorShape& input,
               const TensorShape& output) {
  TensorShape image = input, result = output;
  image.batch = result.batch = 1;
  return output.batch == input.batch &&
         ElementCount(image) == layer.packed->depth() &&
         ElementCount(result) == layer.packed->channels();
}

// Finding that all is right with a layer that is used again, and finding what
// is wrong, are apart: the first must not cost a product of one row much.
bool IsKnownToBeValid(const Erased& input, const Erased& output,
                      const Layer& layer, const Context* context) {
  return context != nullptr && !input.is_null && !output.is_null &&
         layer.packed != nullptr && layer.packed->groups() == 1 &&
         layer.InputFits(input) && layer.OutputFits(output) &&
         AreOrdinaryTensors(input, output) &&
         ShapesFit(layer, input.shape, output.shape);
}

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
  if (!ShapesFit(layer, input.shape, output.shape)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weights of ", layer.packed->channels(), " channels and depth ",
        layer.packed->depth(), " between input ", Describe(input),
        " and output ", Describe(output)));
  }
  return absl::OkStatus();
}

absl::Status Multiply(const Layer& layer, const Erased& input,
                      const Erased& output, Context* context,
                      bool is_valid = false) {
  const std::ptrdiff_t depth = layer.packed->depth();
  const std::ptrdiff_t channels = layer.packed->channels();
  const std::ptrdiff_t batch = input.shape.batch;
  return layer.Multiply(
      /*group=*/0, {input.data, depth, batch, Order::kColMajor, depth}, context,
      {output.data, channels, batch, Order::kColMajor, channels}, is_valid);
}

absl::Status MakeLayerAndMultiply(const Erased& input,
                                  const LayerSource& source,
                                  Workspace* workspace, Context* context,
                                  const Erased& output) {
  Layer layer(source, input, output);
  absl::Status status = Check(input, output, layer, context);
  if (!status.ok()) return status;
  Workspace spare;
  status = PrepareLayer(source, input, output, workspace, &spare, &layer,
                        [](Carver*) {});
  return status.ok() ? Multiply(layer, input, output, context) : status;
}

}  // namespace

absl::Status FullyConnected(const Erased& input, const LayerSource& source,
                            Workspace* workspace, Context* context,
                            const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    if (source.made == nullptr) {
      return MakeLayerAndMultiply(input, source, workspace, context, output);
    }
    const Layer& layer = *source.made;
    const bool is_valid = IsKnownToBeValid(input, output, layer, context);
    if (!is_valid) {
      absl::Status status = Check(input, output, layer, context);
      if (status.ok()) status = layer.CheckTensorsFit(input, output);
      if (!status.ok()) return status;
    }
    return Multiply(layer, input, output, context, is_valid);
  });
}

}  // namespace ruy_like::quantize_internal
