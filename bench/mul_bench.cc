// Mul on named lists of shapes: types x paths x thread counts x lhs cached or
// not.
//
//   mul_bench --shapes=cubes,bert_base --types=s8,f32 --paths=avx2
//   --threads=1,2
//       --cached=both, and Google Benchmark's own flags (--benchmark_...)
//
// A benchmark is named types/path/<n>threads/cached|fresh/<list>/<shape>; its
// label is the kernel that ran. Counters:
//
//   threads     how many of them were used
//   GOP/s       2 * rows * depth * cols by the median time of a call: the CPU
//               time of a single thread, the wall time of several
//   GB/s        bytes of lhs, rhs and dst by that time
//   peak_GOP/s  what the path's inner step did meanwhile, on as many threads
//   and
//               random data: the multiply instruction and, for VPMADDWD, the
//               addition (multiply_loops.h); fed from registers, or with
//               --peak=l1 from L1
//   share       GOP/s as a part of that peak; above 1.1 the probe was
//               disturbed, and the label says so
//   read_GB/s   for at most 16 columns or rows: how fast the larger operand is
//               read, right before or after
//   read_share  GB/s as a part of that
//
// Fields that were not measured are 0.
//
// The machine may be disturbed for a moment or for long (on virtual machines
// somebody else's load on the same core halves everything). Hence medians; and
// the peak is probed every few milliseconds in between the calls, so that a
// share is a median of ratios within the same few milliseconds.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/flag_lists.h"
#include "bench/machine.h"
#include "bench/probes.h"
#include "bench/problem.h"
#include "bench/shapes.h"
#include "bench/stopwatch.h"
#include "benchmark/benchmark.h"
#include "ruy_like/registry/registry.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(
    std::vector<std::string>, shapes, {"design8"},
    "lists of shapes, separated by commas: names of files in --shapes_dir");
ABSL_FLAG(std::string, shapes_dir, RUY_LIKE_BENCH_SHAPES_DIR,
          "where the lists are");
ABSL_FLAG(std::vector<std::string>, types,
          std::vector<std::string>({"s8", "f32"}),
          "s8, s8u8, u8, s8s16, f32, f32any (sums in any order), f32plain (no "
          "bias and clamp), bf16, f16, bf16f32 and f16f32 (float activations), "
          "separated by commas");
ABSL_FLAG(std::vector<std::string>, paths, {},
          "paths, by name, separated by commas; by default all that this "
          "machine has and that have a kernel of their own for the types");
ABSL_FLAG(ruy_like::bench::ThreadCounts, threads, {{1}},
          "thread counts, separated by commas");
ABSL_FLAG(
    std::string, peak, "registers",
    "what shares are of: the peak of the inner step fed from registers or "
    "from l1");
ABSL_FLAG(std::string, cached, "both",
          "yes: the packed lhs is kept between calls; no; both");

namespace ruy_like::bench {
namespace {

// One benchmark.
struct Case {
  const Types* types;
  Path path;
  int threads;
  bool cached;
  Shape shape;
  Feed feed;  // of the peak
};

// The state of a case that outlives one call by Google Benchmark, which calls
// it several times to find the number of iterations.
struct Setup {
  Case which;
  Problem problem;
  Context context;
  std::ptrdiff_t batch;  // calls of Mul that take long enough to be timed

  explicit Setup(const Case& c)
      : which(c),
        problem(*c.types, c.shape, c.cached ? Cached::kLhs : Cached::kNone),
        batch(1) {}
};

// Long enough for the CPU clock, whose reading is a system call of some 0.2 us.
constexpr double kBatchSeconds = 50e-6;
// The peak is probed for kProbeSeconds after so much time.
constexpr double kProbeEverySeconds = 2e-3;
constexpr double kProbeSeconds = 100e-6;
constexpr double kReadProbeSeconds = 2e-3;
// The most that a changing clock explains; a share above it is marked.
constexpr double kMostShare = 1.1;
// Up to so many columns or rows a product is bound by reading.
constexpr std::ptrdiff_t kNarrow = 16;

double TimeOf(const Seconds& seconds, int threads) {
  return threads == 1 ? seconds.cpu : seconds.wall;
}
double RateOf(const Rate& rate, int threads) {
  return threads == 1 ? rate.by_cpu : rate.by_wall;
}

// Runs Mul `setup->batch` times.
absl::Status TimeBatch(Setup* setup, Seconds* seconds) {
  absl::Status status;
  const Stopwatch stopwatch;
  for (std::ptrdiff_t i = 0; i < setup->batch; ++i) {
    status = setup->problem.Mul(&setup->context);
  }
  *seconds = stopwatch.Elapsed();
  return status;
}

absl::Status Prepare(Setup* setup) {
  setup->context.set_runtime_enabled_paths(setup->which.path);
  setup->context.set_max_num_threads(setup->which.threads);
  Seconds seconds;
  const absl::Status status = TimeBatch(setup, &seconds);  // packs, maybe
  if (!status.ok()) return status;
  for (;;) {
    (void)TimeBatch(setup, &seconds);
    if (seconds.wall >= kBatchSeconds) return absl::OkStatus();
    setup->batch *= 2;
  }
}

// The larger operand, read over and over where it lies.
double ProbeRead(Setup* setup) {
  const Problem& problem = setup->problem;
  const Shape& shape = problem.shape;
  const bool use_lhs = shape.rows >= shape.cols;
  const Buffer& operand = use_lhs ? problem.lhs : problem.rhs;
  const std::ptrdiff_t bytes =
      use_lhs ? BytesOf(problem.types->lhs, shape.depth * shape.rows)
              : BytesOf(problem.types->rhs, shape.depth * shape.cols);
  const int threads = setup->which.threads;
  const Rate rate = MeasureBestReadBandwidth(
      WidestLoadBytes(setup->which.path), operand.data(), bytes, threads,
      setup->context.mutable_thread_pool(), kReadProbeSeconds, 3, nullptr);
  return RateOf(rate, threads);
}

// Measurements of a run, per call of Mul.
struct Samples {
  std::vector<double> time;   // CPU time for one thread, else wall
  std::vector<double> peak;   // operations per second
  std::vector<double> share;  // of the peak
};

void SetCounters(const Setup& setup, const Samples& samples, double read_rate,
                 benchmark::State* state) {
  const Problem& problem = setup.problem;
  const double seconds = Median(samples.time);
  auto& counters = state->counters;
  counters["threads"] = setup.context.last_used_num_threads();
  counters["GOP/s"] = ShapeOps(problem.shape) / seconds / 1e9;
  counters["GB/s"] = problem.Bytes() / seconds / 1e9;
  // Each row has the same counters: --benchmark_format=csv ends the program
  // otherwise.
  const bool probed = !samples.share.empty();
  counters["peak_GOP/s"] = probed ? Median(samples.peak) / 1e9 : 0;
  counters["share"] = probed ? Median(samples.share) : 0;
  counters["read_GB/s"] = read_rate / 1e9;
  counters["read_share"] =
      read_rate > 0 ? problem.Bytes() / seconds / read_rate : 0;
}

void Run(Setup* setup, benchmark::State* state) {
  const Case& which = setup->which;
  // VDPBF16PS, by which two bfloat16 operands may be multiplied, has no probe.
  const PeakProbe* probe =
      which.types->lhs == Scalar::kBF16 && which.types->rhs == Scalar::kBF16
          ? nullptr
          : FindPeakProbe(which.path, which.types->family, which.feed);
  ThreadPool* pool = setup->context.mutable_thread_pool();
  const double ops = ShapeOps(which.shape);
  const bool narrow =
      which.shape.cols <= kNarrow || which.shape.rows <= kNarrow;
  double read_rate = narrow ? ProbeRead(setup) : 0;
  Seconds seconds;
  // Brings caches and workers back to where they were.
  if (narrow) (void)TimeBatch(setup, &seconds);
  Samples samples;
  std::size_t shared = 0;  // samples that have their share already
  double since_probe = 0, last_peak = 0;
  const auto probe_peak = [&] {
    if (probe == nullptr) return;
    const double peak =
        RateOf(MeasurePeak(*probe, which.threads, pool, kProbeSeconds, 1),
               which.threads);
    samples.peak.push_back(peak);
    for (; shared < samples.time.size(); ++shared) {
      // The better of the peaks before and after: one of them may have been
      // disturbed where the calls were not.
      samples.share.push_back(ops / samples.time[shared] /
                              std::max(peak, last_peak));
    }
    last_peak = peak;
    since_probe = 0;
  };
  probe_peak();
  while (state->KeepRunningBatch(setup->batch)) {
    (void)TimeBatch(setup, &seconds);
    state->SetIterationTime(seconds.wall);
    samples.time.push_back(TimeOf(seconds, which.threads) /
                           static_cast<double>(setup->batch));
    since_probe += seconds.wall;
    if (since_probe >= kProbeEverySeconds) probe_peak();
  }
  probe_peak();
  if (narrow) read_rate = std::max(read_rate, ProbeRead(setup));
  SetCounters(*setup, samples, read_rate, state);
  std::string label = setup->context.last_used_kernel();
  const double share = state->counters["share"];
  if (share > kMostShare) {
    absl::StrAppendFormat(&label, " DISTURBED: a share of %.1f", share);
  }
  state->SetLabel(label);
}

void Register(const Case& c, const std::string& name) {
  // One setup at a time is kept: operands can be large.
  static std::pair<std::string, std::unique_ptr<Setup>> current;
  benchmark::RegisterBenchmark(name.c_str(), [c,
                                              name](benchmark::State& state) {
    if (current.first != name) {
      current.second.reset();
      current.second = std::make_unique<Setup>(c);
      current.first = name;
      const absl::Status status = Prepare(current.second.get());
      if (!status.ok()) {
        current.first.clear();
        state.SkipWithError(status.ToString().c_str());
        return;
      }
    }
    Run(current.second.get(), &state);
  })->UseManualTime();
}

// False if the path runs a lower path's kernel: then it needs no benchmark of
// its own.
bool HasOwnKernel(Path path, const Types& types) {
  const kernels::KernelTable table = KernelsOf(path);
  return std::any_of(
      table.kernels, table.kernels + table.count,
      [&types](const kernels::Kernel& k) {
        return k.family == types.family &&
               (!Is16BitFloat(k.rhs.scalar) || k.rhs.scalar == types.rhs);
      });
}

// ## Flags

struct Selection {
  std::vector<const Types*> types;
  std::vector<Path> paths;
  bool all_paths;
  std::vector<int> threads;
  std::vector<bool> cached;
  std::vector<std::string> shapes;
  Feed feed;
};

absl::Status ReadSelection(Selection* selection) {
  for (const std::string& name : absl::GetFlag(FLAGS_types)) {
    selection->types.push_back(FindTypes(name));
    if (selection->types.back() == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("--types: no ", name));
    }
  }
  const Path available = DetectedPaths();
  selection->all_paths = absl::GetFlag(FLAGS_paths).empty();
  for (const std::string& name : absl::GetFlag(FLAGS_paths)) {
    const absl::StatusOr<Path> path = ParsePaths(name);
    if (!path.ok()) return path.status();
    selection->paths.push_back(BestPath(*path));
    if ((selection->paths.back() & available) == Path::kNone) {
      return absl::InvalidArgumentError(
          absl::StrCat("--paths: ", name, " is not available here, only ",
                       PathNames(available)));
    }
  }
  if (selection->all_paths) selection->paths = PathsBestFirst(available);
  selection->threads = absl::GetFlag(FLAGS_threads).values;
  const std::string peak = absl::GetFlag(FLAGS_peak);
  if (peak != "registers" && peak != "l1") {
    return absl::InvalidArgumentError("--peak: registers or l1");
  }
  selection->feed = peak == "l1" ? Feed::kL1 : Feed::kRegisters;
  const std::string cached = absl::GetFlag(FLAGS_cached);
  if (cached != "yes" && cached != "no" && cached != "both") {
    return absl::InvalidArgumentError("--cached: yes, no or both");
  }
  if (cached != "no") selection->cached.push_back(true);
  if (cached != "yes") selection->cached.push_back(false);
  selection->shapes = absl::GetFlag(FLAGS_shapes);
  return absl::OkStatus();
}

void RegisterSelected(const Selection& selection, const std::string& list,
                      const std::vector<Shape>& shapes) {
  for (const Types* types : selection.types) {
    for (const Path path : selection.paths) {
      if (selection.all_paths && !HasOwnKernel(path, *types)) continue;
      for (const int threads : selection.threads) {
        for (const bool cached : selection.cached) {
          for (const Shape& shape : shapes) {
            Register(
                {types, path, threads, cached, shape, selection.feed},
                absl::StrCat(types->name, "/", PathName(path), "/", threads,
                             "threads/", cached ? "cached" : "fresh", "/", list,
                             "/", ShapeName(shape)));
          }
        }
      }
    }
  }
}

int Main() {
  Selection selection;
  absl::Status status = ReadSelection(&selection);
  for (const std::string& list : selection.shapes) {
    if (!status.ok()) break;
    const absl::StatusOr<std::vector<Shape>> shapes =
        ReadShapes(absl::GetFlag(FLAGS_shapes_dir), list);
    status = shapes.status();
    if (status.ok()) RegisterSelected(selection, list, *shapes);
  }
  if (!status.ok()) {
    std::cerr << status.message() << "\n";
    return 2;
  }
  benchmark::AddCustomContext("cpu_model", CpuModel());
  benchmark::AddCustomContext("compiler", CompilerName());
  benchmark::AddCustomContext("peak_fed_from", absl::GetFlag(FLAGS_peak));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures Mul. Beside the flags below it takes Google Benchmark's: "
      "--benchmark_filter=REGEX, --benchmark_min_time=SECONDS, "
      "--benchmark_out=FILE.json, --benchmark_repetitions=N ...");
  // Takes its own flags out; --help, which it would answer itself, is hidden
  // from it.
  std::vector<char*> args, help;
  for (char** arg = argv; arg != argv + argc; ++arg) {
    (std::string(*arg).compare(0, 6, "--help") == 0 ? help : args)
        .push_back(*arg);
  }
  int count = static_cast<int>(args.size());
  benchmark::Initialize(&count, args.data());
  args.resize(count);
  args.insert(args.end(), help.begin(), help.end());
  absl::ParseCommandLine(static_cast<int>(args.size()), args.data());
  return ruy_like::bench::Main();
}
