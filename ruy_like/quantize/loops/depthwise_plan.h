// Quantization toolkit, internal: how the loops of depthwise_kernels.h cut a
// depthwise convolution into tiles that fit buffers on the stack.
//
// Pure arithmetic, the same for all targets but for `rows_per_step`.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_PLAN_H_
#define RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_PLAN_H_

#include <cstddef>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/quantize/loops/layer_kernels.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like::quantize_internal {

// The largest vector, in bytes; a step's products take four of them.
constexpr std::ptrdiff_t kDotBytes = 64;
// Kernel rows, and steps: kernel columns times groups of rows.
constexpr std::ptrdiff_t kMaxKernelRows = 16;
constexpr std::ptrdiff_t kMaxSteps = 32;
// On the stack: with weights, 26 of the 64 KiB that threads have at least.
constexpr std::ptrdiff_t kColumnBytes = 16 * 1024;

struct DepthwiseSteps {
  // Groups of kernel rows, and those times the kernel's columns.
  std::ptrdiff_t groups, steps;
  // Input columns from the first tap's to the last one's.
  std::ptrdiff_t col_span;
};

inline bool MakeSteps(const Window& window, std::ptrdiff_t rows_per_step,
                      DepthwiseSteps* result) {
  if (window.kernel_height > kMaxKernelRows ||
      window.kernel_width > kMaxSteps) {
    return false;
  }
  result->groups = CeilDiv(window.kernel_height, rows_per_step);
  result->steps = result->groups * window.kernel_width;
  // Sizes of windows are below 2^31.
  result->col_span = (window.kernel_width - 1) * window.dilation_width;
  return result->steps <= kMaxSteps;
}

// Output columns of a tile; 0 if none fits.
inline std::ptrdiff_t RowTile(const DepthwiseSteps& steps,
                              const Window& window) {
  const std::ptrdiff_t cols = kColumnBytes / (4 * kDotBytes * steps.groups);
  if (steps.col_span >= cols) return 0;
  return (cols - steps.col_span - 1) / window.stride_width + 1;
}

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_DEPTHWISE_PLAN_H_
