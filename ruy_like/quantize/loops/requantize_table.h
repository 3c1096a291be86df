// Quantization toolkit, internal: multipliers taken apart into what the vector
// form of requantization needs (requantize-inl.h has the formula).
#ifndef RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_TABLE_H_
#define RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ruy_like/quantize/multiplier.h"

namespace ruy_like::quantize_internal {

// Vectors of per-channel values are loaded whole: arrays of them have at least
// this many elements more than there are channels.
constexpr std::size_t kChannelSlack = 32;

// The steps of the formula that the multipliers of a vector need.
enum class RequantizeForm : std::uint8_t {
  kRight,  // all have exponents below -1: left is 0, right is not
  kLeft,   // all others: right is 0
  kMixed,
  kFloat,  // none: kFixedpoint has the bits of a float scale
};

// One multiplier.
struct RequantizeConstants {
  enum Name {
    kFixedpoint,
    kRight,
    kRound,
    kLeft,
    kLowest,
    kHighest,
    kLowRound,
    kCount
  };

  RequantizeConstants() = default;
  explicit RequantizeConstants(QuantizedMultiplier m) {
    // A left shift that saturates needs a fixed point of 2^30 or more.
    for (; m.exponent >= 0 && m.fixedpoint < 1 << 30; --m.exponent) {
      m.fixedpoint *= 2;
    }
    const int right = std::max(-1 - m.exponent, 0);
    // Up to 30: one more would leave no positive number to saturate at.
    const int left = std::clamp(m.exponent + 1, 0, 30);
    using Limits = std::numeric_limits<std::int32_t>;
    values[kFixedpoint] = m.fixedpoint;
    values[kRight] = right;
    values[kRound] = right > 0 ? 1 << (right - 1) : 0;
    values[kLeft] = left;
    values[kLowest] = Limits::min() >> left;
    values[kHighest] = Limits::max() >> left;
    values[kLowRound] = right > 0 ? 0 : Limits::min();
  }
  RequantizeForm form() const {
    return values[kRight] > 0 ? RequantizeForm::kRight : RequantizeForm::kLeft;
  }

  std::int32_t values[kCount] = {};
};

// A view of such constants, one element per channel.
struct RequantizeTable {
  // Elements of the memory for a table whose vectors are loaded whole.
  static constexpr std::size_t Elements(std::size_t channels) {
    return RequantizeConstants::kCount * (channels + kChannelSlack);
  }

  // Each constant of channel c at [c].
  std::int32_t* operator[](int constant) const {
    return memory + static_cast<std::size_t>(constant) * stride;
  }
  void Set(std::size_t channel, QuantizedMultiplier multiplier) {
    const RequantizeConstants constants(multiplier);
    for (int i = 0; i < RequantizeConstants::kCount; ++i) {
      (*this)[i][channel] = constants.values[i];
    }
    if (constants.form() != RequantizeForm::kRight) {
      form = RequantizeForm::kMixed;
    }
  }
  void SetScale(std::size_t channel, float scale) {
    std::memcpy((*this)[RequantizeConstants::kFixedpoint] + channel, &scale,
                sizeof(scale));
    form = RequantizeForm::kFloat;
  }
  void Copy(const RequantizeTable& from, std::ptrdiff_t from_channel,
            std::ptrdiff_t channel) const {
    for (int i = 0; i < RequantizeConstants::kCount; ++i) {
      (*this)[i][channel] = from[i][from_channel];
    }
  }

  std::int32_t* memory = nullptr;
  std::size_t stride = 0;
  RequantizeForm form = RequantizeForm::kRight;
};

// Zero point and bounds, applied after requantization.
struct QuantizedOutput {
  std::int32_t zero_point, lowest, highest;
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_REQUANTIZE_TABLE_H_
