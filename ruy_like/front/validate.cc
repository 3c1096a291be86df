#include "ruy_like/front/validate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/path.h"

namespace ruy_like {
namespace {

const PackedOperand kNothingPacked = {};

// "3x4"
std::string Shape(const Layout& layout) {
  return absl::StrCat(layout.rows(), "x", layout.cols());
}

// "lhs (int8, 3x4 row-major, stride 4)"
std::string Describe(const char* name, const ErasedMatrix& matrix) {
  if (matrix.packed == &kNothingPacked) return name;
  if (matrix.packed != nullptr && matrix.packed->layout.format.code_bits != 0) {
    return absl::StrCat(name, " (weights with group scales, ",
                        Shape(matrix.layout), ")");
  }
  if (matrix.packed != nullptr) {
    return absl::StrCat(name, " (packed ", ScalarName(matrix.scalar), ", ",
                        Shape(matrix.layout), ", path ",
                        PathName(matrix.packed->layout.path), ", layout ",
                        LayoutName(matrix.packed->layout), ")");
  }
  return absl::StrCat(
      name, " (", ScalarName(matrix.scalar), ", ", Shape(matrix.layout),
      IsColMajor(matrix.layout) ? " column-major" : " row-major", ", stride ",
      matrix.layout.stride(), ")");
}

// Packing pads each dimension by at most this many elements and widens an
// element to at most this many bytes; sizes that pass leave room for that, and
// for the header of a packed matrix. Where pointers have 32 bits there is the
// portable path alone, which pads by 3, and room is scarce: with a pad of 4096
// a vector of 65536 elements would have been too large.
constexpr std::ptrdiff_t kMaxPad = sizeof(std::ptrdiff_t) < 8 ? 8 : 4096;
constexpr std::ptrdiff_t kMaxScalarBytes = 8;

template <typename... Parts>
ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status WrongMatrix(
    const char* name, const ErasedMatrix& matrix, const Parts&... parts) {
  return Invalid(Describe(name, matrix), parts...);
}

bool ByteCountOverflows(const Layout& layout) {
  std::ptrdiff_t inner, outer, elements, bytes;
  return !CheckedAdd(std::max(InnerSize(layout), layout.stride()), kMaxPad,
                     &inner) ||
         !CheckedAdd(OuterSize(layout), kMaxPad, &outer) ||
         !CheckedMul(inner, outer, &elements) ||
         !CheckedMul(elements, kMaxScalarBytes, &bytes);
}

// Below this many elements in each dimension no byte count overflows.
constexpr std::ptrdiff_t kOrdinarySize = std::ptrdiff_t{1}
                                         << (4 * sizeof(std::ptrdiff_t) - 4);
static_assert(kOrdinarySize >= kMaxPad &&
                  std::numeric_limits<std::ptrdiff_t>::max() / kMaxScalarBytes /
                          (kOrdinarySize + kMaxPad) >=
                      kOrdinarySize + kMaxPad,
              "");

ABSL_ATTRIBUTE_COLD absl::Status TooLargeError(const char* name,
                                               const ErasedMatrix& matrix) {
  return absl::OutOfRangeError(absl::StrCat(
      Describe(name, matrix), " is too large: its byte count overflows"));
}

RUY_LIKE_INLINE absl::Status CheckLayout(const char* name,
                                         const ErasedMatrix& matrix) {
  const Layout& layout = matrix.layout;
  if ((layout.rows() | layout.cols()) < 0) {
    return WrongMatrix(name, matrix, " has a negative dimension");
  }
  if (layout.order() > Order::kRowMajor) {
    return Wrong(name, " has an unknown order ",
                 static_cast<int>(layout.order()));
  }
  if (layout.stride() < InnerSize(layout)) {
    return WrongMatrix(name, matrix, " has a stride below its ",
                       IsColMajor(layout) ? "rows, " : "columns, ",
                       InnerSize(layout));
  }
  // None is negative here.
  if ((layout.rows() | layout.cols() | layout.stride()) >= kOrdinarySize &&
      ByteCountOverflows(layout)) {
    return TooLargeError(name, matrix);
  }
  return absl::OkStatus();
}

RUY_LIKE_INLINE absl::Status CheckData(const char* name,
                                       const ErasedMatrix& matrix) {
  if (matrix.data != nullptr || IsEmpty(matrix.layout)) {
    return absl::OkStatus();
  }
  return WrongMatrix(name, matrix,
                     " has null data; RowMajor and ColMajor set it where there "
                     "are too few elements");
}

// Operands alone: a dst has neither a value range nor a cache policy.
RUY_LIKE_INLINE absl::Status CheckPromises(const char* name,
                                           const ErasedMatrix& matrix) {
  if (matrix.cache_policy > CachePolicy::kAlwaysCache) {
    return Wrong(name, " has an unknown cache policy ",
                 static_cast<int>(matrix.cache_policy));
  }
  if (matrix.value_range == ValueRange::kFull) return absl::OkStatus();
  if (matrix.value_range != ValueRange::kInt7) {
    return Wrong(name, " has an unknown value range ",
                 static_cast<int>(matrix.value_range));
  }
  if (Is8Bit(matrix.scalar)) return absl::OkStatus();
  return WrongMatrix(name, matrix, " of type ", ScalarName(matrix.scalar),
                     " can't have the value range int7: 8-bit operands can");
}

ABSL_ATTRIBUTE_COLD absl::Status ZeroPointError(const char* name,
                                                const ErasedMatrix& matrix) {
  return Invalid(Describe(name, matrix), " must have zero point 0",
                 matrix.zero_point == kNotZero
                     ? ""
                     : absl::StrCat(", not ", matrix.zero_point));
}

// Wider operands than 8-bit ones are symmetric; a dst of any integers may have
// a zero point.
RUY_LIKE_INLINE absl::Status CheckZeroPoint(const char* name,
                                            const ErasedMatrix& matrix,
                                            bool is_operand) {
  const bool is_good = matrix.zero_point == 0 || Is8Bit(matrix.scalar) ||
                       (!is_operand && !IsFloat(matrix.scalar));
  return is_good ? absl::OkStatus() : ZeroPointError(name, matrix);
}

ABSL_ATTRIBUTE_COLD absl::Status NothingPackedError(const char* name) {
  return Invalid(name,
                 " is an empty PackedMatrix: default-constructed, not made by "
                 "Pack or FromBytes");
}

// A packed operand is of this side and for this family.
RUY_LIKE_INLINE absl::Status CheckPacked(const char* name,
                                         const ErasedMatrix& matrix, Side side,
                                         Family family) {
  const PackedOperand* const packed = matrix.packed;
  if (packed == nullptr) return absl::OkStatus();
  if (packed == &kNothingPacked) return NothingPackedError(name);
  // Weights with group scales can be either.
  if (packed->layout.format.code_bits == 0 && packed->side != side) {
    return WrongMatrix(name, matrix, " was packed as the other side");
  }
  if (packed->layout.family == family) return absl::OkStatus();
  return WrongMatrix(
      name, matrix,
      " was packed for other types of the other operand or of the product "
      "(PackOptions::pack_for)");
}

// Both operands are packed.
absl::Status ValidatePackedPair(const MulCall& call) {
  if (call.lhs.packed->layout.path != call.rhs.packed->layout.path) {
    return Invalid(Describe("lhs", call.lhs), " and ",
                   Describe("rhs", call.rhs), " are packed for two paths");
  }
  if (call.lhs.packed->layout.kernel_side ==
      call.rhs.packed->layout.kernel_side) {
    return Invalid(
        Describe("lhs", call.lhs), " and ", Describe("rhs", call.rhs),
        " are packed for two orders of dst (PackOptions::dst_order)");
  }
  return absl::OkStatus();
}

absl::Status MismatchError(const MulCall& call, const char* what_a,
                           std::ptrdiff_t a, const char* what_b,
                           std::ptrdiff_t b) {
  if (call.lhs.packed == &kNothingPacked) {
    return NothingPackedError("lhs");
  }
  if (call.rhs.packed == &kNothingPacked) {
    return NothingPackedError("rhs");
  }
  return Invalid("dimensions do not match: ", what_a, " = ", a, ", ", what_b,
                 " = ", b, "; lhs is ", Shape(call.lhs.layout), ", rhs is ",
                 Shape(call.rhs.layout), ", dst is ", Shape(call.dst.layout));
}

absl::Status ValidateMultiplier(std::int32_t fixedpoint, std::int32_t exponent,
                                std::ptrdiff_t channel) {
  if (fixedpoint >= 0 && exponent >= -31 && exponent <= 30) {
    return absl::OkStatus();
  }
  const std::string where =
      channel < 0 ? "" : absl::StrCat(" of channel ", channel);
  if (fixedpoint < 0) {
    return Invalid("multiplier_fixedpoint", where,
                   " is negative: ", fixedpoint);
  }
  return Invalid("multiplier_exponent", where, " is ", exponent,
                 ", outside of [-31, 30]");
}

std::ptrdiff_t ChannelsOf(const MulCall& call) {
  return call.channel_dimension == ChannelDimension::kRow
             ? call.dst.layout.rows()
             : call.dst.layout.cols();
}

absl::Status HalfSetError(const MulCall& call) {
  return Invalid("per-channel multipliers are half set: ",
                 call.fixedpoint_perchannel == nullptr
                     ? "multiplier_fixedpoint_perchannel"
                     : "multiplier_exponent_perchannel",
                 " is null");
}

// One by one: some exponent is above kOrdinaryExponent, or something is wrong.
absl::Status ValidateEachMultiplier(const MulCall& call,
                                    const std::int32_t* fixedpoints,
                                    const std::int32_t* exponents,
                                    std::ptrdiff_t count,
                                    std::int8_t* max_exponent) {
  std::int32_t most = -31;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    RUY_LIKE_RETURN_IF_ERROR(
        ValidateMultiplier(fixedpoints[i], exponents[i],
                           call.fixedpoint_perchannel == nullptr ? -1 : i));
    most = std::max(most, exponents[i]);
  }
  *max_exponent = static_cast<std::int8_t>(most);
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateMultipliers(const MulCall& call,
                                 std::int8_t* max_exponent) {
  const std::int32_t* fixedpoints = call.fixedpoint_perchannel;
  const std::int32_t* exponents = call.exponent_perchannel;
  std::ptrdiff_t count = ChannelsOf(call);
  if (fixedpoints == nullptr || exponents == nullptr) {
    if (fixedpoints != exponents) return HalfSetError(call);
    fixedpoints = &call.fixedpoint;
    exponents = &call.exponent;
    count = 1;
  }
  // One pass without branches, so that it vectorises.
  std::int32_t signs = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    signs |= SignsOfMultiplier(fixedpoints[i], exponents[i]);
  }
  *max_exponent = kOrdinaryExponent;
  return signs >= 0 ? absl::OkStatus()
                    : ValidateEachMultiplier(call, fixedpoints, exponents,
                                             count, max_exponent);
}

namespace {

absl::Status ClampError(const MulCall& call) {
  const ScopedFloatState float_state(FloatState::kDefault);
  if (std::isnan(call.clamp_min) || std::isnan(call.clamp_max)) {
    return Invalid("clamp bounds must not be NaN: clamp_min = ", call.clamp_min,
                   ", clamp_max = ", call.clamp_max);
  }
  return Invalid("clamp_min = ", call.clamp_min,
                 " is above clamp_max = ", call.clamp_max);
}

absl::Status BetaError(const MulCall& call) {
  const ScopedFloatState float_state(FloatState::kDefault);
  return Invalid(Describe("dst", call.dst), " has zero point ",
                 call.dst.zero_point,
                 ", and must have 0 with beta = ", call.beta);
}

// A matrix as `count` runs of `run` bytes, `step` bytes apart.
struct Runs {
  std::uintptr_t begin;
  std::uintptr_t step, run, count;
  std::uintptr_t end() const { return begin + (count - 1) * step + run; }
};

Runs RunsOf(const ErasedMatrix& matrix) {
  if (matrix.packed != nullptr) {
    const std::uintptr_t bytes = matrix.packed->image_bytes;
    return {reinterpret_cast<std::uintptr_t>(matrix.packed->image), bytes,
            bytes, 1};
  }
  Runs runs;
  runs.begin = reinterpret_cast<std::uintptr_t>(matrix.data);
  runs.run = BytesOf(matrix.scalar, InnerSize(matrix.layout));
  runs.count = OuterSize(matrix.layout);
  runs.step = BytesOf(matrix.scalar, matrix.layout.stride());
  return runs;
}

}  // namespace

const PackedOperand* NothingPacked() { return &kNothingPacked; }

absl::Status ValidateOperand(const char* name, const ErasedMatrix& matrix,
                             bool needs_data) {
  RUY_LIKE_RETURN_IF_ERROR(CheckLayout(name, matrix));
  RUY_LIKE_RETURN_IF_ERROR(CheckZeroPoint(name, matrix, /*is_operand=*/true));
  RUY_LIKE_RETURN_IF_ERROR(CheckPromises(name, matrix));
  return needs_data ? CheckData(name, matrix) : absl::OkStatus();
}

bool SharesElements(const ErasedMatrix& a, const ErasedMatrix& b) {
  if (IsEmpty(a.layout) || IsEmpty(b.layout)) return false;
  Runs few = RunsOf(a);
  Runs many = RunsOf(b);
  if (few.end() <= many.begin || many.end() <= few.begin) return false;
  if (few.count > many.count) std::swap(few, many);
  for (std::uintptr_t i = 0; i < few.count; ++i) {
    const std::uintptr_t begin = few.begin + i * few.step;
    const std::uintptr_t end = begin + few.run;
    if (end <= many.begin || begin >= many.end()) continue;
    // The first run of `many` that ends after `begin`: does it start before
    // `end`?
    const std::uintptr_t first =
        begin < many.begin + many.run
            ? 0
            : (begin - many.begin - many.run) / many.step + 1;
    if (first < many.count && many.begin + first * many.step < end) return true;
  }
  return false;
}

bool SharesBytes(const ErasedMatrix& matrix, const void* data,
                 std::ptrdiff_t bytes) {
  ErasedMatrix array = {};
  array.data = data;
  array.scalar = Scalar::kU8;
  MakeSimpleLayout(bytes, 1, Order::kColMajor, &array.layout);
  return SharesElements(matrix, array);
}

ByteSpan SpanOf(const ErasedMatrix& matrix) {
  const Runs runs = RunsOf(matrix);
  return {runs.begin, runs.end()};
}

namespace {

ByteSpan SpanOfArray(const void* array, std::ptrdiff_t bytes) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(array);
  return {begin, begin + static_cast<std::uintptr_t>(bytes)};
}

// A matrix that post-ops read; one without elements if there is none.
ErasedMatrix PostMatrix(const PostOperand& operand, const void* data) {
  ErasedMatrix matrix = {};
  matrix.scalar = operand.scalar();
  matrix.data = data;
  if (!operand.is_none() && !operand.is_per_channel()) {
    matrix.layout = operand.layout();
  }
  return matrix;
}
ErasedMatrix FactorOf(const MulCall& call) {
  return call.post_ops == nullptr
             ? PostMatrix({}, nullptr)
             : PostMatrix(call.post_ops->factor, call.factor);
}
// But for one that is dst itself.
ErasedMatrix ResidualOf(const MulCall& call) {
  return call.post_ops == nullptr || ResidualIsDst(call)
             ? PostMatrix({}, nullptr)
             : PostMatrix(call.post_ops->residual, call.residual);
}

// An array of one value per row or column. Null: the product has none, and
// `bytes` is 0.
struct ChannelArray {
  const char* name;
  const void* data;
  std::ptrdiff_t bytes;
  std::ptrdiff_t count;  // elements that it must have
};
constexpr int kChannelArrays = internal::kChannelArrayCount + 7;
static_assert(kInputs == kChannelArrays + 4, "and four matrices");
typedef std::array<ChannelArray, kChannelArrays> ChannelArrays;

ChannelArrays ChannelArraysOf(const MulCall& call) {
  const auto array = [](const char* name, const void* data,
                        std::ptrdiff_t count, std::ptrdiff_t bytes) {
    return ChannelArray{name, data, data == nullptr ? 0 : count * bytes, count};
  };
  const std::ptrdiff_t channels = ChannelsOf(call);
  const bool has_groups = call.family == Family::kGroupScaled;
  static constexpr PostOps kNone;
  const PostOps& ops = call.post_ops == nullptr ? kNone : *call.post_ops;
  const auto post_array = [&](const char* name, const PostOperand& operand,
                              const void* data) {
    return array(name, operand.is_per_channel() ? data : nullptr, channels,
                 sizeof(float));
  };
  // In the order of ChannelArrayIndex. The bias of a scaled product is float,
  // of as many bytes as accumulators.
  return {array("bias", call.bias, channels, BytesOf(call.accum_scalar, 1)),
          array("multiplier_fixedpoint_perchannel", call.fixedpoint_perchannel,
                channels, sizeof(std::int32_t)),
          array("multiplier_exponent_perchannel", call.exponent_perchannel,
                channels, sizeof(std::int32_t)),
          array(has_groups ? "activation_scales" : "lhs_scale_perrow",
                call.lhs_scale_perrow, call.dst.layout.rows(), sizeof(float)),
          array(has_groups ? "activation_scales" : "rhs_scale_percol",
                call.rhs_scale_percol, call.rhs.layout.cols(), sizeof(float)),
          array("activation_zero_points", call.activation_zero_points,
                call.lhs.packed != nullptr ? call.rhs.layout.cols()
                                           : call.lhs.layout.rows(),
                1),
          array("slope_perchannel", ops.slope_perchannel.data(), channels,
                sizeof(float)),
          post_array("factor", ops.factor, call.factor),
          post_array("residual", ops.residual, call.residual),
          array("lhs_zero_points", ops.lhs_zero_points.data(),
                static_cast<std::ptrdiff_t>(ops.lhs_zero_points.size()),
                sizeof(std::int32_t)),
          array("rhs_zero_points", ops.rhs_zero_points.data(),
                static_cast<std::ptrdiff_t>(ops.rhs_zero_points.size()),
                sizeof(std::int32_t)),
          array("table", ops.table.data(),
                static_cast<std::ptrdiff_t>(ops.table.size()), 1)};
}

absl::Status LengthError(const char* name, std::ptrdiff_t length,
                         const MulCall& call, bool along_rows) {
  const bool is_rhs = call.columns_are_routed && !along_rows;
  const ErasedMatrix& matrix = is_rhs ? call.rhs : call.dst;
  return Invalid(name, " has ", length, " elements, not one for each of the ",
                 along_rows ? matrix.layout.rows() : matrix.layout.cols(),
                 along_rows ? " rows of " : " columns of ",
                 Describe(is_rhs ? "rhs" : "dst", matrix));
}
absl::Status LengthError(const char* name, std::ptrdiff_t length,
                         const MulCall& call) {
  return LengthError(name, length, call,
                     call.channel_dimension == ChannelDimension::kRow);
}

// Checks arrays that were set as spans.
absl::Status ValidateLengths(const MulCall& call) {
  const ChannelArrays arrays = ChannelArraysOf(call);
  for (int i = 0; i < internal::kChannelArrayCount; ++i) {
    const std::ptrdiff_t length = call.lengths[i];
    if (length == internal::kUnknownLength || length == arrays[i].count) {
      continue;
    }
    return i < internal::kLhsScaleArray
               ? LengthError(arrays[i].name, length, call)
               : LengthError(arrays[i].name, length, call,
                             i == internal::kLhsScaleArray);
  }
  return absl::OkStatus();
}

bool ChannelArraysMeet(const MulCall& call, const ByteSpan& dst) {
  if (call.bias == nullptr && call.fixedpoint_perchannel == nullptr &&
      call.lhs_scale_perrow == nullptr && call.rhs_scale_percol == nullptr &&
      call.activation_zero_points == nullptr && call.post_ops == nullptr) {
    return false;
  }
  const ChannelArrays arrays = ChannelArraysOf(call);
  return std::any_of(arrays.begin(), arrays.end(),
                     [&](const ChannelArray& array) {
                       return Meet(dst, SpanOfArray(array.data, array.bytes));
                     });
}

// Where some spans meet: whether elements are shared. Kernels write some of dst
// before they have read all of an array.
absl::Status ValidateElements(const MulCall& call) {
  const char* const array = SharedInput(call, call.dst);
  if (array == nullptr) return absl::OkStatus();
  const absl::string_view name = array;
  return Invalid(Describe("dst", call.dst), " shares elements with ",
                 name == "lhs"   ? Describe(array, call.lhs)
                 : name == "rhs" ? Describe(array, call.rhs)
                                 : array);
}

// Once all else is known to be right. Where nothing's span meets dst's, as in
// nearly every call, nothing can share elements with it.
absl::Status ValidateOverlaps(const MulCall& call) {
  const ByteSpan dst = SpanOf(call.dst);
  if (Meet(dst, SpanOf(call.lhs)) || Meet(dst, SpanOf(call.rhs)) ||
      (call.post_ops != nullptr && (Meet(dst, SpanOf(FactorOf(call))) ||
                                    Meet(dst, SpanOf(ResidualOf(call))))) ||
      ChannelArraysMeet(call, dst)) {
    return ValidateElements(call);
  }
  return absl::OkStatus();
}

// Checks an operand of post-ops but for overlaps.
absl::Status ValidatePostOperand(const char* name, const PostOperand& operand,
                                 const void* data, const MulCall& call) {
  if (operand.is_none()) return absl::OkStatus();
  const ErasedMatrix& dst = call.dst;
  if (operand.is_per_channel()) {
    if (operand.channels() == ChannelsOf(call)) return absl::OkStatus();
    return LengthError(name, operand.channels(), call);
  }
  const ErasedMatrix matrix = PostMatrix(operand, data);
  RUY_LIKE_RETURN_IF_ERROR(CheckLayout(name, matrix));
  if (matrix.scalar != Scalar::kF32 && matrix.scalar != dst.scalar) {
    return Invalid(Describe(name, matrix),
                   " has neither floats nor dst's type, ",
                   ScalarName(dst.scalar));
  }
  if (matrix.layout.rows() != dst.layout.rows() ||
      matrix.layout.cols() != dst.layout.cols()) {
    return Invalid(Describe(name, matrix), " does not have the shape of ",
                   Describe("dst", dst));
  }
  return CheckData(name, matrix);
}

// Checks zero points of rows of lhs or of columns of rhs.
absl::Status ValidateZeroPoints(bool of_lhs, const MulCall& call) {
  const PostOps& ops = *call.post_ops;
  const auto zero_points = of_lhs ? ops.lhs_zero_points : ops.rhs_zero_points;
  if (zero_points.empty()) return absl::OkStatus();
  const char* const name = of_lhs ? "lhs_zero_points" : "rhs_zero_points";
  const ErasedMatrix& operand = of_lhs ? call.lhs : call.rhs;
  const auto described = [&] {
    return Describe(of_lhs ? "lhs" : "rhs", operand);
  };
  if (!Is8Bit(operand.scalar) || call.family == Family::kGroupScaled) {
    return Invalid(name, " are for an operand of 8 bits, not for ",
                   described());
  }
  if (operand.zero_point != 0) {
    return Invalid(described(), " has zero point ", operand.zero_point,
                   " besides ", name);
  }
  const auto length = static_cast<std::ptrdiff_t>(zero_points.size());
  return length == (of_lhs ? call.lhs.layout.rows() : call.rhs.layout.cols())
             ? absl::OkStatus()
             : LengthError(name, length, call, of_lhs);
}

absl::Status ValidatePostOps(const MulCall& call) {
  const PostOps& ops = *call.post_ops;
  RUY_LIKE_RETURN_IF_ERROR(ValidateZeroPoints(/*of_lhs=*/true, call));
  RUY_LIKE_RETURN_IF_ERROR(ValidateZeroPoints(/*of_lhs=*/false, call));
  if (!ops.table.empty() && ops.table.size() != 256) {
    return Invalid("table has ", ops.table.size(), " elements, not 256");
  }
  if (!ops.table.empty() && !(call.quantized && Is8Bit(call.dst.scalar))) {
    return Invalid("table is for dst of 8 bits, not for ",
                   Describe("dst", call.dst));
  }
  if (ops.activation == Activation::kNone && ops.factor.is_none() &&
      ops.residual.is_none()) {
    return absl::OkStatus();
  }
  if (!IsFloat(call.dst.scalar) || call.family == Family::kF64) {
    return Invalid(
        "activation, factor and residual are for dst of float and 16-bit "
        "floats and for "
        "accumulators other than double, not for ",
        Describe("dst", call.dst),
        call.family == Family::kF64 ? " of a product in double" : "");
  }
  RUY_LIKE_RETURN_IF_ERROR(
      CheckEnum("activation", ops.activation, Activation::kHardSwish));
  const std::ptrdiff_t slopes =
      static_cast<std::ptrdiff_t>(ops.slope_perchannel.size());
  if (slopes != 0 && slopes != ChannelsOf(call)) {
    return LengthError("slope_perchannel", slopes, call);
  }
  RUY_LIKE_RETURN_IF_ERROR(
      ValidatePostOperand("factor", ops.factor, call.factor, call));
  return ValidatePostOperand("residual", ops.residual, call.residual, call);
}

// Checks the settings that only products with group-scaled weights have.
absl::Status ValidateGroups(const MulCall& call) {
  const bool weights_are_lhs = call.lhs.packed != nullptr;
  const ErasedMatrix& activations = weights_are_lhs ? call.rhs : call.lhs;
  if (activations.zero_point != 0) {
    return Invalid(Describe(weights_are_lhs ? "rhs" : "lhs", activations),
                   " has zero point ", activations.zero_point,
                   ": use activation_zero_points");
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckEnum("quantize", call.activation_scales,
                                     ActivationScales::kPerGroup));
  if (activations.scalar != Scalar::kI8 &&
      (call.lhs_scale_perrow != nullptr || call.rhs_scale_percol != nullptr ||
       call.activation_zero_points != nullptr)) {
    return Invalid(
        "activation_scales and activation_zero_points are for int8 "
        "activations");
  }
  return absl::OkStatus();
}

}  // namespace

bool ResidualIsDst(const MulCall& call) {
  if (call.post_ops == nullptr) return false;
  const PostOperand& residual = call.post_ops->residual;
  return !residual.is_none() && !residual.is_per_channel() &&
         call.residual == call.dst.data &&
         residual.scalar() == call.dst.scalar &&
         residual.layout() == call.dst.layout;
}

void InputSpans(const MulCall& call, ByteSpan (*spans)[kInputs]) {
  (*spans)[0] = SpanOf(call.lhs);
  (*spans)[1] = SpanOf(call.rhs);
  (*spans)[kChannelArrays + 2] = SpanOf(FactorOf(call));
  (*spans)[kChannelArrays + 3] = SpanOf(ResidualOf(call));
  const ChannelArrays arrays = ChannelArraysOf(call);
  for (int i = 0; i < kChannelArrays; ++i) {
    (*spans)[i + 2] = SpanOfArray(arrays[i].data, arrays[i].bytes);
  }
}

const char* SharedInput(const MulCall& call, const ErasedMatrix& matrix) {
  if (SharesElements(call.lhs, matrix)) return "lhs";
  if (SharesElements(call.rhs, matrix)) return "rhs";
  if (SharesElements(FactorOf(call), matrix)) return "factor";
  if (SharesElements(ResidualOf(call), matrix)) return "residual";
  for (const ChannelArray& array : ChannelArraysOf(call)) {
    if (array.data != nullptr && SharesBytes(matrix, array.data, array.bytes)) {
      return array.name;
    }
  }
  return nullptr;
}

RUY_LIKE_HOT absl::Status Validate(const MulCall& call,
                                   std::int8_t* max_exponent) {
  *max_exponent = 0;
  const ErasedMatrix& lhs = call.lhs;
  const ErasedMatrix& rhs = call.rhs;
  const ErasedMatrix& dst = call.dst;
  RUY_LIKE_RETURN_IF_ERROR(CheckLayout("lhs", lhs));
  RUY_LIKE_RETURN_IF_ERROR(CheckLayout("rhs", rhs));
  RUY_LIKE_RETURN_IF_ERROR(CheckLayout("dst", dst));
  if (lhs.layout.cols() != rhs.layout.rows()) {
    return MismatchError(call, "lhs columns", lhs.layout.cols(), "rhs rows",
                         rhs.layout.rows());
  }
  if (dst.layout.rows() != lhs.layout.rows()) {
    return MismatchError(call, "dst rows", dst.layout.rows(), "lhs rows",
                         lhs.layout.rows());
  }
  if (dst.layout.cols() != rhs.layout.cols() && !call.columns_are_routed) {
    return MismatchError(call, "dst columns", dst.layout.cols(), "rhs columns",
                         rhs.layout.cols());
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckPacked("lhs", lhs, Side::kLhs, call.family));
  RUY_LIKE_RETURN_IF_ERROR(CheckPacked("rhs", rhs, Side::kRhs, call.family));
  if (lhs.packed != nullptr && rhs.packed != nullptr)
    RUY_LIKE_RETURN_IF_ERROR(ValidatePackedPair(call));
  if (call.max_num_threads < 0) {
    return Invalid("max_num_threads is negative: ", call.max_num_threads);
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckZeroPoint("lhs", lhs, /*is_operand=*/true));
  RUY_LIKE_RETURN_IF_ERROR(CheckZeroPoint("rhs", rhs, /*is_operand=*/true));
  RUY_LIKE_RETURN_IF_ERROR(CheckPromises("lhs", lhs));
  RUY_LIKE_RETURN_IF_ERROR(CheckPromises("rhs", rhs));
  RUY_LIKE_RETURN_IF_ERROR(CheckZeroPoint("dst", dst, /*is_operand=*/false));
  RUY_LIKE_RETURN_IF_ERROR(CheckEnum(
      "channel dimension", call.channel_dimension, ChannelDimension::kCol));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckEnum("order of float sums", call.float_sums, FloatSums::kOfContext));
  RUY_LIKE_RETURN_IF_ERROR(CheckEnum("multiplier rounding", call.rounding,
                                     MultiplierRounding::kFloat));
  // False for NaN too; unlike the operator, without raising an exception.
  if (!std::islessequal(call.clamp_min, call.clamp_max)) {
    return ClampError(call);
  }
  if (dst.zero_point != 0 && call.beta != 0) return BetaError(call);
  if (call.family == Family::kGroupScaled)
    RUY_LIKE_RETURN_IF_ERROR(ValidateGroups(call));
  if (call.post_ops != nullptr) RUY_LIKE_RETURN_IF_ERROR(ValidatePostOps(call));
  if (call.has_lengths) RUY_LIKE_RETURN_IF_ERROR(ValidateLengths(call));
  if (call.quantized)
    RUY_LIKE_RETURN_IF_ERROR(ValidateMultipliers(call, max_exponent));
  if (IsEmpty(dst.layout)) return absl::OkStatus();
  RUY_LIKE_RETURN_IF_ERROR(CheckData("lhs", lhs));
  RUY_LIKE_RETURN_IF_ERROR(CheckData("rhs", rhs));
  RUY_LIKE_RETURN_IF_ERROR(CheckData("dst", dst));
  if (dst.data_is_const) {
    return WrongMatrix("dst", dst, " was given a pointer to const data");
  }
  return ValidateOverlaps(call);
}

}  // namespace ruy_like
