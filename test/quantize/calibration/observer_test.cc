#include "ruy_like/quantize/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ruy_like/quantize/loops/calibration_kernels.h"
#include "ruy_like/quantize/loops/dispatch.h"
#include "ruy_like/quantize/quantize_dequantize.h"
#include "test/quantize/calibration/expect_observer.h"
#include "test/quantize/lcg.h"
#include "test/support/guarded_buffer.h"
#include "test/support/sanitizers.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

Observer ObserverOf(absl::Span<const float> values) {
  Observer observer;
  EXPECT_OK(observer.Observe(values));
  return observer;
}

std::vector<std::uint64_t> Bins(const Observer& observer) {
  const MagnitudeHistogram histogram = observer.histogram();
  return {histogram.bins.begin(), histogram.bins.end()};
}

// The bin of a value, by the definition in double precision; 2048 for 0.
double BinOf(float x, double range) {
  if (x == 0) return Observer::kBins;
  return std::min(std::floor(std::abs(double{x}) / range * Observer::kBins),
                  Observer::kBins - 1.0);
}

float ThresholdOf(const Observer& observer, CalibrationMethod method,
                  int bits = 8) {
  CalibrationOptions options;
  options.method = method;
  options.bits = bits;
  const auto threshold = observer.Threshold(options);
  EXPECT_OK(threshold);
  return threshold.value_or(-1);
}

constexpr CalibrationMethod kAllMethods[] = {
    CalibrationMethod::kMinMax,      CalibrationMethod::kPercentile,
    CalibrationMethod::kMse,         CalibrationMethod::kAciqGauss,
    CalibrationMethod::kAciqLaplace, CalibrationMethod::kAciqRange,
    CalibrationMethod::kEntropy,     CalibrationMethod::kEntropyNcnn};

// ## Goldens

double SqnrDb(const std::vector<float>& x, float threshold, int bits) {
  const QuantParams params = *ChooseSymmetric(threshold, bits);
  std::vector<std::int8_t> q(x.size());
  std::vector<float> back(x.size());
  EXPECT_OK(Quantize<std::int8_t>(x, params, absl::MakeSpan(q)));
  EXPECT_OK(Dequantize<std::int8_t>(q, params, absl::MakeSpan(back)));
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    signal += double{x[i]} * x[i];
    noise += (double{x[i]} - back[i]) * (double{x[i]} - back[i]);
  }
  return 10 * std::log10(signal / noise);
}

TEST(Observer, GaussianGoldens) {
  const std::vector<float> x = GaussVector(65536, 1);
  const float first[] = {-1.10556722f, -0.244728148f, 0.175113022f,
                         1.02267671f};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(x[i], first[i]);
  const float absmax = ObserverOf(x).absmax();
  EXPECT_EQ(absmax, 3.87082529f);
  Observer observer;
  ASSERT_OK(observer.SetRange(absmax));
  ASSERT_OK(observer.Observe(x));
  EXPECT_NEAR(observer.standard_deviation(), 1.00919179, 5e-9);

  ASSERT_VALUE(const auto kl8,
               ChooseEntropyThreshold(observer.histogram(), 128));
  EXPECT_EQ(kl8.bins, 1946);
  EXPECT_NEAR(kl8.divergence, 0.0106913, 5e-8);
  EXPECT_FLOAT_EQ(kl8.threshold, 3.67898507f);
  const auto kl7 = ChooseEntropyThreshold(observer.histogram(), 64);
  EXPECT_EQ(kl7->bins, 1946);
  EXPECT_NEAR(kl7->divergence, 0.0113087, 5e-8);

  using M = CalibrationMethod;
  EXPECT_FLOAT_EQ(ThresholdOf(observer, M::kEntropy), 3.67898507f);
  EXPECT_EQ(ThresholdOf(observer, M::kAciqGauss), absmax);  // 3.96 clamped
  EXPECT_NEAR(*GaussianClipFactor(8) * observer.standard_deviation(),
              3.96010608, 5e-6);
  EXPECT_NEAR(ThresholdOf(observer, M::kAciqGauss, 7), 3.64834, 2e-5);
  EXPECT_NEAR(ThresholdOf(observer, M::kAciqRange), 3.48449831, 5e-6);

  EXPECT_NEAR(SqnrDb(x, absmax, 8), 41.204, 0.01);
  EXPECT_NEAR(SqnrDb(x, kl8.threshold, 8), 41.553, 0.01);
  EXPECT_NEAR(SqnrDb(x, absmax, 7), 35.115, 0.01);
  EXPECT_NEAR(SqnrDb(x, kl7->threshold, 7), 35.553, 0.01);
}

// ## What is counted

TEST(Observer, CountsZerosAndWhatIsNotFinite) {
  const float values[] = {0, -0.0f, 1, -2, kNan, kInf, -kInf, 0.5f};
  const Observer observer = ObserverOf(values);
  EXPECT_EQ(observer.finite_count(), 5u);
  EXPECT_EQ(observer.zero_count(), 2u);
  EXPECT_EQ(observer.nonfinite_count(), 3u);
  EXPECT_EQ(observer.min(), -2);
  EXPECT_EQ(observer.max(), 1);
  EXPECT_EQ(observer.absmax(), 2);
  EXPECT_EQ(observer.mean(), -0.1);
  EXPECT_EQ(observer.mean_magnitude(), 0.7);
  EXPECT_NEAR(observer.standard_deviation(), std::sqrt(5.25 / 5 - 0.01), 1e-15);
  const auto bins = Bins(observer);
  EXPECT_EQ(observer.histogram().bin_width, 4.0 / Observer::kBins);
  EXPECT_EQ(bins[1024], 1u);
  EXPECT_EQ(bins[512], 1u);
  EXPECT_EQ(bins[256], 1u);
}

TEST(Observer, NegativeZeroIsZero) {
  const float values[] = {-0.0f, -0.0f};
  const Observer observer = ObserverOf(values);
  EXPECT_FALSE(std::signbit(observer.min()));
  EXPECT_FALSE(std::signbit(observer.max()));
}

TEST(Observer, TheRangeGrowsAsIfItHadBeenKnown) {
  Rng rng(1);
  std::vector<float> x;
  for (int i = 0; i < 20000; ++i) {
    x.push_back(static_cast<float>(rng.Signed() * std::exp2(i / 1000)));
    // Powers of two are where ranges end.
    if (rng.OneIn(10)) x.push_back(std::exp2(rng.Between(-3, i / 1000)));
  }
  std::vector<float> backwards(x.rbegin(), x.rend());
  EXPECT_EQ(Bins(ObserverOf(x)), Bins(ObserverOf(backwards)));
  const double range =
      Bins(ObserverOf(x)).size() * ObserverOf(x).histogram().bin_width;
  std::vector<std::uint64_t> expected(Observer::kBins);
  for (float value : x) {
    if (value != 0) ++expected[BinOf(value, range)];
  }
  EXPECT_EQ(Bins(ObserverOf(x)), expected);
}

TEST(Observer, ExtremeMagnitudes) {
  const float max = std::numeric_limits<float>::max();
  const float tiny = std::numeric_limits<float>::denorm_min();
  const float values[] = {max, -max, tiny, 1};
  const Observer observer = ObserverOf(values);
  EXPECT_EQ(observer.absmax(), max);
  EXPECT_EQ(Bins(observer)[Observer::kBins - 1], 2u);
  EXPECT_EQ(Bins(observer)[0], 2u);
  const float small[] = {tiny, -tiny, 3 * tiny};
  const Observer small_observer = ObserverOf(small);
  EXPECT_EQ(Bins(small_observer)[0], 3u);
  for (CalibrationMethod method : kAllMethods) {
    for (const Observer* each : {&observer, &small_observer}) {
      const float threshold = ThresholdOf(*each, method);
      EXPECT_GT(threshold, 0) << CalibrationMethodName(method);
      EXPECT_LE(threshold, each->absmax()) << CalibrationMethodName(method);
    }
  }
}

TEST(Observer, TwoPassCountsWhatIsBeyondTheRangeInTheLastBin) {
  Observer observer;
  ASSERT_OK(observer.SetRange(1.5f));
  const float values[] = {1.5f, 3, -1e30f, 0.75f,
                          std::numeric_limits<float>::max()};
  ASSERT_OK(observer.Observe(values));
  EXPECT_EQ(Bins(observer)[Observer::kBins - 1], 4u);
  EXPECT_EQ(Bins(observer)[Observer::kBins / 2], 1u);
  EXPECT_EQ(observer.histogram().absmax, 1.5);
}

// ## Merging

TEST(Observer, MergeOrderDoesNotMatter) {
  Rng rng(2);
  std::vector<std::vector<float>> parts(6);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].resize(rng.Between(1, 6000));
    for (float& value : parts[i]) {
      value =
          static_cast<float>(rng.Signed() * std::exp2(rng.Between(-20, 3 * i)));
      if (rng.OneIn(50)) value = 0;
      if (rng.OneIn(500)) value = kNan;
    }
  }
  parts.push_back({});  // nothing seen
  Observer forward, backward;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ASSERT_OK(forward.Merge(ObserverOf(parts[i])));
    ASSERT_OK(backward.Merge(ObserverOf(parts[parts.size() - 1 - i])));
  }
  ExpectSame(forward, backward);
  Observer left = ObserverOf(parts[0]), right = ObserverOf(parts[3]);
  ASSERT_OK(left.Merge(ObserverOf(parts[1])));
  ASSERT_OK(right.Merge(ObserverOf(parts[4])));
  ASSERT_OK(right.Merge(ObserverOf(parts[5])));
  ASSERT_OK(right.Merge(ObserverOf(parts[2])));
  ASSERT_OK(left.Merge(right));
  ExpectSame(forward, left);
  Observer one_by_one;
  for (const auto& part : parts) ASSERT_OK(one_by_one.Observe(part));
  ExpectSame(forward, one_by_one);
}

TEST(Observer, MergeWithItselfDoubles) {
  Observer observer = ObserverOf(GaussVector(1000, 3));
  const Observer before = observer;
  ASSERT_OK(observer.Merge(observer));
  EXPECT_EQ(observer.finite_count(), 2 * before.finite_count());
  EXPECT_EQ(observer.standard_deviation(), before.standard_deviation());
  for (std::size_t i = 0; i < Observer::kBins; ++i) {
    EXPECT_EQ(Bins(observer)[i], 2 * Bins(before)[i]);
  }
}

TEST(Observer, RangesMustAgreeToMerge) {
  Observer streaming, narrow, wide;
  ASSERT_OK(narrow.SetRange(1));
  ASSERT_OK(wide.SetRange(2));
  EXPECT_CODE(kPrecondition, streaming.Merge(narrow));
  EXPECT_CODE(kPrecondition, narrow.Merge(wide));
  EXPECT_OK(narrow.Merge(narrow));
}

// ## Thresholds

TEST(Observer, ThresholdsAreWithinTheData) {
  for (std::size_t n : {1, 2, 3, 100, 5000}) {
    const std::vector<float> x = GaussVector(n, 4);
    const Observer observer = ObserverOf(x);
    for (CalibrationMethod method : kAllMethods) {
      for (int bits = 2; bits <= 16; bits += kThinning) {
        const float threshold = ThresholdOf(observer, method, bits);
        EXPECT_GT(threshold, 0) << CalibrationMethodName(method);
        EXPECT_LE(threshold, observer.absmax())
            << CalibrationMethodName(method);
      }
    }
  }
}

TEST(Observer, ScalingTheDataScalesTheThreshold) {
  const std::vector<float> x = GaussVector(20000, 5);
  for (float factor : {0.125f, 1024.0f, 3.7f}) {
    std::vector<float> scaled = x;
    for (float& value : scaled) value *= factor;
    // A factor that is no power of two needs bins that scale, too.
    const bool exact = factor != 3.7f;
    Observer a, b;
    if (!exact) {
      ASSERT_OK(a.SetRange(ObserverOf(x).absmax()));
      ASSERT_OK(b.SetRange(ObserverOf(scaled).absmax()));
    }
    ASSERT_OK(a.Observe(x));
    ASSERT_OK(b.Observe(scaled));
    for (CalibrationMethod method : kAllMethods) {
      const float expected = ThresholdOf(a, method) * factor;
      // The scaled data is rounded: a few values change bins, and with them an
      // optimum may move by some bins.
      EXPECT_NEAR(ThresholdOf(b, method), expected,
                  expected * (exact ? 1e-6 : 0.02))
          << CalibrationMethodName(method);
    }
  }
}

TEST(Observer, SignsDoNotMatter) {
  std::vector<float> x = GaussVector(20000, 6);
  const Observer before = ObserverOf(x);
  for (float& value : x) value = -value;
  const Observer after = ObserverOf(x);
  EXPECT_EQ(Bins(before), Bins(after));
  for (CalibrationMethod method : kAllMethods) {
    EXPECT_EQ(ThresholdOf(before, method), ThresholdOf(after, method));
  }
}

TEST(Observer, OneSidedDataUsesAllLevels) {
  std::vector<float> x = GaussVector(50000, 7);
  for (float& value : x) value = std::max(value, 0.0f);
  const Observer observer = ObserverOf(x);
  CalibrationOptions options;
  options.scheme = QuantScheme::kAffineUnsigned;
  ASSERT_VALUE(const auto params, observer.ChooseParams(options));
  EXPECT_EQ(params.zero_point, 0);
  EXPECT_EQ(params.qmax, 255);
  const auto kl = ChooseEntropyThreshold(observer.histogram(), 256);
  EXPECT_EQ(*observer.Threshold(options), kl->threshold);
  EXPECT_FLOAT_EQ(params.scale, kl->threshold / 255);
  // Half of a Gaussian: its parent's deviation, one bit more.
  options.method = CalibrationMethod::kAciqGauss;
  options.bits = 4;
  EXPECT_NEAR(*observer.Threshold(options), *GaussianClipFactor(5), 0.05);
  options.method = CalibrationMethod::kAciqLaplace;
  EXPECT_NEAR(*observer.Threshold(options),
              std::min(*LaplaceClipFactor(5) * std::sqrt(2 / M_PI),
                       double{observer.absmax()}),
              0.05);
  options.scheme = QuantScheme::kAffineSigned;
  EXPECT_EQ(observer.ChooseParams(options)->zero_point, -8);
}

TEST(Observer, AffineRangeIsClippedOnBothSides) {
  std::vector<float> x = GaussVector(50000, 8);
  for (float& value : x) value = value < 0 ? value / 4 : value;
  const Observer observer = ObserverOf(x);
  CalibrationOptions options;
  options.scheme = QuantScheme::kAffineSigned;
  options.method = CalibrationMethod::kMinMax;
  EXPECT_EQ(*observer.ChooseParams(options),
            *ChooseAffine(observer.min(), observer.max(), -128, 127));
  options.method = CalibrationMethod::kPercentile;
  options.percentile = 90;
  const float threshold = *observer.Threshold(options);
  EXPECT_LT(threshold, observer.max());
  EXPECT_EQ(*observer.ChooseParams(options),
            *ChooseAffine(std::max(observer.min(), -threshold), threshold, -128,
                          127));
}

// Their range is what is left between 0 and the threshold.
TEST(Observer, AffineRangeOfValuesThatAreAllClipped) {
  CalibrationOptions options;
  for (const float sign : {1.0f, -1.0f}) {
    Observer observer;
    ASSERT_OK(observer.SetRange(0.5f));
    ASSERT_OK(observer.Observe({sign * 2, sign * 3}));
    for (const CalibrationMethod method :
         {CalibrationMethod::kPercentile, CalibrationMethod::kMse,
          CalibrationMethod::kEntropy}) {
      options.method = method;
      options.scheme = QuantScheme::kAffineSigned;
      EXPECT_EQ(observer.ChooseParams(options).value(),
                ChooseAffine(std::min(0.0f, sign / 2), std::max(0.0f, sign / 2),
                             -128, 127)
                    .value());
    }
    // One value many times: ncnn's guess of a deviation is below it.
    const Observer equal = ObserverOf(std::vector<float>(4, sign * 2));
    for (const CalibrationMethod method : kAllMethods) {
      options.method = method;
      options.scheme = QuantScheme::kAffineUnsigned;
      const float end = sign * equal.Threshold(options).value();
      EXPECT_EQ(equal.ChooseParams(options).value(),
                ChooseAffine(std::min(0.0f, end), std::max(0.0f, end), 0, 255)
                    .value())
          << CalibrationMethodName(method);
    }
  }
}

TEST(Observer, EqualValuesHaveNoSpread) {
  const std::vector<float> x(1000, 5);
  const Observer observer = ObserverOf(x);
  EXPECT_EQ(ThresholdOf(observer, CalibrationMethod::kAciqGauss), 5);
  EXPECT_EQ(ThresholdOf(ObserverOf(std::vector<float>{2}),
                        CalibrationMethod::kAciqRange),
            2);
}

// Where to clip is a magnitude, so the spread that decides is about 0, and of
// the values that are not 0, which cost nothing.
TEST(Observer, AciqOfDataThatIsNotCentred) {
  const std::vector<float> gauss = GaussVector(50000, 9);
  const std::pair<const char*, float (*)(float)> kinds[] = {
      {"ReLU", [](float v) { return std::max(v, 0.0f); }},
      {"negated ReLU", [](float v) { return std::min(v, 0.0f); }},
      {"shifted", [](float v) { return v + 2; }},
      {"sparse", [](float v) { return std::abs(v) < 1.3f ? 0 : v; }}};
  for (const auto& [name, function] : kinds) {
    SCOPED_TRACE(name);
    std::vector<float> x = gauss;
    for (float& value : x) value = function(value);
    const Observer observer = ObserverOf(x);
    for (const int bits : {8, 7, 6, 5}) {
      SCOPED_TRACE(bits);
      const double min_max = SqnrDb(x, observer.absmax(), bits);
      const float gaussian =
          ThresholdOf(observer, CalibrationMethod::kAciqGauss, bits);
      EXPECT_GT(SqnrDb(x, gaussian, bits), min_max - 0.5);
      const float laplace =
          ThresholdOf(observer, CalibrationMethod::kAciqLaplace, bits);
      EXPECT_GT(SqnrDb(x, laplace, bits), min_max - 0.5);
    }
  }
}

// Entropy of sparse counts is noise, and would clip where nothing is gained.
TEST(Observer, EntropyOfSmallSetsDoesNotClip) {
  for (const int n : {100, 256, 1000, 4096, 16000}) {
    const Observer observer = ObserverOf(GaussVector(n, 11));
    EXPECT_EQ(ThresholdOf(observer, CalibrationMethod::kEntropy),
              observer.absmax())
        << n;
  }
}

TEST(Observer, NothingOrZerosObserved) {
  const Observer nothing;
  EXPECT_CODE(kPrecondition, nothing.Threshold(CalibrationOptions()));
  const float bad[] = {kNan, kInf};
  EXPECT_CODE(kPrecondition,
              ObserverOf(bad).ChooseParams(CalibrationOptions()));
  const std::vector<float> zeros(5000);
  const Observer observer = ObserverOf(zeros);
  EXPECT_EQ(observer.zero_count(), 5000u);
  EXPECT_TRUE(observer.histogram().bins.empty());
  for (CalibrationMethod method : kAllMethods) {
    EXPECT_EQ(ThresholdOf(observer, method), 0);
  }
  EXPECT_EQ(observer.ChooseParams(CalibrationOptions())->scale, 1);
}

TEST(Observer, BadInput) {
  Observer observer;
  EXPECT_CODE(kInvalid, observer.SetRange(0));
  EXPECT_FALSE(observer.SetRange(kNan).ok());
  EXPECT_FALSE(observer.SetRange(kInf).ok());
  EXPECT_OK(observer.Observe(absl::Span<const float>()));
  const float one[] = {1};
  ASSERT_OK(observer.Observe(one));
  EXPECT_CODE(kPrecondition, observer.SetRange(1));
  CalibrationOptions options;
  options.bits = 1;
  EXPECT_FALSE(observer.Threshold(options).ok());
  options.bits = 17;
  EXPECT_FALSE(observer.Threshold(options).ok());
  options.bits = 8;
  options.method = CalibrationMethod::kPercentile;
  options.percentile = 0;
  EXPECT_FALSE(observer.Threshold(options).ok());
}

TEST(Observer, MethodsHaveNames) {
  for (CalibrationMethod method : kAllMethods) {
    EXPECT_STRNE(CalibrationMethodName(method), "unknown");
  }
}

// ## Every path, every thread count: the same state

class ObserverPathTest : public PathTest {
 protected:
  const quantize_internal::CalibrationKernels& Kernels(Path path) {
    return quantize_internal::CalibrationKernelsFor(
        quantize_internal::PermittedTargets(path | Path::kPortable));
  }
};

TEST_P(ObserverPathTest, KernelsEqualThePortableOnes) {
  Rng rng(9);
  const auto& kernels = Kernels(GetParam());
  const auto& portable = Kernels(Path::kPortable);
  for (std::size_t n = 1; n <= 129; ++n) {
    for (std::size_t offset : {0, 1, 3}) {
      GuardedArray<float> x(n + offset);
      for (std::size_t i = 0; i < n; ++i) {
        x[offset + i] = rng.OneIn(5) ? 0.0f : static_cast<float>(rng.Signed());
      }
      const float* const data = x.data() + offset;
      const auto a = kernels.scan(data, n);
      const auto b = portable.scan(data, n);
      EXPECT_EQ(a.all_finite, true);
      EXPECT_EQ(a.absmax, b.absmax);
      EXPECT_EQ(a.min, *std::min_element(data, data + n));
      EXPECT_EQ(a.max, *std::max_element(data, data + n));
      EXPECT_EQ(a.sum, b.sum);
      EXPECT_EQ(a.sum_of_squares, b.sum_of_squares);
      EXPECT_EQ(a.sum_of_magnitudes, b.sum_of_magnitudes);
      std::vector<std::uint16_t> index(192), by_range(192);
      kernels.index(data, n, {0, 2048}, index.data());
      kernels.index(data, n, {0.7f, 0}, by_range.data());
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(index[i], BinOf(data[i], 1)) << data[i];
        ASSERT_EQ(by_range[i], BinOf(data[i], 0.7f)) << data[i];
      }
      for (float bad : {kNan, kInf, -kInf}) {
        const std::size_t place = offset + rng.Between(0, n - 1);
        const float good = x[place];
        x[place] = bad;
        EXPECT_FALSE(kernels.scan(data, n).all_finite) << n << " " << place;
        x[place] = good;
      }
    }
  }
}

// The kernels multiply with an inverse; the bin is that of the quotient even
// for the floats next to its edges, whatever the range.
TEST_P(ObserverPathTest, IndexByRangeIsThatOfTheQuotient) {
  Rng rng(12);
  const auto& kernels = Kernels(GetParam());
  std::vector<float> ranges = {1e-45f, 3e-45f, 1e-38f, 1e-20f, 0.7f,
                               1,      3,      77,     1e20f,  3e38f};
  while (ranges.size() < 100) {
    ranges.push_back(std::ldexp(static_cast<float>(1 + std::abs(rng.Signed())),
                                static_cast<int>(rng.Between(-120, 120))));
  }
  constexpr std::size_t kChunk = quantize_internal::kObserveChunk;
  for (const float range : ranges) {
    for (int neighbour = -1; neighbour <= 1; ++neighbour) {
      std::vector<float> x;
      for (int k = 1; k <= Observer::kBins; ++k) {
        const auto edge =
            static_cast<float>(static_cast<double>(range) * k / 2048);
        x.push_back(neighbour == 0
                        ? edge
                        : std::nextafter(edge, neighbour < 0 ? 0 : kInf));
      }
      ASSERT_EQ(x.size(), kChunk);
      std::vector<std::uint16_t> index(kChunk);
      kernels.index(x.data(), kChunk, {range, 0}, index.data());
      for (std::size_t i = 0; i < kChunk; ++i) {
        ASSERT_EQ(index[i], BinOf(x[i], range)) << x[i] << " in " << range;
      }
    }
  }
}

TEST_P(ObserverPathTest, StepEqualsItsParts) {
  namespace qi = quantize_internal;
  constexpr std::size_t kChunk = qi::kObserveChunk;
  Rng rng(11);
  const auto& kernels = Kernels(GetParam());
  for (int round = 0; round < 20; ++round) {
    GuardedArray<float> x(kChunk);
    GuardedArray<std::uint16_t> index(kChunk), counted(kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) {
      x[i] = rng.OneIn(5) ? 0.0f : static_cast<float>(rng.Signed());
      // Runs of the same bin, zeros and what is not to be counted.
      counted[i] = static_cast<std::uint16_t>(
          rng.OneIn(2) && i > 0 ? counted[i - 1]
                                : rng.Between(0, qi::kObserveNothing));
    }
    std::vector<std::uint32_t> expected(qi::kObserveBins + 2);
    for (std::size_t i = 0; i < kChunk; ++i) ++expected[counted[i]];
    std::vector<std::uint16_t> expected_index(kChunk);
    const qi::ObserveScale scale =
        round % 2 == 1 ? qi::ObserveScale{0.7f, 0} : qi::ObserveScale{0, 2048};
    kernels.index(x.data(), kChunk, scale, expected_index.data());
    const bool bad = rng.OneIn(4);
    if (bad) x[rng.Between(0, kChunk - 1)] = rng.OneIn(2) ? kNan : -kInf;
    qi::ObserveCounts counts = {};
    const qi::ChunkStats stats =
        kernels.step(x.data(), scale, index.data(), counted.data(), &counts);
    for (int bin = 0; bin < qi::kObserveBins + 2; ++bin) {
      std::uint32_t sum = 0;
      for (const auto& part : counts.parts) sum += part[bin];
      ASSERT_EQ(sum, expected[bin]) << bin;
    }
    ASSERT_EQ(stats.all_finite, !bad);
    if (bad) continue;
    const qi::ChunkStats scanned = kernels.scan(x.data(), kChunk);
    EXPECT_EQ(stats.absmax, scanned.absmax);
    EXPECT_EQ(stats.min, scanned.min);
    EXPECT_EQ(stats.max, scanned.max);
    EXPECT_EQ(stats.sum, scanned.sum);
    EXPECT_EQ(stats.sum_of_squares, scanned.sum_of_squares);
    EXPECT_EQ(stats.sum_of_magnitudes, scanned.sum_of_magnitudes);
    for (std::size_t i = 0; i < kChunk; ++i) {
      ASSERT_EQ(index[i], expected_index[i]) << x[i];
    }
  }
}

// Chunks of every kind after each other: all zeros, all tiny, beyond the range
// so far, with NaN, and a last one that is not whole.
TEST_P(ObserverPathTest, ChunksOfEveryKind) {
  constexpr int kChunk = quantize_internal::kObserveChunk;
  Rng rng(12);
  for (int round = 0; round < 30; ++round) {
    std::vector<float> x;
    const int chunks = static_cast<int>(rng.Between(1, 12));
    float absmax = 0;
    std::uint64_t zeros = 0, others = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const auto kind = rng.Between(0, 4);
      const double scale =
          kind == 0 ? 0 : std::exp2(static_cast<double>(rng.Between(-20, 9)));
      for (int i = 0; i < kChunk; ++i) {
        auto value = static_cast<float>(rng.Signed() * scale);
        if (kind == 1 && rng.OneIn(500)) value = kNan;
        x.push_back(value);
      }
    }
    x.resize(x.size() - static_cast<std::size_t>(rng.Between(0, kChunk)));
    for (float value : x) {
      if (!std::isfinite(value)) {
        ++others;
      } else {
        zeros += value == 0;
        absmax = std::max(absmax, std::abs(value));
      }
    }
    context_.set_max_num_threads(1 + round % 3);
    for (float fixed : {0.0f, 3.5f}) {
      Observer observer;
      if (fixed != 0) {
        ASSERT_OK(observer.SetRange(fixed));
      }
      ASSERT_OK(observer.Observe(x, &context_));
      ASSERT_EQ(observer.zero_count(), zeros);
      ASSERT_EQ(observer.nonfinite_count(), others);
      ASSERT_EQ(observer.finite_count(), x.size() - others);
      ASSERT_EQ(observer.absmax(), absmax);
      if (absmax == 0) continue;
      int exponent;
      std::frexp(absmax, &exponent);
      const double range = fixed != 0 ? fixed : std::ldexp(1.0, exponent);
      std::vector<std::uint64_t> expected(Observer::kBins);
      for (float value : x) {
        if (value == 0 || !std::isfinite(value)) continue;
        ++expected[BinOf(value, range)];
      }
      ASSERT_EQ(Bins(observer), expected);
    }
  }
}

TEST_P(ObserverPathTest, ThreadsDoNotMatter) {
  constexpr std::ptrdiff_t kRows = 700, kCols = 1001, kGap = 5;
  std::vector<float> x(kRows * (kCols + kGap));
  Rng rng(10);
  for (float& value : x) {
    value = rng.OneIn(3) ? 0.0f : static_cast<float>(rng.Signed() * 100);
    if (rng.OneIn(100000)) value = kNan;
  }
  const auto matrix =
      MakeMatrix(x.data(), kRows, kCols, Order::kRowMajor, kGap);
  Observer one_span, one_matrix;
  ASSERT_OK(one_span.Observe(x));
  ASSERT_OK(one_matrix.Observe(matrix));
  EXPECT_LT(one_matrix.finite_count(), one_span.finite_count());
  for (int threads = 1; threads <= 4; ++threads) {
    context_.set_max_num_threads(threads);
    Observer span, strided;
    ASSERT_OK(span.Observe(x, &context_));
    ExpectSame(span, one_span);
    ASSERT_OK(strided.Observe(matrix, &context_));
    ExpectSame(strided, one_matrix);
    Observer ranged, one_ranged;
    ASSERT_OK(ranged.SetRange(77));
    ASSERT_OK(one_ranged.SetRange(77));
    ASSERT_OK(ranged.Observe(x, &context_));
    ASSERT_OK(one_ranged.Observe(x));
    ExpectSame(ranged, one_ranged);
  }
}

RUY_LIKE_INSTANTIATE_PER_PATH(ObserverPathTest);

}  // namespace
}  // namespace ruy_like
