// Quantization toolkit, part of the public headers: a sum of doubles without
// rounding. Not for callers' use.
//
// Observer adds up its moments in it: the result of merging observers then does
// not depend on the order in which they are merged.
#ifndef RUY_LIKE_QUANTIZE_NUMBERS_EXACT_SUM_H_
#define RUY_LIKE_QUANTIZE_NUMBERS_EXACT_SUM_H_

#include <array>
#include <cstdint>

#include "ruy_like/export.h"

namespace ruy_like::quantize_internal {

// A fixed-point number of digits of 32 bits, from 2^-384 up to 2^352. It holds
// any sum of fewer than 2^63 floats or squares of floats, or of sums of those
// that were rounded to double.
class RUY_LIKE_EXPORT ExactSum final {
 public:
  // The first is worth 2^-384; all are in [0, 2^32), but that the last is -1
  // for a negative sum.
  static constexpr int kDigits = 23;
  using Digits = std::array<std::int64_t, kDigits>;

  ExactSum() = default;
  explicit ExactSum(const Digits& digits) : digits_(digits) {}
  // True if these are the digits of a sum as above.
  static bool AreDigits(const Digits& digits);
  Digits digits() const;

  // value is 0 or at least 2^-298 in magnitude, and at most 2^288.
  void Add(double value);
  void Add(const ExactSum& other);
  // Within two units in the last place; the same for the same sum.
  double value() const;

 private:
  static constexpr int kLowestExponent = -384;

  // Leaves each digit but the highest in [0, 2^32): one form for one number.
  void Normalize();

  Digits digits_ = {};
  // Since the last Normalize, each adding less than 2^32 to a digit.
  std::int32_t additions_ = 0;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_NUMBERS_EXACT_SUM_H_
