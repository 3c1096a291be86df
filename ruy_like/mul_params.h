// Public: what Mul does with the accumulators of a product (MulParams).
#ifndef RUY_LIKE_MUL_PARAMS_H_
#define RUY_LIKE_MUL_PARAMS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/types/span.h"
#include "ruy_like/post_ops.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// How products with group-scaled weights make int8 of float activations:
// doc/numerics.md.
enum class ActivationScales : std::uint8_t {
  kPerColumn,  // one scale for each column (row, where they are the lhs)
  kPerGroup,  // one for each group of weights within it: more exact, and slower
};

// Along which dimension of dst bias and per-channel multipliers run: kRow means
// one value per row of dst.
enum class ChannelDimension : std::uint8_t { kRow, kCol };

// In which order the products of a floating-point element are added up.
//
// kInOrder, a Context's default: one after the other in order of depth. On a
// given path the bits of an element depend on its row of lhs and its column of
// rhs alone: not on the other rows and columns (the batch), on caching, nor on
// threads.
//
// kAnyOrder: any order may be taken, for speed: products of up to four columns
// (or rows) of floats whose large operand is contiguous along depth then add up
// several elements side by side. The bits may then depend on everything that
// the kernel is chosen by (path, shape, orders, cache policies), but still not
// on threads, nor on anything else that can differ between two equal calls.
//
// Either way, the computed sum of an element's `depth` products p differs from
// the exact one by at most depth * u * sum |p| / (1 - depth * u), where u is
// half of the type's epsilon (Higham, Accuracy and Stability of Numerical
// Algorithms, sections 3.1 and 4.2); sums side by side stay far below that.
//
// kOfContext, MulParams' default: as Context::set_float_sums says.
enum class FloatSums : std::uint8_t { kInOrder, kAnyOrder, kOfContext };

namespace internal {

// The arrays of MulParams that have one element per row or column of dst, by
// their places in an array of lengths.
enum ChannelArrayIndex {
  kBiasArray,
  kFixedPointArray,
  kExponentArray,
  kLhsScaleArray,
  kRhsScaleArray,
  kChannelArrayCount
};
constexpr std::ptrdiff_t kUnknownLength = -1;

// One of them as it is set: a pointer, or a span (or what converts to one).
template <typename T>
struct ChannelArray {
  ChannelArray(const T* pointer = nullptr) : data(pointer) {}  // NOLINT
  template <
      typename Values,
      typename = std::enable_if_t<
          std::is_convertible<const Values&, absl::Span<const T>>::value &&
          !std::is_array<Values>::value>>
  ChannelArray(const Values& values)  // NOLINT
      : data(absl::Span<const T>(values).data()),
        length(
            static_cast<std::ptrdiff_t>(absl::Span<const T>(values).size())) {}

  const T* data;
  std::ptrdiff_t length = kUnknownLength;
};

}  // namespace internal

// How sums become a quantized dst. By fixed-point multipliers: kOnce, as
// Requantize below, or kTwice, where those with negative exponents round with
// the bits of gemmlowp and of TensorFlow Lite before its single rounding, which
// differ by one at most (numerics.md). Or kFloat, by float scales in place of
// multipliers, with the bits of ONNX Runtime and XNNPACK.
enum class MultiplierRounding : std::uint8_t { kOnce, kTwice, kFloat };

// How accumulators become dst elements:
//
//   floating point:  dst = clamp(acc + beta * dst + bias)
//   raw int32 dst:   dst = clamp(acc + beta * dst + bias + dst zero point)
//   quantized dst:   dst = clamp(Requantize(acc + bias) + dst zero point)
//   with kFloat:     dst = clamp(round(float(acc + bias) * lhs scale
//                                * rhs scale) + dst zero point), ties to even
//   scaled dst:      dst = clamp(float(acc) * lhs scale * rhs scale
//                                + beta * dst + bias)
//
// The first and the last may also end in an activation, a product and a sum of
// matrices, a quantized one of 8 bits in a table: post_ops.h.
//
// Sums and products are taken from left to right, in the accumulators' type:
// modulo 2^32, or rounded one by one to float or double. The dst zero point,
// quantized or raw, is added exactly, as if in int64: that sum never wraps, and
// is then clamped.
//
//   Requantize(x) = (int64(x) * fixedpoint + (1 << (30 - exponent)))
//                       >> (31 - exponent)
//
// that is x * (fixedpoint / 2^31) * 2^exponent, rounded once, half toward
// +infinity, and saturated to int32. fixedpoint >= 0 and exponent in [-31, 30].
//
// A 16-bit float dst is rounded once, in the end, to nearest with ties to even.
//
// AccumScalar: int32_t for integer operands, else float or double. DstScalar:
// float, double, BFloat16 or Float16; with integer operands int8_t, uint8_t,
// int16_t (quantized), int32_t (raw) or float (scaled).
//
// Pointers are borrowed and must stay valid during Mul. Of an array that is set
// as a span (a std::vector converts to one) Mul checks the length: an error
// where it is not dst's number of rows or columns, whichever the array runs
// along. A MulParams may be used by several threads at once while nobody
// changes it.
template <typename AccumScalar_, typename DstScalar_>
class MulParams final {
 public:
  using AccumScalar = AccumScalar_;
  using DstScalar = DstScalar_;
  static constexpr bool kQuantized =
      !internal::IsFloatType<AccumScalar>() &&
      !internal::IsFloatType<DstScalar>() &&
      !std::is_same<AccumScalar, DstScalar>::value;
  static constexpr bool kScaled = !internal::IsFloatType<AccumScalar>() &&
                                  internal::IsFloatType<DstScalar>();
  static constexpr bool kHasScales = kScaled || kQuantized;
  using BiasScalar =
      typename std::conditional<kScaled, DstScalar, AccumScalar>::type;

  // One value per channel, or null for none.
  const BiasScalar* bias() const { return bias_.data; }
  void set_bias(internal::ChannelArray<BiasScalar> values) { bias_ = values; }

  ChannelDimension channel_dimension() const { return channel_dimension_; }
  void set_channel_dimension(ChannelDimension value) {
    channel_dimension_ = value;
  }

  // Inclusive bounds of dst's values; by default all that the type holds
  // (infinities for floating point).
  DstScalar clamp_min() const { return clamp_min_; }
  DstScalar clamp_max() const { return clamp_max_; }
  void set_clamp_min(DstScalar value) { clamp_min_ = value; }
  void set_clamp_max(DstScalar value) { clamp_max_ = value; }

  // One multiplier for the whole product. With neither part set it is 1; with
  // one part set, the other is 1 << 30 or exponent 0.
  std::int32_t multiplier_fixedpoint() const {
    return has_fixedpoint_ ? multiplier_fixedpoint_ : std::int32_t{1} << 30;
  }
  int multiplier_exponent() const {
    return has_exponent_ ? multiplier_exponent_ : (has_fixedpoint_ ? 0 : 1);
  }
  void set_multiplier_fixedpoint(std::int32_t value) {
    static_assert(kQuantized, "multipliers are for quantized dst");
    multiplier_fixedpoint_ = value;
    has_fixedpoint_ = true;
    set_multiplier_fixedpoint_perchannel(nullptr);
  }
  void set_multiplier_exponent(int value) {
    static_assert(kQuantized, "multipliers are for quantized dst");
    multiplier_exponent_ = value;
    has_exponent_ = true;
    set_multiplier_exponent_perchannel(nullptr);
  }

  // One multiplier per channel: both arrays or neither; Mul returns an error
  // when one of them is missing. A scalar setter resets its array.
  const std::int32_t* multiplier_fixedpoint_perchannel() const {
    return multiplier_fixedpoint_perchannel_.data;
  }
  const int* multiplier_exponent_perchannel() const {
    return multiplier_exponent_perchannel_.data;
  }
  void set_multiplier_fixedpoint_perchannel(
      internal::ChannelArray<std::int32_t> values) {
    static_assert(kQuantized, "multipliers are for quantized dst");
    multiplier_fixedpoint_perchannel_ = values;
  }
  void set_multiplier_exponent_perchannel(internal::ChannelArray<int> values) {
    static_assert(kQuantized, "multipliers are for quantized dst");
    multiplier_exponent_perchannel_ = values;
  }
  bool perchannel() const {
    return multiplier_fixedpoint_perchannel_.data != nullptr ||
           multiplier_exponent_perchannel_.data != nullptr;
  }

  MultiplierRounding multiplier_rounding() const { return rounding_; }
  void set_multiplier_rounding(MultiplierRounding value) {
    static_assert(kQuantized, "multipliers are for quantized dst");
    rounding_ = value;
  }

  // Scales of a scaled dst, and of a quantized one with
  // MultiplierRounding::kFloat: one for all of an operand, by default 1, or one
  // per row of lhs (of dst), one per column of rhs (of dst), in any mix.
  // Setting one form resets the other; null means no array. Any value is valid,
  // NaN and infinities too (in a quantized dst clamp_min stands for NaN).
  float lhs_scale() const { return lhs_scale_; }
  float rhs_scale() const { return rhs_scale_; }
  const float* lhs_scale_perrow() const { return lhs_scale_perrow_.data; }
  const float* rhs_scale_percol() const { return rhs_scale_percol_.data; }
  void set_lhs_scale(float value) {
    set_lhs_scale_perrow(nullptr);
    lhs_scale_ = value;
  }
  void set_rhs_scale(float value) {
    set_rhs_scale_percol(nullptr);
    rhs_scale_ = value;
  }
  void set_lhs_scale_perrow(internal::ChannelArray<float> values) {
    static_assert(kHasScales, "scales are for scaled or quantized dst");
    lhs_scale_perrow_ = values;
    lhs_scale_ = 1;
  }
  void set_rhs_scale_percol(internal::ChannelArray<float> values) {
    static_assert(kHasScales, "scales are for scaled or quantized dst");
    rhs_scale_percol_ = values;
    rhs_scale_ = 1;
  }

  // The order of floating-point sums; kOfContext by default.
  FloatSums float_sums() const { return float_sums_; }
  void set_float_sums(FloatSums value) {
    static_assert(internal::IsFloatType<AccumScalar>(),
                  "integer sums are the same in any order");
    float_sums_ = value;
  }

  // The factor of dst's old elements. With 0, the default, they are not read.
  // dst's zero point must be 0 with any other value.
  DstScalar beta() const { return beta_; }
  void set_beta(DstScalar value) {
    static_assert(!kQuantized, "quantized products do not accumulate");
    beta_ = value;
  }

  // Steps after the product, and zero points of rows and columns; null, the
  // default, for nothing.
  const PostOps* post_ops() const { return post_ops_; }
  void set_post_ops(const PostOps* value) { post_ops_ = value; }

  // For the library: copies the lengths of arrays, by ChannelArrayIndex,
  // kUnknownLength for those set as pointers; returns false if all were. (A
  // pointer to them would keep compilers from knowing the other fields'
  // values.)
  bool GetLengths(
      std::ptrdiff_t (&lengths)[internal::kChannelArrayCount]) const {
    lengths[internal::kBiasArray] = bias_.length;
    lengths[internal::kFixedPointArray] =
        multiplier_fixedpoint_perchannel_.length;
    lengths[internal::kExponentArray] = multiplier_exponent_perchannel_.length;
    lengths[internal::kLhsScaleArray] = lhs_scale_perrow_.length;
    lengths[internal::kRhsScaleArray] = rhs_scale_percol_.length;
    // Only kUnknownLength has all bits.
    return (lengths[0] & lengths[1] & lengths[2] & lengths[3] & lengths[4]) !=
           internal::kUnknownLength;
  }

 private:
  static_assert(std::numeric_limits<DstScalar>::is_specialized,
                "the default bounds of the clamp are the type's limits");
  static constexpr DstScalar LowestDst() {
    return std::numeric_limits<DstScalar>::has_infinity
               ? static_cast<DstScalar>(
                     -std::numeric_limits<DstScalar>::infinity())
               : std::numeric_limits<DstScalar>::lowest();
  }
  static constexpr DstScalar HighestDst() {
    return std::numeric_limits<DstScalar>::has_infinity
               ? std::numeric_limits<DstScalar>::infinity()
               : std::numeric_limits<DstScalar>::max();
  }

  internal::ChannelArray<BiasScalar> bias_;
  internal::ChannelArray<std::int32_t> multiplier_fixedpoint_perchannel_;
  internal::ChannelArray<int> multiplier_exponent_perchannel_;
  std::int32_t multiplier_fixedpoint_ = 0;
  int multiplier_exponent_ = 0;
  internal::ChannelArray<float> lhs_scale_perrow_, rhs_scale_percol_;
  float lhs_scale_ = 1;
  float rhs_scale_ = 1;
  const PostOps* post_ops_ = nullptr;
  DstScalar beta_ = DstScalar();
  bool has_fixedpoint_ = false;
  bool has_exponent_ = false;
  MultiplierRounding rounding_ = MultiplierRounding::kOnce;
  ChannelDimension channel_dimension_ = ChannelDimension::kRow;
  FloatSums float_sums_ = FloatSums::kOfContext;
  DstScalar clamp_min_ = LowestDst();
  DstScalar clamp_max_ = HighestDst();
};

}  // namespace ruy_like

#endif  // RUY_LIKE_MUL_PARAMS_H_
