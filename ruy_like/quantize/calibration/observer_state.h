// Quantization toolkit, internal: an Observer's whole state as plain data, for
// files.
#ifndef RUY_LIKE_QUANTIZE_CALIBRATION_OBSERVER_STATE_H_
#define RUY_LIKE_QUANTIZE_CALIBRATION_OBSERVER_STATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "ruy_like/quantize/numbers/exact_sum.h"
#include "ruy_like/quantize/observer.h"

namespace ruy_like::quantize_internal {

struct ObserverState {
  float range = 0;  // SetRange; 0: streaming
  bool has_exponent = false;
  std::int32_t exponent = 0;
  std::uint64_t finite = 0, zeros = 0, nonfinite = 0;
  float min = 0, max = 0;
  ExactSum::Digits sum = {}, sum_of_squares = {}, sum_of_magnitudes = {};
  std::vector<std::uint64_t> bins;

  static ObserverState Of(const Observer& observer);
  // InvalidArgument for a state that no Observer can have.
  static absl::StatusOr<Observer> ToObserver(const ObserverState& state);
};

}  // namespace ruy_like::quantize_internal

#endif  // RUY_LIKE_QUANTIZE_CALIBRATION_OBSERVER_STATE_H_
