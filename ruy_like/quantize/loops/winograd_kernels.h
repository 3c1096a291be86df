// Quantization toolkit, internal: exact Winograd convolutions, F(2x2, 3x3), of
// NHWC tensors with 8-bit outputs.
//
// Called by layers/winograd_conv.cc with checked arguments, for kernels of 3x3
// with stride 1 where bytes are multiplied in 16 bits. All give the same bits
// for each of Highway's targets, those of the direct way.
//
// A tile is 2x2 outputs of all channels. With d the 4x4 inputs that it sees,
// less their zero point, and g the 3x3 weights,
//
//   outputs = At (4 * G g Gt  .  Bt d B) A / 4     ( . : summed over channels)
//
//        | 1   0   0 |         | 1  0 -1  0 |
//   2G = | 1   1   1 |    Bt = | 0  1  1  0 |    At = | 1  1  1  0 |
//        | 1  -1   1 |         | 0 -1  1  0 |         | 0  1 -1 -1 |
//        | 0   0   2 |         | 0  1  0 -1 |     (2G begins with 2, too)
//
// 16 products per channel and tile instead of 36. Weights are at most 9 * 128
// then, inputs 4 * 255: both fit int16. Sums wrap modulo 2^32; four times an
// output does not, so that the division leaves no remainder.
#ifndef RUY_LIKE_QUANTIZE_LOOPS_WINOGRAD_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LOOPS_WINOGRAD_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/loops/layer_kernels.h"
#include "ruy_like/quantize/loops/requantize_table.h"

namespace ruy_like::quantize_internal {

// Elements of a kernel; of a transformed tile or kernel.
constexpr std::ptrdiff_t kWinogradTaps = 9, kWinogradPoints = 16;
// Tiles that are multiplied at once.
constexpr std::ptrdiff_t kWinogradCols = 6;
// Channels of a vector of transformed inputs: the least that a tensor has.
constexpr std::ptrdiff_t kWinogradMinChannels = 16;

struct WinogradArgs : SlidingArgs {
  std::ptrdiff_t images;
  std::ptrdiff_t input_channels;  // even
  // GroupedWeights::Winograd (layers/grouped_weights.h).
  const std::int16_t* weights;
  const std::int32_t* bias;  // kChannelSlack more than there are channels
  RequantizeTable table;
  // A pixel of input zero points.
  const std::uint8_t* padding;

  // The image of a tile, and its first output. Those beyond the last tile are
  // of an image that is not there.
  struct Place {
    std::ptrdiff_t image, y, x;
  };
  Place PlaceOf(std::ptrdiff_t tile) const {
    const std::ptrdiff_t cols = CeilDiv(output_width, 2);
    const std::ptrdiff_t tiles = CeilDiv(output_height, 2) * cols;
    return {tile / tiles, tile % tiles / cols * 2, tile % cols * 2};
  }
};

// Tiles [first, last), counted through all images, in groups of kWinogradCols.
// `transformed` is memory for their inputs, in the order (point, tile,
// channel).
using WinogradFunction = void(const WinogradArgs& args, std::ptrdiff_t first,
                              std::ptrdiff_t last, std::int16_t* transformed);

struct WinogradKernels {
  // Output channels of a block of weights, two vectors; outputs have a multiple
  // of a vector's.
  std::ptrdiff_t block;
  // For 8-bit outputs.
  WinogradFunction* tiles;
};

// Those of the best paths that `context` permits. Null where other loops are
// faster: on paths with dot products of bytes, and beyond x86.
const WinogradKernels* WinogradKernelsFor(const Context* context);

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_LOOPS_WINOGRAD_KERNELS_H_
