// Quantization toolkit, public: batch normalisation folded into the weights and
// bias of the product before it.
//
// For whoever prepares a float network for quantization: fold first, then
// choose scales. Does nothing to quantized weights.
#ifndef RUY_LIKE_QUANTIZE_BATCH_NORM_H_
#define RUY_LIKE_QUANTIZE_BATCH_NORM_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"

namespace ruy_like {

// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, one value per
// channel. An empty gamma stands for ones, an empty beta for zeros.
struct BatchNorm {
  absl::Span<const float> gamma, beta, mean, variance;
  float epsilon = 1e-3f;
};

// Changes of the channels' magnitudes by folding. The gain of a channel is
// gamma / sqrt(variance + epsilon), the factor of its weights.
struct BatchNormReport {
  float max_gain = 0;     // of absolute values
  float median_gain = 0;  // the mean of both middle ones of an even number
  // max_gain / median_gain; 0 where all gains are 0, infinite where most are.
  // If this is large, one scale for all channels wastes bits on most of them:
  // choose scales per channel, which absorb the gains.
  float max_over_median = 0;
  // Channels whose variance is below 10 * epsilon. They were (nearly) constant
  // in training, and their gain is epsilon's doing.
  std::vector<std::ptrdiff_t> dead_channels;
};

// weights = gain * weights, bias = beta + gain * (bias - mean), computed in
// double precision. Rows of `weights` are the output channels; weights that
// have them innermost, as those of DepthwiseConv2D, are a column-major matrix
// of channels x taps. `bias` holds one value per row: zeros if there was none.
//
// InvalidArgument, with weights and bias untouched: null or const data, sizes
// that do not agree, memory that weights, bias and the norm's values share, a
// negative variance or epsilon, a sum of both that is 0, values that are not
// finite or would become so. OutOfRange for weights whose bytes cannot be
// counted.
RUY_LIKE_EXPORT absl::StatusOr<BatchNormReport> FoldBatchNorm(
    const BatchNorm& norm, Matrix<float>* weights, absl::Span<float> bias);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_BATCH_NORM_H_
