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
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ruy_like/base/errors.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/ruy_like.h"

namespace ruy_like {

namespace {

class CExecutor final : public Executor {
 public:
  explicit CExecutor(const rl_executor& functions) : functions_(functions) {}
  int max_concurrency() const override {
    return functions_.max_concurrency(functions_.user);
  }
  void ParallelFor(int count, void (*function)(void* argument, int i),
                   void* argument) override {
    functions_.parallel_for(functions_.user, count, function, argument);
  }

 private:
  rl_executor functions_;
};

}  // namespace
}  // namespace ruy_like

struct rl_context {
  std::unique_ptr<ruy_like::CExecutor> executor;  // outlives the Context
  ruy_like::Context context;
};

struct rl_packed final : public ruy_like::internal::PackedMatrixBase {
  rl_packed(std::shared_ptr<const ruy_like::PackedOperand> operand,
            ruy_like::Scalar type)
      : PackedMatrixBase(std::move(operand)), scalar(type) {}
  explicit rl_packed(ruy_like::PackedGroupWeights packed)
      : has_groups(true), weights(std::move(packed)) {}

  ruy_like::Scalar scalar = ruy_like::Scalar::kF32;
  bool has_groups = false;
  ruy_like::PackedGroupWeights weights;
};

struct rl_plan {
  ruy_like::MulCall* NewCall() { return plan.NewCall(); }
  absl::Status Prepare(const ruy_like::Batch* batch, int num_threads,
                       ruy_like::Context* context) {
    return plan.PrepareCall(batch, num_threads, context);
  }

  ruy_like::MulPlan plan;
};

namespace ruy_like {
namespace {

using internal::NullArgument;

// ## Errors

thread_local char g_last_error[512];  // threads have nothing to destroy

static_assert(static_cast<int>(absl::StatusCode::kInvalidArgument) ==
                      RL_INVALID_ARGUMENT &&
                  static_cast<int>(absl::StatusCode::kDataLoss) == RL_DATA_LOSS,
              "the values are absl::StatusCode's");

ABSL_ATTRIBUTE_COLD rl_status StoreError(const absl::Status& status) {
  absl::string_view text = status.message();
  if (text.empty()) {
    text = absl::IsInternal(status) ? "an exception" : "out of memory";
  }
  const std::size_t length = std::min(text.size(), sizeof(g_last_error) - 1);
  std::memcpy(g_last_error, text.data(), length);
  g_last_error[length] = '\0';
  return static_cast<rl_status>(status.code());
}

struct Pointer {
  const char* name;
  const void* value;
};

// The status of function(), an absl::Status, whose error becomes the thread's
// last one; that of a null among `pointers`, which are then not used. Nothing
// is thrown into C.
template <typename Function>
rl_status Call(std::initializer_list<Pointer> pointers,
               const Function& function) {
  absl::Status status;
  try {
    status = CatchNoMemory([&]() -> absl::Status {
      for (const Pointer& pointer : pointers) {
        if (pointer.value == nullptr) return NullArgument(pointer.name);
      }
      return function();
    });
  } catch (...) {
    status = ErrorWithoutMessage(absl::StatusCode::kInternal);
  }
  return status.ok() ? RL_OK : StoreError(status);
}

// The way of every product is inlined, and the wording of errors is not:
// it must not cost a product of a few elements much.
#define RUY_LIKE_INLINE ABSL_ATTRIBUTE_ALWAYS_INLINE inline

// Invalid(), out of the way.
template <typename... Parts>
ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE absl::Status Wrong(
    const Parts&... parts) {
  return Invalid(parts...);
}

// ## Structs and enumerators

// By how much a struct may be larger than ours before its size is garbage.
constexpr std::size_t kMaxUnknownBytes = 256;

ABSL_ATTRIBUTE_COLD absl::Status CheckSize(const char* name, const void* given,
                                           std::size_t size,
                                           std::size_t known) {
  if (size < known || size > known + kMaxUnknownBytes) {
    return Wrong(name, " has size = ", size, ", not ", known);
  }
  const char* const bytes = static_cast<const char*>(given);
  return std::all_of(bytes + known, bytes + size,
                     [](char byte) { return byte == 0; })
             ? absl::OkStatus()
             : Wrong(name, " has size = ", size,
                     " and sets a field that version ", RUY_LIKE_C_VERSION,
                     " does not have");
}

// A struct may be one of a later header. (In a header with more fields, copy
// what is smaller.)
template <typename T>
RUY_LIKE_INLINE absl::Status CheckStruct(const char* name, const T* given) {
  if (ABSL_PREDICT_FALSE(given == nullptr)) return NullArgument(name);
  return ABSL_PREDICT_TRUE(given->size == sizeof(T))
             ? absl::OkStatus()
             : CheckSize(name, given, given->size, sizeof(T));
}

RUY_LIKE_INLINE absl::Status CheckEnum(const char* of, const char* field,
                                       std::int32_t value, std::int32_t max) {
  if (value >= 0 && value <= max) return absl::OkStatus();
  return Wrong(of, " has an unknown ", field, " ", value);
}

// ## Types

static_assert(RL_INT8 == static_cast<int>(Scalar::kI8) + 1 &&
                  RL_FLOAT16 == static_cast<int>(Scalar::kF16) + 1 &&
                  RL_FLOAT16 == kNumScalars,
              "the list of types of scalar.h, from 1 on");

RUY_LIKE_INLINE absl::Status ReadType(const char* of, std::int32_t type,
                                      Scalar* scalar) {
  *scalar = static_cast<Scalar>(type - 1);
  if (type >= 1 && type <= kNumScalars) return absl::OkStatus();
  return Wrong(of, " has an unknown type ", type);
}

RUY_LIKE_INLINE absl::Status CheckAlignment(const char* name, const void* data,
                                            Scalar scalar) {
  // A double's alignment may be less than its size.
  const std::size_t alignment =
      std::min<std::size_t>(BytesOf(scalar, 1), alignof(double));
  if (ABSL_PREDICT_TRUE(
          (reinterpret_cast<std::uintptr_t>(data) & (alignment - 1)) == 0)) {
    return absl::OkStatus();
  }
  return Wrong(name, " is not aligned to ", ScalarName(scalar), " elements");
}

struct Bounds {
  double low, high;
};
Bounds BoundsOf(Scalar scalar) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ScalarInfo& info = InfoOf(scalar);
  if (info.kind == ScalarKind::kFloat) return {-kInfinity, kInfinity};
  const double values = static_cast<double>(std::uint64_t{1} << info.bits);
  const double low = info.kind == ScalarKind::kSigned ? -values / 2 : 0;
  return {low, low + values - 1};
}

// Rounds to a floating-point type, as C++ does. For an integer type the value
// must be whole; one beyond the type is clipped. A NaN is for Mul to refuse.
absl::Status RoundTo(Scalar scalar, const char* name, double* value) {
  if (std::isnan(*value) || scalar == Scalar::kF64) return absl::OkStatus();
  if (IsFloat(scalar)) {
    const float rounded = static_cast<float>(*value);
    *value = scalar == Scalar::kF32    ? rounded
             : scalar == Scalar::kBF16 ? static_cast<float>(BFloat16(rounded))
                                       : static_cast<float>(Float16(rounded));
    return absl::OkStatus();
  }
  const Bounds bounds = BoundsOf(scalar);
  *value = std::min(std::max(*value, bounds.low), bounds.high);
  return *value == std::floor(*value)
             ? absl::OkStatus()
             : Wrong(name, " = ", *value, " is not whole, as ",
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

// Without a side it is dst, or what is to be packed.
RUY_LIKE_INLINE absl::Status ReadMatrix(const char* name,
                                        const rl_matrix* given,
                                        std::optional<Side> side,
                                        ErasedMatrix* erased) {
  RUY_LIKE_RETURN_IF_ERROR(CheckStruct(name, given));
  if (ABSL_PREDICT_FALSE(given->packed != nullptr)) {
    return ReadPacked(name, *given->packed, side, erased);
  }
  RUY_LIKE_RETURN_IF_ERROR(ReadType(name, given->type, &erased->scalar));
  RUY_LIKE_RETURN_IF_ERROR(CheckEnum(name, "order", given->order, 1));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckEnum(name, "cache_policy", given->cache_policy, RL_ALWAYS_CACHE));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckEnum(name, "value_range", given->value_range, RL_INT7));
  RUY_LIKE_RETURN_IF_ERROR(CheckAlignment(name, given->data, erased->scalar));
  const Bounds bounds = BoundsOf(erased->scalar);
  if (given->zero_point != 0 &&
      (given->zero_point < bounds.low || given->zero_point > bounds.high)) {
    return Wrong(name, " has zero_point = ", given->zero_point, ", beyond ",
                 ScalarName(erased->scalar));
  }
  erased->data = given->data;
  erased->data_is_const = false;
  erased->cache_policy = static_cast<CachePolicy>(given->cache_policy);
  erased->value_range = static_cast<ValueRange>(given->value_range);
  erased->zero_point = given->zero_point;
  erased->zero_point_is_integer = true;
  MakeSimpleLayout(given->rows, given->cols, static_cast<Order>(given->order),
                   &erased->layout);
  if (given->stride != 0) erased->layout.set_stride(given->stride);
  erased->packed = nullptr;
  return absl::OkStatus();
}

bool HasGroups(const rl_matrix* matrix) {
  return matrix->packed != nullptr && matrix->packed->has_groups;
}

// ## Parameters

// The epilogue: how accumulators become dst (mul_params.h).
enum Kind : unsigned {
  kFloatDst = 1,
  kRawDst = 2,
  kQuantizedDst = 4,
  kScaledDst = 8,
  kGroupScales = 16,
  kAnyKind = 31,
};

// The product's types, and from them its kind.
absl::Status ReadTypes(const rl_params& params, MulCall* call, Kind* kind) {
  const Scalar lhs = call->lhs.scalar, rhs = call->rhs.scalar;
  const Scalar dst = call->dst.scalar;
  if (params.accum_type != 0) {
    RUY_LIKE_RETURN_IF_ERROR(
        ReadType("accumulator", params.accum_type, &call->accum_scalar));
  } else {
    const bool has_double =
        lhs == Scalar::kF64 || rhs == Scalar::kF64 || dst == Scalar::kF64;
    call->accum_scalar = !IsFloat(lhs) ? Scalar::kI32
                         : has_double  ? Scalar::kF64
                                       : Scalar::kF32;
  }
  const Scalar accum = call->accum_scalar;
  const ProductTypes* const types = FindProduct(lhs, rhs, accum, dst);
  if (types == nullptr) {
    return Wrong("no such product: lhs ", ScalarName(lhs), ", rhs ",
                 ScalarName(rhs), ", accumulator ", ScalarName(accum), ", dst ",
                 ScalarName(dst));
  }
  call->family = types->family;
  *kind = IsFloat(accum) ? kFloatDst
          : IsFloat(dst) ? kScaledDst
          : dst == accum ? kRawDst
                         : kQuantizedDst;
  return absl::OkStatus();
}

// The same with group scales: what C++ does not compile.
absl::Status ReadGroupTypes(const rl_params& params, bool are_lhs,
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

// 0 for a setting that is not set.
std::int32_t ValueOf(std::int32_t value) { return value; }
std::int32_t ValueOf(const void* array) { return array != nullptr; }
std::int32_t ValueOf(double value) {  // not compared, which NaN may trap
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits << 1 != 0;
}

// The settings that must be 0 or 1, and the products that use them.
absl::Status CheckSettings(const rl_params& params, unsigned kind) {
  const char* name = nullptr;
  std::int32_t value = 0;
  const auto is_good = [&](const char* of, std::int32_t is, unsigned kinds) {
    name = of;
    value = is;
    return is == 0 || (is == 1 && (kinds & kind) != 0);
  };
#define RUY_LIKE_IS_GOOD(field, kinds) \
  is_good(#field, ValueOf(params.field), kinds)
  if (RUY_LIKE_IS_GOOD(channel_dim, kAnyKind) &&
      RUY_LIKE_IS_GOOD(multiplier_per_channel, kAnyKind) &&
      RUY_LIKE_IS_GOOD(has_clamp, kAnyKind) &&
      RUY_LIKE_IS_GOOD(lhs_scale_per_row, kAnyKind) &&
      RUY_LIKE_IS_GOOD(rhs_scale_per_col, kAnyKind) &&
      RUY_LIKE_IS_GOOD(multiplier_fixedpoint, kQuantizedDst) &&
      RUY_LIKE_IS_GOOD(multiplier_exponent, kQuantizedDst) &&
      RUY_LIKE_IS_GOOD(lhs_scale, kScaledDst | kGroupScales) &&
      RUY_LIKE_IS_GOOD(rhs_scale, kScaledDst | kGroupScales) &&
      RUY_LIKE_IS_GOOD(beta, kFloatDst | kRawDst) &&
      RUY_LIKE_IS_GOOD(float_sums, kFloatDst) &&
      RUY_LIKE_IS_GOOD(activation_zero_points, kGroupScales) &&
      RUY_LIKE_IS_GOOD(activation_scales, kGroupScales) &&
      RUY_LIKE_IS_GOOD(multiplier_rounding, kQuantizedDst)) {
    return absl::OkStatus();
  }
#undef RUY_LIKE_IS_GOOD
  return value != 1 ? Wrong("params has an unknown ", name, " ", value)
                    : Wrong("params sets ", name,
                            ", which has no meaning for this product");
}

// The bounds and beta. With group scales the bounds are floats for any dst.
absl::Status ReadNumbers(const rl_params& params, Scalar dst, MulCall* call) {
  const Bounds bounds = BoundsOf(dst);
  const bool has_clamp = params.has_clamp != 0;
  call->clamp_min = has_clamp ? params.clamp_min : bounds.low;
  call->clamp_max = has_clamp ? params.clamp_max : bounds.high;
  call->beta = params.beta;
  if (!has_clamp && ValueOf(params.beta) == 0) return absl::OkStatus();
  const ScopedFloatState float_state(FloatState::kDefault);
  RUY_LIKE_RETURN_IF_ERROR(RoundTo(dst, "beta", &call->beta));
  if (!has_clamp) return absl::OkStatus();
  RUY_LIKE_RETURN_IF_ERROR(RoundTo(dst, "clamp_min", &call->clamp_min));
  return RoundTo(dst, "clamp_max", &call->clamp_max);
}

// A whole call. Null params are the defaults.
RUY_LIKE_HOT absl::Status FillCall(const rl_matrix* lhs, const rl_matrix* rhs,
                                   const rl_params* given, const rl_matrix* dst,
                                   MulCall* call) {
  RUY_LIKE_RETURN_IF_ERROR(ReadMatrix("lhs", lhs, Side::kLhs, &call->lhs));
  RUY_LIKE_RETURN_IF_ERROR(ReadMatrix("rhs", rhs, Side::kRhs, &call->rhs));
  RUY_LIKE_RETURN_IF_ERROR(ReadMatrix("dst", dst, std::nullopt, &call->dst));
  static const rl_params kDefaults = {};
  if (given) RUY_LIKE_RETURN_IF_ERROR(CheckStruct("params", given));
  const rl_params& params = given != nullptr ? *given : kDefaults;
  Kind kind = kGroupScales;
  if (HasGroups(lhs) || HasGroups(rhs)) {
    RUY_LIKE_RETURN_IF_ERROR(ReadGroupTypes(params, HasGroups(lhs), call));
  } else {
    RUY_LIKE_RETURN_IF_ERROR(ReadTypes(params, call, &kind));
  }
  const Scalar bounds = kind == kGroupScales ? Scalar::kF32 : call->dst.scalar;
  RUY_LIKE_RETURN_IF_ERROR(CheckSettings(params, kind));
  RUY_LIKE_RETURN_IF_ERROR(ReadNumbers(params, bounds, call));
  RUY_LIKE_RETURN_IF_ERROR(CheckAlignment(
      "bias", params.bias, kind == kScaledDst ? bounds : call->accum_scalar));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckAlignment("lhs_scale", params.lhs_scale, Scalar::kF32));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckAlignment("rhs_scale", params.rhs_scale, Scalar::kF32));
  call->quantized = kind == kQuantizedDst;
  call->channel_dimension = static_cast<ChannelDimension>(params.channel_dim);
  call->float_sums = static_cast<FloatSums>(params.float_sums);
  call->bias = params.bias;
  const std::int32_t* const fixedpoint = params.multiplier_fixedpoint;
  const std::int32_t* const exponent = params.multiplier_exponent;
  const bool arrays = params.multiplier_per_channel != 0;
  RUY_LIKE_RETURN_IF_ERROR(
      CheckAlignment("multiplier_fixedpoint", fixedpoint, Scalar::kI32));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckAlignment("multiplier_exponent", exponent, Scalar::kI32));
  call->fixedpoint_perchannel = arrays ? fixedpoint : nullptr;
  call->exponent_perchannel = arrays ? exponent : nullptr;
  // The defaults of MulParams: 2^30 * 2^(1 - 31).
  call->fixedpoint =
      arrays || fixedpoint == nullptr ? std::int32_t{1} << 30 : *fixedpoint;
  call->exponent =
      arrays || exponent == nullptr ? fixedpoint == nullptr : *exponent;
  call->rounding = static_cast<MultiplierRounding>(params.multiplier_rounding);
  const bool per_row = params.lhs_scale_per_row != 0;
  const bool per_col = params.rhs_scale_per_col != 0;
  call->lhs_scale_perrow = per_row ? params.lhs_scale : nullptr;
  call->rhs_scale_percol = per_col ? params.rhs_scale : nullptr;
  call->lhs_scale = per_row || !params.lhs_scale ? 1 : *params.lhs_scale;
  call->rhs_scale = per_col || !params.rhs_scale ? 1 : *params.rhs_scale;
  call->max_num_threads = params.max_num_threads;
  call->activation_scales =
      static_cast<ActivationScales>(params.activation_scales);
  call->activation_zero_points = params.activation_zero_points;
  return absl::OkStatus();
}

// ## Packing and batches

struct Packing {
  ErasedMatrix matrix;
  Side side = Side::kLhs;
  PackOptions options;
};

absl::Status ReadPacking(const rl_matrix* matrix, const rl_pack_options* given,
                         Packing* packing) {
  RUY_LIKE_RETURN_IF_ERROR(
      ReadMatrix("matrix", matrix, std::nullopt, &packing->matrix));
  if (given == nullptr) return absl::OkStatus();
  RUY_LIKE_RETURN_IF_ERROR(CheckStruct("options", given));
  RUY_LIKE_RETURN_IF_ERROR(CheckEnum("options", "side", given->side, RL_RHS));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckEnum("options", "dst_order", given->dst_order, RL_ROW_MAJOR));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckEnum("options", "pack_for", given->pack_for, RL_PACK_FOR_BFLOAT16));
  packing->side = static_cast<Side>(given->side);
  packing->options.dst_order = static_cast<Order>(given->dst_order);
  packing->options.pack_for = static_cast<PackFor>(given->pack_for);
  return absl::OkStatus();
}

absl::Status ReadGroupWeights(const rl_group_weights* given,
                              GroupWeights* weights) {
  RUY_LIKE_RETURN_IF_ERROR(CheckStruct("weights", given));
  RUY_LIKE_RETURN_IF_ERROR(
      ReadType("weights' scales", given->scale_type, &weights->scale_type));
  RUY_LIKE_RETURN_IF_ERROR(
      CheckAlignment("weights' scales", given->scales, weights->scale_type));
  weights->rows = given->rows;
  weights->depth = given->depth;
  weights->bits = given->bits;
  weights->group_size = given->group_size;
  weights->levels = given->levels;
  weights->row_stride_bytes = given->row_stride_bytes;
  weights->scales = given->scales;
  weights->scale_stride = given->scale_stride;
  weights->zero_points = given->zero_points;
  weights->table = given->table;
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
  RUY_LIKE_RETURN_IF_ERROR(CheckStruct("batch", given));
  *batch = {given->count,
            given->lhs_stride,
            given->rhs_stride,
            given->dst_stride,
            given->bias_stride,
            given->outer_count == 0 ? 1 : given->outer_count,
            given->lhs_outer_stride,
            given->rhs_outer_stride,
            given->dst_outer_stride,
            given->bias_outer_stride};
  return absl::OkStatus();
}

absl::Status FillProduct(const rl_product* given, std::vector<MulCall>* calls) {
  RUY_LIKE_RETURN_IF_ERROR(CheckStruct("product", given));
  MulCall call;
  RUY_LIKE_RETURN_IF_ERROR(
      FillCall(given->lhs, given->rhs, given->params, given->dst, &call));
  const MulCall& first = calls->empty() ? call : calls->front();
  if (call.family != first.family || call.lhs.scalar != first.lhs.scalar ||
      call.rhs.scalar != first.rhs.scalar ||
      call.accum_scalar != first.accum_scalar ||
      call.dst.scalar != first.dst.scalar) {
    return Wrong("its types are not those of product 0");
  }
  calls->push_back(call);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruy_like

// ## The interface

using namespace ruy_like;  // NOLINT: below are C functions alone

const char* rl_version(void) { return RUY_LIKE_C_VERSION; }

const char* rl_last_error(void) { return g_last_error; }

rl_status rl_get_info(rl_info* info) {
  return Call({}, [=] {
    RUY_LIKE_RETURN_IF_ERROR(CheckStruct("info", info));
    struct Texts {
      std::string features = CpuFeatureNames(DetectCpuFeatures());
      std::string compiled_paths = PathNames(CompiledPaths());
      std::string paths = PathNames(Context().runtime_enabled_paths());
    };
    static const Texts& texts = *new Texts;  // never destroyed
    const CacheSizes& caches = DetectedCacheSizes();
    info->features = texts.features.c_str();
    info->compiled_paths = texts.compiled_paths.c_str();
    info->paths = texts.paths.c_str();
    info->l1d_bytes = caches.l1d_bytes;
    info->l2_bytes = caches.l2_bytes;
    info->l3_bytes = caches.l3_bytes;
    return absl::OkStatus();
  });
}

rl_status rl_context_create(rl_context** context) {
  return Call({{"context", context}}, [=] {
    *context = new rl_context;
    return absl::OkStatus();
  });
}

void rl_context_destroy(rl_context* context) { delete context; }

rl_status rl_context_set_threads(rl_context* context, int32_t threads) {
  return Call({{"context", context}}, [=] {
    if (threads < 1) return Wrong("threads = ", threads, ", less than 1");
    context->context.set_max_num_threads(threads);
    return absl::OkStatus();
  });
}

rl_status rl_context_set_paths(rl_context* context, const char* paths) {
  return Call({{"context", context}}, [=] {
    absl::StatusOr<Path> parsed = Path::kNone;
    if (paths != nullptr) parsed = ParsePaths(paths);
    if (parsed.ok()) context->context.set_runtime_enabled_paths(*parsed);
    return parsed.status();
  });
}

rl_status rl_context_set_executor(rl_context* context,
                                  const rl_executor* executor) {
  return Call({{"context", context}}, [=] {
    std::unique_ptr<CExecutor> copy;
    if (executor != nullptr) {
      RUY_LIKE_RETURN_IF_ERROR(CheckStruct("executor", executor));
      if (executor->max_concurrency == nullptr ||
          executor->parallel_for == nullptr) {
        return Wrong("executor lacks a function");
      }
      copy = std::make_unique<CExecutor>(*executor);
    }
    context->context.set_executor(copy.get());
    context->executor = std::move(copy);
    return absl::OkStatus();
  });
}

rl_status rl_context_clear_cache(rl_context* context) {
  return Call({{"context", context}}, [=] {
    context->context.ClearPrepackedCache();
    return absl::OkStatus();
  });
}

const char* rl_context_last_path(const rl_context* context) {
  return context == nullptr ? "" : PathName(context->context.last_used_path());
}

const char* rl_context_last_kernel(const rl_context* context) {
  return context == nullptr ? "" : context->context.last_used_kernel();
}

rl_status rl_pack(const rl_matrix* matrix, const rl_pack_options* options,
                  rl_context* context, rl_packed** packed) {
  return Call({{"context", context}, {"packed", packed}}, [=] {
    Packing packing;
    RUY_LIKE_RETURN_IF_ERROR(ReadPacking(matrix, options, &packing));
    return Store(
        internal::PackErased(packing.matrix, packing.side, packing.options,
                             &context->context,
                             options == nullptr ? nullptr : options->buffer,
                             options == nullptr ? 0 : options->buffer_bytes),
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
    RUY_LIKE_RETURN_IF_ERROR(FillCall(lhs, rhs, params, dst, &call));
    return internal::MulErased(call, &context->context);
  });
}

rl_status rl_mul_batch(const rl_matrix* lhs, const rl_matrix* rhs,
                       const rl_params* params, const rl_batch* batch,
                       rl_context* context, const rl_matrix* dst) {
  return Call({{"context", context}}, [=] {
    MulCall call;
    Batch strides;
    RUY_LIKE_RETURN_IF_ERROR(FillCall(lhs, rhs, params, dst, &call));
    RUY_LIKE_RETURN_IF_ERROR(ReadBatch(batch, &strides));
    return internal::MulBatchErased(call, strides, &context->context);
  });
}

rl_status rl_mul_group(const rl_product* products, ptrdiff_t count,
                       int32_t max_num_threads, rl_context* context) {
  return Call({{"context", context}}, [=] {
    if (count < 0) return Wrong("count is negative: ", count);
    if (products == nullptr && count != 0) return NullArgument("products");
    std::vector<MulCall> calls;
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const absl::Status status = FillProduct(&products[i], &calls);
      if (!status.ok()) {
        return absl::Status(
            status.code(), absl::StrCat("product ", i, ": ", status.message()));
      }
    }
    return internal::MulGroupErased(
        calls.data(), count,
        [](const void* all, std::ptrdiff_t index, MulCall* call) {
          *call = static_cast<const MulCall*>(all)[index];
        },
        max_num_threads, &context->context);
  });
}

rl_status rl_plan_create(rl_plan** plan) {
  return Call({{"plan", plan}}, [=] {
    *plan = new rl_plan;
    return absl::OkStatus();
  });
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
    RUY_LIKE_RETURN_IF_ERROR(FillCall(lhs, rhs, params, dst, call));
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

rl_status rl_plan_finish(rl_plan* plan) {
  return Call({{"plan", plan}}, [=] { return plan->plan.Finish(); });
}
