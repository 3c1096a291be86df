// Quantization toolkit, internal: two operands of which one may be shorter,
// walked in pieces where both are contiguous.
//
// Used by quantized_add.cc. Knows bytes only.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_BROADCAST_H_
#define RUY_LIKE_QUANTIZE_LAYERS_BROADCAST_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace ruy_like::quantize_internal {

// One operand as it is repeated to a length. Short ones are repeated here often
// enough for a vector loop to run over them, so this refers to itself: it can
// not be copied.
class RepeatedOperand final {
 public:
  // operand.size() divides the length, or both are 0. Borrows it.
  RepeatedOperand(absl::Span<const std::uint8_t> operand, std::size_t length)
      : data_(operand.data()),
        period_(std::max<std::size_t>(operand.size(), 1)) {
    if (operand.size() == length || operand.empty() || period_ >= kTile) return;
    const std::size_t repeats = kTile / period_;
    for (std::size_t i = 0; i < repeats; ++i) {
      std::copy(operand.begin(), operand.end(), tile_.begin() + i * period_);
    }
    data_ = tile_.data();
    period_ *= repeats;
  }
  RepeatedOperand(const RepeatedOperand&) = delete;
  RepeatedOperand& operator=(const RepeatedOperand&) = delete;

  const std::uint8_t* At(std::size_t i) const { return data_ + i % period_; }
  // Elements that are contiguous from there on.
  std::size_t RunAt(std::size_t i) const { return period_ - i % period_; }

 private:
  static constexpr std::size_t kTile = 4096;

  const std::uint8_t* data_;
  std::size_t period_;
  std::array<std::uint8_t, kTile> tile_;
};

// Calls body(a, b, i, n) for runs of n elements that cover [first, last).
template <typename Body>
void ForEachRun(const RepeatedOperand& a, const RepeatedOperand& b,
                std::size_t first, std::size_t last, const Body& body) {
  while (first < last) {
    const std::size_t n =
        std::min({a.RunAt(first), b.RunAt(first), last - first});
    body(a.At(first), b.At(first), first, n);
    first += n;
  }
}

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_BROADCAST_H_
