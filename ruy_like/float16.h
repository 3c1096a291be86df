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
RUY_LIKE_FLOAT16_INLINE constexpr uint16_t RoundToFloat16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) {
    return static_cast<uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x1ff));
  }
  // 65520 is half-way between 65504 and 2^16: the tie rounds up, to infinity.
  if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
  // From 2^-14 on the exponent's bias goes from 127 to 15; a carry out of the
  // mantissa correctly raises the exponent.
  if (magnitude >= 0x38800000) {
    const uint32_t rounded = magnitude + 0x0fff + (magnitude >> 13 & 1);
    return static_cast<uint16_t>(sign | (rounded - 0x38000000) >> 13);
  }
  // A denormal is a multiple of 2^-24; up to half of that is 0.
  if (magnitude <= 0x33000000) return static_cast<uint16_t>(sign);
  const uint32_t mantissa = (magnitude & 0x007fffff) | 0x00800000;
  const uint32_t shift = 126 - (magnitude >> 23);  // 14 .. 24
  const uint32_t rest = mantissa & ((uint32_t{1} << shift) - 1);
  const uint32_t half = uint32_t{1} << (shift - 1);
  const uint32_t whole = mantissa >> shift;
  const uint32_t up = rest > half || (rest == half && (whole & 1) != 0);
  return static_cast<uint16_t>(sign | (whole + up));
}
RUY_LIKE_FLOAT16_INLINE constexpr uint32_t WidenFloat16(uint16_t bits) {
  const uint32_t sign = (bits & uint32_t{0x8000}) << 16;
  uint32_t exponent = bits >> 10 & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0x1f) {
    return sign | 0x7f800000 | mantissa << 13 |
           (mantissa != 0 ? 0x00400000 : 0);
  }
  if (exponent == 0) {
    if (mantissa == 0) return sign;
    for (exponent = 1; (mantissa & 0x400) == 0; --exponent) mantissa <<= 1;
  }
  // The exponent may have wrapped below 0; the sum has not.
  return sign | (exponent + 112) << 23 | (mantissa & 0x3ff) << 13;
}

// The common base: Type is the derived type, kInfinity the bits of infinity.
template <typename Type, uint16_t kInfinity, uint16_t (*kRound)(uint32_t bits),
          uint32_t (*kWiden)(uint16_t bits)>
struct Float16Base {
  uint16_t bits;

  // The element with these bits.
  static constexpr Type FromBits(uint16_t from) {
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
    return FromBits(value.bits ^ 0x8000);
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
  Float16Base() = default;
  RUY_LIKE_FLOAT16_INLINE explicit Float16Base(float value)
      : bits(kRound(BitsOfFloat(value))) {}

 private:
  static constexpr int MagnitudeOf(Type value) { return value.bits & 0x7fff; }
  static constexpr bool IsOrdered(Type a, Type b) {
    return MagnitudeOf(a) <= kInfinity && MagnitudeOf(b) <= kInfinity;
  }
  // Keys compare as the values do.
  static constexpr int KeyOf(Type value) {
    return (value.bits & 0x8000) != 0 ? -MagnitudeOf(value)
                                      : MagnitudeOf(value);
  }
};

}  // namespace float16_internal

// Trivial types: indeterminate without an initializer; BFloat16() is 0.
struct BFloat16 final
    : public float16_internal::Float16Base<BFloat16, 0x7f80,
                                           float16_internal::RoundToBFloat16,
                                           float16_internal::WidenBFloat16> {
  BFloat16() = default;
  // The nearest value, ties to even. Denormals stay, what is too large
  // becomes infinite, a NaN stays one. Other types are first rounded to float.
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  RUY_LIKE_FLOAT16_INLINE explicit BFloat16(T value)
      : Float16Base(static_cast<float>(value)) {}
};

struct Float16 final
    : public float16_internal::Float16Base<Float16, 0x7c00,
                                           float16_internal::RoundToFloat16,
                                           float16_internal::WidenFloat16> {
  Float16() = default;
  // As for BFloat16.
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  RUY_LIKE_FLOAT16_INLINE explicit Float16(T value)
      : Float16Base(static_cast<float>(value)) {}
};

static_assert(sizeof(BFloat16) == 2 && alignof(BFloat16) == 2, "");
static_assert(sizeof(Float16) == 2 && alignof(Float16) == 2, "");

namespace float16_internal {

// std::numeric_limits except for digits and exponents; the arguments are bits.
template <typename Type, uint16_t kMin, uint16_t kMax, uint16_t kEpsilon,
          uint16_t kHalf, uint16_t kInfinity>
struct Float16Limits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int radix = 2;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;

  static constexpr Type min() noexcept { return Type::FromBits(kMin); }
  static constexpr Type max() noexcept { return Type::FromBits(kMax); }
  static constexpr Type lowest() noexcept { return -max(); }
  static constexpr Type epsilon() noexcept { return Type::FromBits(kEpsilon); }
  static constexpr Type round_error() noexcept { return Type::FromBits(kHalf); }
  static constexpr Type infinity() noexcept {
    return Type::FromBits(kInfinity);
  }
  // With one payload bit: the top one if quiet, else the next.
  static constexpr Type quiet_NaN() noexcept {
    return Type::FromBits(kInfinity | kMin >> 1);
  }
  static constexpr Type signaling_NaN() noexcept {
    return Type::FromBits(kInfinity | kMin >> 2);
  }
  static constexpr Type denorm_min() noexcept { return Type::FromBits(1); }
};

}  // namespace float16_internal

}  // namespace ruy_like

namespace std {

template <>
class numeric_limits<ruy_like::BFloat16>
    : public ruy_like::float16_internal::Float16Limits<
          ruy_like::BFloat16, 0x0080, 0x7f7f, 0x3c00, 0x3f00, 0x7f80> {
 public:
  static constexpr bool is_iec559 = false;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int min_exponent = -125;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;
};

template <>
class numeric_limits<ruy_like::Float16>
    : public ruy_like::float16_internal::Float16Limits<
          ruy_like::Float16, 0x0400, 0x7bff, 0x1400, 0x3800, 0x7c00> {
 public:
  static constexpr bool is_iec559 = true;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
};

}  // namespace std

#undef RUY_LIKE_FLOAT16_INLINE

#endif  // RUY_LIKE_FLOAT16_H_
