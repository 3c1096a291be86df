// ruy_like::quantize, internal: multipliers taken apart into what the vector
// form of requantization needs (requantize-inl.h).
#ifndef RUY_LIKE_QUANTIZE_REQUANTIZE_TABLE_H_
#define RUY_LIKE_QUANTIZE_REQUANTIZE_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ruy_like/quantize/multiplier.h"

namespace ruy_like {
namespace quantize_internal {

// Vectors of per-channel values are loaded whole, so that arrays of them have
// at least this many elements more than there are channels.
constexpr std::size_t kChannelSlack = 32;

// Arrays with one element per channel; see requantize-inl.h.
struct RequantizeTable {
  static constexpr std::size_t kArrays = 7;

  // Elements of the memory that the constructor takes.
  static std::size_t Elements(std::size_t channels) {
    return kArrays * (channels + kChannelSlack);
  }

  RequantizeTable() = default;
  RequantizeTable(std::int32_t* memory, std::size_t channels)
      : count(channels + kChannelSlack) {
    for (std::int32_t** array :
         {&fixedpoint, &right, &round, &left, &lowest, &highest, &low_bit}) {
      *array = memory;
      memory += count;
    }
    std::fill(fixedpoint, fixedpoint + kArrays * count, 0);
  }

  void Set(std::size_t channel, QuantizedMultiplier multiplier) {
    const int e = multiplier.exponent;
    // Up to 30: one more would leave no positive number to saturate at.
    const int shift_left = std::clamp(e + 1, 0, 30);
    const int shift_right = std::max(-1 - e, 0);
    fixedpoint[channel] = multiplier.fixedpoint;
    left[channel] = shift_left;
    lowest[channel] = std::numeric_limits<std::int32_t>::min() >> shift_left;
    highest[channel] = std::numeric_limits<std::int32_t>::max() >> shift_left;
    right[channel] = shift_right;
    round[channel] = shift_right > 0 ? 1 << (shift_right - 1) : 0;
    low_bit[channel] = shift_right > 0 ? 0 : 1;
    if (shift_right == 0) general = true;
  }

  std::size_t count = 0;
  std::int32_t* fixedpoint = nullptr;
  std::int32_t* right = nullptr;
  std::int32_t* round = nullptr;
  std::int32_t* left = nullptr;
  std::int32_t* lowest = nullptr;
  std::int32_t* highest = nullptr;
  std::int32_t* low_bit = nullptr;
  // Whether any multiplier has an exponent >= -1, so that left or low_bit
  // matters.
  bool general = false;
};

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_REQUANTIZE_TABLE_H_
