#include "bench/probes.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/stopwatch.h"

namespace ruy_like {
namespace bench {
namespace {

// ## Register loops

#if defined(__x86_64__)

// Operands of the loops: bytes of all values, and floats whose sums stay normal
// numbers. Zeros would be kinder to the processor's power budget than data is.
alignas(64) const std::int8_t kBytes[64] = {
    -77, 12, 101,  -3,  55,  -128, 127,  9,   -31, 64,  -90, 2,   33,
    118, -5, -66,  81,  -17, 44,   -102, 7,   93,  -1,  29,  -58, 70,
    -84, 15, 108,  -39, 52,  -121, 3,    -11, 87,  36,  -73, 120, -26,
    61,  -8, -110, 19,  98,  -45,  75,   -19, 5,   -93, 40,  113, -62,
    24,  -2, 83,   -35, 57,  -115, 11,   -50, 95,  -22, 68,  -127};
alignas(64) const float kFloats[16] = {
    0.51f, -0.77f, 0.93f, -0.62f, 0.85f, -0.58f, 0.71f, -0.99f,
    0.66f, -0.88f, 0.54f, -0.81f, 0.97f, -0.69f, 0.74f, -0.91f};

typedef float Float128 __attribute__((vector_size(16)));
typedef float Float256 __attribute__((vector_size(32)));
typedef float Float512 __attribute__((vector_size(64)));
typedef long long Int128 __attribute__((vector_size(16)));
typedef long long Int256 __attribute__((vector_size(32)));
typedef long long Int512 __attribute__((vector_size(64)));

// Twelve accumulators, operands 0 to 11 of the asm statement, cover a latency
// of 5 at two instructions per cycle (VPDPBUSD of Intel's cores, the worst of
// the field); with two inputs, operands 12 and 13, they fit 16 registers.
#define RUY_LIKE_ACCUMULATE(op, n) op " %12, %13, %" #n "\n\t"
// For instructions that do not accumulate: the accumulator is an input too.
#define RUY_LIKE_FEED_BACK(op, n) op " %12, %" #n ", %" #n "\n\t"
#define RUY_LIKE_FEED_BACK_SSE(op, n) op " %12, %" #n "\n\t"

#define RUY_LIKE_PEAK_LOOP(Name, kTarget, Vector, kInput, form, op)            \
  __attribute__((target(kTarget))) void Name(std::ptrdiff_t iterations) {      \
    Vector a, b;                                                               \
    std::memcpy(&a, kInput, sizeof(a));                                        \
    b = a;                                                                     \
    Vector c0 = a, c1 = a, c2 = a, c3 = a, c4 = a, c5 = a, c6 = a, c7 = a,     \
           c8 = a, c9 = a, c10 = a, c11 = a;                                   \
    for (; iterations > 0; --iterations) {                                     \
      asm volatile(form(op, 0) form(op, 1) form(op, 2) form(op, 3) form(op, 4) \
                       form(op, 5) form(op, 6) form(op, 7) form(op, 8)         \
                           form(op, 9) form(op, 10) form(op, 11)               \
                   : "+x"(c0), "+x"(c1), "+x"(c2), "+x"(c3), "+x"(c4),         \
                     "+x"(c5), "+x"(c6), "+x"(c7), "+x"(c8), "+x"(c9),         \
                     "+x"(c10), "+x"(c11)                                      \
                   : "x"(a), "x"(b));                                          \
    }                                                                          \
  }
constexpr int kAccumulators = 12;

RUY_LIKE_PEAK_LOOP(MulPs128, "sse2", Float128, kFloats, RUY_LIKE_FEED_BACK_SSE,
                   "mulps")
RUY_LIKE_PEAK_LOOP(PmAddWd128, "sse2", Int128, kBytes, RUY_LIKE_FEED_BACK_SSE,
                   "pmaddwd")
RUY_LIKE_PEAK_LOOP(FmaPs256, "avx2,fma", Float256, kFloats, RUY_LIKE_ACCUMULATE,
                   "vfmadd231ps")
RUY_LIKE_PEAK_LOOP(PmAddWd256, "avx2", Int256, kBytes, RUY_LIKE_FEED_BACK,
                   "vpmaddwd")
RUY_LIKE_PEAK_LOOP(FmaPs512, "avx512f", Float512, kFloats, RUY_LIKE_ACCUMULATE,
                   "vfmadd231ps")
RUY_LIKE_PEAK_LOOP(PmAddWd512, "avx512f,avx512bw", Int512, kBytes,
                   RUY_LIKE_FEED_BACK, "vpmaddwd")
RUY_LIKE_PEAK_LOOP(PdpBusd512, "avx512f,avx512vnni", Int512, kBytes,
                   RUY_LIKE_ACCUMULATE, "vpdpbusd")
RUY_LIKE_PEAK_LOOP(PdpWssd512, "avx512f,avx512vnni", Int512, kBytes,
                   RUY_LIKE_ACCUMULATE, "vpdpwssd")
#if defined(RUY_LIKE_BENCH_HAVE_AVXVNNI)
RUY_LIKE_PEAK_LOOP(PdpBusd256, "avx2,avxvnni", Int256, kBytes,
                   RUY_LIKE_ACCUMULATE, "%{vex%} vpdpbusd")
RUY_LIKE_PEAK_LOOP(PdpWssd256, "avx2,avxvnni", Int256, kBytes,
                   RUY_LIKE_ACCUMULATE, "%{vex%} vpdpwssd")
#endif

#undef RUY_LIKE_PEAK_LOOP
#undef RUY_LIKE_FEED_BACK_SSE
#undef RUY_LIKE_FEED_BACK
#undef RUY_LIKE_ACCUMULATE

#if defined(RUY_LIKE_BENCH_HAVE_AMX)
constexpr int kTiles = 6;

// What LDTILECFG reads: eight tiles of 16 rows of 64 bytes.
struct TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Six accumulator tiles: a tile product takes 52 cycles, one can start
// every 16.
__attribute__((target("amx-tile,amx-int8"))) void TDpBssd(
    std::ptrdiff_t iterations) {
  const TileConfig config;
  const std::ptrdiff_t stride = 0;  // all rows of a tile alike
  asm volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"
      "tilezero %%tmm3\n\ttilezero %%tmm4\n\ttilezero %%tmm5\n\t"
      "tileloadd (%1,%2), %%tmm6\n\ttileloadd (%1,%2), %%tmm7"
      :
      : "m"(config), "r"(kBytes), "r"(stride)
      : "memory");
  for (; iterations > 0; --iterations) {
    asm volatile(
        "tdpbssd %tmm7, %tmm6, %tmm0\n\ttdpbssd %tmm7, %tmm6, %tmm1\n\t"
        "tdpbssd %tmm7, %tmm6, %tmm2\n\ttdpbssd %tmm7, %tmm6, %tmm3\n\t"
        "tdpbssd %tmm7, %tmm6, %tmm4\n\ttdpbssd %tmm7, %tmm6, %tmm5");
  }
  asm volatile("tilerelease");
}
#endif  // RUY_LIKE_BENCH_HAVE_AMX

const PeakProbe kProbes[] = {
    {"mulps_128", 0, kAccumulators * 8.0, MulPs128},
    {"pmaddwd_128", 0, kAccumulators * 16.0, PmAddWd128},
    {"vfmadd_256", kCpuFma, kAccumulators * 16.0, FmaPs256},
    {"vpmaddwd_256", kCpuAvx2, kAccumulators * 32.0, PmAddWd256},
#if defined(RUY_LIKE_BENCH_HAVE_AVXVNNI)
    {"vpdpwssd_256", kCpuAvxVnni, kAccumulators * 32.0, PdpWssd256},
    {"vpdpbusd_256", kCpuAvxVnni, kAccumulators * 64.0, PdpBusd256},
#endif
    {"vfmadd_512", kCpuAvx512, kAccumulators * 32.0, FmaPs512},
    {"vpmaddwd_512", kCpuAvx512, kAccumulators * 64.0, PmAddWd512},
    {"vpdpwssd_512", kCpuAvx512Vnni, kAccumulators * 64.0, PdpWssd512},
    {"vpdpbusd_512", kCpuAvx512Vnni, kAccumulators * 128.0, PdpBusd512},
#if defined(RUY_LIKE_BENCH_HAVE_AMX)
    {"tdpbssd", kCpuAmxInt8, kTiles * 16 * 16 * 64 * 2.0, TDpBssd},
#endif
};

// Which of them a path multiplies with.
struct PathInstructions {
  Path path;
  const char* int8;
  const char* int16;
  const char* f32;
};
const PathInstructions kInstructions[] = {
    {Path::kPortable, "pmaddwd_128", "pmaddwd_128", "mulps_128"},
    {Path::kAvx2, "vpmaddwd_256", "vpmaddwd_256", "vfmadd_256"},
    {Path::kAvxVnni, "vpdpbusd_256", "vpdpwssd_256", "vfmadd_256"},
    {Path::kAvx512, "vpmaddwd_512", "vpmaddwd_512", "vfmadd_512"},
    {Path::kAvx512Vnni, "vpdpbusd_512", "vpdpwssd_512", "vfmadd_512"},
    {Path::kAmx, "tdpbssd", "vpdpwssd_512", "vfmadd_512"},
};

// ## Sum loops

// Eight loads from each stream in turn.
#define RUY_LIKE_SUM_LOOP(Name, kTarget, Vector)                            \
  __attribute__((target(kTarget))) void Name(                               \
      const char* data, std::ptrdiff_t stream_bytes, int streams) {         \
    constexpr std::ptrdiff_t kStep = 8 * sizeof(Vector);                    \
    Vector s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {},   \
           s7 = {};                                                         \
    for (std::ptrdiff_t at = 0; at + kStep <= stream_bytes; at += kStep) {  \
      const char* from = data + at;                                         \
      for (int stream = 0; stream < streams; ++stream) {                    \
        const Vector* v = reinterpret_cast<const Vector*>(from);            \
        s0 += v[0];                                                         \
        s1 += v[1];                                                         \
        s2 += v[2];                                                         \
        s3 += v[3];                                                         \
        s4 += v[4];                                                         \
        s5 += v[5];                                                         \
        s6 += v[6];                                                         \
        s7 += v[7];                                                         \
        from += stream_bytes;                                               \
      }                                                                     \
    }                                                                       \
    asm volatile("" ::"x"(s0), "x"(s1), "x"(s2), "x"(s3), "x"(s4), "x"(s5), \
                 "x"(s6), "x"(s7));                                         \
  }

typedef long long Load128 __attribute__((vector_size(16), may_alias));
typedef long long Load256 __attribute__((vector_size(32), may_alias));
typedef long long Load512 __attribute__((vector_size(64), may_alias));
RUY_LIKE_SUM_LOOP(Sum16, "sse2", Load128)
RUY_LIKE_SUM_LOOP(Sum32, "avx2", Load256)
RUY_LIKE_SUM_LOOP(Sum64, "avx512f", Load512)
#undef RUY_LIKE_SUM_LOOP

using SumFn = void(const char* data, std::ptrdiff_t stream_bytes, int streams);

SumFn* SumLoop(int load_bytes) {
  return load_bytes == 64 ? Sum64 : load_bytes == 32 ? Sum32 : Sum16;
}

#else  // not x86

// No peaks are known here, and bandwidth is what plain code gets.
const PeakProbe kProbes[] = {{"none", ~CpuFeatures{0}, 0, nullptr}};
struct PathInstructions {
  Path path;
  const char* int8;
  const char* int16;
  const char* f32;
};
const PathInstructions kInstructions[] = {{Path::kPortable, "", "", ""}};

using SumFn = void(const char* data, std::ptrdiff_t stream_bytes, int streams);

void SumPlain(const char* data, std::ptrdiff_t stream_bytes, int streams) {
  std::uint64_t sums[8] = {};
  for (std::ptrdiff_t at = 0; at + 64 <= stream_bytes; at += 64) {
    for (int stream = 0; stream < streams; ++stream) {
      std::uint64_t v[8];
      std::memcpy(v, data + stream * stream_bytes + at, 64);
      for (int i = 0; i < 8; ++i) sums[i] += v[i];
    }
  }
  asm volatile("" ::"m"(sums));
}

SumFn* SumLoop(int) { return SumPlain; }

#endif

// ## Measuring

// Runs a loop on one of several threads.
struct LoopTask final : public Task {
  void Run() override {
    const Stopwatch stopwatch;
    if (probe != nullptr) {
      probe->run(repeat);
    } else {
      for (std::ptrdiff_t i = 0; i < repeat; ++i) sum(data, bytes, streams);
    }
    cpu_seconds = stopwatch.Elapsed().cpu;
  }

  const PeakProbe* probe = nullptr;  // or the other three
  SumFn* sum = nullptr;
  const char* data = nullptr;
  std::ptrdiff_t bytes = 0;  // per stream
  int streams = 1;

  std::ptrdiff_t repeat = 1;
  double cpu_seconds = 0;
};

// Wall time of all, and the mean of their CPU times.
Seconds RunTasks(std::vector<LoopTask>* tasks, ThreadPool* pool) {
  const Stopwatch stopwatch;
  if (tasks->size() == 1) {
    tasks->front().Run();
  } else {
    pool->Execute(static_cast<int>(tasks->size()), tasks->data());
  }
  Seconds seconds = stopwatch.Elapsed();
  seconds.cpu = 0;
  for (const LoopTask& task : *tasks) seconds.cpu += task.cpu_seconds;
  seconds.cpu /= static_cast<double>(tasks->size());
  return seconds;
}

// `amount` is what all tasks do together in one repetition.
Rate MeasureTasks(std::vector<LoopTask>* tasks, ThreadPool* pool, double amount,
                  double seconds, int runs, std::ptrdiff_t first_guess) {
  std::ptrdiff_t repeat = first_guess;
  const auto run = [&] {
    for (LoopTask& task : *tasks) task.repeat = repeat;
    return RunTasks(tasks, pool);
  };
  // Warms up, and finds how often makes `seconds`.
  for (;;) {
    const double elapsed = run().wall;
    if (elapsed > 0.5 * seconds) {
      repeat = std::max<std::ptrdiff_t>(1, repeat * (seconds / elapsed));
      break;
    }
    repeat = repeat * std::clamp(seconds / (elapsed + 1e-9), 2.0, 20.0);
  }
  std::vector<double> wall, cpu;
  for (int i = 0; i < runs; ++i) {
    const Seconds elapsed = run();
    wall.push_back(amount * repeat / elapsed.wall);
    cpu.push_back(amount * repeat / elapsed.cpu);
  }
  return {Median(wall), Median(cpu)};
}

}  // namespace

std::vector<const PeakProbe*> RunnablePeakProbes() {
  const CpuFeatures features = DetectCpuFeatures();
  std::vector<const PeakProbe*> probes;
  for (const PeakProbe& probe : kProbes) {
    if ((features & probe.features) != probe.features) continue;
    // The system's leave to use tiles comes with the path.
    if ((probe.features & kCpuAmxInt8) != 0 &&
        (DetectedPaths(Path::kAmx) & Path::kAmx) == Path::kNone) {
      continue;
    }
    probes.push_back(&probe);
  }
  return probes;
}

const PeakProbe* FindPeakProbe(Path path, kernels::Family family) {
  const char* name = "";
  for (const PathInstructions& instructions : kInstructions) {
    if (instructions.path != path) continue;
    switch (family) {
      case kernels::Family::k8x8:
        name = instructions.int8;
        break;
      case kernels::Family::k8x16:
      case kernels::Family::k16x8:
        name = instructions.int16;
        break;
      case kernels::Family::kF32:
        name = instructions.f32;
        break;
      case kernels::Family::kF64:
        break;
    }
  }
  static const std::vector<const PeakProbe*> runnable = RunnablePeakProbes();
  for (const PeakProbe* probe : runnable) {
    if (std::strcmp(probe->name, name) == 0) return probe;
  }
  return nullptr;
}

Rate MeasurePeak(const PeakProbe& probe, int threads, ThreadPool* pool,
                 double seconds, int runs) {
  std::vector<LoopTask> tasks(threads);
  for (LoopTask& task : tasks) task.probe = &probe;
  // The first guess takes some ten microseconds.
  return MeasureTasks(&tasks, pool, threads * probe.ops_per_iteration, seconds,
                      runs, 1000);
}

int WidestLoadBytes(Path path) {
  if (path == Path::kPortable) return 16;
  return path == Path::kAvx2 || path == Path::kAvxVnni ? 32 : 64;
}

Rate MeasureReadBandwidth(int load_bytes, const void* data,
                          std::ptrdiff_t bytes, int streams, int threads,
                          ThreadPool* pool, double seconds, int runs) {
  const std::ptrdiff_t stream_bytes = bytes / threads / streams / 512 * 512;
  std::vector<LoopTask> tasks(threads);
  for (int i = 0; i < threads; ++i) {
    tasks[i].sum = SumLoop(load_bytes);
    tasks[i].data = static_cast<const char*>(data) + i * streams * stream_bytes;
    tasks[i].bytes = stream_bytes;
    tasks[i].streams = streams;
  }
  const double amount = 1.0 * threads * streams * stream_bytes;
  return MeasureTasks(&tasks, pool, amount, seconds, runs, 1);
}

Rate MeasureBestReadBandwidth(int load_bytes, const void* data,
                              std::ptrdiff_t bytes, int threads,
                              ThreadPool* pool, double seconds, int runs,
                              int* best_streams) {
  Rate best = {0, 0};
  for (int streams : {1, 2, 4, 8}) {
    if (bytes < 512 * threads * streams) break;
    const Rate rate = MeasureReadBandwidth(load_bytes, data, bytes, streams,
                                           threads, pool, seconds, runs);
    if (rate.by_wall <= best.by_wall) continue;
    best = rate;
    if (best_streams != nullptr) *best_streams = streams;
  }
  return best;
}

}  // namespace bench
}  // namespace ruy_like
