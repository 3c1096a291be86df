// Tests waiting by condition variables (ruy_like/os/wait.h), which Linux does
// not use.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "ruy_like/os/wait.h"

namespace ruy_like::os {
namespace {

TEST(SleepersTest, ReturnsAtOnceWhenTheValueDiffers) {
  std::atomic<std::uint32_t> word{1};
  SleepOnCondition(&word, 0);
}

TEST(SleepersTest, PingPongNeverLosesAWakeUp) {
  constexpr std::uint32_t kTurns = 1000;
  std::atomic<std::uint32_t> word{0};
  const auto play = [&word](std::uint32_t parity) {
    for (;;) {
      const std::uint32_t seen = word.load(std::memory_order_acquire);
      if (seen >= kTurns) return;
      if (seen % 2 == parity) {
        word.store(seen + 1);
        WakeByCondition(&word);
      } else {
        SleepOnCondition(&word, seen);
      }
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_GE(word.load(), kTurns);
}

// More words than there are condition variables: some share one. The last to
// fall asleep is woken first.
TEST(SleepersTest, AWakeUpReachesItsWordAmongThoseThatShare) {
  constexpr int kWords = 100;
  const auto words = std::make_unique<std::atomic<std::uint32_t>[]>(kWords);
  std::atomic<int> begun{0}, awake{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kWords; ++i) {
    threads.emplace_back([&, i] {
      begun.fetch_add(1);
      while (words[i].load() == 0) SleepOnCondition(&words[i], 0);
      awake.fetch_add(1);
    });
    while (begun.load() <= i) std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (int i = kWords; i-- > 0;) {
    words[i].store(1);
    WakeByCondition(&words[i]);
  }
  for (int i = 0; i < 1000 && awake.load() < kWords; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(awake.load(), kWords);
  // So that the threads end even if not.
  while (awake.load() < kWords) {
    for (int i = 0; i < kWords; ++i) WakeByCondition(&words[i]);
  }
  for (std::thread& thread : threads) thread.join();
}

// One condition variable for all would wake the sleeper for each of them.
TEST(SleepersTest, OtherWordsWakeFewSleepers) {
  struct alignas(128) Word {
    std::atomic<std::uint32_t> value{0};
  };
  constexpr int kOthers = 400;
  const auto words = std::make_unique<Word[]>(kOthers + 1);
  std::atomic<std::uint32_t>* const slept_on = &words[kOthers].value;
  std::atomic<int> returns{0};
  std::thread sleeper([&] {
    while (slept_on->load() == 0) {
      SleepOnCondition(slept_on, 0);
      returns.fetch_add(1);
    }
  });
  for (int i = 0; i < kOthers; ++i) {
    WakeByCondition(&words[i].value);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  slept_on->store(1);
  WakeByCondition(slept_on);
  sleeper.join();
  EXPECT_LT(returns.load(), kOthers / 8);
}

}  // namespace
}  // namespace ruy_like::os
