#include "example/quantize/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace digits {
namespace {

using ruy_like::Order;
using Tensor = std::vector<float>;

// Uniform in [0, 1), the same with every standard library, which the standard's
// distributions are not.
float Uniform(std::mt19937* random) {
  return static_cast<float>((*random)() >> 8) / (1 << 24);
}

// A number of zero mean and unit variance: the sum of 12 uniform ones.
float Gaussian(std::mt19937* random) {
  float sum = -6;
  for (int i = 0; i < 12; ++i) sum += Uniform(random);
  return sum;
}

Layer MakeLayer(int in_side, int in_channels, int out_channels, int kernel,
                int padding, bool hidden, bool pool, std::mt19937* random) {
  Layer layer = {in_side, in_channels, out_channels, kernel, padding,
                 hidden,  pool,        {},           {},     {}};
  // He's initialisation: keeps the variance of activations through ReLUs.
  const float deviation =
      std::sqrt((hidden ? 2.0f : 1.0f) / static_cast<float>(layer.depth()));
  layer.weights.resize(std::size_t{1} * out_channels * layer.depth());
  for (float& weight : layer.weights) weight = deviation * Gaussian(random);
  layer.bias.assign(out_channels, 0);
  if (hidden) {
    layer.batch_norm.gamma.assign(out_channels, 1);
    layer.batch_norm.beta.assign(out_channels, 0);
    layer.batch_norm.mean.assign(out_channels, 0);
    layer.batch_norm.variance.assign(out_channels, 1);
  }
  return layer;
}

// Results of a layer's forward pass that its backward pass needs, and the
// gradients' moving sums.
struct Training {
  Tensor patches;            // of the input
  Tensor normalized;         // convolution's output, mean 0 and variance 1
  Tensor activated;          // after batch norm (or bias) and ReLU
  Tensor inverse_deviation;  // of each channel in this batch
  Tensor output;             // after pooling
  std::vector<int> winners;  // of pooling

  Tensor weight_velocity, gamma_velocity, beta_velocity;
};

class Trainer {
 public:
  Trainer(const DataSet& data, const TrainOptions& options,
          ruy_like::Context* context)
      : data_(data),
        options_(options),
        context_(context),
        random_(options.seed) {
    const int wide = options.narrow ? 8 : 32;
    net_.push_back(MakeLayer(8, 1, wide / 2, 3, 1, true, true, &random_));
    net_.push_back(MakeLayer(4, wide / 2, wide, 3, 1, true, false, &random_));
    net_.push_back(MakeLayer(4, wide, wide, 1, 0, true, false, &random_));
    net_.push_back(MakeLayer(4, wide, kClasses, 4, 0, false, false, &random_));
    for (const Layer& layer : net_) {
      Training training;
      training.weight_velocity.assign(layer.weights.size(), 0);
      training.gamma_velocity.assign(layer.out_channels, 0);
      training.beta_velocity.assign(layer.out_channels, 0);
      training_.push_back(std::move(training));
    }
  }

  absl::StatusOr<FloatNet> Run() {
    std::vector<int> order(data_.count());
    std::iota(order.begin(), order.end(), 0);
    const int steps = data_.count() / options_.batch;
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random_() % i]);
      }
      for (int step = 0; step < steps; ++step) {
        const double done =
            (epoch + static_cast<double>(step) / steps) / options_.epochs;
        rate_ = static_cast<float>(options_.learning_rate * 0.5 *
                                   (1 + std::cos(3.14159265358979 * done)));
        const absl::Status status = Step(&order[step * options_.batch]);
        if (!status.ok()) return status;
      }
    }
    return net_;
  }

 private:
  // One batch: forward, loss, backward, new weights.
  absl::Status Step(const int* images) {
    Tensor input;
    for (int i = 0; i < options_.batch; ++i) AppendShifted(images[i], &input);
    for (std::size_t i = 0; i < net_.size(); ++i) {
      const absl::Status status = Forward(
          i == 0 ? input : training_[i - 1].output, &net_[i], &training_[i]);
      if (!status.ok()) return status;
    }
    Tensor gradient = LossGradient(images, training_.back().output);
    for (std::size_t i = net_.size(); i-- > 0;) {
      const absl::Status status =
          Backward(i > 0, &net_[i], &training_[i], &gradient);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // The image, moved by at most one pixel: more data than there is.
  void AppendShifted(int image, Tensor* input) {
    const int dy = static_cast<int>(random_() % 3) - 1;
    const int dx = static_cast<int>(random_() % 3) - 1;
    const float* const pixels = &data_.pixels[std::size_t{1} * image * kPixels];
    for (int y = dy; y < kSide + dy; ++y) {
      for (int x = dx; x < kSide + dx; ++x) {
        const bool inside = y >= 0 && y < kSide && x >= 0 && x < kSide;
        input->push_back(inside ? pixels[y * kSide + x] : 0);
      }
    }
  }

  int Columns(const Layer& layer) const {
    return options_.batch * layer.conv_side() * layer.conv_side();
  }

  absl::Status Forward(const Tensor& input, Layer* layer, Training* training) {
    Im2Col(*layer, input.data(), options_.batch, &training->patches);
    const int channels = layer->out_channels, columns = Columns(*layer);
    Tensor& values = training->activated;
    values.resize(std::size_t{1} * channels * columns);
    const absl::Status status = Product(
        {layer->weights.data(), Order::kRowMajor},
        {training->patches.data(), Order::kColMajor}, channels, layer->depth(),
        columns, {}, Order::kColMajor, values.data(), context_);
    if (!status.ok()) return status;
    if (layer->has_batch_norm()) {
      NormalizeBatch(layer, training);
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] += layer->bias[i % channels];
      }
    }
    if (layer->relu) {
      for (float& value : values) value = std::max(value, 0.0f);
    }
    if (layer->pool) {
      MaxPool(values.data(), options_.batch, layer->conv_side(), channels,
              &training->output, &training->winners);
    } else {
      training->output = values;
    }
    return absl::OkStatus();
  }

  // Batch norm with the batch's own mean and variance, which also go into the
  // moving averages that inference uses.
  void NormalizeBatch(Layer* layer, Training* training) {
    BatchNorm* const norm = &layer->batch_norm;
    const std::size_t channels = layer->out_channels;
    Tensor& values = training->activated;
    const auto columns = static_cast<double>(values.size() / channels);
    std::vector<double> sum(channels), squares(channels);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum[i % channels] += values[i];
      squares[i % channels] += static_cast<double>(values[i]) * values[i];
    }
    training->inverse_deviation.resize(channels);
    Tensor mean(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const double average = sum[c] / columns;
      const double variance =
          std::max(0.0, squares[c] / columns - average * average);
      mean[c] = static_cast<float>(average);
      training->inverse_deviation[c] =
          static_cast<float>(1 / std::sqrt(variance + kBatchNormEpsilon));
      constexpr float kKeep = 0.9f;
      norm->mean[c] = kKeep * norm->mean[c] + (1 - kKeep) * mean[c];
      norm->variance[c] = kKeep * norm->variance[c] +
                          (1 - kKeep) * static_cast<float>(variance);
    }
    training->normalized.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t c = i % channels;
      const float normalized =
          (values[i] - mean[c]) * training->inverse_deviation[c];
      training->normalized[i] = normalized;
      values[i] = normalized * norm->gamma[c] + norm->beta[c];
    }
  }

  // Gradient of the mean cross-entropy of the softmax.
  Tensor LossGradient(const int* images, const Tensor& logits) const {
    Tensor gradient(logits.size());
    for (int i = 0; i < options_.batch; ++i) {
      const float* const row = &logits[std::size_t{1} * i * kClasses];
      const float highest = *std::max_element(row, row + kClasses);
      float sum = 0;
      for (int c = 0; c < kClasses; ++c) sum += std::exp(row[c] - highest);
      for (int c = 0; c < kClasses; ++c) {
        const float target = c == data_.labels[images[i]] ? 1.0f : 0.0f;
        gradient[i * kClasses + c] =
            (std::exp(row[c] - highest) / sum - target) /
            static_cast<float>(options_.batch);
      }
    }
    return gradient;
  }

  // From the gradient of the layer's output to that of its input (unless that
  // is the image), and one step of the weights.
  absl::Status Backward(bool has_input_gradient, Layer* layer,
                        Training* training, Tensor* gradient) {
    const int channels = layer->out_channels, columns = Columns(*layer);
    Tensor of_conv;
    if (layer->pool) {
      of_conv.assign(std::size_t{1} * channels * columns, 0.0f);
      for (std::size_t i = 0; i < gradient->size(); ++i) {
        of_conv[training->winners[i]] += (*gradient)[i];
      }
    } else {
      of_conv = std::move(*gradient);
    }
    if (layer->relu) {
      for (std::size_t i = 0; i < of_conv.size(); ++i) {
        if (training->activated[i] == 0) of_conv[i] = 0;
      }
    }
    NormalizeBackward(layer, training, &of_conv);

    Tensor of_patches;
    if (has_input_gradient) {  // with the weights before the step
      of_patches.resize(std::size_t{1} * layer->depth() * columns);
      const absl::Status status =
          Product({layer->weights.data(), Order::kColMajor},  // transposed
                  {of_conv.data(), Order::kColMajor}, layer->depth(), channels,
                  columns, {}, Order::kColMajor, of_patches.data(), context_);
      if (!status.ok()) return status;
    }
    // velocity = gradient + momentum * velocity.
    ruy_like::MulParams<float, float> params;
    params.set_beta(options_.momentum);
    const absl::Status status =
        Product({of_conv.data(), Order::kColMajor},
                {training->patches.data(), Order::kRowMajor},  // transposed
                channels, columns, layer->depth(), params, Order::kRowMajor,
                training->weight_velocity.data(), context_);
    if (!status.ok()) return status;
    for (std::size_t i = 0; i < layer->weights.size(); ++i) {
      float& velocity = training->weight_velocity[i];
      velocity += options_.weight_decay * layer->weights[i];
      layer->weights[i] -= rate_ * velocity;
    }
    if (has_input_gradient) Col2Im(*layer, of_patches, gradient);
    return absl::OkStatus();
  }

  // From the gradient of the batch norm's (or the bias's) output to that of its
  // input, and one step of its parameters.
  void NormalizeBackward(Layer* layer, Training* training, Tensor* gradient) {
    const std::size_t channels = layer->out_channels;
    std::vector<double> sum(channels), product(channels);
    for (std::size_t i = 0; i < gradient->size(); ++i) {
      sum[i % channels] += (*gradient)[i];
      if (layer->has_batch_norm()) {
        product[i % channels] +=
            static_cast<double>((*gradient)[i]) * training->normalized[i];
      }
    }
    if (layer->has_batch_norm()) {
      const auto columns = static_cast<double>(gradient->size() / channels);
      for (std::size_t i = 0; i < gradient->size(); ++i) {
        const std::size_t c = i % channels;
        const auto common = static_cast<float>(
            (sum[c] + training->normalized[i] * product[c]) / columns);
        (*gradient)[i] = ((*gradient)[i] - common) *
                         layer->batch_norm.gamma[c] *
                         training->inverse_deviation[c];
      }
    }
    std::vector<float>& offset =
        layer->has_batch_norm() ? layer->batch_norm.beta : layer->bias;
    for (std::size_t c = 0; c < channels; ++c) {
      UpdateScalar(sum[c], &training->beta_velocity[c], &offset[c]);
      if (!layer->has_batch_norm()) continue;
      UpdateScalar(product[c], &training->gamma_velocity[c],
                   &layer->batch_norm.gamma[c]);
    }
  }

  void UpdateScalar(double gradient, float* velocity, float* value) const {
    *velocity = static_cast<float>(gradient) + options_.momentum * *velocity;
    *value -= rate_ * *velocity;
  }

  // Adds each element of the patches to the input element that it came from.
  void Col2Im(const Layer& layer, const Tensor& patches, Tensor* input) const {
    const int side = layer.in_side, out = layer.conv_side();
    const int channels = layer.in_channels;
    input->assign(options_.batch * layer.in_elements(), 0.0f);
    const float* patch = patches.data();
    for (int i = 0; i < Columns(layer); ++i) {
      float* const image =
          input->data() + i / (out * out) * layer.in_elements();
      const int y = i / out % out - layer.padding, x = i % out - layer.padding;
      for (int k = 0; k < layer.kernel * layer.kernel; ++k, patch += channels) {
        const int row = y + k / layer.kernel, col = x + k % layer.kernel;
        if (row < 0 || row >= side || col < 0 || col >= side) continue;
        float* const pixel = image + (row * side + col) * channels;
        for (int c = 0; c < channels; ++c) pixel[c] += patch[c];
      }
    }
  }

  const DataSet& data_;
  const TrainOptions& options_;
  ruy_like::Context* const context_;
  std::mt19937 random_;
  float rate_ = 0;
  FloatNet net_;
  std::vector<Training> training_;
};

}  // namespace

absl::StatusOr<FloatNet> Train(const DataSet& data, const TrainOptions& options,
                               ruy_like::Context* context) {
  if (options.epochs < 0 || options.batch < 1 || options.batch > data.count()) {
    return absl::InvalidArgumentError(
        "epochs must be at least 0, a batch between 1 and all images");
  }
  return Trainer(data, options, context).Run();
}

}  // namespace digits
