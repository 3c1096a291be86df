#include "ruy_like/quantize/moving_average_observer.h"

#include <cmath>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/quantize/checks/checks.h"

namespace ruy_like {
namespace {

absl::Status CheckConstant(float constant) {
  if (constant > 0 && constant <= 1) return absl::OkStatus();
  return Invalid("the averaging constant is ", constant, ", must be in (0, 1]");
}

}  // namespace

absl::StatusOr<MovingAverageObserver> MovingAverageObserver::Resume(
    float constant, std::uint64_t batches, float min, float max) {
  RUY_LIKE_RETURN_IF_ERROR(CheckConstant(constant));
  if (!std::isfinite(min) || !std::isfinite(max) ||
      (batches == 0 && (min != 0 || max != 0))) {
    return Invalid("the averages are ", min, " and ", max, " after ", batches,
                   " batches");
  }
  MovingAverageObserver observer(constant);
  observer.batches_ = batches;
  observer.min_ = min;
  observer.max_ = max;
  return observer;
}

absl::Status MovingAverageObserver::Observe(const Matrix<float>& values,
                                            Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    Observer batch;
    RUY_LIKE_RETURN_IF_ERROR(batch.Observe(values, context));
    RUY_LIKE_RETURN_IF_ERROR(CheckConstant(constant_));
    if (batch.finite_count() == 0) return absl::OkStatus();
    if (batches_++ == 0) {
      min_ = batch.min();
      max_ = batch.max();
    } else {
      min_ += constant_ * (batch.min() - min_);
      max_ += constant_ * (batch.max() - max_);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<QuantParams> MovingAverageObserver::ChooseParams(
    const CalibrationOptions& options) const {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantParams> {
    // Where nothing is clipped, the range's ends are as good as all values.
    Observer ends;
    const float range[] = {min_, max_};
    if (batches_ > 0) {
      RUY_LIKE_RETURN_IF_ERROR(ends.Observe(range));
    }
    CalibrationOptions keep_all = options;
    keep_all.method = CalibrationMethod::kMinMax;
    return ends.ChooseParams(keep_all);
  });
}

}  // namespace ruy_like
