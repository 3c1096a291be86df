// Public: what Mul with group-scaled weights computes, in the plainest way: for
// tests, and as a definition (in words: doc/numerics.md). Slow. Refused with
// -ffast-math, as ReferenceMul of floats is (reference_mul.h).
#ifndef RUY_LIKE_REFERENCE_GROUP_MUL_H_
#define RUY_LIKE_REFERENCE_GROUP_MUL_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "ruy_like/float16.h"
#include "ruy_like/fused_multiply_add.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/matrix.h"
#include "ruy_like/reference_mul.h"

namespace ruy_like {

// The quantized value of a weight, with neither zero point nor scale.
inline int QuantizedValue(const GroupWeights& weights, std::ptrdiff_t row,
                          std::ptrdiff_t k) {
  const std::ptrdiff_t stride = weights.row_stride_bytes != 0
                                    ? weights.row_stride_bytes
                                    : weights.RowBytes();
  const std::uint8_t* const codes =
      static_cast<const std::uint8_t*>(weights.levels) + row * stride;
  if (weights.bits == 8) return static_cast<std::int8_t>(codes[k]);
  const int in_byte = 8 / weights.bits;  // codes
  const int code = codes[k / in_byte] >> (k % in_byte * weights.bits) &
                   ((1 << weights.bits) - 1);
  return weights.table == nullptr ? code : weights.table[code];
}

// The scale and the zero point at element `at` of their arrays.
inline float GroupScale(const GroupWeights& weights, std::ptrdiff_t at) {
  switch (weights.scale_type) {
    case Scalar::kBF16:
      return static_cast<float>(
          static_cast<const BFloat16*>(weights.scales)[at]);
    case Scalar::kF16:
      return static_cast<float>(
          static_cast<const Float16*>(weights.scales)[at]);
    default:
      return static_cast<const float*>(weights.scales)[at];
  }
}
inline int GroupZeroPoint(const GroupWeights& weights, std::ptrdiff_t at) {
  if (weights.zero_points == nullptr) return weights.CommonZeroPoint();
  return weights.LevelsAreInt8()
             ? static_cast<const std::int8_t*>(weights.zero_points)[at]
             : static_cast<const std::uint8_t*>(weights.zero_points)[at];
}

// Symmetric int8 for `count` floats; returns their scale. Values whose greatest
// magnitude is below 2^-120 count as 0; where one is not finite, the scale is
// NaN.
inline float ReferenceQuantizeActivations(const float* values,
                                          std::ptrdiff_t count,
                                          std::int8_t* quantized) {
  float greatest = 0;
  bool finite = true;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    finite = finite && std::isfinite(values[i]);
    greatest = std::max(greatest, std::fabs(values[i]));
    quantized[i] = 0;
  }
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  if (greatest < 0x1p-120f) return 0;
  const float inverse = 127.0f / greatest;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    quantized[i] =
        static_cast<std::int8_t>(std::nearbyint(values[i] * inverse));
  }
  return greatest / 127.0f;
}

namespace internal {

// A column of activations as Mul sees it.
struct ReferenceColumn {
  std::vector<std::int8_t> values;
  int zero_point = 0;
  float scale = 1;
  std::vector<float> group_scales;  // empty with one scale for the column
};

template <typename Activation>
ReferenceColumn MakeReferenceColumn(const std::vector<Activation>& column,
                                    std::ptrdiff_t group_size,
                                    const GroupMulParams& params,
                                    std::ptrdiff_t index) {
  ReferenceColumn result;
  if constexpr (std::is_same<Activation, std::int8_t>::value) {
    result.values = column;
    if (params.activation_scales != nullptr) {
      result.scale = params.activation_scales[index];
    }
    if (params.activation_zero_points != nullptr) {
      result.zero_point =
          static_cast<int>(params.activation_zero_points[index]);
    }
  } else {
    const std::ptrdiff_t depth = static_cast<std::ptrdiff_t>(column.size());
    const std::vector<float> floats = [&] {
      std::vector<float> widened(column.size());
      for (std::size_t k = 0; k < column.size(); ++k) {
        widened[k] = static_cast<float>(column[k]);
      }
      return widened;
    }();
    result.values.resize(column.size());
    if (params.quantize == ActivationScales::kPerColumn) {
      result.scale = ReferenceQuantizeActivations(floats.data(), depth,
                                                  result.values.data());
    } else {
      for (std::ptrdiff_t k = 0; k < depth; k += group_size) {
        result.group_scales.push_back(ReferenceQuantizeActivations(
            floats.data() + k, std::min(group_size, depth - k),
            result.values.data() + k));
      }
    }
  }
  return result;
}

// The sum of all groups of one row with one column, before the epilogue.
inline float ReferenceGroupSum(const GroupWeights& weights, std::ptrdiff_t row,
                               std::ptrdiff_t group_size,
                               const ReferenceColumn& column) {
  const std::ptrdiff_t groups = (weights.depth + group_size - 1) / group_size;
  const std::ptrdiff_t stride =
      weights.scale_stride != 0 ? weights.scale_stride : groups;
  float f = 0;
  float row_sum = 0;  // of the weights
  for (std::ptrdiff_t group = 0; group < groups; ++group) {
    const int zero_point = GroupZeroPoint(weights, row * stride + group);
    std::uint32_t sum = 0, weight_sum = 0;  // modulo 2^32
    const std::ptrdiff_t end =
        std::min(weights.depth, (group + 1) * group_size);
    for (std::ptrdiff_t k = group * group_size; k < end; ++k) {
      const int weight = QuantizedValue(weights, row, k) - zero_point;
      sum += static_cast<std::uint32_t>(
          weight * column.values[static_cast<std::size_t>(k)]);
      weight_sum += static_cast<std::uint32_t>(weight);
    }
    float scale = GroupScale(weights, row * stride + group);
    row_sum = FusedMultiplyAdd(
        static_cast<float>(static_cast<std::int32_t>(weight_sum)), scale,
        row_sum);
    if (!column.group_scales.empty()) {
      scale *= column.group_scales[static_cast<std::size_t>(group)];
    }
    f = FusedMultiplyAdd(static_cast<float>(static_cast<std::int32_t>(sum)),
                         scale, f);
  }
  if (column.zero_point == 0) return f;
  return FusedMultiplyAdd(static_cast<float>(-column.zero_point), row_sum, f);
}

}  // namespace internal

// As Mul with the packed weights on the left, of valid arguments; *dst may have
// any layout. If it rounds to nearest and flushes no denormals, its results are
// Mul's bit for bit, but for the bits of NaNs.
template <typename Activation, typename Dst>
void ReferenceGroupMul(const GroupWeights& weights,
                       const Matrix<Activation>& rhs,
                       const GroupMulParams& params, Matrix<Dst>* dst) {
  static_assert(internal::kFloatsAreExact || sizeof(Dst) == 0,
                "ReferenceGroupMul is wrong with -ffast-math");
  if (weights.rows == 0) return;  // there may be any number of columns
  const std::ptrdiff_t group_size =
      weights.group_size != 0 ? weights.group_size
                              : std::max<std::ptrdiff_t>(weights.depth, 1);
  for (std::ptrdiff_t col = 0; col < dst->layout().cols(); ++col) {
    std::vector<std::remove_const_t<Activation>> values;
    for (std::ptrdiff_t k = 0; k < weights.depth; ++k) {
      values.push_back(Element(
          rhs, weights.depth_order == nullptr ? k : weights.depth_order[k],
          col));
    }
    const internal::ReferenceColumn column =
        internal::MakeReferenceColumn(values, group_size, params, col);
    for (std::ptrdiff_t row = 0; row < weights.rows; ++row) {
      float x = internal::ReferenceGroupSum(weights, row, group_size, column);
      x = internal::RoundedProduct(x, column.scale);
      Dst* const element = ElementPtr(dst, row, col);
      const std::ptrdiff_t channel =
          params.channel_dimension == ChannelDimension::kRow ? row : col;
      if (params.beta != 0) {
        x = internal::RoundedSum(
            x,
            internal::RoundedProduct(params.beta, internal::Widened(*element)));
      }
      if (params.bias != nullptr) {
        x = internal::RoundedSum(x, params.bias[channel]);
      }
      x = internal::ReferencePostOps(x, params.post_ops, row, col, channel);
      x = x < params.clamp_min ? params.clamp_min : x;
      x = x > params.clamp_max ? params.clamp_max : x;
      *element = static_cast<Dst>(x);
    }
  }
}

}  // namespace ruy_like

#endif  // RUY_LIKE_REFERENCE_GROUP_MUL_H_
