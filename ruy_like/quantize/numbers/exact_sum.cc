#include "ruy_like/quantize/numbers/exact_sum.h"

#include <cmath>

namespace ruy_like::quantize_internal {

void ExactSum::Add(double value) {
  if (value == 0) return;
  int exponent;
  const double fraction = std::frexp(value, &exponent);
  const auto mantissa =
      static_cast<std::uint64_t>(std::ldexp(std::fabs(fraction), 53));
  const int place = exponent - 53 - kLowestExponent;
  // 53 bits, shifted by up to 31, are three digits: more than the widest
  // integer of a 32-bit machine, hence in two halves.
  constexpr std::uint64_t kMask = 0xffffffff;
  const std::uint64_t low = (mantissa & kMask) << (place % 32);
  const std::uint64_t high = ((mantissa >> 32) << (place % 32)) + (low >> 32);
  const std::int64_t sign = value < 0 ? -1 : 1;
  std::int64_t* const digit = &digits_[place / 32];
  digit[0] += sign * static_cast<std::int64_t>(low & kMask);
  digit[1] += sign * static_cast<std::int64_t>(high & kMask);
  digit[2] += sign * static_cast<std::int64_t>(high >> 32);
  if (++additions_ == 1 << 30) Normalize();
}

void ExactSum::Add(const ExactSum& other) {
  ExactSum normal = other;
  normal.Normalize();
  Normalize();
  for (int i = 0; i < kDigits; ++i) digits_[i] += normal.digits_[i];
  Normalize();
}

double ExactSum::value() const {
  const Digits normal = digits();
  double sum = 0;
  for (int i = kDigits - 1; i >= 0; --i) {
    sum += std::ldexp(static_cast<double>(normal[i]), kLowestExponent + 32 * i);
  }
  return sum;
}

ExactSum::Digits ExactSum::digits() const {
  ExactSum normal = *this;
  normal.Normalize();
  return normal.digits_;
}

bool ExactSum::AreDigits(const Digits& digits) {
  for (int i = 0; i < kDigits - 1; ++i) {
    if (digits[i] < 0 || digits[i] >> 32 != 0) return false;
  }
  return digits.back() == 0 || digits.back() == -1;
}

void ExactSum::Normalize() {
  std::int64_t carry = 0;
  for (int i = 0; i < kDigits - 1; ++i) {
    const std::int64_t digit = digits_[i] + carry;
    carry = digit >> 32;
    digits_[i] = digit & 0xffffffff;
  }
  digits_[kDigits - 1] += carry;
  additions_ = 0;
}

}  // namespace ruy_like::quantize_internal
