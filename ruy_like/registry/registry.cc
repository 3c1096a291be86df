#include "ruy_like/registry/registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/registry/cpu_features.h"

namespace ruy_like {
namespace {

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

// A path also serves what it has no kernel of its own for: with the kernels of
// every lower path whose instructions it includes, the best such path first.
bool Inherits(const PathKernels& path, const PathKernels& from) {
  return (from.features & ~path.features) == 0;
}

// The query as a kernel sees it when the sides are swapped.
KernelQuery Swapped(const KernelQuery& query) {
  KernelQuery result = query;
  result.family = SwappedFamily(query.family);
  std::swap(result.rows, result.cols);
  std::swap(result.scalar.lhs, result.scalar.rhs);
  std::swap(result.depth_contiguous.lhs, result.depth_contiguous.rhs);
  std::swap(result.cached.lhs, result.cached.rhs);
  std::swap(result.packed.lhs, result.packed.rhs);
  result.dst_col_major = !query.dst_col_major;
  return result;
}

// Whether a kernel for any number of columns is worth its transposed stores to
// a row-major dst: it reads the side in place that is at least twice as wide as
// the other one, and does not lose on padding of that one what it saves. A
// cached operand costs no packing; and its panels should not be of one side at
// one batch size and of the other side at another.
//
// For a fast kernel any padding is small: packing an element of the wide side
// takes as long as its products with some 40 rows (1500 of them a ns on AMX,
// against 40 elements packed).
bool SavesPackingTheWideSide(const Kernel& kernel, const KernelQuery& query) {
  constexpr int kPackedPerNs = 40;
  const std::ptrdiff_t width = kernel.lhs.width;
  const std::ptrdiff_t padding = (width - query.rows % width) % width;
  return kernel.rhs.in_place && !query.cached.lhs &&
         query.cols >= 2 * query.rows &&
         (2 * padding <= width || padding * kPackedPerNs < kernel.macs_per_ns);
}

// Null when the kernel serves the query as it stands.
const char* Obstacle(const Kernel& kernel, const KernelQuery& query) {
  if (kernel.family != query.family) return "other operand types";
  if (kernel.max_cols != 0 && query.cols > kernel.max_cols) {
    return "too many columns";
  }
  // Where the side read in place is hardly wider than the other, packing it
  // costs little and the wide tiles gain more: a 16^3 product took twice as
  // long in place (Zen 5). A single column is different: it would leave most of
  // a tile empty.
  if (kernel.max_cols != 0 && query.cols > 1 && query.rows < 4 * query.cols) {
    return "the sides are about equally narrow";
  }
  if (!query.dst_col_major) {
    if (query.depth < kernel.row_major_min_depth) {
      return "dst is row-major (its transpose is computed instead)";
    }
    if (kernel.max_cols == 0 && !SavesPackingTheWideSide(kernel, query)) {
      return "dst is row-major and little packing would be saved";
    }
  }
  for (const Side side : kSides) {
    const kernels::PanelFormat& format = FormatOf(kernel, side);
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

// Of a depth of 0 there is nothing to gain elsewhere.
bool IsTooSmallFor(const Kernel& kernel, const KernelQuery& query) {
  const double macs = static_cast<double>(query.rows) *
                      static_cast<double>(query.cols) *
                      static_cast<double>(query.depth);
  return query.depth > 0 && macs < kernel.min_macs;
}

// Whether operands are packed ahead for the kernel, whatever the other operand
// turns out to be: those for a limited number of columns have a small side of
// their own (the large one's panels may be shared), and others ask for an
// operand that can be read in place.
bool IsPackedFor(const Kernel& kernel) {
  return kernel.max_cols == 0 && !kernel.lhs.in_place && !kernel.rhs.in_place;
}

// A narrow kernel's lhs is the large side.
bool ReadsLargeSideInPlace(const Kernel& kernel) {
  return kernel.max_cols != 0 && kernel.lhs.in_place;
}

// The first permitted path from the best one down for which visit(path, j) is
// true for a path j that it has the kernels of; visit sees the own one first.
// The portable kernels (index 0) are not inherited: what comes to them should
// say so as its path.
template <typename Visit>
void VisitPermitted(Path permitted, Visit visit) {
  for (int i = static_cast<int>(std::size(kPathKernels)) - 1; i >= 0; --i) {
    if ((permitted & kPathKernels[i].path) == Path::kNone) continue;
    for (int j = i; j >= std::min(i, 1); --j) {
      if (Inherits(kPathKernels[i], kPathKernels[j]) &&
          visit(kPathKernels[i], kPathKernels[j])) {
        return;
      }
    }
  }
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
         equal(a.cached, b.cached) && a.dst_col_major == b.dst_col_major &&
         equal(a.packed, b.packed);
}

KernelChoice SelectKernel(const KernelQuery& query, Path permitted) {
  const KernelQuery swapped = Swapped(query);
  // What is packed should be the narrow side; otherwise as dst lies.
  const bool rows_are_fewer = query.rows < query.cols;
  const auto orientation = [&](const Kernel& kernel, bool* swap) {
    const bool try_swapped_first =
        kernel.rhs.in_place ? query.cols < query.rows : rows_are_fewer;
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
    // A kernel that reads the large side in place, even an inherited one,
    // before any that has to pack it. (One for few columns that packs it comes
    // right before the kernel whose panels it shares.)
    for (const bool in_place : {true, false}) {
      // The portable kernels (index 0) are not inherited: what comes to them
      // should say so as its path.
      for (int j = i; j >= std::min(i, 1); --j) {
        if (!Inherits(path, kPathKernels[j])) continue;
        const KernelTable table = kPathKernels[j].table();
        for (int k = 0; k < table.count; ++k) {
          const Kernel& kernel = table.kernels[k];
          bool swap;
          if (ReadsLargeSideInPlace(kernel) == in_place &&
              !IsTooSmallFor(kernel, query) && orientation(kernel, &swap)) {
            return KernelChoice{&kernel, path.path, swap};
          }
        }
      }
    }
  }
  return KernelChoice{nullptr, Path::kNone, false};
}

bool HasKernelsOf(Path permitted, Path owner) {
  bool found = false;
  VisitPermitted(permitted,
                 [&](const PathKernels&, const PathKernels& candidate) {
                   return found = candidate.path == owner;
                 });
  return found;
}

KernelChoice SelectKernelToPackFor(Family family, Path permitted) {
  KernelChoice choice = {nullptr, Path::kNone, false};
  VisitPermitted(permitted, [&](const PathKernels&, const PathKernels& owner) {
    const KernelTable table = owner.table();
    for (int k = 0; k < table.count; ++k) {
      const Kernel& kernel = table.kernels[k];
      if (kernel.family == family && IsPackedFor(kernel)) {
        choice = {&kernel, owner.path, false};
        return true;
      }
    }
    return false;
  });
  return choice;
}

PackedLayout LayoutFor(const KernelChoice& choice, Side side,
                       Side kernel_side) {
  const Kernel& kernel = *choice.kernel;
  PackedLayout layout = {
      choice.path,
      side == kernel_side ? kernel.family : SwappedFamily(kernel.family),
      kernel_side, FormatOf(kernel, kernel_side),
      &FormatOf(kernel, kernel_side)};
  layout.format.depth_multiple = static_cast<int>(DepthMultiple(kernel));
  return layout;
}

KernelChoice SelectKernelForPacked(const KernelQuery& query,
                                   const SidePair<const PackedLayout*>& packed,
                                   Path permitted) {
  const Side given = packed.lhs != nullptr ? Side::kLhs : Side::kRhs;
  const bool swap = packed[given]->kernel_side != given;
  KernelQuery seen = swap ? Swapped(query) : query;
  // Every epilogue stores to either order, one of them faster: that which the
  // operand was packed for.
  seen.dst_col_major = true;
  const auto reads = [&](const Kernel& kernel, Path owner) {
    for (const Side side : kSides) {
      const PackedLayout* const layout = packed[side];
      if (layout == nullptr) continue;
      if (FormatOf(kernel, layout->kernel_side).in_place ||
          !(LayoutFor({&kernel, owner, swap}, side, layout->kernel_side) ==
            *layout)) {
        return false;
      }
    }
    return Obstacle(kernel, seen) == nullptr;
  };
  KernelChoice choice = {nullptr, Path::kNone, swap};
  VisitPermitted(
      permitted, [&](const PathKernels& path, const PathKernels& owner) {
        if (owner.path != packed[given]->path) return false;
        const KernelTable table = owner.table();
        for (int k = 0; k < table.count && choice.kernel == nullptr; ++k) {
          if (reads(table.kernels[k], owner.path)) {
            choice = {&table.kernels[k], path.path, swap};
          }
        }
        return choice.kernel != nullptr;
      });
  return choice;
}

std::string WhyNot(const Kernel& kernel, const KernelQuery& query,
                   bool swap_sides) {
  if (IsTooSmallFor(kernel, query)) return "setting it up takes longer";
  const char* obstacle = Obstacle(kernel, swap_sides ? Swapped(query) : query);
  return obstacle == nullptr ? "" : obstacle;
}

}  // namespace ruy_like
