// Drop-in for ruy: the time types of wait.h.
#ifndef RUY_LIKE_DROPIN_RUY_TIME_H_
#define RUY_LIKE_DROPIN_RUY_TIME_H_

#include <chrono>
#include <cstdint>
#include <ctime>
#include <ratio>

#include "ruy/dropin_visibility.h"

namespace ruy {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

template <typename Number>
RUY_LIKE_LOCAL Duration DurationFromSeconds(Number seconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<Number>(seconds));
}
template <typename Number>
RUY_LIKE_LOCAL Duration DurationFromMilliseconds(Number milliseconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<Number, std::milli>(milliseconds));
}
template <typename Number>
RUY_LIKE_LOCAL Duration DurationFromNanoseconds(Number nanoseconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<Number, std::nano>(nanoseconds));
}

RUY_LIKE_LOCAL inline float ToFloatSeconds(const Duration& duration) {
  return std::chrono::duration<float>(duration).count();
}
RUY_LIKE_LOCAL inline float ToFloatMilliseconds(const Duration& duration) {
  return std::chrono::duration<float, std::milli>(duration).count();
}
RUY_LIKE_LOCAL inline std::int64_t ToInt64Nanoseconds(
    const Duration& duration) {
  return std::chrono::duration_cast<
             std::chrono::duration<std::int64_t, std::nano>>(duration)
      .count();
}

RUY_LIKE_LOCAL inline TimePoint Now() {
  return std::chrono::steady_clock::now();
}

// The same clock as of the kernel's last tick, some milliseconds ago at most.
// Cheaper than Now(), where the system has such a clock (Linux).
RUY_LIKE_LOCAL inline TimePoint CoarseNow() {
#ifdef CLOCK_MONOTONIC_COARSE
  std::timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return TimePoint(std::chrono::duration_cast<Duration>(
      std::chrono::seconds(time.tv_sec) +
      std::chrono::nanoseconds(time.tv_nsec)));
#else
  return Now();
#endif
}

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_TIME_H_
