// Benchmarks: a convolution of ruy_like::quantize with random operands, int8
// with a scale for each channel, as a made layer.
//
// Used by quantize_net_bench and cliffs.
#ifndef RUY_LIKE_BENCH_LAYER_H_
#define RUY_LIKE_BENCH_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ruy_like/context.h"
#include "ruy_like/quantize/layer.h"
#include "ruy_like/quantize/tensor.h"
#include "ruy_like/quantize/window.h"
#include "ruy_like/quantize/workspace.h"

namespace ruy_like::bench {

struct ConvCase {
  TensorShape input;
  std::ptrdiff_t channels;  // of the output
  Window window;
  int threads = 1;
  std::ptrdiff_t groups = 1;
};

std::ptrdiff_t CountOf(const TensorShape& shape);

// A kernel of so many taps a side, with as much padding as keeps the size.
Window SquareWindow(std::ptrdiff_t kernel, std::ptrdiff_t stride);

class BenchLayer final {
 public:
  // is_depthwise: DepthwiseConv2D, where `groups` is not looked at.
  static absl::StatusOr<BenchLayer> Make(const ConvCase& c, bool is_depthwise,
                                         Context* context);

  absl::Status Run(Context* context);
  std::ptrdiff_t outputs() const { return CountOf(output_shape_); }
  // Multiply-adds of an output.
  std::ptrdiff_t depth() const { return depth_; }

 private:
  TensorShape input_shape_, output_shape_;
  Window window_;
  bool is_depthwise_ = false;
  std::ptrdiff_t depth_ = 0;
  std::vector<std::int8_t> input_, output_;
  QuantizedLayer layer_;
  Workspace workspace_;
};

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_LAYER_H_
