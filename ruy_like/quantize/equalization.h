// Quantization toolkit, public: EqualizeLayers, cross-layer equalization of
// float weights; AbsorbBias, large biases moved into the next layer.
//
// For whoever quantizes a network with one scale per tensor: before
// calibration, after FoldBatchNorm. Scales per channel make it unnecessary for
// the weights; the activations between the layers gain from it all the same.
#ifndef RUY_LIKE_QUANTIZE_EQUALIZATION_H_
#define RUY_LIKE_QUANTIZE_EQUALIZATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

// Where the weights of an input channel are in a matrix with one row per output
// channel.
enum class ChannelColumns : std::uint8_t {
  kInnermost,  // column tap * channels + channel: Conv2D of kNhwc,
               // FullyConnected
  kOutermost,  // column channel * taps + tap: Conv2D of kNchw
  kDepthwise,  // row channel: DepthwiseConv2D, one output channel for each
};

// One layer of a chain. Between it and the next one nothing may be but
// activations f with f(s * x) = s * f(x) for s > 0: none, ReLU, leaky ReLU; and
// pooling. (A ReLU6 or a sigmoid is not of that kind.)
struct EqualizedLayer {
  // Rows are output channels.
  Matrix<float>* weights = nullptr;
  // Empty, or one element per row.
  absl::Span<float> bias;
  // Not looked at in the first layer of a chain.
  ChannelColumns input = ChannelColumns::kInnermost;
};

struct EqualizeOptions {
  // A round goes once through the chain; the search ends earlier if no factor
  // is off 1 by more than 1e-4.
  int max_rounds = 20;
  // kPowerOfTwo: the nearest powers of two. The float network then gives the
  // same bits as before, unless numbers become subnormal.
  ScaleRounding scale_rounding = ScaleRounding::kExact;
};

struct EqualizeReport {
  // factors[l][c]: what output channel c of layer l was divided by, and its
  // weights in layer l + 1 multiplied with. One element less than layers.
  std::vector<std::vector<float>> factors;
  int rounds = 0;
};

// For each channel between two layers, with the largest magnitudes r1 of its
// row in the one and r2 of its columns in the next:
//
//   s = sqrt(r1 * r2) / r2,   row / s, bias / s,   columns * s
//
// so that both ranges become sqrt(r1 * r2), which maximises the share of each
// layer's range that its channels use; again and again through the chain, since
// each layer but the ends is changed on both sides. A channel without weights
// on either side keeps them. Source: Nagel, van Baalen, Blankevoort and
// Welling, "Data-Free Quantization Through Weight Equalization and Bias
// Correction" (ICCV 2019), section 4.1 and appendix A.
//
// Computed in double precision; weights are rounded once. Not for use from
// several threads on the same weights. InvalidArgument, with all untouched:
// fewer than two layers, null or const data, channels that do not agree,
// memory that is shared, values that are not finite or would become so,
// options out of range. OutOfRange for weights whose bytes cannot be counted;
// ResourceExhausted.
RUY_LIKE_EXPORT absl::StatusOr<EqualizeReport> EqualizeLayers(
    absl::Span<const EqualizedLayer> layers,
    const EqualizeOptions& options = EqualizeOptions());

// Between `layer` and `next` is a ReLU, and before it the values of channel c
// have a mean and a standard deviation: the batch norm's beta and |gamma|,
// divided by EqualizeReport::factors. What hardly ever is cut off goes over,
//
//   absorbed = max(0, mean - kept * deviation)
//   layer.bias -= absorbed        next.bias += next.weights * absorbed
//
// so that the activations' range begins nearer to 0. Values below `absorbed`
// become wrong, of normal ones 0.13% with kept = 3; so do outputs that look at
// padding. Returns `absorbed`: the means are that much lower now. Source: the
// same, section 4.1.3.
//
// Weights are only read. InvalidArgument, with all untouched: as above, layers
// without biases, means and deviations of another number than rows, negative
// deviations or `kept`, values that are not finite or would become so.
RUY_LIKE_EXPORT absl::StatusOr<std::vector<float>> AbsorbBias(
    const EqualizedLayer& layer, const EqualizedLayer& next,
    absl::Span<const float> means, absl::Span<const float> deviations,
    float kept = 3);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_EQUALIZATION_H_
