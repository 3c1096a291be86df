#include "ruy_like/quantize/im2col.h"

#include <algorithm>
#include <cstring>

#include "ruy_like/base/checked_math.h"

namespace ruy_like {
namespace quantize_internal {
namespace {

// Taps i of [0, taps) for which start + i * step is in [0, size): [first, end).
struct TapRange {
  std::ptrdiff_t first, end;
};

TapRange TapsInside(std::ptrdiff_t start, std::ptrdiff_t step,
                    std::ptrdiff_t taps, std::ptrdiff_t size) {
  const std::ptrdiff_t first = start >= 0 ? 0 : CeilDiv(-start, step);
  const std::ptrdiff_t end = start >= size ? 0 : CeilDiv(size - start, step);
  const std::ptrdiff_t last = std::min(end, taps);
  return {std::min(first, last), last};
}

// memcpy that is inlined for what it mostly copies here: few bytes of a length
// that is known at run time only.
inline void Copy(const std::uint8_t* from, std::ptrdiff_t bytes,
                 std::uint8_t* to) {
  while (bytes >= 32) {
    std::memcpy(to, from, 32);
    from += 32;
    to += 32;
    bytes -= 32;
  }
  if (bytes >= 16) {
    std::memcpy(to, from, 16);
    from += 16;
    to += 16;
    bytes -= 16;
  }
  for (; bytes > 0; --bytes) *to++ = *from++;
}

// One kernel row of a patch: from the input row `row` (null: padding), where
// the window's first tap is on column `start`.
void GatherRow(const Im2Col& conv, const std::uint8_t* row,
               std::ptrdiff_t start, std::uint8_t* to) {
  const Window& window = conv.window;
  const std::ptrdiff_t taps = window.kernel_width;
  const std::ptrdiff_t channels = conv.channels;
  const TapRange inside = row == nullptr
                              ? TapRange{0, 0}
                              : TapsInside(start, window.dilation_width, taps,
                                           conv.input_shape.width);
  if (inside.first >= inside.end) {
    std::memset(to, conv.padding_value,
                static_cast<std::size_t>(taps * channels));
    return;
  }
  if (inside.first > 0) {
    std::memset(to, conv.padding_value,
                static_cast<std::size_t>(inside.first * channels));
  }
  const std::ptrdiff_t pixel = conv.input_shape.channels;
  const std::uint8_t* from =
      row + (start + inside.first * window.dilation_width) * pixel +
      conv.first_channel;
  if (window.dilation_width == 1 && channels == pixel) {
    Copy(from, (inside.end - inside.first) * channels,
         to + inside.first * channels);
  } else {
    for (std::ptrdiff_t i = inside.first; i < inside.end; ++i) {
      Copy(from, channels, to + i * channels);
      from += window.dilation_width * pixel;
    }
  }
  if (inside.end < taps) {
    std::memset(to + inside.end * channels, conv.padding_value,
                static_cast<std::size_t>((taps - inside.end) * channels));
  }
}

// The part of one output row, positions [first, end) of it, of one element of
// the patches: every stride-th element of `row` (null: padding) from column
// `start` on, which position 0 sees.
void GatherColumns(const Im2Col& conv, const std::uint8_t* row,
                   std::ptrdiff_t start, std::ptrdiff_t first,
                   std::ptrdiff_t end, std::uint8_t* to) {
  const std::ptrdiff_t step = conv.window.stride_width;
  const std::ptrdiff_t count = end - first;
  const std::ptrdiff_t from = start + first * step;
  const TapRange inside =
      row == nullptr ? TapRange{0, 0}
                     : TapsInside(from, step, count, conv.input_shape.width);
  if (inside.first >= inside.end) {
    std::memset(to, conv.padding_value, static_cast<std::size_t>(count));
    return;
  }
  std::memset(to, conv.padding_value, static_cast<std::size_t>(inside.first));
  const std::uint8_t* element = row + from + inside.first * step;
  if (step == 1) {
    Copy(element, inside.end - inside.first, to + inside.first);
  } else {
    for (std::ptrdiff_t i = inside.first; i < inside.end; ++i) {
      to[i] = *element;
      element += step;
    }
  }
  std::memset(to + inside.end, conv.padding_value,
              static_cast<std::size_t>(count - inside.end));
}

}  // namespace

void GatherNhwc(const Im2Col& conv, std::ptrdiff_t first, std::ptrdiff_t end,
                std::ptrdiff_t stride, std::uint8_t* patches) {
  const Window& window = conv.window;
  const TensorShape& shape = conv.input_shape;
  const std::ptrdiff_t row_bytes = shape.width * shape.channels;
  const std::ptrdiff_t patch_row = window.kernel_width * conv.channels;
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
                std::uint8_t* patches) {
  const Window& window = conv.window;
  const TensorShape& shape = conv.input_shape;
  for (std::ptrdiff_t k = first_depth; k < end_depth; ++k) {
    const std::ptrdiff_t channel = conv.first_channel + k / conv.Taps();
    const std::ptrdiff_t i = k % conv.Taps() / window.kernel_width;
    const std::ptrdiff_t j = k % window.kernel_width;
    const std::uint8_t* const plane =
        conv.input +
        (image * shape.channels + channel) * shape.height * shape.width;
    const std::ptrdiff_t left = j * window.dilation_width - window.padding.left;
    std::uint8_t* const to = patches + k * stride;
    std::ptrdiff_t position = first;
    while (position < end) {
      const std::ptrdiff_t y = position / conv.output_width;
      const std::ptrdiff_t row_start = y * conv.output_width;
      const std::ptrdiff_t row_end =
          std::min(end, row_start + conv.output_width);
      const std::ptrdiff_t row = y * window.stride_height - window.padding.top +
                                 i * window.dilation_height;
      const bool is_inside = row >= 0 && row < shape.height;
      GatherColumns(conv, is_inside ? plane + row * shape.width : nullptr, left,
                    position - row_start, row_end - row_start,
                    to + position - first);
      position = row_end;
    }
  }
}

}  // namespace quantize_internal
}  // namespace ruy_like
