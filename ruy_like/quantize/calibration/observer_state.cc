// ObserverState: which states an Observer can have.
//
// Tested in test/quantize/calibration/calibration_file_test.cc.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ruy_like/quantize/checks/checks.h"
#include "ruy_like/quantize/observer.h"

namespace ruy_like::quantize_internal {
namespace {

// Far from where sums of two observers' counts would overflow.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 62;
// An Observer's range is 2^kLeastExponent to 2^kMostExponent.
constexpr std::int32_t kLeastExponent = -100, kMostExponent = 128;

bool IsRange(const ObserverState& state) {
  if (state.streaming()) {
    return !state.has_range || (state.exponent >= kLeastExponent &&
                                state.exponent <= kMostExponent);
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

bool IsNegative(const ExactSum& sum) { return sum.digits().back() < 0; }

}  // namespace

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

}  // namespace ruy_like::quantize_internal
