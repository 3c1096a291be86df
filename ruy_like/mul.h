// Public: Mul. Also the only layer that is templated on element types: it
// writes the call down without them and hands it on.
#ifndef RUY_LIKE_MUL_H_
#define RUY_LIKE_MUL_H_

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/erased_call.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// What concerns one call of Mul and not its result.
struct MulOptions {
  // Threads that this call may use, the caller included; 0: no limit but the
  // Context's.
  int max_num_threads = 0;
};

namespace internal {

// The enumerator of an element type; elements of other types do not compile.
template <typename T>
struct ScalarTypeTraits {
  static_assert(!std::is_same<T, T>::value,
                "elements are int8, uint8, int16, int32, float or double");
};
#define RUY_LIKE_SCALAR(Enum, type, bits, kind, name, kernel_name) \
  template <>                                                      \
  struct ScalarTypeTraits<type> {                                  \
    static constexpr Scalar kScalar = Scalar::Enum;                \
  };
RUY_LIKE_SCALARS(RUY_LIKE_SCALAR)
#undef RUY_LIKE_SCALAR

template <typename T>
constexpr Scalar ScalarOf() {
  return ScalarTypeTraits<T>::kScalar;
}

// The type table of README.md.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
constexpr bool TypesAreSupported() {
  constexpr Scalar lhs = ScalarOf<Lhs>();
  constexpr Scalar rhs = ScalarOf<Rhs>();
  constexpr Scalar accum = ScalarOf<Accum>();
  constexpr Scalar dst = ScalarOf<Dst>();
  if (IsFloat(lhs)) return IsFloat(rhs) && IsFloat(accum) && IsFloat(dst);
  const bool operands_ok = (Is8Bit(lhs) && Is8Bit(rhs)) ||
                           (lhs == Scalar::kI8 && rhs == Scalar::kI16) ||
                           (lhs == Scalar::kI16 && rhs == Scalar::kI8);
  const bool dst_ok =
      dst == Scalar::kF32 ? Is8Bit(lhs) && Is8Bit(rhs) : dst != Scalar::kF64;
  return operands_ok && accum == Scalar::kI32 && dst_ok;
}

// The value as a double, exactly. A signalling NaN is first made a quiet one,
// by its bits: converting or comparing it would raise an exception in the
// caller's code, where the library has not masked any yet.
template <typename T>
double ExactDouble(T value) {
  if constexpr (!std::is_integral<T>::value) {
    using Bits =
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits kQuiet = Bits{1} << (std::numeric_limits<T>::digits - 2);
    constexpr Bits kInfinity = (~Bits{0} >> 1) - (2 * kQuiet - 1);
    Bits bits;
    std::memcpy(&bits, &value, sizeof(T));
    if ((bits & (~Bits{0} >> 1)) > kInfinity) bits |= kQuiet;
    std::memcpy(&value, &bits, sizeof(T));
  }
  return static_cast<double>(value);
}

// Writes to where the call is put together: copying a struct right after its
// fields were stored stalls on store forwarding, which took a quarter of the
// time of a 16x16x16 product (Zen 5).
template <typename T>
void Erase(const Matrix<T>& matrix, ErasedMatrix* erased) {
  erased->data = matrix.data();
  erased->scalar = ScalarOf<T>();
  erased->data_is_const = matrix.data_is_const();
  erased->cache_policy = matrix.cache_policy();
  erased->value_range = matrix.value_range();
  // A float zero point is only ever compared with 0.
  erased->zero_point_is_integer =
      std::is_integral<T>::value || ExactDouble(matrix.zero_point()) == 0;
  erased->zero_point = std::is_integral<T>::value
                           ? static_cast<std::int32_t>(matrix.zero_point())
                           : 0;
  erased->layout = matrix.layout();
  erased->packed = nullptr;
}

// Validates and runs a call.
RUY_LIKE_EXPORT absl::Status MulErased(const MulCall& call, Context* context);

// Errors; these take no memory where there is none.
RUY_LIKE_EXPORT absl::Status NullArgument(const char* name);
RUY_LIKE_EXPORT absl::Status NoMemory();

// Completes a call that has its operands.
template <typename Accum, typename Dst>
void CompleteCall(const MulParams<Accum, Dst>& mul_params,
                  const Matrix<Dst>& dst, int max_num_threads, MulCall* call) {
  Erase(dst, &call->dst);
  call->channel_dimension = mul_params.channel_dimension();
  call->quantized = MulParams<Accum, Dst>::kQuantized;
  call->accum_scalar = ScalarOf<Accum>();
  call->bias = mul_params.bias();
  call->fixedpoint = mul_params.multiplier_fixedpoint();
  call->exponent = mul_params.multiplier_exponent();
  call->fixedpoint_perchannel = mul_params.multiplier_fixedpoint_perchannel();
  call->exponent_perchannel = mul_params.multiplier_exponent_perchannel();
  call->lhs_scale = mul_params.lhs_scale();
  call->rhs_scale = mul_params.rhs_scale();
  call->lhs_scale_perrow = mul_params.lhs_scale_perrow();
  call->rhs_scale_percol = mul_params.rhs_scale_percol();
  call->beta = ExactDouble(mul_params.beta());
  call->clamp_min = ExactDouble(mul_params.clamp_min());
  call->clamp_max = ExactDouble(mul_params.clamp_max());
  call->max_num_threads = max_num_threads;
}

// Mul of a Matrix or PackedMatrix of elements Lhs and one of elements Rhs,
// which `call` has.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
absl::Status MulOperands(const MulParams<Accum, Dst>& mul_params,
                         Context* context, Matrix<Dst>* dst,
                         const MulOptions& options, MulCall* call) {
  static_assert(TypesAreSupported<Lhs, Rhs, Accum, Dst>(),
                "no such product: see the README's type table");
  if (context == nullptr) return NullArgument("context");
  if (dst == nullptr) return NullArgument("dst");
  CompleteCall(mul_params, *dst, options.max_num_threads, call);
  return MulErased(*call, context);
}

}  // namespace internal

// dst = epilogue((lhs - lhs zero point) * (rhs - rhs zero point)), where
// MulParams describes the epilogue. lhs is M x K, rhs K x N, dst M x N; each in
// either memory order with any stride. Types as in the README's table; any
// other combination does not compile.
//
// Returns InvalidArgument or OutOfRange, with dst untouched, for bad arguments
// (the message names the operand and the values), ResourceExhausted when memory
// cannot be had, for packing or for a message. Never aborts and never throws.
// An empty dst is OK and a no-op; K = 0 gives the epilogue of zero
// accumulators.
//
// The caller's floating-point environment does not count and is left as it was:
// all threads round to nearest and nothing traps, whatever is unmasked; no
// exception flag is raised (doc/numerics.md).
//
// Several threads may call Mul with one Context: the calls then take turns.
// With distinct Contexts they run side by side. FailedPrecondition where
// waiting for the turn could deadlock (Context::mutable_thread_pool).
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
absl::Status Mul(const Matrix<Lhs>& lhs, const Matrix<Rhs>& rhs,
                 const MulParams<Accum, Dst>& mul_params, Context* context,
                 Matrix<Dst>* dst, const MulOptions& options = MulOptions()) {
  MulCall call;
  internal::Erase(lhs, &call.lhs);
  internal::Erase(rhs, &call.rhs);
  return internal::MulOperands<Lhs, Rhs>(mul_params, context, dst, options,
                                         &call);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_MUL_H_
