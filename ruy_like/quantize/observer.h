// Quantization toolkit, public: Observer, which watches a tensor over many
// inputs and then says how to quantize it (calibration).
//
// It keeps a histogram and a few sums, never the data. thresholds.h has the
// searches that it runs on the histogram.
#ifndef RUY_LIKE_QUANTIZE_OBSERVER_H_
#define RUY_LIKE_QUANTIZE_OBSERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/numbers/exact_sum.h"
#include "ruy_like/quantize/quant_params.h"
#include "ruy_like/quantize/thresholds.h"

namespace ruy_like {

class Observer;

namespace quantize_internal {

// All that an Observer knows. For calibration files, not for callers.
struct ObserverState {
  float range = 0;  // SetRange; 0: streaming
  // Streaming: the histogram covers [0, 2^exponent), once has_range.
  bool has_range = false;
  std::int32_t exponent = 0;
  std::uint64_t finite = 0, zeros = 0, nonfinite = 0;
  float min = 0, max = 0;
  ExactSum sum, sum_of_squares, sum_of_magnitudes;
  std::vector<std::uint64_t> bins;

  bool streaming() const { return range == 0; }

  static const ObserverState& Of(const Observer& observer);
  // InvalidArgument for a state that no Observer can have.
  static absl::StatusOr<Observer> ToObserver(ObserverState state);
};
}  // namespace quantize_internal

enum class CalibrationMethod : std::uint8_t {
  kMinMax,      // nothing is clipped
  kPercentile,  // of the magnitudes that are not 0
  kMse,         // least mean squared error
  // Analytical clipping, for a Gaussian whose deviation is the measured root
  // mean square of the values other than 0.
  kAciqGauss,
  // The same for a Laplace distribution with their mean magnitude.
  kAciqLaplace,
  // Gauss, with a standard deviation that is guessed from the largest magnitude
  // and the number of samples, as ncnn and Tengine do. For comparison.
  kAciqRange,
  kEntropy,  // least Kullback-Leibler divergence, as TensorRT does
  // The same by ncnn's rules (ChooseNcnnEntropyThreshold). For comparison.
  kEntropyNcnn,
};

// "minmax", "percentile", "mse", "aciq-gauss", "aciq-laplace", "aciq-range",
// "entropy", "entropy-ncnn"; "unknown" for what is none.
RUY_LIKE_EXPORT const char* CalibrationMethodName(CalibrationMethod method);

// The integers that parameters are for.
enum class QuantScheme : std::uint8_t {
  kSymmetric,       // [-qmax, qmax], zero point 0: ChooseSymmetric
  kAffineSigned,    // [-2^(bits - 1), 2^(bits - 1) - 1]: ChooseAffine
  kAffineUnsigned,  // [0, 2^bits - 1]
};

struct CalibrationOptions {
  CalibrationMethod method = CalibrationMethod::kEntropy;
  QuantScheme scheme = QuantScheme::kSymmetric;
  int bits = 8;  // in [2, 16]
  // For kSymmetric alone.
  ScaleRounding scale_rounding = ScaleRounding::kExact;
  double percentile = 99.99;  // kPercentile
};

// Copyable; making and copying one may throw std::bad_alloc. Not for use from
// several threads at once: give each its own and merge them, which gives the
// same state, bit for bit, in any order. (Only the moments, standard_deviation
// and mean_magnitude, depend on how the data was divided into calls of Observe,
// in their last bits.)
class RUY_LIKE_EXPORT Observer final {
 public:
  static constexpr int kBins = 2048;

  // Streaming: the histogram covers [0, R), R a power of two (at least 2^-100)
  // that doubles as larger magnitudes are seen, by merging pairs of bins. R
  // exceeds them all, so that counts do not depend on their order.
  Observer();

  // Before the first Observe: the histogram covers [0, absmax], for a second
  // pass over data whose largest magnitude is known. Its bins are narrower, by
  // up to half; larger values count in the last bin. InvalidArgument unless
  // absmax is positive and finite, FailedPrecondition after Observe or Merge.
  absl::Status SetRange(float absmax);

  // Adds values. Zeros count, but not in the histogram; NaN and infinities are
  // skipped, but for nonfinite_count. Large tensors are observed on the threads
  // of `context`, with the same result for any number of them.
  // With nothing observed: InvalidArgument for null data or a layout that is
  // not valid, OutOfRange for one whose bytes cannot be counted,
  // ResourceExhausted.
  absl::Status Observe(const Matrix<float>& values, Context* context = nullptr);
  absl::Status Observe(absl::Span<const float> values,
                       Context* context = nullptr) {
    const auto count = static_cast<std::ptrdiff_t>(values.size());
    return Observe(RowMajor(values.data(), 1, count), context);
  }

  // Adds what `other` has observed. FailedPrecondition, with nothing added,
  // unless both stream or both have one range.
  absl::Status Merge(const Observer& other);

  // Numbers of finite values, zeros included; of zeros; of NaN and infinities.
  std::uint64_t finite_count() const { return state_.finite; }
  std::uint64_t zero_count() const { return state_.zeros; }
  std::uint64_t nonfinite_count() const { return state_.nonfinite; }

  // Ends of the finite values; 0 before the first. Never -0.
  float min() const { return state_.min; }
  float max() const { return state_.max; }
  float absmax() const;
  double mean() const;
  double standard_deviation() const;  // about the mean
  double mean_magnitude() const;

  // The histogram of magnitudes, refers to this Observer; empty, with bin width
  // 0, before the first value other than 0.
  MagnitudeHistogram histogram() const;

  // Where to clip magnitudes: in (0, absmax()], 0 where only zeros were seen.
  // FailedPrecondition where no finite value was. InvalidArgument for options
  // that are out of range.
  //
  // Where all values have one sign and the scheme is affine, all of its 2^bits
  // levels serve that sign. The ACIQ methods take the data for a distribution
  // about 0, or half of one, without its zeros.
  absl::StatusOr<float> Threshold(const CalibrationOptions& options) const;

  // The parameters for that threshold T: ChooseSymmetric(T), or ChooseAffine of
  // [min, max] with both ends clamped to [-T, T].
  absl::StatusOr<QuantParams> ChooseParams(
      const CalibrationOptions& options) const;

 private:
  friend struct quantize_internal::ObserverState;

  quantize_internal::ObserverState state_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_OBSERVER_H_
