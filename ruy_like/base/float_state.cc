#include "ruy_like/base/float_state.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ruy_like {
namespace {

#if defined(__SSE2__)

constexpr std::uint64_t kFlushBits = 0x8040;  // FTZ: bit 15, DAZ: bit 6
constexpr std::uint64_t kFlagBits = 0x3f;     // exceptions seen
constexpr std::uint64_t kDefaultControl = 0x1f80;
constexpr bool kFlagsAreInControl = true;
std::uint64_t ReadControl() { return _mm_getcsr(); }
void WriteControl(std::uint64_t value) {
  _mm_setcsr(static_cast<unsigned>(value));
}
std::uint64_t ReadFlags() { return 0; }
void WriteFlags(std::uint64_t) {}

#elif defined(__aarch64__)

constexpr std::uint64_t kFlushBits = std::uint64_t{1} << 24;  // FZ
constexpr std::uint64_t kFlagBits = 0;
constexpr std::uint64_t kDefaultControl = 0;
constexpr bool kFlagsAreInControl = false;
std::uint64_t ReadControl() {
  std::uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void WriteControl(std::uint64_t value) {
  asm volatile("msr fpcr, %0" : : "r"(value));
}
std::uint64_t ReadFlags() {
  std::uint64_t value;
  asm volatile("mrs %0, fpsr" : "=r"(value));
  return value;
}
void WriteFlags(std::uint64_t value) {
  asm volatile("msr fpsr, %0" : : "r"(value));
}

#elif defined(__arm__) && defined(__ARM_FP)

// FPSCR: control and flags in one register. NEON's instructions flush whatever
// it says.
constexpr std::uint64_t kFlushBits = std::uint64_t{1} << 24;  // FZ
constexpr std::uint64_t kFlagBits = 0xf800009f;  // comparisons; exceptions seen
constexpr std::uint64_t kDefaultControl = 0;
constexpr bool kFlagsAreInControl = true;
std::uint64_t ReadControl() {
  std::uint32_t value;
  asm volatile("vmrs %0, fpscr" : "=r"(value));
  return value;
}
void WriteControl(std::uint64_t value) {
  asm volatile("vmsr fpscr, %0" : : "r"(static_cast<std::uint32_t>(value)));
}
std::uint64_t ReadFlags() { return 0; }
void WriteFlags(std::uint64_t) {}

#elif defined(__riscv_flen)

// The register fcsr: rounding mode and flags. Nothing is ever flushed or
// trapped.
constexpr std::uint64_t kFlushBits = 0;
constexpr std::uint64_t kFlagBits = 0x1f;  // exceptions seen
constexpr std::uint64_t kDefaultControl = 0;
constexpr bool kFlagsAreInControl = true;
std::uint64_t ReadControl() {
  std::uint64_t value;
  asm volatile("frcsr %0" : "=r"(value));
  return value;
}
void WriteControl(std::uint64_t value) {
  asm volatile("fscsr %0" : : "r"(value));
}
std::uint64_t ReadFlags() { return 0; }
void WriteFlags(std::uint64_t) {}

#else

constexpr std::uint64_t kFlushBits = 0;
constexpr std::uint64_t kFlagBits = 0;
constexpr std::uint64_t kDefaultControl = 0;
constexpr bool kFlagsAreInControl = false;
std::uint64_t ReadControl() { return 0; }
void WriteControl(std::uint64_t) {}
std::uint64_t ReadFlags() { return 0; }
void WriteFlags(std::uint64_t) {}

#endif

std::uint64_t ControlFor(FloatState state, std::uint64_t found) {
  switch (state) {
    case FloatState::kDefault:
      return kDefaultControl | (found & kFlagBits);
    case FloatState::kFlushDenormals:
      return kDefaultControl | kFlushBits | (found & kFlagBits);
    case FloatState::kOnlyFlushDenormals:
      break;
  }
  return found | kFlushBits;
}

}  // namespace

ScopedFloatState::ScopedFloatState(FloatState state)
    : saved_control_(ReadControl()), saved_flags_(ReadFlags()) {
  const std::uint64_t wanted = ControlFor(state, saved_control_);
  if (wanted != saved_control_) WriteControl(wanted);
}

// On x86 it is reading the register that costs, 3 ns and another 5 behind a
// write, since all arithmetic before has to have left its exception flags
// there; a write takes 0.3 ns (Zen 5). Arm keeps the flags in another register,
// and a write to this one may drain the pipeline.
ScopedFloatState::~ScopedFloatState() {
  if (kFlagsAreInControl || ReadControl() != saved_control_) {
    WriteControl(saved_control_);
  }
  WriteFlags(saved_flags_);
}

}  // namespace ruy_like
