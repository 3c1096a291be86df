#include "ruy_like/base/wait.h"

#include <sched.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <condition_variable>
#include <mutex>
#endif

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace ruy_like {
namespace {

void PauseCore() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb"
               :
               :
               : "memory");  // As long as x86's pause; yield is a nop.
#endif
}

}  // namespace

#ifdef __linux__

void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void WakeOne(const std::atomic<std::uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

#else

namespace {

// All sleepers share one condition; those woken for another's word find their
// own unchanged and sleep again. Leaked: threads may outlive static
// destructors.
struct Sleepers {
  std::mutex mutex;
  std::condition_variable condition;
};

Sleepers& AllSleepers() {
  static Sleepers* const sleepers = new Sleepers;
  return *sleepers;
}

}  // namespace

void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  Sleepers& sleepers = AllSleepers();
  std::unique_lock<std::mutex> lock(sleepers.mutex);
  if (word->load(std::memory_order_seq_cst) == value) {
    sleepers.condition.wait(lock);
  }
}

void WakeOne(const std::atomic<std::uint32_t>*) {
  Sleepers& sleepers = AllSleepers();
  // Once the lock was had, a sleeper has either seen the change or is waiting.
  { std::lock_guard<std::mutex> lock(sleepers.mutex); }
  sleepers.condition.notify_all();
}

#endif

bool SpinPacer::Pause() {
  // Pauses of about 10 to 40 ns each. Reading the clock costs as much as one of
  // them, a sched_yield a few times that.
  constexpr std::uint32_t kPausesPerYield = 32;
  PauseCore();
  if (++count_ % kPausesPerYield != 0) return true;
  const auto now = std::chrono::steady_clock::now();
  if (count_ == kPausesPerYield) {
    end_ = now + duration_;
    return duration_.count() > 0;
  }
  if (now >= end_) return false;
  sched_yield();
  return true;
}

}  // namespace ruy_like
