// Base: waiting for a word of memory to change by spinning. os/wait.h has what
// comes after that: sleeping.
#ifndef RUY_LIKE_BASE_WAIT_H_
#define RUY_LIKE_BASE_WAIT_H_

#include <chrono>
#include <cstdint>

namespace ruy_like {

// Paces a spin loop of bounded length:
//
//   SpinPacer pacer(duration);
//   while (!done()) {
//     if (!pacer.Pause()) sleep...;
//   }
//
// It pauses the core for short moments, and from the second microsecond or so
// on also offers it to other threads regularly: with more threads than cores,
// the one that is waited for may need this very core. If others take the core,
// the loop ends before the duration, since spinning would keep the core from
// threads that have work.
class SpinPacer final {
 public:
  explicit SpinPacer(std::chrono::nanoseconds duration) : duration_(duration) {}
  // Waits a moment. False once the duration is over, or others have taken the
  // core at kMostTaken yields in a row.
  bool Pause();

 private:
  // A yield that takes longer has let another thread run: alone it is 0.3 us.
  static constexpr std::chrono::microseconds kLongYield{2};
  static constexpr int kMostTaken = 8;

  std::chrono::nanoseconds duration_;
  std::chrono::steady_clock::time_point end_;
  std::uint32_t count_ = 0;
  int taken_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_WAIT_H_
