#include "example/detect/network.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace detect {
namespace {

using ruy_like::ColMajor;
using ruy_like::TensorShape;
using ruy_like::TensorView;

// Calls run(to, from, tap) for each output pixel and each tap of its window
// that is on the image.
template <typename Begin, typename Run>
void ForTaps(const Step& step, const Begin& begin, const Run& run) {
  const ruy_like::Window& window = step.window;
  for (std::ptrdiff_t y = 0; y < step.out.height; ++y) {
    for (std::ptrdiff_t x = 0; x < step.out.width; ++x) {
      const std::ptrdiff_t to = y * step.out.width + x;
      begin(to);
      for (std::ptrdiff_t i = 0; i < window.kernel_height; ++i) {
        const std::ptrdiff_t sy =
            y * window.stride_height + i - window.padding.top;
        if (sy < 0 || sy >= step.in.height) continue;
        for (std::ptrdiff_t j = 0; j < window.kernel_width; ++j) {
          const std::ptrdiff_t sx =
              x * window.stride_width + j - window.padding.left;
          if (sx < 0 || sx >= step.in.width) continue;
          run(to, sy * step.in.width + sx, i * window.kernel_width + j);
        }
      }
    }
  }
}

// Each window as one column; padding is zeros.
std::vector<float> Gather(const Step& step, const float* input) {
  const std::ptrdiff_t channels = step.in.channels;
  const std::ptrdiff_t depth =
      step.window.kernel_height * step.window.kernel_width * channels;
  std::vector<float> patches(
      static_cast<std::size_t>(step.out.height * step.out.width * depth));
  ForTaps(
      step, [](std::ptrdiff_t) {},
      [&](std::ptrdiff_t to, std::ptrdiff_t from, std::ptrdiff_t tap) {
        std::copy_n(input + from * channels, channels,
                    patches.data() + to * depth + tap * channels);
      });
  return patches;
}

float MaxOf(const Step& step) {
  return step.activation == Activation::kRelu6
             ? 6.0f
             : std::numeric_limits<float>::infinity();
}

void Depthwise(const Step& step, const float* input, float* output) {
  const std::ptrdiff_t channels = step.out.channels;
  ForTaps(
      step,
      [&](std::ptrdiff_t to) {
        if (step.bias.empty()) {
          std::fill_n(output + to * channels, channels, 0.0f);
        } else {
          std::copy_n(step.bias.data(), channels, output + to * channels);
        }
      },
      [&](std::ptrdiff_t to, std::ptrdiff_t from, std::ptrdiff_t tap) {
        float* const sums = output + to * channels;
        const float* const pixel = input + from * channels;
        const float* const weights = step.weights.data() + tap * channels;
        for (std::ptrdiff_t c = 0; c < channels; ++c) {
          sums[c] += pixel[c] * weights[c];
        }
      });
  if (step.activation == Activation::kNone) return;
  const float max = MaxOf(step);
  for (std::ptrdiff_t i = 0; i < Count(step.out); ++i) {
    output[i] = std::min(std::max(output[i], 0.0f), max);
  }
}

void Pool(const Step& step, const float* input, float* output) {
  const std::ptrdiff_t channels = step.out.channels;
  ForTaps(
      step,
      [&](std::ptrdiff_t to) {
        std::fill_n(output + to * channels, channels, -INFINITY);
      },
      [&](std::ptrdiff_t to, std::ptrdiff_t from, std::ptrdiff_t) {
        for (std::ptrdiff_t c = 0; c < channels; ++c) {
          float& largest = output[to * channels + c];
          largest = std::max(largest, input[from * channels + c]);
        }
      });
}

bool IsProduct(Kind kind) {
  return kind == Kind::kConv || kind == Kind::kPointwise;
}

// By Mul: the columns are pixels or patches.
void Product(const Step& step, const std::vector<float>& input,
             ruy_like::Context* context, float* output) {
  std::vector<float> gathered;
  if (step.kind == Kind::kConv) gathered = Gather(step, input.data());
  const std::vector<float>& columns =
      step.kind == Kind::kConv ? gathered : input;
  const ruy_like::Matrix<const float> lhs = WeightsOf(step);
  const std::ptrdiff_t pixels = step.out.height * step.out.width;
  const ruy_like::Matrix<const float> rhs =
      ColMajor(columns, lhs.layout().cols(), pixels);
  ruy_like::Matrix<float> dst = ColMajor(output, step.out.channels, pixels);
  ruy_like::MulParams<float, float> params;
  params.set_bias(step.bias.data());
  if (step.activation != Activation::kNone) {
    params.set_clamp_min(0);
    params.set_clamp_max(MaxOf(step));
  }
  const absl::Status status = Mul(lhs, rhs, params, context, &dst);
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", step.name.c_str(),
                 status.ToString().c_str());
    std::exit(1);
  }
}

bool Take(const Weights& weights, const std::string& name, std::size_t size,
          std::vector<float>* to, std::string* error) {
  const auto found = weights.find(name);
  if (found == weights.end() || found->second.size() != size) {
    *error = "no tensor " + name + " of " + std::to_string(size) + " values";
    return false;
  }
  *to = found->second;
  return true;
}

bool FoldNorm(const Weights& weights, Step* step, std::string* error) {
  const auto channels = static_cast<std::size_t>(step->out.channels);
  std::vector<float> gamma, beta, mean, variance;
  if (!Take(weights, step->norm_name + "/gamma", channels, &gamma, error) ||
      !Take(weights, step->norm_name + "/beta", channels, &beta, error) ||
      !Take(weights, step->norm_name + "/moving_mean", channels, &mean,
            error) ||
      !Take(weights, step->norm_name + "/moving_variance", channels, &variance,
            error)) {
    return false;
  }
  step->bias.resize(channels, 0.0f);
  ruy_like::Matrix<float> matrix = MutableWeightsOf(step);
  ruy_like::BatchNorm norm;
  norm.gamma = gamma;
  norm.beta = beta;
  norm.mean = mean;
  norm.variance = variance;
  const auto report = FoldBatchNorm(norm, &matrix, absl::MakeSpan(step->bias));
  if (!report.ok()) *error = step->name + ": " + report.status().ToString();
  return report.ok();
}

}  // namespace

bool HasWeights(const Step& step) {
  return IsProduct(step.kind) || step.kind == Kind::kDepthwise;
}

ruy_like::Matrix<const float> WeightsOf(const Step& step) {
  const std::ptrdiff_t rows = step.out.channels;
  return ColMajor(step.weights, rows,
                  static_cast<std::ptrdiff_t>(step.weights.size()) / rows);
}

ruy_like::Matrix<float> MutableWeightsOf(Step* step) {
  const ruy_like::Layout layout = WeightsOf(*step).layout();
  return ColMajor(step->weights, layout.rows(), layout.cols());
}

std::ptrdiff_t Count(const TensorShape& s) {
  return s.batch * s.height * s.width * s.channels;
}

Step* AddStep(Kind kind, const std::string& name,
              const ruy_like::Window& window, std::ptrdiff_t channels,
              Network* network) {
  Step step;
  step.kind = kind;
  step.name = name;
  step.window = window;
  step.in = network->input;
  for (std::size_t i = 0; i < network->steps.size(); ++i) {
    if (network->steps[i].is_output) continue;
    step.source = i + 1;
    step.in = network->steps[i].out;
  }
  step.out = OutputShape(step.in, window, channels).value();
  network->steps.push_back(step);
  return &network->steps.back();
}

bool TakeWeights(const Weights& weights, Network* network, std::string* error) {
  for (Step& step : network->steps) {
    if (!HasWeights(step)) continue;
    std::ptrdiff_t size = step.window.kernel_height * step.window.kernel_width *
                          step.out.channels;
    if (IsProduct(step.kind)) size *= step.in.channels;
    if (!Take(weights, step.filter_name, static_cast<std::size_t>(size),
              &step.weights, error) ||
        (!step.bias_name.empty() &&
         !Take(weights, step.bias_name,
               static_cast<std::size_t>(step.out.channels), &step.bias,
               error)) ||
        (!step.norm_name.empty() && !FoldNorm(weights, &step, error))) {
      return false;
    }
  }
  return true;
}

void ReplaceRelu6(Network* network) {
  for (Step& step : network->steps) {
    if (step.activation == Activation::kRelu6) {
      step.activation = Activation::kRelu;
    }
  }
}

bool Equalize(Network* network, std::string* error) {
  ReplaceRelu6(network);
  std::vector<ruy_like::Matrix<float>> matrices(network->steps.size());
  std::vector<ruy_like::EqualizedLayer> chain;
  const auto end_chain = [&] {
    if (chain.size() < 2) return true;
    const auto report = ruy_like::EqualizeLayers(chain);
    if (!report.ok()) *error = report.status().ToString();
    return report.ok();
  };
  for (std::size_t i = 0; i < network->steps.size(); ++i) {
    Step& step = network->steps[i];
    if (!HasWeights(step)) continue;
    const auto readers = std::count_if(
        network->steps.begin(), network->steps.end(),
        [&](const Step& other) { return other.source == step.source; });
    if (readers > 1) {
      if (step.is_output) continue;
      if (!end_chain()) return false;
      chain.clear();
    }
    ruy_like::EqualizedLayer layer;
    matrices[i] = MutableWeightsOf(&step);
    layer.weights = &matrices[i];
    layer.bias = absl::MakeSpan(step.bias);
    if (step.kind == Kind::kDepthwise) {
      layer.input = ruy_like::ChannelColumns::kDepthwise;
    }
    chain.push_back(layer);
  }
  return end_chain();
}

Outputs RunFloat(const Network& network, const std::vector<float>& input,
                 const Watch& watch, ruy_like::Context* context, Times* times) {
  std::vector<float> x = input;
  Outputs outputs;
  if (watch != nullptr) watch(x);
  for (const Step& step : network.steps) {
    const Stopwatch stopwatch;
    std::vector<float> y(static_cast<std::size_t>(Count(step.out)));
    if (step.kind == Kind::kLeaky) {
      std::transform(x.begin(), x.end(), y.begin(), [](float value) {
        return ruy_like::LeakyRelu(value, kLeakySlope);
      });
    } else if (IsProduct(step.kind)) {
      Product(step, x, context, y.data());
    } else if (step.kind == Kind::kDepthwise) {
      Depthwise(step, x.data(), y.data());
    } else {
      Pool(step, x.data(), y.data());
    }
    if (times != nullptr) times->push_back(stopwatch.Milliseconds());
    if (watch != nullptr) watch(y);
    if (step.is_output) {
      outputs.push_back(std::move(y));
    } else {
      x.swap(y);
    }
  }
  return outputs;
}

bool SearchScales(const Network& network,
                  const std::vector<std::vector<float>>& inputs,
                  ruy_like::Context* context, WeightScales* scales,
                  std::string* error) {
  const std::vector<Step>& steps = network.steps;
  // By image: the input and what each step writes.
  std::vector<std::vector<std::vector<float>>> images(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RunFloat(
        network, inputs[i],
        [&](const std::vector<float>& x) { images[i].push_back(x); }, context,
        nullptr);
  }
  scales->assign(steps.size(), {});
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    if (!IsProduct(step.kind)) continue;
    std::vector<TensorView<const float>> views;
    for (const auto& image : images) {
      views.push_back({image[step.source].data(), step.in, {}});
    }
    auto found = EqSearchConv2D(WeightsOf(step), views, step.window,
                                ruy_like::EqOptions(), context, step.bias);
    if (!found.ok()) {
      *error = step.name + ": " + found.status().ToString();
      return false;
    }
    (*scales)[s] = std::move(found->weights);
  }
  return true;
}

}  // namespace detect
