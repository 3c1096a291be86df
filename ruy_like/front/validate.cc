#include "ruy_like/front/validate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/base/checked_math.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/path.h"

namespace ruy_like {
namespace {

const PackedFacts kNothingPacked = {};

// A 50% branch hint makes compilers use conditional moves.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool IsColMajor(const Layout& layout) {
  return __builtin_expect_with_probability(layout.order() == Order::kColMajor,
                                           true, 0.5);
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline std::ptrdiff_t InnerSize(
    const Layout& layout) {
  const std::ptrdiff_t rows = layout.rows();
  const std::ptrdiff_t cols = layout.cols();
  return IsColMajor(layout) ? rows : cols;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline std::ptrdiff_t OuterSize(
    const Layout& layout) {
  const std::ptrdiff_t rows = layout.rows();
  const std::ptrdiff_t cols = layout.cols();
  return IsColMajor(layout) ? cols : rows;
}

inline bool IsEmpty(const Layout& layout) {
  return layout.rows() == 0 || layout.cols() == 0;
}

// "3x4"
std::string Shape(const Layout& layout) {
  return absl::StrCat(layout.rows(), "x", layout.cols());
}

// "lhs (int8, 3x4 row-major, stride 4)"
std::string Describe(const char* name, const ErasedMatrix& matrix) {
  if (matrix.packed == &kNothingPacked) return name;
  if (matrix.packed != nullptr) {
    return absl::StrCat(name, " (packed ", ScalarName(matrix.scalar), ", ",
                        Shape(matrix.layout), ", path ",
                        PathName(matrix.packed->path), ", layout ",
                        matrix.packed->layout_name, ")");
  }
  return absl::StrCat(
      name, " (", ScalarName(matrix.scalar), ", ", Shape(matrix.layout),
      matrix.layout.order() == Order::kColMajor ? " column-major"
                                                : " row-major",
      ", stride ", matrix.layout.stride(), ")");
}

// Packing pads each dimension by at most this many elements and widens an
// element to at most this many bytes; sizes that pass leave room for that, and
// for the header of a packed matrix. Where pointers have 32 bits there is the
// portable path alone, which pads by 3, and room is scarce: with a pad of 4096
// a vector of 65536 elements would have been too large.
constexpr std::ptrdiff_t kMaxPad = sizeof(std::ptrdiff_t) < 8 ? 8 : 4096;
constexpr std::ptrdiff_t kMaxScalarBytes = 8;

// Where no exponent is above this, kernels have no use for a closer bound
// (EpilogueArgs::max_exponent; kernels/epilogue/requantize.h).
constexpr std::int8_t kOrdinaryExponent = -2;

// Finding what is wrong and wording it are apart: the first is done for every
// call, and must not cost one of a few elements much.
enum class Problem {
  kNone,
  kNegativeDimension,
  kUnknownOrder,
  kStrideTooSmall,
  kByteCountOverflows,
  kNullData,
  kZeroPoint,
  kUnknownCachePolicy,
  kUnknownValueRange,
  kValueRangeOfType,
  kNothingPacked,
  kOtherSide,
  kOtherFamily,
};

ABSL_ATTRIBUTE_NOINLINE bool ByteCountOverflows(const Layout& layout) {
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

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Problem LayoutProblem(
    const Layout& layout) {
  if ((layout.rows() | layout.cols()) < 0) return Problem::kNegativeDimension;
  if (layout.order() > Order::kRowMajor) return Problem::kUnknownOrder;
  if (layout.stride() < InnerSize(layout)) return Problem::kStrideTooSmall;
  // None is negative here.
  if (ABSL_PREDICT_FALSE((layout.rows() | layout.cols() | layout.stride()) >=
                             kOrdinarySize &&
                         ByteCountOverflows(layout))) {
    return Problem::kByteCountOverflows;
  }
  return Problem::kNone;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Problem DataProblem(
    const ErasedMatrix& matrix) {
  return matrix.data == nullptr && !IsEmpty(matrix.layout) ? Problem::kNullData
                                                           : Problem::kNone;
}

// Operands alone: a dst has neither a value range nor a cache policy.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Problem PromiseProblem(
    const ErasedMatrix& matrix) {
  if (matrix.cache_policy > CachePolicy::kAlwaysCache) {
    return Problem::kUnknownCachePolicy;
  }
  if (ABSL_PREDICT_TRUE(matrix.value_range == ValueRange::kFull)) {
    return Problem::kNone;
  }
  if (matrix.value_range != ValueRange::kInt7) {
    return Problem::kUnknownValueRange;
  }
  return Is8Bit(matrix.scalar) ? Problem::kNone : Problem::kValueRangeOfType;
}

// Wider operands than 8-bit ones are symmetric; a dst of any integers may have
// a zero point.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Problem ZeroPointProblem(
    const ErasedMatrix& matrix, bool is_operand) {
  if (!matrix.zero_point_is_integer) return Problem::kZeroPoint;
  if (matrix.zero_point == 0 || Is8Bit(matrix.scalar)) return Problem::kNone;
  return is_operand || IsFloat(matrix.scalar) ? Problem::kZeroPoint
                                              : Problem::kNone;
}

// What a packed operand was packed for.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Problem PackedProblem(
    const ErasedMatrix& matrix, Side side, Family family) {
  if (matrix.packed == nullptr) return Problem::kNone;
  if (matrix.packed == &kNothingPacked) return Problem::kNothingPacked;
  if (matrix.packed->side != side) return Problem::kOtherSide;
  return matrix.packed->family != family ? Problem::kOtherFamily
                                         : Problem::kNone;
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status MatrixError(
    const char* name, const ErasedMatrix& matrix, Problem problem) {
  const Layout& layout = matrix.layout;
  switch (problem) {
    case Problem::kNone:
      break;
    case Problem::kNegativeDimension:
      return absl::InvalidArgumentError(
          absl::StrCat(Describe(name, matrix), " has a negative dimension"));
    case Problem::kUnknownOrder:
      return absl::InvalidArgumentError(absl::StrCat(
          name, " has an unknown order ", static_cast<int>(layout.order())));
    case Problem::kStrideTooSmall:
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(name, matrix), " has a stride below its ",
          layout.order() == Order::kColMajor ? "rows, " : "columns, ",
          InnerSize(layout)));
    case Problem::kByteCountOverflows:
      return absl::OutOfRangeError(absl::StrCat(
          Describe(name, matrix), " is too large: its byte count overflows"));
    case Problem::kNullData:
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(name, matrix),
          " has null data; RowMajor and ColMajor set it where there "
          "are too few elements"));
    case Problem::kZeroPoint:
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(name, matrix), " must have zero point 0",
          matrix.zero_point != 0 ? absl::StrCat(", not ", matrix.zero_point)
                                 : ""));
    case Problem::kUnknownCachePolicy:
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has an unknown cache policy ",
                       static_cast<int>(matrix.cache_policy)));
    case Problem::kUnknownValueRange:
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has an unknown value range ",
                       static_cast<int>(matrix.value_range)));
    case Problem::kValueRangeOfType:
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(name, matrix), " of type ", ScalarName(matrix.scalar),
          " can't have the value range int7: 8-bit operands can"));
    case Problem::kNothingPacked:
      return absl::InvalidArgumentError(
          absl::StrCat(name,
                       " is an empty PackedMatrix: default-constructed, not "
                       "made by Pack or FromBytes"));
    case Problem::kOtherSide:
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(name, matrix), " was packed as the other side"));
    case Problem::kOtherFamily:
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(name, matrix),
          " was packed for other types of the other operand or of the product "
          "(PackOptions::pack_for)"));
  }
  return absl::OkStatus();
}

// Both operands are packed.
ABSL_ATTRIBUTE_NOINLINE absl::Status ValidatePackedPair(const MulCall& call) {
  if (call.lhs.packed->path != call.rhs.packed->path) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe("lhs", call.lhs), " and ",
                     Describe("rhs", call.rhs), " are packed for two paths"));
  }
  if (call.lhs.packed->kernel_side == call.rhs.packed->kernel_side) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe("lhs", call.lhs), " and ", Describe("rhs", call.rhs),
        " are packed for two orders of dst (PackOptions::dst_order)"));
  }
  return absl::OkStatus();
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status MismatchError(
    const MulCall& call, const char* what_a, std::ptrdiff_t a,
    const char* what_b, std::ptrdiff_t b) {
  if (call.lhs.packed == &kNothingPacked) {
    return MatrixError("lhs", call.lhs, Problem::kNothingPacked);
  }
  if (call.rhs.packed == &kNothingPacked) {
    return MatrixError("rhs", call.rhs, Problem::kNothingPacked);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "dimensions do not match: ", what_a, " = ", a, ", ", what_b, " = ", b,
      "; lhs is ", Shape(call.lhs.layout), ", rhs is ", Shape(call.rhs.layout),
      ", dst is ", Shape(call.dst.layout)));
}

absl::Status ValidateMultiplier(std::int32_t fixedpoint, std::int32_t exponent,
                                std::ptrdiff_t channel) {
  if (fixedpoint >= 0 && exponent >= -31 && exponent <= 30) {
    return absl::OkStatus();
  }
  const std::string where =
      channel < 0 ? "" : absl::StrCat(" of channel ", channel);
  if (fixedpoint < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "multiplier_fixedpoint", where, " is negative: ", fixedpoint));
  }
  return absl::InvalidArgumentError(absl::StrCat("multiplier_exponent", where,
                                                 " is ", exponent,
                                                 ", outside of [-31, 30]"));
}

inline std::ptrdiff_t ChannelsOf(const MulCall& call) {
  return call.channel_dimension == ChannelDimension::kRow
             ? call.dst.layout.rows()
             : call.dst.layout.cols();
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status HalfSetError(
    const MulCall& call) {
  return absl::InvalidArgumentError(absl::StrCat(
      "per-channel multipliers are half set: ",
      call.fixedpoint_perchannel == nullptr ? "multiplier_fixedpoint_perchannel"
                                            : "multiplier_exponent_perchannel",
      " is null"));
}

// One by one: some exponent is above kOrdinaryExponent, or something is wrong.
ABSL_ATTRIBUTE_NOINLINE absl::Status ValidateEachMultiplier(
    const MulCall& call, const std::int32_t* fixedpoints,
    const std::int32_t* exponents, std::ptrdiff_t count,
    std::int8_t* max_exponent) {
  std::int32_t most = -31;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    absl::Status status =
        ValidateMultiplier(fixedpoints[i], exponents[i],
                           call.fixedpoint_perchannel == nullptr ? -1 : i);
    if (!status.ok()) return status;
    most = std::max(most, exponents[i]);
  }
  *max_exponent = static_cast<std::int8_t>(most);
  return absl::OkStatus();
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status ValidateMultipliers(
    const MulCall& call, std::int8_t* max_exponent) {
  const std::int32_t* fixedpoints = call.fixedpoint_perchannel;
  const std::int32_t* exponents = call.exponent_perchannel;
  std::ptrdiff_t count = ChannelsOf(call);
  if (fixedpoints == nullptr || exponents == nullptr) {
    if (fixedpoints != exponents) return HalfSetError(call);
    fixedpoints = &call.fixedpoint;
    exponents = &call.exponent;
    count = 1;
  }
  // One pass without branches, so that it vectorises: the signs of differences
  // that are negative where something is wrong, or large.
  std::int32_t signs = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    // Unsigned, because any int32 may stand there.
    const std::uint32_t exponent = exponents[i];
    signs |= fixedpoints[i] | static_cast<std::int32_t>(exponent + 31u) |
             static_cast<std::int32_t>(kOrdinaryExponent - exponent);
  }
  *max_exponent = kOrdinaryExponent;
  return signs >= 0 ? absl::OkStatus()
                    : ValidateEachMultiplier(call, fixedpoints, exponents,
                                             count, max_exponent);
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status ClampError(
    const MulCall& call) {
  const ScopedFloatState float_state(FloatState::kDefault);
  if (std::isnan(call.clamp_min) || std::isnan(call.clamp_max)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "clamp bounds must not be NaN: clamp_min = ", call.clamp_min,
        ", clamp_max = ", call.clamp_max));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("clamp_min = ", call.clamp_min,
                   " is above clamp_max = ", call.clamp_max));
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status BetaError(
    const MulCall& call) {
  const ScopedFloatState float_state(FloatState::kDefault);
  return absl::InvalidArgumentError(absl::StrCat(
      Describe("dst", call.dst), " has zero point ", call.dst.zero_point,
      ", and must have 0 with beta = ", call.beta));
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status ThreadsError(
    const MulCall& call) {
  return absl::InvalidArgumentError(
      absl::StrCat("max_num_threads is negative: ", call.max_num_threads));
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status ChannelDimensionError(
    const MulCall& call) {
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown channel dimension ", static_cast<int>(call.channel_dimension)));
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status FloatSumsError(
    const MulCall& call) {
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown order of float sums ", static_cast<int>(call.float_sums)));
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status ConstDstError(
    const MulCall& call) {
  return absl::InvalidArgumentError(absl::StrCat(
      Describe("dst", call.dst), " was given a pointer to const data"));
}

ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status OverlapError(
    const char* name, const ErasedMatrix& operand, const ErasedMatrix& dst) {
  return absl::InvalidArgumentError(absl::StrCat(
      Describe("dst", dst), " shares elements with ", Describe(name, operand)));
}

// A matrix as `count` runs of `run` bytes, `step` bytes apart.
struct Runs {
  std::uintptr_t begin;
  std::uintptr_t step, run, count;
  std::uintptr_t end() const { return begin + (count - 1) * step + run; }
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Runs RunsOf(const ErasedMatrix& matrix) {
  if (ABSL_PREDICT_FALSE(matrix.packed != nullptr)) {
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

const PackedFacts* NothingPacked() { return &kNothingPacked; }

absl::Status ValidateOperand(const char* name, const ErasedMatrix& matrix,
                             bool needs_data) {
  Problem problem = LayoutProblem(matrix.layout);
  if (problem == Problem::kNone) {
    problem = ZeroPointProblem(matrix, /*is_operand=*/true);
  }
  if (problem == Problem::kNone) problem = PromiseProblem(matrix);
  if (problem == Problem::kNone && needs_data) problem = DataProblem(matrix);
  return problem == Problem::kNone ? absl::OkStatus()
                                   : MatrixError(name, matrix, problem);
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

namespace {

ABSL_ATTRIBUTE_ALWAYS_INLINE inline ByteSpan SpanHere(
    const ErasedMatrix& matrix) {
  if (ABSL_PREDICT_FALSE(matrix.packed != nullptr)) {
    const Runs image = RunsOf(matrix);
    return {image.begin, image.end()};
  }
  const Layout& layout = matrix.layout;
  const std::ptrdiff_t elements =
      (OuterSize(layout) - 1) * layout.stride() + InnerSize(layout);
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(matrix.data);
  return {begin, begin + BytesOf(matrix.scalar, elements)};
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline ByteSpan SpanHere(const void* array,
                                                      std::ptrdiff_t bytes) {
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(array);
  return {begin, begin + static_cast<std::uintptr_t>(bytes)};
}

// Arrays of one value per row or column, each of which may be null.
constexpr std::ptrdiff_t kChannelBytes = 4;  // of a value, but for the bias
ABSL_ATTRIBUTE_ALWAYS_INLINE inline std::ptrdiff_t BiasBytes(
    const MulCall& call) {
  // That of a scaled product is float, of as many bytes as the accumulators.
  return BytesOf(call.accum_scalar, ChannelsOf(call));
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ChannelArraysMeet(
    const MulCall& call, const ByteSpan& dst) {
  if (Meet(dst, SpanHere(call.bias, BiasBytes(call)))) return true;
  if (call.fixedpoint_perchannel != nullptr) {
    const std::ptrdiff_t bytes = ChannelsOf(call) * kChannelBytes;
    if (Meet(dst, SpanHere(call.fixedpoint_perchannel, bytes)) ||
        Meet(dst, SpanHere(call.exponent_perchannel, bytes))) {
      return true;
    }
  }
  return (call.lhs_scale_perrow != nullptr &&
          Meet(dst, SpanHere(call.lhs_scale_perrow,
                             call.dst.layout.rows() * kChannelBytes))) ||
         (call.rhs_scale_percol != nullptr &&
          Meet(dst, SpanHere(call.rhs_scale_percol,
                             call.dst.layout.cols() * kChannelBytes)));
}

struct ChannelArray {
  const char* name;
  const void* data;
  std::ptrdiff_t bytes;
};
constexpr int kChannelArrays = 5;
static_assert(kInputs == kChannelArrays + 2, "and both operands");

void ChannelArraysOf(const MulCall& call,
                     ChannelArray (*arrays)[kChannelArrays]) {
  const std::ptrdiff_t bytes = ChannelsOf(call) * kChannelBytes;
  (*arrays)[0] = {"bias", call.bias, BiasBytes(call)};
  (*arrays)[1] = {"multiplier_fixedpoint_perchannel",
                  call.fixedpoint_perchannel, bytes};
  (*arrays)[2] = {"multiplier_exponent_perchannel", call.exponent_perchannel,
                  bytes};
  (*arrays)[3] = {"lhs_scale_perrow", call.lhs_scale_perrow,
                  call.dst.layout.rows() * kChannelBytes};
  (*arrays)[4] = {"rhs_scale_percol", call.rhs_scale_percol,
                  call.dst.layout.cols() * kChannelBytes};
}

// Where some spans meet: whether elements are shared. Kernels write some of dst
// before they have read all of an array.
ABSL_ATTRIBUTE_NOINLINE absl::Status ValidateElements(const MulCall& call) {
  const ErasedMatrix& dst = call.dst;
  if (SharesElements(call.lhs, dst)) return OverlapError("lhs", call.lhs, dst);
  if (SharesElements(call.rhs, dst)) return OverlapError("rhs", call.rhs, dst);
  const char* const array = SharedInput(call, dst);
  return array == nullptr
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   Describe("dst", dst), " shares elements with ", array));
}

// Once all else is known to be right. Where nothing's span meets dst's, as in
// nearly every call, nothing can share elements with it.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status ValidateOverlaps(
    const MulCall& call) {
  const ByteSpan dst = SpanHere(call.dst);
  if (ABSL_PREDICT_FALSE(Meet(dst, SpanHere(call.lhs)) ||
                         Meet(dst, SpanHere(call.rhs)) ||
                         ChannelArraysMeet(call, dst))) {
    return ValidateElements(call);
  }
  return absl::OkStatus();
}

}  // namespace

ByteSpan SpanOf(const ErasedMatrix& matrix) { return SpanHere(matrix); }

void InputSpans(const MulCall& call, ByteSpan (*spans)[kInputs]) {
  (*spans)[0] = SpanHere(call.lhs);
  (*spans)[1] = SpanHere(call.rhs);
  ChannelArray arrays[kChannelArrays];
  ChannelArraysOf(call, &arrays);
  for (int i = 0; i < kChannelArrays; ++i) {
    (*spans)[i + 2] = SpanHere(arrays[i].data,
                               arrays[i].data == nullptr ? 0 : arrays[i].bytes);
  }
}

const char* SharedInput(const MulCall& call, const ErasedMatrix& matrix) {
  if (SharesElements(call.lhs, matrix)) return "lhs";
  if (SharesElements(call.rhs, matrix)) return "rhs";
  ChannelArray arrays[kChannelArrays];
  ChannelArraysOf(call, &arrays);
  for (const ChannelArray& array : arrays) {
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
  Problem problem;
  if ((problem = LayoutProblem(lhs.layout)) != Problem::kNone) {
    return MatrixError("lhs", lhs, problem);
  }
  if ((problem = LayoutProblem(rhs.layout)) != Problem::kNone) {
    return MatrixError("rhs", rhs, problem);
  }
  if ((problem = LayoutProblem(dst.layout)) != Problem::kNone) {
    return MatrixError("dst", dst, problem);
  }
  if (lhs.layout.cols() != rhs.layout.rows()) {
    return MismatchError(call, "lhs columns", lhs.layout.cols(), "rhs rows",
                         rhs.layout.rows());
  }
  if (dst.layout.rows() != lhs.layout.rows()) {
    return MismatchError(call, "dst rows", dst.layout.rows(), "lhs rows",
                         lhs.layout.rows());
  }
  if (dst.layout.cols() != rhs.layout.cols()) {
    return MismatchError(call, "dst columns", dst.layout.cols(), "rhs columns",
                         rhs.layout.cols());
  }
  if (ABSL_PREDICT_FALSE(lhs.packed != nullptr || rhs.packed != nullptr)) {
    if ((problem = PackedProblem(lhs, Side::kLhs, call.family)) !=
        Problem::kNone) {
      return MatrixError("lhs", lhs, problem);
    }
    if ((problem = PackedProblem(rhs, Side::kRhs, call.family)) !=
        Problem::kNone) {
      return MatrixError("rhs", rhs, problem);
    }
    if (lhs.packed != nullptr && rhs.packed != nullptr) {
      absl::Status status = ValidatePackedPair(call);
      if (!status.ok()) return status;
    }
  }
  if (call.max_num_threads < 0) return ThreadsError(call);
  if ((problem = ZeroPointProblem(lhs, true)) != Problem::kNone) {
    return MatrixError("lhs", lhs, problem);
  }
  if ((problem = ZeroPointProblem(rhs, true)) != Problem::kNone) {
    return MatrixError("rhs", rhs, problem);
  }
  if ((problem = PromiseProblem(lhs)) != Problem::kNone) {
    return MatrixError("lhs", lhs, problem);
  }
  if ((problem = PromiseProblem(rhs)) != Problem::kNone) {
    return MatrixError("rhs", rhs, problem);
  }
  if ((problem = ZeroPointProblem(dst, false)) != Problem::kNone) {
    return MatrixError("dst", dst, problem);
  }
  if (call.channel_dimension > ChannelDimension::kCol) {
    return ChannelDimensionError(call);
  }
  if (call.float_sums > FloatSums::kAnyOrder) return FloatSumsError(call);
  // False for NaN too; unlike the operator, without raising an exception.
  if (!std::islessequal(call.clamp_min, call.clamp_max)) {
    return ClampError(call);
  }
  if (dst.zero_point != 0 && call.beta != 0) return BetaError(call);
  if (call.quantized) {
    absl::Status status = ValidateMultipliers(call, max_exponent);
    if (!status.ok()) return status;
  }
  if (IsEmpty(dst.layout)) return absl::OkStatus();
  if ((problem = DataProblem(lhs)) != Problem::kNone) {
    return MatrixError("lhs", lhs, problem);
  }
  if ((problem = DataProblem(rhs)) != Problem::kNone) {
    return MatrixError("rhs", rhs, problem);
  }
  if ((problem = DataProblem(dst)) != Problem::kNone) {
    return MatrixError("dst", dst, problem);
  }
  if (dst.data_is_const) return ConstDstError(call);
  return ValidateOverlaps(call);
}

}  // namespace ruy_like
