#include "example/detect/detector.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace detect {
namespace {

using ruy_like::ByteTable;
using ruy_like::ColMajor;
using ruy_like::QuantizedLayer;
using ruy_like::TensorShape;
using ruy_like::TensorView;

constexpr std::ptrdiff_t kCells = 13, kAnchors = 5, kValues = 5;
constexpr float kMeanRgb[] = {117.001f, 114.697f, 97.404f};
// In cells.
constexpr float kAnchorSizes[kAnchors][2] = {{1.603231f, 2.094468f},
                                             {6.041143f, 7.080126f},
                                             {2.882459f, 3.518061f},
                                             {4.266906f, 5.178857f},
                                             {9.041765f, 10.66308f}};
constexpr float kSlope = 0.1f;

std::string ReadFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The number behind the next `key` from `from` on.
double NumberAfter(const std::string& text, const char* key, std::size_t from) {
  const std::size_t at = text.find(key, from);
  return at == std::string::npos
             ? 0
             : std::strtod(text.c_str() + at + std::string(key).size(),
                           nullptr);
}

std::ptrdiff_t Count(const TensorShape& s) {
  return s.batch * s.height * s.width * s.channels;
}

class Stopwatch {
 public:
  explicit Stopwatch(Times* times) : times_(times) {}
  ~Stopwatch() {
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start_;
    if (times_ != nullptr) times_->push_back(elapsed.count());
  }

 private:
  Times* times_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

// The window at (y, x) as one column.
void Gather(const float* input, const TensorShape& in, const Step& step,
            std::vector<float>* patches) {
  const TensorShape& out = step.shape;
  const std::ptrdiff_t row = step.window.kernel_width * in.channels;
  patches->resize(static_cast<std::size_t>(out.height * out.width * row *
                                           step.window.kernel_height));
  float* to = patches->data();
  for (std::ptrdiff_t y = 0; y < out.height; ++y) {
    for (std::ptrdiff_t x = 0; x < out.width; ++x) {
      for (std::ptrdiff_t i = 0; i < step.window.kernel_height; ++i) {
        to = std::copy_n(input + ((y + i) * in.width + x) * in.channels, row,
                         to);
      }
    }
  }
}

void Depthwise(const float* input, const TensorShape& in, const float* w,
               const Step& step, float* output) {
  const TensorShape& out = step.shape;
  for (std::ptrdiff_t y = 0; y < out.height; ++y) {
    for (std::ptrdiff_t x = 0; x < out.width; ++x) {
      float* const to = output + (y * out.width + x) * out.channels;
      std::fill_n(to, out.channels, 0.0f);
      for (std::ptrdiff_t tap = 0; tap < 9; ++tap) {
        const std::ptrdiff_t sy = y + tap / 3 - 1, sx = x + tap % 3 - 1;
        if (sy < 0 || sx < 0 || sy >= in.height || sx >= in.width) continue;
        const float* const from = input + (sy * in.width + sx) * in.channels;
        const float* const weights = w + tap * in.channels;
        for (std::ptrdiff_t c = 0; c < in.channels; ++c) {
          to[c] += from[c] * weights[c];
        }
      }
    }
  }
}

void Pool(const float* input, const TensorShape& in, const Step& step,
          float* output) {
  const TensorShape& out = step.shape;
  for (std::ptrdiff_t y = 0; y < out.height; ++y) {
    for (std::ptrdiff_t x = 0; x < out.width; ++x) {
      float* const to = output + (y * out.width + x) * out.channels;
      std::fill_n(to, out.channels, -INFINITY);
      for (std::ptrdiff_t tap = 0; tap < 4; ++tap) {
        const std::ptrdiff_t sy = y * step.window.stride_height + tap / 2;
        const std::ptrdiff_t sx = x * step.window.stride_width + tap % 2;
        if (sy >= in.height || sx >= in.width) continue;
        const float* const from = input + (sy * in.width + sx) * in.channels;
        for (std::ptrdiff_t c = 0; c < in.channels; ++c) {
          to[c] = std::max(to[c], from[c]);
        }
      }
    }
  }
}

bool IsProduct(Kind kind) {
  return kind == Kind::kConv || kind == Kind::kPointwise;
}

// By Mul: the columns are pixels or patches.
void Product(const Step& step, std::vector<float>* input, const TensorShape& in,
             Weights* weights, ruy_like::Context* context,
             std::vector<float>* output) {
  std::vector<float> patches;
  if (step.kind == Kind::kConv) {
    Gather(input->data(), in, step, &patches);
  } else {
    patches.swap(*input);
  }
  const ruy_like::Matrix<float> lhs = WeightsOf(step, weights);
  const std::ptrdiff_t pixels = step.shape.height * step.shape.width;
  const ruy_like::Matrix<float> rhs =
      ColMajor(patches.data(), lhs.layout().cols(), pixels);
  ruy_like::Matrix<float> dst =
      ColMajor(output->data(), step.shape.channels, pixels);
  const std::vector<float> bias = BiasOf(step, *weights);
  ruy_like::MulParams<float, float> params;
  params.set_bias(bias.data());
  const absl::Status status = Mul(lhs, rhs, params, context, &dst);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

float SigmoidOf(float x) { return ruy_like::Sigmoid(x); }

}  // namespace

bool LoadWeights(const std::string& folder, Weights* weights,
                 std::string* error) {
  const std::string stem = folder + "/model/tiny_face_detector_model";
  const std::string manifest = ReadFile(stem + "-weights_manifest.json");
  const std::string bytes = ReadFile(stem + ".bin");
  std::size_t used = 0;
  const std::string name_key = "{\"name\":\"";
  for (std::size_t at = manifest.find(name_key); at != std::string::npos;
       at = manifest.find(name_key, at + 1)) {
    const std::size_t begin = at + name_key.size();
    const std::string name =
        manifest.substr(begin, manifest.find('"', begin) - begin);
    const std::size_t shape = manifest.find("\"shape\":[", at);
    if (shape == std::string::npos) break;
    const char* number = manifest.c_str() + shape + 9;
    std::size_t count = 1;
    while (*number >= '0' && *number <= '9') {
      char* end;
      count *= std::strtoul(number, &end, 10);
      number = end + (*end == ',' ? 1 : 0);
    }
    if (count > bytes.size() - used) {
      *error = stem + ".bin is too short for " + name;
      return false;
    }
    const double scale = NumberAfter(manifest, "\"scale\":", at);
    const double min = NumberAfter(manifest, "\"min\":", at);
    std::vector<float>& tensor = weights->tensors[name];
    for (std::size_t i = 0; i < count; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[used++]);
      tensor.push_back(static_cast<float>(byte * scale + min));
    }
  }
  weights->stored_bytes = used;
  if (weights->tensors.size() == 19) return true;
  *error = stem + "-weights_manifest.json has " +
           std::to_string(weights->tensors.size()) + " tensors, not 19";
  return false;
}

float Overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  const auto area = [](const Box& box) {
    return (box.right - box.left) * (box.bottom - box.top);
  };
  return shared / (area(a) + area(b) - shared);
}

std::vector<Box> FindBoxes(const std::vector<float>& output) {
  std::vector<Box> found;
  constexpr float kCell = static_cast<float>(kSize) / kCells;
  for (std::ptrdiff_t i = 0; i < kCells * kCells * kAnchors; ++i) {
    const float* const v = output.data() + i * kValues;
    const std::ptrdiff_t cell = i / kAnchors;
    const float score = SigmoidOf(v[4]);
    if (!(score > 0.5f)) continue;
    const float x =
        (static_cast<float>(cell % kCells) + SigmoidOf(v[0])) * kCell;
    const float y =
        (static_cast<float>(cell / kCells) + SigmoidOf(v[1])) * kCell;
    const float width = std::exp(v[2]) * kAnchorSizes[i % kAnchors][0] * kCell;
    const float height = std::exp(v[3]) * kAnchorSizes[i % kAnchors][1] * kCell;
    found.push_back(
        {score, x - width / 2, y - height / 2, x + width / 2, y + height / 2});
  }
  std::sort(found.begin(), found.end(),
            [](const Box& a, const Box& b) { return a.score > b.score; });
  std::vector<Box> kept;
  for (const Box& box : found) {
    if (std::all_of(kept.begin(), kept.end(), [&](const Box& better) {
          return Overlap(box, better) <= 0.4f;
        })) {
      kept.push_back(box);
    }
  }
  return kept;
}

std::vector<float> Normalize(const std::vector<unsigned char>& rgb) {
  std::vector<float> input(rgb.size());
  for (std::size_t i = 0; i < rgb.size(); ++i) {
    input[i] = (static_cast<float>(rgb[i]) - kMeanRgb[i % 3]) / 255;
  }
  return input;
}

std::vector<Step> Steps() {
  std::vector<Step> steps;
  TensorShape shape = {1, kSize, kSize, 3};
  const auto add = [&](Kind kind, const std::string& name, std::ptrdiff_t size,
                       std::ptrdiff_t stride, ruy_like::Padding padding,
                       std::ptrdiff_t channels) {
    Step step = {kind, name, {}, {}};
    step.window.kernel_height = step.window.kernel_width = size;
    step.window.stride_height = step.window.stride_width = stride;
    step.window.padding = padding;
    shape = OutputShape(shape, step.window, channels).value();
    step.shape = shape;
    steps.push_back(step);
  };
  add(Kind::kConv, "conv0", 3, 1, {}, 16);
  add(Kind::kLeaky, "", 1, 1, {}, 16);
  for (int i = 1; i <= 5; ++i) {
    // Pooling before each, and behind the last one with stride 1.
    const std::ptrdiff_t odd = shape.height % 2;
    add(Kind::kPool, "", 2, 2, {0, odd, 0, odd}, shape.channels);
    const std::string name = "conv" + std::to_string(i);
    add(Kind::kDepthwise, name, 3, 1, {1, 1, 1, 1}, shape.channels);
    add(Kind::kPointwise, name, 1, 1, {}, 2 * shape.channels);
    add(Kind::kLeaky, "", 1, 1, {}, shape.channels);
  }
  add(Kind::kPool, "", 2, 1, {0, 1, 0, 1}, shape.channels);
  add(Kind::kPointwise, "conv8", 1, 1, {}, kAnchors * kValues);
  return steps;
}

ruy_like::Matrix<float> WeightsOf(const Step& step, Weights* weights) {
  // TensorFlow's order has output channels innermost: columns of channels.
  const char* const suffix = step.kind == Kind::kDepthwise ? "/depthwise_filter"
                             : step.kind == Kind::kConv || step.name == "conv8"
                                 ? "/filters"
                                 : "/pointwise_filter";
  std::vector<float>& tensor = weights->tensors[step.name + suffix];
  const std::ptrdiff_t rows = step.shape.channels;
  return ColMajor(tensor.data(), rows,
                  static_cast<std::ptrdiff_t>(tensor.size()) / rows);
}

std::vector<float> BiasOf(const Step& step, const Weights& weights) {
  if (step.kind == Kind::kDepthwise) return {};
  return weights.tensors.at(step.name + "/bias");
}

bool Equalize(Weights* weights, std::string* error) {
  std::vector<ruy_like::Matrix<float>> matrices;
  std::vector<ruy_like::EqualizedLayer> layers;
  for (const Step& step : Steps()) {
    if (step.kind == Kind::kLeaky || step.kind == Kind::kPool) continue;
    matrices.push_back(WeightsOf(step, weights));
    ruy_like::EqualizedLayer layer;
    if (step.kind == Kind::kDepthwise) {
      layer.input = ruy_like::ChannelColumns::kDepthwise;
    } else {
      layer.bias = absl::MakeSpan(weights->tensors[step.name + "/bias"]);
    }
    layers.push_back(layer);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].weights = &matrices[i];
  }
  const auto report = ruy_like::EqualizeLayers(layers);
  if (!report.ok()) *error = report.status().ToString();
  return report.ok();
}

std::vector<float> RunFloat(const std::vector<float>& input, Weights* weights,
                            const Watch& watch, ruy_like::Context* context,
                            Times* times) {
  std::vector<float> x = input;
  TensorShape in = {1, kSize, kSize, 3};
  if (watch != nullptr) watch(x);
  for (const Step& step : Steps()) {
    {
      const Stopwatch stopwatch(times);
      if (step.kind == Kind::kLeaky) {
        for (float& value : x) value = ruy_like::LeakyRelu(value, kSlope);
      } else {
        std::vector<float> y(static_cast<std::size_t>(Count(step.shape)));
        if (IsProduct(step.kind)) {
          Product(step, &x, in, weights, context, &y);
        } else if (step.kind == Kind::kDepthwise) {
          Depthwise(x.data(), in, WeightsOf(step, weights).data(), step,
                    y.data());
        } else {
          Pool(x.data(), in, step, y.data());
        }
        x.swap(y);
      }
    }
    in = step.shape;
    if (watch != nullptr) watch(x);
  }
  return x;
}

bool SearchScales(const std::vector<std::vector<float>>& inputs,
                  Weights* weights, ruy_like::Context* context,
                  WeightScales* scales, std::string* error) {
  const std::vector<Step> steps = Steps();
  // By image: the input and each step's output.
  std::vector<std::vector<std::vector<float>>> images(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RunFloat(
        inputs[i], weights,
        [&](const std::vector<float>& x) { images[i].push_back(x); }, context,
        nullptr);
  }
  scales->assign(steps.size(), {});
  TensorShape in = {1, kSize, kSize, 3};
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (IsProduct(steps[s].kind)) {
      std::vector<TensorView<const float>> views;
      for (const auto& image : images) {
        views.push_back({image[s].data(), in, {}});
      }
      const std::vector<float> bias = BiasOf(steps[s], *weights);
      auto found =
          EqSearchConv2D(WeightsOf(steps[s], weights), views, steps[s].window,
                         ruy_like::EqOptions(), context, bias);
      if (!found.ok()) {
        *error = steps[s].name + ": " + found.status().ToString();
        return false;
      }
      (*scales)[s] = std::move(found->weights);
    }
    in = steps[s].shape;
  }
  return true;
}

bool IntDetector::Make(const std::vector<ruy_like::Observer>& observers,
                       Weights* weights, const IntOptions& options,
                       ruy_like::Context* context, std::string* error) {
  steps_ = Steps();
  ruy_like::CalibrationOptions calibration;
  calibration.method = options.method;
  calibration.scheme = ruy_like::QuantScheme::kAffineSigned;
  ruy_like::MakeLayerOptions layer_options;
  layer_options.per_channel = options.per_channel;
  layer_options.weight_bits = options.weight_bits;
  std::size_t largest = static_cast<std::size_t>(kSize * kSize * 3);
  for (std::size_t i = 0; i <= steps_.size(); ++i) {
    const auto params = observers[i].ChooseParams(calibration);
    if (!params.ok()) {
      *error = params.status().ToString();
      return false;
    }
    // Pooling keeps its input's parameters.
    params_.push_back(
        i > 0 && steps_[i - 1].kind == Kind::kPool ? params_.back() : *params);
    if (i == 0) continue;
    const Step& step = steps_[i - 1];
    largest = std::max(largest, static_cast<std::size_t>(Count(step.shape)));
    absl::StatusOr<QuantizedLayer> layer = QuantizedLayer();
    if (step.kind == Kind::kLeaky) {
      const auto table = ByteTable::Make<std::int8_t, std::int8_t>(
          params_[i - 1], params_[i],
          [](float x) { return ruy_like::LeakyRelu(x, kSlope); });
      if (table.ok()) tables_.push_back(*table);
      if (!table.ok()) layer = table.status();
    } else if (step.kind != Kind::kPool) {
      const ruy_like::Matrix<float> matrix = WeightsOf(step, weights);
      const std::vector<float> bias = BiasOf(step, *weights);
      layer_options.weight_params = {};
      if (options.scales != nullptr) {
        layer_options.weight_params = (*options.scales)[i - 1];
      }
      weight_bytes_ += static_cast<std::size_t>(
          matrix.layout().rows() * matrix.layout().cols() +
          step.shape.channels * (options.per_channel ? 12 : 4));
      if (step.kind == Kind::kDepthwise) {
        layer = ruy_like::MakeDepthwiseConv2D<std::int8_t, std::int8_t>(
            matrix, bias, params_[i - 1], params_[i], context, layer_options);
      } else if (i == steps_.size()) {
        layer = ruy_like::MakeConv2D<std::int8_t, float>(
            matrix, bias, params_[i - 1], params_[i], context, layer_options);
      } else {
        layer = ruy_like::MakeConv2D<std::int8_t, std::int8_t>(
            matrix, bias, params_[i - 1], params_[i], context, layer_options);
      }
    }
    if (!layer.ok()) {
      *error = step.name + ": " + layer.status().ToString();
      return false;
    }
    layers_.push_back(*layer);
  }
  for (auto& buffer : buffers_) buffer.resize(largest);
  return true;
}

std::vector<float> IntDetector::Run(const std::vector<float>& input,
                                    ruy_like::Context* context, Times* times,
                                    std::string* error) {
  absl::Status status =
      Quantize(absl::MakeConstSpan(input), params_[0],
               absl::MakeSpan(buffers_[0].data(), input.size()), context);
  TensorView<const std::int8_t> x = {
      buffers_[0].data(), {1, kSize, kSize, 3}, params_[0]};
  std::size_t to = 1, table = 0;
  std::vector<float> result(
      static_cast<std::size_t>(Count(steps_.back().shape)));
  for (std::size_t i = 0; i < steps_.size() && status.ok(); ++i) {
    const Step& step = steps_[i];
    TensorView<std::int8_t> y = {buffers_[to].data(), step.shape,
                                 params_[i + 1]};
    const Stopwatch stopwatch(times);
    if (step.kind == Kind::kLeaky) {
      y.data = buffers_[1 - to].data();  // in place
      status = ApplyTable(x, tables_[table++], context, &y);
    } else if (step.kind == Kind::kPool) {
      status = MaxPool2D(x, step.window, &workspace_, context, &y);
    } else if (step.kind == Kind::kDepthwise) {
      status =
          DepthwiseConv2D(x, layers_[i], step.window, &workspace_, context, &y);
    } else if (i + 1 == steps_.size()) {
      TensorView<float> last = {result.data(), step.shape, {}};
      status = Conv2D(x, layers_[i], step.window, &workspace_, context, &last);
    } else {
      status = Conv2D(x, layers_[i], step.window, &workspace_, context, &y);
    }
    x = {y.data, y.shape, y.params};
    if (step.kind != Kind::kLeaky) to = 1 - to;
  }
  if (status.ok()) return result;
  *error = status.ToString();
  return {};
}

}  // namespace detect
