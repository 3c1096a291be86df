// Base: what floating-point arithmetic does on this thread, for the length of a
// scope.
//
// Used wherever the library computes with floats: by each thread around its
// work on a product or on packing, and by front, plan and run around
// their own estimates. A result must not depend on the rounding mode of whoever
// calls Mul or started a worker, nor may an exception that the caller has
// unmasked kill the process; and without flush-to-zero a product with denormal
// operands would run many times slower.
#ifndef RUY_LIKE_BASE_FLOAT_STATE_H_
#define RUY_LIKE_BASE_FLOAT_STATE_H_

#include <cstdint>

#include "ruy_like/export.h"

namespace ruy_like {

enum class FloatState : std::uint8_t {
  kDefault,         // rounds to nearest, traps nothing, keeps denormals
  kFlushDenormals,  // the same, but denormal operands and results count as zero
  // For the drop-in for ruy: denormals count as zero, all else is as it was.
  kOnlyFlushDenormals,
};

// While it lives, this thread is in the state. The control register is x86's
// MXCSR, Arm's FPCR or RISC-V's fcsr, which cannot flush; on other machines
// nothing happens. The destructor
// restores it to what the constructor found, and the flags of exceptions seen.
// Scopes nest; each must end on the thread that it began on.
class RUY_LIKE_EXPORT ScopedFloatState final {
 public:
  explicit ScopedFloatState(FloatState state);
  ~ScopedFloatState();
  ScopedFloatState(const ScopedFloatState&) = delete;
  ScopedFloatState& operator=(const ScopedFloatState&) = delete;

 private:
  std::uint64_t saved_control_;
  std::uint64_t saved_flags_;  // where they are not in the control register
};

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_FLOAT_STATE_H_
