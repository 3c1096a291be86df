// ruy_like::quantize, public: DepthwiseConv2D, where every channel is convolved
// by itself, and its weights.
//
// There is no matrix product in it: vectors run along channels. Groups of
// several channels are Conv2D's.
#ifndef RUY_LIKE_QUANTIZE_DEPTHWISE_CONV_H_
#define RUY_LIKE_QUANTIZE_DEPTHWISE_CONV_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/fully_connected.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like {

// The int8 weights of a depthwise convolution, made ready once. Immutable: any
// number of threads may use one at once.
class RUY_LIKE_EXPORT DepthwiseWeights final {
 public:
  // No channels.
  DepthwiseWeights() = default;

  // `weights` has one row per output channel and one column per tap, in the
  // order (kernel row, kernel column): row-major, or column-major for weights
  // that have their channels innermost. `params` and errors as those of
  // PackedWeights::Pack. The data are not needed afterwards.
  static absl::StatusOr<DepthwiseWeights> Pack(
      const Matrix<std::int8_t>& weights, absl::Span<const QuantParams> params);

  // Output channels.
  std::ptrdiff_t channels() const { return channels_; }
  std::ptrdiff_t taps() const { return taps_; }
  absl::Span<const QuantParams> params() const { return params_; }

  // For the operation: weights less their zero point, one row per tap, with
  // some zeros behind the channels; and the channels' scales, likewise.
  const std::int32_t* data() const { return data_.data(); }
  std::ptrdiff_t stride() const { return stride_; }
  const float* scales() const { return scales_.data(); }

 private:
  // Of valid arguments; may throw std::bad_alloc.
  static DepthwiseWeights Expand(const Matrix<std::int8_t>& weights,
                                 absl::Span<const QuantParams> params);

  std::ptrdiff_t channels_ = 0;
  std::ptrdiff_t taps_ = 0;
  std::ptrdiff_t stride_ = 0;
  std::vector<QuantParams> params_;
  std::vector<std::int32_t> data_;
  std::vector<float> scales_;
};

namespace quantize_internal {

template <typename In, typename Out>
RUY_LIKE_EXPORT absl::Status DepthwiseConv2DTyped(
    const TensorView<const In>& input, const DepthwiseWeights& weights,
    BiasSpan<Out> bias, const Window& window, Workspace* workspace,
    Context* context, const TensorView<Out>& output);

}  // namespace quantize_internal

// Output channel c sees input channel c / m, where m, the channel multiplier,
// is weights.channels() by the input's channels: 1 or another whole number. All
// else is as Conv2D has it, to the last bit.
template <typename In, typename Out>
absl::Status DepthwiseConv2D(const TensorView<In>& input,
                             const DepthwiseWeights& weights,
                             BiasSpan<Out> bias, const Window& window,
                             Workspace* workspace, Context* context,
                             TensorView<Out>* output) {
  if (output == nullptr) return quantize_internal::NullError("output");
  return quantize_internal::DepthwiseConv2DTyped<std::remove_const_t<In>, Out>(
      quantize_internal::ConstView(input), weights, bias, window, workspace,
      context, *output);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_DEPTHWISE_CONV_H_
