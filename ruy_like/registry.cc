#include "ruy_like/registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ruy_like/cpu_features.h"
#include "ruy_like/kernels/kernel_tables.h"

namespace ruy_like {
namespace {

using kernels::Family;
using kernels::Kernel;
using kernels::KernelTable;

struct PathKernels {
  Path path;
  CpuFeatures features;
  KernelTable (*table)();
};

// Worst first: the lines of paths.inc that this build compiles.
constexpr PathKernels kPathKernels[] = {
#define RUY_LIKE_PATH(Enum, name, arch, features, flags) \
  {Path::k##Enum, features, &kernels::Enum##Kernels},
#include "ruy_like/compiled_paths.inc"
#undef RUY_LIKE_PATH
};

Family Swapped(Family family) {
  if (family == Family::k8x16) return Family::k16x8;
  if (family == Family::k16x8) return Family::k8x16;
  return family;
}

// A path also serves what it has no kernel of its own for: with the kernels of
// every lower path whose instructions it includes, the best such path first.
bool Inherits(const PathKernels& path, const PathKernels& from) {
  return (from.features & ~path.features) == 0;
}

// The query as a kernel sees it when the sides are swapped.
KernelQuery Swapped(const KernelQuery& query) {
  KernelQuery result = query;
  result.family = Swapped(query.family);
  std::swap(result.rows, result.cols);
  std::swap(result.scalar.lhs, result.scalar.rhs);
  std::swap(result.depth_contiguous.lhs, result.depth_contiguous.rhs);
  std::swap(result.cached.lhs, result.cached.rhs);
  result.dst_col_major = !query.dst_col_major;
  return result;
}

// Null when the kernel serves the query as it stands.
const char* Obstacle(const Kernel& kernel, const KernelQuery& query) {
  if (kernel.family != query.family) return "other operand types";
  if (kernel.max_cols != 0 && query.cols > kernel.max_cols) {
    return "too many columns";
  }
  // A narrow kernel stores single elements, so either order of dst will do.
  if (kernel.max_cols == 0 && !query.dst_col_major) {
    return "dst is row-major (its transpose is computed instead)";
  }
  for (const Side side : {Side::kLhs, Side::kRhs}) {
    const kernels::PanelFormat& format =
        side == Side::kLhs ? kernel.lhs : kernel.rhs;
    if (!format.in_place) continue;
    if (query.depth == 0) return "depth 0 cannot be read in place";
    if (!query.depth_contiguous[side]) {
      return "the side read in place is not contiguous along depth";
    }
    if (query.scalar[side] != format.scalar) {
      return "the side read in place has another element type";
    }
    if (query.cached[side]) return "the side read in place is cached packed";
  }
  return nullptr;
}

}  // namespace

KernelTable KernelsOf(Path path) {
  for (const PathKernels& entry : kPathKernels) {
    if (entry.path == path) return entry.table();
  }
  return KernelTable{nullptr, 0};
}

bool operator==(const KernelQuery& a, const KernelQuery& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return x.lhs == y.lhs && x.rhs == y.rhs;
  };
  return a.family == b.family && a.rows == b.rows && a.cols == b.cols &&
         a.depth == b.depth && equal(a.scalar, b.scalar) &&
         equal(a.depth_contiguous, b.depth_contiguous) &&
         equal(a.cached, b.cached) && a.dst_col_major == b.dst_col_major;
}

KernelQuery MakeKernelQuery(const TrMulParams& params) {
  KernelQuery query;
  query.family = params.family;
  query.rows = params.rows();
  query.cols = params.cols();
  query.depth = params.depth();
  query.dst_col_major = params.epilogue.dst_row_stride == 1;
  for (const Side side : {Side::kLhs, Side::kRhs}) {
    const Operand& operand = params.side[side];
    query.scalar[side] = operand.scalar;
    query.depth_contiguous[side] = operand.depth_contiguous;
    query.cached[side] = false;
  }
  return query;
}

KernelChoice SelectKernel(const KernelQuery& query, Path permitted) {
  const KernelQuery swapped = Swapped(query);
  // The narrow side belongs on the right; otherwise as dst lies.
  const bool try_swapped_first = query.rows < query.cols;
  const auto orientation = [&](const Kernel& kernel, bool* swap) {
    for (const bool swap_sides : {try_swapped_first, !try_swapped_first}) {
      *swap = swap_sides;
      if (Obstacle(kernel, swap_sides ? swapped : query) == nullptr) {
        return true;
      }
    }
    return false;
  };
  constexpr int kLast = static_cast<int>(std::size(kPathKernels)) - 1;
  for (int i = kLast; i >= 0; --i) {
    const PathKernels& path = kPathKernels[i];
    if ((permitted & path.path) == Path::kNone) continue;
    // A narrow kernel, even an inherited one, before any that has to pack the
    // large side.
    for (const bool narrow : {true, false}) {
      // The portable kernels (index 0) are not inherited: what comes to them
      // should say so as its path.
      for (int j = i; j >= std::min(i, 1); --j) {
        if (!Inherits(path, kPathKernels[j])) continue;
        const KernelTable table = kPathKernels[j].table();
        for (int k = 0; k < table.count; ++k) {
          const Kernel& kernel = table.kernels[k];
          bool swap;
          if ((kernel.max_cols != 0) == narrow && orientation(kernel, &swap)) {
            return KernelChoice{&kernel, path.path, swap};
          }
        }
      }
    }
  }
  return KernelChoice{nullptr, Path::kNone, false};
}

std::string WhyNot(const Kernel& kernel, const KernelQuery& query,
                   bool swap_sides) {
  const char* obstacle = Obstacle(kernel, swap_sides ? Swapped(query) : query);
  return obstacle == nullptr ? "" : obstacle;
}

}  // namespace ruy_like
