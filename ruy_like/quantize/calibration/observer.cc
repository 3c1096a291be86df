#include "ruy_like/quantize/observer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/loops/blocks.h"
#include "ruy_like/quantize/loops/calibration_kernels.h"
#include "ruy_like/quantize/loops/dispatch.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;
using qi::CalibrationKernels;
using qi::ObserverState;

static_assert(Observer::kBins == qi::kObserveBins, "");

// Exponents of R. Below the first, the factor from a magnitude to its bin would
// be no float.
constexpr int kLowestExponent = -100, kHighestExponent = 128;
// Far from where sums of two observers' counts would overflow.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 62;
constexpr std::size_t kChunk = qi::kObserveChunk;
constexpr int kLog2Bins = 11;
static_assert(Observer::kBins == 1 << kLog2Bins, "");

// The exponent of the least power of two above a positive number.
int ExponentAbove(float magnitude) {
  int exponent;
  std::frexp(magnitude,
             &exponent);  // magnitude is in [2^(exponent - 1), 2^...)
  return std::max(exponent, kLowestExponent);
}

// Where there is no range set, the bins reach to 2^exponent.
qi::ObserveScale ScaleOf(const ObserverState& state) {
  return {state.range, std::ldexp(1.0f, kLog2Bins - state.exponent)};
}

absl::Status ValidateOptions(const CalibrationOptions& options) {
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckRange("bits", options.bits, 2, 16));
  return CheckEnum("scheme", options.scheme, QuantScheme::kAffineUnsigned);
}

// ## Which states an Observer can have

bool IsRange(const ObserverState& state) {
  if (state.streaming()) {
    return !state.has_range || (state.exponent >= kLowestExponent &&
                                state.exponent <= kHighestExponent);
  }
  return state.range > 0 && std::isfinite(state.range) && state.has_range;
}

bool AreCounts(const ObserverState& state) {
  if (state.finite > kMaxCount || state.zeros > state.finite ||
      state.nonfinite > kMaxCount ||
      state.bins.size() != static_cast<std::size_t>(Observer::kBins)) {
    return false;
  }
  std::uint64_t left = state.finite - state.zeros;
  for (const std::uint64_t count : state.bins) {
    if (count > left) return false;
    left -= count;
  }
  return left == 0;
}

bool AreEnds(const ObserverState& state) {
  const float absmax = std::max(-state.min, state.max);
  if (!std::isfinite(absmax) || !(state.min <= state.max)) return false;
  // The ends are 0 exactly if all values are; the range covers both.
  if ((absmax == 0) != (state.finite == state.zeros)) return false;
  if (state.zeros > 0 && (state.min > 0 || state.max < 0)) return false;
  if (absmax == 0 || state.range > 0) return true;
  return state.has_range && absmax < std::ldexp(1.0, state.exponent);
}

bool IsNegative(const qi::ExactSum& sum) { return sum.digits().back() < 0; }

// ## Adding to a state

// True if the histogram covers a magnitude.
bool Covers(const ObserverState& state, float magnitude) {
  if (!state.streaming() || magnitude == 0) return true;
  return state.has_range && ExponentAbove(magnitude) <= state.exponent;
}

void CoverExponent(int exponent, ObserverState* state) {
  if (!state->has_range) {
    state->has_range = true;
    state->exponent = exponent;
    return;
  }
  const int shift = std::min(exponent - state->exponent, kLog2Bins);
  if (shift <= 0) return;
  for (int i = 0; i < Observer::kBins; ++i) {
    const std::uint64_t count = std::exchange(state->bins[i], 0);
    state->bins[i >> shift] += count;
  }
  state->exponent = exponent;
}

// Adds the statistics of n finite values: a chunk's or another observer's.
template <typename Stats>
void AddStats(const Stats& stats, std::uint64_t n, ObserverState* state) {
  if (n == 0) return;
  // Adding 0 makes 0 of -0.
  const bool is_first = state->finite == 0;
  state->min = (is_first ? stats.min : std::min(state->min, stats.min)) + 0.0f;
  state->max = (is_first ? stats.max : std::max(state->max, stats.max)) + 0.0f;
  state->finite += n;
  state->sum.Add(stats.sum);
  state->sum_of_squares.Add(stats.sum_of_squares);
  state->sum_of_magnitudes.Add(stats.sum_of_magnitudes);
}

// All that an observer of the same range, or that streams too, has seen.
void AddState(const ObserverState& other, ObserverState* state) {
  AddStats(other, other.finite, state);
  state->zeros += other.zeros;
  state->nonfinite += other.nonfinite;
  if (!other.has_range) return;
  int shift = 0;
  if (state->streaming()) {
    CoverExponent(other.exponent, state);
    shift = std::min(state->exponent - other.exponent, kLog2Bins);
  }
  for (int i = 0; i < Observer::kBins; ++i) {
    state->bins[i >> shift] += other.bins[i];
  }
}

// Chunks on their way to the bins: counted in partial histograms, and the
// indices of the last chunk, which are counted while the next one is read.
struct Pipeline {
  // As many elements as a partial histogram counts without overflow.
  static constexpr std::size_t kMaxElements = std::size_t{1} << 31;

  Pipeline() { std::fill_n(waiting, kChunk, qi::kObserveNothing); }

  qi::ObserveCounts counts = {};
  std::size_t elements = 0;  // counted or waiting
  // Not 4 KB apart: a core that compares the low 12 bits of addresses would
  // take the loads of one for loads of what is being stored to the other.
  alignas(64) std::uint16_t indices[2][kChunk + kChunk / 2];
  std::uint16_t* waiting = indices[0];
  std::uint16_t* free = indices[1];
};

// Adds values to a state, on one thread at a time.
class Counter final {
 public:
  Counter(ObserverState* state, const CalibrationKernels& kernels,
          bool with_pipeline)
      : state_(state),
        kernels_(kernels),
        pipeline_(with_pipeline ? std::make_unique<Pipeline>() : nullptr) {}

  // Contiguous values. Some may wait in the pipeline until Drain.
  void Observe(const float* values, std::size_t n) {
    for (std::size_t i = 0; i < n; i += kChunk) {
      const std::size_t count = std::min(kChunk, n - i);
      if (pipeline_ == nullptr || count < kChunk || !StepChunk(values + i)) {
        ObserveChunk(values + i, count);
      }
    }
  }

  void Drain() {
    if (pipeline_ == nullptr) return;
    Count(pipeline_->waiting, kChunk);
    std::fill_n(pipeline_->waiting, kChunk, qi::kObserveNothing);
    std::uint64_t* const bins = state_->bins.data();
    for (auto& part : pipeline_->counts.parts) {
      for (int i = 0; i < Observer::kBins; ++i) bins[i] += part[i];
      state_->zeros += part[Observer::kBins];
    }
    pipeline_->counts = {};
    pipeline_->elements = 0;
  }

 private:
  // One whole chunk, if its values are finite and within the range: it is
  // counted with the next one. Else false and nothing observed.
  bool StepChunk(const float* values) {
    if (!state_->has_range) return false;
    Pipeline* const pipeline = pipeline_.get();
    if (pipeline->elements + kChunk > Pipeline::kMaxElements) Drain();
    const qi::ChunkStats stats =
        kernels_.step(values, ScaleOf(*state_), pipeline->free,
                      pipeline->waiting, &pipeline->counts);
    if (!stats.all_finite || !Covers(*state_, stats.absmax)) {
      std::fill_n(pipeline->waiting, kChunk, qi::kObserveNothing);
      return false;
    }
    AddStats(stats, kChunk, state_);
    pipeline->elements += kChunk;
    std::swap(pipeline->waiting, pipeline->free);
    return true;
  }

  // One chunk, counted at once.
  void ObserveChunk(const float* values, std::size_t n) {
    const qi::ChunkStats stats = kernels_.scan(values, n);
    if (!stats.all_finite) {
      float finite[kChunk];
      std::size_t finite_n = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (std::isfinite(values[i])) finite[finite_n++] = values[i];
      }
      state_->nonfinite += n - finite_n;
      if (finite_n > 0) ObserveChunk(finite, finite_n);
      return;
    }
    AddStats(stats, n, state_);
    if (stats.absmax == 0) {
      state_->zeros += n;
      return;
    }
    if (!Covers(*state_, stats.absmax)) {
      Drain();
      CoverExponent(ExponentAbove(stats.absmax), state_);
    }
    alignas(64) std::uint16_t index[kChunk];
    kernels_.index(values, n, ScaleOf(*state_), index);
    Count(index, n);
  }

  void Count(const std::uint16_t* index, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (index[i] < Observer::kBins) {
        ++state_->bins[index[i]];
      } else if (index[i] == Observer::kBins) {
        ++state_->zeros;
      }
    }
  }

  ObserverState* const state_;
  const CalibrationKernels& kernels_;
  std::unique_ptr<Pipeline> pipeline_;
};

absl::StatusOr<float> AciqThreshold(const Observer& observer,
                                    CalibrationMethod method, int bits) {
  const ObserverState& state = ObserverState::Of(observer);
  const bool laplace = method == CalibrationMethod::kAciqLaplace;
  RUY_LIKE_ASSIGN_OR_RETURN(const auto factor, laplace
                                                   ? LaplaceClipFactor(bits)
                                                   : GaussianClipFactor(bits));
  double spread;
  if (method == CalibrationMethod::kAciqRange) {
    if (state.finite < 2) return observer.absmax();
    // Half of the range that a Gaussian's samples are expected to span.
    static const double kShare =
        0.5 * 0.35 * (1 + std::sqrt(M_PI * std::log(4.0)));
    spread = 2 * static_cast<double>(observer.absmax()) * kShare /
             std::sqrt(2 * std::log(static_cast<double>(state.finite)));
  } else {
    // About 0, where T is measured from, and without zeros, which cost nothing:
    // about its mean, data after a ReLU would seem less than half as wide.
    const auto nonzero = static_cast<double>(state.finite - state.zeros);
    spread = laplace ? state.sum_of_magnitudes.value() / nonzero
                     : std::sqrt(state.sum_of_squares.value() / nonzero);
  }
  const auto threshold = static_cast<float>(factor * spread);
  if (!(threshold > 0))
    return observer.absmax();  // too small for their squares
  return std::min(threshold, observer.absmax());
}

}  // namespace

namespace quantize_internal {

const ObserverState& ObserverState::Of(const Observer& observer) {
  return observer.state_;
}

absl::StatusOr<Observer> ObserverState::ToObserver(ObserverState state) {
  const char* wrong =
      !IsRange(state)     ? "range"
      : !AreCounts(state) ? "counts"
      : !AreEnds(state)   ? "ends"
      : IsNegative(state.sum_of_squares) || IsNegative(state.sum_of_magnitudes)
          ? "sums"
          : nullptr;
  if (wrong != nullptr) {
    return Invalid("the ", wrong, " of an observer contradict the rest");
  }
  state.min += 0.0f;  // never -0
  state.max += 0.0f;
  Observer observer;
  observer.state_ = std::move(state);
  return observer;
}

}  // namespace quantize_internal

const char* CalibrationMethodName(CalibrationMethod method) {
  // By CalibrationMethod.
  static constexpr const char* kNames[] = {
      "minmax",       "percentile", "mse",     "aciq-gauss",
      "aciq-laplace", "aciq-range", "entropy", "entropy-ncnn"};
  const auto i = static_cast<std::size_t>(method);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

Observer::Observer() { state_.bins.resize(kBins); }

absl::Status Observer::SetRange(float absmax) {
  return CatchNoMemory([&]() -> absl::Status {
    if (!(absmax > 0) || !std::isfinite(absmax)) {
      return Invalid("absmax is ", absmax, ", must be positive and finite");
    }
    if (state_.finite + state_.nonfinite != 0) {
      return absl::FailedPreconditionError(
          "the range can not be set after values were observed");
    }
    state_.range = absmax;
    state_.has_range = true;
    return absl::OkStatus();
  });
}

absl::Status Observer::Observe(const Matrix<float>& values, Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    const qi::Erased view = values;
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckOperand("values", view));
    if (values.layout().rows() == 0 || values.layout().cols() == 0) {
      return absl::OkStatus();
    }
    const CalibrationKernels& kernels =
        qi::CalibrationKernelsFor(qi::TargetsFor(context));
    const qi::PairWalk walk = qi::WalkAlongDst(view.layout, view.layout);
    // Cut only where a single thread cuts it into chunks too: at lines, or at
    // multiples of a chunk. So the sums have the same roundings.
    const qi::Lines& lines = walk.lines;
    const bool by_line = lines.count > 1;
    const std::ptrdiff_t units = by_line ? lines.count : lines.inner;
    const std::ptrdiff_t unit = by_line ? lines.inner : 1;
    const std::ptrdiff_t bytes = unit * std::ptrdiff_t{sizeof(float)};
    // One chunk is not worth clearing and adding up the partial histograms.
    const bool with_pipelines = lines.inner > std::ptrdiff_t{qi::kObserveChunk};
    // All made before the threads begin, which must not throw. The first one
    // adds to this observer.
    std::vector<ObserverState> others(
        static_cast<std::size_t>(qi::ThreadsFor(units, bytes, context) - 1));
    std::vector<Counter> counters;
    counters.reserve(others.size() + 1);
    counters.emplace_back(&state_, kernels, with_pipelines);
    for (ObserverState& other : others) {
      other.range = state_.range;
      other.has_range = other.range != 0;
      other.bins.resize(kBins);
      counters.emplace_back(&other, kernels, with_pipelines);
    }
    RUY_LIKE_RETURN_IF_ERROR(qi::ForEachRange(
        units, by_line ? 1 : std::ptrdiff_t{qi::kObserveChunk}, bytes, context,
        [&](std::ptrdiff_t first, std::ptrdiff_t last, int thread) {
          const auto observe = [&](std::ptrdiff_t at, std::ptrdiff_t n) {
            counters[static_cast<std::size_t>(thread)].Observe(
                values.data() + at, static_cast<std::size_t>(n));
          };
          if (!by_line) observe(first, last - first);
          for (std::ptrdiff_t line = first; by_line && line < last; ++line) {
            observe(line * walk.src.line, unit);
          }
        }));
    for (Counter& counter : counters) counter.Drain();
    for (const ObserverState& other : others) AddState(other, &state_);
    return absl::OkStatus();
  });
}

absl::Status Observer::Merge(const Observer& other) {
  return CatchNoMemory([&]() -> absl::Status {
    if (state_.range != other.state_.range) {
      return absl::FailedPreconditionError(absl::StrCat(
          "observers of the ranges ", state_.range, " and ", other.state_.range,
          " (0: streaming) can not be merged"));
    }
    if (&other == this) {
      return Merge(Observer(other));  // for *this changes meanwhile
    }
    AddState(other.state_, &state_);
    return absl::OkStatus();
  });
}

float Observer::absmax() const { return std::max(-state_.min, state_.max); }

double Observer::mean() const {
  return state_.finite == 0 ? 0 : state_.sum.value() / state_.finite;
}

double Observer::standard_deviation() const {
  if (state_.finite == 0) return 0;
  const double average = mean();
  const double variance =
      state_.sum_of_squares.value() / state_.finite - average * average;
  return std::sqrt(std::max(variance, 0.0));
}

double Observer::mean_magnitude() const {
  return state_.finite == 0 ? 0
                            : state_.sum_of_magnitudes.value() / state_.finite;
}

MagnitudeHistogram Observer::histogram() const {
  MagnitudeHistogram histogram;
  if (state_.finite == state_.zeros) return histogram;
  histogram.bins = state_.bins;
  const double range =
      state_.streaming() ? std::ldexp(1.0, state_.exponent) : state_.range;
  histogram.bin_width = range / kBins;
  histogram.absmax = std::min<double>(absmax(), range);
  return histogram;
}

absl::StatusOr<float> Observer::Threshold(
    const CalibrationOptions& options) const {
  return CatchNoMemory([&]() -> absl::StatusOr<float> {
    RUY_LIKE_RETURN_IF_ERROR(ValidateOptions(options));
    if (state_.finite == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "no finite value was observed (", state_.nonfinite, " others)"));
    }
    if (state_.finite == state_.zeros) return 0.0f;
    const bool one_sided = options.scheme != QuantScheme::kSymmetric &&
                           (state_.min >= 0 || state_.max <= 0);
    const int levels = 1 << (one_sided ? options.bits : options.bits - 1);
    switch (options.method) {
      case CalibrationMethod::kMinMax:
        return absmax();
      case CalibrationMethod::kPercentile:
        return ChoosePercentileThreshold(histogram(), options.percentile);
      case CalibrationMethod::kMse:
        return ChooseMseThreshold(histogram(), levels - 1);
      case CalibrationMethod::kEntropy:
      case CalibrationMethod::kEntropyNcnn: {
        if (levels > kBins) return absmax();
        RUY_LIKE_ASSIGN_OR_RETURN(
            const auto chosen,
            options.method == CalibrationMethod::kEntropy
                ? ChooseEntropyThreshold(histogram(), levels)
                : ChooseNcnnEntropyThreshold(histogram(), levels));
        return chosen.threshold;
      }
      case CalibrationMethod::kAciqGauss:
      case CalibrationMethod::kAciqLaplace:
      case CalibrationMethod::kAciqRange:
        return AciqThreshold(*this, options.method,
                             one_sided ? options.bits + 1 : options.bits);
    }
    return Invalid("unknown calibration method ",
                   static_cast<int>(options.method));
  });
}

absl::StatusOr<QuantParams> Observer::ChooseParams(
    const CalibrationOptions& options) const {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantParams> {
    RUY_LIKE_ASSIGN_OR_RETURN(const auto threshold, Threshold(options));
    const float lo = std::clamp(state_.min, -threshold, threshold);
    const float hi = std::clamp(state_.max, -threshold, threshold);
    switch (options.scheme) {
      case QuantScheme::kSymmetric:
        return ChooseSymmetric(threshold, options.bits, options.scale_rounding);
      case QuantScheme::kAffineSigned:
        return ChooseAffine(lo, hi, -(1 << (options.bits - 1)),
                            (1 << (options.bits - 1)) - 1);
      case QuantScheme::kAffineUnsigned:
        return ChooseAffine(lo, hi, 0, (1 << options.bits) - 1);
    }
    return Invalid("unknown scheme ", static_cast<int>(options.scheme));
  });
}

}  // namespace ruy_like
