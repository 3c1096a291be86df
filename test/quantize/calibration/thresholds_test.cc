#include "ruy_like/quantize/thresholds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr int kBins = 2048;
using Counts = std::vector<std::uint64_t>;

MagnitudeHistogram HistogramOf(const Counts& counts, double width = 1) {
  MagnitudeHistogram histogram;
  histogram.bins = counts;
  histogram.bin_width = width;
  return histogram;
}

// The threshold for 128 levels.
float EntropyOf(const Counts& counts) {
  return ChooseEntropyThreshold(HistogramOf(counts), 128)->threshold;
}

Counts UniformCounts() { return Counts(kBins, 1000); }
Counts FallingCounts() {
  Counts counts(kBins);
  for (int k = 0; k < kBins; ++k) counts[k] = kBins - k;
  return counts;
}
Counts ReciprocalSquares() {
  Counts counts(kBins);
  for (std::uint64_t k = 0; k < kBins; ++k) {
    counts[k] = 1000000000 / ((k + 1) * (k + 1));
  }
  return counts;
}
Counts OneOutlier() {
  Counts counts(kBins);
  for (int k = 0; k < 200; ++k) counts[k] = 200 - k;
  counts[kBins - 1] = 1;
  return counts;
}
Counts Geometric() {
  Counts counts(kBins);
  std::uint64_t value = std::uint64_t{1} << 40;
  for (std::uint64_t& count : counts) {
    count = value;
    value -= value >> 7;
  }
  return counts;
}

TEST(EntropyThreshold, Goldens) {
  const struct {
    Counts counts;
    int bins128, bins64, bins256;
    double divergence128;
  } cases[] = {
      {UniformCounts(), 2048, 2048, 2048, 0},
      {FallingCounts(), 2044, 2041, 2046, 2.816478588e-5},
      {ReciprocalSquares(), 128, 64, 256, 1.698317736e-2},
      {OneOutlier(), 200, 199, 2048, 4.151483510e-5},
      {Geometric(), 1408, 1280, 1536, 3.686021874e-4},
  };
  for (const auto& c : cases) {
    const auto histogram = HistogramOf(c.counts);
    ASSERT_VALUE(const auto chosen, ChooseEntropyThreshold(histogram, 128));
    EXPECT_EQ(chosen.bins, c.bins128);
    EXPECT_NEAR(chosen.divergence, c.divergence128, 1e-11);
    EXPECT_EQ(chosen.threshold, std::min(c.bins128 + 0.5, 2048.0));
    EXPECT_EQ(ChooseEntropyThreshold(histogram, 64)->bins, c.bins64);
    EXPECT_EQ(ChooseEntropyThreshold(histogram, 256)->bins, c.bins256);
  }
  const auto outlier =
      ChooseEntropyThreshold(HistogramOf(OneOutlier(), 1.0 / kBins), 128);
  EXPECT_FLOAT_EQ(outlier->threshold, 0.0979003906f);
}

// The divergence as the definition has it, with all loops written out. Infinite
// where P has mass and Q none.
double DivergenceByDefinition(const Counts& counts, int kept, int levels) {
  long double total = 0, in_range = 0;
  for (std::uint64_t count : counts) total += count;
  for (int j = 0; j < kept; ++j) in_range += counts[j];
  std::vector<long double> p(counts.begin(), counts.begin() + kept);
  p[kept - 1] += total - in_range;
  long double divergence = 0;
  for (int j = 0; j < kept; ++j) {
    if (p[j] == 0) continue;
    long double sum = 0, occupied = 0;
    for (int other = 0; other < kept; ++other) {
      if (other * levels / kept != j * levels / kept) continue;
      sum += counts[other];
      occupied += counts[other] != 0;
    }
    const long double q = counts[j] == 0 ? 0 : sum / occupied / in_range;
    if (q == 0) return std::numeric_limits<double>::infinity();
    divergence += p[j] / total * std::log(p[j] / total / q);
  }
  return static_cast<double>(divergence);
}

TEST(EntropyThreshold, EqualsTheDefinition) {
  Rng rng(1);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const int levels = static_cast<int>(rng.Between(2, 20));
    Counts counts(rng.Between(levels, 90));
    const int sparsity = static_cast<int>(rng.Between(1, 4));
    for (std::uint64_t& count : counts) {
      count = rng.OneIn(sparsity) ? rng.Between(0, 1000) : 0;
    }
    std::size_t last = counts.size();
    while (last > 0 && counts[last - 1] == 0) --last;
    std::uint64_t total = 0;
    for (std::uint64_t count : counts) total += count;
    if (total == 0) continue;
    ASSERT_VALUE(const auto chosen,
                 ChooseEntropyThreshold(HistogramOf(counts), levels));
    const auto occupied = counts.size() - static_cast<std::size_t>(std::count(
                                              counts.begin(), counts.end(), 0));
    if (occupied < static_cast<std::size_t>(levels) ||
        total < 128 * static_cast<std::uint64_t>(levels)) {
      EXPECT_EQ(chosen.bins, static_cast<int>(last));
      EXPECT_EQ(chosen.threshold, counts.size());
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    for (int kept = levels; kept <= static_cast<int>(last); ++kept) {
      least = std::min(least, DivergenceByDefinition(counts, kept, levels));
    }
    EXPECT_NEAR(chosen.divergence, least, 2e-9);
    EXPECT_NEAR(DivergenceByDefinition(counts, chosen.bins, levels),
                chosen.divergence, 1e-10);
    for (int kept = chosen.bins + 1; kept <= static_cast<int>(last); ++kept) {
      EXPECT_GT(DivergenceByDefinition(counts, kept, levels), least + 0.9e-9);
    }
  }
}

TEST(EntropyThreshold, TooLittleDataIsNotClipped) {
  Counts few_bins(kBins);
  for (int k = 0; k < 127; ++k) few_bins[k] = 1000;
  EXPECT_EQ(EntropyOf(few_bins), 2048);
  // Those that are occupied count, not the last one's number.
  Counts gaps = OneOutlier();
  EXPECT_LT(EntropyOf(gaps), 2048);
  for (int k = 0; k < 200; k += 2) gaps[k] = 0;
  gaps[1] += 100 * 128;
  EXPECT_EQ(EntropyOf(gaps), 2048);
  Counts few_samples = OneOutlier();
  std::uint64_t total = 1;
  for (int k = 0; k < 200; ++k) total += few_samples[k] = (200 - k) * 4 / 5;
  few_samples[0] += 128 * 128 - 1 - total;
  EXPECT_EQ(EntropyOf(few_samples), 2048);
  ++few_samples[0];
  EXPECT_LT(EntropyOf(few_samples), 2048);
}

TEST(EntropyThreshold, NeverBeyondTheLargestMagnitude) {
  MagnitudeHistogram histogram;
  const Counts counts = UniformCounts();
  histogram.bins = counts;
  histogram.bin_width = 1;
  histogram.absmax = 2047.25;
  EXPECT_EQ(ChooseEntropyThreshold(histogram, 128)->threshold, 2047.25f);
}

// ncnn's search from its geometry: group g covers [g * width, (g + 1) * width)
// of the bins' axis, and what it shares with each bin is a length. In double.
double NcnnDivergence(const Counts& counts, int kept, int levels) {
  double total = 0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  std::vector<double> p(kept, 1e-4), q(kept, 1e-4);
  for (int i = 0; i < static_cast<int>(counts.size()); ++i) {
    p[std::min(i, kept - 1)] += static_cast<double>(counts[i]) / total;
  }
  const double width = static_cast<double>(kept) / levels;
  for (int g = 0; g < levels; ++g) {
    const auto shared = [&](int bin) {
      return std::max(0.0, std::min(bin + 1.0, (g + 1) * width) -
                               std::max<double>(bin, g * width));
    };
    const int first = static_cast<int>(g * width);
    const int end = std::min(kept, static_cast<int>((g + 1) * width) + 1);
    double mass = 0;
    for (int i = first; i < end; ++i) {
      mass += shared(i) * static_cast<double>(counts[i]) / total;
    }
    for (int i = first; i < end; ++i) q[i] += shared(i) * mass / width;
  }
  double divergence = 0;
  for (int i = 0; i < kept; ++i) divergence += p[i] * std::log(p[i] / q[i]);
  return divergence;
}

absl::StatusOr<EntropyThreshold> ChooseNcnn(const Counts& counts,
                                            int levels = 128) {
  return ChooseNcnnEntropyThreshold(HistogramOf(counts), levels);
}

TEST(NcnnEntropyThreshold, EqualsItsDefinition) {
  Rng rng(3);
  Counts noise(kBins), sparse(kBins);
  for (int k = 0; k < kBins; ++k) {
    noise[k] = static_cast<std::uint64_t>(rng.Between(0, 2000 / (1 + k / 64)));
    sparse[k] = k < 300 || rng.Between(0, 9) == 0 ? rng.Between(0, 50) : 0;
  }
  for (const Counts& counts : {ReciprocalSquares(), OneOutlier(), Geometric(),
                               FallingCounts(), noise, sparse}) {
    for (const int levels : {128, 64, 37}) {
      ASSERT_VALUE(const auto chosen, ChooseNcnn(counts, levels));
      double least = 1e30;
      for (int kept = levels; kept < kBins; ++kept) {
        least = std::min(least, NcnnDivergence(counts, kept, levels));
      }
      // Floats' rounding decides between candidates that are nearly equal.
      const double own = NcnnDivergence(counts, chosen.bins, levels);
      EXPECT_NEAR(own, least, 2e-5) << levels;
      EXPECT_NEAR(chosen.divergence, own, 2e-5) << levels;
      EXPECT_EQ(chosen.threshold, chosen.bins + 0.5) << levels;
    }
  }
}

// From an independent program; ours has 128 and 200, 2041 for 64 levels.
TEST(NcnnEntropyThreshold, Goldens) {
  EXPECT_EQ(ChooseNcnn(ReciprocalSquares())->bins, 130);
  EXPECT_EQ(ChooseNcnn(OneOutlier())->bins, 200);
  // Nothing is lost with any number of bins: ncnn clips half a bin, and of
  // equally good numbers takes the smallest.
  EXPECT_LT(ChooseNcnn(UniformCounts())->bins, kBins);
  EXPECT_EQ(ChooseNcnn(Counts(100, 3))->threshold, 100);
}

TEST(NcnnEntropyThreshold, Refuses) {
  const Counts many(65537, 1);
  EXPECT_CODE(kInvalid, ChooseNcnn(many));
  for (const int levels : {-1, 0, 1, 32769}) {
    EXPECT_CODE(kInvalid, ChooseNcnn(UniformCounts(), levels));
  }
  EXPECT_CODE(kInvalid, ChooseNcnnEntropyThreshold({}, 128));
}

TEST(PercentileThreshold, SmallestSufficientEdge) {
  const Counts counts = {10, 20, 30, 40};
  const auto histogram = HistogramOf(counts, 0.5);
  EXPECT_EQ(*ChoosePercentileThreshold(histogram, 10), 0.5f);
  EXPECT_EQ(*ChoosePercentileThreshold(histogram, 10.001), 1);
  EXPECT_EQ(*ChoosePercentileThreshold(histogram, 30), 1);
  EXPECT_EQ(*ChoosePercentileThreshold(histogram, 60), 1.5f);
  EXPECT_EQ(*ChoosePercentileThreshold(histogram, 99), 2);
  EXPECT_EQ(*ChoosePercentileThreshold(histogram, 100), 2);
  EXPECT_EQ(*ChoosePercentileThreshold(histogram, 1e-300), 0.5f);
  EXPECT_FALSE(ChoosePercentileThreshold(histogram, 0).ok());
  EXPECT_FALSE(ChoosePercentileThreshold(histogram, 100.1).ok());
  EXPECT_CODE(kInvalid,
              ChoosePercentileThreshold(
                  histogram, std::numeric_limits<double>::quiet_NaN()));
}

// Against quantizing every centre for every edge.
TEST(MseThreshold, EqualsExhaustiveSearch) {
  Rng rng(2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    Counts counts(rng.Between(1, 120));
    for (std::uint64_t& count : counts) count = rng.Between(0, 50);
    counts[rng.Between(0, counts.size() - 1)] += 1;
    const int qmax = static_cast<int>(rng.Between(1, 15));
    const double width = 0.25;
    const auto error = [&](double edge) {
      double sum = 0;
      for (std::size_t j = 0; j < counts.size(); ++j) {
        const double centre = (j + 0.5) * width;
        const double step = edge / qmax;
        const double q =
            std::min(std::round(centre / step), static_cast<double>(qmax));
        sum += counts[j] * (q * step - centre) * (q * step - centre);
      }
      return sum;
    };
    double least = std::numeric_limits<double>::infinity();
    std::size_t last = counts.size();
    while (counts[last - 1] == 0) --last;
    for (std::size_t bins = 1; bins <= last; ++bins) {
      least = std::min(least, error(bins * width));
    }
    ASSERT_VALUE(const auto chosen,
                 ChooseMseThreshold(HistogramOf(counts, width), qmax));
    EXPECT_NEAR(error(chosen), least, 1e-9 * (1 + least));
  }
}

TEST(MseThreshold, ClipsAnOutlier) {
  EXPECT_LT(*ChooseMseThreshold(HistogramOf(OneOutlier()), 15), 2048);
  // The last cell of a rounding quantizer is half as wide: a little is clipped.
  EXPECT_GT(*ChooseMseThreshold(HistogramOf(UniformCounts()), 127), 2030);
}

TEST(ClipFactors, Goldens) {
  const double gauss[] = {1.71063, 2.15159, 2.55914, 2.93620,
                          3.28691, 3.61511, 3.92404};
  const double laplace[] = {2.83068, 3.89723, 5.02864, 6.20477,
                            7.41313, 8.64562, 9.89676};
  for (int bits = 2; bits <= 8; ++bits) {
    EXPECT_NEAR(*GaussianClipFactor(bits), gauss[bits - 2], 1e-5) << bits;
    EXPECT_NEAR(*LaplaceClipFactor(bits), laplace[bits - 2], 1e-5) << bits;
  }
  EXPECT_FALSE(GaussianClipFactor(0).ok());
  EXPECT_FALSE(LaplaceClipFactor(25).ok());
  EXPECT_GT(*GaussianClipFactor(24), *GaussianClipFactor(16));
  EXPECT_GT(*LaplaceClipFactor(24), *LaplaceClipFactor(16));
}

TEST(Thresholds, BadHistograms) {
  const auto fails = [](const MagnitudeHistogram& histogram) {
    return ChooseEntropyThreshold(histogram, 128).status().code() == kInvalid &&
           ChoosePercentileThreshold(histogram, 99).status().code() ==
               kInvalid &&
           ChooseMseThreshold(histogram, 127).status().code() == kInvalid;
  };
  const Counts good = UniformCounts();
  EXPECT_FALSE(fails(HistogramOf(good)));
  EXPECT_TRUE(fails(HistogramOf({})));
  EXPECT_TRUE(fails(HistogramOf(Counts(kBins))));
  EXPECT_TRUE(fails(HistogramOf(good, 0)));
  EXPECT_TRUE(fails(HistogramOf(good, -1)));
  EXPECT_TRUE(fails(HistogramOf(good, std::nan(""))));
  EXPECT_TRUE(fails(HistogramOf(good, HUGE_VAL)));
  EXPECT_TRUE(fails(HistogramOf({~std::uint64_t{0}, 1})));
  MagnitudeHistogram beyond = HistogramOf(good);
  beyond.absmax = 3000;
  EXPECT_TRUE(fails(beyond));
  EXPECT_FALSE(ChooseEntropyThreshold(HistogramOf(good), 1).ok());
  EXPECT_FALSE(ChooseEntropyThreshold(HistogramOf(good), 32769).ok());
  EXPECT_FALSE(ChooseMseThreshold(HistogramOf(good), 0).ok());
}

}  // namespace
}  // namespace ruy_like
