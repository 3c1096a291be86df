// experts_bench: MulExperts next to one product with as many weights, columns
// and multiply-adds, and next to reading the weights.
//
//   experts_bench [--experts=256] [--rows=2048] [--depth=1024] [--top=8]
//   [--tokens=1,8,128,1024] [--path=avx2]
//
// Weights of 4 bits in groups of 32, packed ahead; float activations. A token
// has other experts in each call, so that few tokens read weights from memory.
// `stored`: results side by side; `summed`: for each token, times factors.
// `product`: one Mul of the experts' weights, one below the other, by as many
// columns as an expert has on average; it is left out where that is less than
// one. The ways take turns, and the median is printed: ms, GOP/s, and the
// bytes of the weights that are read by what a loop that adds them up reads in
// that time. One thread by CPU time, two by wall time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bench/buffer.h"
#include "bench/probes.h"
#include "bench/stopwatch.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(int, experts, 256, "experts");
ABSL_FLAG(int, rows, 2048, "rows of their weights");
ABSL_FLAG(int, depth, 1024, "columns of their weights");
ABSL_FLAG(int, top, 8, "experts of a token");
ABSL_FLAG(std::vector<std::string>, tokens,
          std::vector<std::string>({"1", "8", "128", "1024"}),
          "tokens of a call");
ABSL_FLAG(int, rounds, 15, "rounds");
ABSL_FLAG(std::string, path, "", "the path to take; the best one if empty");

namespace ruy_like::bench {
namespace {

constexpr int kGroup = 32;

void CheckOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

struct Weights {
  std::ptrdiff_t rows, depth;
  std::vector<std::uint8_t> levels;
  std::vector<Float16> scales;
  PackedGroupWeights Packed(std::ptrdiff_t first, std::ptrdiff_t count,
                            Context* context) const {
    GroupWeights weights;
    weights.rows = count;
    weights.depth = depth;
    weights.group_size = kGroup;
    weights.levels = levels.data() + first * depth / 2;
    weights.set_scales(scales.data() + first * depth / kGroup);
    auto packed = PackGroupWeights(weights, context);
    CheckOk(packed.status());
    return *packed;
  }
};

// Tokens' experts in one call.
struct Routing {
  std::vector<std::int32_t> counts, tokens;
  std::vector<float> factors;
  Routing(int experts, int token_count, int top, std::mt19937* random) {
    std::vector<std::vector<std::int32_t>> of_expert(experts);
    std::vector<int> all(experts);
    std::iota(all.begin(), all.end(), 0);
    for (int token = 0; token < token_count; ++token) {
      std::shuffle(all.begin(), all.end(), *random);
      for (int i = 0; i < top; ++i) of_expert[all[i]].push_back(token);
    }
    for (const auto& of : of_expert) {
      counts.push_back(static_cast<std::int32_t>(of.size()));
      tokens.insert(tokens.end(), of.begin(), of.end());
    }
    factors.assign(tokens.size(), 0.125f);
  }
};

void Run(const Weights& weights, const std::vector<PackedGroupWeights>& experts,
         const PackedGroupWeights& all, int tokens, int threads, Path paths) {
  const int top = absl::GetFlag(FLAGS_top);
  const int count = static_cast<int>(experts.size());
  const std::ptrdiff_t rows = weights.rows / count;
  Context context;
  context.set_runtime_enabled_paths(paths);
  context.set_max_num_threads(threads);
  std::mt19937 random(1);
  std::vector<Routing> routings;
  for (int i = 0; i < 40; ++i)
    routings.emplace_back(count, tokens, top, &random);
  const auto values = RandomVector<float>(weights.depth * tokens, -9, 9);
  std::vector<float> result(rows * tokens * top);
  const GroupMulParams params;
  const auto activations = ColMajor(values, weights.depth, tokens);
  std::size_t next = 0;
  const auto run = [&](bool sums) {
    const Routing& drawn = routings[next++ % routings.size()];
    ExpertRouting routing;
    routing.counts = drawn.counts;
    routing.sources = drawn.tokens;
    if (sums) {
      routing.targets = drawn.tokens;
      routing.factors = drawn.factors;
    }
    auto dst = ColMajor(result.data(), rows, sums ? tokens : tokens * top);
    CheckOk(MulExperts(experts, activations, routing, params, &context, &dst));
  };
  std::vector<Way> ways = {[&] { run(false); }, [&] { run(true); }};
  const std::ptrdiff_t columns = tokens * top / count;
  std::vector<float> of_all(weights.rows *
                            std::max<std::ptrdiff_t>(columns, 1));
  if (columns > 0) {
    ways.push_back([&] {
      auto dst = ColMajor(of_all.data(), weights.rows, columns);
      CheckOk(Mul(all, ColMajor(values.data(), weights.depth, columns), params,
                  &context, &dst));
    });
  }
  std::vector<double> ms;
  for (const std::vector<double>& seconds :
       TakeTurns(ways, absl::GetFlag(FLAGS_rounds), 0.03, threads > 1)) {
    ms.push_back(1e3 * Median(seconds));
  }
  std::ptrdiff_t read = 0;  // experts of the last routing
  for (const std::int32_t pairs : routings.back().counts) read += pairs != 0;
  const double bytes = static_cast<double>(read) *
                       static_cast<double>(all.Serialize().size()) / count;
  ThreadPool pool;
  const double bandwidth =
      MeasureBestReadBandwidth(
          WidestLoadBytes(context.last_used_path()), all.Serialize().data(),
          static_cast<std::ptrdiff_t>(all.Serialize().size()) / threads / 4096 *
              4096,
          threads, &pool, 0.05, 5, nullptr)
          .by_wall;
  const double ops = 2.0 * static_cast<double>(rows * weights.depth) *
                     static_cast<double>(tokens * top);
  const char* const names[] = {"stored", "summed", "product"};
  for (std::size_t i = 0; i < ms.size(); ++i) {
    std::printf("%6d %7d %-8s %9.3f %8.1f %10.2f\n", tokens, threads, names[i],
                ms[i], ops / ms[i] / 1e6, bytes / bandwidth * 1e3 / ms[i]);
  }
}

void RunAll() {
  Path paths = kAllPaths;
  if (const std::string name = absl::GetFlag(FLAGS_path); !name.empty()) {
    auto parsed = ParsePaths(name);
    CheckOk(parsed.status());
    paths = *parsed;
  }
  const std::ptrdiff_t rows = absl::GetFlag(FLAGS_rows);
  const int count = absl::GetFlag(FLAGS_experts);
  Weights weights = {rows * count, absl::GetFlag(FLAGS_depth), {}, {}};
  weights.levels =
      RandomVector<std::uint8_t>(weights.rows * weights.depth / 2, 0, 255);
  weights.scales.assign(weights.rows * weights.depth / kGroup,
                        static_cast<Float16>(0.01f));
  Context context;
  std::vector<PackedGroupWeights> experts;
  for (int i = 0; i < count; ++i) {
    experts.push_back(weights.Packed(i * rows, rows, &context));
  }
  const PackedGroupWeights all = weights.Packed(0, weights.rows, &context);
  std::printf("tokens threads way             ms    GOP/s   of reading\n");
  for (const std::string& tokens : absl::GetFlag(FLAGS_tokens)) {
    for (const int threads : {1, 2}) {
      Run(weights, experts, all, std::atoi(tokens.c_str()), threads, paths);
    }
  }
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  ruy_like::bench::RunAll();
}
