// Base: size arithmetic that does not wrap: it reports overflow, or saturates.
//
// Used by the front-end's validation and wherever bytes are added up.
// Nothing here allocates or fails otherwise.
#ifndef RUY_LIKE_BASE_CHECKED_MATH_H_
#define RUY_LIKE_BASE_CHECKED_MATH_H_

#include <cstddef>
#include <type_traits>

namespace ruy_like {

// *result = a + b. False, with *result unspecified, if that does not fit T.
template <typename T>
[[nodiscard]] inline bool CheckedAdd(T a, T b, T* result) {
  static_assert(std::is_integral<T>::value, "");
  return !__builtin_add_overflow(a, b, result);
}

// *result = a * b, likewise.
template <typename T>
[[nodiscard]] inline bool CheckedMul(T a, T b, T* result) {
  static_assert(std::is_integral<T>::value, "");
  return !__builtin_mul_overflow(a, b, result);
}

// a + b and a * b, or the largest value where that does not fit: for sums of
// sizes, of which no memory has that many bytes. (On a 32-bit machine two
// packed operands that are each addressable may well not be so together.)
constexpr std::size_t SaturatingAdd(std::size_t a, std::size_t b) {
  return a > ~std::size_t{0} - b ? ~std::size_t{0} : a + b;
}
constexpr std::size_t SaturatingMul(std::size_t a, std::size_t b) {
  return b != 0 && a > ~std::size_t{0} / b ? ~std::size_t{0} : a * b;
}

// a rounded up to a multiple of b, a power of two; a >= 0. Without a division,
// which takes as long as 20 to 90 other instructions.
constexpr std::ptrdiff_t RoundUpToPowerOf2(std::ptrdiff_t a, std::ptrdiff_t b) {
  return (a + b - 1) & -b;
}

// a / b, rounded up; a >= 0, b > 0.
constexpr std::ptrdiff_t CeilDiv(std::ptrdiff_t a, std::ptrdiff_t b) {
  return a / b + (a % b != 0);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_CHECKED_MATH_H_
