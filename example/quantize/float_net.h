// Example: a small convolutional network in float, whose products run through
// ruy_like::Mul.
//
// The trainer makes one, the quantized networks are made from one. Everything
// here is inference; trainer.h has the backward pass.
//
// Activations are NHWC: a column-major matrix of channels x (images x height x
// width), as Mul wants its rhs and leaves its dst, so that nothing is ever
// transposed between layers.
#ifndef EXAMPLE_QUANTIZE_FLOAT_NET_H_
#define EXAMPLE_QUANTIZE_FLOAT_NET_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ruy_like/ruy_like.h"

namespace digits {

// One value per channel each.
struct BatchNorm {
  std::vector<float> gamma, beta, mean, variance;
};
inline constexpr float kBatchNormEpsilon = 1e-3f;

// Convolution with stride 1, then batch norm (if it has one) and a ReLU, then
// 2x2 max pooling (if asked for). A fully connected layer is the convolution
// whose kernel covers all of its input.
struct Layer {
  // Elements of one row of weights.
  int depth() const { return kernel * kernel * in_channels; }
  // Height and width of the convolution's output, and of the layer's.
  int conv_side() const { return in_side + 2 * padding - kernel + 1; }
  int out_side() const { return pool ? conv_side() / 2 : conv_side(); }
  bool has_batch_norm() const { return !batch_norm.gamma.empty(); }
  std::size_t in_elements() const {
    return std::size_t{1} * in_side * in_side * in_channels;
  }
  std::size_t out_elements() const {
    return std::size_t{1} * out_side() * out_side() * out_channels;
  }

  int in_side, in_channels, out_channels, kernel, padding;
  bool relu, pool;
  // out_channels x depth(), row-major; along a row: kernel row, kernel column,
  // input channel.
  std::vector<float> weights;
  std::vector<float> bias;  // one per output channel; 0 before a batch norm
  BatchNorm batch_norm;     // empty: none
};

using FloatNet = std::vector<Layer>;

// The weights as Mul's lhs: a row for each output channel.
ruy_like::Matrix<float> WeightMatrix(const Layer& layer);

// The patches that the kernel sees, one column each: depth() x (images x
// conv_side() x conv_side()), column-major. `input` holds images x
// in_elements().
void Im2Col(const Layer& layer, const float* input, int images,
            std::vector<float>* patches);

// dst = a * b, with what `params` does to it. Sizes are of `a` (rows x depth)
// and `b` (depth x cols), which lie without gaps.
struct Operand {
  const float* data;
  ruy_like::Order order;
};
absl::Status Product(Operand a, Operand b, int rows, int depth, int cols,
                     const ruy_like::MulParams<float, float>& params,
                     ruy_like::Order dst_order, float* dst,
                     ruy_like::Context* context);

// 2x2 max pooling of images x side x side x channels. `winners`, unless null,
// gets for each output the index of the input that it was taken from.
void MaxPool(const float* input, int images, int side, int channels,
             std::vector<float>* output, std::vector<int>* winners);

// One layer, with the batch norm's recorded mean and variance.
absl::Status RunLayer(const Layer& layer, const std::vector<float>& input,
                      int images, ruy_like::Context* context,
                      std::vector<float>* output);

// Inputs of each layer and, last, the network's output: size() + 1 tensors.
absl::StatusOr<std::vector<std::vector<float>>> RunLayers(
    const FloatNet& net, const std::vector<float>& input, int images,
    ruy_like::Context* context);

}  // namespace digits

#endif  // EXAMPLE_QUANTIZE_FLOAT_NET_H_
