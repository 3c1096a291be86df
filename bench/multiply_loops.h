// Benchmarks: loops of multiply instructions, to find what a processor can do.
//
// Called by probes.cc, which times them. Knows which instructions inner steps
// need, but calls no kernel of the library. Measures nothing.
//
// A loop does the whole inner step of a product: the multiplication and, where
// that does not accumulate by itself (VPMADDWD), the addition that goes with
// it; both may want the same ports. Operands are random: zeros use less power
// and let some units run at a higher clock (27% with AMX). There are two ways
// to feed a loop:
//
//   registers  operands stay in registers: the peak of the units
//   L1         operands are loaded, each time others, from 16 to 22 KiB of
//              memory: 2 vectors and 6 broadcasts for 12 products; with AMX 4
//              tiles for 4 products. What a kernel can do that has all in L1.
#ifndef RUY_LIKE_BENCH_MULTIPLY_LOOPS_H_
#define RUY_LIKE_BENCH_MULTIPLY_LOOPS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/machine/cpu_features.h"

namespace ruy_like::bench {

enum class Feed { kRegisters, kL1 };

// One multiply-add counts as two operations.
struct PeakProbe {
  const char* name;  // instructions and register width in bits
  // The families whose inner step this is, a bit 1 << family each, on paths
  // that have `features` and no later probe's.
  std::uint32_t families;
  Feed feed;
  CpuFeatures features;
  double ops_per_iteration;
  void (*run)(std::ptrdiff_t iterations);
};

// All that this build has, slowest instructions first; `count` entries.
const PeakProbe* PeakProbes(int* count);

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_MULTIPLY_LOOPS_H_
