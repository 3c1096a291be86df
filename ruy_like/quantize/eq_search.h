// Quantization toolkit, public: EqSearch, scales of a layer chosen by the
// cosine between its float and its quantized outputs.
//
// Run offline, after calibration, on some inputs of the layer; the products of
// all candidates run through Mul. Source: Wu et al., "EasyQuant: Post-training
// Quantization via Scale Optimization" (2020).
#ifndef RUY_LIKE_QUANTIZE_EQ_SEARCH_H_
#define RUY_LIKE_QUANTIZE_EQ_SEARCH_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/observer.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like {

struct EqOptions {
  // Candidates for a scale s are s / z for the steps + 1 values of z that are
  // equally spaced from alpha to beta, and s itself.
  float alpha = 0.5f, beta = 2;
  int steps = 100;
  // A round chooses the weights' scales, then the activations'. The search ends
  // earlier if a round gains less than 1e-7.
  int max_rounds = 10;
  // Bits of weights and activations, both symmetric: in [2, 8].
  int bits = 8;
  // Where s comes from.
  CalibrationMethod start = CalibrationMethod::kMinMax;
  // Where not 0, the activations' scale, which then stays: one that was
  // calibrated on more data, or that another layer shares. Only the weights'
  // scales are searched, from `start`.
  float activation_scale = 0;
  // Where not empty, the activations whose float outputs are to be reached, of
  // the shapes of those that are quantized: the float network's, where these
  // come out of quantized layers.
  absl::Span<const Matrix<float>> references = {};
  // No candidate is tried from then on; what is best by then is the result. The
  // start's cosine is always computed.
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::time_point::max();
};

struct EqResult {
  // One per row of the weights, and one for all activations; zero points 0.
  std::vector<QuantParams> weights;
  QuantParams activations;
  // Over all outputs of all inputs: before and after. cos_final >= cos_init.
  double cos_init = 0, cos_final = 0;
  int rounds = 0;
  // Products of the weights and one of the activations that were computed.
  std::ptrdiff_t products = 0;
  // The deadline ended the search.
  bool timed_out = false;
};

// weights is M x K, a channel per row; each of activations is K x N with N of
// its own, in any order of memory; bias has M elements or none, and is part of
// the outputs, quantized for each candidate.
//
// A round first gives each row of weights the scale with the largest cosine of
// that row, then the activations the scale with the largest cosine of the whole
// layer. A scale is replaced only by one that is better by more than 1e-12. The
// cosine of two zero vectors is 1, of a zero vector and another 0. The result
// does not depend on the Context's paths and threads, except as the float
// products that are compared with do.
//
// InvalidArgument for null or bad matrices, values that are not finite, depths
// whose sums may leave int32, biases that do so in any scale (the scale of a
// row of hardly anything but its bias is enlarged), options out of range, no
// activations; OutOfRange for matrices whose bytes cannot be counted;
// ResourceExhausted; and errors of Mul.
RUY_LIKE_EXPORT absl::StatusOr<EqResult> EqSearch(
    const Matrix<float>& weights, absl::Span<const Matrix<float>> activations,
    const EqOptions& options, Context* context,
    absl::Span<const float> bias = {});

// The same for a convolution, whose activations are images: it takes the
// patches of `window` from them itself, all at once, kernel height * width
// times as much memory. A row of weights has Conv2D's order of elements
// (conv.h) and there is one group; TensorView::params are not used. Errors as
// above and as OutputShape's.
RUY_LIKE_EXPORT absl::StatusOr<EqResult> EqSearchConv2D(
    const Matrix<float>& weights,
    absl::Span<const TensorView<const float>> images, const Window& window,
    const EqOptions& options, Context* context,
    absl::Span<const float> bias = {});

// ## Networks

// Values in the order of `shape`.
struct EqTensor {
  TensorShape shape;
  std::vector<float> values;
};

struct EqLayer {
  // For error messages.
  std::string name;
  // A row per output channel: of a convolution with `window` (EqSearchConv2D),
  // else of a fully connected layer, whose depth is all values of an image.
  Matrix<float> weights;
  absl::Span<const float> bias = {};
  std::optional<Window> window = {};
  // Writes this layer's input: before[0] is the network's, before[i + 1] is
  // what layer i gave, before any activation, kNhwc. Activations, pooling, sums
  // and layers without scales are for this function, which runs for the float
  // and for the quantized network alike. Null: the input is before.back().
  std::function<absl::Status(absl::Span<const EqTensor> before,
                             EqTensor* input)>
      input = nullptr;
};

struct EqLayerResult {
  // Cosines compare the layer's outputs in both networks.
  EqResult search;
  // The same outputs after the search, as LayerReport::snr_db.
  double snr_db = 0;
};

// Searches the layers one after the other, each on what the quantized layers
// before it give and for the outputs that it has in the float network. A
// quantized layer computes as Conv2D and FullyConnected do with float output.
// Each layer gets an equal share of the time that is left until the deadline.
//
// All layers' outputs are kept until the end, for each of the inputs, twice.
// InvalidArgument for tensors whose values are not as many as their shape says,
// options with an activation_scale or references, and as above; errors of
// `input` functions; both with the layer's name.
RUY_LIKE_EXPORT absl::StatusOr<std::vector<EqLayerResult>> EqSearchNetwork(
    absl::Span<const EqLayer> layers, absl::Span<const EqTensor> inputs,
    const EqOptions& options, Context* context);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_EQ_SEARCH_H_
