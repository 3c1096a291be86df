// Sleeping and waking where the system cannot wait on an address: a few
// condition variables, chosen by the address.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "ruy_like/os/wait.h"

namespace ruy_like::os {
namespace {

// Sleepers of words that share one are all woken for any of these words, find
// their own unchanged and sleep again.
struct Sleepers {
  std::mutex mutex;
  std::condition_variable condition;
};

Sleepers& SleepersOn(const void* word) {
  constexpr int kBits = 6;
  // Never destroyed: threads may outlive static objects.
  static Sleepers* const all = new Sleepers[std::size_t{1} << kBits];
  // Workers' words lie a fixed distance apart, which a multiplication spreads.
  const std::uint64_t hash =
      reinterpret_cast<std::uintptr_t>(word) * UINT64_C(0x9e3779b97f4a7c15);
  return all[hash >> (64 - kBits)];
}

}  // namespace

void SleepOnCondition(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  Sleepers& sleepers = SleepersOn(word);
  std::unique_lock<std::mutex> lock(sleepers.mutex);
  if (word->load(std::memory_order_seq_cst) == value) {
    sleepers.condition.wait(lock);
  }
}

void WakeByCondition(const std::atomic<std::uint32_t>* word) {
  Sleepers& sleepers = SleepersOn(word);
  // Once this thread has held the lock, a sleeper has either seen the change or
  // is waiting.
  { std::lock_guard<std::mutex> lock(sleepers.mutex); }
  sleepers.condition.notify_all();
}

}  // namespace ruy_like::os
