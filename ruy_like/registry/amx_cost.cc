#include "ruy_like/registry/amx_cost.h"

#include <algorithm>

#include "ruy_like/base/checked_math.h"

namespace ruy_like {

double AmxNs(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols) {
  // As the kernel cuts them: 32 x 32, and 64 x 16 where that is all there is.
  const std::ptrdiff_t whole_slices = cols / 32;
  const double slices = static_cast<double>(whole_slices);
  const std::ptrdiff_t rest = cols % 32;
  const double short_blocks = static_cast<double>(CeilDiv(rows, 32));
  const double tall_blocks = static_cast<double>(CeilDiv(rows, 64));
  const double blocks = slices * short_blocks + (rest == 0   ? 0
                                                 : rest > 16 ? short_blocks
                                                             : tall_blocks);
  const double padded_depth = static_cast<double>(CeilDiv(depth, 64)) * 64;
  const double last_slice = rest == 0 || rest > 16 ? 0 : 400;
  return 300 + last_slice + blocks * std::max(200.0, padded_depth / 2.15);
}

double VnniNs(std::ptrdiff_t rows, std::ptrdiff_t depth, std::ptrdiff_t cols) {
  const double results = static_cast<double>(rows) * static_cast<double>(cols);
  return 250 + results * static_cast<double>(depth) / 185 + results / 12;
}

}  // namespace ruy_like
