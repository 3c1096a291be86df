// Tested in test/quantize/layers/fully_connected_test.cc.
#include "ruy_like/quantize/packed_weights.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/layers/grouped_weights.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/requantize_table.h"
#include "ruy_like/quantize/loops/winograd_kernels.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

absl::Status ValidateParams(absl::Span<const QuantParams> params,
                            std::ptrdiff_t channels) {
  RUY_LIKE_RETURN_IF_ERROR(
      qi::CheckChannelParams("weights", params, channels, Scalar::kI8));
  for (const QuantParams& p : params) {
    QuantParams rescaled = p;
    rescaled.scale = params[0].scale;
    if (rescaled != params[0]) {
      return Invalid(
          "the channels of weights must have one zero point, qmin and qmax");
    }
  }
  return absl::OkStatus();
}

// PackedWeights::magnitude() of weights whose layout is valid, if they are in
// range.
absl::StatusOr<std::int64_t> Magnitude(const Matrix<std::int8_t>& weights,
                                       const QuantParams& params) {
  const Layout& layout = weights.layout();
  // Rows of nothing may be more than can be counted to.
  if (layout.cols() == 0) return 0;
  std::int64_t largest = 0;
  for (std::ptrdiff_t row = 0; row < layout.rows(); ++row) {
    std::int64_t sum = 0;
    for (std::ptrdiff_t col = 0; col < layout.cols(); ++col) {
      const std::int8_t value = Element(weights, row, col);
      if (value < params.qmin || value > params.qmax) {
        return Invalid("weight ", value, " of channel ", row,
                       " is outside of [", params.qmin, ", ", params.qmax, "]");
      }
      sum += std::abs(value - params.zero_point);
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

// Checks that params and weights go together (one element, or one per row);
// returns the weights' Magnitude.
absl::StatusOr<std::int64_t> CheckWeights(
    const Matrix<std::int8_t>& weights, absl::Span<const QuantParams> params) {
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("weights", weights));
  const std::ptrdiff_t channels = weights.layout().rows();
  if (channels < 1) {
    return Invalid("weights have no channels");
  }
  RUY_LIKE_RETURN_IF_ERROR(ValidateParams(params, channels));
  return Magnitude(weights, params[0]);
}

// The rows of one group as an operand of Mul, with the weights' zero point and
// the range that qmin and qmax promise.
Matrix<std::int8_t> GroupOperand(const Matrix<std::int8_t>& weights,
                                 absl::Span<const QuantParams> params,
                                 std::ptrdiff_t first_row,
                                 std::ptrdiff_t rows) {
  Matrix<std::int8_t> operand =
      qi::PartOf(weights, first_row, rows, 0, weights.layout().cols());
  operand.set_zero_point(static_cast<std::int8_t>(params[0].zero_point));
  const bool all_int7 = std::all_of(
      params.begin(), params.end(),
      [](const QuantParams& p) { return RangeOfInt8(p) == ValueRange::kInt7; });
  operand.set_value_range(all_int7 ? ValueRange::kInt7 : ValueRange::kFull);
  return operand;
}

// True if weights of one group may be for winograd_kernels.h.
bool MayBe3x3(const Layout& layout, const Context* context) {
  constexpr std::ptrdiff_t kPairs = 2 * qi::kWinogradTaps;
  return layout.cols() % kPairs == 0 &&
         layout.cols() >= qi::kWinogradMinChannels * qi::kWinogradTaps &&
         qi::WinogradKernelsFor(context) != nullptr;
}

}  // namespace

absl::StatusOr<PackedWeights> PackedWeights::Pack(
    const Matrix<std::int8_t>& weights, absl::Span<const QuantParams> params,
    Context* context, const PackWeightsOptions& options) {
  return CatchNoMemory([&]() -> absl::StatusOr<PackedWeights> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckNotNull("context", context));
    const std::ptrdiff_t channels = weights.layout().rows();
    if (options.groups < 1 || channels < 1 || channels % options.groups != 0) {
      return Invalid("weights of ", channels, " channels in ", options.groups,
                     " groups");
    }
    if (options.order != TensorOrder::kNhwc &&
        options.order != TensorOrder::kNchw) {
      return Invalid("weights for an unknown order ",
                     static_cast<int>(options.order));
    }
    RUY_LIKE_ASSIGN_OR_RETURN(const auto magnitude,
                              CheckWeights(weights, params));
    if (options.for_int16 && params[0].zero_point != 0) {
      return Invalid("the zero point of weights for int16 is ",
                     params[0].zero_point, ", must be 0");
    }
    if (options.groups > 1 && weights.layout().cols() == 0) {
      return Invalid("weights of depth 0 in ", options.groups, " groups");
    }
    // For activations of either order. With kNchw ones, packing for a row-major
    // dst makes 1x1 convolutions take 1.04 to 1.3 times as long with
    // AVX-512-VNNI and 1.06 to 1.6 times with AVX2, from 8 to 2048 channels
    // (Zen 4); 3x3 ones up to 1.2 times.
    PackOptions pack_options;
    pack_options.dst_order = Order::kColMajor;
    if (options.for_int16) pack_options.pack_for = PackFor::kInt16Operand;

    PackedWeights result;
    result.for_int16_ = options.for_int16;
    result.magnitude_ = magnitude;
    const std::ptrdiff_t rows = channels / options.groups;
    for (std::ptrdiff_t group = 0; group < options.groups; ++group) {
      RUY_LIKE_ASSIGN_OR_RETURN(
          auto packed,
          ruy_like::Pack(GroupOperand(weights, params, group * rows, rows),
                         Side::kLhs, pack_options, context));
      result.packed_.push_back(std::move(packed));
    }
    if (options.groups > 1 ||
        (!options.for_int16 && MayBe3x3(weights.layout(), context))) {
      result.grouped_ = std::make_shared<qi::GroupedWeights>(weights);
    }
    result.channels_ = channels;
    result.depth_ = weights.layout().cols();
    result.params_.assign(params.begin(), params.end());
    for (const QuantParams& p : params) result.scales_.push_back(p.scale);
    return result;
  });
}

absl::StatusOr<DepthwiseWeights> DepthwiseWeights::Pack(
    const Matrix<std::int8_t>& weights, absl::Span<const QuantParams> params) {
  return CatchNoMemory([&]() -> absl::StatusOr<DepthwiseWeights> {
    RUY_LIKE_ASSIGN_OR_RETURN(const auto magnitude,
                              CheckWeights(weights, params));
    if (weights.layout().cols() == 0) {
      return Invalid("weights have no taps");
    }
    DepthwiseWeights result;
    result.magnitude_ = magnitude;
    result.channels_ = weights.layout().rows();
    result.taps_ = weights.layout().cols();
    result.stride_ =
        result.channels_ + static_cast<std::ptrdiff_t>(qi::kChannelSlack);
    result.params_.assign(params.begin(), params.end());
    result.data_.assign(static_cast<std::size_t>(result.taps_ * result.stride_),
                        0);
    result.scales_.assign(static_cast<std::size_t>(result.stride_), 1);
    for (std::ptrdiff_t c = 0; c < result.channels_; ++c) {
      for (std::ptrdiff_t tap = 0; tap < result.taps_; ++tap) {
        result.data_[static_cast<std::size_t>(tap * result.stride_ + c)] =
            Element(weights, c, tap) - params[0].zero_point;
      }
      result.scales_[static_cast<std::size_t>(c)] =
          params[params.size() == 1 ? 0 : static_cast<std::size_t>(c)].scale;
    }
    const auto [lowest, highest] =
        std::minmax_element(result.data_.begin(), result.data_.end());
    if (*lowest >= -128 && *highest <= 127) {
      result.bytes_.assign(result.data_.begin(), result.data_.end());
    }
    return result;
  });
}

}  // namespace ruy_like
