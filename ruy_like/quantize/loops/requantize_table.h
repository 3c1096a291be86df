// Quantization toolkit, internal: multipliers taken apart into what the vector
// form of requantization needs (requantize-inl.h has the formula).
#ifndef RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_TABLE_H_
#define RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ruy_like/quantize/multiplier.h"

namespace ruy_like::quantize_internal {

// Vectors of per-channel values are loaded whole: arrays of them have at least
// this many elements more than there are channels.
constexpr std::size_t kChannelSlack = 32;

// Which steps of the formula the multipliers of a vector need.
enum class RequantizeForm : std::uint8_t {
  kRight,  // all have exponents below -1: left is 0, right is not
  kLeft,   // all others: right is 0
  kMixed,
};

// One multiplier.
struct RequantizeConstants {
  RequantizeConstants() = default;
  explicit RequantizeConstants(QuantizedMultiplier m) {
    // A left shift that saturates needs a fixed point of 2^30 or more.
    for (; m.exponent >= 0 && m.fixedpoint < 1 << 30; --m.exponent) {
      m.fixedpoint *= 2;
    }
    fixedpoint = m.fixedpoint;
    right = std::max(-1 - m.exponent, 0);
    round = right > 0 ? 1 << (right - 1) : 0;
    // Up to 30: one more would leave no positive number to saturate at.
    left = std::clamp(m.exponent + 1, 0, 30);
    lowest = std::numeric_limits<std::int32_t>::min() >> left;
    highest = std::numeric_limits<std::int32_t>::max() >> left;
    low_round = right > 0 ? 0 : std::numeric_limits<std::int32_t>::min();
  }
  RequantizeForm form() const {
    return right > 0 ? RequantizeForm::kRight : RequantizeForm::kLeft;
  }

  std::int32_t fixedpoint = 0, right = 0, round = 0, left = 0, lowest = 0,
               highest = 0, low_round = 0;
};

// One element per channel.
struct RequantizeTable {
  static constexpr std::size_t kArrays = 7;

  // Elements of the memory that the constructor takes.
  static std::size_t Elements(std::size_t channels) {
    return kArrays * (channels + kChannelSlack);
  }

  RequantizeTable() = default;
  RequantizeTable(std::int32_t* memory, std::size_t channels) {
    const std::size_t count = channels + kChannelSlack;
    for (std::int32_t** array :
         {&fixedpoint, &right, &round, &left, &lowest, &highest, &low_round}) {
      *array = memory;
      memory += count;
    }
    std::fill(fixedpoint, fixedpoint + kArrays * count, 0);
  }

  void Set(std::size_t channel, QuantizedMultiplier multiplier) {
    const RequantizeConstants constants(multiplier);
    fixedpoint[channel] = constants.fixedpoint;
    right[channel] = constants.right;
    round[channel] = constants.round;
    left[channel] = constants.left;
    lowest[channel] = constants.lowest;
    highest[channel] = constants.highest;
    low_round[channel] = constants.low_round;
    if (constants.form() != RequantizeForm::kRight) {
      form = RequantizeForm::kMixed;
    }
  }

  std::int32_t* fixedpoint = nullptr;
  std::int32_t* right = nullptr;
  std::int32_t* round = nullptr;
  std::int32_t* left = nullptr;
  std::int32_t* lowest = nullptr;
  std::int32_t* highest = nullptr;
  std::int32_t* low_round = nullptr;
  RequantizeForm form = RequantizeForm::kRight;
};

// What follows requantization.
struct QuantizedOutput {
  std::int32_t zero_point, lowest, highest;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_TABLE_H_
