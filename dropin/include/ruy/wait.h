// Drop-in for ruy: Wait, for a condition, first spinning, then asleep.
#ifndef RUY_LIKE_DROPIN_RUY_WAIT_H_
#define RUY_LIKE_DROPIN_RUY_WAIT_H_

#include <condition_variable>
#include <functional>
#include <mutex>

#include "ruy/dropin_visibility.h"
#include "ruy/time.h"

namespace ruy {

// Returns once `condition` has been true: at first it is called over and over,
// for about `spin_duration`, then under `mutex` whenever `condvar` is notified.
// The caller must not hold `mutex`. Whoever makes the condition true must do so
// under `mutex` and notify `condvar`.
RUY_LIKE_DROPIN_EXPORT void Wait(const std::function<bool()>& condition,
                                 const Duration& spin_duration,
                                 std::condition_variable* condvar,
                                 std::mutex* mutex);

// The same with a spin_duration of 2 ms.
RUY_LIKE_DROPIN_EXPORT void Wait(const std::function<bool()>& condition,
                                 std::condition_variable* condvar,
                                 std::mutex* mutex);

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_WAIT_H_
