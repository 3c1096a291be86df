// The C interface: structs of ruy_like.h become the library's calls.
//
// It refuses what C++ does not compile or express: unknown enumerators, types
// without a product, settings that the types have no use for. Shapes, strides
// and values are for Mul to validate.
#include "ruy_like/c/ruy_like.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/c/handles.h"
#include "ruy_like/ruy_like.h"

namespace ruy_like::c_interface {
namespace {

// ## Types

static_assert(RL_INT8 == static_cast<int>(Scalar::kI8) + 1 &&
                  RL_FLOAT8_E5M2 == static_cast<int>(Scalar::kE5M2) + 1 &&
                  RL_FLOAT8_E5M2 == kNumScalars,
              "the list of types of scalar.h, from 1 on");

RUY_LIKE_INLINE absl::Status ReadType(const char* of, std::int32_t type,
                                      Scalar* scalar) {
  *scalar = static_cast<Scalar>(type - 1);
  if (type >= 1 && type <= kNumScalars) return absl::OkStatus();
  return Wrong(of, " has an unknown type ", type);
}

struct TypeInfo {
  double low, high;
  std::uintptr_t misaligned;  // bits of an address that must be 0
};
template <typename T>
constexpr TypeInfo InfoOfType() {
  if constexpr (internal::IsFloatType<T>()) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {-kInfinity, kInfinity, alignof(T) - 1};
  } else {
    return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
            alignof(T) - 1};
  }
}
constexpr TypeInfo kTypes[] = {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  InfoOfType<type>(),
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
};
RUY_LIKE_INLINE const TypeInfo& TypeOf(Scalar scalar) {
  return kTypes[static_cast<int>(scalar)];
}

RUY_LIKE_INLINE absl::Status CheckAlignment(const char* name, const void* data,
                                            Scalar scalar) {
  return ABSL_PREDICT_TRUE((reinterpret_cast<std::uintptr_t>(data) &
                            TypeOf(scalar).misaligned) == 0)
             ? absl::OkStatus()
             : Wrong(name, " is not aligned to ", ScalarName(scalar),
                     " elements");
}

// Rounds to a floating-point type, as C++ does. For an integer type the value
// must be whole; one beyond the type is clipped. A NaN is for Mul to refuse.
absl::Status RoundTo(Scalar scalar, const char* name, double* value) {
  if (std::isnan(*value)) return absl::OkStatus();
  const TypeInfo& type = TypeOf(scalar);
  const double clipped = std::min(std::max(*value, type.low), type.high);
  switch (scalar) {
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  case Scalar::Enum:                                               \
    *value = static_cast<double>(static_cast<type>(clipped));      \
    break;
    RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR
  }
  return IsFloat(scalar) || *value == clipped
             ? absl::OkStatus()
             : Wrong(name, " = ", clipped, " is not whole, as ",
                     ScalarName(scalar), " is");
}

// ## Matrices

ABSL_ATTRIBUTE_NOINLINE absl::Status ReadPacked(const char* name,
                                                const rl_packed& packed,
                                                std::optional<Side> side,
                                                ErasedMatrix* erased) {
  if (!side.has_value()) return Wrong(name, " cannot be packed");
  if (packed.has_groups) {
    internal::EraseWeights(packed.weights, *side, erased);
  } else {
    ErasePacked(packed, packed.scalar, erased);
  }
  return absl::OkStatus();
}

// Without a side it is no operand: dst, say, or what is to be packed.
RUY_LIKE_INLINE absl::Status ReadMatrix(const char* name,
                                        const rl_matrix* given,
                                        std::optional<Side> side,
                                        ErasedMatrix* erased) {
  rl_matrix copy;
  RUY_LIKE_RETURN_IF_ERROR(Open(name, &given, &copy));
  if (ABSL_PREDICT_FALSE(given->packed != nullptr)) {
    return ReadPacked(name, *given->packed, side, erased);
  }
  RUY_LIKE_RETURN_IF_ERROR(ReadType(name, given->type, &erased->scalar));
  RUY_LIKE_RETURN_IF_ERROR(CheckFields(name, kAnyKind, [given](auto check) {
    return RUY_LIKE_IS_GOOD(order, RL_ROW_MAJOR) &&
           RUY_LIKE_IS_GOOD(cache_policy, RL_ALWAYS_CACHE) &&
           RUY_LIKE_IS_GOOD(value_range, RL_INT7);
  }));
  RUY_LIKE_RETURN_IF_ERROR(CheckAlignment(name, given->data, erased->scalar));
  const TypeInfo& type = TypeOf(erased->scalar);
  if (given->zero_point != 0 &&
      (given->zero_point < type.low || given->zero_point > type.high)) {
    return Wrong(name, " has zero_point = ", given->zero_point, ", beyond ",
                 ScalarName(erased->scalar));
  }
  erased->data = given->data;
  erased->data_is_const = false;
  erased->cache_policy = static_cast<CachePolicy>(given->cache_policy);
  erased->value_range = static_cast<ValueRange>(given->value_range);
  erased->zero_point = given->zero_point;
  MakeSimpleLayout(given->rows, given->cols, static_cast<Order>(given->order),
                   &erased->layout);
  if (given->stride != 0) erased->layout.set_stride(given->stride);
  erased->packed = nullptr;
  return absl::OkStatus();
}

// ## Parameters

// The product's types, and from them its kind.
RUY_LIKE_INLINE absl::Status ReadTypes(const rl_params& params, MulCall* call,
                                       Kind* kind) {
  const Scalar lhs = call->lhs.scalar, rhs = call->rhs.scalar;
  const Scalar dst = call->dst.scalar;
  Scalar accum = !IsFloat(lhs) ? Scalar::kI32 : Scalar::kF32;
  if (params.accum_type != 0) {
    RUY_LIKE_RETURN_IF_ERROR(
        ReadType("accumulator", params.accum_type, &accum));
  } else if (lhs == Scalar::kF64 || rhs == Scalar::kF64 ||
             dst == Scalar::kF64) {
    accum = Scalar::kF64;
  }
  const ProductTypes* const types = FindProduct(lhs, rhs, accum, dst);
  if (ABSL_PREDICT_FALSE(types == nullptr)) {
    return Wrong("no such product: lhs ", ScalarName(lhs), ", rhs ",
                 ScalarName(rhs), ", accumulator ", ScalarName(accum), ", dst ",
                 ScalarName(dst));
  }
  call->family = types->family;
  call->accum_scalar = accum;
  *kind = IsFloat(accum)                                 ? kFloatDst
          : IsFloat(dst)                                 ? kScaledDst
          : dst == accum                                 ? kRawDst
          : params.multiplier_rounding == RL_ROUND_FLOAT ? kQuantizedByFloats
                                                         : kQuantizedDst;
  return absl::OkStatus();
}

// The same with group scales: what C++ does not compile.
ABSL_ATTRIBUTE_NOINLINE absl::Status ReadGroupTypes(const rl_params& params,
                                                    bool are_lhs,
                                                    MulCall* call) {
  const ErasedMatrix& activations = are_lhs ? call->rhs : call->lhs;
  const Scalar type = activations.scalar, dst = call->dst.scalar;
  if (activations.packed != nullptr ||
      (type != Scalar::kI8 && type != Scalar::kF32 && type != Scalar::kBF16) ||
      (dst != Scalar::kF32 && dst != Scalar::kBF16) ||
      (params.accum_type != 0 && params.accum_type != RL_FLOAT32)) {
    return Wrong("no such product: weights with group scales, ",
                 activations.packed != nullptr ? "packed " : "",
                 ScalarName(type), ", dst ", ScalarName(dst));
  }
  if ((are_lhs ? params.lhs_scale : params.rhs_scale) != nullptr ||
      (params.lhs_scale != nullptr && params.lhs_scale_per_row == 0) ||
      (params.rhs_scale != nullptr && params.rhs_scale_per_col == 0)) {
    return Wrong("with group scales, only the activations' scales can be set, ",
                 "as an array");
  }
  call->family = Family::kGroupScaled;
  call->accum_scalar = Scalar::kF32;
  return absl::OkStatus();
}

// True if a value is an infinity, or whole with so few bits that each type that
// may have it (16-bit floats, too) does: neither needs the floating-point
// state, which takes as long as all other checks of a call.
RUY_LIKE_INLINE bool IsExact(double value, Scalar type) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  const bool is_short = exponent >= 0 && exponent <= (IsFloat(type) ? 7 : 31);
  return bits << 1 == 0 || ((is_short || exponent == 1024) &&
                            bits << (12 + (is_short ? exponent : 0)) == 0);
}

// The bounds and beta, which C++ has in this type.
ABSL_ATTRIBUTE_NOINLINE absl::Status ReadNumbers(const rl_params& params,
                                                 Scalar type, MulCall* call) {
  if (ABSL_PREDICT_TRUE(params.has_clamp != 0 && ValueOf(params.beta) == 0 &&
                        IsExact(params.clamp_min, type) &&
                        IsExact(params.clamp_max, type))) {
    const TypeInfo& bounds = TypeOf(type);
    call->clamp_min =
        std::min(std::max(params.clamp_min, bounds.low), bounds.high);
    call->clamp_max =
        std::min(std::max(params.clamp_max, bounds.low), bounds.high);
    return absl::OkStatus();
  }
  const ScopedFloatState float_state(FloatState::kDefault);
  call->beta = params.beta;
  RUY_LIKE_RETURN_IF_ERROR(RoundTo(type, "beta", &call->beta));
  if (params.has_clamp == 0) return absl::OkStatus();
  call->clamp_min = params.clamp_min;
  call->clamp_max = params.clamp_max;
  RUY_LIKE_RETURN_IF_ERROR(RoundTo(type, "clamp_min", &call->clamp_min));
  return RoundTo(type, "clamp_max", &call->clamp_max);
}

absl::Status ReadPostOperand(const char* name, const rl_matrix* matrix,
                             absl::Span<const float> channels,
                             PostOperand* operand) {
  if (channels.data() != nullptr) {
    *operand = PostOperand::PerChannel(channels);
    return matrix == nullptr ? absl::OkStatus() : Wrong(name, " is set twice");
  }
  if (matrix == nullptr) return absl::OkStatus();
  ErasedMatrix erased;
  RUY_LIKE_RETURN_IF_ERROR(ReadMatrix(name, matrix, std::nullopt, &erased));
  *operand = PostOperand(erased.data, erased.scalar, erased.layout);
  return erased.zero_point == 0
             ? absl::OkStatus()
             : Wrong(name, " must have zero_point 0, not ", erased.zero_point);
}

ABSL_ATTRIBUTE_NOINLINE absl::Status ReadPostOps(const rl_post_ops* given,
                                                 MulCall* call,
                                                 PostOps* memory) {
  rl_post_ops copy;
  RUY_LIKE_RETURN_IF_ERROR(Open("post_ops", &given, &copy));
  RUY_LIKE_RETURN_IF_ERROR(CheckFields("post_ops", kAnyKind, [=](auto check) {
    return RUY_LIKE_IS_GOOD(activation, RL_HARD_SWISH) &&
           RUY_LIKE_IS_GOOD(slope_per_channel, 1) &&
           RUY_LIKE_IS_GOOD(factor_per_channel, 1) &&
           RUY_LIKE_IS_GOOD(residual_per_channel, 1) &&
           RUY_LIKE_IS_GOOD(lhs_zero_points, 1) &&
           RUY_LIKE_IS_GOOD(rhs_zero_points, 1);
  }));
  const std::ptrdiff_t channels =
      call->channel_dimension == ChannelDimension::kRow
          ? call->dst.layout.rows()
          : call->dst.layout.cols();
  const auto span_of = [](const auto* values, std::ptrdiff_t count) {
    return absl::MakeConstSpan(
        values, values == nullptr ? 0 : static_cast<std::size_t>(count));
  };
  const auto span = [=](const float* values) {
    return span_of(values, channels);
  };
  PostOps* const ops = new (memory) PostOps;
  ops->activation = static_cast<Activation>(given->activation);
  ops->slope = given->slope;
  ops->slope_perchannel = span(given->slope_per_channel);
  RUY_LIKE_RETURN_IF_ERROR(ReadPostOperand(
      "factor", given->factor, span(given->factor_per_channel), &ops->factor));
  RUY_LIKE_RETURN_IF_ERROR(ReadPostOperand("residual", given->residual,
                                           span(given->residual_per_channel),
                                           &ops->residual));
  ops->lhs_zero_points =
      span_of(given->lhs_zero_points, call->dst.layout.rows());
  ops->rhs_zero_points =
      span_of(given->rhs_zero_points, call->dst.layout.cols());
  ops->table = span_of(given->table, 256);
  internal::SetPostOps(ops, call);
  return absl::OkStatus();
}

constexpr unsigned kQuantized = kQuantizedDst | kQuantizedByFloats;
constexpr unsigned kScaled = kScaledDst | kGroupScales | kQuantizedByFloats;

// All but the matrices. `lhs_groups`: that operand has group scales.
RUY_LIKE_INLINE absl::Status ReadParams(const rl_params* given, bool lhs_groups,
                                        bool rhs_groups, MulCall* call,
                                        PostOps* post_ops) {
  Kind kind = kGroupScales;
  if (ABSL_PREDICT_FALSE(lhs_groups || rhs_groups)) {
    RUY_LIKE_RETURN_IF_ERROR(ReadGroupTypes(*given, lhs_groups, call));
  } else {
    RUY_LIKE_RETURN_IF_ERROR(ReadTypes(*given, call, &kind));
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckFields("params", kind, [given](auto check) {
    return RUY_LIKE_IS_GOOD(channel_dim, RL_PER_COL) &&
           RUY_LIKE_IS_GOOD(multiplier_per_channel, 1) &&
           RUY_LIKE_IS_GOOD(has_clamp, 1) &&
           RUY_LIKE_IS_GOOD(lhs_scale_per_row, 1) &&
           RUY_LIKE_IS_GOOD(rhs_scale_per_col, 1) &&
           RUY_LIKE_IS_GOOD(multiplier_fixedpoint, 1, kQuantizedDst) &&
           RUY_LIKE_IS_GOOD(multiplier_exponent, 1, kQuantizedDst) &&
           RUY_LIKE_IS_GOOD(multiplier_rounding, RL_ROUND_FLOAT, kQuantized) &&
           RUY_LIKE_IS_GOOD(lhs_scale, 1, kScaled) &&
           RUY_LIKE_IS_GOOD(rhs_scale, 1, kScaled) &&
           RUY_LIKE_IS_GOOD(beta, 1, kAnyKind - kQuantized) &&
           RUY_LIKE_IS_GOOD(float_sums, RL_SUM_IN_ORDER, kFloatDst) &&
           RUY_LIKE_IS_GOOD(activation_zero_points, 1, kGroupScales) &&
           RUY_LIKE_IS_GOOD(activation_scales, 1, kGroupScales);
  }));
  // With group scales the bounds are floats for any dst.
  const Scalar type = kind == kGroupScales ? Scalar::kF32 : call->dst.scalar;
  call->clamp_min = TypeOf(type).low;
  call->clamp_max = TypeOf(type).high;
  call->beta = 0;
  if (given->has_clamp != 0 || ValueOf(given->beta) != 0) {
    RUY_LIKE_RETURN_IF_ERROR(ReadNumbers(*given, type, call));
  }
  RUY_LIKE_RETURN_IF_ERROR(CheckAlignment(
      "bias", given->bias, kind == kScaledDst ? type : call->accum_scalar));
  call->quantized = (kind & kQuantized) != 0;
  call->channel_dimension = static_cast<ChannelDimension>(given->channel_dim);
  call->float_sums =
      kind == kFloatDst ? SumsOf(given->float_sums) : FloatSums::kInOrder;
  call->bias = given->bias;
  const std::int32_t* const fixedpoint = given->multiplier_fixedpoint;
  const std::int32_t* const exponent = given->multiplier_exponent;
  const bool arrays = given->multiplier_per_channel != 0;
  call->fixedpoint_perchannel = arrays ? fixedpoint : nullptr;
  call->exponent_perchannel = arrays ? exponent : nullptr;
  // The defaults of MulParams: 2^30 * 2^(1 - 31).
  call->fixedpoint =
      arrays || fixedpoint == nullptr ? std::int32_t{1} << 30 : *fixedpoint;
  call->exponent =
      arrays || exponent == nullptr ? fixedpoint == nullptr : *exponent;
  call->rounding = static_cast<MultiplierRounding>(given->multiplier_rounding);
  const bool per_row = given->lhs_scale_per_row != 0;
  const bool per_col = given->rhs_scale_per_col != 0;
  call->lhs_scale_perrow = per_row ? given->lhs_scale : nullptr;
  call->rhs_scale_percol = per_col ? given->rhs_scale : nullptr;
  call->lhs_scale = per_row || !given->lhs_scale ? 1 : *given->lhs_scale;
  call->rhs_scale = per_col || !given->rhs_scale ? 1 : *given->rhs_scale;
  call->max_num_threads = given->max_num_threads;
  call->activation_scales =
      static_cast<ActivationScales>(given->activation_scales);
  call->activation_zero_points = given->activation_zero_points;
  if (ABSL_PREDICT_TRUE(given->post_ops == nullptr)) return absl::OkStatus();
  return ReadPostOps(given->post_ops, call, post_ops);
}

constexpr rl_params kDefaults = {};

RUY_LIKE_INLINE bool IsDefault(const rl_params& params) {
  static_assert(offsetof(rl_params, size) == 0, "all else is 0");
  std::uintptr_t any = 0, word;
  for (std::size_t at = sizeof(word); at < sizeof(params); at += sizeof(word)) {
    std::memcpy(&word, reinterpret_cast<const char*>(&params) + at,
                sizeof(word));
    any |= word;
  }
  return any == 0;
}

// A whole call. *post_ops is memory for what it may refer to. Null params are
// the defaults.
RUY_LIKE_HOT absl::Status FillCall(const rl_matrix* lhs, const rl_matrix* rhs,
                                   const rl_params* params,
                                   const rl_matrix* dst, MulCall* call,
                                   PostOps* post_ops) {
  RUY_LIKE_RETURN_IF_ERROR(ReadMatrix("lhs", lhs, Side::kLhs, &call->lhs));
  RUY_LIKE_RETURN_IF_ERROR(ReadMatrix("rhs", rhs, Side::kRhs, &call->rhs));
  RUY_LIKE_RETURN_IF_ERROR(ReadMatrix("dst", dst, std::nullopt, &call->dst));
  const auto has_groups = [](const ErasedMatrix& operand, const rl_matrix* of) {
    return operand.packed != nullptr && of->packed->has_groups;
  };
  const bool lhs_groups = has_groups(call->lhs, lhs);
  const bool rhs_groups = has_groups(call->rhs, rhs);
  rl_params copy;
  if (params != nullptr) {
    RUY_LIKE_RETURN_IF_ERROR(
        Open("params", &params, &copy, offsetof(rl_params, post_ops)));
  }
  // The constant, whose fields the compiler knows, makes a shorter way.
  return params == nullptr || IsDefault(*params)
             ? ReadParams(&kDefaults, lhs_groups, rhs_groups, call, post_ops)
             : ReadParams(params, lhs_groups, rhs_groups, call, post_ops);
}

// Memory that is not even zeroed.
union PostOpsMemory {
  PostOpsMemory() {}  // NOLINT
  PostOps post_ops;
};

// ## Packing and batches

struct Packing {
  ErasedMatrix matrix;
  Side side = Side::kLhs;
  PackOptions options;
  void* buffer = nullptr;
  std::size_t buffer_bytes = 0;
};

absl::Status ReadPacking(const rl_matrix* matrix, const rl_pack_options* given,
                         Packing* packing) {
  RUY_LIKE_RETURN_IF_ERROR(
      ReadMatrix("matrix", matrix, std::nullopt, &packing->matrix));
  if (given == nullptr) return absl::OkStatus();
  rl_pack_options copy;
  RUY_LIKE_RETURN_IF_ERROR(Open("options", &given, &copy));
  packing->side = static_cast<Side>(given->side);
  packing->options = {static_cast<Order>(given->dst_order),
                      static_cast<PackFor>(given->pack_for)};
  packing->buffer = given->buffer;
  packing->buffer_bytes = given->buffer_bytes;
  return CheckFields("options", kAnyKind, [given](auto check) {
    return RUY_LIKE_IS_GOOD(side, RL_RHS) &&
           RUY_LIKE_IS_GOOD(dst_order, RL_ROW_MAJOR) &&
           RUY_LIKE_IS_GOOD(pack_for, RL_PACK_FOR_BFLOAT16);
  });
}

absl::Status ReadGroupWeights(const rl_group_weights* given,
                              GroupWeights* weights) {
  rl_group_weights copy;
  Scalar type;
  RUY_LIKE_RETURN_IF_ERROR(Open("weights", &given, &copy));
  RUY_LIKE_RETURN_IF_ERROR(
      ReadType("weights' scales", given->scale_type, &type));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckAlignment("weights' scales", given->scales, type));
  RUY_LIKE_RETURN_IF_ERROR(CheckFields(
      "weights", kAnyKind,
      [given](auto check) { return RUY_LIKE_IS_GOOD(zero_point, 1); }));
  *weights = {given->rows,
              given->depth,
              given->bits,
              given->table,
              given->group_size,
              given->levels,
              given->row_stride_bytes,
              given->scales,
              type,
              given->scale_stride,
              given->zero_points,
              std::nullopt,
              given->depth_order};
  if (given->zero_point != nullptr) weights->zero_point = *given->zero_point;
  return absl::OkStatus();
}

// A handle of what was packed, unless that is an error.
template <typename T, typename... Arguments>
absl::Status Store(absl::StatusOr<T> made, rl_packed** packed,
                   const Arguments&... arguments) {
  RUY_LIKE_RETURN_IF_ERROR(made.status());
  *packed = new rl_packed(*std::move(made), arguments...);
  return absl::OkStatus();
}

absl::Status ReadBatch(const rl_batch* given, Batch* batch) {
  rl_batch copy;
  RUY_LIKE_RETURN_IF_ERROR(
      Open("batch", &given, &copy, offsetof(rl_batch, factor_stride)));
  static_assert(sizeof(Batch) == sizeof(rl_batch) - offsetof(rl_batch, count) &&
                    offsetof(Batch, factor_stride) ==
                        offsetof(rl_batch, factor_stride) - sizeof(given->size),
                "the same fields in the same order");
  std::memcpy(static_cast<void*>(batch), &given->count, sizeof(*batch));
  if (batch->outer_count == 0) batch->outer_count = 1;
  return absl::OkStatus();
}

// One of rl_mul_group.
struct Product {
  MulCall call;
  PostOps post_ops;
};

absl::Status ReadProduct(const rl_product* given, std::vector<Product>* all) {
  rl_product copy;
  Product product;
  MulCall& call = product.call;
  RUY_LIKE_RETURN_IF_ERROR(Open("product", &given, &copy));
  RUY_LIKE_RETURN_IF_ERROR(FillCall(given->lhs, given->rhs, given->params,
                                    given->dst, &call, &product.post_ops));
  const MulCall& first = all->empty() ? call : all->front().call;
  if (call.family != first.family || call.lhs.scalar != first.lhs.scalar ||
      call.rhs.scalar != first.rhs.scalar ||
      call.accum_scalar != first.accum_scalar ||
      call.dst.scalar != first.dst.scalar) {
    return Wrong("its types are not those of product 0");
  }
  all->push_back(product);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruy_like::c_interface

// ## The interface

using namespace ruy_like;               // NOLINT: below are C functions alone
using namespace ruy_like::c_interface;  // NOLINT

rl_status rl_pack(const rl_matrix* matrix, const rl_pack_options* options,
                  rl_context* context, rl_packed** packed) {
  return Call({{"context", context}, {"packed", packed}}, [=] {
    Packing packing;
    RUY_LIKE_RETURN_IF_ERROR(ReadPacking(matrix, options, &packing));
    return Store(internal::PackErased(packing.matrix, packing.side,
                                      packing.options, &context->context,
                                      packing.buffer, packing.buffer_bytes),
                 packed, packing.matrix.scalar);
  });
}

rl_status rl_packed_size(const rl_matrix* matrix,
                         const rl_pack_options* options, rl_context* context,
                         size_t* bytes) {
  return Call({{"context", context}, {"bytes", bytes}}, [=] {
    Packing packing;
    RUY_LIKE_RETURN_IF_ERROR(ReadPacking(matrix, options, &packing));
    const auto needed = internal::PackedBytesErased(
        packing.matrix, packing.side, packing.options, &context->context);
    if (needed.ok()) *bytes = *needed;
    return needed.status();
  });
}

rl_status rl_pack_groups(const rl_group_weights* weights, rl_context* context,
                         rl_packed** packed) {
  return Call({{"context", context}, {"packed", packed}}, [=] {
    GroupWeights group_weights;
    RUY_LIKE_RETURN_IF_ERROR(ReadGroupWeights(weights, &group_weights));
    return Store(PackGroupWeights(group_weights, &context->context), packed);
  });
}

rl_status rl_packed_shape(const rl_packed* packed, ptrdiff_t* rows,
                          ptrdiff_t* cols) {
  return Call({{"packed", packed}, {"rows", rows}, {"cols", cols}}, [=] {
    *rows = packed->has_groups ? packed->weights.rows() : packed->rows();
    *cols = packed->has_groups ? packed->weights.depth() : packed->cols();
    return absl::OkStatus();
  });
}

rl_status rl_packed_to_bytes(const rl_packed* packed, const void** data,
                             size_t* bytes) {
  return Call({{"packed", packed}, {"data", data}, {"bytes", bytes}}, [=] {
    const absl::string_view image =
        packed->has_groups ? packed->weights.Serialize() : packed->Serialize();
    *data = image.data();
    *bytes = image.size();
    return absl::OkStatus();
  });
}

rl_status rl_packed_from_bytes(const void* data, size_t bytes, int32_t type,
                               int32_t verify, rl_packed** packed) {
  return Call({{"packed", packed}}, [=] {
    const auto checksum = static_cast<VerifyChecksum>(verify != 0);
    if (type == RL_GROUP_WEIGHTS) {
      return Store(PackedGroupWeights::FromBytes(data, bytes, checksum),
                   packed);
    }
    Scalar scalar;
    RUY_LIKE_RETURN_IF_ERROR(ReadType("the packed matrix", type, &scalar));
    return Store(internal::OperandFromBytes(data, bytes, scalar, checksum),
                 packed, scalar);
  });
}

void rl_packed_destroy(rl_packed* packed) { delete packed; }

RUY_LIKE_HOT rl_status rl_mul(const rl_matrix* lhs, const rl_matrix* rhs,
                              const rl_params* params, rl_context* context,
                              const rl_matrix* dst) {
  return Call({{"context", context}}, [=] {
    MulCall call;
    PostOpsMemory memory;
    RUY_LIKE_RETURN_IF_ERROR(
        FillCall(lhs, rhs, params, dst, &call, &memory.post_ops));
    return internal::MulErased(call, &context->context);
  });
}

rl_status rl_mul_batch(const rl_matrix* lhs, const rl_matrix* rhs,
                       const rl_params* params, const rl_batch* batch,
                       rl_context* context, const rl_matrix* dst) {
  return Call({{"context", context}}, [=] {
    MulCall call;
    PostOpsMemory memory;
    Batch strides;
    RUY_LIKE_RETURN_IF_ERROR(
        FillCall(lhs, rhs, params, dst, &call, &memory.post_ops));
    RUY_LIKE_RETURN_IF_ERROR(ReadBatch(batch, &strides));
    return internal::MulBatchErased(call, strides, &context->context);
  });
}

rl_status rl_mul_group(const rl_product* products, ptrdiff_t count,
                       int32_t max_num_threads, rl_context* context) {
  return Call({{"context", context}}, [=] {
    if (count < 0) return Wrong("count is negative: ", count);
    if (products == nullptr && count != 0) return NullArgument("products");
    std::vector<Product> calls;
    // Another version's products have another size.
    const char* given = reinterpret_cast<const char*>(products);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const auto* const product = reinterpret_cast<const rl_product*>(given);
      const absl::Status status = ReadProduct(product, &calls);
      if (!status.ok()) {
        return WithPrefix(status, "product ", i, ": ");
      }
      given += product->size;
    }
    return internal::MulGroupErased(
        calls.data(), count,
        [](const void* all, std::ptrdiff_t index, MulCall* call) {
          const Product& product = static_cast<const Product*>(all)[index];
          *call = product.call;
          if (call->post_ops != nullptr) call->post_ops = &product.post_ops;
        },
        max_num_threads, &context->context);
  });
}

rl_status rl_plan_create(rl_plan** plan) {
  return Call({{"plan", plan}}, [=] { return Make(plan); });
}

void rl_plan_destroy(rl_plan* plan) { delete plan; }

RUY_LIKE_HOT rl_status rl_plan_prepare(rl_plan* plan, const rl_matrix* lhs,
                                       const rl_matrix* rhs,
                                       const rl_params* params,
                                       const rl_batch* batch,
                                       int32_t num_threads, rl_context* context,
                                       const rl_matrix* dst) {
  return Call({{"plan", plan}, {"context", context}}, [=] {
    MulCall* const call = plan->NewCall();
    if (call == nullptr) return internal::NoMemory();
    RUY_LIKE_RETURN_IF_ERROR(
        FillCall(lhs, rhs, params, dst, call, &plan->post_ops));
    Batch strides;
    if (batch != nullptr) RUY_LIKE_RETURN_IF_ERROR(ReadBatch(batch, &strides));
    return plan->Prepare(batch == nullptr ? nullptr : &strides, num_threads,
                         &context->context);
  });
}

rl_status rl_plan_repeat(rl_plan* plan) {
  return Call({{"plan", plan}}, [=] { return plan->plan.Repeat(); });
}

rl_status rl_plan_run(rl_plan* plan, int32_t thread) {
  return Call({{"plan", plan}}, [=] { return plan->plan.Run(thread); });
}

rl_status rl_plan_num_threads(const rl_plan* plan, int32_t* num_threads) {
  return Call({{"plan", plan}, {"num_threads", num_threads}}, [=] {
    *num_threads = plan->plan.num_threads();
    return absl::OkStatus();
  });
}

rl_status rl_plan_finish(rl_plan* plan) {
  return Call({{"plan", plan}}, [=] { return plan->plan.Finish(); });
}
