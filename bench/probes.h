// Benchmarks: what this machine could do at best, measured at run time.
//
// Used by peak (prints all of it) and by mul_bench (shares of it). What the
// multiply peaks are is told in multiply_loops.h.
#ifndef RUY_LIKE_BENCH_PROBES_H_
#define RUY_LIKE_BENCH_PROBES_H_

#include <cstddef>
#include <vector>

#include "bench/multiply_loops.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/path.h"
#include "ruy_like/thread_pool.h"

namespace ruy_like::bench {

// ## Multiply peaks

// The probes that this build has and this machine can run, slowest first.
std::vector<const PeakProbe*> RunnablePeakProbes();

// The probe of a path's inner step for a family of types; null if there is none
// here (portable code on other processors than x86, doubles).
const PeakProbe* FindPeakProbe(Path path, kernels::Family family, Feed feed);

// Operations or bytes per second, the median of several runs.
struct Rate {
  double by_wall;
  // By the CPU time of the threads: the peak of an undisturbed machine, where
  // by_wall is the peak of the machine as it is.
  double by_cpu;
};

// All threads together, on the pool's workers and the caller, hence as warm as
// those are. One run takes about `seconds`.
Rate MeasurePeak(const PeakProbe& probe, int threads, ThreadPool* pool,
                 double seconds, int runs);

// ## Read bandwidth

// Bytes of the widest load that a path's instructions have.
int WidestLoadBytes(Path path);

// Reads [data, data + bytes) again and again with loads of `load_bytes` and
// adds everything up; each thread a part of its own, from `streams` places in
// turn, front to back. `bytes` per thread and stream is rounded down to a
// multiple of 512. `data` must be aligned to 64 bytes.
Rate MeasureReadBandwidth(int load_bytes, const void* data,
                          std::ptrdiff_t bytes, int streams, int threads,
                          ThreadPool* pool, double seconds, int runs);

// The best of several numbers of streams, which is returned in `best_streams`
// if that is not null.
Rate MeasureBestReadBandwidth(int load_bytes, const void* data,
                              std::ptrdiff_t bytes, int threads,
                              ThreadPool* pool, double seconds, int runs,
                              int* best_streams);

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_PROBES_H_
