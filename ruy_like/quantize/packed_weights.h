// Quantization toolkit, public: the int8 weights of a layer, made ready once:
// PackedWeights for the products of FullyConnected and Conv2D, DepthwiseWeights
// for DepthwiseConv2D.
//
// Made when a network is loaded; the operations only read it. Does not
// quantize: that is QuantizeRows' work.
#ifndef RUY_LIKE_QUANTIZE_PACKED_WEIGHTS_H_
#define RUY_LIKE_QUANTIZE_PACKED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {

namespace quantize_internal {
class GroupedWeights;
}

struct PackWeightsOptions {
  // Input channels and output channels are split into so many groups, each
  // convolved by itself.
  std::ptrdiff_t groups = 1;
  // Memory order of the activations. Weights are packed in the same way for
  // both orders, the faster one for both by measurement, so setting it is
  // optional.
  TensorOrder order = TensorOrder::kNhwc;
  // For activations of int16 instead of 8 bits: weights of zero point 0.
  bool for_int16 = false;
};

// Immutable: any number of threads and Contexts may use one at once. Copies
// share the packed memory.
//
// Those of several groups are stored unpacked, too: Conv2D's first call for a
// kernel's size packs them for the loops of grouped and depthwise convolutions.
// So are those that may be of 3x3, for paths without dot products of bytes:
// transformed they take 3.6 times the memory of the weights.
class RUY_LIKE_EXPORT PackedWeights final {
 public:
  // Weights without channels.
  PackedWeights() = default;

  // `weights` has one row per output channel, whose elements are in the order
  // of the input's memory: for a convolution of kNhwc tensors (kernel row,
  // kernel column, input channel of the group), for kNchw (input channel of the
  // group, kernel row, kernel column). The data are not needed afterwards.
  //
  // `params` holds one element for all channels or one for each of them; these
  // may differ in scale only. Symmetric ones (zero point 0) are faster.
  //
  // InvalidArgument for a number of channels that groups do not divide, params
  // that do not fit, and weights outside [qmin, qmax]; OutOfRange for weights
  // whose bytes cannot be counted; and the errors of ruy_like::Pack.
  static absl::StatusOr<PackedWeights> Pack(
      const Matrix<std::int8_t>& weights, absl::Span<const QuantParams> params,
      Context* context,
      const PackWeightsOptions& options = PackWeightsOptions());

  // Output channels, in all.
  std::ptrdiff_t channels() const { return channels_; }
  // Weights of each: what is summed up for one output.
  std::ptrdiff_t depth() const { return depth_; }
  std::ptrdiff_t groups() const {
    return static_cast<std::ptrdiff_t>(packed_.size());
  }
  // One, or one per channel.
  absl::Span<const QuantParams> params() const { return params_; }
  // The scales of params(), as an array.
  const float* scales() const { return scales_.data(); }
  // PackWeightsOptions'.
  bool for_int16() const { return for_int16_; }
  // The largest sum of a channel's |weight - zero point|.
  std::int64_t magnitude() const { return magnitude_; }
  // The weights of a group: channels() / groups() rows, a left-hand side of
  // Mul.
  const PackedMatrix<std::int8_t>& packed(std::ptrdiff_t group) const {
    return packed_[static_cast<std::size_t>(group)];
  }
  // For Conv2D: null where only products take the weights.
  quantize_internal::GroupedWeights* grouped() const { return grouped_.get(); }

 private:
  std::ptrdiff_t channels_ = 0;
  std::ptrdiff_t depth_ = 0;
  std::int64_t magnitude_ = 0;
  bool for_int16_ = false;
  std::vector<PackedMatrix<std::int8_t>> packed_;
  std::shared_ptr<quantize_internal::GroupedWeights> grouped_;
  std::vector<QuantParams> params_;
  std::vector<float> scales_;
};

// The int8 weights of a depthwise convolution, made ready once, for activations
// of 8 bits or int16. Immutable: any number of threads may use one at once.
class RUY_LIKE_EXPORT DepthwiseWeights final {
 public:
  // Weights without channels.
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
  // As PackedWeights'.
  std::int64_t magnitude() const { return magnitude_; }

  // For the operation: weights less their zero point, one row per tap, with
  // some zeros behind the channels; and the channels' scales, likewise.
  const std::int32_t* data() const { return data_.data(); }
  // The same in 8 bits; null if they do not fit, with a zero point.
  const std::int8_t* bytes() const {
    return bytes_.empty() ? nullptr : bytes_.data();
  }
  std::ptrdiff_t stride() const { return stride_; }
  const float* scales() const { return scales_.data(); }

 private:
  std::ptrdiff_t channels_ = 0;
  std::ptrdiff_t taps_ = 0;
  std::ptrdiff_t stride_ = 0;
  std::int64_t magnitude_ = 0;
  std::vector<QuantParams> params_;
  std::vector<std::int32_t> data_;
  std::vector<std::int8_t> bytes_;
  std::vector<float> scales_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_PACKED_WEIGHTS_H_
