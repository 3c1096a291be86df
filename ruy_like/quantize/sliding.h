// ruy_like::quantize, internal: which points of a row of equally spaced ones
// lie inside an image.
//
// The arithmetic that im2col and the sliding-window kernels share.
#ifndef RUY_LIKE_QUANTIZE_SLIDING_H_
#define RUY_LIKE_QUANTIZE_SLIDING_H_

#include <algorithm>
#include <cstddef>

#include "ruy_like/base/checked_math.h"

namespace ruy_like {
namespace quantize_internal {

// Points [first, end) of a row.
struct Inside {
  std::ptrdiff_t first, end;
};

// Those of `count` points start, start + step, ... that are in [0, size).
inline Inside PointsInside(std::ptrdiff_t start, std::ptrdiff_t step,
                           std::ptrdiff_t count, std::ptrdiff_t size) {
  // Nearly always; and divisions take longer than copying a short row.
  if (start >= 0 && start + (count - 1) * step < size) return {0, count};
  const std::ptrdiff_t first = start >= 0 ? 0 : CeilDiv(-start, step);
  const std::ptrdiff_t end = start >= size ? 0 : CeilDiv(size - start, step);
  const std::ptrdiff_t last = std::min(end, count);
  return {std::min(first, last), last};
}

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_SLIDING_H_
