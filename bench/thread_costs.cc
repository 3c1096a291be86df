// thread_costs: what scaling.py's simulation takes from the machine: the costs
// of handing work over, of atomics that threads share, of packing and of
// multiplying. Prints JSON; takes a few seconds, on an idle machine with at
// least two cores.
//
//   strace -f -c -e trace=futex thread_costs --products=100 --threads=8
//
// instead multiplies, so that the system calls of handing work over can be
// counted.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "bench/buffer.h"
#include "bench/machine.h"
#include "bench/problem.h"
#include "bench/stopwatch.h"
#include "ruy_like/base/wait.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/os/wait.h"
#include "ruy_like/packed/packed_side.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(int, products, 0, "multiply so often, and measure nothing");
ABSL_FLAG(int, threads, 8, "of these products; as many, whatever the machine");
ABSL_FLAG(float, spin_milliseconds, 0, "of the pool, for these products");

namespace ruy_like::bench {
namespace {

constexpr int kRounds = 31;

double NowNs() { return 1e9 * ClockSeconds(CLOCK_MONOTONIC); }

// A word with its cache lines to itself.
struct alignas(128) Word {
  std::atomic<std::uint32_t> value{0};
  double at_ns = 0;
};

// --- Waking ---

struct Wake {
  double call_ns;   // of the thread that wakes
  double delay_ns;  // from before the call to the woken thread's first step
};

// Another thread sleeps, is given 200 us to do so, and is woken.
Wake MeasureWake() {
  Word bell, done;
  std::thread sleeper([&] {
    for (std::uint32_t i = 0; i < kRounds; ++i) {
      while (bell.value.load(std::memory_order_acquire) == i) {
        os::SleepWhileEquals(&bell.value, i);
      }
      done.at_ns = NowNs();
      done.value.store(i + 1, std::memory_order_release);
    }
  });
  std::vector<double> calls, delays;
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const double start = NowNs();
    bell.value.store(i + 1, std::memory_order_release);
    os::WakeOne(&bell.value);
    calls.push_back(NowNs() - start);
    while (done.value.load(std::memory_order_acquire) != i + 1) sched_yield();
    delays.push_back(done.at_ns - start);
  }
  sleeper.join();
  return {Median(calls), Median(delays)};
}

// --- Lines that threads share ---

// From one spinning thread to another, one way, a Pause of the pool's spinning
// included.
double MeasureSignalNs() {
  constexpr std::uint32_t kTurns = 2000;
  Word to, from;
  std::thread other([&] {
    for (std::uint32_t i = 1; i <= kTurns * kRounds; ++i) {
      SpinPacer pacer(std::chrono::seconds(1));
      while (to.value.load(std::memory_order_acquire) != i) pacer.Pause();
      from.value.store(i, std::memory_order_release);
    }
  });
  std::vector<double> ns;
  std::uint32_t i = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = NowNs();
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
      to.value.store(++i, std::memory_order_release);
      SpinPacer pacer(std::chrono::seconds(1));
      while (from.value.load(std::memory_order_acquire) != i) pacer.Pause();
    }
    ns.push_back((NowNs() - start) / (2 * kTurns));
  }
  other.join();
  return Median(ns);
}

// An atomic addition to a word that the other core has just changed: threads
// take turns, each waiting for the other's addition before its own.
double MeasureAtomicNs() {
  constexpr std::uint32_t kTurns = 2000;
  Word word;
  const auto add_in_turn = [&](std::uint32_t parity) {
    for (std::uint32_t i = parity; i < 2 * kTurns * kRounds; i += 2) {
      while (word.value.load(std::memory_order_relaxed) != i) {
      }
      word.value.fetch_add(1, std::memory_order_acq_rel);
    }
  };
  const double start = NowNs();
  std::thread other([&] { add_in_turn(1); });
  add_in_turn(0);
  other.join();
  // A read and an addition: two transfers of the line.
  return (NowNs() - start) / (2 * kTurns * kRounds) / 2;
}

// --- One thread's work ---

double MedianNs(const Way& work) {
  return 1e9 * Median(TakeTurns({work}, kRounds, /*turn_seconds=*/0,
                                /*by_wall=*/false)[0]);
}

// Multiply-adds per nanosecond with a lhs that is packed: of blocks that fit
// L2.
double MacsPerNs(const Types& types) {
  const Shape shape = {192, 512, 128};
  const Problem problem(types, shape, Cached::kLhs);
  Context context;
  return ShapeOps(shape) / 2 / MedianNs([&] {
           for (int i = 0; i < 4; ++i) (void)problem.Mul(&context);
         }) *
         4;
}

// Packed bytes per nanosecond, of a side of the kernel that such a product has,
// from L2 to L2.
double PackBytesPerNs(const Types& types, Side side) {
  constexpr std::ptrdiff_t kSize = 192;
  const Problem problem(types, {kSize, kSize, kSize}, Cached::kNone);
  KernelQuery query = {};
  query.family = types.family;
  query.rows = query.cols = query.depth = kSize;
  query.scalar = {types.lhs, types.rhs};
  query.depth_contiguous = {true, true};
  query.dst_col_major = true;
  const KernelChoice choice = SelectKernel(query, DetectedPaths());
  const Side seen = choice.swap_sides ? Other(side) : side;
  const SideShape shape(*choice.kernel, seen, query.scalar[side], kSize, kSize);
  if (shape.format->in_place) return 0;
  Operand operand = {};
  operand.data = (side == Side::kLhs ? problem.lhs : problem.rhs).data();
  operand.scalar = query.scalar[side];
  operand.depth_contiguous = true;
  operand.depth = operand.width = operand.stride = kSize;
  Buffer panels(shape.PackedBytes());
  PackedSide packed;
  packed.Init(operand, shape);
  packed.data = static_cast<char*>(panels.data());
  constexpr int kTimes = 16;
  return kTimes * static_cast<double>(shape.panels_bytes) / MedianNs([&] {
           for (int i = 0; i < kTimes; ++i) packed.Pack(0, kSize);
         });
}

// Bytes per nanosecond that one thread reads beyond its L2.
double L3BytesPerNs() {
  const std::ptrdiff_t bytes = 4 * DetectedCacheSizes().l2_bytes;
  std::vector<std::uint64_t> words(static_cast<std::size_t>(bytes / 8), 1);
  std::atomic<std::uint64_t> sink{0};
  const double ns = MedianNs([&] {
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words) sum += word;
    sink.store(sum, std::memory_order_relaxed);
  });
  return static_cast<double>(bytes) / ns;
}

void PrintCosts() {
  const Wake wake = MeasureWake();
  std::printf("{\"cpu\": \"%s\",\n", CpuModel().c_str());
  std::printf(" \"wake_call_ns\": %.0f, \"wake_delay_ns\": %.0f,\n",
              wake.call_ns, wake.delay_ns);
  std::printf(" \"signal_ns\": %.0f, \"atomic_ns\": %.0f,\n", MeasureSignalNs(),
              MeasureAtomicNs());
  std::printf(" \"l3_bytes_per_ns\": %.1f,\n", L3BytesPerNs());
  std::printf(" \"types\": {");
  const char* separator = "";
  for (const char* name : {"f32", "s8"}) {
    const Types& types = *FindTypes(name);
    std::printf("%s\n  \"%s\": {\"macs_per_ns\": %.1f, ", separator, name,
                MacsPerNs(types));
    std::printf("\"pack_bytes_per_ns\": {\"lhs\": %.1f, \"rhs\": %.1f}}",
                PackBytesPerNs(types, Side::kLhs),
                PackBytesPerNs(types, Side::kRhs));
    separator = ",";
  }
  std::printf("}}\n");
}

// int8, 1024x1024x1024: long enough for sleeping threads to come.
void RunProducts() {
  const Problem problem(*FindTypes("s8"), {1024, 1024, 1024}, Cached::kLhs);
  Context context;
  context.set_max_num_threads(absl::GetFlag(FLAGS_threads));
  context.set_num_threads_strategy(NumThreadsStrategy::kForceMaxNumThreads);
  context.mutable_thread_pool()->set_spin_milliseconds(
      absl::GetFlag(FLAGS_spin_milliseconds));
  for (int i = 0; i < absl::GetFlag(FLAGS_products); ++i) {
    (void)problem.Mul(&context);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "What handing work to threads costs, as JSON; see "
      "bench/thread_costs.cc.");
  absl::ParseCommandLine(argc, argv);
  if (absl::GetFlag(FLAGS_products) > 0) {
    ruy_like::bench::RunProducts();
  } else {
    ruy_like::bench::PrintCosts();
  }
}
