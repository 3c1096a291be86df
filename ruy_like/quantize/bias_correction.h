// Quantization toolkit, public: bias correction, which takes the mean error
// that quantization causes in each output channel out of the float bias.
//
// For whoever prepares a layer: after the weights' scales are chosen, before
// QuantizeBias.
#ifndef RUY_LIKE_QUANTIZE_BIAS_CORRECTION_H_
#define RUY_LIKE_QUANTIZE_BIAS_CORRECTION_H_

#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/equalization.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

// Corrects the shift of the outputs' means by rounding and clipping weights:
//
//   bias[row] -= sum over columns of (quantized - weight) * mean of its input
//
// weights: one row per output channel, quantized as Quantize does, with one
// QuantParams for all or one per row. input_means: the mean of each input
// channel, such as Observer::mean, found by `columns`; for kDepthwise one per
// row. Elements of padding count as if they were inputs. bias: one element per
// row. Source: Nagel et al. 2019 (equalization.h), section 4.2.
//
// Errors of both functions, with the bias untouched: InvalidArgument for null
// data, sizes that do not agree, memory that bias shares with an operand,
// values that are not finite or would become so, parameters that are not valid,
// unknown enumerators; OutOfRange for matrices whose bytes cannot be counted.
RUY_LIKE_EXPORT absl::Status CorrectBias(
    const Matrix<float>& weights, absl::Span<const QuantParams> params,
    absl::Span<const float> input_means, absl::Span<float> bias,
    ChannelColumns columns = ChannelColumns::kInnermost);

// input_means without data: the means of channels after an activation that
// clips to [lowest, highest], a ReLU or ReLU6, of normal values with these
// means and standard deviations before it. Those are the beta and |gamma| of
// the batch norm that was folded into the layer that gives the inputs, less and
// divided by what AbsorbBias and EqualizeLayers took. Source: the same,
// appendix C:
//
//   mean * (P(b) - P(a)) - deviation * (p(b) - p(a)) + lowest * P(a)
//     + highest * (1 - P(b))
//
// where p and P are the normal density and distribution, a and b are lowest and
// highest less the mean, in deviations. InvalidArgument for sizes that differ,
// negative deviations, lowest > highest, NaN, and means that no float holds.
RUY_LIKE_EXPORT absl::StatusOr<std::vector<float>> MeansOfClippedNormals(
    absl::Span<const float> means, absl::Span<const float> deviations,
    float lowest = 0, float highest = std::numeric_limits<float>::infinity());

// The same for an error that was measured:
//
//   bias[channel] -= mean of (quantized - reference)
//
// reference: outputs of the float layer; quantized: those of the integer layer,
// dequantized, for the same inputs; both of one shape, with channels as
// ChannelDimension says, before the activation. This also takes out the error
// of the inputs' quantization. Source: the same, appendix D.
RUY_LIKE_EXPORT absl::Status CorrectMeasuredBias(const Matrix<float>& reference,
                                                 const Matrix<float>& quantized,
                                                 ChannelDimension channels,
                                                 absl::Span<float> bias);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_BIAS_CORRECTION_H_
