#include "example/quantize/float_net.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace digits {

using ruy_like::Order;

ruy_like::Matrix<float> WeightMatrix(const Layer& layer) {
  ruy_like::Matrix<float> weights;
  MakeSimpleLayout(layer.out_channels, layer.depth(), Order::kRowMajor,
                   weights.mutable_layout());
  weights.set_data(layer.weights.data());
  return weights;
}

void Im2Col(const Layer& layer, const float* input, int images,
            std::vector<float>* patches) {
  const int side = layer.in_side, out = layer.conv_side();
  const int kernel = layer.kernel, channels = layer.in_channels;
  patches->resize(std::size_t{1} * images * out * out * layer.depth());
  float* patch = patches->data();
  for (int image = 0; image < images; ++image) {
    const float* const pixels = input + image * layer.in_elements();
    for (int i = 0; i < out * out; ++i) {
      // A row of the kernel is one piece of a row of the image, whose columns
      // from `first` to `end` there are.
      const int col = i % out - layer.padding;
      const int first = std::max(0, -col), end = std::min(kernel, side - col);
      for (int k = 0; k < kernel; ++k, patch += kernel * channels) {
        const int row = i / out + k - layer.padding;
        if (row < 0 || row >= side) {
          std::fill_n(patch, kernel * channels, 0.0f);
          continue;
        }
        std::fill_n(patch, first * channels, 0.0f);
        std::copy_n(pixels + (row * side + col + first) * channels,
                    (end - first) * channels, patch + first * channels);
        std::fill_n(patch + end * channels, (kernel - end) * channels, 0.0f);
      }
    }
  }
}

absl::Status Product(Operand a, Operand b, int rows, int depth, int cols,
                     const ruy_like::MulParams<float, float>& params,
                     Order dst_order, float* dst, ruy_like::Context* context) {
  ruy_like::Matrix<float> lhs, rhs, result;
  MakeSimpleLayout(rows, depth, a.order, lhs.mutable_layout());
  MakeSimpleLayout(depth, cols, b.order, rhs.mutable_layout());
  MakeSimpleLayout(rows, cols, dst_order, result.mutable_layout());
  lhs.set_data(a.data);
  rhs.set_data(b.data);
  result.set_data(dst);
  return Mul(lhs, rhs, params, context, &result);
}

void MaxPool(const float* input, int images, int side, int channels,
             std::vector<float>* output, std::vector<int>* winners) {
  const int out = side / 2;
  output->resize(std::size_t{1} * images * out * out * channels);
  if (winners != nullptr) winners->resize(output->size());
  float* to = output->data();
  for (int i = 0; i < images * out * out; ++i, to += channels) {
    // The upper left one of the four, in elements.
    const int corner =
        ((i / out / out * side + i / out % out * 2) * side + i % out * 2) *
        channels;
    const int offsets[] = {0, channels, side * channels, (side + 1) * channels};
    for (int channel = 0; channel < channels; ++channel) {
      const float* const from = input + corner + channel;
      to[channel] = std::max(std::max(from[offsets[0]], from[offsets[1]]),
                             std::max(from[offsets[2]], from[offsets[3]]));
    }
    if (winners == nullptr) continue;
    for (int channel = 0; channel < channels; ++channel) {
      const int first = corner + channel;
      const int* const found = std::find_if(
          offsets, offsets + 3,
          [&](int offset) { return input[first + offset] == to[channel]; });
      (*winners)[i * channels + channel] = first + *found;
    }
  }
}

namespace {

// The batch norm with its recorded statistics, and the ReLU.
void Normalize(const Layer& layer, std::vector<float>* values) {
  const BatchNorm& norm = layer.batch_norm;
  for (int c = 0; c < layer.out_channels; ++c) {
    const float factor =
        norm.gamma[c] / std::sqrt(norm.variance[c] + kBatchNormEpsilon);
    const float offset = norm.beta[c] - factor * norm.mean[c];
    for (std::size_t i = c; i < values->size(); i += layer.out_channels) {
      const float value = (*values)[i] * factor + offset;
      (*values)[i] = layer.relu ? std::max(value, 0.0f) : value;
    }
  }
}

// So many elements of patches are made at a time: what the product reads next
// is still in L2.
constexpr int kPatchElements = 64 << 10;

// True if Im2Col would copy the input unchanged.
bool NeedsNoPatches(const Layer& layer) {
  return layer.padding == 0 &&
         (layer.kernel == 1 || layer.kernel == layer.in_side);
}

}  // namespace

absl::Status RunLayer(const Layer& layer, const std::vector<float>& input,
                      int images, ruy_like::Context* context,
                      std::vector<float>* output) {
  ruy_like::MulParams<float, float> params;
  params.set_bias(layer.bias.data());
  if (layer.relu && !layer.has_batch_norm()) params.set_clamp_min(0);
  const int pixels = layer.conv_side() * layer.conv_side();
  std::vector<float> values(std::size_t{1} * layer.out_channels * images *
                            pixels);
  const bool needs_patches = !NeedsNoPatches(layer);
  const int at_once =
      needs_patches ? std::max(1, kPatchElements / (pixels * layer.depth()))
                    : images;
  std::vector<float> patches;
  for (int first = 0; first < images; first += at_once) {
    const int count = std::min(at_once, images - first);
    const float* columns = input.data() + first * layer.in_elements();
    if (needs_patches) {
      Im2Col(layer, columns, count, &patches);
      columns = patches.data();
    }
    const absl::Status status = Product(
        {layer.weights.data(), Order::kRowMajor}, {columns, Order::kColMajor},
        layer.out_channels, layer.depth(), count * pixels, params,
        Order::kColMajor,
        values.data() + std::size_t{1} * layer.out_channels * first * pixels,
        context);
    if (!status.ok()) return status;
  }
  if (layer.has_batch_norm()) Normalize(layer, &values);
  if (layer.pool) {
    MaxPool(values.data(), images, layer.conv_side(), layer.out_channels,
            output, nullptr);
  } else {
    *output = std::move(values);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<float>>> RunLayers(
    const FloatNet& net, const std::vector<float>& input, int images,
    ruy_like::Context* context) {
  std::vector<std::vector<float>> tensors = {input};
  for (const Layer& layer : net) {
    std::vector<float> output;
    const absl::Status status =
        RunLayer(layer, tensors.back(), images, context, &output);
    if (!status.ok()) return status;
    tensors.push_back(std::move(output));
  }
  return tensors;
}

}  // namespace digits
