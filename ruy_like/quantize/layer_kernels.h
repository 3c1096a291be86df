// ruy_like::quantize, internal: the vector loops of element-wise products,
// depthwise convolutions and pooling.
//
// Called by elementwise_mul.cc, depthwise_conv.cc and pooling.cc with checked
// arguments; those bring every tensor into NHWC order first. All give the same
// bits for each of Highway's targets.
#ifndef RUY_LIKE_QUANTIZE_LAYER_KERNELS_H_
#define RUY_LIKE_QUANTIZE_LAYER_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/quantize/requantize_table.h"
#include "ruy_like/quantize/window.h"

namespace ruy_like {
namespace quantize_internal {

enum LayerType { kLayerI8, kLayerU8, kLayerI32, kLayerF32 };
constexpr int kNumByteTypes = 2;
constexpr int kNumLayerTypes = 4;

// out = clamp(Requantize((a - a_zero_point) * (b - b_zero_point)) +
// zero_point). The table has one channel; a, b and out are of one type.
struct MulArgs {
  std::int32_t a_zero_point, b_zero_point, zero_point, lowest, highest;
  RequantizeTable table;
};

// A window over NHWC images without gaps, which may be of another tensor's
// staged copy. Output rows are counted through all images.
struct SlidingArgs {
  const void* input;
  std::ptrdiff_t input_height, input_width;
  std::ptrdiff_t output_height, output_width;
  std::size_t channels;
  Window window;
  void* output;
  // What padding counts as, and the bounds of 8-bit results.
  std::int32_t input_zero_point, lowest, highest;
};

// What an output row costs, in bytes moved that take about as long: for the
// decision whether threads pay off.
std::ptrdiff_t SlidingRowCost(const SlidingArgs& args);

// Arrays hold values for all channels and kChannelSlack more.
struct DepthwiseArgs {
  SlidingArgs sliding;
  // Less their zero point: those of tap t begin at t * weight_stride.
  const std::int32_t* weights;
  std::ptrdiff_t weight_stride;
  const std::int32_t* bias;
  // 8-bit results.
  RequantizeTable table;
  std::int32_t zero_point;
  // float results: acc * weight_scale * input_scale + float_bias.
  const float* weight_scale;
  float input_scale;
  const float* float_bias;
};

struct PoolArgs {
  SlidingArgs sliding;
  // Averages: whether padding counts, as input zero points.
  bool include_padding;
};

struct LayerKernels {
  void (*mul[kNumByteTypes])(const void* a, const void* b, std::size_t n,
                             const MulArgs& args, void* out);
  // Output rows [first, last).
  void (*depthwise[kNumByteTypes][kNumLayerTypes])(const DepthwiseArgs& args,
                                                   std::ptrdiff_t first,
                                                   std::ptrdiff_t last);
  void (*max_pool[kNumByteTypes])(const PoolArgs& args, std::ptrdiff_t first,
                                  std::ptrdiff_t last);
  void (*average_pool[kNumByteTypes])(const PoolArgs& args,
                                      std::ptrdiff_t first,
                                      std::ptrdiff_t last);
};

// Those of the best of Highway's `targets` (dispatch.h).
const LayerKernels& LayerKernelsFor(std::int64_t targets);

}  // namespace quantize_internal
}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_LAYER_KERNELS_H_
