#include "ruy_like/base/wait.h"

#include "ruy_like/os/wait.h"

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

bool SpinPacer::Pause() {
  // Pauses of about 10 to 40 ns each. Reading the clock costs as much as one of
  // them, a yield a few times that.
  constexpr std::uint32_t kPausesPerYield = 32;
  PauseCore();
  if (++count_ % kPausesPerYield != 0) return true;
  const auto now = std::chrono::steady_clock::now();
  if (count_ == kPausesPerYield) {
    end_ = now + duration_;
    return duration_.count() > 0;
  }
  if (now >= end_ || taken_ >= kMostTaken) return false;
  os::YieldThread();
  taken_ = std::chrono::steady_clock::now() - now > kLongYield ? taken_ + 1 : 0;
  return true;
}

}  // namespace ruy_like
