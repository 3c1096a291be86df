#include "ruy_like/packed/value_range.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ruy_like {
namespace {

// True if all of `count` bytes are `lowest` + 0 ... 126, modulo 256. No early
// end: compilers vectorise the loop.
bool AreWithin(const std::uint8_t* bytes, std::ptrdiff_t count,
               std::uint8_t lowest) {
  std::uint8_t most = 0;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    most = std::max(most, static_cast<std::uint8_t>(bytes[i] - lowest));
  }
  return most <= 126;
}

}  // namespace

bool HoldsInt7(const Operand& operand) {
  // Some microseconds between looks at what was found.
  constexpr std::ptrdiff_t kRunBytes = 64 * 1024;
  const auto lowest = static_cast<std::uint8_t>(LowestInt7(operand.scalar));
  const std::ptrdiff_t inner =
      operand.depth_contiguous ? operand.depth : operand.width;
  const std::ptrdiff_t outer =
      operand.depth_contiguous ? operand.width : operand.depth;
  const auto* const data = static_cast<const std::uint8_t*>(operand.data);
  for (std::ptrdiff_t line = 0; line < outer; ++line) {
    for (std::ptrdiff_t start = 0; start < inner; start += kRunBytes) {
      if (!AreWithin(data + line * operand.stride + start,
                     std::min(inner - start, kRunBytes), lowest)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace ruy_like
