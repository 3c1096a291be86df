// Speed of ruy_like::quantize's element-wise operations, each as a share of the
// bandwidth at which this machine copies memory, measured in the same run.
//
//   quantize_bench [--benchmark_...]
//
// Tensors are far larger than the caches, bytes count once where they are read
// or written by the operation's definition. Counters:
//   share      bytes per second over those of memcpy, read and written, with as
//              many threads: an operation that only reads, as Observe does, has
//              4 bytes an element counted
//   el_cycle   elements per clock cycle (tensors in the first-level cache)
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "bench/machine.h"
#include "bench/stopwatch.h"
#include "ruy_like/context.h"
#include "ruy_like/quantize/quantize.h"

namespace ruy_like::bench {
namespace {

// Elements of the large tensors; 64 MiB where an element is a byte.
constexpr std::ptrdiff_t kLarge = 64 << 20;
constexpr std::ptrdiff_t kSmall = 2048;

int AllThreads() {
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// Initialised memory of `n` elements, all of them written once.
template <typename T>
std::vector<T> Filled(std::ptrdiff_t n) {
  std::vector<T> values(static_cast<std::size_t>(n));
  std::uint32_t x = 1;
  for (T& value : values) {
    x = 1664525u * x + 1013904223u;
    value = std::is_same<T, float>::value
                ? static_cast<T>((x >> 8) * 0x1p-23 - 1)
                : static_cast<T>(x >> 16);
  }
  return values;
}

// Copies memory with the threads of a Context, one memcpy each, so that the C
// library sees how large the copy is.
class Copier {
 public:
  // Bytes per second, read and written, of one copy.
  double Rate(Context* context) {
    parts_ = context->max_num_threads();
    next_ = 0;
    const Stopwatch stopwatch;
    (void)context->ParallelFor(
        parts_,
        [](void* argument, int) {
          auto* const copier = static_cast<Copier*>(argument);
          const std::ptrdiff_t share = kBytes / copier->parts_;
          for (int i; (i = copier->next_++) < copier->parts_;) {
            std::memcpy(copier->to_.data() + i * share,
                        copier->from_.data() + i * share, share);
          }
        },
        this);
    return 2.0 * kBytes / stopwatch.Elapsed().wall;
  }

 private:
  static constexpr std::ptrdiff_t kBytes = 96 << 20;

  const std::vector<char> from_ = Filled<char>(kBytes);
  std::vector<char> to_ = Filled<char>(kBytes);
  int parts_ = 1;
  std::atomic<int> next_{0};
};

// Clock cycles per second: additions that wait for each other take one each.
double CyclesPerSecond() {
  static const double rate = [] {
    double best = 0;
    for (int run = 0; run < 20; ++run) {
      constexpr int kRounds = 100000;
      std::uint64_t x = 1;
      const Stopwatch stopwatch;
      for (int i = 0; i < kRounds; ++i) {
        for (int j = 0; j < 8; ++j) {
          x += x;  // of a constant some processors make several a cycle
#if defined(__GNUC__)
          asm volatile("" : "+r"(x));
#endif
        }
      }
      best = std::max(best, 8 * kRounds / stopwatch.Elapsed().wall);
    }
    return best;
  }();
  return rate;
}

// Runs `operation`, which moves `bytes` bytes a call, until Google Benchmark
// has had enough. A copy follows each call, for the bandwidth of a machine that
// is shared changes from second to second: the share is the median of the
// pairs' quotients.
template <typename Operation>
void RunLarge(benchmark::State& state, double bytes,
              const Operation& operation) {
  static Copier* const copier = new Copier;
  Context context;
  context.set_max_num_threads(static_cast<int>(state.range(0)));
  std::vector<double> shares, copy_rates;
  for (auto _ : state) {
    const Stopwatch stopwatch;
    const auto status = operation(&context);
    const double seconds = stopwatch.Elapsed().wall;
    if (!status.ok()) {
      state.SkipWithError("the operation failed");
      return;
    }
    state.SetIterationTime(seconds);
    copy_rates.push_back(copier->Rate(&context));
    shares.push_back(bytes / seconds / copy_rates.back());
  }
  const double total = bytes * static_cast<double>(state.iterations());
  state.counters["GB_s"] =
      benchmark::Counter(total * 1e-9, benchmark::Counter::kIsRate);
  state.counters["copy_GB_s"] = 1e-9 * Median(copy_rates);
  state.counters["share"] = Median(shares);
}

template <typename Operation>
void RunSmall(benchmark::State& state, std::ptrdiff_t elements,
              const Operation& operation) {
  for (auto _ : state) {
    if (!operation().ok()) state.SkipWithError("the operation failed");
    benchmark::ClobberMemory();
  }
  state.counters["el_cycle"] =
      benchmark::Counter(static_cast<double>(elements) / CyclesPerSecond() *
                             static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

template <typename Q>
QuantParams ParamsOf() {
  QuantParams params;
  params.qmin = std::max<std::int64_t>(std::numeric_limits<Q>::min(), -32768);
  params.qmax = std::min<std::int64_t>(std::numeric_limits<Q>::max(), 32767);
  params.zero_point = 3;
  params.scale = 1.0f / 100;
  return params;
}

// The destinations are initialised, so that no page is first touched here.
template <typename Q>
void BM_Quantize(benchmark::State& state) {
  const auto x = Filled<float>(kLarge);
  auto q = Filled<Q>(kLarge);
  RunLarge(state, kLarge * (4.0 + sizeof(Q)), [&](Context* context) {
    return Quantize(absl::MakeConstSpan(x), ParamsOf<Q>(), absl::MakeSpan(q),
                    context);
  });
}

template <typename Q>
void BM_Dequantize(benchmark::State& state) {
  const auto q = Filled<Q>(kLarge);
  auto x = Filled<float>(kLarge);
  RunLarge(state, kLarge * (4.0 + sizeof(Q)), [&](Context* context) {
    return Dequantize(absl::MakeConstSpan(q), ParamsOf<Q>(), absl::MakeSpan(x),
                      context);
  });
}

void BM_QuantizeInCache(benchmark::State& state) {
  const auto x = Filled<float>(kSmall);
  auto q = Filled<std::int8_t>(kSmall);
  RunSmall(state, kSmall, [&] {
    return Quantize(absl::MakeConstSpan(x), ParamsOf<std::int8_t>(),
                    absl::MakeSpan(q));
  });
}

void BM_DequantizeInCache(benchmark::State& state) {
  const auto q = Filled<std::int8_t>(kSmall);
  auto x = Filled<float>(kSmall);
  RunSmall(state, kSmall, [&] {
    return Dequantize(absl::MakeConstSpan(q), ParamsOf<std::int8_t>(),
                      absl::MakeSpan(x));
  });
}

void BM_ApplyTableInCache(benchmark::State& state) {
  const auto params = ParamsOf<std::int8_t>();
  const auto table =
      ByteTable::Make<std::int8_t, std::int8_t>(params, params, HardSwish);
  const auto q = Filled<std::int8_t>(kSmall);
  auto result = Filled<std::int8_t>(kSmall);
  const TensorShape shape = {1, 1, 1, kSmall};
  TensorView<std::int8_t> output = {result.data(), shape, params};
  RunSmall(state, kSmall, [&] {
    return ApplyTable(TensorView<const std::int8_t>{q.data(), shape, params},
                      *table, /*context=*/nullptr, &output);
  });
}

void BM_DequantizeAcc(benchmark::State& state) {
  constexpr std::ptrdiff_t kCols = 512;
  const auto acc_data = Filled<std::int32_t>(kLarge / 2);
  auto x_data = Filled<float>(kLarge / 2);
  const auto scale = Filled<float>(kCols);
  const auto bias = Filled<float>(kCols);
  Matrix<std::int32_t> acc;
  Matrix<float> x;
  MakeSimpleLayout(kLarge / 2 / kCols, kCols, Order::kRowMajor,
                   acc.mutable_layout());
  *x.mutable_layout() = acc.layout();
  acc.set_data(acc_data.data());
  x.set_data(x_data.data());
  RunLarge(state, kLarge / 2 * 8.0, [&](Context* context) {
    return DequantizeAcc(acc, scale, bias, ChannelDimension::kCol, &x, context);
  });
}

void BM_AddTo32(benchmark::State& state) {
  const auto a = Filled<std::uint8_t>(kLarge);
  const auto b = Filled<std::uint8_t>(kLarge);
  auto c = Filled<std::int32_t>(kLarge);
  RunLarge(state, kLarge * 6.0, [&](Context* context) {
    return QuantizedAdd8p8To32({a, {-1, 1}}, {b, {-2, 1}}, absl::MakeSpan(c),
                               context)
        .status();
  });
}

void BM_AddTo8(benchmark::State& state, double bytes,
               const Add8p8To8Options& options) {
  const auto a = Filled<std::uint8_t>(kLarge);
  const auto b = Filled<std::uint8_t>(kLarge);
  auto c = Filled<std::uint8_t>(kLarge);
  RunLarge(state, kLarge * bytes, [&](Context* context) {
    return QuantizedAdd8p8To8({a, {-1, 1}}, {b, {-2, 1}}, options,
                              absl::MakeSpan(c), context)
        .status();
  });
}

Add8p8To8Options Tight(std::optional<FloatRange> guess) {
  Add8p8To8Options options;
  options.range = AddRange::kTight;
  options.guess = guess;
  return options;
}

// The work of BM_AddTo8/TightTwoPasses in two calls: 15 bytes an element.
void BM_AddTo32ThenRequantize(benchmark::State& state) {
  const auto a = Filled<std::uint8_t>(kLarge);
  const auto b = Filled<std::uint8_t>(kLarge);
  auto wide = Filled<std::int32_t>(kLarge);
  auto c = Filled<std::uint8_t>(kLarge);
  RunLarge(state, kLarge * 15.0, [&](Context* context) -> absl::Status {
    const auto range = QuantizedAdd8p8To32({a, {-1, 1}}, {b, {-2, 1}},
                                           absl::MakeSpan(wide), context);
    if (!range.ok()) return range.status();
    return RequantizeToUsedRange(wide, range->max * 0x1p-31, absl::MakeSpan(c),
                                 context)
        .status();
  });
}

void BM_Requantize(benchmark::State& state) {
  const auto x = Filled<std::int32_t>(kLarge);
  auto q = Filled<std::int8_t>(kLarge);
  RunLarge(state, kLarge * 5.0, [&](Context* context) {
    return Requantize(absl::MakeConstSpan(x), 1e-4, ParamsOf<std::int8_t>(),
                      absl::MakeSpan(q), context);
  });
}

void BM_Observe(benchmark::State& state, bool in_range) {
  const auto x = Filled<float>(kLarge);
  Observer observer;
  if (in_range && !observer.SetRange(1.01f).ok()) return;
  RunLarge(state, kLarge * 4.0, [&](Context* context) {
    return observer.Observe(absl::MakeConstSpan(x), context);
  });
}

void BM_EntropyThreshold(benchmark::State& state) {
  std::vector<std::uint64_t> bins(Observer::kBins);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    bins[i] = 1000000000 / ((i + 1) * (i + 1)) + 1;
  }
  MagnitudeHistogram histogram;
  histogram.bins = bins;
  histogram.bin_width = 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        ChooseEntropyThreshold(histogram, static_cast<int>(state.range(0))));
  }
}

void OneAndAllThreads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("threads")->Arg(1);
  if (AllThreads() > 1) benchmark->Arg(AllThreads());
  benchmark->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.3);
}

BENCHMARK_TEMPLATE(BM_Quantize, std::int8_t)->Apply(OneAndAllThreads);
BENCHMARK_TEMPLATE(BM_Quantize, std::uint8_t)->Apply(OneAndAllThreads);
BENCHMARK_TEMPLATE(BM_Quantize, std::int16_t)->Apply(OneAndAllThreads);
BENCHMARK_TEMPLATE(BM_Quantize, std::int32_t)->Apply(OneAndAllThreads);
BENCHMARK_TEMPLATE(BM_Dequantize, std::int8_t)->Apply(OneAndAllThreads);
BENCHMARK_TEMPLATE(BM_Dequantize, std::uint8_t)->Apply(OneAndAllThreads);
BENCHMARK_TEMPLATE(BM_Dequantize, std::int16_t)->Apply(OneAndAllThreads);
BENCHMARK_TEMPLATE(BM_Dequantize, std::int32_t)->Apply(OneAndAllThreads);
BENCHMARK(BM_DequantizeAcc)->Apply(OneAndAllThreads);
BENCHMARK(BM_AddTo32)->Apply(OneAndAllThreads);
BENCHMARK_CAPTURE(BM_AddTo8, Exact, 3, {})->Apply(OneAndAllThreads);
BENCHMARK_CAPTURE(BM_AddTo8, TightGuessed, 3, Tight(FloatRange{-3, 2}))
    ->Apply(OneAndAllThreads);
BENCHMARK_CAPTURE(BM_AddTo8, TightTwoPasses, 5, Tight({}))
    ->Apply(OneAndAllThreads);
BENCHMARK(BM_AddTo32ThenRequantize)->Apply(OneAndAllThreads);
BENCHMARK(BM_Requantize)->Apply(OneAndAllThreads);
BENCHMARK_CAPTURE(BM_Observe, AnyRange, false)->Apply(OneAndAllThreads);
BENCHMARK_CAPTURE(BM_Observe, InRange, true)->Apply(OneAndAllThreads);
BENCHMARK(BM_QuantizeInCache);
BENCHMARK(BM_DequantizeInCache);
BENCHMARK(BM_ApplyTableInCache);
BENCHMARK(BM_EntropyThreshold)
    ->ArgName("levels")
    ->Arg(64)
    ->Arg(128)
    ->Arg(256)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  benchmark::AddCustomContext("processor", ruy_like::bench::CpuModel());
  benchmark::AddCustomContext("compiler", ruy_like::bench::CompilerName());
  benchmark::AddCustomContext(
      "paths",
      ruy_like::PathNames(ruy_like::Context().runtime_enabled_paths()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
