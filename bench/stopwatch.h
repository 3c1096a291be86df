// Benchmarks: time by the wall and by the calling thread's CPU clock.
//
// The CPU clock does not count the time in which another process had the core,
// so it is the better one for a single thread on a shared machine; the wall is
// what several threads working together are measured by.
#ifndef RUY_LIKE_BENCH_STOPWATCH_H_
#define RUY_LIKE_BENCH_STOPWATCH_H_

#include <time.h>

#include <algorithm>
#include <vector>

namespace ruy_like::bench {

struct Seconds {
  double wall;
  double cpu;  // of the calling thread
};

inline double ClockSeconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * now.tv_nsec;
}

// Runs from its construction.
class Stopwatch final {
 public:
  Stopwatch()
      : cpu_(ClockSeconds(CLOCK_THREAD_CPUTIME_ID)),
        wall_(ClockSeconds(CLOCK_MONOTONIC)) {}

  // Since construction; on the thread that constructed it.
  Seconds Elapsed() const {
    const double wall = ClockSeconds(CLOCK_MONOTONIC);
    const double cpu = ClockSeconds(CLOCK_THREAD_CPUTIME_ID);
    return {wall - wall_, cpu - cpu_};
  }

 private:
  double cpu_;
  double wall_;
};

// The upper median; 0 of nothing.
inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_STOPWATCH_H_
