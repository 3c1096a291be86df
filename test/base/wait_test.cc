#include "ruy_like/base/wait.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "gtest/gtest.h"
#include "ruy_like/os/wait.h"

namespace ruy_like {
namespace {

using std::chrono::steady_clock;

TEST(WaitTest, ReturnsAtOnceWhenTheValueDiffers) {
  std::atomic<std::uint32_t> word{1};
  os::SleepWhileEquals(&word, 0);
}

TEST(WaitTest, PingPongNeverLosesAWakeUp) {
  std::atomic<std::uint32_t> word{0};
  constexpr std::uint32_t kTurns = 2000;
  const auto play = [&word](std::uint32_t parity) {
    for (;;) {
      const std::uint32_t seen = word.load(std::memory_order_acquire);
      if (seen >= kTurns) return;
      if (seen % 2 == parity) {
        word.store(seen + 1);
        os::WakeOne(&word);
      } else {
        os::SleepWhileEquals(&word, seen);
      }
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_GE(word.load(), kTurns);
}

steady_clock::duration SpinFor(std::chrono::nanoseconds duration) {
  const auto start = steady_clock::now();
  SpinPacer pacer(duration);
  while (pacer.Pause()) {
  }
  return steady_clock::now() - start;
}

TEST(SpinPacerTest, EndsAfterItsDuration) {
  constexpr std::chrono::milliseconds kDuration(3);
  steady_clock::duration longest{0};
  // Sooner where other programs take the core, for as long as they want it.
  const auto end = steady_clock::now() + std::chrono::minutes(2);
  while (longest < kDuration && steady_clock::now() < end) {
    const auto spun = SpinFor(kDuration);
    EXPECT_LT(spun, std::chrono::seconds(3));
    longest = std::max(longest, spun);
    if (longest < kDuration) std::this_thread::sleep_for(kDuration);
  }
  EXPECT_GE(longest, kDuration);
}

#ifdef __linux__
TEST(SpinPacerTest, EndsSoonerWhereOthersTakeTheCore) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  std::atomic<bool> stop{false};
  // Inherits the affinity.
  std::thread other([&stop] {
    while (!stop.load()) {
      const auto end = steady_clock::now() + std::chrono::microseconds(50);
      while (steady_clock::now() < end) {
      }
      sched_yield();
    }
  });
  const auto spun = SpinFor(std::chrono::seconds(20));
  stop.store(true);
  other.join();
  sched_setaffinity(0, sizeof(before), &before);
  EXPECT_LT(spun, std::chrono::seconds(10));
}
#endif

TEST(SpinPacerTest, NoDurationEndsSoon) {
  SpinPacer pacer(std::chrono::nanoseconds(0));
  int pauses = 0;
  while (pacer.Pause()) pauses++;
  EXPECT_LT(pauses, 1000);
}

}  // namespace
}  // namespace ruy_like
