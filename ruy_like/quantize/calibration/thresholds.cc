#include "ruy_like/quantize/thresholds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

namespace qi = quantize_internal;

constexpr int kMaxLevels = 32768;
constexpr int kMaxQmax = 65535;
// The search takes O(bins^2) steps.
constexpr int kMaxNcnnBins = 65536;
// With fewer samples the divergence of sparse counts is mostly noise. Gain in
// signal-to-noise ratio over min-max, in dB, mean of 40 sets of Gaussian and of
// Laplace numbers: int8 -4.8 and -6.5 at 8 a level, -1.2 and -2.3 at 64, -0.1
// and -1.3 at 128, 0.5 and 1.2 at 512; int7 0.2 and -0.1 at 128.
constexpr std::uint64_t kSamplesPerLevel = 128;
// Divergences that differ by less are equal: it covers the rounding of the
// sums.
constexpr double kDivergenceTolerance = 1e-9;

// A histogram, as all searches see it.
struct Occupied {
  int bins = 0;           // up to the last one with a count
  int occupied_bins = 0;  // those with a count
  std::uint64_t count = 0;
  double absmax = 0;
};

absl::StatusOr<Occupied> Inspect(const MagnitudeHistogram& histogram) {
  if (!(histogram.bin_width > 0) || !std::isfinite(histogram.bin_width)) {
    return Invalid("the bins' width is ", histogram.bin_width,
                   ", must be positive and finite");
  }
  RUY_LIKE_RETURN_IF_ERROR(qi::CheckData({"bins", histogram.bins}));
  if (histogram.bins.size() > (std::size_t{1} << 30)) {
    return Invalid(histogram.bins.size(), " bins are too many");
  }
  Occupied occupied;
  for (std::size_t i = 0; i < histogram.bins.size(); ++i) {
    if (histogram.bins[i] == 0) continue;
    occupied.bins = static_cast<int>(i) + 1;
    ++occupied.occupied_bins;
    if (__builtin_add_overflow(occupied.count, histogram.bins[i],
                               &occupied.count)) {
      return Invalid("the counts' sum overflows");
    }
  }
  if (occupied.count == 0) {
    return Invalid("the histogram is empty");
  }
  const double end = histogram.bin_width * histogram.bins.size();
  if (!(histogram.absmax >= 0) || histogram.absmax > end * (1 + 1e-6)) {
    return Invalid("absmax is ", histogram.absmax, ", must be in [0, ", end,
                   "], what the bins cover");
  }
  occupied.absmax = histogram.absmax == 0 ? end : histogram.absmax;
  if (occupied.absmax > std::numeric_limits<float>::max()) {
    return Invalid("magnitudes up to ", occupied.absmax,
                   " are more than a threshold can be");
  }
  return occupied;
}

// Never 0, which only data without any magnitude has.
float Threshold(double edge, const Occupied& occupied) {
  return std::max(static_cast<float>(std::min(edge, occupied.absmax)),
                  std::numeric_limits<float>::denorm_min());
}

// x ln x, as it tends to at 0.
double XLogX(double x) { return x == 0 ? 0 : x * std::log(x); }

// Divergences for clipping after any number of bins, from sums over the first j
// bins.
class DivergenceSearch final {
 public:
  DivergenceSearch(absl::Span<const std::uint64_t> bins, int levels)
      : levels_(levels),
        count_(bins.size() + 1),
        occupied_(bins.size() + 1),
        x_log_x_(bins.size() + 1) {
    for (std::size_t j = 0; j < bins.size(); ++j) {
      count_[j + 1] = count_[j] + bins[j];
      occupied_[j + 1] = occupied_[j] + (bins[j] != 0);
      x_log_x_[j + 1] = x_log_x_[j] + XLogX(static_cast<double>(bins[j]));
    }
  }

  // Clipped after bins [0, clip). Infinite where P has mass and Q none.
  double Divergence(std::int64_t clip) const {
    const std::uint64_t total = count_.back();
    const std::uint64_t tail = total - count_[clip];
    const std::uint64_t last = count_[clip] - count_[clip - 1];
    if (last == 0 && tail != 0) return std::numeric_limits<double>::infinity();
    double cross = 0;  // sum of P ln Q, not normalised
    std::int64_t begin = 0;
    for (std::int64_t group = 0; group < levels_; ++group) {
      // The bins j with floor(j * levels / clip) == group.
      const std::int64_t end = ((group + 1) * clip + levels_ - 1) / levels_;
      const std::uint64_t count = count_[end] - count_[begin];
      if (count != 0) {
        const auto q = static_cast<double>(count) /
                       static_cast<double>(occupied_[end] - occupied_[begin]);
        const std::uint64_t mass = count + (end == clip ? tail : 0);
        cross += static_cast<double>(mass) * std::log(q);
      }
      begin = end;
    }
    const auto n = static_cast<double>(total);
    const double own =
        x_log_x_[clip - 1] + XLogX(static_cast<double>(last + tail));
    return (own - cross) / n - std::log(n) +
           std::log(static_cast<double>(count_[clip]));
  }

 private:
  const std::int64_t levels_;
  std::vector<std::uint64_t> count_;
  std::vector<std::int32_t> occupied_;
  std::vector<double> x_log_x_;
};

// ncnn's search: a histogram's shares, and what its quantizer makes of them.
class NcnnSearch final {
 public:
  NcnnSearch(absl::Span<const std::uint64_t> bins, std::uint64_t total,
             int levels)
      : levels_(levels), share_(bins.size()) {
    clipped_.reserve(bins.size());
    expanded_.reserve(bins.size());
    for (std::size_t i = 0; i < bins.size(); ++i) {
      share_[i] = static_cast<float>(static_cast<double>(bins[i]) /
                                     static_cast<double>(total));
    }
  }

  // Clipped after bins [0, clip).
  float Divergence(int clip) {
    const auto n = static_cast<std::size_t>(clip);
    clipped_.assign(n, kEpsilon);
    expanded_.assign(n, kEpsilon);
    for (std::size_t i = 0; i < n; ++i) clipped_[i] += share_[i];
    for (std::size_t i = n; i < share_.size(); ++i)
      clipped_[n - 1] += share_[i];
    const float width = static_cast<float>(clip) / static_cast<float>(levels_);
    for (int level = 0; level < levels_; ++level) {
      const bool is_last = level == levels_ - 1;
      const auto end_of_all = static_cast<float>(clip);
      SpreadGroup(
          is_last ? end_of_all - width : static_cast<float>(level) * width,
          is_last ? end_of_all : static_cast<float>(level + 1) * width);
    }
    float divergence = 0;
    for (std::size_t i = 0; i < n; ++i) {
      divergence += clipped_[i] * std::log(clipped_[i] / expanded_[i]);
    }
    return divergence;
  }

 private:
  static constexpr float kEpsilon = 0.0001f;

  // The mean of the shares in [begin, end), to each bin there; of bins that are
  // cut, in proportion.
  void SpreadGroup(float begin, float end) {
    const auto first = static_cast<std::size_t>(std::ceil(begin));
    const auto last = static_cast<std::size_t>(std::floor(end));
    const float before = static_cast<float>(first) - begin;
    const float after = end - static_cast<float>(last);
    float mean = 0;
    if (before > 0) mean += before * share_[first - 1];
    if (after > 0) mean += after * share_[last];
    for (std::size_t i = first; i < last; ++i) mean += share_[i];
    mean /= static_cast<float>(static_cast<std::ptrdiff_t>(last - first)) +
            before + after;
    if (before > 0) expanded_[first - 1] += before * mean;
    if (after > 0) expanded_[last] += after * mean;
    for (std::size_t i = first; i < last; ++i) expanded_[i] += mean;
  }

  const int levels_;
  std::vector<float> share_, clipped_, expanded_;
};

// Sums of the first j bins' counts, times the centres' powers, in bin widths.
struct Moments {
  double count = 0, first = 0, second = 0;
};

// The squared error of quantizing all bins' centres to 0, step, ..., qmax *
// step.
double SquaredError(const std::vector<Moments>& moments, double step,
                    int qmax) {
  const auto last = static_cast<double>(moments.size() - 1);
  double error = 0;
  std::size_t begin = 0;
  for (int q = 0; q <= qmax && begin < moments.size() - 1; ++q) {
    // Centres j + 1/2 below (q + 1/2) * step are nearest to q * step.
    const double edge =
        q == qmax ? last
                  : std::clamp(std::ceil((q + 0.5) * step - 0.5), 0.0, last);
    const auto end = static_cast<std::size_t>(edge);
    const double value = q * step;
    const double count = moments[end].count - moments[begin].count;
    const double first = moments[end].first - moments[begin].first;
    const double second = moments[end].second - moments[begin].second;
    error += second - 2 * value * first + value * value * count;
    begin = end;
  }
  return error;
}

// Where to clip, below `high`. Clipping at T costs 2 * integral from T of
// (x - T)^2 p(x) dx, steps of 2 T / 2^bits cost T^2 / (3 * 4^bits): the sum's
// negative derivative, of which gained(T) is the first one's half, decreases.
template <typename Function>
absl::StatusOr<double> ClipFactor(int bits, double high,
                                  const Function& gained) {
  return CatchNoMemory([&]() -> absl::StatusOr<double> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckRange("bits", bits, 1, 24));
    const double per_unit = std::exp2(-2 * bits) / 3;
    double low = 0;
    for (int i = 0; i < 100; ++i) {
      const double middle = (low + high) / 2;
      (gained(middle) > middle * per_unit ? low : high) = middle;
    }
    return low;
  });
}

}  // namespace

absl::StatusOr<EntropyThreshold> ChooseEntropyThreshold(
    const MagnitudeHistogram& histogram, int levels) {
  return CatchNoMemory([&]() -> absl::StatusOr<EntropyThreshold> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckRange("levels", levels, 2, kMaxLevels));
    RUY_LIKE_ASSIGN_OR_RETURN(const auto occupied, Inspect(histogram));
    EntropyThreshold best;
    best.bins = occupied.bins;
    best.threshold = Threshold(occupied.absmax, occupied);
    if (occupied.occupied_bins < levels ||
        occupied.count < kSamplesPerLevel * static_cast<unsigned>(levels)) {
      return best;
    }
    const DivergenceSearch search(histogram.bins.subspan(0, occupied.bins),
                                  levels);
    std::vector<double> divergence(occupied.bins + 1);
    double least = std::numeric_limits<double>::infinity();
    for (int clip = levels; clip <= occupied.bins; ++clip) {
      divergence[clip] = search.Divergence(clip);
      least = std::min(least, divergence[clip]);
    }
    // All bins is always a candidate, so there is a finite one.
    while (divergence[best.bins] > least + kDivergenceTolerance) --best.bins;
    best.divergence = divergence[best.bins];
    best.threshold =
        Threshold((best.bins + 0.5) * histogram.bin_width, occupied);
    return best;
  });
}

absl::StatusOr<EntropyThreshold> ChooseNcnnEntropyThreshold(
    const MagnitudeHistogram& histogram, int levels) {
  return CatchNoMemory([&]() -> absl::StatusOr<EntropyThreshold> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckRange("levels", levels, 2, kMaxLevels));
    RUY_LIKE_ASSIGN_OR_RETURN(const auto occupied, Inspect(histogram));
    const auto bins = static_cast<int>(histogram.bins.size());
    if (bins > kMaxNcnnBins) {
      return Invalid(bins, " bins are more than ", kMaxNcnnBins,
                     ", too many to search");
    }
    EntropyThreshold best;
    if (bins <= levels) {
      best.bins = bins;
      best.threshold = Threshold(occupied.absmax, occupied);
      return best;
    }
    NcnnSearch search(histogram.bins, occupied.count, levels);
    best.bins = levels;
    float least = std::numeric_limits<float>::max();
    for (int clip = levels; clip < bins; ++clip) {
      const float divergence = search.Divergence(clip);
      if (divergence < least) {
        least = divergence;
        best.bins = clip;
      }
    }
    best.divergence = least;
    best.threshold =
        Threshold((best.bins + 0.5) * histogram.bin_width, occupied);
    return best;
  });
}

absl::StatusOr<float> ChoosePercentileThreshold(
    const MagnitudeHistogram& histogram, double percentile) {
  return CatchNoMemory([&]() -> absl::StatusOr<float> {
    if (!(percentile > 0) || percentile > 100) {
      return Invalid("percentile is ", percentile, ", must be in (0, 100]");
    }
    RUY_LIKE_ASSIGN_OR_RETURN(const auto occupied, Inspect(histogram));
    const double needed =
        static_cast<double>(occupied.count) * (percentile / 100);
    std::uint64_t below = 0;
    int bins = 0;
    while (bins < occupied.bins &&
           (bins == 0 || static_cast<double>(below) < needed)) {
      below += histogram.bins[bins++];
    }
    return Threshold(bins * histogram.bin_width, occupied);
  });
}

absl::StatusOr<float> ChooseMseThreshold(const MagnitudeHistogram& histogram,
                                         int qmax) {
  return CatchNoMemory([&]() -> absl::StatusOr<float> {
    RUY_LIKE_RETURN_IF_ERROR(qi::CheckRange("qmax", qmax, 1, kMaxQmax));
    RUY_LIKE_ASSIGN_OR_RETURN(const auto occupied, Inspect(histogram));
    std::vector<Moments> moments(occupied.bins + 1);
    for (int j = 0; j < occupied.bins; ++j) {
      const auto count = static_cast<double>(histogram.bins[j]);
      const double centre = j + 0.5;
      moments[j + 1].count = moments[j].count + count;
      moments[j + 1].first = moments[j].first + count * centre;
      moments[j + 1].second = moments[j].second + count * centre * centre;
    }
    double least = std::numeric_limits<double>::infinity();
    double best = occupied.absmax;
    for (int bins = occupied.bins; bins >= 1; --bins) {
      const double edge = std::min(bins * histogram.bin_width, occupied.absmax);
      const double error =
          SquaredError(moments, edge / histogram.bin_width / qmax, qmax);
      if (error >= least) continue;
      least = error;
      best = edge;
    }
    return Threshold(best, occupied);
  });
}

absl::StatusOr<double> GaussianClipFactor(int bits) {
  return ClipFactor(bits, 10, [](double t) {
    const double density = std::exp(-t * t / 2) / std::sqrt(2 * M_PI);
    const double beyond = std::erfc(t / std::sqrt(2.0)) / 2;
    return 2 * (density - t * beyond);
  });
}

absl::StatusOr<double> LaplaceClipFactor(int bits) {
  return ClipFactor(bits, 40, [](double t) { return std::exp(-t); });
}

}  // namespace ruy_like
