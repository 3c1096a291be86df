// Our Mul beside other libraries, alternating in one process.
//
//   compare --shapes=design8 --types=s8,f32 --threads=1 --isa=avx512vnni
//       --json=compare.json
//
// For each product every library has its turn in every round, a few
// milliseconds long, the first call of which does not count. A ratio is the
// median over the rounds of (peer's time / our time) within a round: above 1 we
// are faster. What disturbs the machine for longer than a round does not show
// in it. Time is CPU time for one thread, else wall time.
//
// A shape such as 12:128x64x128 is a batch, ours by MulBatch; single calls of
// Mul for it are a peer named "calls".
//
// --isa holds all libraries to one instruction set, each by the switch that it
// has. Such switches are read when a library is loaded, hence this program sets
// them and starts itself again.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/machine.h"
#include "bench/peers/peer.h"
#include "bench/problem.h"
#include "bench/shapes.h"
#include "bench/stopwatch.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/ruy_like.h"

ABSL_FLAG(
    std::vector<std::string>, shapes, {"design8"},
    "names of files in --shapes_dir, or shapes such as 512x512x512 and, as a "
    "batch, 12:128x64x128, separated by commas");
ABSL_FLAG(std::string, shapes_dir, RUY_LIKE_BENCH_SHAPES_DIR,
          "where the lists are");
ABSL_FLAG(std::vector<std::string>, types,
          std::vector<std::string>({"s8", "f32"}),
          "s8, s8u8, u8, f32, f32any (sums in any order), f32plain (no bias "
          "and clamp, as BLAS libraries have it), bf16, bf16f32, f16f32 "
          "(weights and activations), s4g32, s4g128, s8g32, s2g64, s2g256, "
          "iq4nl, mxfp4, nvfp4 (weights in groups, float activations), "
          "separated by commas");
ABSL_FLAG(std::string, cached, "both",
          "lhs or yes: the lhs, the weights, is packed beforehand where a "
          "library can; rhs: that one, by us alone; no; both: lhs and no. "
          "Nothing of a batch is");
ABSL_FLAG(std::vector<std::string>, orders, {"rcc"},
          "memory orders of lhs, rhs and dst: r (row-major) or c "
          "(column-major) for each, several separated by commas");
ABSL_FLAG(int, threads, 1, "threads of each library");
ABSL_FLAG(std::string, isa, "",
          "avx2, avxvnni, avx512, avx512vnni, avx512bf16 or amx, for all "
          "libraries; by default each takes what it likes best");
ABSL_FLAG(std::vector<std::string>, peers, {},
          "some of the libraries; by default all");
ABSL_FLAG(std::string, ggml_dir, "",
          "where the shared libraries of ggml are; without, it is left out");
ABSL_FLAG(int, rounds, 11, "how often each library has its turn");
ABSL_FLAG(double, turn_seconds, 2e-3, "how long a turn is, about");
ABSL_FLAG(std::string, json, "", "file to write the results to, too");
ABSL_FLAG(bool, check, false,
          "compare our results with ReferenceMul's, which is slow, and fail if "
          "one differs");
ABSL_FLAG(bool, environment_is_set, false,
          "set by this program itself when it starts itself again");

namespace ruy_like::bench {
namespace {

// ## Instruction sets

struct Isa {
  const char* name;  // of the path
  const char* onednn;
  const char* openblas;
  const char* blis;  // a number: version 0.9 knows no names
};
constexpr Isa kIsas[] = {
    {"avx2", "AVX2", "Haswell", "3"},
    {"avxvnni", "AVX2_VNNI", "Haswell", "3"},
    {"avx512", "AVX512_CORE", "SkylakeX", "0"},
    {"avx512vnni", "AVX512_CORE_VNNI", "SkylakeX", "0"},
    {"avx512bf16", "AVX512_CORE_BF16", "SkylakeX", "0"},
    {"amx", "AVX512_CORE_AMX", "SkylakeX", "0"},
};

// Returns only if it fails.
absl::Status RestartWithEnvironment(int argc, char** argv) {
  const std::string threads = absl::StrCat(absl::GetFlag(FLAGS_threads));
  std::map<std::string, std::string> environment = {
      {"OMP_NUM_THREADS", threads},
      {"OPENBLAS_NUM_THREADS", threads},
      {"BLIS_NUM_THREADS", threads},
      // Idle workers of OpenBLAS spin for 2^26 cycles, in other libraries'
      // turns too; 2^20 is still longer than the pause between its own calls.
      {"OPENBLAS_THREAD_TIMEOUT", "20"},
      // Those of GCC's OpenMP, in oneDNN, spin 300,000 times: for milliseconds.
      {"GOMP_SPINCOUNT", "20000"},
      {"RUY_LIKE_BENCH_GGML_DIR", absl::GetFlag(FLAGS_ggml_dir)},
  };
  const std::string asked_for = absl::GetFlag(FLAGS_isa);
  const std::string name =
      asked_for.empty() ? PathName(BestPath(DetectedPaths())) : asked_for;
  const auto isa = std::find_if(std::begin(kIsas), std::end(kIsas),
                                [&](const Isa& i) { return name == i.name; });
  if (isa != std::end(kIsas)) {
    // Without --isa too: these two fall back to old instructions on processors
    // that they do not know by name.
    environment["OPENBLAS_CORETYPE"] = isa->openblas;
    environment["BLIS_ARCH_TYPE"] = isa->blis;
  } else if (!asked_for.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--isa: no ", name));
  }
  if (!asked_for.empty()) {
    environment["RUY_LIKE_PATHS"] = isa->name;
    environment["ONEDNN_MAX_CPU_ISA"] = isa->onednn;
  }
  for (const auto& variable : environment) {
    setenv(variable.first.c_str(), variable.second.c_str(), 1);
  }
  std::vector<char*> args(argv, argv + argc);
  std::string flag = "--environment_is_set";
  args.insert(args.begin() + 1, &flag[0]);
  args.push_back(nullptr);
  execv("/proc/self/exe", args.data());
  return absl::InternalError("can not start /proc/self/exe again");
}

// ## Peers

// Those that were built, <peer>.so or <peer>.<path>.so, each for the best path
// that may be used.
std::vector<const Peer*> LoadPeers(const std::vector<std::string>& wanted) {
  namespace fs = std::filesystem;
  // A path that RUY_LIKE_PATHS excludes but that is below the best one is good
  // for a peer: the processor has it.
  const Path best_path = BestPath(DetectedPaths());
  const Path machine = PathsWithFeatures(DetectCpuFeatures());
  std::map<std::string, std::pair<Path, fs::path>> best;
  const fs::path program = fs::read_symlink("/proc/self/exe");
  std::error_code no_directory;
  for (const auto& entry : fs::directory_iterator(
           program.parent_path() / "compare_peers", no_directory)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".so") continue;
    Path path = Path::kPortable;
    if (file.stem().has_extension()) {
      const absl::StatusOr<Path> paths =
          ParsePaths(file.stem().extension().string().substr(1));
      if (!paths.ok()) continue;
      path = BestPath(*paths);
    }
    if ((path & machine) == Path::kNone || path > best_path) continue;
    auto& choice = best[file.stem().stem().string()];
    if (path >= choice.first) choice = {path, file};
  }
  std::vector<const Peer*> peers;
  for (const auto& choice : best) {
    if (!wanted.empty() &&
        std::find(wanted.begin(), wanted.end(), choice.first) == wanted.end()) {
      continue;
    }
    void* handle = dlopen(choice.second.second.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* symbol =
        handle == nullptr ? nullptr : dlsym(handle, "RuyLikeBenchPeer");
    if (symbol == nullptr) {
      std::cerr << dlerror() << "\n";
      continue;
    }
    const Peer* const peer =
        reinterpret_cast<decltype(&RuyLikeBenchPeer)>(symbol)();
    if (peer->describe() != nullptr) peers.push_back(peer);
  }
  return peers;
}

// ## Measuring

// The baseline of our batches: our Mul for each of the products.
const Peer kCalls = {"calls",
                     /*describe=*/nullptr,
                     /*adds_float_bias=*/true,
                     /*prepare=*/nullptr,
                     /*integer_tolerance=*/0,
                     /*has_batches=*/true};

// A library in one comparison with ours.
struct Contestant {
  const Peer* peer;
  std::unique_ptr<PeerRunner> runner;  // null for kCalls
  std::unique_ptr<Buffer> dst;
};

// How far a peer's dst is from ours: integers by the peer's tolerance (other
// roundings, saturation for our clamp), floats by their rounding errors.
bool Agrees(const Peer& peer, const Problem& problem, const void* theirs) {
  const std::ptrdiff_t rows = problem.shape.rows;
  const std::ptrdiff_t cols = problem.shape.cols;
  const std::ptrdiff_t count = problem.shape.count * rows * cols;
  const bool by_rows = problem.orders.dst == Order::kRowMajor;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    double difference, tolerance = peer.integer_tolerance;
    if (problem.types->dst == Scalar::kF32) {
      const float bias =
          peer.adds_float_bias || problem.bias_f32.empty()
              ? 0
              : problem.bias_f32[by_rows ? i / cols % rows : i % rows];
      difference = static_cast<const float*>(problem.dst.data())[i] - bias -
                   static_cast<const float*>(theirs)[i];
      tolerance = 1e-6 * (static_cast<double>(problem.shape.depth) + 16);
      // Libraries round activations in their own way: to 8 bits, or as the
      // weights.
      if (problem.types->level_bits > 0 || Is16BitFloat(problem.types->lhs)) {
        tolerance = 0.01 * std::sqrt(problem.shape.depth + 16.0);
      }
    } else if (problem.types->dst == Scalar::kU8) {
      difference = static_cast<const std::uint8_t*>(problem.dst.data())[i] -
                   static_cast<const std::uint8_t*>(theirs)[i];
    } else {
      difference = static_cast<const std::int8_t*>(problem.dst.data())[i] -
                   static_cast<const std::int8_t*>(theirs)[i];
    }
    if (!(std::abs(difference) <= tolerance)) return false;
  }
  return true;
}

PeerProblem Describe(const Problem& problem, PeerTypes types, int threads,
                     void* dst) {
  PeerProblem p;
  p.types = types;
  p.rows = problem.shape.rows;
  p.depth = problem.shape.depth;
  p.cols = problem.shape.cols;
  p.count = problem.shape.count;
  p.lhs_row_major = problem.orders.lhs == Order::kRowMajor;
  p.rhs_row_major = problem.orders.rhs == Order::kRowMajor;
  p.dst_row_major = problem.orders.dst == Order::kRowMajor;
  p.lhs = problem.lhs.data();
  p.rhs = problem.rhs.data();
  p.dst = dst;
  p.lhs_zero_point = problem.types->lhs_zero_point;
  p.rhs_zero_point = problem.types->rhs_zero_point;
  p.dst_zero_point = problem.types->dst_zero_point;
  p.bias = problem.bias.data();
  p.fixedpoint = problem.fixedpoint.data();
  p.exponent = problem.exponent.data();
  p.bias_f32 = problem.bias_f32.empty() ? nullptr : problem.bias_f32.data();
  p.prepack = problem.cached == Cached::kLhs;
  p.threads = threads;
  return p;
}

// ## Results

struct Result {
  std::string list, types, orders, shape, kernel;
  Cached cached;
  double our_gops;
  bool is_right = true;
  struct Beside {
    std::string peer;
    double gops, ratio;
    bool agrees;
  };
  std::vector<Beside> beside;
};

struct Options {
  std::vector<std::pair<const Types*, PeerTypes>> types;
  std::vector<Cached> cached;
  std::vector<std::pair<std::string, Orders>> orders;
  int threads;
};

absl::StatusOr<Result> Compare(const Options& options, const Types& types,
                               PeerTypes peer_types, const Orders& orders,
                               Cached cached, const Shape& shape,
                               const std::vector<const Peer*>& peers) {
  const Problem problem(types, shape, cached, orders);
  Context context, calls_context;
  context.set_max_num_threads(options.threads);
  calls_context.set_max_num_threads(options.threads);
  absl::Status status;
  std::vector<Way> ways = {[&] { status.Update(problem.Mul(&context)); }};
  std::vector<Contestant> others;
  const auto new_dst = [&problem] {
    return std::make_unique<Buffer>(problem.DstBytes());
  };
  if (shape.count > 1) {
    others.push_back({&kCalls, nullptr, new_dst()});
    ways.push_back([&, dst = others[0].dst->data()] {
      (void)problem.Calls(dst, &calls_context);
    });
  }
  for (const Peer* peer : peers) {
    if (shape.count > 1 && !peer->has_batches) continue;
    Contestant other = {peer, nullptr, new_dst()};
    other.runner.reset(peer->prepare(
        Describe(problem, peer_types, options.threads, other.dst->data())));
    if (other.runner == nullptr) continue;
    ways.push_back([runner = other.runner.get()] { runner->Run(); });
    others.push_back(std::move(other));
  }
  const std::vector<std::vector<double>> seconds = TakeTurns(
      ways, absl::GetFlag(FLAGS_rounds), absl::GetFlag(FLAGS_turn_seconds),
      /*by_wall=*/options.threads > 1);
  if (!status.ok()) return status;
  Result result;
  result.types = types.name;
  result.shape = ShapeName(shape);
  result.kernel = context.last_used_kernel();
  result.cached = cached;
  const double gop = ShapeOps(shape) / 1e9;
  result.our_gops = gop / Median(seconds[0]);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Contestant& other = others[i];
    if (other.runner != nullptr) other.runner->Finish();
    const std::vector<double>& theirs = seconds[i + 1];
    result.beside.push_back({other.peer->name, gop / Median(theirs),
                             MedianRatio(theirs, seconds[0]),
                             Agrees(*other.peer, problem, other.dst->data())});
  }
  if (absl::GetFlag(FLAGS_check)) {
    // Like a peer: that one has nothing of its own but the rounding of floats.
    Buffer expected(problem.DstBytes());
    problem.Reference(expected.data());
    result.is_right = Agrees(kCalls, problem, expected.data());
  }
  return result;
}

const char* CachedName(Cached cached) {
  return cached == Cached::kNone  ? "fresh"
         : cached == Cached::kLhs ? "cached"
                                  : "rhs";
}

// For the JSON: whether the lhs was, or "rhs".
const char* CachedJson(Cached cached) {
  return cached == Cached::kNone  ? "false"
         : cached == Cached::kLhs ? "true"
                                  : "\"rhs\"";
}

void Print(const Result& result) {
  std::cout << absl::StreamFormat(
      "%-5s %-7s %s %-16s %8.1f%s %-28s", result.types,
      CachedName(result.cached), result.orders, result.shape, result.our_gops,
      result.is_right ? "" : " WRONG", result.kernel);
  for (const Result::Beside& beside : result.beside) {
    std::cout << absl::StreamFormat("  %s %.1f (%.2f)%s", beside.peer,
                                    beside.gops, beside.ratio,
                                    beside.agrees ? "" : " DIFFERS");
  }
  std::cout << std::endl;
}

// Geometric means of the ratios, for each types, cached or not, and peer.
struct Mean {
  std::string types, peer;
  Cached cached;
  double ratio, worst_ratio;
  std::string worst_shape;
  int count = 0;  // of ratios
};

std::vector<Mean> Means(const std::vector<Result>& results) {
  std::vector<Mean> means;
  for (const Result& result : results) {
    for (const Result::Beside& beside : result.beside) {
      auto mean = std::find_if(means.begin(), means.end(), [&](const Mean& m) {
        return m.types == result.types && m.cached == result.cached &&
               m.peer == beside.peer;
      });
      if (mean == means.end()) {
        mean = means.insert(mean, {result.types, beside.peer, result.cached, 0,
                                   beside.ratio, result.shape});
      }
      mean->ratio += std::log(beside.ratio);
      ++mean->count;
      if (beside.ratio < mean->worst_ratio) {
        mean->worst_ratio = beside.ratio;
        mean->worst_shape = result.shape;
      }
    }
  }
  for (Mean& mean : means) mean.ratio = std::exp(mean.ratio / mean.count);
  return means;
}

std::string ResultJson(const Result& result) {
  std::vector<std::string> beside;
  for (const Result::Beside& b : result.beside) {
    beside.push_back(absl::StrFormat(
        "{\"peer\": \"%s\", \"gops\": %.4g, \"ratio\": %.4g, \"agrees\": %s}",
        b.peer, b.gops, b.ratio, b.agrees ? "true" : "false"));
  }
  return absl::StrFormat(
      "{\"list\": \"%s\", \"types\": \"%s\", \"orders\": \"%s\", \"cached\": "
      "%s, "
      "\"shape\": \"%s\", \"kernel\": \"%s\", \"gops\": %.4g, \"beside\": "
      "[%s]}",
      result.list, result.types, result.orders, CachedJson(result.cached),
      result.shape, result.kernel, result.our_gops,
      absl::StrJoin(beside, ", "));
}

bool WriteJson(const std::string& file_name, int threads,
               const std::vector<const Peer*>& peers,
               const std::vector<Result>& results,
               const std::vector<Mean>& means) {
  std::vector<std::string> peer_items, result_items, mean_items;
  for (const Peer* peer : peers) {
    peer_items.push_back(
        absl::StrFormat("{\"name\": \"%s\", \"description\": \"%s\"}",
                        peer->name, peer->describe()));
  }
  for (const Result& result : results) {
    result_items.push_back(ResultJson(result));
  }
  for (const Mean& m : means) {
    mean_items.push_back(absl::StrFormat(
        "{\"types\": \"%s\", \"cached\": %s, \"peer\": \"%s\", \"ratio\": "
        "%.4g, \"worst_ratio\": %.4g, \"worst_shape\": \"%s\"}",
        m.types, CachedJson(m.cached), m.peer, m.ratio, m.worst_ratio,
        m.worst_shape));
  }
  std::ofstream json(file_name);
  json << "{\"cpu\": \"" << CpuModel() << "\", \"compiler\": \""
       << CompilerName() << "\", \"isa\": \"" << absl::GetFlag(FLAGS_isa)
       << "\", \"threads\": " << threads << ",\n \"peers\": [\n  "
       << absl::StrJoin(peer_items, ",\n  ") << "],\n \"results\": [\n  "
       << absl::StrJoin(result_items, ",\n  ")
       << "],\n \"geometric_means\": [\n  "
       << absl::StrJoin(mean_items, ",\n  ") << "]}\n";
  json.close();
  return static_cast<bool>(json);
}

// ## Main

absl::StatusOr<Options> ReadOptions() {
  const std::map<std::string, PeerTypes> peer_types = {
      {"s8", PeerTypes::kS8},         {"s8u8", PeerTypes::kS8U8},
      {"u8", PeerTypes::kU8},         {"f32", PeerTypes::kF32},
      {"f32any", PeerTypes::kF32},    {"f32plain", PeerTypes::kF32},
      {"bf16", PeerTypes::kBF16},     {"bf16f32", PeerTypes::kBF16F32},
      {"f16f32", PeerTypes::kF16F32}, {"s4g32", PeerTypes::kS4G32},
      {"s4g128", PeerTypes::kS4G128}, {"s8g32", PeerTypes::kS8G32},
      {"s2g64", PeerTypes::kS2G64},   {"s2g256", PeerTypes::kS2G256},
      {"iq4nl", PeerTypes::kIQ4NL},   {"mxfp4", PeerTypes::kMXFP4},
      {"nvfp4", PeerTypes::kNVFP4}};
  Options options;
  for (const std::string& name : absl::GetFlag(FLAGS_types)) {
    const auto found = peer_types.find(name);
    if (found == peer_types.end()) {
      return absl::InvalidArgumentError(absl::StrCat("--types: no ", name));
    }
    options.types.emplace_back(FindTypes(name), found->second);
  }
  const std::string cached = absl::GetFlag(FLAGS_cached);
  const std::map<std::string, std::vector<Cached>> sides = {
      {"lhs", {Cached::kLhs}},
      {"yes", {Cached::kLhs}},
      {"rhs", {Cached::kRhs}},
      {"no", {Cached::kNone}},
      {"both", {Cached::kLhs, Cached::kNone}}};
  const auto side = sides.find(cached);
  if (side == sides.end()) {
    return absl::InvalidArgumentError("--cached: lhs, yes, rhs, no or both");
  }
  options.cached = side->second;
  for (const std::string& name : absl::GetFlag(FLAGS_orders)) {
    if (name.size() != 3 || name.find_first_not_of("rc") != name.npos) {
      return absl::InvalidArgumentError(absl::StrCat("--orders: no ", name));
    }
    const auto order = [&name](int side) {
      return name[side] == 'r' ? Order::kRowMajor : Order::kColMajor;
    };
    options.orders.push_back({name, {order(0), order(1), order(2)}});
  }
  options.threads = absl::GetFlag(FLAGS_threads);
  if (options.threads < 1 || absl::GetFlag(FLAGS_rounds) < 1 ||
      !(absl::GetFlag(FLAGS_turn_seconds) > 0)) {
    return absl::InvalidArgumentError(
        "--threads and --rounds must be at least 1, --turn_seconds above 0");
  }
  return options;
}

absl::Status CompareAll(const Options& options,
                        const std::vector<const Peer*>& peers,
                        std::vector<Result>* results) {
  for (const std::string& list : absl::GetFlag(FLAGS_shapes)) {
    const absl::StatusOr<std::vector<Shape>> shapes =
        ReadShapes(absl::GetFlag(FLAGS_shapes_dir), list);
    if (!shapes.ok()) return shapes.status();
    for (const auto& types : options.types) {
      for (const auto& orders : options.orders) {
        for (const Cached cached : options.cached) {
          for (const Shape& shape : *shapes) {
            if (shape.count > 1 && cached != Cached::kNone) continue;
            if (types.first->level_bits > 0 && cached != Cached::kLhs) continue;
            absl::StatusOr<Result> result =
                Compare(options, *types.first, types.second, orders.second,
                        cached, shape, peers);
            if (!result.ok()) return result.status();
            result->list = list;
            result->orders = orders.first;
            Print(*result);
            results->push_back(*std::move(result));
          }
        }
      }
    }
  }
  return absl::OkStatus();
}

int Refuse(const absl::Status& status) {
  std::cerr << status.message() << "\n";
  return 2;
}

int Main(int argc, char** argv) {
  if (!absl::GetFlag(FLAGS_environment_is_set)) {
    return Refuse(RestartWithEnvironment(argc, argv));
  }
  const absl::StatusOr<Options> options = ReadOptions();
  if (!options.ok()) return Refuse(options.status());
  const std::vector<const Peer*> peers = LoadPeers(absl::GetFlag(FLAGS_peers));
  std::cout << CpuModel() << ", " << CompilerName() << ", " << options->threads
            << " thread(s), our best path "
            << PathName(BestPath(DetectedPaths())) << "\n";
  for (const Peer* peer : peers) {
    std::cout << peer->name << ": " << peer->describe() << "\n";
  }
  if (peers.empty()) {
    std::cout << "no peers were found when this was built\n";
  }
  std::cout
      << "\ntypes weights orders shape, GOP/s and kernel of ours, GOP/s of "
         "theirs (ours / theirs)\n";
  std::vector<Result> results;
  const absl::Status status = CompareAll(*options, peers, &results);
  if (!status.ok()) return Refuse(status);
  const std::vector<Mean> means = Means(results);
  std::cout << "\nGeometric means of ours / theirs, and the worst\n";
  for (const Mean& m : means) {
    std::cout << absl::StreamFormat("%-5s %-7s %-9s %.2f, %.2f at %s\n",
                                    m.types, CachedName(m.cached), m.peer,
                                    m.ratio, m.worst_ratio, m.worst_shape);
  }
  const std::string json_file = absl::GetFlag(FLAGS_json);
  if (!json_file.empty() &&
      !WriteJson(json_file, options->threads, peers, results, means)) {
    std::cerr << "can not write " << json_file << "\n";
    return 1;
  }
  const bool all_right =
      std::all_of(results.begin(), results.end(),
                  [](const Result& r) { return r.is_right; });
  return all_right ? 0 : 1;
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures Mul beside other libraries, alternating in one process.");
  absl::ParseCommandLine(argc, argv);
  return ruy_like::bench::Main(argc, argv);
}
