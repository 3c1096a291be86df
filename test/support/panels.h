// Test support: packed panels as kernels/panel_format.h draws them, written
// down once more, so that a kernel and a pack routine that are wrong in the
// same way do not agree.
#ifndef RUY_LIKE_TEST_SUPPORT_PANELS_H_
#define RUY_LIKE_TEST_SUPPORT_PANELS_H_

#include <cstddef>

#include "ruy_like/scalar.h"

namespace ruy_like {

inline std::ptrdiff_t RoundUp(std::ptrdiff_t x, std::ptrdiff_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

// Elements of type `packed` from the first panel's start to depth k of column
// w.
inline std::ptrdiff_t PanelOffset(Scalar packed, std::ptrdiff_t width,
                                  std::ptrdiff_t group,
                                  std::ptrdiff_t padded_depth, std::ptrdiff_t k,
                                  std::ptrdiff_t w) {
  std::ptrdiff_t in_group = k % group;
  if (packed == Scalar::kBF16 && group != 4) in_group ^= 1;
  return w / width * width * padded_depth + k / group * width * group +
         w % width * group + in_group;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_PANELS_H_
