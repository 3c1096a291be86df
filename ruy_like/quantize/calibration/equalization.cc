#include "ruy_like/quantize/equalization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/calibration/channel_columns.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;
using qi::ForEachElement;
using qi::InputChannels;

constexpr double kConverged = 1e-4;

std::string NameOf(const char* what, std::size_t layer) {
  return absl::StrCat(what, " of layer ", layer);
}

absl::Status CheckOptions(const EqualizeOptions& options) {
  if (options.max_rounds < 1) {
    return Invalid("max_rounds is ", options.max_rounds, ", must be positive");
  }
  return CheckEnum("scale rounding", options.scale_rounding,
                   ScaleRounding::kPowerOfTwo);
}

absl::Status CheckLayer(const EqualizedLayer& layer, std::size_t l) {
  const std::string name = NameOf("weights", l);
  const qi::Erased erased = layer.weights;
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckWritable(name.c_str(), erased));
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({NameOf("bias", l), layer.bias}));
  const Matrix<float>& weights = *layer.weights;
  if (!layer.bias.empty()) {
    RUY_LIKE_RETURN_IF_ERROR(
        qi::CheckBiasCount(layer.bias.size(), name, weights.layout().rows()));
  }
  bool finite = true;
  for (const float b : layer.bias) finite &= std::isfinite(b);
  ForEachElement(weights.layout(), [&](std::ptrdiff_t row, std::ptrdiff_t col) {
    finite &= std::isfinite(Element(weights, row, col));
  });
  if (finite) return absl::OkStatus();
  return Invalid(name, ", or their bias, are not finite");
}

// All memory is written: none of it may belong to two operands.
absl::Status CheckMemory(absl::Span<const EqualizedLayer> layers) {
  // Each layer's weights, then its bias.
  const auto name = [](std::size_t i) {
    return NameOf(i % 2 == 0 ? "weights" : "bias", i / 2);
  };
  const auto operand = [&](std::size_t i) {
    const EqualizedLayer& layer = layers[i / 2];
    return i % 2 == 0 ? qi::Erased(layer.weights) : layer.bias;
  };
  for (std::size_t i = 0; i < 2 * layers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      RUY_LIKE_RETURN_IF_ERROR(
          qi::CheckDisjoint({name(j), operand(j)}, {name(i), operand(i)}));
    }
  }
  return absl::OkStatus();
}

class Equalizer final {
 public:
  Equalizer(absl::Span<const EqualizedLayer> layers,
            const EqualizeOptions& options)
      : layers_(layers), options_(options) {}

  absl::StatusOr<EqualizeReport> Run() {
    RUY_LIKE_RETURN_IF_ERROR(Check());
    EqualizeReport report;
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
      factors_.emplace_back(RowsOf(l), 1.0);
    }
    bool converged = false;
    while (!converged && report.rounds < options_.max_rounds) {
      ++report.rounds;
      converged = true;
      for (std::size_t l = 0; l < factors_.size(); ++l) {
        converged &= ImprovePair(l);
      }
    }
    RUY_LIKE_RETURN_IF_ERROR(WriteResults(&report));
    return report;
  }

 private:
  std::size_t RowsOf(std::size_t l) const {
    return static_cast<std::size_t>(layers_[l].weights->layout().rows());
  }
  InputChannels InputsOf(std::size_t l) const {
    return {layers_[l].input, layers_[l].weights->layout(),
            layers_[l - 1].weights->layout().rows()};
  }

  absl::Status Check() const {
    RUY_LIKE_RETURN_IF_ERROR(CheckOptions(options_));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"layers", layers_}));
    if (layers_.size() < 2) {
      return Invalid("a chain of ", layers_.size(), " layers");
    }
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      RUY_LIKE_RETURN_IF_ERROR(CheckLayer(layers_[l], l));
      if (l > 0) RUY_LIKE_RETURN_IF_ERROR(InputsOf(l).Check());
    }
    return CheckMemory(layers_);
  }

  // A weight times the factors that are chosen so far.
  double Weight(std::size_t l, std::ptrdiff_t row, std::ptrdiff_t col) const {
    double weight = Element(*layers_[l].weights, row, col);
    if (l < factors_.size())
      weight /= factors_[l][static_cast<std::size_t>(row)];
    if (l > 0) weight *= factors_[l - 1][InputsOf(l).ChannelOf(row, col)];
    return weight;
  }
  template <typename Function>
  void ForEachWeight(std::size_t l, const Function& function) const {
    ForEachElement(layers_[l].weights->layout(), function);
  }

  // Factors of the channels between layers l and l + 1. Whether they changed
  // hardly.
  bool ImprovePair(std::size_t l) {
    std::vector<double>& factors = factors_[l];
    std::vector<double> out(factors.size()), in(factors.size());
    ForEachWeight(l, [&](std::ptrdiff_t row, std::ptrdiff_t col) {
      double& range = out[static_cast<std::size_t>(row)];
      range = std::max(range, std::abs(Weight(l, row, col)));
    });
    const InputChannels inputs = InputsOf(l + 1);
    ForEachWeight(l + 1, [&](std::ptrdiff_t row, std::ptrdiff_t col) {
      double& range = in[inputs.ChannelOf(row, col)];
      range = std::max(range, std::abs(Weight(l + 1, row, col)));
    });
    bool hardly = true;
    for (std::size_t c = 0; c < factors.size(); ++c) {
      if (out[c] == 0 || in[c] == 0) continue;
      double factor = std::sqrt(out[c] / in[c]);
      if (options_.scale_rounding == ScaleRounding::kPowerOfTwo) {
        // Halves down, or 1.4 would be factor 2 and then 1/2, for ever.
        factor = std::exp2(std::ceil(std::log2(factor) - 0.5));
      }
      hardly &= std::abs(factor - 1) <= kConverged;
      factors[c] *= factor;
    }
    return hardly;
  }

  // function(result, &number) for all weights and biases that change.
  template <typename Function>
  void ForEachResult(const Function& function) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      ForEachWeight(l, [&](std::ptrdiff_t row, std::ptrdiff_t col) {
        function(Weight(l, row, col), ElementPtr(layers_[l].weights, row, col));
      });
      for (std::size_t row = 0; row < layers_[l].bias.size(); ++row) {
        float& bias = layers_[l].bias[row];
        function(bias / (l < factors_.size() ? factors_[l][row] : 1), &bias);
      }
    }
  }

  absl::Status WriteResults(EqualizeReport* report) const {
    bool fit = true;
    ForEachResult([&](double result, float*) { fit &= qi::IsFloat(result); });
    for (const std::vector<double>& factors : factors_) {
      for (const double factor : factors) fit &= qi::IsFloat(factor);
    }
    if (!fit) {
      return Invalid(
          "no float holds some of the equalized weights, biases or factors");
    }
    // Before anything is written: it takes memory.
    for (const std::vector<double>& factors : factors_) {
      report->factors.emplace_back(factors.begin(), factors.end());
    }
    ForEachResult([](double result, float* number) {
      *number = static_cast<float>(result);
    });
    return absl::OkStatus();
  }

  const absl::Span<const EqualizedLayer> layers_;
  const EqualizeOptions& options_;
  std::vector<std::vector<double>> factors_;
};

}  // namespace

absl::StatusOr<EqualizeReport> EqualizeLayers(
    absl::Span<const EqualizedLayer> layers, const EqualizeOptions& options) {
  return CatchNoMemory([&]() -> absl::StatusOr<EqualizeReport> {
    return Equalizer(layers, options).Run();
  });
}

absl::StatusOr<std::vector<float>> AbsorbBias(
    const EqualizedLayer& layer, const EqualizedLayer& next,
    absl::Span<const float> means, absl::Span<const float> deviations,
    float kept) {
  return CatchNoMemory([&]() -> absl::StatusOr<std::vector<float>> {
    const EqualizedLayer layers[] = {layer, next};
    for (std::size_t l = 0; l < 2; ++l) {
      RUY_LIKE_RETURN_IF_ERROR(CheckLayer(layers[l], l));
      RUY_LIKE_RETURN_IF_ERROR(
          qi::CheckBiasCount(layers[l].bias.size(), "weights",
                             layers[l].weights->layout().rows()));
    }
    const std::size_t channels = layer.bias.size();
    const InputChannels inputs(next.input, next.weights->layout(),
                               layer.weights->layout().rows());
    RUY_LIKE_RETURN_IF_ERROR(inputs.Check());
    RUY_LIKE_RETURN_IF_ERROR(CheckMemory(layers));
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckNormals(means, deviations));
    if (means.size() != channels || !(kept >= 0)) {
      return Invalid(means.size(), " means for ", channels,
                     " channels, kept = ", kept);
    }
    std::vector<float> absorbed;
    bool fit = true;
    for (std::size_t c = 0; c < channels; ++c) {
      const double value = means[c] - static_cast<double>(kept) * deviations[c];
      absorbed.push_back(value > 0 ? static_cast<float>(value) : 0);
      fit &= qi::IsFloat(static_cast<double>(layer.bias[c]) - absorbed[c]);
    }
    std::vector<double> bias(next.bias.begin(), next.bias.end());
    ForEachElement(next.weights->layout(),
                   [&](std::ptrdiff_t row, std::ptrdiff_t col) {
                     bias[static_cast<std::size_t>(row)] +=
                         static_cast<double>(Element(*next.weights, row, col)) *
                         absorbed[inputs.ChannelOf(row, col)];
                   });
    for (const double b : bias) fit &= qi::IsFloat(b);
    if (!fit) return Invalid("no float holds some of the biases");
    for (std::size_t c = 0; c < channels; ++c) layer.bias[c] -= absorbed[c];
    for (std::size_t row = 0; row < bias.size(); ++row) {
      next.bias[row] = static_cast<float>(bias[row]);
    }
    return absorbed;
  });
}

}  // namespace ruy_like
