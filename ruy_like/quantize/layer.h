// Quantization toolkit, public: QuantizedLayer, the weights and bias of a layer
// with everything that follows from the scales of its input and output.
//
// Made when a network is loaded; FullyConnected, Conv2D and DepthwiseConv2D
// then compute no multipliers and check no parameters in each call.
#ifndef RUY_LIKE_QUANTIZE_LAYER_H_
#define RUY_LIKE_QUANTIZE_LAYER_H_

#include <cstdint>
#include <memory>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/byte_table.h"
#include "ruy_like/quantize/checks/erased.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// The bias of an operation with output elements Out, one element per output
// channel or empty: int32 in the accumulators' scale (QuantizeBias), or float
// for a float output.
template <typename Out>
using BiasSpan =
    absl::Span<const typename MulParams<std::int32_t, Out>::BiasScalar>;

class QuantizedLayer;

namespace quantize_internal {

struct Layer;

// The source of an operation's weights: a layer, or weights and bias, of which
// it makes one in the call.
struct LayerSource {
  inline LayerSource(const QuantizedLayer& layer);  // NOLINT
  LayerSource(const PackedWeights& weights, const Erased& erased_bias)
      : packed(&weights), bias(erased_bias) {}
  LayerSource(const DepthwiseWeights& weights, const Erased& erased_bias)
      : depthwise(&weights), bias(erased_bias) {}

  const Layer* made = nullptr;
  const PackedWeights* packed = nullptr;
  const DepthwiseWeights* depthwise = nullptr;
  Erased bias;
};

}  // namespace quantize_internal

// Immutable: any number of threads and Contexts may use one at once. Copies
// share everything.
class RUY_LIKE_EXPORT QuantizedLayer final {
 public:
  // A layer without channels.
  QuantizedLayer() = default;

  // For inputs of elements In with the parameters `input`, and outputs of
  // elements Out with the parameters `output` (not looked at if Out is int32 or
  // float). Operations refuse tensors with other types or parameters
  // (InvalidArgument). Types, formulas and errors are those of the operation.
  //
  // Weights: PackedWeights for FullyConnected and Conv2D, DepthwiseWeights for
  // DepthwiseConv2D. Weights and bias are copied; copies of PackedWeights share
  // the packed matrices.
  //
  // `rounding`: of 8-bit outputs and int16, kOnce, or kFloat, by scales that
  // are made in float, input.scale * weights.scale / output.scale, from left to
  // right: the integers of ONNX Runtime's QLinearMatMul and QLinearConv and of
  // XNNPACK. InvalidArgument for kTwice, and for such a scale that is infinite.
  //
  // `table`: sums become elements of table->in() with table->input(), and these
  // the table's, with the bits of ApplyTable after such a layer. `output` is
  // table->output(), Out of 8 bits and table->out(): InvalidArgument otherwise.
  // Null for none. Copied.
  template <typename In, typename Out, typename Weights>
  static absl::StatusOr<QuantizedLayer> Make(
      const Weights& weights, BiasSpan<Out> bias, const QuantParams& input,
      const QuantParams& output,
      MultiplierRounding rounding = MultiplierRounding::kOnce,
      const ByteTable* table = nullptr) {
    quantize_internal::CheckLayerTypes<In, Out>();
    return MakeErased({weights, bias}, internal::ScalarOf<In>(), input,
                      internal::ScalarOf<Out>(), output, rounding, table);
  }

  // For the operations; null where there are no channels.
  const quantize_internal::Layer* get() const { return layer_.get(); }

  // For the templates.
  static absl::StatusOr<QuantizedLayer> MakeErased(
      const quantize_internal::LayerSource& source, Scalar in,
      const QuantParams& input, Scalar out, const QuantParams& output,
      MultiplierRounding rounding, const ByteTable* table);

 private:
  std::shared_ptr<const quantize_internal::Layer> layer_;
};

inline quantize_internal::LayerSource::LayerSource(const QuantizedLayer& layer)
    : made(layer.get()) {}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_LAYER_H_
