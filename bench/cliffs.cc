// The times of single calls, for cliffs.py: products and layers that take
// turns.
//
//   cliffs [--rounds=7] [--turn_seconds=5e-4] < cases
//
// A line of the input is a case, an empty line ends those that take turns:
//
//   mul <path> <types> <orders> <rows>x<depth>x<cols> <bytes between lhs rows>
//   conv|depthwise <path> <order> <height>x<width>x<channels> <channels>
//       <kernel> <stride> <dilation> <groups>
//
// with types of mul_bench, orders as compare's, nhwc or nchw. For each it
// writes the nanoseconds of a call, the least of the rounds' CPU times (what
// disturbs only adds), the multiply-adds, and the case.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/problem.h"
#include "bench/shapes.h"
#include "bench/stopwatch.h"
#include "ruy_like/ruy_like.h"
#ifdef RUY_LIKE_BENCH_HAVE_QUANTIZE
#include "bench/layer.h"
#endif

ABSL_FLAG(int, rounds, 7, "how often each case has its turn");
ABSL_FLAG(double, turn_seconds, 5e-4, "how long a turn is, about");

namespace ruy_like::bench {
namespace {

struct Case {
  explicit Case(const std::string& case_line) : line(case_line) {
    context.set_max_num_threads(1);
  }
  std::string line;
  Context context;
  double multiply_adds = 0;
  std::function<absl::Status()> run;
};

absl::Status SetUpMul(std::istringstream* words, Case* c) {
  std::string types_name, orders_name, shape_name;
  Orders orders;
  *words >> types_name >> orders_name >> shape_name >> orders.lhs_gap_bytes;
  const Types* const types = FindTypes(types_name);
  const auto shapes = ReadShapes("", shape_name);
  if (!*words || types == nullptr || orders_name.size() != 3 || !shapes.ok()) {
    return absl::InvalidArgumentError("types, orders, shape or gap");
  }
  const auto order = [&](int side) {
    return orders_name[side] == 'r' ? Order::kRowMajor : Order::kColMajor;
  };
  orders.lhs = order(0);
  orders.rhs = order(1);
  orders.dst = order(2);
  const auto problem =
      std::make_shared<Problem>(*types, shapes->front(), Cached::kNone, orders);
  c->multiply_adds = ShapeOps(shapes->front()) / 2;
  c->run = [problem, c] { return problem->Mul(&c->context); };
  return absl::OkStatus();
}

absl::Status SetUpLayer(std::istringstream* words, bool is_depthwise, Case* c) {
#ifdef RUY_LIKE_BENCH_HAVE_QUANTIZE
  std::string order;
  char x;
  ConvCase conv;
  std::ptrdiff_t kernel, stride, dilation;
  *words >> order >> conv.input.height >> x >> conv.input.width >> x >>
      conv.input.channels >> conv.channels >> kernel >> stride >> dilation >>
      conv.groups;
  if (!*words) return absl::InvalidArgumentError("order or sizes");
  conv.input.batch = 1;
  conv.input.order = order == "nhwc" ? TensorOrder::kNhwc : TensorOrder::kNchw;
  conv.window = SquareWindow(kernel, stride);
  conv.window.dilation_height = conv.window.dilation_width = dilation;
  auto made = BenchLayer::Make(conv, is_depthwise, &c->context);
  if (!made.ok()) return made.status();
  const auto layer = std::make_shared<BenchLayer>(*std::move(made));
  c->multiply_adds = static_cast<double>(layer->outputs()) *
                     static_cast<double>(layer->depth());
  c->run = [layer, c] { return layer->Run(&c->context); };
  return absl::OkStatus();
#else
  (void)words, (void)is_depthwise, (void)c;
  return absl::UnimplementedError("built without RUY_LIKE_QUANTIZE");
#endif
}

absl::Status SetUp(Case* c) {
  std::istringstream words(c->line);
  std::string kind, path;
  words >> kind >> path;
  const absl::StatusOr<Path> paths = ParsePaths(path);
  if (!paths.ok()) return paths.status();
  c->context.set_runtime_enabled_paths(*paths | Path::kPortable);
  return kind == "mul" ? SetUpMul(&words, c)
                       : SetUpLayer(&words, kind == "depthwise", c);
}

absl::Status RunGroup(const std::vector<std::unique_ptr<Case>>& cases) {
  std::vector<Way> ways;
  absl::Status status;
  for (const auto& c : cases) {
    status.Update(SetUp(c.get()));
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat(c->line, ": ", status.message()));
    }
    ways.push_back([&status, &c] { status.Update(c->run()); });
  }
  const std::vector<std::vector<double>> seconds =
      TakeTurns(ways, absl::GetFlag(FLAGS_rounds),
                absl::GetFlag(FLAGS_turn_seconds), /*by_wall=*/false);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::cout << 1e9 * *std::min_element(seconds[i].begin(), seconds[i].end())
              << " " << cases[i]->multiply_adds << " " << cases[i]->line
              << "\n";
  }
  return status;
}

int Main() {
  std::string line;
  while (std::cin) {
    std::vector<std::unique_ptr<Case>> cases;
    while (std::getline(std::cin, line) && !line.empty()) {
      cases.push_back(std::make_unique<Case>(line));
    }
    const absl::Status status = RunGroup(cases);
    if (!status.ok()) {
      std::cerr << status.message() << "\n";
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Times the cases that it reads, in turns.");
  absl::ParseCommandLine(argc, argv);
  return ruy_like::bench::Main();
}
