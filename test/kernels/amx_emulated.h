// Test: the AMX kernels over an emulated tile unit.
//
// amx_emulated.cc builds ruy_like/kernels/amx/amx_kernel.h, unchanged, with
// tiles in plain memory. It needs AVX-512-VNNI for the rest of the kernel, as
// the real one does, and is compiled with that path's flags; call it only where
// the processor has them.
#ifndef RUY_LIKE_TEST_KERNELS_AMX_EMULATED_H_
#define RUY_LIKE_TEST_KERNELS_AMX_EMULATED_H_

#include <stdint.h>

#include "ruy_like/kernels/kernel.h"

namespace ruy_like {
namespace kernels {

// The table of kernels/amx.cc: same order and formats, no pack routines.
KernelTable EmulatedAmxKernels();

// What the emulated unit saw since ResetAmxEmulation().
struct AmxEmulation {
  // What a real unit would have trapped for, the first such thing; or null.
  const char* fault;
  bool configured;  // not yet released
  int64_t configurations;
  int64_t products;
  int64_t streaming_loads;
};

const AmxEmulation& GetAmxEmulation();
void ResetAmxEmulation();

// Runs a sequence of tile instructions with one mistake and returns its fault.
// Null once `mistake` is past the last one. For the emulation's own test.
const char* FaultOfMistake(int mistake);

}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_KERNELS_AMX_EMULATED_H_
