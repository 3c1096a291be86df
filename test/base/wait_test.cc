#include "ruy_like/base/wait.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "gtest/gtest.h"

namespace ruy_like {
namespace {

using std::chrono::steady_clock;

TEST(WaitTest, ReturnsAtOnceWhenTheValueDiffers) {
  std::atomic<std::uint32_t> word{1};
  SleepWhileEquals(&word, 0);
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
        WakeOne(&word);
      } else {
        SleepWhileEquals(&word, seen);
      }
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_GE(word.load(), kTurns);
}

TEST(SpinPacerTest, EndsAfterItsDuration) {
  const auto start = steady_clock::now();
  SpinPacer pacer(std::chrono::milliseconds(3));
  while (pacer.Pause()) {
  }
  EXPECT_GE(steady_clock::now() - start, std::chrono::milliseconds(3));
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(3));
}

TEST(SpinPacerTest, NoDurationEndsSoon) {
  SpinPacer pacer(std::chrono::nanoseconds(0));
  int pauses = 0;
  while (pacer.Pause()) pauses++;
  EXPECT_LT(pauses, 1000);
}

}  // namespace
}  // namespace ruy_like
