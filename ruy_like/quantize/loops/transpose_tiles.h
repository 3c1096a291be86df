// Quantization toolkit, internal: a transposition of elements one by one.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_TRANSPOSE_TILES_H_
#define RUY_LIKE_QUANTIZE_LOOPS_TRANSPOSE_TILES_H_

#include <algorithm>
#include <cstddef>

namespace ruy_like::quantize_internal {

// to[c][r] = from[r][c], tile by tile: each cache line of either is used whole
// while it is there.
template <typename T>
inline void TransposeTiles(const T* from, std::ptrdiff_t rows,
                           std::ptrdiff_t cols, T* to) {
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

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_TRANSPOSE_TILES_H_
