// ruy_like::quantize, internal: the product of PackedWeights and an operand
// made of a TensorView, with the epilogue that its output asks for.
//
// Called by fully_connected.cc and conv.cc, which say where operand and output
// lie; the checks that both need are here, too.
#ifndef RUY_LIKE_QUANTIZE_QUANTIZED_PRODUCT_H_
#define RUY_LIKE_QUANTIZE_QUANTIZED_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"
#include "ruy_like/mul.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/quantize/multiplier.h"
#include "ruy_like/quantize/packed_weights.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {
namespace quantize_internal {

// One for each call of an operation. Borrows all that it is given.
template <typename Dst>
class QuantizedProduct final {
 public:
  using Params = MulParams<std::int32_t, Dst>;
  using Bias = typename Params::BiasScalar;

  // Scratch for the multipliers of the channels.
  static std::size_t ScratchBytes(const PackedWeights& weights) {
    return Params::kQuantized ? weights.params().size() * 2 * sizeof(int) : 0;
  }

  // `scratch` is aligned as int is and has ScratchBytes. `output` gives scale,
  // zero point and clamp of a quantized dst.
  absl::Status Prepare(const PackedWeights& weights,
                       absl::Span<const Bias> bias, const QuantParams& input,
                       const QuantParams& output, void* scratch) {
    weights_ = &weights;
    bias_ = bias.empty() ? nullptr : bias.data();
    input_ = input;
    output_ = output;
    params_.set_channel_dimension(ChannelDimension::kRow);
    if constexpr (Params::kQuantized) {
      const absl::Span<const QuantParams> channels = weights.params();
      if (channels.size() == 1) {
        return SetMultipliers(channels[0], input, output, &params_);
      }
      fixedpoint_ = static_cast<std::int32_t*>(scratch);
      exponent_ = static_cast<int*>(scratch) + channels.size();
      return SetMultipliers(
          channels, input, output, absl::MakeSpan(fixedpoint_, channels.size()),
          absl::MakeSpan(exponent_, channels.size()), &params_);
    }
    if constexpr (Params::kScaled) {
      params_.set_lhs_scale(weights.scales()[0]);
      params_.set_rhs_scale(input.scale);
    }
    return absl::OkStatus();
  }

  // dst = epilogue(weights of the group * rhs). The zero points are set here.
  template <typename T>
  absl::Status Run(std::ptrdiff_t group, Matrix<T>* rhs, Context* context,
                   Matrix<Dst>* dst) {
    const std::ptrdiff_t first =
        group * (weights_->channels() / weights_->groups());
    if (bias_ != nullptr) params_.set_bias(bias_ + first);
    if (weights_->params().size() > 1) {
      if constexpr (Params::kQuantized) {
        params_.set_multiplier_fixedpoint_perchannel(fixedpoint_ + first);
        params_.set_multiplier_exponent_perchannel(exponent_ + first);
      } else if constexpr (Params::kScaled) {
        params_.set_lhs_scale_perrow(weights_->scales() + first);
      }
    }
    rhs->set_zero_point(static_cast<T>(input_.zero_point));
    if constexpr (std::is_same<T, std::int8_t>::value) {
      rhs->set_value_range(RangeOfInt8(input_));
    }
    if constexpr (Params::kQuantized) {
      dst->set_zero_point(static_cast<Dst>(output_.zero_point));
    }
    return Mul(weights_->packed(group), *rhs, params_, context, dst);
  }

 private:
  const PackedWeights* weights_ = nullptr;
  const Bias* bias_ = nullptr;
  QuantParams input_, output_;
  std::int32_t* fixedpoint_ = nullptr;
  int* exponent_ = nullptr;
  Params params_;
};

// A matrix without gaps, or with the given stride.
template <typename T>
Matrix<T> MatrixOf(const T* data, std::ptrdiff_t rows, std::ptrdiff_t cols,
                   Order order, std::ptrdiff_t stride) {
  Matrix<T> matrix;
  MakeSimpleLayout(rows, cols, order, matrix.mutable_layout());
  matrix.mutable_layout()->set_stride(stride);
  matrix.set_data(data);
  return matrix;
}
template <typename T>
Matrix<T> MutableMatrixOf(T* data, std::ptrdiff_t rows, std::ptrdiff_t cols,
                          Order order, std::ptrdiff_t stride) {
  Matrix<T> matrix = MatrixOf<T>(data, rows, cols, order, stride);
  matrix.set_data(data);
  return matrix;
}

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_QUANTIZED_PRODUCT_H_
