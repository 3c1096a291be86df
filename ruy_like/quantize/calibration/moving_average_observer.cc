#include "ruy_like/quantize/moving_average_observer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ruy_like/base/no_memory.h"

namespace ruy_like {
namespace {

absl::Status CheckConstant(float constant) {
  if (constant > 0 && constant <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the averaging constant is ", constant, ", must be in (0, 1]"));
}

}  // namespace

absl::StatusOr<MovingAverageObserver> MovingAverageObserver::Resume(
    float constant, std::uint64_t batches, float min, float max) {
  const absl::Status status = CheckConstant(constant);
  if (!status.ok()) return status;
  if (!std::isfinite(min) || !std::isfinite(max) ||
      (batches == 0 && (min != 0 || max != 0))) {
    return absl::InvalidArgumentError(absl::StrCat("the averages are ", min,
                                                   " and ", max, " after ",
                                                   batches, " batches"));
  }
  MovingAverageObserver observer(constant);
  observer.batches_ = batches;
  observer.min_ = min;
  observer.max_ = max;
  return observer;
}

absl::Status MovingAverageObserver::Add(const absl::Status& status,
                                        const Observer& batch) {
  if (!status.ok()) return status;
  if (absl::Status constant = CheckConstant(constant_); !constant.ok()) {
    return constant;
  }
  if (batch.finite_count() == 0) return absl::OkStatus();
  if (batches_++ == 0) {
    min_ = batch.min();
    max_ = batch.max();
  } else {
    min_ += constant_ * (batch.min() - min_);
    max_ += constant_ * (batch.max() - max_);
  }
  return absl::OkStatus();
}

absl::Status MovingAverageObserver::Observe(absl::Span<const float> values,
                                            Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    Observer batch;
    const absl::Status status = batch.Observe(values, context);
    return Add(status, batch);
  });
}

absl::Status MovingAverageObserver::Observe(const Matrix<float>& values,
                                            Context* context) {
  return CatchNoMemory([&]() -> absl::Status {
    Observer batch;
    const absl::Status status = batch.Observe(values, context);
    return Add(status, batch);
  });
}

absl::StatusOr<QuantParams> MovingAverageObserver::ChooseParams(
    const CalibrationOptions& options) const {
  return CatchNoMemory([&]() -> absl::StatusOr<QuantParams> {
    // Where all of the range is kept, its two ends are as good as all values.
    Observer ends;
    const float range[] = {min_, max_};
    if (batches_ > 0) {
      const absl::Status status = ends.Observe(range);
      if (!status.ok()) return status;
    }
    CalibrationOptions keep_all = options;
    keep_all.method = CalibrationMethod::kMinMax;
    return ends.ChooseParams(keep_all);
  });
}

}  // namespace ruy_like
