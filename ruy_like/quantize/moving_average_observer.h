// Quantization toolkit, public: MovingAverageObserver, which finds a tensor's
// range as training frameworks do, by a moving average of each batch's ends.
//
// For ranges equal to theirs, and for data whose range drifts. Keeps no
// histogram: where to clip is Observer's business.
#ifndef RUY_LIKE_QUANTIZE_MOVING_AVERAGE_OBSERVER_H_
#define RUY_LIKE_QUANTIZE_MOVING_AVERAGE_OBSERVER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ruy_like/context.h"
#include "ruy_like/export.h"
#include "ruy_like/matrix.h"
#include "ruy_like/quantize/observer.h"
#include "ruy_like/quantize/quant_params.h"

namespace ruy_like {

// After the first batch min and max are its ends, after each other one
//
//   min += constant * (min of the batch - min),   likewise max
//
// in float. Source: PyTorch, torch.ao.quantization MovingAverageMinMaxObserver,
// with its default constant; Jacob et al., "Quantization and Training of Neural
// Networks for Efficient Integer-Arithmetic-Only Inference" (CVPR 2018),
// section 3.1, for the idea. (TensorFlow's ema_decay is 1 - constant.)
//
// Order matters: there is no merging. Not for use from several threads at once.
class RUY_LIKE_EXPORT MovingAverageObserver final {
 public:
  // A constant outside (0, 1] makes Observe fail.
  explicit MovingAverageObserver(float constant = 0.01f)
      : constant_(constant) {}
  // An observer that continues from another one's state. InvalidArgument for a
  // constant outside (0, 1], ends that are not finite, and ends other than 0
  // before the first batch.
  static absl::StatusOr<MovingAverageObserver> Resume(float constant,
                                                      std::uint64_t batches,
                                                      float min, float max);

  // One batch: NaN and infinities are skipped, and a batch of nothing else does
  // not count. Errors are those of Observer::Observe, with nothing observed,
  // and InvalidArgument for the constant.
  absl::Status Observe(const Matrix<float>& values, Context* context = nullptr);
  absl::Status Observe(absl::Span<const float> values,
                       Context* context = nullptr) {
    const auto count = static_cast<std::ptrdiff_t>(values.size());
    return Observe(RowMajor(values.data(), 1, count), context);
  }

  float constant() const { return constant_; }
  std::uint64_t batches() const { return batches_; }
  // 0 before the first batch.
  float min() const { return min_; }
  float max() const { return max_; }

  // The parameters for [min, max], widened to hold 0: ChooseSymmetric of the
  // larger magnitude, or ChooseAffine. The options' method and percentile are
  // ignored. FailedPrecondition before the first batch, InvalidArgument
  // for options that are out of range.
  absl::StatusOr<QuantParams> ChooseParams(
      const CalibrationOptions& options) const;

 private:
  float constant_;
  std::uint64_t batches_ = 0;
  float min_ = 0, max_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_MOVING_AVERAGE_OBSERVER_H_
