// Public: element types of 8 bits, Float8E4M3 and Float8E5M2, as the Open
// Compute Project defines them (OFP8, revision 1.0).
//
//               sign exponent mantissa   range of normal values   infinity
//   Float8E4M3    1      4        3      2^-6 to 448              none
//   Float8E5M2    1      5        2      2^-14 to 57344           0x7c, 0xfc
//
// NaN is 0x7f and 0xff in Float8E4M3 (other libraries: e4m3fn); Float8E5M2 is
// the upper byte of a Float16. Both are exact in BFloat16 and in float, as
// which they are multiplied. They are operands, no results. Like the types of
// float16.h they hold values and convert, and pointers to other libraries'
// elements may be cast.
#ifndef RUY_LIKE_FLOAT8_H_
#define RUY_LIKE_FLOAT8_H_

#include <stdint.h>

#include <limits>
#include <type_traits>

#include "ruy_like/float16.h"

#define RUY_LIKE_FLOAT8_INLINE __attribute__((always_inline))

namespace ruy_like {
namespace float16_internal {

// kLargest: the bits of the largest finite value; the next ones are infinity,
// if there is one, and NaNs.
template <int kMantissaBits, int kBias, int kLargest, bool kHasInfinity>
struct Float8Format {
  template <bool kSaturates>
  RUY_LIKE_FLOAT8_INLINE static constexpr uint8_t Round(uint32_t bits) {
    const uint32_t sign = bits >> 24 & 0x80;
    const uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
      return static_cast<uint8_t>(sign | 0x7e | !kHasInfinity |
                                  (magnitude >> 21 & 1));
    }
    const uint32_t rounded = RoundMagnitude<kMantissaBits, kBias>(magnitude);
    constexpr uint32_t kMost = kSaturates ? kLargest : kLargest + 1;
    return static_cast<uint8_t>(sign | (rounded < kMost ? rounded : kMost));
  }
  RUY_LIKE_FLOAT8_INLINE static constexpr uint32_t Widen(uint8_t bits) {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
    const uint32_t magnitude = bits & 0x7f;
    if (magnitude <= kLargest) {
      return sign | WidenMagnitude<kMantissaBits, kBias>(magnitude);
    }
    if (kHasInfinity && magnitude == kLargest + 1) return sign | 0x7f800000;
    return sign | 0x7fc00000 | magnitude << (23 - kMantissaBits);
  }
};
typedef Float8Format<3, 7, 0x7e, false> FormatE4M3;
typedef Float8Format<2, 15, 0x7b, true> FormatE5M2;

template <typename Type, class Format, uint8_t kLargest>
struct Float8Base
    : NarrowFloatBase<Type, uint8_t, kLargest, Format::template Round<false>,
                      Format::Widen> {
  // As the constructor, but what is too large, infinity too, becomes the
  // largest finite value with its sign.
  RUY_LIKE_FLOAT8_INLINE static Type Saturated(float value) {
    return Type::FromBits(Format::template Round<true>(BitsOfFloat(value)));
  }

 protected:
  Float8Base() = default;
  RUY_LIKE_FLOAT8_INLINE explicit Float8Base(float value)
      : Float8Base::NarrowFloatBase(value) {}
};

}  // namespace float16_internal

// Trivial types: indeterminate without an initializer; Float8E4M3() is 0.
struct Float8E4M3 final
    : float16_internal::Float8Base<Float8E4M3, float16_internal::FormatE4M3,
                                   0x7e> {
  Float8E4M3() = default;
  // The nearest value, ties to even. What rounds to more than 448, infinity
  // too, becomes NaN. Other types are first rounded to float.
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  RUY_LIKE_FLOAT8_INLINE explicit Float8E4M3(T value)
      : Float8Base(static_cast<float>(value)) {}
};

struct Float8E5M2 final
    : float16_internal::Float8Base<Float8E5M2, float16_internal::FormatE5M2,
                                   0x7c> {
  Float8E5M2() = default;
  // The same; what rounds to more than 57344 becomes infinite.
  template <typename T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
  RUY_LIKE_FLOAT8_INLINE explicit Float8E5M2(T value)
      : Float8Base(static_cast<float>(value)) {}
};

static_assert(sizeof(Float8E4M3) == 1 && sizeof(Float8E5M2) == 1, "");

}  // namespace ruy_like

namespace std {

template <>
class numeric_limits<ruy_like::Float8E4M3>
    : public ruy_like::float16_internal::NarrowFloatLimits<
          ruy_like::Float8E4M3, 3, 7, /*kHasInfinity=*/false> {};
template <>
class numeric_limits<ruy_like::Float8E5M2>
    : public ruy_like::float16_internal::NarrowFloatLimits<ruy_like::Float8E5M2,
                                                           2, 15> {};

}  // namespace std

#undef RUY_LIKE_FLOAT8_INLINE

#endif  // RUY_LIKE_FLOAT8_H_
