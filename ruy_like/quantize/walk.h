// ruy_like::quantize, internal: checks of tensors and how two of them are
// walked in step.
//
// Used by the operations that take matrices. Does not choose kernels.
#ifndef RUY_LIKE_QUANTIZE_WALK_H_
#define RUY_LIKE_QUANTIZE_WALK_H_

#include <cstddef>

#include "absl/status/status.h"
#include "ruy_like/quantize/blocks.h"
#include "ruy_like/quantize/erased_view.h"

namespace ruy_like {
namespace quantize_internal {

// Bytes of one element.
std::ptrdiff_t BytesOf(ElementType type);

// The smallest and the largest number that an integer type holds.
std::int32_t LowestOf(ElementType type);
std::int32_t HighestOf(ElementType type);

// Bytes from the first element of a valid view to the end of the last one.
std::size_t ExtentBytes(const View& view);

// InvalidArgument, naming the tensor, unless it has a valid layout, and data
// where it has elements.
absl::Status ValidateView(const char* name, const View& view);

// InvalidArgument, naming the tensors, unless both have a valid layout of one
// shape, data where there are elements, a destination that may be written and
// no memory in common.
absl::Status ValidatePair(const char* src_name, const View& src,
                          const char* dst_name, const View& dst);

// In elements: from line to line, and within a line from element to element.
struct Steps {
  std::ptrdiff_t line;
  std::ptrdiff_t element;
};

// Two tensors of one shape, line by line. A line is a row or a column.
struct PairWalk {
  Lines lines;
  Steps src;
  Steps dst;
};

// Along the lines of dst, all in one where neither has gaps.
PairWalk WalkAlongDst(const View& src, const View& dst);

// One line for each channel.
PairWalk WalkChannels(const View& src, const View& dst,
                      ChannelDimension channels);

inline std::ptrdiff_t Offset(const Steps& steps, const Piece& piece) {
  return piece.line * steps.line + piece.begin * steps.element;
}

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_WALK_H_
