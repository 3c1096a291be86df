// Tested in test/quantize/calibration/calibration_file_test.cc.
#include "ruy_like/quantize/calibration/observer_state.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace ruy_like::quantize_internal {
namespace {

// Far from where sums of two observers' counts would overflow.
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 62;
// An Observer's range is 2^kLeastExponent to 2^kMostExponent.
constexpr std::int32_t kLeastExponent = -100, kMostExponent = 128;

bool IsRange(const ObserverState& state) {
  if (state.range == 0) {
    return !state.has_exponent || (state.exponent >= kLeastExponent &&
                                   state.exponent <= kMostExponent);
  }
  return state.range > 0 && std::isfinite(state.range) && !state.has_exponent;
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
  return state.has_exponent && absmax < std::ldexp(1.0, state.exponent);
}

// Sums that cannot be negative are not.
bool AreSums(const ObserverState& state) {
  return ExactSum::AreDigits(state.sum) &&
         ExactSum::AreDigits(state.sum_of_squares) &&
         ExactSum::AreDigits(state.sum_of_magnitudes) &&
         state.sum_of_squares.back() == 0 &&
         state.sum_of_magnitudes.back() == 0;
}

}  // namespace

ObserverState ObserverState::Of(const Observer& observer) {
  ObserverState state;
  state.range = observer.range_;
  state.has_exponent = observer.streaming() && observer.has_range_;
  state.exponent = observer.exponent_;
  state.finite = observer.finite_count_;
  state.zeros = observer.zero_count_;
  state.nonfinite = observer.nonfinite_count_;
  state.min = observer.min_;
  state.max = observer.max_;
  state.sum = observer.sum_.digits();
  state.sum_of_squares = observer.sum_of_squares_.digits();
  state.sum_of_magnitudes = observer.sum_of_magnitudes_.digits();
  state.bins = observer.bins_;
  return state;
}

absl::StatusOr<Observer> ObserverState::ToObserver(const ObserverState& state) {
  const char* wrong = !IsRange(state)     ? "range"
                      : !AreCounts(state) ? "counts"
                      : !AreEnds(state)   ? "ends"
                      : !AreSums(state)   ? "sums"
                                          : nullptr;
  if (wrong != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", wrong, " of an observer contradict the rest"));
  }
  Observer observer;
  observer.range_ = state.range;
  observer.has_range_ = state.range > 0 || state.has_exponent;
  observer.exponent_ = state.has_exponent ? state.exponent : 0;
  observer.finite_count_ = state.finite;
  observer.zero_count_ = state.zeros;
  observer.nonfinite_count_ = state.nonfinite;
  observer.min_ = state.min + 0.0f;  // never -0
  observer.max_ = state.max + 0.0f;
  observer.sum_ = ExactSum(state.sum);
  observer.sum_of_squares_ = ExactSum(state.sum_of_squares);
  observer.sum_of_magnitudes_ = ExactSum(state.sum_of_magnitudes);
  observer.bins_ = state.bins;
  return observer;
}

}  // namespace ruy_like::quantize_internal
