#include "ruy_like/quantize/tensor_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

// False where the bytes of the tensor can not be counted.
bool CountBytes(const ErasedTensor& tensor, std::ptrdiff_t* bytes) {
  const TensorShape& shape = tensor.shape;
  return CheckedMul(shape.batch, shape.height, bytes) &&
         CheckedMul(*bytes, shape.width, bytes) &&
         CheckedMul(*bytes, shape.channels, bytes) &&
         CheckedMul(*bytes, tensor.element_bytes, bytes);
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
  std::ptrdiff_t bytes;
  if (!CountBytes(tensor, &bytes)) {
    return absl::OutOfRangeError(
        absl::StrCat(tensor.name, " is too large: the bytes of ",
                     DescribeShape(shape), " overflow"));
  }
  if (tensor.data == nullptr && bytes > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        tensor.name, " (", DescribeShape(shape), ") has null data"));
  }
  if (!tensor.has_params) return absl::OkStatus();
  return ValidateQuantParams(tensor.params, tensor.lowest, tensor.highest,
                             tensor.name);
}

absl::Status CheckDisjoint(const ErasedTensor& input,
                           const ErasedTensor& output) {
  const auto begin = [](const ErasedTensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data);
  };
  const auto end = [&](const ErasedTensor& tensor) {
    return begin(tensor) +
           static_cast<std::uintptr_t>(ElementCount(tensor.shape) *
                                       tensor.element_bytes);
  };
  if (begin(input) < end(output) && begin(output) < end(input)) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.name, " and ", output.name, " share memory"));
  }
  return absl::OkStatus();
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
