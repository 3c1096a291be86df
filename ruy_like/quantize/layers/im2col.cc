// Tested in test/quantize/layers/conv_test.cc.
#include "ruy_like/quantize/layers/im2col.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "ruy_like/quantize/loops/layer_kernels.h"

namespace ruy_like::quantize_internal {
namespace {

template <int kBytes>
inline void CopyEnds(const std::uint8_t* from, std::ptrdiff_t bytes,
                     std::uint8_t* to) {
  std::memcpy(to, from, kBytes);
  std::memcpy(to + bytes - kBytes, from + bytes - kBytes, kBytes);
}

// memcpy, inlined: most copies here are of few bytes, for which a call takes
// longer than the copy.
inline void CopyBytes(const std::uint8_t* from, std::ptrdiff_t bytes,
                      std::uint8_t* to) {
  for (; bytes > 64; bytes -= 32) {
    std::memcpy(to, from, 32);
    from += 32;
    to += 32;
  }
  if (bytes >= 32) {
    CopyEnds<32>(from, bytes, to);
  } else if (bytes >= 16) {
    CopyEnds<16>(from, bytes, to);
  } else if (bytes >= 8) {
    CopyEnds<8>(from, bytes, to);
  } else if (bytes >= 4) {
    CopyEnds<4>(from, bytes, to);
  } else {
    for (; bytes > 0; --bytes) *to++ = *from++;
  }
}

template <typename T>
inline void Copy(const T* from, std::ptrdiff_t count, T* to) {
  CopyBytes(reinterpret_cast<const std::uint8_t*>(from),
            count * std::ptrdiff_t{sizeof(T)},
            reinterpret_cast<std::uint8_t*>(to));
}

template <typename T>
inline void Fill(const Im2Col& conv, std::ptrdiff_t count, T* to) {
  if (count > 0) std::fill_n(to, count, T{conv.padding_value});
}

// One kernel row of a patch: from the input row `row` (null: padding), where
// the window's first tap is on column `start`.
void GatherRow(const Im2Col& conv, const std::uint8_t* row,
               std::ptrdiff_t start, std::uint8_t* to) {
  const Window& window = conv.window;
  const std::ptrdiff_t taps = window.kernel_width;
  const std::ptrdiff_t channels = conv.channels * conv.element_bytes;
  const Inside inside = row == nullptr
                            ? Inside{0, 0}
                            : PointsInside(start, window.dilation_width, taps,
                                           conv.input_shape.width);
  if (inside.first >= inside.end) return Fill(conv, taps * channels, to);
  Fill(conv, inside.first * channels, to);
  const std::ptrdiff_t pixel = conv.input_shape.channels * conv.element_bytes;
  const std::uint8_t* from =
      row + (start + inside.first * window.dilation_width) * pixel +
      conv.first_channel * conv.element_bytes;
  if (window.dilation_width == 1 && channels == pixel) {
    Copy(from, (inside.end - inside.first) * channels,
         to + inside.first * channels);
  } else {
    for (std::ptrdiff_t i = inside.first; i < inside.end; ++i) {
      Copy(from, channels, to + i * channels);
      from += window.dilation_width * pixel;
    }
  }
  Fill(conv, (taps - inside.end) * channels, to + inside.end * channels);
}

// Every step-th element.
template <typename T>
inline void CopyStrided(const T* from, std::ptrdiff_t step,
                        std::ptrdiff_t count, T* to) {
  if (step == 1) {
    Copy(from, count, to);
  } else if (step == 2) {
    // A constant step lets the compiler use vectors.
    for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (std::ptrdiff_t i = 0; i < count; ++i) to[i] = from[step * i];
  }
}

// Where rows of outputs are as long as those of the image and as close, what
// one tap sees at positions [first, end) are elements of the plane in a row:
// all but the columns and rows where it is on padding. `shift` is from a
// position to what it sees, `left` the columns of it, `above` the rows.
template <typename T>
void GatherShifted(const Im2Col& conv, const T* plane, std::ptrdiff_t above,
                   std::ptrdiff_t left, std::ptrdiff_t first,
                   std::ptrdiff_t end, T* to) {
  const std::ptrdiff_t width = conv.input_shape.width;
  const std::ptrdiff_t size = conv.input_shape.height * width;
  const std::ptrdiff_t shift = above * width + left;
  if (left <= -width || left >= width) return Fill(conv, end - first, to);
  const std::ptrdiff_t from = std::clamp(-shift, first, end);
  const std::ptrdiff_t until = std::clamp(size - shift, from, end);
  Fill(conv, from - first, to);
  if (until > from) Copy(plane + from + shift, until - from, to + from - first);
  Fill(conv, end - until, to + until - first);
  if (left == 0) return;
  // The columns on padding: in place of elements of the next row or the last.
  const std::ptrdiff_t count = std::abs(left);
  for (std::ptrdiff_t x = first - first % width + (left < 0 ? 0 : width - left);
       x < end; x += width) {
    const std::ptrdiff_t stop = std::min(x + count, end);
    for (std::ptrdiff_t i = std::max(x, first); i < stop; ++i) {
      to[i - first] = conv.padding_value;
    }
  }
}

// GatherNchw's work on elements of type T.
template <typename T>
void GatherPlanes(const Im2Col& conv, std::ptrdiff_t image,
                  std::ptrdiff_t first, std::ptrdiff_t end,
                  std::ptrdiff_t first_depth, std::ptrdiff_t end_depth,
                  std::ptrdiff_t stride, void* patches) {
  const Window& window = conv.window;
  const TensorShape& shape = conv.input_shape;
  const std::ptrdiff_t step = window.stride_width;
  const std::ptrdiff_t first_y = first / conv.output_width;
  const std::ptrdiff_t first_x = first % conv.output_width;
  const bool is_shift = step == 1 && window.stride_height == 1 &&
                        conv.output_width == shape.width;
  for (std::ptrdiff_t k = first_depth; k < end_depth; ++k) {
    const std::ptrdiff_t channel = conv.first_channel + k / conv.Taps();
    const std::ptrdiff_t i = k % conv.Taps() / window.kernel_width;
    const std::ptrdiff_t j = k % window.kernel_width;
    const T* const plane =
        reinterpret_cast<const T*>(conv.input) +
        (image * shape.channels + channel) * shape.height * shape.width;
    // The image column at position 0 of a row, and the positions in the image.
    const std::ptrdiff_t left = j * window.dilation_width - window.padding.left;
    const std::ptrdiff_t above =
        i * window.dilation_height - window.padding.top;
    T* to = static_cast<T*>(patches) + k * stride;
    if (is_shift) {
      GatherShifted(conv, plane, above, left, first, end, to);
      continue;
    }
    const Inside inside =
        PointsInside(left, step, conv.output_width, shape.width);
    std::ptrdiff_t row = first_y * window.stride_height + above;
    std::ptrdiff_t x = first_x;
    for (std::ptrdiff_t rest = end - first; rest > 0;) {
      const std::ptrdiff_t row_end = std::min(x + rest, conv.output_width);
      const bool is_inside = row >= 0 && row < shape.height;
      const std::ptrdiff_t from =
          is_inside ? std::clamp(inside.first, x, row_end) : row_end;
      const std::ptrdiff_t until =
          is_inside ? std::clamp(inside.end, from, row_end) : row_end;
      Fill(conv, from - x, to);
      if (until > from) {
        CopyStrided(plane + row * shape.width + left + from * step, step,
                    until - from, to + from - x);
      }
      Fill(conv, row_end - until, to + until - x);
      to += row_end - x;
      rest -= row_end - x;
      x = 0;
      row += window.stride_height;
    }
  }
}

}  // namespace

void GatherNhwc(const Im2Col& conv, std::ptrdiff_t first, std::ptrdiff_t end,
                std::ptrdiff_t stride, std::uint8_t* patches) {
  const Window& window = conv.window;
  const TensorShape& shape = conv.input_shape;
  const std::ptrdiff_t row_bytes =
      shape.width * shape.channels * conv.element_bytes;
  const std::ptrdiff_t patch_row =
      window.kernel_width * conv.channels * conv.element_bytes;
  std::ptrdiff_t image = first / conv.Positions();
  std::ptrdiff_t y = first % conv.Positions() / conv.output_width;
  std::ptrdiff_t x = first % conv.output_width;
  for (std::ptrdiff_t position = first; position < end; ++position) {
    const std::ptrdiff_t top = y * window.stride_height - window.padding.top;
    const std::ptrdiff_t left = x * window.stride_width - window.padding.left;
    std::uint8_t* to = patches + (position - first) * stride;
    for (std::ptrdiff_t i = 0; i < window.kernel_height; ++i) {
      const std::ptrdiff_t row = top + i * window.dilation_height;
      const bool is_inside = row >= 0 && row < shape.height;
      GatherRow(conv,
                is_inside
                    ? conv.input + (image * shape.height + row) * row_bytes
                    : nullptr,
                left, to);
      to += patch_row;
    }
    if (++x < conv.output_width) continue;
    x = 0;
    if (++y < conv.output_height) continue;
    y = 0;
    ++image;
  }
}

void GatherNchw(const Im2Col& conv, std::ptrdiff_t image, std::ptrdiff_t first,
                std::ptrdiff_t end, std::ptrdiff_t first_depth,
                std::ptrdiff_t end_depth, std::ptrdiff_t stride,
                void* patches) {
  (conv.element_bytes == 1
       ? GatherPlanes<std::uint8_t>
       : GatherPlanes<std::uint16_t>)(conv, image, first, end, first_depth,
                                      end_depth, stride, patches);
}

}  // namespace ruy_like::quantize_internal
