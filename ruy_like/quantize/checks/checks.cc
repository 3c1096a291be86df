// Tested in test/quantize/hostile_arguments_test.cc.
#include "ruy_like/quantize/checks/checks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ruy_like/base/checked_math.h"

namespace ruy_like::quantize_internal {
namespace {

std::ptrdiff_t InnerSize(const Layout& layout) {
  return layout.order() == Order::kColMajor ? layout.rows() : layout.cols();
}
std::ptrdiff_t OuterSize(const Layout& layout) {
  return layout.order() == Order::kColMajor ? layout.cols() : layout.rows();
}

std::ptrdiff_t LeastSize(const Erased& operand) {
  const TensorShape& shape = operand.shape;
  return operand.is_tensor
             ? std::min(
                   {shape.batch, shape.height, shape.width, shape.channels})
             : std::min(operand.layout.rows(), operand.layout.cols());
}

int OrderOf(const Erased& operand) {
  return operand.is_tensor ? static_cast<int>(operand.shape.order)
                           : static_cast<int>(operand.layout.order());
}

// Sizes of 0 of a tensor count as 1: an empty one, too, has pixels and images
// whose elements are counted later.
bool BytesAreCountable(const Erased& operand) {
  std::ptrdiff_t bytes;
  if (!operand.is_tensor) {
    // As if its elements were the largest, so that offsets of any copy fit.
    return CheckedMul(OuterSize(operand.layout), operand.layout.stride(),
                      &bytes) &&
           CheckedMul<std::ptrdiff_t>(bytes, 8, &bytes);
  }
  bytes = BytesOf(operand.scalar, 1);
  const TensorShape& shape = operand.shape;
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
  return std::max(std::int64_t{highest} - zero_point,
                  std::int64_t{zero_point} - lowest);
}

}  // namespace

std::int32_t LowestOf(Scalar scalar) {
  if (InfoOf(scalar).kind == ScalarKind::kUnsigned) return 0;
  return static_cast<std::int32_t>(
      -(std::int64_t{1} << (InfoOf(scalar).bits - 1)));
}

std::int32_t HighestOf(Scalar scalar) {
  const bool is_signed = InfoOf(scalar).kind == ScalarKind::kSigned;
  return static_cast<std::int32_t>(
      (std::int64_t{1} << (InfoOf(scalar).bits - (is_signed ? 1 : 0))) - 1);
}

bool IsFloat(double number) {
  return std::abs(number) <= std::numeric_limits<float>::max();
}

absl::Status CheckRange(const char* name, int value, int lowest, int highest) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return Invalid(name, " is ", value, ", must be in [", lowest, ", ", highest,
                 "]");
}

absl::Status CheckFinite(const char* what, absl::Span<const float> numbers) {
  for (const float number : numbers) {
    if (!std::isfinite(number)) return Invalid(what, " is not finite");
  }
  return absl::OkStatus();
}

absl::Status CheckScale(const char* name, double scale) {
  if (scale > 0 && std::isfinite(scale)) return absl::OkStatus();
  return Invalid(name, ": scale is ", scale, ", must be positive and finite");
}

absl::Status CheckInverse(const char* name, float scale) {
  if (std::isfinite(1 / scale)) return absl::OkStatus();
  return Invalid(name, ": scale is ", scale, ", whose inverse no float holds");
}

absl::Status CheckBounds(const char* name, const QuantParams& params,
                         std::int32_t lowest, std::int32_t highest) {
  if (params.qmin > params.qmax) {
    return Invalid(name, ": qmin ", params.qmin, " is above qmax ",
                   params.qmax);
  }
  if (params.qmin < lowest || params.qmax > highest) {
    return Invalid(name, ": [qmin, qmax] is [", params.qmin, ", ", params.qmax,
                   "], the type holds [", lowest, ", ", highest, "]");
  }
  return absl::OkStatus();
}

absl::Status CheckParams(const char* name, Scalar scalar,
                         const QuantParams& params) {
  return ValidateQuantParams(params, LowestOf(scalar), HighestOf(scalar), name);
}

absl::Status CheckActivation(const char* name, Scalar scalar,
                             const QuantParams& params) {
  if (scalar == Scalar::kI16 && params.zero_point != 0) {
    return Invalid(name, ": zero point is ", params.zero_point,
                   ", must be 0 for int16");
  }
  return CheckParams(name, scalar, params);
}

absl::Status CheckDimension(ChannelDimension channels) {
  return CheckEnum("channel dimension", channels, ChannelDimension::kCol);
}

absl::Status CheckPerChannel(const char* what, std::size_t count,
                             std::ptrdiff_t channels) {
  if (count == 1 || count == static_cast<std::size_t>(channels)) {
    return absl::OkStatus();
  }
  return Invalid(count, " ", what, " for ", channels, " channels");
}

absl::Status CheckChannelParams(const char* name,
                                absl::Span<const QuantParams> params,
                                std::ptrdiff_t channels, Scalar scalar) {
  RUY_LIKE_RETURN_IF_ERROR(
      CheckPerChannel("QuantParams", params.size(), channels));
  RUY_LIKE_RETURN_IF_ERROR(CheckData({name, params}));
  for (std::size_t c = 0; c < params.size(); ++c) {
    const absl::Status status = CheckParams(name, scalar, params[c]);
    if (status.ok()) continue;
    return params.size() == 1 ? status
                              : Invalid(status.message(), " (channel ", c, ")");
  }
  return absl::OkStatus();
}

absl::Status CheckBiasCount(std::size_t count, absl::string_view weights,
                            std::ptrdiff_t channels) {
  if (count == static_cast<std::size_t>(channels)) return absl::OkStatus();
  return Invalid(count, " biases for ", weights, " of ", channels, " channels");
}

absl::Status CheckData(const Memory& memory) {
  if (memory.data != nullptr || memory.elements == 0) return absl::OkStatus();
  return Invalid(memory.name, " (", memory.elements,
                 " elements) has null data");
}

absl::Status CheckDisjoint(const Memory& a, const Memory& b, bool in_place) {
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b.data);
  if (a.bytes == 0 || b.bytes == 0 || a_begin >= b_begin + b.bytes ||
      b_begin >= a_begin + a.bytes ||
      (in_place && a.data == b.data && a.bytes == b.bytes)) {
    return absl::OkStatus();
  }
  return Invalid(a.name, " and ", b.name, " share memory");
}

absl::Status CheckMemory(std::initializer_list<Memory> read,
                         const Memory& written) {
  RUY_LIKE_RETURN_IF_ERROR(CheckData(written));
  for (const Memory& memory : read) {
    RUY_LIKE_RETURN_IF_ERROR(CheckData(memory));
    RUY_LIKE_RETURN_IF_ERROR(CheckDisjoint(memory, written));
  }
  return absl::OkStatus();
}

std::string Describe(const TensorShape& shape) {
  return absl::StrCat(shape.batch, "x", shape.height, "x", shape.width, "x",
                      shape.channels,
                      shape.order == TensorOrder::kNhwc ? " NHWC" : " NCHW");
}

std::string Describe(const Erased& operand) {
  if (operand.is_tensor) return Describe(operand.shape);
  return absl::StrCat(operand.layout.rows(), "x", operand.layout.cols());
}

absl::Span<const char> BytesOf(const Erased& operand) {
  const auto* const data = static_cast<const char*>(operand.data);
  if (LeastSize(operand) == 0) return {data, 0};
  const Layout& layout = operand.layout;
  const std::ptrdiff_t elements =
      operand.is_tensor
          ? ElementCount(operand.shape)
          : (OuterSize(layout) - 1) * layout.stride() + InnerSize(layout);
  return {data,
          static_cast<std::size_t>(elements * BytesOf(operand.scalar, 1))};
}

absl::Status CheckNotNull(const char* name, const void* pointer) {
  if (pointer != nullptr) return absl::OkStatus();
  return Invalid(name, " is null");
}

absl::Status CheckOperand(const char* name, const Erased& operand) {
  if (operand.is_null) return CheckNotNull(name, nullptr);
  if (LeastSize(operand) < 0) {
    return Invalid(name, " has a negative size: ", Describe(operand));
  }
  // Matrices and tensors have two orders each.
  if (OrderOf(operand) > 1) {
    return Invalid(name, " has an unknown order ", OrderOf(operand));
  }
  if (!operand.is_tensor &&
      operand.layout.stride() < InnerSize(operand.layout)) {
    return Invalid(name, " (", Describe(operand), ") has stride ",
                   operand.layout.stride(), ", below its ",
                   InnerSize(operand.layout), " elements");
  }
  if (!BytesAreCountable(operand)) {
    return absl::OutOfRangeError(
        absl::StrCat(name, " (", Describe(operand),
                     ") is too large: its byte count overflows"));
  }
  if (operand.data == nullptr && LeastSize(operand) != 0) {
    return Invalid(name, " (", Describe(operand), ") has null data");
  }
  if (!operand.is_tensor || !IsActivation(operand.scalar)) {
    return absl::OkStatus();
  }
  return CheckActivation(name, operand.scalar, operand.params);
}

absl::Status CheckWritable(const char* name, const Erased& operand) {
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand(name, operand));
  if (!operand.is_const || LeastSize(operand) == 0) return absl::OkStatus();
  return Invalid(name, ": set from a pointer to const, can not be written");
}

bool AreOrdinaryTensors(const Erased& input, const Erased& output) {
  // The bytes of four such sizes can be counted.
  constexpr int kSizeBits = (8 * sizeof(std::ptrdiff_t) - 4) / 4;
  const auto sizes = [](const TensorShape& shape) {
    return static_cast<std::size_t>(shape.batch | shape.height | shape.width |
                                    shape.channels);
  };
  // Negative sizes become large ones.
  if ((sizes(input.shape) | sizes(output.shape)) >> kSizeBits != 0 ||
      input.data == nullptr || output.data == nullptr ||
      input.shape.order > TensorOrder::kNchw ||
      output.shape.order > TensorOrder::kNchw) {
    return false;
  }
  const auto* const from = static_cast<const char*>(input.data);
  const auto* const to = static_cast<const char*>(output.data);
  const auto bytes = [](const Erased& operand) {
    return BytesOf(operand.scalar, ElementCount(operand.shape));
  };
  const std::less_equal<> is_before;
  return is_before(from + bytes(input), to) ||
         is_before(to + bytes(output), from);
}

absl::Status CheckPair(const char* src_name, const Erased& src,
                       const char* dst_name, const Erased& dst, bool in_place) {
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand(src_name, src));
  RUY_LIKE_RETURN_IF_ERROR(CheckWritable(dst_name, dst));
  if (src.layout.rows() != dst.layout.rows() ||
      src.layout.cols() != dst.layout.cols()) {
    return Invalid(src_name, " is ", Describe(src), ", ", dst_name, " is ",
                   Describe(dst));
  }
  if (in_place && src.data == dst.data &&
      BytesOf(src.scalar, 1) == BytesOf(dst.scalar, 1) &&
      src.layout.order() == dst.layout.order() &&
      src.layout.stride() == dst.layout.stride()) {
    return absl::OkStatus();
  }
  return CheckDisjoint({src_name, src}, {dst_name, dst});
}

absl::Status CheckTensors(const Erased& input, const Erased& output,
                          const TensorShape& expected, bool in_place) {
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("input", input));
  RUY_LIKE_RETURN_IF_ERROR(CheckOperand("output", output));
  if (output.shape != expected) {
    return Invalid("output is ", Describe(output), ", not ", Describe(expected),
                   " as results from input of ", Describe(input));
  }
  return CheckDisjoint({"input", input}, {"output", output}, in_place);
}

std::int64_t LargestWeight(const QuantParams& weights) {
  return LargestDistance(weights.qmin, weights.qmax, weights.zero_point);
}

absl::StatusOr<std::int64_t> LargestSum(std::int64_t weights,
                                        Scalar input_scalar,
                                        const QuantParams& input) {
  const std::int64_t value = LargestDistance(
      LowestOf(input_scalar), HighestOf(input_scalar), input.zero_point);
  const std::int64_t limit = std::numeric_limits<std::int32_t>::max() /
                             std::max<std::int64_t>(value, 1);
  if (weights <= limit) return weights * value;
  return Invalid("sums of products may overflow int32: the magnitudes of a ",
                 "channel's weights add up to ", weights,
                 ", and with values up to ", value, " from their zero point, ",
                 limit, " are safe");
}

}  // namespace ruy_like::quantize_internal
