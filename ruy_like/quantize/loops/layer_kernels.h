// Quantization toolkit, internal: the vector loops of depthwise convolutions
// and pooling.
//
// Called by depthwise_conv.cc and pooling.cc with checked arguments; those
// bring every tensor into NHWC order first. All give the same bits for each of
// Highway's targets.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_LAYER_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_LAYER_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/requantize_table.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like::quantize_internal {

// Points [first, end) of a row.
struct Inside {
  std::ptrdiff_t first, end;
};

// Those of `count` points start, start + step, ... that are in [0, size).
inline Inside PointsInside(std::ptrdiff_t start, std::ptrdiff_t step,
                           std::ptrdiff_t count, std::ptrdiff_t size) {
  // The usual case, without divisions, which take longer than copying a short
  // row.
  if (start >= 0 && start + (count - 1) * step < size) return {0, count};
  const std::ptrdiff_t first = start >= 0 ? 0 : CeilDiv(-start, step);
  const std::ptrdiff_t end = start >= size ? 0 : CeilDiv(size - start, step);
  const std::ptrdiff_t last = std::min(end, count);
  return {std::min(first, last), last};
}

// A window over NHWC images without gaps: a tensor's own or copies of them.
// Output rows are counted through all images.
struct SlidingArgs {
  const std::uint8_t* input;
  bool input_is_signed, output_is_signed;
  std::ptrdiff_t input_height, input_width;
  std::ptrdiff_t output_height, output_width;
  std::ptrdiff_t channels;  // of the output
  Window window;
  void* output;
  std::int32_t input_zero_point;  // what padding counts as
  QuantizedOutput bounds;         // results of 8 or 16 bits

  // The mask that flips the sign bits of signed inputs, so that they become
  // unsigned, and the zero point that they have then.
  std::uint8_t Flip() const { return input_is_signed ? 0x80 : 0; }
  std::uint8_t UnsignedZeroPoint() const {
    return static_cast<std::uint8_t>(input_zero_point) ^ Flip();
  }
  // One loop serves 8-bit outputs of both types: it computes signed ones, whose
  // zero point and bounds are these, and this mask makes what is stored of
  // them.
  QuantizedOutput SignedBounds() const {
    const std::int32_t shift = output_is_signed ? 0 : 128;
    return {bounds.zero_point - shift, bounds.lowest - shift,
            bounds.highest - shift};
  }
  std::uint8_t OutputFlip() const { return output_is_signed ? 0 : 0x80; }
};

// The cost of `outputs` output elements, as the number of bytes whose move
// takes about as long: decides whether threads pay off.
std::ptrdiff_t SlidingCost(const Window& window, std::ptrdiff_t outputs);

// Arrays hold values for all channels and kChannelSlack more.
struct DepthwiseArgs : SlidingArgs {
  // `channels` or a divisor of it.
  std::ptrdiff_t input_channels;
  // Less their zero point: those of tap t begin at t * weight_stride.
  const std::int32_t* weights;
  std::ptrdiff_t weight_stride;
  // The same in 8 bits, as far apart; null if they do not fit.
  const std::int8_t* weight_bytes;
  const std::int32_t* bias;
  // Results of 8 or 16 bits.
  RequantizeTable table;
  // float results: acc * weight_scale * input_scale + float_bias.
  const float* weight_scale;
  float input_scale;
  const float* float_bias;
  // A copy of the input's rows from `copied_from` on, counted through all
  // images, behind which 16 bytes may be read, as behind all other rows. Null
  // where no kernel reads beyond a pixel.
  std::ptrdiff_t copied_from;
  const std::uint8_t* last_rows;
};

struct PoolArgs : SlidingArgs {
  // Averages: whether padding counts, as input zero points.
  bool include_padding;
};

// Output rows [first, last).
using DepthwiseFunction = void(const DepthwiseArgs& args, std::ptrdiff_t first,
                               std::ptrdiff_t last);
using PoolFunction = void(const PoolArgs& args, std::ptrdiff_t first,
                          std::ptrdiff_t last);

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

// to[c][r] = from[r][c]: row-major matrices without gaps.
using TransposeFunction = void(const std::uint8_t* from, std::ptrdiff_t rows,
                               std::ptrdiff_t cols, std::uint8_t* to);

// Pooling is chosen by the type of the input, int8 or uint8.
struct LayerKernels {
  // For inputs of int8, uint8 and int16; chosen by the type of the output: 8
  // bits, int32 or float, of int16 inputs int16 or int32.
  ByScalar<DepthwiseFunction> depthwise[3];
  ByScalar<PoolFunction> max_pool, average_pool;
  TransposeFunction* transpose;
};

// Those of the best of Highway's `targets` (dispatch.h).
const LayerKernels& LayerKernelsFor(std::int64_t targets);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_LAYER_KERNELS_H_
