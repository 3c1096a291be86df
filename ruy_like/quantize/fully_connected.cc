#include "ruy_like/quantize/fully_connected.h"

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/quantized_product.h"
#include "ruy_like/quantize/tensor_checks.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

absl::Status CheckShapes(const ErasedTensor& input, const ErasedTensor& output,
                         const PackedWeights& weights) {
  absl::Status status = CheckTensor(input);
  if (status.ok()) status = CheckTensor(output);
  if (status.ok()) status = CheckDisjoint(input, output);
  if (!status.ok()) return status;
  if (weights.groups() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "FullyConnected with weights of ", weights.groups(), " groups"));
  }
  const std::ptrdiff_t batch = input.shape.batch;
  TensorShape image = input.shape, result = output.shape;
  image.batch = result.batch = 1;
  if (output.shape.batch != batch || ElementCount(image) != weights.depth() ||
      ElementCount(result) != weights.channels()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weights of ", weights.channels(), " channels and depth ",
        weights.depth(), " between input ", DescribeShape(input.shape),
        " and output ", DescribeShape(output.shape)));
  }
  return CheckDepth(weights.depth(), weights.params()[0], input);
}

}  // namespace

template <typename In, typename Out>
absl::Status FullyConnectedTyped(const TensorView<const In>& input,
                                 const PackedWeights& weights,
                                 BiasSpan<Out> bias, Workspace* workspace,
                                 Context* context,
                                 const TensorView<Out>& output) {
  return CatchNoMemory([&]() -> absl::Status {
    if (context == nullptr) {
      return absl::InvalidArgumentError("context is null");
    }
    absl::Status status = CheckShapes(EraseTensor("input", input),
                                      EraseTensor("output", output), weights);
    if (status.ok())
      status = CheckBias(bias, weights.channels(),
                         LargestSum(weights.depth(), weights.params()[0],
                                    EraseTensor("input", input)),
                         EraseTensor("output", output));
    if (!status.ok()) return status;
    Workspace of_this_call;
    if (workspace == nullptr) workspace = &of_this_call;
    void* const scratch =
        workspace->Reserve(QuantizedProduct<Out>::ScratchBytes(weights));
    if (scratch == nullptr) {
      return absl::ResourceExhaustedError("no memory for multipliers");
    }
    QuantizedProduct<Out> product;
    status =
        product.Prepare(weights, bias, input.params, output.params, scratch);
    if (!status.ok()) return status;
    const std::ptrdiff_t batch = input.shape.batch;
    Matrix<In> rhs = MatrixOf(input.data, weights.depth(), batch,
                              Order::kColMajor, weights.depth());
    Matrix<Out> dst = MutableMatrixOf(output.data, weights.channels(), batch,
                                      Order::kColMajor, weights.channels());
    return product.Run(/*group=*/0, &rhs, context, &dst);
  });
}

#define RUY_LIKE_INSTANTIATE(In, Out)                                   \
  template absl::Status FullyConnectedTyped<In, Out>(                   \
      const TensorView<const In>&, const PackedWeights&, BiasSpan<Out>, \
      Workspace*, Context*, const TensorView<Out>&)
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
