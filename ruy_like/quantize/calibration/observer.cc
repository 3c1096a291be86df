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

// Chunks on their way to the bins: counted in partial histograms, and the
// indices of the last chunk, which are counted while the next one is read.
struct Observer::Pipeline {
  // As many elements as a partial histogram counts without overflow.
  static constexpr std::size_t kMaxElements = std::size_t{1} << 31;
  static constexpr std::size_t kChunk = qi::kObserveChunk;

  Pipeline() { std::fill_n(waiting, kChunk, qi::kObserveNothing); }

  qi::ObserveCounts counts = {};
  std::size_t elements = 0;  // counted or waiting
  // Not 4 KB apart: a core that compares the low 12 bits of addresses would
  // take the loads of one for loads of what is being stored to the other.
  alignas(64) std::uint16_t indices[2][kChunk + kChunk / 2];
  std::uint16_t* waiting = indices[0];
  std::uint16_t* free = indices[1];
};

// Observers for the threads of one call, each used by one thread at a time. The
// first is the caller's own. All are made before the threads begin: these must
// not throw.
class Observer::Shards final {
 public:
  struct Shard {
    Observer* observer;
    std::unique_ptr<Pipeline> pipeline;
  };

  Shards(Observer* first, std::ptrdiff_t threads, bool with_pipelines)
      : owned_(static_cast<std::size_t>(threads - 1)) {
    shards_.push_back({first, nullptr});
    for (Observer& observer : owned_) {
      observer.state_.range = first->state_.range;
      observer.state_.has_range = observer.state_.range != 0;
      shards_.push_back({&observer, nullptr});
    }
    for (Shard& shard : shards_) {
      if (with_pipelines) shard.pipeline = std::make_unique<Pipeline>();
      free_.push_back(&shard);
    }
    std::reverse(free_.begin(), free_.end());  // the caller's own first
  }

  Shard* Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    Shard* const shard = free_.back();
    free_.pop_back();
    return shard;
  }
  void Return(Shard* shard) {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(shard);
  }
  void MergeIntoFirst() {
    for (const Shard& shard : shards_) {
      if (shard.pipeline != nullptr)
        shard.observer->Drain(shard.pipeline.get());
    }
    for (const Observer& observer : owned_) {
      // Both have one range: it cannot fail.
      (void)shards_[0].observer->Merge(observer);
    }
  }

 private:
  std::vector<Observer> owned_;
  std::vector<Shard> shards_;
  std::mutex mutex_;
  std::vector<Shard*> free_;
};

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
    Shards shards(this, qi::ThreadsFor(units, bytes, context), with_pipelines);
    RUY_LIKE_RETURN_IF_ERROR(qi::ForEachRange(
        units, by_line ? 1 : std::ptrdiff_t{qi::kObserveChunk}, bytes, context,
        [&](std::ptrdiff_t first, std::ptrdiff_t last) {
          Shards::Shard* const shard = shards.Take();
          const auto observe = [&](std::ptrdiff_t at, std::ptrdiff_t n) {
            shard->observer->ObserveRange(values.data() + at,
                                          static_cast<std::size_t>(n), kernels,
                                          shard->pipeline.get());
          };
          if (!by_line) observe(first, last - first);
          for (std::ptrdiff_t line = first; by_line && line < last; ++line) {
            observe(line * walk.src.line, unit);
          }
          shards.Return(shard);
        }));
    shards.MergeIntoFirst();
    return absl::OkStatus();
  });
}

void Observer::ObserveRange(const float* values, std::size_t n,
                            const CalibrationKernels& kernels,
                            Pipeline* pipeline) {
  constexpr std::size_t kChunk = Pipeline::kChunk;
  for (std::size_t i = 0; i < n; i += kChunk) {
    const std::size_t count = std::min(kChunk, n - i);
    if (pipeline == nullptr || count < kChunk ||
        !StepChunk(values + i, kernels, pipeline)) {
      ObserveChunk(values + i, count, kernels, pipeline);
    }
  }
}

bool Observer::StepChunk(const float* values, const CalibrationKernels& kernels,
                         Pipeline* pipeline) {
  constexpr std::size_t kChunk = Pipeline::kChunk;
  if (!state_.has_range) return false;
  if (pipeline->elements + kChunk > Pipeline::kMaxElements) Drain(pipeline);
  const qi::ChunkStats stats =
      kernels.step(values, ScaleOf(state_), pipeline->free, pipeline->waiting,
                   &pipeline->counts);
  if (!stats.all_finite || !Covers(stats.absmax)) {
    std::fill_n(pipeline->waiting, kChunk, qi::kObserveNothing);
    return false;
  }
  AddStats(stats, kChunk);
  pipeline->elements += kChunk;
  std::swap(pipeline->waiting, pipeline->free);
  return true;
}

void Observer::ObserveChunk(const float* values, std::size_t n,
                            const CalibrationKernels& kernels,
                            Pipeline* pipeline) {
  constexpr std::size_t kChunk = Pipeline::kChunk;
  const qi::ChunkStats stats = kernels.scan(values, n);
  if (!stats.all_finite) {
    float finite[kChunk];
    std::size_t finite_n = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isfinite(values[i])) finite[finite_n++] = values[i];
    }
    state_.nonfinite += n - finite_n;
    if (finite_n > 0) ObserveChunk(finite, finite_n, kernels, pipeline);
    return;
  }
  AddStats(stats, n);
  if (stats.absmax == 0) {
    state_.zeros += n;
    return;
  }
  if (!Covers(stats.absmax)) {
    if (pipeline != nullptr) Drain(pipeline);
    CoverExponent(ExponentAbove(stats.absmax));
  }
  alignas(64) std::uint16_t index[kChunk];
  kernels.index(values, n, ScaleOf(state_), index);
  Count(index, n);
}

template <typename Stats>
void Observer::AddStats(const Stats& stats, std::uint64_t n) {
  if (n == 0) return;
  // Adding 0 makes 0 of -0.
  state_.min =
      (state_.finite == 0 ? stats.min : std::min(state_.min, stats.min)) + 0.0f;
  state_.max =
      (state_.finite == 0 ? stats.max : std::max(state_.max, stats.max)) + 0.0f;
  state_.finite += n;
  state_.sum.Add(stats.sum);
  state_.sum_of_squares.Add(stats.sum_of_squares);
  state_.sum_of_magnitudes.Add(stats.sum_of_magnitudes);
}

void Observer::Count(const std::uint16_t* index, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (index[i] < kBins) {
      ++state_.bins[index[i]];
    } else if (index[i] == kBins) {
      ++state_.zeros;
    }
  }
}

void Observer::Drain(Pipeline* pipeline) {
  Count(pipeline->waiting, Pipeline::kChunk);
  std::fill_n(pipeline->waiting, Pipeline::kChunk, qi::kObserveNothing);
  for (auto& part : pipeline->counts.parts) {
    for (int i = 0; i < kBins; ++i) state_.bins[i] += part[i];
    state_.zeros += part[kBins];
  }
  pipeline->counts = {};
  pipeline->elements = 0;
}

bool Observer::Covers(float magnitude) const {
  if (!state_.streaming() || magnitude == 0) return true;
  return state_.has_range && ExponentAbove(magnitude) <= state_.exponent;
}

void Observer::CoverExponent(int exponent) {
  if (!state_.has_range) {
    state_.has_range = true;
    state_.exponent = exponent;
    return;
  }
  const int shift = std::min(exponent - state_.exponent, kLog2Bins);
  if (shift <= 0) return;
  for (int i = 0; i < kBins; ++i) {
    const std::uint64_t count = std::exchange(state_.bins[i], 0);
    state_.bins[i >> shift] += count;
  }
  state_.exponent = exponent;
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
    AddStats(other.state_, other.state_.finite);
    state_.zeros += other.state_.zeros;
    state_.nonfinite += other.state_.nonfinite;
    if (!other.state_.has_range) return absl::OkStatus();
    int shift = 0;
    if (state_.streaming()) {
      CoverExponent(other.state_.exponent);
      shift = std::min(state_.exponent - other.state_.exponent, kLog2Bins);
    }
    for (int i = 0; i < kBins; ++i)
      state_.bins[i >> shift] += other.state_.bins[i];
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

absl::StatusOr<float> Observer::AciqThreshold(CalibrationMethod method,
                                              int bits) const {
  const bool laplace = method == CalibrationMethod::kAciqLaplace;
  RUY_LIKE_ASSIGN_OR_RETURN(const auto factor, laplace
                                                   ? LaplaceClipFactor(bits)
                                                   : GaussianClipFactor(bits));
  double spread;
  if (method == CalibrationMethod::kAciqRange) {
    if (state_.finite < 2) return absmax();
    // Half of the range that a Gaussian's samples are expected to span.
    static const double kShare =
        0.5 * 0.35 * (1 + std::sqrt(M_PI * std::log(4.0)));
    spread = 2 * static_cast<double>(absmax()) * kShare /
             std::sqrt(2 * std::log(static_cast<double>(state_.finite)));
  } else {
    // About 0, where T is measured from, and without zeros, which cost nothing:
    // about its mean, data after a ReLU would seem less than half as wide.
    const auto nonzero = static_cast<double>(state_.finite - state_.zeros);
    spread = laplace ? state_.sum_of_magnitudes.value() / nonzero
                     : std::sqrt(state_.sum_of_squares.value() / nonzero);
  }
  const auto threshold = static_cast<float>(factor * spread);
  if (!(threshold > 0)) return absmax();  // too small for their squares
  return std::min(threshold, absmax());
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
        return AciqThreshold(options.method,
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
    const float lo = std::max(state_.min, -threshold);
    const float hi = std::min(state_.max, threshold);
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
