// Quantization toolkit, public: where to clip a tensor, from a histogram of its
// magnitudes.
//
// Observer collects the histogram and calls these; a program with a histogram
// from elsewhere may call them itself. They choose a threshold T, in the units
// of the data; the scale is then T / qmax (ChooseSymmetric). Levels are the
// number of magnitudes that can be stored: 2^(bits - 1) for signed values (128
// for int8, whose scale nevertheless is T / 127), 2^bits where all values have
// one sign.
//
// Pure functions, callable from any thread. InvalidArgument for a histogram
// without counts or with null bins, a bin width that is not positive and
// finite, magnitudes beyond the largest float, counts whose sum overflows 64
// bits, and parameters that are out of range.
#ifndef RUY_LIKE_QUANTIZE_THRESHOLDS_H_
#define RUY_LIKE_QUANTIZE_THRESHOLDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/export.h"

namespace ruy_like {

// Counts of magnitudes: bins[i] of those in [i * bin_width, (i + 1) *
// bin_width). Exact zeros are left out: they are always represented exactly,
// and after a ReLU they would outweigh all else.
struct MagnitudeHistogram {
  absl::Span<const std::uint64_t> bins;
  double bin_width = 0;
  // The largest magnitude, which no threshold exceeds; at most the last bin's
  // end. 0 stands for that end.
  double absmax = 0;
};

struct EntropyThreshold {
  float threshold = 0;
  // Bins below the threshold, m in (m + 1/2) * bin_width.
  int bins = 0;
  // Kullback-Leibler divergence of the clipped from the quantized distribution,
  // in nats.
  double divergence = 0;
};

// The clipping after which quantization to `levels` equal groups of bins loses
// the least information, as in TensorRT's entropy calibration. For each i from
// `levels` to the last occupied bin, inclusive: P is the histogram's first i
// bins with all beyond added to the last of them; Q spreads each group's count,
// without what was added, evenly over its occupied bins; and the divergence of
// P from Q decides; among equals the largest i. Source: S. Migacz, "8-bit
// Inference with TensorRT" (2017).
//
// A group of bins only approximates a rounding quantizer, whose first and last
// cells are half as wide; it is left so for comparability.
//
// With fewer occupied bins than levels, or fewer than 128 samples a level, the
// divergence is mostly noise: threshold = absmax, bins up to the last occupied
// one.
//
// Takes O(bins * levels) steps. levels in [2, 32768].
RUY_LIKE_EXPORT absl::StatusOr<EntropyThreshold> ChooseEntropyThreshold(
    const MagnitudeHistogram& histogram, int levels);

// The same by the rules of ncnn (tools/quantize/ncnn2table.cpp), for thresholds
// equal to its tables'; its own program has levels = 128 and 2048 bins up to
// the largest magnitude (Observer::SetRange). They differ: both distributions
// have 0.0001 added to each bin; a group's ends may divide a bin; a group's
// count, and with it a share of what is not there, goes to all of its bins,
// empty or not; the last candidate is the number of bins less one; the smallest
// of equally good candidates is taken; and few samples are searched as many
// are. Arithmetic is float, as there.
//
// Where there are no more bins than levels: threshold = absmax, all bins. Takes
// O(bins^2) steps; InvalidArgument for more than 65,536 bins.
RUY_LIKE_EXPORT absl::StatusOr<EntropyThreshold> ChooseNcnnEntropyThreshold(
    const MagnitudeHistogram& histogram, int levels);

// The smallest end of a bin with at least `percentile` percent, in (0, 100], of
// all counts below it.
RUY_LIKE_EXPORT absl::StatusOr<float> ChoosePercentileThreshold(
    const MagnitudeHistogram& histogram, double percentile);

// The end of a bin for which the mean squared error of quantizing the bins'
// centres to 0, T / qmax, ..., T is least; of equals the largest. qmax in
// [1, 65535]. Takes O(bins * qmax) steps.
RUY_LIKE_EXPORT absl::StatusOr<float> ChooseMseThreshold(
    const MagnitudeHistogram& histogram, int qmax);

// How many standard deviations of a Gaussian, or mean magnitudes of a Laplace
// distribution, are the best place to clip at: where the mean squared errors of
// clipping and of 2^bits equal steps over [-T, T] have the least sum
// (Banner et al., "ACIQ: Analytical Clipping for Integer Quantization of Neural
// Networks", 2018). bits in [1, 24].
RUY_LIKE_EXPORT absl::StatusOr<double> GaussianClipFactor(int bits);
RUY_LIKE_EXPORT absl::StatusOr<double> LaplaceClipFactor(int bits);

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_THRESHOLDS_H_
