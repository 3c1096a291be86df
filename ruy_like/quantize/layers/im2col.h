// Quantization toolkit, internal: im2col, which turns a convolution into a
// matrix product by gathering what each output element sees.
//
// Called by conv.cc, for a range of output positions at a time. Moves elements
// of some bytes, and knows no more of them than the byte that stands for
// padding: those of several have 0 for it.
#ifndef RUY_LIKE_QUANTIZE_LAYERS_IM2COL_H_
#define RUY_LIKE_QUANTIZE_LAYERS_IM2COL_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like::quantize_internal {

// A valid convolution: its sizes fit, and windows may lie on padding alone.
struct Im2Col {
  const std::uint8_t* input;
  TensorShape input_shape;
  Window window;
  std::ptrdiff_t output_height, output_width;
  // The group's channels, and the first of them.
  std::ptrdiff_t channels, first_channel;
  std::uint8_t padding_value;
  std::ptrdiff_t element_bytes;  // kNchw: 1 or 2

  std::ptrdiff_t Taps() const {
    return window.kernel_height * window.kernel_width;
  }
  // Elements of one patch.
  std::ptrdiff_t Depth() const { return Taps() * channels; }
  // Output positions of one image.
  std::ptrdiff_t Positions() const { return output_height * output_width; }
};

// kNhwc: the patches of the output positions [first, end), counted through all
// images; each with elements in the order (kernel row, kernel column, channel):
//
//   patches[(position - first) * stride + depth index]
//
// `stride` is in bytes.
void GatherNhwc(const Im2Col& conv, std::ptrdiff_t first, std::ptrdiff_t end,
                std::ptrdiff_t stride, std::uint8_t* patches);

// kNchw: the elements [first_depth, end_depth), counted in the order (channel,
// kernel row, kernel column), of the patches of the output positions
// [first, end) of one image:
//
//   patches[depth index * stride + position - first]
//
// `stride` counts elements.
void GatherNchw(const Im2Col& conv, std::ptrdiff_t image, std::ptrdiff_t first,
                std::ptrdiff_t end, std::ptrdiff_t first_depth,
                std::ptrdiff_t end_depth, std::ptrdiff_t stride, void* patches);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LAYERS_IM2COL_H_
