// Internal, but installed: the arguments of one call of Mul without their
// types, and the functions that fill them in.
//
// Used by the public headers' templates in the caller's program; read by the
// front-end. It has rows, columns and orders as the caller gave them, for
// validation and error messages. Products that are not in scalar.h's list do
// not compile here.
#ifndef RUY_LIKE_ERASED_CALL_H_
#define RUY_LIKE_ERASED_CALL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/path.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

struct PackedOperand;  // packed/packed_operand.h

// A zero point that a matrix of floats must not have.
constexpr std::int32_t kNotZero = std::numeric_limits<std::int32_t>::min();

// A Matrix<T> without T. If it is packed, its layout has only a shape.
struct ErasedMatrix {
  const void* data;
  Scalar scalar;
  bool data_is_const;
  CachePolicy cache_policy;
  ValueRange value_range = ValueRange::kFull;
  std::int32_t zero_point;  // kNotZero for any of floats but 0
  Layout layout;
  // Null for a Matrix; for a PackedMatrix, used in place of data.
  const PackedOperand* packed = nullptr;
};

// Mul's arguments without their types. What calls that are kept are compared
// by comes first (front/kept_calls.h), in one run of bytes.
struct MulCall {
  ErasedMatrix lhs, rhs, dst;
  ChannelDimension channel_dimension;
  FloatSums float_sums;
  bool quantized;
  Family family;
  Scalar accum_scalar;
  MultiplierRounding rounding = MultiplierRounding::kOnce;
  // True if `lengths` is set.
  bool has_lengths = false;
  // Set by callers that have validated the call themselves: it is not checked
  // again. max_exponent is then an upper bound on the exponents.
  bool is_valid = false;
  std::int8_t max_exponent = 0;
  // Upper bound for this call; 0: none but the Context's.
  int max_num_threads = 0;
  double beta;  // exact, like the bounds
  // Clamp bounds: every dst type's values are exact in a double.
  double clamp_min, clamp_max;
  // Null for none; else factor and residual are where the elements of its
  // operands are.
  const PostOps* post_ops = nullptr;
  const void* bias;
  const std::int32_t* fixedpoint_perchannel;
  const std::int32_t* exponent_perchannel;
  // For a scaled dst.
  const float* lhs_scale_perrow;
  const float* rhs_scale_percol;
  // MulParams::GetLengths().
  std::ptrdiff_t lengths[internal::kChannelArrayCount];
  // Per-tensor values, used where the array is null.
  std::int32_t fixedpoint;
  std::int32_t exponent;
  float lhs_scale, rhs_scale;
  const void *factor, *residual;
  // For family kGroupScaled: how activations are quantized; the zero points of
  // int8 ones, per column (per row, where they are the lhs) or null.
  ActivationScales activation_scales = ActivationScales::kPerColumn;
  const std::int8_t* activation_zero_points = nullptr;
  // For MulExperts. Scales of int8 activations per group and column, or null.
  const float* activation_group_scales = nullptr;
  // Columns of dst are not those of the rhs: not compared with each other.
  bool columns_are_routed = false;
};

namespace internal {

template <typename T>
using BitsOfSize = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<
        sizeof(T) == 4, std::uint32_t,
        std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

// The value as a double, exactly. A signalling NaN is first made a quiet one,
// by its bits: converting or comparing it would raise an exception in the
// caller's code, where the library has not masked any yet. (Narrow floats do
// that themselves.)
template <typename T>
double ExactDouble(T value) {
  if constexpr (IsFloatType<T>() && !IsNarrowFloat(ScalarOf<T>())) {
    static_assert(std::numeric_limits<T>::is_specialized,
                  "the bits of NaN depend on the digits of the mantissa");
    using Bits = BitsOfSize<T>;
    static_assert(sizeof(T) == sizeof(Bits), "a sign and one of these sizes");
    constexpr Bits kQuiet = Bits{1} << (std::numeric_limits<T>::digits - 2);
    constexpr Bits kInfinity = (~Bits{0} >> 1) - (2 * kQuiet - 1);
    Bits bits;
    std::memcpy(&bits, &value, sizeof(T));
    if ((bits & (~Bits{0} >> 1)) > kInfinity) bits |= kQuiet;
    std::memcpy(&value, &bits, sizeof(T));
  }
  return static_cast<double>(value);
}

// True for 0 and -0, by their bits: comparing a NaN could raise an exception.
template <typename T>
bool IsZero(T value) {
  BitsOfSize<T> bits;
  std::memcpy(&bits, &value, sizeof(T));
  return static_cast<BitsOfSize<T>>(bits << 1) == 0;
}

// Writes in place instead of returning: copying a struct right after its
// fields were stored stalls on store forwarding, which took a quarter of the
// time of a 16x16x16 product (Zen 5).
template <typename T>
void Erase(const Matrix<T>& matrix, ErasedMatrix* erased) {
  erased->data = matrix.data();
  erased->scalar = ScalarOf<T>();
  erased->data_is_const = matrix.data_is_const();
  erased->cache_policy = matrix.cache_policy();
  erased->value_range = matrix.value_range();
  const auto zero_point = matrix.zero_point();
  erased->zero_point = !IsFloatType<T>() ? static_cast<std::int32_t>(zero_point)
                       : IsZero(zero_point) ? 0
                                            : kNotZero;
  // Not as a whole, which GCC copies in vectors from where the caller has just
  // stored the fields: that stalls, too (15 of the 100 ns of a 4x4x4 product).
  const Layout& layout = matrix.layout();
  erased->layout.set_rows(layout.rows());
  erased->layout.set_cols(layout.cols());
  erased->layout.set_stride(layout.stride());
  erased->layout.set_order(layout.order());
  erased->packed = nullptr;
}

inline void SetPostOps(const PostOps* post_ops, MulCall* call) {
  call->post_ops = post_ops;
  if (post_ops == nullptr) return;
  call->factor = post_ops->factor.data();
  call->residual = post_ops->residual.data();
}

// Fills in all but the operands, of element types Lhs and Rhs. Products that
// are not in the list do not compile: CheckTypes() in mul.h says why.
template <typename Lhs, typename Rhs, typename Accum, typename Dst>
void CompleteCall(const MulParams<Accum, Dst>& mul_params,
                  const Matrix<Dst>& dst, int max_num_threads, MulCall* call) {
  constexpr Family kFamily = FamilyOf(ScalarOf<Lhs>(), ScalarOf<Rhs>(),
                                      ScalarOf<Accum>(), ScalarOf<Dst>());
  Erase(dst, &call->dst);
  call->channel_dimension = mul_params.channel_dimension();
  call->float_sums = mul_params.float_sums();
  call->quantized = MulParams<Accum, Dst>::kQuantized;
  call->family = kFamily;
  call->accum_scalar = ScalarOf<Accum>();
  call->bias = mul_params.bias();
  call->fixedpoint = mul_params.multiplier_fixedpoint();
  call->exponent = mul_params.multiplier_exponent();
  call->fixedpoint_perchannel = mul_params.multiplier_fixedpoint_perchannel();
  call->exponent_perchannel = mul_params.multiplier_exponent_perchannel();
  call->rounding = mul_params.multiplier_rounding();
  call->lhs_scale = mul_params.lhs_scale();
  call->rhs_scale = mul_params.rhs_scale();
  call->lhs_scale_perrow = mul_params.lhs_scale_perrow();
  call->rhs_scale_percol = mul_params.rhs_scale_percol();
  call->has_lengths = mul_params.GetLengths(call->lengths);
  SetPostOps(mul_params.post_ops(), call);
  call->beta = ExactDouble(mul_params.beta());
  call->clamp_min = ExactDouble(mul_params.clamp_min());
  call->clamp_max = ExactDouble(mul_params.clamp_max());
  call->max_num_threads = max_num_threads;
}

// to[i] = table[from[i]] of n bytes, by the best of the permitted paths and on
// this thread; `table` has 256 elements, `to` may be `from`.
RUY_LIKE_EXPORT void LookUpBytes(const std::uint8_t* table,
                                 const std::uint8_t* from, std::ptrdiff_t n,
                                 Path permitted, std::uint8_t* to);

}  // namespace internal

}  // namespace ruy_like

#endif  // RUY_LIKE_ERASED_CALL_H_
