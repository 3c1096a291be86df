// Benchmarks: time by the wall and by the calling thread's CPU clock, and what
// is compared taking turns.
//
// The CPU clock does not count the time in which another process had the core,
// so it is the better one for a single thread on a shared machine; the wall is
// what several threads working together are measured by.
#ifndef RUY_LIKE_BENCH_STOPWATCH_H_
#define RUY_LIKE_BENCH_STOPWATCH_H_

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
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

// One of several ways to do something, which are to be compared.
using Way = std::function<void()>;

// Seconds of a call, the mean of so many.
inline double SecondsOf(const Way& way, int calls, bool by_wall) {
  const Stopwatch stopwatch;
  for (int i = 0; i < calls; ++i) way();
  const Seconds elapsed = stopwatch.Elapsed();
  return (by_wall ? elapsed.wall : elapsed.cpu) / calls;
}

// The seconds of a call, for each way one for each round, in which all have a
// turn of about so long; the first call of a turn does not count. By the wall,
// for ways with several threads: before it, those of others go to sleep.
inline std::vector<std::vector<double>> TakeTurns(const std::vector<Way>& ways,
                                                  int rounds,
                                                  double turn_seconds,
                                                  bool by_wall) {
  std::vector<int> calls(ways.size(), 1);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    ways[i]();
    while (calls[i] * SecondsOf(ways[i], calls[i], by_wall) <
               0.5 * turn_seconds &&
           calls[i] < (1 << 24)) {
      calls[i] *= 2;
    }
  }
  std::vector<std::vector<double>> seconds(ways.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < ways.size(); ++i) {
      if (by_wall) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      ways[i]();
      seconds[i].push_back(SecondsOf(ways[i], calls[i], by_wall));
    }
  }
  return seconds;
}

// The median of the ratios within a round.
inline double MedianRatio(const std::vector<double>& seconds,
                          const std::vector<double>& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    ratios.push_back(seconds[i] / others[i]);
  }
  return Median(ratios);
}

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_STOPWATCH_H_
