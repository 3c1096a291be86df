#include "ruy_like/front/validate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/path.h"

namespace ruy_like {
namespace {

std::ptrdiff_t InnerSize(const Layout& layout) {
  return layout.order() == Order::kColMajor ? layout.rows() : layout.cols();
}

std::ptrdiff_t OuterSize(const Layout& layout) {
  return layout.order() == Order::kColMajor ? layout.cols() : layout.rows();
}

bool IsEmpty(const Layout& layout) {
  return layout.rows() == 0 || layout.cols() == 0;
}

// "lhs (int8, 3x4 row-major, stride 4)"
std::string Describe(const char* name, const ErasedMatrix& matrix) {
  if (matrix.packed != nullptr) {
    return absl::StrCat(name, " (packed ", ScalarName(matrix.scalar), ", ",
                        matrix.layout.rows(), "x", matrix.layout.cols(),
                        ", path ", PathName(matrix.packed->path), ", layout ",
                        matrix.packed->layout_name, ")");
  }
  return absl::StrCat(name, " (", ScalarName(matrix.scalar), ", ",
                      matrix.layout.rows(), "x", matrix.layout.cols(),
                      matrix.layout.order() == Order::kColMajor
                          ? " column-major"
                          : " row-major",
                      ", stride ", matrix.layout.stride(), ")");
}

// Packing pads each dimension by less than this many elements and widens an
// element to at most this many bytes; sizes that pass leave room for that.
constexpr std::ptrdiff_t kMaxPad = 4096;
constexpr std::ptrdiff_t kMaxScalarBytes = 8;

bool ByteCountOverflows(const Layout& layout) {
  std::ptrdiff_t inner, outer, bytes;
  return __builtin_add_overflow(std::max(InnerSize(layout), layout.stride()),
                                kMaxPad, &inner) ||
         __builtin_add_overflow(OuterSize(layout), kMaxPad, &outer) ||
         __builtin_mul_overflow(inner, outer, &bytes) ||
         __builtin_mul_overflow(bytes, kMaxScalarBytes, &bytes);
}

absl::Status ValidateLayout(const char* name, const ErasedMatrix& matrix) {
  const Layout& layout = matrix.layout;
  if (layout.rows() < 0 || layout.cols() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(name, matrix), " has a negative dimension"));
  }
  if (layout.order() != Order::kColMajor &&
      layout.order() != Order::kRowMajor) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has an unknown order ", static_cast<int>(layout.order())));
  }
  if (matrix.cache_policy > CachePolicy::kAlwaysCache) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has an unknown cache policy ",
                     static_cast<int>(matrix.cache_policy)));
  }
  if (layout.stride() < InnerSize(layout)) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(name, matrix), " has a stride below its ",
        layout.order() == Order::kColMajor ? "rows, " : "columns, ",
        InnerSize(layout)));
  }
  if (ByteCountOverflows(layout)) {
    return absl::OutOfRangeError(absl::StrCat(
        Describe(name, matrix), " is too large: its byte count overflows"));
  }
  return absl::OkStatus();
}

absl::Status ValidateData(const char* name, const ErasedMatrix& matrix) {
  if (matrix.data == nullptr && !IsEmpty(matrix.layout)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(name, matrix), " has null data"));
  }
  return absl::OkStatus();
}

absl::Status ValidateZeroPoint(const char* name, const ErasedMatrix& matrix,
                               bool int16_allowed) {
  if (!matrix.zero_point_is_integer ||
      (matrix.zero_point != 0 &&
       (IsFloat(matrix.scalar) ||
        (matrix.scalar == Scalar::kI16 && !int16_allowed)))) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(name, matrix), " must have zero point 0",
        matrix.zero_point != 0 ? absl::StrCat(", not ", matrix.zero_point)
                               : ""));
  }
  return absl::OkStatus();
}

// What a packed operand was packed for.
absl::Status ValidatePacked(const char* name, const ErasedMatrix& matrix,
                            Side side, Family family) {
  if (matrix.packed == nullptr) return absl::OkStatus();
  if (matrix.packed->side != side) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(name, matrix), " was packed as the other side"));
  }
  if (matrix.packed->family != family) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe(name, matrix),
        " was packed for other types of the other operand or of the product "
        "(PackOptions::pack_for)"));
  }
  return absl::OkStatus();
}

absl::Status ValidatePackedOperands(const MulCall& call) {
  const Family family = FamilyOf(call.lhs.scalar, call.rhs.scalar,
                                 call.accum_scalar, call.dst.scalar);
  absl::Status status = ValidatePacked("lhs", call.lhs, Side::kLhs, family);
  if (!status.ok()) return status;
  status = ValidatePacked("rhs", call.rhs, Side::kRhs, family);
  if (!status.ok()) return status;
  if (call.lhs.packed == nullptr || call.rhs.packed == nullptr) return status;
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

absl::Status ValidateShapes(const MulCall& call) {
  const Layout& lhs = call.lhs.layout;
  const Layout& rhs = call.rhs.layout;
  const Layout& dst = call.dst.layout;
  const auto mismatch = [](const char* what_a, std::ptrdiff_t a,
                           const char* what_b, std::ptrdiff_t b) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dimensions do not match: ", what_a, " = ", a, ", ", what_b, " = ", b));
  };
  if (lhs.cols() != rhs.rows()) {
    return mismatch("lhs columns", lhs.cols(), "rhs rows", rhs.rows());
  }
  if (dst.rows() != lhs.rows()) {
    return mismatch("dst rows", dst.rows(), "lhs rows", lhs.rows());
  }
  if (dst.cols() != rhs.cols()) {
    return mismatch("dst columns", dst.cols(), "rhs columns", rhs.cols());
  }
  return absl::OkStatus();
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

std::ptrdiff_t ChannelsOf(const MulCall& call) {
  return call.channel_dimension == ChannelDimension::kRow
             ? call.dst.layout.rows()
             : call.dst.layout.cols();
}

absl::Status ValidateMultipliers(const MulCall& call) {
  const std::int32_t* fixedpoints = call.fixedpoint_perchannel;
  const std::int32_t* exponents = call.exponent_perchannel;
  if (fixedpoints == nullptr && exponents == nullptr) {
    return ValidateMultiplier(call.fixedpoint, call.exponent, -1);
  }
  if (fixedpoints == nullptr || exponents == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("per-channel multipliers are half set: ",
                     fixedpoints == nullptr ? "multiplier_fixedpoint_perchannel"
                                            : "multiplier_exponent_perchannel",
                     " is null"));
  }
  const std::ptrdiff_t channels = ChannelsOf(call);
  // One pass without branches, so that it vectorises; the search for the
  // culprit is for the error path.
  std::int32_t bad = 0;
  for (std::ptrdiff_t i = 0; i < channels; ++i) {
    // Unsigned, because any int32 may stand there.
    const std::uint32_t exponent = exponents[i];
    bad |= fixedpoints[i] | static_cast<std::int32_t>(exponent + 31u) |
           static_cast<std::int32_t>(30u - exponent);
  }
  if (bad >= 0) return absl::OkStatus();
  for (std::ptrdiff_t i = 0; i < channels; ++i) {
    absl::Status status = ValidateMultiplier(fixedpoints[i], exponents[i], i);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ValidateClamp(const MulCall& call) {
  if (std::isnan(call.clamp_min) || std::isnan(call.clamp_max)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "clamp bounds must not be NaN: clamp_min = ", call.clamp_min,
        ", clamp_max = ", call.clamp_max));
  }
  if (call.clamp_min > call.clamp_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("clamp_min = ", call.clamp_min,
                     " is above clamp_max = ", call.clamp_max));
  }
  return absl::OkStatus();
}

absl::Status ValidateBeta(const MulCall& call) {
  if (call.beta != 0 && call.dst.zero_point != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe("dst", call.dst), " has zero point ", call.dst.zero_point,
        ", and must have 0 with beta = ", call.beta));
  }
  return absl::OkStatus();
}

absl::Status ValidateNoOverlap(const char* name, const ErasedMatrix& operand,
                               const ErasedMatrix& dst) {
  if (IsEmpty(operand.layout) || !SharesElements(operand, dst)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      Describe("dst", dst), " shares elements with ", Describe(name, operand)));
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
  const std::uintptr_t bytes = ScalarBytes(matrix.scalar);
  Runs runs;
  runs.begin = reinterpret_cast<std::uintptr_t>(matrix.data);
  runs.run = InnerSize(matrix.layout) * bytes;
  runs.count = OuterSize(matrix.layout);
  runs.step = matrix.layout.stride() * bytes;
  return runs;
}

// The bytes from a matrix's first element to behind its last one.
struct Span {
  std::uintptr_t begin, end;
};

bool AreApart(const Span& a, const Span& b) {
  return a.end <= b.begin || b.end <= a.begin;
}

// An array of one value per row or column, which may be null.
struct ChannelArray {
  const char* name;
  const void* data;
  std::ptrdiff_t bytes;
};
constexpr int kChannelArrays = 5;

void ListChannelArrays(const MulCall& call,
                       ChannelArray (&arrays)[kChannelArrays]) {
  constexpr std::ptrdiff_t kBytes = 4;
  const std::ptrdiff_t channels = ChannelsOf(call) * kBytes;
  const bool is_double = call.accum_scalar == Scalar::kF64;
  arrays[0] = {"bias", call.bias, is_double ? 2 * channels : channels};
  arrays[1] = {"multiplier_fixedpoint_perchannel", call.fixedpoint_perchannel,
               channels};
  arrays[2] = {"multiplier_exponent_perchannel", call.exponent_perchannel,
               channels};
  arrays[3] = {"lhs_scale_perrow", call.lhs_scale_perrow,
               call.dst.layout.rows() * kBytes};
  arrays[4] = {"rhs_scale_percol", call.rhs_scale_percol,
               call.dst.layout.cols() * kBytes};
}

bool HasChannelArrays(const MulCall& call) {
  return call.bias != nullptr || call.fixedpoint_perchannel != nullptr ||
         call.exponent_perchannel != nullptr ||
         call.lhs_scale_perrow != nullptr || call.rhs_scale_percol != nullptr;
}

// Kernels write some of dst before they have read all of such an array.
absl::Status ValidateChannelArrays(const MulCall& call) {
  ChannelArray arrays[kChannelArrays];
  ListChannelArrays(call, arrays);
  for (const ChannelArray& array : arrays) {
    if (array.data != nullptr &&
        SharesBytes(call.dst, array.data, array.bytes)) {
      return absl::InvalidArgumentError(absl::StrCat(
          Describe("dst", call.dst), " shares elements with ", array.name));
    }
  }
  return absl::OkStatus();
}

bool AreArraysPlain(const MulCall& call, const Span& dst) {
  if (ABSL_PREDICT_TRUE(!HasChannelArrays(call))) return true;
  ChannelArray arrays[kChannelArrays];
  ListChannelArrays(call, arrays);
  for (const ChannelArray& array : arrays) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(array.data);
    if (array.data != nullptr && !AreApart(dst, {begin, begin + array.bytes})) {
      return false;
    }
  }
  return true;
}

// The packed operand of a product of that family; its place in *span.
bool IsPlainPacked(const PackedFacts& packed, Side side, Family family,
                   Span* span) {
  span->begin = reinterpret_cast<std::uintptr_t>(packed.image);
  span->end = span->begin + packed.image_bytes;
  return packed.side == side && packed.family == family;
}

// Whether those of the operands that are packed fit the product, as the common
// one does, where at most one is; and their places.
bool ArePlainPacked(const MulCall& call, Span* lhs, Span* rhs) {
  const Family family = FamilyOf(call.lhs.scalar, call.rhs.scalar,
                                 call.accum_scalar, call.dst.scalar);
  if (call.lhs.packed == nullptr) {
    return IsPlainPacked(*call.rhs.packed, Side::kRhs, family, rhs);
  }
  return call.rhs.packed == nullptr &&
         IsPlainPacked(*call.lhs.packed, Side::kLhs, family, lhs);
}

// A matrix with which nothing is wrong by itself, and *span; false also for
// what is merely rare. Nothing is known of its packed form.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool IsPlain(const ErasedMatrix& matrix,
                                                 bool int16_allowed,
                                                 Span* span) {
  // Far from where byte counts overflow; unsigned, so that it is an upper and a
  // lower bound.
  constexpr std::size_t kMost = std::size_t{1} << 27;
  const Layout& layout = matrix.layout;
  const std::size_t inner = InnerSize(layout);
  const std::size_t outer = OuterSize(layout);
  const std::size_t stride = layout.stride();
  span->begin = reinterpret_cast<std::uintptr_t>(matrix.data);
  span->end =
      span->begin + ((outer - 1) * stride + inner) * ScalarBytes(matrix.scalar);
  return inner - 1 < kMost && outer - 1 < kMost && stride < kMost &&
         stride >= inner &&
         (layout.order() == Order::kColMajor ||
          layout.order() == Order::kRowMajor) &&
         matrix.data != nullptr && matrix.zero_point_is_integer &&
         matrix.cache_policy <= CachePolicy::kAlwaysCache &&
         (matrix.zero_point == 0 || Is8Bit(matrix.scalar) ||
          (matrix.scalar == Scalar::kI16 && int16_allowed));
}

}  // namespace

bool IsPlainlyValid(const MulCall& call) {
  Span lhs, rhs, dst;
  if (!IsPlain(call.lhs, /*int16_allowed=*/false, &lhs) ||
      !IsPlain(call.rhs, /*int16_allowed=*/false, &rhs) ||
      !IsPlain(call.dst, /*int16_allowed=*/true, &dst)) {
    return false;
  }
  if ((call.lhs.packed != nullptr || call.rhs.packed != nullptr) &&
      !ArePlainPacked(call, &lhs, &rhs)) {
    return false;
  }
  return call.lhs.layout.cols() == call.rhs.layout.rows() &&
         call.dst.layout.rows() == call.lhs.layout.rows() &&
         call.dst.layout.cols() == call.rhs.layout.cols() &&
         call.max_num_threads >= 0 &&
         // Unlike the operator, raises no exception for a NaN.
         std::islessequal(call.clamp_min, call.clamp_max) &&
         (call.beta == 0 || call.dst.zero_point == 0) &&
         !call.dst.data_is_const && AreApart(lhs, dst) && AreApart(rhs, dst) &&
         call.channel_dimension <= ChannelDimension::kCol &&
         AreArraysPlain(call, dst) &&
         (!call.quantized || ValidateMultipliers(call).ok());
}

absl::Status ValidateOperand(const char* name, const ErasedMatrix& matrix,
                             bool needs_data) {
  absl::Status status = ValidateLayout(name, matrix);
  if (!status.ok()) return status;
  status = ValidateZeroPoint(name, matrix, /*int16_allowed=*/false);
  if (!status.ok() || !needs_data) return status;
  return ValidateData(name, matrix);
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

absl::Status Validate(const MulCall& call) {
  if (ABSL_PREDICT_TRUE(IsPlainlyValid(call))) return absl::OkStatus();
  // Nothing but messages takes memory, and only what is refused has one.
  return CatchNoMemory([&] { return ValidateInFull(call); },
                       absl::StatusCode::kInvalidArgument);
}

absl::Status ValidateInFull(const MulCall& call) {
  // For comparing and printing the clamp bounds.
  const ScopedFloatState float_state(FloatState::kDefault);
  struct Named {
    const char* name;
    const ErasedMatrix* matrix;
  };
  const Named operands[] = {
      {"lhs", &call.lhs}, {"rhs", &call.rhs}, {"dst", &call.dst}};
  for (const Named& operand : operands) {
    absl::Status status = ValidateLayout(operand.name, *operand.matrix);
    if (!status.ok()) return status;
  }
  absl::Status status = ValidateShapes(call);
  if (!status.ok()) return status;
  if (call.lhs.packed != nullptr || call.rhs.packed != nullptr) {
    status = ValidatePackedOperands(call);
    if (!status.ok()) return status;
  }
  if (call.max_num_threads < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_num_threads is negative: ", call.max_num_threads));
  }
  // int16 operands are symmetric; an int16 dst may have a zero point.
  for (const Named& operand : operands) {
    status = ValidateZeroPoint(operand.name, *operand.matrix,
                               operand.matrix == &call.dst);
    if (!status.ok()) return status;
  }
  if (call.channel_dimension > ChannelDimension::kCol) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown channel dimension ",
                     static_cast<int>(call.channel_dimension)));
  }
  status = ValidateClamp(call);
  if (!status.ok()) return status;
  status = ValidateBeta(call);
  if (!status.ok()) return status;
  if (call.quantized) {
    status = ValidateMultipliers(call);
    if (!status.ok()) return status;
  }
  if (IsEmpty(call.dst.layout)) return absl::OkStatus();
  for (const Named& operand : operands) {
    status = ValidateData(operand.name, *operand.matrix);
    if (!status.ok()) return status;
  }
  if (call.dst.data_is_const) {
    return absl::InvalidArgumentError(absl::StrCat(
        Describe("dst", call.dst), " was given a pointer to const data"));
  }
  status = ValidateNoOverlap("lhs", call.lhs, call.dst);
  if (!status.ok()) return status;
  status = ValidateNoOverlap("rhs", call.rhs, call.dst);
  if (!status.ok()) return status;
  return ValidateChannelArrays(call);
}

}  // namespace ruy_like
