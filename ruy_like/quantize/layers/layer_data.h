// Quantization toolkit, internal: what a layer needs of its weights, bias and
// scales, in memory of a QuantizedLayer's own or of one call's workspace.
//
// Used by fully_connected.cc, conv.cc and depthwise_conv.cc, which check shapes
// and say where input and output lie.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_LAYER_DATA_H_
#define RUY_LIKE_QUANTIZE_LAYERS_LAYER_DATA_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/matrix.h"
#include "ruy_like/post_ops.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/layers/scratch.h"
#include "ruy_like/quantize/loops/requantize_table.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like::quantize_internal {

struct Layer {
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  // For one call: refers to the source's weights.
  Layer(const Erased& input_tensor, const LayerSource& source,
        const Erased& output_tensor);

  std::ptrdiff_t Channels() const;
  // One, or one per channel.
  absl::Span<const QuantParams> WeightParams() const;

  // InvalidArgument for sums that may leave int32 and a bias that does not fit;
  // `input` and `output` are valid.
  absl::Status Check(const Erased& given_bias) const;
  // Takes memory for the arrays below.
  void Place(Carver* carver);
  // Fills them after Check and Place.
  absl::Status Fill(const Erased& given_bias);
  // Place and Fill, after Check, in a workspace; place(carver) takes the call's
  // own arrays.
  template <typename PlaceMore>
  absl::Status Prepare(const Erased& given_bias, Workspace* workspace,
                       Workspace* spare, const PlaceMore& place) {
    RUY_LIKE_RETURN_IF_ERROR(
        Carver::Carve(workspace, spare, [&](Carver* carver) {
          Place(carver);
          place(carver);
        }));
    return Fill(given_bias);
  }

  // True if tensors are those that this layer was made for.
  bool InputFits(const Erased& tensor) const {
    // The bounds count, too: Multiply passes them on as the value range.
    return tensor.scalar == in && tensor.params == input;
  }
  bool OutputFits(const Erased& tensor) const {
    if (lookup != nullptr) {
      return tensor.scalar == lookup->out() &&
             tensor.params == lookup->output();
    }
    return tensor.scalar == out &&
           (!IsActivation(out) || tensor.params == output);
  }
  // The output tensor as it is before the lookup.
  Erased BeforeLookup(Erased tensor) const {
    tensor.scalar = out;
    tensor.params = output;
    return tensor;
  }
  // InvalidArgument unless they do.
  absl::Status CheckTensorsFit(const Erased& input_tensor,
                               const Erased& output_tensor) const;

  // dst = epilogue(weights of the group * rhs), `dst` and `rhs` of the types of
  // output and input.
  struct Operand {
    const void* data;
    std::ptrdiff_t rows, cols;
    Order order;
    std::ptrdiff_t stride;
  };
  // `is_valid`: nothing about it need be checked again.
  absl::Status Multiply(std::ptrdiff_t group, const Operand& rhs,
                        Context* context, const Operand& dst,
                        bool is_valid = false) const;

  // One of the two is set.
  const PackedWeights* packed = nullptr;
  const DepthwiseWeights* depthwise = nullptr;
  Scalar in = Scalar::kI8, out = Scalar::kI8;
  QuantParams input, output;
  // The table that outputs end in, or null. `out` and `output` are then its
  // inputs.
  const ByteTable* lookup = nullptr;
  // The bias that products add, or null: the caller's, or a copy in one of the
  // following arrays. A QuantizedLayer has one of them, of the output's kind.
  // Depthwise and grouped layers have it in any case, zeros if there is no
  // bias, and those with float outputs both: the int32 one is then zeros.
  const void* bias = nullptr;
  bool is_made_once = false;
  std::int32_t* int_bias = nullptr;
  float* float_bias = nullptr;
  // Quantized outputs: of products one multiplier for each of WeightParams, a
  // scale if rounding is kFloat; of depthwise and grouped layers the table.
  MultiplierRounding rounding = MultiplierRounding::kOnce;
  std::int32_t* fixedpoint = nullptr;
  int* exponent = nullptr;
  float* scales = nullptr;
  RequantizeTable table;

 private:
  absl::Status FillMultipliers();
  absl::Status FillScales();
  // Loops of the toolkit's own, not Mul, may compute it.
  bool HasTable() const {
    return depthwise != nullptr || packed->grouped() != nullptr;
  }
  // A product of the first group, with everything but its operands' shapes and
  // data.
  void DescribeProduct();

  MulCall product_ = {};
  PostOps post_ops_;
};

// A call of an operation: its arguments, and the layer that it computes with,
// source.made or one of its own.
struct LayerCall final {
  LayerCall(const Erased& input, const LayerSource& source,
            Workspace* workspace, Context* context, const Erased& output)
      : input(input),
        source(source),
        workspace(workspace),
        context(context),
        output(output) {
    if (source.made == nullptr) own_.emplace(input, source, output);
  }

  const Layer& layer() const { return own_ ? *own_ : *source.made; }

  // Checks source.made against the tensors, or else checks and fills the call's
  // own layer; then places the call's own arrays.
  template <typename PlaceMore>
  absl::Status Prepare(const PlaceMore& place) {
    if (!own_) {
      RUY_LIKE_RETURN_IF_ERROR(layer().CheckTensorsFit(input, output));
      return Carver::Carve(workspace, &spare_, place);
    }
    RUY_LIKE_RETURN_IF_ERROR(own_->Check(source.bias));
    RUY_LIKE_RETURN_IF_ERROR(
        CheckDisjoint({"bias", source.bias}, {"output", output}));
    return own_->Prepare(source.bias, workspace, &spare_, place);
  }

  const Erased& input;
  const LayerSource& source;
  Workspace* const workspace;
  Context* const context;
  const Erased& output;

 private:
  std::optional<Layer> own_;
  Workspace spare_;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_LAYER_DATA_H_
