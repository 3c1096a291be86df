// Benchmarks: loops of multiply instructions, to find what a processor can do.
//
// Called by probes.cc, which times them. Knows which instructions each path's
// inner step needs, but calls no kernel of the library. Measures nothing.
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

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/cpu_features.h"

namespace ruy_like {
namespace bench {

enum class Feed { kRegisters, kL1 };

// One multiply-add counts as two operations.
struct PeakProbe {
  const char* name;  // instructions and register width in bits
  Feed feed;
  CpuFeatures features;
  double ops_per_iteration;
  void (*run)(std::ptrdiff_t iterations);
};

// All that this build has, slowest instructions first; `count` entries.
const PeakProbe* PeakProbes(int* count);

// The name of the probes that do a path's inner step for a family of types;
// null if there are none (portable code on other processors than x86, doubles).
const char* PeakProbeName(Path path, kernels::Family family);

}  // namespace bench
}  // namespace ruy_like

#endif  // RUY_LIKE_BENCH_MULTIPLY_LOOPS_H_
