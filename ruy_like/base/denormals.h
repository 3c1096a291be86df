// Middle-end: what floating-point arithmetic does for the length of a scope.
//
// Used by tr_mul.cc around the work of each thread, and by quantize/. A float
// product with denormal operands would run many times slower without
// flush-to-zero; a scaled product and a quantization give the same bits on every
// thread only if nobody's rounding mode or flush-to-zero, the caller's or a
// worker's, gets in.
#ifndef RUY_LIKE_BASE_DENORMALS_H_
#define RUY_LIKE_BASE_DENORMALS_H_

#include <cstdint>

#include "ruy_like/export.h"

namespace ruy_like {

// While it lives, this thread's denormal operands and results count as zero:
// FTZ and DAZ in x86's MXCSR, FZ in Arm's FPCR; elsewhere it does nothing. The
// destructor restores the whole control register, with the x86 exception flags
// that live in it, to what the constructor found. Scopes nest; each must end on
// the thread that it began on.
class RUY_LIKE_EXPORT ScopedSuppressDenormals final {
 public:
  ScopedSuppressDenormals();
  ~ScopedSuppressDenormals();
  ScopedSuppressDenormals(const ScopedSuppressDenormals&) = delete;
  ScopedSuppressDenormals& operator=(const ScopedSuppressDenormals&) = delete;

 private:
  std::uint64_t saved_;
};

// While it lives, this thread rounds to nearest, keeps denormals and traps
// nothing. Restores and nests like the above.
class RUY_LIKE_EXPORT ScopedDefaultFloatState final {
 public:
  ScopedDefaultFloatState();
  ~ScopedDefaultFloatState();
  ScopedDefaultFloatState(const ScopedDefaultFloatState&) = delete;
  ScopedDefaultFloatState& operator=(const ScopedDefaultFloatState&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_DENORMALS_H_
