#include "ruy_like/base/denormals.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ruy_like {
namespace {

#if defined(__SSE2__)

constexpr std::uint64_t kFlushBits = 0x8040;  // FTZ: bit 15, DAZ: bit 6
constexpr std::uint64_t kStatusBits = 0x3f;   // exceptions seen
constexpr std::uint64_t kDefaultControl = 0x1f80;
std::uint64_t ReadControl() { return _mm_getcsr(); }
void WriteControl(std::uint64_t value) {
  _mm_setcsr(static_cast<unsigned>(value));
}

#elif defined(__aarch64__)

constexpr std::uint64_t kFlushBits = std::uint64_t{1} << 24;  // FZ
constexpr std::uint64_t kStatusBits = 0;
constexpr std::uint64_t kDefaultControl = 0;
std::uint64_t ReadControl() {
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void WriteControl(std::uint64_t value) {
  asm volatile("msr fpcr, %0" : : "r"(value));
}

#else

constexpr std::uint64_t kFlushBits = 0;
constexpr std::uint64_t kStatusBits = 0;
constexpr std::uint64_t kDefaultControl = 0;
std::uint64_t ReadControl() { return 0; }
void WriteControl(std::uint64_t) {}

#endif

// On x86 it is reading the register that costs, 3 ns and another 5 behind a
// write, since all arithmetic before has to have left its exception flags
// there; a write takes 0.3 ns (Zen 5). Arm keeps no flags in it, and a write
// may drain the pipeline.
void RestoreControl(std::uint64_t saved) {
  constexpr bool kWriteIsCheap = kStatusBits != 0;
  if (kWriteIsCheap || ReadControl() != saved) WriteControl(saved);
}

}  // namespace

ScopedSuppressDenormals::ScopedSuppressDenormals() : saved_(ReadControl()) {
  const std::uint64_t wanted = saved_ | kFlushBits;
  if (wanted != saved_) WriteControl(wanted);
}

ScopedSuppressDenormals::~ScopedSuppressDenormals() { RestoreControl(saved_); }

ScopedDefaultFloatState::ScopedDefaultFloatState() : saved_(ReadControl()) {
  const std::uint64_t wanted = (saved_ & kStatusBits) | kDefaultControl;
  if (wanted != saved_) WriteControl(wanted);
}

ScopedDefaultFloatState::~ScopedDefaultFloatState() { RestoreControl(saved_); }

}  // namespace ruy_like
