// Prints the machine's limits: multiply peaks and read bandwidth.
//
//   peak [--threads=1,2] [--json=peak.json]
//
// Multiply peaks are of what a kernel's inner step needs, on random data, fed
// from registers and from L1 (multiply_loops.h).
//
// The table says by wall and by CPU time; where they differ, which it marks,
// something else had the core. Other virtual processors that share a core halve
// both: compare several runs.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/buffer.h"
#include "bench/flag_lists.h"
#include "bench/machine.h"
#include "bench/probes.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(ruy_like::bench::ThreadCounts, threads, {{1}},
          "thread counts, separated by commas");
ABSL_FLAG(std::string, json, "", "file to write the figures to, too");
ABSL_FLAG(double, seconds_per_run, 0.01, "duration of one measurement");
ABSL_FLAG(int, runs, 7, "measurements, of which the median is taken");
ABSL_FLAG(std::int64_t, max_working_set_kib, 256 << 10,
          "largest working set whose read bandwidth is measured");

namespace ruy_like::bench {
namespace {

constexpr std::ptrdiff_t kKib = 1024;

// Less than this share of the CPU's speed by the wall: something else had the
// core, and the wall's figure says nothing about the machine.
constexpr double kUndisturbed = 0.9;

const char* Note(const Rate& rate) {
  return rate.by_wall < kUndisturbed * rate.by_cpu ? " (busy!)" : "";
}

const char* FeedName(Feed feed) {
  return feed == Feed::kRegisters ? "registers" : "L1";
}

std::string PathsOf(const PeakProbe& probe) {
  std::vector<std::string> uses;
  const auto add = [&](Path path, kernels::Family family, const char* types) {
    if (FindPeakProbe(path, family, probe.feed) != &probe) return;
    uses.push_back(absl::StrCat(PathName(path), ":", types));
  };
  for (const Path path : PathsBestFirst(CompiledPaths())) {
    add(path, kernels::Family::k8x8, "8x8");
    add(path, kernels::Family::k8x16, "8x16");
    add(path, kernels::Family::kF32, "f32");
  }
  return absl::StrJoin(uses, " ");
}

void MeasurePeaks(const std::vector<int>& thread_counts, double seconds,
                  int runs, ThreadPool* pool, std::vector<std::string>* json) {
  std::cout << absl::StreamFormat("%-20s %-9s %7s %12s %12s  %s\n",
                                  "inner step", "fed from", "threads",
                                  "GOP/s wall", "GOP/s cpu", "used by");
  for (const PeakProbe* probe : RunnablePeakProbes()) {
    const std::string used_by = PathsOf(*probe);
    for (const int threads : thread_counts) {
      const Rate rate = MeasurePeak(*probe, threads, pool, seconds, runs);
      // CPU time is per thread: the product is what they do together.
      std::cout << absl::StreamFormat("%-20s %-9s %7d %12.1f %12.1f  %s%s\n",
                                      probe->name, FeedName(probe->feed),
                                      threads, rate.by_wall / 1e9,
                                      rate.by_cpu / 1e9, used_by, Note(rate));
      json->push_back(
          absl::StrFormat("{\"name\": \"%s\", \"fed_from\": \"%s\", "
                          "\"threads\": %d, \"gops\": %.3f, "
                          "\"gops_by_cpu_time\": %.3f, \"used_by\": \"%s\"}",
                          probe->name, FeedName(probe->feed), threads,
                          rate.by_wall / 1e9, rate.by_cpu / 1e9, used_by));
    }
  }
}

void MeasureBandwidths(const std::vector<int>& thread_counts, double seconds,
                       int runs, std::ptrdiff_t max_bytes, ThreadPool* pool,
                       std::vector<std::string>* json) {
  const Path best = BestPath(DetectedPaths(~Path::kAmx));
  const int load_bytes = WidestLoadBytes(best);
  std::cout << absl::StreamFormat(
      "\nRead bandwidth, %d-byte loads\n%-14s %7s %12s %12s  %s\n", load_bytes,
      "working set", "threads", "GB/s wall", "GB/s cpu", "streams");
  Buffer data(max_bytes);
  std::memset(data.data(), 1, max_bytes);
  for (std::ptrdiff_t bytes = 16 * kKib; bytes <= max_bytes; bytes *= 2) {
    for (const int threads : thread_counts) {
      int streams = 1;
      const Rate rate =
          MeasureBestReadBandwidth(load_bytes, data.data(), bytes, threads,
                                   pool, seconds, runs, &streams);
      std::cout << absl::StreamFormat("%10d KiB %7d %12.1f %12.1f  %d%s\n",
                                      bytes / kKib, threads, rate.by_wall / 1e9,
                                      rate.by_cpu / 1e9, streams, Note(rate));
      json->push_back(absl::StrFormat(
          "{\"working_set_bytes\": %d, \"threads\": %d, \"load_bytes\": %d, "
          "\"streams\": %d, \"gbps\": %.3f, \"gbps_by_cpu_time\": %.3f}",
          bytes, threads, load_bytes, streams, rate.by_wall / 1e9,
          rate.by_cpu / 1e9));
    }
  }
}

int Main() {
  const std::vector<int> thread_counts = absl::GetFlag(FLAGS_threads).values;
  const double seconds = absl::GetFlag(FLAGS_seconds_per_run);
  const int runs = absl::GetFlag(FLAGS_runs);
  const std::ptrdiff_t max_bytes =
      absl::GetFlag(FLAGS_max_working_set_kib) * kKib;
  if (!(seconds > 0) || runs < 1 || max_bytes < 16 * kKib) {
    std::cerr << "--seconds_per_run must be above 0, --runs at least 1, "
                 "--max_working_set_kib at least 16\n";
    return 2;
  }
  std::cout << CpuModel() << ", " << CompilerName() << "\n";
  ThreadPool pool;
  std::vector<std::string> peaks, bandwidths;
  MeasurePeaks(thread_counts, seconds, runs, &pool, &peaks);
  MeasureBandwidths(thread_counts, seconds, runs, max_bytes, &pool,
                    &bandwidths);
  const std::string json_file = absl::GetFlag(FLAGS_json);
  if (json_file.empty()) return 0;
  std::ofstream json(json_file);
  json << "{\"cpu\": \"" << CpuModel() << "\",\n \"compiler\": \""
       << CompilerName() << "\",\n \"peaks\": [\n  "
       << absl::StrJoin(peaks, ",\n  ") << "],\n \"read_bandwidth\": [\n  "
       << absl::StrJoin(bandwidths, ",\n  ") << "]}\n";
  json.close();
  if (json) return 0;
  std::cerr << "can not write " << json_file << "\n";
  return 1;
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures multiply peaks and read bandwidth of this machine.");
  absl::ParseCommandLine(argc, argv);
  return ruy_like::bench::Main();
}
