// Quantization toolkit, internal: direct loops of grouped convolutions of NHWC
// tensors with 8-bit outputs.
//
// Called by conv.cc with checked arguments, where a product per group would
// fill but a part of a kernel's tile. All give the same bits for each of
// Highway's targets.
//
// The input is staged first: padded, and laid out in vectors (grouped_layout.h)
// of bytes that count as unsigned, x or x + 128, for VPDPBUSD, or of x less its
// zero point in 16 bits for VPMADDWD and what other targets have.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_GROUPED_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_GROUPED_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ruy_like/context.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/grouped_layout.h"
#include "ruy_like/quantize/loops/layer_kernels.h"
#include "ruy_like/quantize/loops/requantize_table.h"

namespace ruy_like::quantize_internal {

// The most steps that the kernels take.
constexpr std::ptrdiff_t kMaxGroupedSteps = 256;

struct GroupedArgs : SlidingArgs {
  GroupedLayout layout;
  std::ptrdiff_t input_channels, input_bytes;
  std::ptrdiff_t output_rows;  // of all images
  // Pixels of images (image, vector, row, column), padding included, each of
  // PixelBytes().
  std::uint8_t* staged;
  std::ptrdiff_t staged_height, staged_width;
  // Weights as `layout` says, aligned to 64 bytes; their sum per output
  // channel.
  const std::int8_t* weights;
  const std::int32_t* weight_sums;
  const std::int32_t* bias;  // null for none
  RequantizeTable table;

  std::ptrdiff_t PixelBytes() const { return layout.pixel_bytes; }
  std::uint8_t* StagedRow(std::ptrdiff_t image, std::ptrdiff_t vector,
                          std::ptrdiff_t row) const {
    return staged + ((image * layout.vectors + vector) * staged_height + row) *
                        staged_width * PixelBytes();
  }

  // Columns [left, right) of a staged row are those of an input row that begins
  // at `input`; the others are on padding.
  struct RowSource {
    const std::uint8_t* input;
    std::ptrdiff_t left, right;
  };
  RowSource SourceOf(std::ptrdiff_t image, std::ptrdiff_t staged_row) const {
    const std::ptrdiff_t y = staged_row - window.padding.top;
    if (y < 0 || y >= input_height) return {nullptr, 0, 0};
    const std::ptrdiff_t left = std::min(window.padding.left, staged_width);
    return {input + (image * input_height + y) * input_width * input_channels,
            left, std::min(left + input_width, staged_width)};
  }
};

// Rows [first, last), counted through all images: staged ones, or output rows,
// counted through all chunks of all vectors, since each takes a preparation.
using GroupedFunction = void(const GroupedArgs& args, std::ptrdiff_t first,
                             std::ptrdiff_t last);

struct GroupedKernels {
  GroupedForm form;
  // To be called for all rows first.
  GroupedFunction* stage;
  // For 8-bit outputs. Different threads may write different chunks.
  GroupedFunction* rows;
};

// Those of the best paths that `context` permits, AVX-512-VNNI included;
// AVX-VNNI counts as AVX2. Null where there are no vectors.
const GroupedKernels* GroupedKernelsFor(const Context* context);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_GROUPED_KERNELS_H_
