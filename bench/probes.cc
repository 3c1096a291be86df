#include "bench/probes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/multiply_loops.h"
#include "bench/stopwatch.h"

namespace ruy_like::bench {
namespace {

#if defined(__x86_64__)

// ## Sum loops

// Eight loads from each stream in turn.
#define RUY_LIKE_SUM_LOOP(Name, kTarget, Vector)                             \
  __attribute__((target(kTarget))) void Name(                                \
      const char* data, std::ptrdiff_t stream_bytes, int streams) {          \
    constexpr std::ptrdiff_t kStep = 8 * sizeof(Vector);                     \
    Vector s[8] = {};                                                        \
    for (std::ptrdiff_t at = 0; at + kStep <= stream_bytes; at += kStep) {   \
      const char* from = data + at;                                          \
      for (int stream = 0; stream < streams; ++stream) {                     \
        const Vector* v = reinterpret_cast<const Vector*>(from);             \
        for (int i = 0; i < 8; ++i) s[i] += v[i];                            \
        from += stream_bytes;                                                \
      }                                                                      \
    }                                                                        \
    asm volatile("" ::"x"(s[0]), "x"(s[1]), "x"(s[2]), "x"(s[3]), "x"(s[4]), \
                 "x"(s[5]), "x"(s[6]), "x"(s[7]));                           \
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

// Bandwidth is what plain code gets.
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
  int count;
  const PeakProbe* const all = PeakProbes(&count);
  for (const PeakProbe* probe = all; probe != all + count; ++probe) {
    if ((features & probe->features) != probe->features) continue;
    // The system's leave to use tiles comes with the path.
    if ((probe->features & kCpuAmx) != 0 &&
        (DetectedPaths(Path::kAmx) & Path::kAmx) == Path::kNone) {
      continue;
    }
    probes.push_back(probe);
  }
  return probes;
}

const PeakProbe* FindPeakProbe(Path path, kernels::Family family, Feed feed) {
  static const std::vector<const PeakProbe*> runnable = RunnablePeakProbes();
  const CpuFeatures features = FeaturesOf(path);
  const PeakProbe* best = nullptr;
  for (const PeakProbe* probe : runnable) {
    if (probe->feed == feed &&
        (features & probe->features) == probe->features &&
        (probe->families >> static_cast<int>(family) & 1) != 0) {
      best = probe;
    }
  }
  return best;
}

Rate MeasurePeak(const PeakProbe& probe, int threads, ThreadPool* pool,
                 double seconds, int runs) {
  std::vector<LoopTask> tasks(threads);
  for (LoopTask& task : tasks) task.probe = &probe;
  // The first guess takes some ten microseconds.
  constexpr double kGuessOps = 1e6;
  const auto guess = static_cast<std::ptrdiff_t>(
      std::max(1.0, kGuessOps / probe.ops_per_iteration));
  return MeasureTasks(&tasks, pool, threads * probe.ops_per_iteration, seconds,
                      runs, guess);
}

int WidestLoadBytes(Path path) {
  const CpuFeatures features = FeaturesOf(path);
  return (features & kCpuAvx512) != 0 ? 64
         : (features & kCpuAvx2) != 0 ? 32
                                      : 16;
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

}  // namespace ruy_like::bench
