// Quantization toolkit, public: biases of quantized products.
//
// For whoever prepares a layer, once; products then take the int32 bias in the
// accumulators' scale. A product with float dst takes the float bias itself.
#ifndef RUY_LIKE_QUANTIZE_BIAS_H_
#define RUY_LIKE_QUANTIZE_BIAS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

// quantized[c] = bias[c] / (input.scale * weights[c].scale), in double
// precision, rounded half away from zero, saturated to int32. The scale of a
// bias is thus that of the accumulators, without the scale of dst, and its zero
// point 0. `weights` has one element per channel, or one for all.
//
// Returns how many values saturated: more than 0 says that these scales cannot
// express the bias. InvalidArgument, with `quantized` untouched, for a NaN, a
// scale that is not positive and finite, sizes that do not agree, null data,
// and memory that bias and quantized share.
RUY_LIKE_EXPORT absl::StatusOr<std::ptrdiff_t> QuantizeBias(
    absl::Span<const float> bias, const QuantParams& input,
    absl::Span<const QuantParams> weights, absl::Span<std::int32_t> quantized);

// The same numbers in int32: TensorFlow Lite's layers of int16 activations have
// biases of int64. InvalidArgument for one that does not fit, and null data.
RUY_LIKE_EXPORT absl::StatusOr<std::vector<std::int32_t>> NarrowBias(
    absl::Span<const std::int64_t> bias);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_BIAS_H_
