#include "ruy/wait.h"

namespace ruy {

void Wait(const std::function<bool()>& condition, const Duration& spin_duration,
          std::condition_variable* condvar, std::mutex* mutex) {
  if (condition()) return;
  if (spin_duration > Duration::zero()) {
    const TimePoint end = Now() + spin_duration;
    do {
      if (condition()) return;
    } while (Now() < end);
  }
  std::unique_lock<std::mutex> lock(*mutex);
  condvar->wait(lock, condition);
}

void Wait(const std::function<bool()>& condition,
          std::condition_variable* condvar, std::mutex* mutex) {
  Wait(condition, DurationFromMilliseconds(2), condvar, mutex);
}

}  // namespace ruy
