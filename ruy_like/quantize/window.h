// Quantization toolkit, public: Window, what convolutions and pooling slide
// over an image, and the sizes that follow from it.
//
// Pure arithmetic on shapes; touches no data.
#ifndef RUY_LIKE_QUANTIZE_WINDOW_H_
#define RUY_LIKE_QUANTIZE_WINDOW_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "ruy_like/export.h"
#include "ruy_like/quantize/tensor.h"

namespace ruy_like {

// Rows and columns around the image; they need not be the same on both sides.
struct Padding {
  std::ptrdiff_t top = 0, bottom = 0, left = 0, right = 0;
};

// Tap (i, j) of the window at output element (y, x) lies on the input element
//
//   (y * stride_height + i * dilation_height - padding.top,
//    x * stride_width + j * dilation_width - padding.left)
//
// or on padding, where there is no such element.
struct Window {
  std::ptrdiff_t kernel_height = 1, kernel_width = 1;
  std::ptrdiff_t stride_height = 1, stride_width = 1;
  std::ptrdiff_t dilation_height = 1, dilation_width = 1;
  Padding padding;
  // True if one more output row or column counts, whose window reaches beyond
  // the padding at the bottom or on the right, if it begins on the image or the
  // padding before it (ONNX: ceil_mode).
  bool round_up = false;
};

// The shape of the output of `channels` channels for `input`. InvalidArgument
// for sizes that are negative (or, of kernel, stride and dilation, 0), those of
// image and window above 2^31 - 1, and where the window is larger than the
// padded image.
RUY_LIKE_EXPORT absl::StatusOr<TensorShape> OutputShape(
    const TensorShape& input, const Window& window, std::ptrdiff_t channels);

// The padding with which the output has ceil(input size / stride) rows and
// columns, where an odd element of padding goes to the bottom or right (SAME of
// TensorFlow, SAME_UPPER of ONNX). window.padding is not looked at; errors as
// above.
RUY_LIKE_EXPORT absl::StatusOr<Padding> SamePadding(const TensorShape& input,
                                                    const Window& window);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_WINDOW_H_
