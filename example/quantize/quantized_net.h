// Example: the trained network in integers.
//
// Made from the float network and the ranges of its activations. Convolutions
// and the fully connected layer are ruy_like::quantize's; between layers there
// are int8 tensors, or floats where activations are quantized dynamically.
#ifndef EXAMPLE_QUANTIZE_QUANTIZED_NET_H_
#define EXAMPLE_QUANTIZE_QUANTIZED_NET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "example/quantize/float_net.h"
#include "ruy_like/quantize/quantize.h"
#include "ruy_like/ruy_like.h"

namespace digits {

// Folds each batch norm into the weights and bias before it. One report for
// each layer that had one.
absl::StatusOr<std::vector<ruy_like::BatchNormReport>> FoldBatchNorms(
    FloatNet* net);

// How weights are quantized.
struct WeightOptions {
  int bits = 8;
  bool per_channel = true;  // a scale for each output channel, or one for all
};

// One layer's share of the quantized network.
struct QuantizedLayer {
  std::vector<ruy_like::QuantParams> weight_params;  // one, or one per channel
  ruy_like::QuantParams input;                       // of its activations
};

// Scales of weights by their largest magnitudes; activations' are given.
absl::StatusOr<std::vector<QuantizedLayer>> ChooseParams(
    const FloatNet& folded, absl::Span<const ruy_like::QuantParams> inputs,
    const WeightOptions& options);

class QuantizedNet {
 public:
  // `layers` has one element for each of `folded`.
  static absl::StatusOr<QuantizedNet> Make(
      const FloatNet& folded, absl::Span<const QuantizedLayer> layers,
      ruy_like::Context* context);

  // Logits of `images` images: int8 from the first layer to the last, whose dst
  // is float.
  absl::StatusOr<std::vector<float>> Run(const std::vector<float>& pixels,
                                         int images,
                                         ruy_like::Context* context) const;
  // The same with activations as floats between layers, and quantized in front
  // of each by the range that they have: the layers' `input` is not used.
  absl::StatusOr<std::vector<float>> RunDynamic(
      const std::vector<float>& pixels, int images,
      ruy_like::Context* context) const;

  // Bytes of weights, their scales, and biases.
  std::size_t weight_bytes() const;

 private:
  struct Step {
    Layer shape;  // without its weights
    ruy_like::PackedWeights weights;
    ruy_like::QuantParams input;
    std::vector<std::int32_t> bias;
    std::vector<float> float_bias;
  };

  // One layer; Out is int8_t or float.
  template <typename Out>
  absl::Status RunStep(const Step& step, const std::int8_t* input,
                       const ruy_like::QuantParams& input_params,
                       const ruy_like::QuantParams& output_params, int images,
                       ruy_like::Context* context,
                       std::vector<Out>* output) const;

  std::vector<Step> steps_;
};

}  // namespace digits

#endif  // EXAMPLE_QUANTIZE_QUANTIZED_NET_H_
