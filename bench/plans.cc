// plans: prints how products are cut into blocks, for scaling.py.
//
//   plans --shapes=1024x1024x1024 --types=f32,s8 --cached=yes --threads=64,192
//       --path=avx512vnni --l1d=32768 --l2=1048576 --l3=33554432
//       --l3_sharing=8
//
// One JSON object a line and product: what Mul would do on that many threads,
// with these caches; no thread is started and no product computed. A path that
// this machine does not have can be asked for as well, if it is compiled in.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "bench/flag_lists.h"
#include "bench/problem.h"
#include "bench/shapes.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/plan/plan.h"
#include "ruy_like/registry/registry.h"

ABSL_FLAG(std::vector<std::string>, shapes, {"1024x1024x1024"},
          "rows x depth x cols, or names of files in bench/shapes, separated "
          "by commas");
ABSL_FLAG(std::vector<std::string>, types, {"f32"},
          "as of mul_bench, separated by commas");
ABSL_FLAG(std::string, cached, "yes", "yes: the lhs is packed already; no");
ABSL_FLAG(ruy_like::bench::ThreadCounts, threads,
          (ruy_like::bench::ThreadCounts{{1, 2, 64, 192}}),
          "separated by commas");
ABSL_FLAG(std::string, path, "", "by name; the best of this machine if empty");
ABSL_FLAG(std::ptrdiff_t, l1d, 0, "bytes; this machine's if 0");
ABSL_FLAG(std::ptrdiff_t, l2, 0, "bytes; this machine's if 0");
ABSL_FLAG(std::ptrdiff_t, l3, 0, "bytes; this machine's if 0");
ABSL_FLAG(int, l3_sharing, 0, "cores that share the L3; this machine's if 0");

namespace ruy_like::bench {
namespace {

const char* SourceName(SideSource source) {
  switch (source) {
    case SideSource::kInPlace:
      return "in_place";
    case SideSource::kPackedByBlock:
      return "by_block";
    case SideSource::kPackedOnce:
    case SideSource::kKept:
      return "once";
    case SideSource::kCached:
    case SideSource::kPrepacked:
      return "packed";
  }
  return "";
}

void PrintPlan(const Types& types, const Shape& shape, bool cached, int threads,
               Path paths, const CacheSizes& caches) {
  KernelQuery query;
  query.family = types.family;
  query.rows = shape.rows;
  query.cols = shape.cols;
  query.depth = shape.depth;
  query.scalar = {types.lhs, types.rhs};
  query.depth_contiguous = {true, true};
  query.cached = {cached, false};
  query.dst_col_major = true;
  const KernelChoice choice = SelectKernel(query, paths);
  Plan plan;
  MakePlan(query, choice, {threads, /*force=*/false}, caches, &plan);
  const kernels::Kernel& kernel = *choice.kernel;
  std::printf(
      "{\"shape\": \"%s\", \"types\": \"%s\", \"cached\": %s, \"limit\": %d, "
      "\"threads\": %d, \"path\": \"%s\", \"kernel\": \"%s\", "
      "\"tile\": [%d, %d], \"panels\": [%d, %d], \"depth\": %td, "
      "\"passes\": %td, \"pieces\": [%td, %td], ",
      ShapeName(shape).c_str(), types.name, cached ? "true" : "false", threads,
      plan.threads, PathName(choice.path), kernel.name, kernel.tile_rows,
      kernel.tile_cols, kernel.lhs.in_place ? 1 : kernel.lhs.width,
      kernel.rhs.in_place ? 1 : kernel.rhs.width, plan.kernel_depth,
      (plan.kernel_depth + plan.map.depth_block - 1) / plan.map.depth_block,
      plan.map.piece_rows, plan.map.piece_cols);
  for (const Side side : kSides) {
    std::printf("\"%s\": {\"source\": \"%s\", \"element_bytes\": %g}, ",
                side == Side::kLhs ? "lhs" : "rhs",
                SourceName(plan.side[side].source),
                InfoOf(FormatOf(kernel, side).scalar).bits / 8.0);
  }
  // [row of blocks, column of blocks, rows, columns] in the order of BlockAt.
  std::printf("\"blocks\": [");
  for (std::ptrdiff_t i = 0; i < BlockCount(plan.map); ++i) {
    const BlockPosition at = BlockAt(plan.map, i);
    const BlockExtent extent = BlockRange(plan.map, at);
    std::printf("%s[%td, %td, %td, %td]", i == 0 ? "" : ", ", at.row_block,
                at.col_block, extent.end_row - extent.start_row,
                extent.end_col - extent.start_col);
  }
  std::printf("]}\n");
}

template <typename T>
void Replace(T wanted, T* value) {
  if (wanted > 0) *value = wanted;
}

[[noreturn]] void Refuse(const std::string& message) {
  std::cerr << message << "\n";
  std::exit(1);
}

Path WantedPaths() {
  const std::string wanted = absl::GetFlag(FLAGS_path);
  if (wanted.empty()) return DetectedPaths();
  std::string warning;
  const Path paths = NarrowPaths(kAllPaths, wanted, &warning);
  if (!warning.empty()) Refuse(warning);
  return paths;
}

void PrintPlans() {
  CacheSizes caches = DetectedCacheSizes();
  Replace(absl::GetFlag(FLAGS_l1d), &caches.l1d_bytes);
  Replace(absl::GetFlag(FLAGS_l2), &caches.l2_bytes);
  Replace(absl::GetFlag(FLAGS_l3), &caches.l3_bytes);
  Replace(absl::GetFlag(FLAGS_l3_sharing), &caches.l3_sharing_cores);
  const std::string cached = absl::GetFlag(FLAGS_cached);
  if (cached != "yes" && cached != "no") Refuse("--cached is yes or no");
  const std::vector<int> threads = absl::GetFlag(FLAGS_threads).values;
  const Path paths = WantedPaths();
  for (const std::string& name : absl::GetFlag(FLAGS_types)) {
    const Types* types = FindTypes(name);
    if (types == nullptr) Refuse("--types: unknown " + name);
    for (const std::string& list : absl::GetFlag(FLAGS_shapes)) {
      const auto shapes = ReadShapes(RUY_LIKE_BENCH_SHAPES_DIR, list);
      if (!shapes.ok()) Refuse(std::string(shapes.status().message()));
      for (const Shape& shape : *shapes) {
        if (shape.count > 1) Refuse("--shapes: no batches");
        for (const int count : threads) {
          PrintPlan(*types, shape, cached == "yes", count, paths, caches);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ruy_like::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "How products are cut into blocks, as JSON; see bench/plans.cc.");
  absl::ParseCommandLine(argc, argv);
  ruy_like::bench::PrintPlans();
}
