// ruy_like::quantize, internal: copies of tensors in NHWC order, for operations
// whose vectors run along channels.
//
// Called by depthwise_conv.cc and pooling.cc.
#ifndef RUY_LIKE_QUANTIZE_STAGING_H_
#define RUY_LIKE_QUANTIZE_STAGING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ruy_like/context.h"
#include "ruy_like/quantize/blocks.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {
namespace quantize_internal {

// to[c][r] = from[r][c], tile by tile: each cache line of either is used whole
// while it is there.
template <typename T>
void Transpose(const T* from, std::ptrdiff_t rows, std::ptrdiff_t cols, T* to) {
  constexpr std::ptrdiff_t kTile = 64 / sizeof(T);
  for (std::ptrdiff_t r0 = 0; r0 < rows; r0 += kTile) {
    const std::ptrdiff_t r1 = std::min(rows, r0 + kTile);
    for (std::ptrdiff_t c0 = 0; c0 < cols; c0 += kTile) {
      const std::ptrdiff_t c1 = std::min(cols, c0 + kTile);
      for (std::ptrdiff_t c = c0; c < c1; ++c) {
        for (std::ptrdiff_t r = r0; r < r1; ++r) {
          to[c * rows + r] = from[r * cols + c];
        }
      }
    }
  }
}

// Between images of either order; `shape` is that of both, with `to_nhwc` the
// direction.
template <typename T>
absl::Status Reorder(const T* from, const TensorShape& shape, bool to_nhwc,
                     Context* context, T* to) {
  const std::ptrdiff_t pixels = shape.height * shape.width;
  const std::ptrdiff_t image = pixels * shape.channels;
  if (image == 0) return absl::OkStatus();
  constexpr std::ptrdiff_t kMaxBytes = 64 * 1024;
  return ForEachRange(
      shape.batch, /*grain=*/1,
      std::min<std::ptrdiff_t>(image * 2 * sizeof(T), kMaxBytes), context,
      [&](std::ptrdiff_t first, std::ptrdiff_t last) {
        for (std::ptrdiff_t i = first; i < last; ++i) {
          Transpose(from + i * image, to_nhwc ? shape.channels : pixels,
                    to_nhwc ? pixels : shape.channels, to + i * image);
        }
      });
}

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_STAGING_H_
