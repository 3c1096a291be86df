// Tested in test/quantize/hostile_arguments_test.cc.
#include "ruy_like/quantize/tensor_checks.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/quantize/memory_checks.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

// Whether the bytes of the tensor can be counted. Sizes of 0 count as 1: an
// empty tensor, too, has pixels and images whose elements are counted later.
bool BytesAreCountable(const ErasedTensor& tensor) {
  const TensorShape& shape = tensor.shape;
  std::ptrdiff_t bytes = tensor.element_bytes;
  for (const std::ptrdiff_t size :
       {shape.batch, shape.height, shape.width, shape.channels}) {
    if (!CheckedMul(bytes, std::max<std::ptrdiff_t>(size, 1), &bytes)) {
      return false;
    }
  }
  return true;
}

std::int64_t LargestDistance(std::int32_t lowest, std::int32_t highest,
                             std::int32_t zero_point) {
  return std::max(static_cast<std::int64_t>(highest) - zero_point,
                  static_cast<std::int64_t>(zero_point) - lowest);
}

}  // namespace

std::string DescribeShape(const TensorShape& shape) {
  return absl::StrCat(shape.batch, "x", shape.height, "x", shape.width, "x",
                      shape.channels,
                      shape.order == TensorOrder::kNhwc ? " NHWC" : " NCHW");
}

absl::Status CheckTensor(const ErasedTensor& tensor) {
  const TensorShape& shape = tensor.shape;
  if (shape.order != TensorOrder::kNhwc && shape.order != TensorOrder::kNchw) {
    return absl::InvalidArgumentError(absl::StrCat(
        tensor.name, " has an unknown order ", static_cast<int>(shape.order)));
  }
  if (std::min({shape.batch, shape.height, shape.width, shape.channels}) < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        tensor.name, " has a negative size: ", DescribeShape(shape)));
  }
  if (!BytesAreCountable(tensor)) {
    return absl::OutOfRangeError(
        absl::StrCat(tensor.name, " is too large: the bytes of ",
                     DescribeShape(shape), " overflow"));
  }
  if (tensor.data == nullptr && ElementCount(shape) > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        tensor.name, " (", DescribeShape(shape), ") has null data"));
  }
  if (!tensor.has_params) return absl::OkStatus();
  return ValidateQuantParams(tensor.params, tensor.lowest, tensor.highest,
                             tensor.name);
}

absl::Status CheckDisjoint(const ErasedTensor& input,
                           const ErasedTensor& output) {
  return CheckNoSharedBytes(input.name, input.data, CountBytes(input),
                            output.name, output.data, CountBytes(output));
}

absl::Status CheckTensors(const ErasedTensor& input, const ErasedTensor& output,
                          const TensorShape& expected) {
  absl::Status status = CheckTensor(input);
  if (status.ok()) status = CheckTensor(output);
  if (!status.ok()) return status;
  if (output.shape != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(output.name, " is ", DescribeShape(output.shape), ", not ",
                     DescribeShape(expected), " as results from ", input.name,
                     " of ", DescribeShape(input.shape)));
  }
  return CheckDisjoint(input, output);
}

std::int64_t LargestSum(std::ptrdiff_t depth, const QuantParams& weights,
                        const ErasedTensor& input) {
  return depth *
         LargestDistance(weights.qmin, weights.qmax, weights.zero_point) *
         LargestDistance(input.lowest, input.highest, input.params.zero_point);
}

absl::Status CheckBiasFits(absl::Span<const std::int32_t> bias,
                           std::int64_t largest_sum) {
  const std::int64_t room =
      std::numeric_limits<std::int32_t>::max() - largest_sum;
  for (std::size_t c = 0; c < bias.size(); ++c) {
    if (std::abs(std::int64_t{bias[c]}) <= room) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("bias ", bias[c], " of channel ", c, " and sums up to ",
                     largest_sum, " may overflow int32"));
  }
  return absl::OkStatus();
}

absl::Status CheckDepth(std::ptrdiff_t depth, const QuantParams& weights,
                        const ErasedTensor& input) {
  const std::int64_t weight =
      LargestDistance(weights.qmin, weights.qmax, weights.zero_point);
  const std::int64_t value =
      LargestDistance(input.lowest, input.highest, input.params.zero_point);
  const std::int64_t limit = std::numeric_limits<std::int32_t>::max() /
                             std::max<std::int64_t>(weight * value, 1);
  if (depth <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a sum of ", depth, " products may overflow int32: with weights up to ",
      weight, " and values up to ", value, " from their zero points, ", limit,
      " are safe"));
}

}  // namespace quantize_internal
}  // namespace ruy_like
