// ruy_like::quantize, internal: what all operations on TensorViews check first.
//
// Errors name the tensor and its values.
#ifndef RUY_LIKE_QUANTIZE_TENSOR_CHECKS_H_
#define RUY_LIKE_QUANTIZE_TENSOR_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/quantize/memory_checks.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {
namespace quantize_internal {

// "2x5x7x3 NHWC": batch, height, width, channels.
std::string DescribeShape(const TensorShape& shape);

// Elements of a tensor that was found valid.
inline std::ptrdiff_t ElementCount(const TensorShape& shape) {
  return shape.batch * shape.height * shape.width * shape.channels;
}

// *aligned = size >= 0, rounded up to a multiple of a cache line's 64 bytes.
// False, with *aligned unspecified, where that overflows.
[[nodiscard]] inline bool CheckedAlign(std::ptrdiff_t size,
                                       std::ptrdiff_t* aligned) {
  constexpr std::ptrdiff_t kLine = 64;
  if (!CheckedAdd(size, kLine - 1, aligned)) return false;
  *aligned -= *aligned % kLine;
  return true;
}

// A TensorView without its type.
struct ErasedTensor {
  const char* name;
  const void* data;
  TensorShape shape;
  QuantParams params;
  std::ptrdiff_t element_bytes;
  // Of 8-bit elements: what they can hold. Else params are not looked at.
  bool has_params;
  std::int32_t lowest, highest;
};

template <typename T>
ErasedTensor EraseTensor(const char* name, const TensorView<T>& tensor) {
  constexpr bool kIs8Bit = sizeof(T) == 1;
  return {
      name,
      tensor.data,
      tensor.shape,
      tensor.params,
      sizeof(T),
      kIs8Bit,
      kIs8Bit ? static_cast<std::int32_t>(std::numeric_limits<T>::lowest()) : 0,
      kIs8Bit ? static_cast<std::int32_t>(std::numeric_limits<T>::max()) : 0};
}

// Of a tensor that was found valid.
inline std::size_t CountBytes(const ErasedTensor& tensor) {
  return static_cast<std::size_t>(ElementCount(tensor.shape) *
                                  tensor.element_bytes);
}

// Sizes that are not negative and whose bytes can be counted, a known order,
// data where there are elements, QuantParams that the type holds.
absl::Status CheckTensor(const ErasedTensor& tensor);

// That two valid tensors share no byte.
absl::Status CheckDisjoint(const ErasedTensor& input,
                           const ErasedTensor& output);

// Both of the above, and that output has this shape.
absl::Status CheckTensors(const ErasedTensor& input, const ErasedTensor& output,
                          const TensorShape& expected);

// The largest magnitude of a sum of `depth` products: |weight - zero point| *
// |input - zero point|, where weights are within [qmin, qmax] and the input
// holds what its type can. A depth that CheckDepth permits.
std::int64_t LargestSum(std::ptrdiff_t depth, const QuantParams& weights,
                        const ErasedTensor& input);

// InvalidArgument unless sum + bias fits in int32 for all sums up to
// largest_sum.
absl::Status CheckBiasFits(absl::Span<const std::int32_t> bias,
                           std::int64_t largest_sum);

// That `bias` is empty or has one element for each of `channels`, shares no
// byte with the output, which is written while the bias is still read, and
// leaves room for sums up to largest_sum.
template <typename T>
absl::Status CheckBias(absl::Span<const T> bias, std::ptrdiff_t channels,
                       std::int64_t largest_sum, const ErasedTensor& output) {
  if (!bias.empty() && bias.size() != static_cast<std::size_t>(channels)) {
    return absl::InvalidArgumentError(absl::StrCat(
        bias.size(), " biases for weights of ", channels, " channels"));
  }
  absl::Status status = CheckSpan("bias", bias);
  if (status.ok()) {
    status = CheckNoSharedBytes("bias", bias.data(), bias.size() * sizeof(T),
                                output.name, output.data, CountBytes(output));
  }
  if constexpr (std::is_same<T, std::int32_t>::value) {
    if (status.ok()) status = CheckBiasFits(bias, largest_sum);
  }
  return status;
}

// That so many products of the input with weights can be summed in int32.
absl::Status CheckDepth(std::ptrdiff_t depth, const QuantParams& weights,
                        const ErasedTensor& input);

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_TENSOR_CHECKS_H_
