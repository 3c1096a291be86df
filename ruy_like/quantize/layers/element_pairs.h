// Quantization toolkit, internal: element-wise operations of two tensors, of
// which the second may be shorter and is then repeated.
//
// Used by elementwise.cc.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_ELEMENT_PAIRS_H_
#define RUY_LIKE_QUANTIZE_LAYERS_ELEMENT_PAIRS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"

namespace ruy_like::quantize_internal {

// Which elements of b go with those of a: lines of a, in order, see consecutive
// parts of b, each part for some lines in a row.
struct Broadcast {
  std::ptrdiff_t line;      // elements of a that see a contiguous part of b
  std::ptrdiff_t b_line;    // 1: one element for the whole line
  std::ptrdiff_t repeated;  // lines in a row that see the same part of b
  std::ptrdiff_t b_count;   // elements of b, which begins again behind them
};

// Checks that a, b and output are valid, that their shapes go together, and
// that output is an operand itself or shares no memory with one.
absl::Status CheckElementPairs(const Erased& a, const Erased& b,
                               const Erased& output, Broadcast* broadcast);

// kernel(a, b, n, to) for runs of n bytes that cover all of a, which has
// elements.
template <typename Kernel>
absl::Status ForEachPair(const Erased& a, const Erased& b,
                         const Broadcast& broadcast, const Erased& output,
                         Context* context, const Kernel& kernel) {
  const auto* const a_data = static_cast<const std::uint8_t*>(a.data);
  const auto* const b_data = static_cast<const std::uint8_t*>(b.data);
  auto* const to = static_cast<std::uint8_t*>(const_cast<void*>(output.data));
  const Lines lines = {ElementCount(a.shape) / broadcast.line, broadcast.line};
  return ForEachPiece(lines, 3, context, [&](const Piece& piece) {
    const std::ptrdiff_t offset = piece.line * lines.inner + piece.begin;
    const std::ptrdiff_t b_first =
        piece.line / broadcast.repeated * broadcast.b_line % broadcast.b_count;
    if (broadcast.b_line > 1 || broadcast.line == 1) {
      kernel(a_data + offset, b_data + b_first + piece.begin,
             static_cast<std::size_t>(piece.count), to + offset);
      return;
    }
    // The piece sees a single element of b.
    constexpr std::ptrdiff_t kChunk = 512;
    std::uint8_t same[kChunk];
    std::memset(same, b_data[b_first], kChunk);
    for (std::ptrdiff_t i = 0; i < piece.count; i += kChunk) {
      kernel(a_data + offset + i, same,
             static_cast<std::size_t>(std::min(kChunk, piece.count - i)),
             to + offset + i);
    }
  });
}

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_ELEMENT_PAIRS_H_
