#include "ruy_like/quantize/fully_connected.h"

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/layer_data.h"

namespace ruy_like::quantize_internal {
namespace {

// True if image for image the layer's depth goes in and its channels come out.
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
bool IsKnownToBeValid(const LayerCall& call) {
  const Layer& layer = call.layer();
  const Erased &input = call.input, &output = call.output;
  return call.source.made != nullptr && call.context != nullptr &&
         !input.is_null && !output.is_null && layer.packed != nullptr &&
         layer.packed->groups() == 1 && layer.InputFits(input) &&
         layer.OutputFits(output) && AreOrdinaryTensors(input, output) &&
         ShapesFit(layer, input.shape, output.shape);
}

absl::Status Check(const LayerCall& call) {
  const Layer& layer = call.layer();
  const Erased &input = call.input, &output = call.output;
  RUY_LIKE_RETURN_IF_ERROR(CheckNotNull("context", call.context));
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("input", input));
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("output", output));
  RUY_LIKE_RETURN_IF_ERROR(CheckDisjoint({"input", input}, {"output", output}));
  if (layer.packed == nullptr || layer.packed->groups() != 1) {
    return Invalid("FullyConnected with weights of ",
                   layer.packed == nullptr ? 0 : layer.packed->groups(),
                   " groups");
  }
  if (!ShapesFit(layer, input.shape, output.shape)) {
    return Invalid("weights of ", layer.packed->channels(),
                   " channels and depth ", layer.packed->depth(),
                   " between input ", Describe(input), " and output ",
                   Describe(output));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FullyConnected(const Erased& input, const LayerSource& source,
                            Workspace* workspace, Context* context,
                            const Erased& output) {
  return CatchNoMemory([&]() -> absl::Status {
    LayerCall call(input, source, workspace, context, output);
    const bool is_valid = IsKnownToBeValid(call);
    if (!is_valid) {
      RUY_LIKE_RETURN_IF_ERROR(Check(call));
      RUY_LIKE_RETURN_IF_ERROR(call.Prepare([](Carver*) {}));
    }
    const std::ptrdiff_t depth = call.layer().packed->depth();
    const std::ptrdiff_t channels = call.layer().packed->channels();
    const std::ptrdiff_t batch = input.shape.batch;
    return call.layer().Multiply(
        /*group=*/0, {input.data, depth, batch, Order::kColMajor, depth},
        context, {output.data, channels, batch, Order::kColMajor, channels},
        is_valid);
  });
}

}  // namespace ruy_like::quantize_internal
