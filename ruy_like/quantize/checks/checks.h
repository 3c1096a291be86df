// Quantization toolkit, internal: what all operations check of the memory,
// shapes and parameters that callers hand them, and how they return errors.
//
// Errors name the operand and its values. Codes: OutOfRange for sizes whose
// bytes cannot be counted, as for Mul; InvalidArgument for all else.
#ifndef RUY_LIKE_QUANTIZE_CHECKS_CHECKS_H_
#define RUY_LIKE_QUANTIZE_CHECKS_CHECKS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/quantize/checks/erased.h"

namespace ruy_like::quantize_internal {

// ## Numbers

// The bounds of an integer type.
std::int32_t LowestOf(Scalar scalar);
std::int32_t HighestOf(Scalar scalar);

// A float holds the number, rounded; NaN is none.
bool IsFloat(double number);
// An argument in [lowest, highest].
absl::Status CheckRange(const char* name, int value, int lowest, int highest);
// None is infinite or NaN; `what` names one of them.
absl::Status CheckFinite(const char* what, absl::Span<const float> numbers);
// A scale that is positive and finite.
absl::Status CheckScale(const char* name, double scale);
// A scale by whose inverse numbers are multiplied.
absl::Status CheckInverse(const char* name, float scale);
// [qmin, qmax] is in order and within [lowest, highest].
absl::Status CheckBounds(const char* name, const QuantParams& params,
                         std::int32_t lowest, std::int32_t highest);
// ValidateQuantParams for elements of that type.
absl::Status CheckParams(const char* name, Scalar scalar,
                         const QuantParams& params);
// The same of a tensor: int16 is symmetric.
absl::Status CheckActivation(const char* name, Scalar scalar,
                             const QuantParams& params);

// ## Channels

absl::Status CheckDimension(ChannelDimension channels);
// One for all channels, or one for each.
absl::Status CheckPerChannel(const char* what, std::size_t count,
                             std::ptrdiff_t channels);
// The same of parameters, which are valid for elements of that type.
absl::Status CheckChannelParams(const char* name,
                                absl::Span<const QuantParams> params,
                                std::ptrdiff_t channels, Scalar scalar);
// One bias for each channel of `weights`.
absl::Status CheckBiasCount(std::size_t count, absl::string_view weights,
                            std::ptrdiff_t channels);

// ## Memory

// The bytes of a valid operand, from its first element to the end of its last.
absl::Span<const char> BytesOf(const Erased& operand);

// The memory of an operand: of a span, or of a valid matrix or tensor.
struct Memory {
  template <typename T>
  Memory(absl::string_view operand_name, absl::Span<T> span)
      : name(operand_name),
        data(span.data()),
        elements(span.size()),
        bytes(span.size() * sizeof(T)) {}
  Memory(absl::string_view operand_name, const Erased& operand)
      : Memory(operand_name, BytesOf(operand)) {}

  absl::string_view name;
  const void* data;
  std::size_t elements, bytes;
};

// Where there are elements there is data.
absl::Status CheckData(const Memory& memory);
// No byte belongs to both; with `in_place`, or all do. What has no bytes shares
// none, wherever it points.
absl::Status CheckDisjoint(const Memory& a, const Memory& b,
                           bool in_place = false);
// All have data, and what is read shares no memory with what is written.
absl::Status CheckMemory(std::initializer_list<Memory> read,
                         const Memory& written);

// ## Operands

// "3x4", or for tensors "2x5x7x3 NHWC": batch, height, width, channels.
std::string Describe(const Erased& operand);
std::string Describe(const TensorShape& shape);

// Elements of a tensor that was found valid.
inline std::ptrdiff_t ElementCount(const TensorShape& shape) {
  return shape.batch * shape.height * shape.width * shape.channels;
}
// "output is null", if it is.
absl::Status CheckNotNull(const char* name, const void* pointer);

// It is not null, its sizes, stride and order are valid, its bytes can be
// counted, it has data where it has elements, and an activation has
// QuantParams that its type holds.
absl::Status CheckOperand(const char* name, const Erased& operand);
// A valid matrix whose elements, if any, may be written.
absl::Status CheckWritable(const char* name, const Erased& operand);
// Both are tensors that CheckOperand accepts, leaving aside their
// QuantParams, and share no memory: for calls too short for all of the above.
// False for some valid tensors, too: large ones and those without data.
bool AreOrdinaryTensors(const Erased& input, const Erased& output);
// Both are valid matrices of one shape, dst may be written, and they share no
// memory; with `in_place` they may share all, element for element.
absl::Status CheckPair(const char* src_name, const Erased& src,
                       const char* dst_name, const Erased& dst,
                       bool in_place = false);
// Both are valid tensors, the output has this shape, and they share no memory;
// with `in_place` they may begin at one address.
absl::Status CheckTensors(const Erased& input, const Erased& output,
                          const TensorShape& expected, bool in_place = false);

// ## Sums of products

// The largest |weight - zero point| that the parameters permit.
std::int64_t LargestWeight(const QuantParams& weights);
// The largest magnitude of a sum of products (weight - zero point) * (input -
// zero point), where the weights' magnitudes add up to `weights` and the input
// holds what its type can. InvalidArgument if that is beyond int32.
absl::StatusOr<std::int64_t> LargestSum(std::int64_t weights,
                                        Scalar input_scalar,
                                        const QuantParams& input);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_CHECKS_CHECKS_H_
