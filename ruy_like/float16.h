// Public: element types of 16 bits, BFloat16 and Float16.
//
// They hold values and convert; all arithmetic is done in float. The kernels
// have conversions of their own, with the same results.
//
//             sign exponent mantissa   range of normal values   precision
//   BFloat16    1      8        7      float's                  2^-8
//   Float16     1      5       10      2^-14 to 65504           2^-11
//
// Both are what other libraries have under such names: two bytes with two
// bytes' alignment, in the machine's byte order, Float16 as in IEEE 754
// (binary16), BFloat16 the upper half of a float (binary32). So a pointer to
// another library's elements may be passed after a cast:
//
//   const auto* weights = reinterpret_cast<const ruy_like::BFloat16*>(theirs);
//
// That is safe for calls of the library, which is compiled apart. A program
// that itself accesses such memory through both types breaks C++'s aliasing
// rule.
#ifndef RUY_LIKE_FLOAT16_H_
#define RUY_LIKE_FLOAT16_H_

#include <stdint.h>
#include <string.h>

#include <limits>
#include <type_traits>

// Conversions leave no symbol behind that the linker could merge with one of
// code built for another instruction set.
#define RUY_LIKE_FLOAT16_INLINE __attribute__((always_inline))

namespace ruy_like {

struct BFloat16;
struct Float16;

// The common base and its helpers, in a namespace of their own:
// argument-dependent lookup also searches the namespace of a base class.
namespace float16_internal {

RUY_LIKE_FLOAT16_INLINE inline uint32_t BitsOfFloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
RUY_LIKE_FLOAT16_INLINE inline float FloatOfBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// From a float's bits to the nearest 16-bit value's, ties to even, and back.
// NaNs become quiet and keep the upper bits of their payload.
RUY_LIKE_FLOAT16_INLINE constexpr uint16_t RoundToBFloat16(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) {
    return static_cast<uint16_t>(bits >> 16 | 0x0040);
  }
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
RUY_LIKE_FLOAT16_INLINE constexpr uint32_t WidenBFloat16(uint16_t bits) {
  const bool is_nan = (bits & 0x7fff) > 0x7f80;
  return (static_cast<uint32_t>(bits) | (is_nan ? 0x0040 : 0)) << 16;
}
// The same of a format with so many bits of mantissa and that bias of the
// exponent, without sign: of finite magnitudes, and from them. What is too
// large for the format becomes more than its largest value's bits.
template <int kMantissaBits, int kBias>
RUY_LIKE_FLOAT16_INLINE constexpr uint32_t RoundMagnitude(uint32_t magnitude) {
  constexpr int kShift = 23 - kMantissaBits;
  constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
  // A carry out of the mantissa correctly raises the exponent.
  if (magnitude >= kRebias + (1 << 23)) {
    const uint32_t half = uint32_t{1} << (kShift - 1);
    return (magnitude + half - 1 + (magnitude >> kShift & 1) - kRebias) >>
           kShift;
  }
  // A denormal is a multiple of the least one; less than half of that is 0.
  const uint32_t shift = 128 - kBias + kShift - (magnitude >> 23);
  if (shift > 24) return 0;
  const uint32_t mantissa = (magnitude & 0x007fffff) | 0x00800000;
  const uint32_t rest = mantissa & ((uint32_t{1} << shift) - 1);
  const uint32_t half = uint32_t{1} << (shift - 1);
  const uint32_t whole = mantissa >> shift;
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}
template <int kMantissaBits, int kBias>
RUY_LIKE_FLOAT16_INLINE constexpr uint32_t WidenMagnitude(uint32_t magnitude) {
  constexpr uint32_t kOne = uint32_t{1} << kMantissaBits;
  uint32_t exponent = magnitude >> kMantissaBits;
  if (exponent == 0) {
    if (magnitude == 0) return 0;
    for (exponent = 1; (magnitude & kOne) == 0; --exponent) magnitude <<= 1;
  }
  // The exponent may have wrapped below 0; the sum has not.
  return (exponent + 127 - kBias) << 23 | (magnitude & (kOne - 1))
                                              << (23 - kMantissaBits);
}

RUY_LIKE_FLOAT16_INLINE constexpr uint16_t RoundToFloat16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
  }
  const uint32_t rounded = RoundMagnitude<10, 15>(magnitude);
  return static_cast<uint16_t>(sign | (rounded < 0x7c00 ? rounded : 0x7c00));
}
RUY_LIKE_FLOAT16_INLINE constexpr uint32_t WidenFloat16(uint16_t bits) {
  const uint32_t sign = (bits & uint32_t{0x8000}) << 16;
  const uint32_t mantissa = bits & 0x3ff;
  if ((bits & 0x7c00) == 0x7c00) {
    return sign | 0x7f800000 | mantissa << 13 |
           (mantissa != 0 ? 0x00400000 : 0);
  }
  return sign | WidenMagnitude<10, 15>(bits & 0x7fff);
}

// The common base, of 8-bit floats (float8.h), too: Type is the derived type,
// kLargest the bits of infinity, or of the largest value if there is none.
template <typename Type, typename Bits, Bits kLargest,
          Bits (*kRound)(uint32_t bits), uint32_t (*kWiden)(Bits bits)>
struct NarrowFloatBase {
  Bits bits;

  // The element with these bits.
  static constexpr Type FromBits(Bits from) {
    Type result{};
    result.bits = from;
    return result;
  }

  // To float, which is exact, then as C++ converts a float to T.
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  RUY_LIKE_FLOAT16_INLINE explicit operator T() const {
    return static_cast<T>(FloatOfBits(kWiden(bits)));
  }

  friend constexpr Type operator-(Type value) {
    return FromBits(static_cast<Bits>(value.bits ^ kSign));
  }
  // Unary + promotes to float, as it promotes narrow integers to int.
  friend float operator+(Type value) { return static_cast<float>(value); }

  // As for floats: 0 is equal to -0, a NaN to nothing.
  friend constexpr bool operator==(Type a, Type b) {
    return IsOrdered(a, b) && KeyOf(a) == KeyOf(b);
  }
  friend constexpr bool operator!=(Type a, Type b) { return !(a == b); }
  friend constexpr bool operator<(Type a, Type b) {
    return IsOrdered(a, b) && KeyOf(a) < KeyOf(b);
  }
  friend constexpr bool operator>(Type a, Type b) { return b < a; }
  friend constexpr bool operator<=(Type a, Type b) {
    return IsOrdered(a, b) && KeyOf(a) <= KeyOf(b);
  }
  friend constexpr bool operator>=(Type a, Type b) { return b <= a; }

 protected:
  NarrowFloatBase() = default;
  RUY_LIKE_FLOAT16_INLINE explicit NarrowFloatBase(float value)
      : bits(kRound(BitsOfFloat(value))) {}

 private:
  static constexpr int kSign = 1 << (8 * sizeof(Bits) - 1);
  static constexpr int MagnitudeOf(Type value) {
    return value.bits & (kSign - 1);
  }
  static constexpr bool IsOrdered(Type a, Type b) {
    return MagnitudeOf(a) <= kLargest && MagnitudeOf(b) <= kLargest;
  }
  // Keys compare as the values do.
  static constexpr int KeyOf(Type value) {
    return (value.bits & kSign) != 0 ? -MagnitudeOf(value) : MagnitudeOf(value);
  }
};

}  // namespace float16_internal

// Trivial types: indeterminate without an initializer; BFloat16() is 0.
struct BFloat16 final
    : public float16_internal::NarrowFloatBase<
          BFloat16, uint16_t, 0x7f80, float16_internal::RoundToBFloat16,
          float16_internal::WidenBFloat16> {
  BFloat16() = default;
  // The nearest value, ties to even. Denormals stay, what is too large
  // becomes infinite, a NaN stays one. Other types are first rounded to float.
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  RUY_LIKE_FLOAT16_INLINE explicit BFloat16(T value)
      : NarrowFloatBase(static_cast<float>(value)) {}
};

struct Float16 final
    : public float16_internal::NarrowFloatBase<Float16, uint16_t, 0x7c00,
                                               float16_internal::RoundToFloat16,
                                               float16_internal::WidenFloat16> {
  Float16() = default;
  // As for BFloat16.
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  RUY_LIKE_FLOAT16_INLINE explicit Float16(T value)
      : NarrowFloatBase(static_cast<float>(value)) {}
};

static_assert(sizeof(BFloat16) == 2 && alignof(BFloat16) == 2, "");
static_assert(sizeof(Float16) == 2 && alignof(Float16) == 2, "");

namespace float16_internal {

// std::numeric_limits of a format by its sizes. Without infinity its code and
// all but the last NaN's are numbers.
template <typename Type, int kMantissaBits, int kBias, bool kHasInfinity = true>
struct NarrowFloatLimits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = kHasInfinity;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = kHasInfinity;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_iec559 = false;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int radix = 2;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  // One more bit is implicit. log10(2) is 0.30103.
  static constexpr int digits = kMantissaBits + 1;
  static constexpr int digits10 = kMantissaBits * 30103 / 100000;
  static constexpr int max_digits10 = 2 + digits * 30103 / 100000;
  static constexpr int min_exponent = 2 - kBias;
  static constexpr int min_exponent10 = (min_exponent - 1) * 30103 / 100000;
  static constexpr int max_exponent = kBias + (kHasInfinity ? 1 : 2);
  static constexpr int max_exponent10 = max_exponent * 30103 / 100000;

  static constexpr Type min() noexcept { return Of(kOne); }
  static constexpr Type max() noexcept { return Of(kHighest - 1); }
  static constexpr Type lowest() noexcept { return -max(); }
  static constexpr Type epsilon() noexcept {
    return Of((kBias - kMantissaBits) * kOne);
  }
  static constexpr Type round_error() noexcept {
    return Of((kBias - 1) * kOne);
  }
  static constexpr Type infinity() noexcept {
    return Of(kHasInfinity ? kHighest : 0);
  }
  // With one payload bit: the top one if quiet, else the next.
  static constexpr Type quiet_NaN() noexcept {
    return Of(kHighest | (kHasInfinity ? kOne / 2 : 0));
  }
  static constexpr Type signaling_NaN() noexcept {
    return Of(kHighest | (kHasInfinity ? kOne / 4 : 0));
  }
  static constexpr Type denorm_min() noexcept { return Of(1); }

 private:
  static constexpr int kOne = 1 << kMantissaBits;
  // The bits behind those of the largest finite value.
  static constexpr int kHighest =
      (1 << (8 * sizeof(Type) - 1)) - (kHasInfinity ? kOne : 1);
  static constexpr Type Of(int bits) {
    return Type::FromBits(static_cast<decltype(Type::bits)>(bits));
  }
};

}  // namespace float16_internal

}  // namespace ruy_like

namespace std {

template <>
class numeric_limits<ruy_like::BFloat16>
    : public ruy_like::float16_internal::NarrowFloatLimits<ruy_like::BFloat16,
                                                           7, 127> {};
template <>
class numeric_limits<ruy_like::Float16>
    : public ruy_like::float16_internal::NarrowFloatLimits<ruy_like::Float16,
                                                           10, 15> {
 public:
  static constexpr bool is_iec559 = true;
};

}  // namespace std

#undef RUY_LIKE_FLOAT16_INLINE

#endif  // RUY_LIKE_FLOAT16_H_
