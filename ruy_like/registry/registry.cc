#include "ruy_like/registry/registry.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ruy_like/base/checked_math.h"
#include "ruy_like/kernels/kernel_facts.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/registry/amx_cost.h"

namespace ruy_like {
namespace {

using kernels::Kernel;
using kernels::KernelKind;
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

// Its lhs has to be the side that is int7, whichever way dst lies.
bool NeedsInt7(const Kernel& kernel) {
  return kernel.lhs.range == ValueRange::kInt7;
}

// True if a side will be kept packed, or is packed already.
bool IsKept(const KernelQuery& query, Side side) {
  return query.cached[side] || query.packed[side] != nullptr;
}

// On AMX's panels an operand that is kept is the lhs, for either order of dst,
// so that it has one packed form; the other side is then read in place if it
// can be. If both are kept, as dst lies.
bool KeepsItsLhs(const Kernel& kernel, const KernelQuery& query) {
  return (kernel.multiplies_tiles || kernel.for_kept_lhs) &&
         IsKept(query, Side::kLhs) && !IsKept(query, Side::kRhs);
}

// True if storing a row-major dst takes less time than it saves. With its sides
// swapped the product would store columns, but pack the wide side, which the
// kernel reads in place, or run on a kernel that does not rely on int7. A
// cached operand costs no packing, and must have one packed form at every batch
// size.
bool RowMajorPays(const Kernel& kernel, const KernelQuery& query) {
  // Bytes packed per ns within L2, and beyond it, as measured where there is
  // AMX and where there is not.
  constexpr double kL2Bytes = 2 << 20, kWithinL2 = 31;
  const double beyond_l2 = kernel.multiplies_tiles ? 10 : 20;
  const int row_major_depth = kernel.row_major_depth;
  if (row_major_depth == 0 || row_major_depth == kernels::kNotRowMajor)
    return row_major_depth == 0;
  if (NeedsInt7(kernel)) return query.depth >= row_major_depth;
  if (query.cached.lhs || query.cols <= query.rows) return false;
  // Tiles take longer to read the wide side again (doc/amx.md).
  if (kernel.multiplies_tiles && query.rows > kernel.tile_rows) return false;
  const double depth = static_cast<double>(query.depth);
  const double rows = static_cast<double>(query.rows);
  const double cols = static_cast<double>(query.cols);
  const int width = kernel.lhs.width;
  const double padded = static_cast<double>(CeilDiv(query.rows, width)) * width;
  const double bytes = depth * InfoOf(kernel.rhs.scalar).bits / 8;
  const double rate = cols * bytes > kL2Bytes ? beyond_l2 : kWithinL2;
  // For each column, in multiply-adds.
  const double saved = (1 - rows / cols) * bytes / rate * kernel.macs_per_ns;
  return saved > padded * row_major_depth + (padded - rows) * depth;
}

// True if panels can be made of elements of that type of the kernel's family:
// 16-bit floats are widened, but floats are not rounded.
bool CanHold(const kernels::PanelFormat& format, Scalar scalar) {
  return !Is16BitFloat(format.scalar) || format.scalar == AsBFloat16(scalar);
}

// True if a matrix has that many elements.
bool HasAtLeast(std::int64_t count, std::int64_t rows, std::int64_t depth) {
  return depth > 0 && rows >= (count + depth - 1) / depth;
}

// Null when the kernel serves the query as it stands.
const char* Obstacle(const Kernel& kernel, const KernelQuery& query) {
  if (kernel.family != query.family) return "other operand types";
  if (kernel.any_order && query.float_sums != FloatSums::kAnyOrder) {
    return "it does not sum in order of depth, as the call asks";
  }
  if (query.cols > kernel.max_cols) return "too many columns";
  if (query.cols > kernel.max_cols_of_small_lhs &&
      !HasAtLeast(1 << 20, query.rows, query.depth)) {
    return "too many columns for a lhs that small";
  }
  if (query.cols < kernel.min_cols) return "too few columns";
  if (((query.post_op_needs & kernels::kNeedsLhsSums) != 0 &&
       kernel.lhs.in_place) ||
      ((query.post_op_needs & kernels::kNeedsRhsSums) != 0 &&
       kernel.rhs.in_place)) {
    return "zero points of rows or columns ask for sums, which packing makes";
  }
  if (kernel.min_group_elements != 0 &&
      !HasAtLeast(kernel.min_group_elements, query.cols, query.group_depth)) {
    return "too few columns for groups that short";
  }
  if (query.rows > kernel.max_rows) return "too many rows";
  if (query.group_depth > kernel.max_group_depth) {
    return "sums of its groups would overflow";
  }
  if (query.table_span > kernel.max_table_span) {
    return "the values of its table are too far apart";
  }
  if (kernel.for_kept_lhs && !IsKept(query, Side::kLhs)) {
    return "its panels are those of a lhs that is kept packed";
  }
  if (kernel.min_lhs_elements != 0 &&
      !HasAtLeast(kernel.min_lhs_elements, query.rows, query.depth)) {
    return "packed as floats its lhs fits a cache";
  }
  // Where the side read in place is hardly wider than the other, packing it
  // costs little and the wide tiles gain more: a 16^3 product took twice as
  // long in place (Zen 5). A single column is different: it would leave most of
  // a tile empty.
  if (IsNarrow(kernel) && query.cols > 1 && query.rows < 4 * query.cols) {
    return "the sides are about equally narrow";
  }
  // It adds up the lanes of each result, which takes as long as packing so many
  // elements (doc/tuning.md).
  if (kernel.kind == KernelKind::kNarrowInPlace && !kernel.lhs.by_depth &&
      !kernel.rhs.in_place && InfoOf(kernel.family).accum == Scalar::kI32 &&
      query.depth < 32 + 20 * query.cols) {
    return "too shallow for so many columns in place";
  }
  if (kernel.multiplies_tiles && query.cached.rhs &&
      !IsKept(query, Side::kLhs)) {
    return "the operand that is kept packed is its lhs";
  }
  if (!query.dst_col_major && !KeepsItsLhs(kernel, query) &&
      !RowMajorPays(kernel, query)) {
    return "dst is row-major (its transpose is computed instead)";
  }
  for (const Side side : kSides) {
    const kernels::PanelFormat& format = FormatOf(kernel, side);
    if (format.range != ValueRange::kFull &&
        query.range[side] != format.range) {
      return "the operands are not known to be int7";
    }
    if (!format.in_place) {
      if (!CanHold(format, query.scalar[side])) {
        return "its panels have another element type";
      }
      continue;
    }
    if (query.depth == 0) return "depth 0 cannot be read in place";
    if (query.depth_contiguous[side] == format.by_depth) {
      return format.by_depth
                 ? "the side read in place is contiguous along depth"
                 : "the side read in place is not contiguous along depth";
    }
    if (query.scalar[side] != format.scalar) {
      return "the side read in place has another element type";
    }
    if (query.cached[side]) return "the side read in place is cached packed";
  }
  return nullptr;
}

// True if a kernel of vectors is faster than this one of tiles (for 4 columns
// of a kept lhs not measured). At depth 0 nothing is gained elsewhere, and no
// other kernel reads a rhs that the caller packed, or one of two kept sides.
bool IsTooSmallFor(const Kernel& kernel, const KernelQuery& query) {
  if (!kernel.multiplies_tiles || query.depth == 0 ||
      IsKept(query, Side::kRhs)) {
    return false;
  }
  return (IsKept(query, Side::kLhs) && query.cols <= 4 &&
          query.rows >= 4 * query.cols) ||
         IsTooSmallForAmx(query.rows, query.depth, query.cols);
}

// The single routine behind all selection. Calls visit(path, owner, kernel) for
// the kernels of each permitted path from the best one down, its own first,
// then those of the paths that it inherits, best first, until visit returns
// true. The portable kernels (index 0) are not inherited: products that run on
// them report `portable` as their path.
//
// In two rounds a path: kernels that read the large side in place, even
// inherited ones, come before any that has to pack it. (A kernel for few
// columns that packs it comes right before the one whose panels it shares.)
template <typename Visit>
void WalkKernels(Path permitted, Visit visit) {
  for (int i = static_cast<int>(std::size(kPathKernels)) - 1; i >= 0; --i) {
    const PathKernels& path = kPathKernels[i];
    if ((permitted & path.path) == Path::kNone) continue;
    for (const bool in_place : {true, false}) {
      for (int j = i; j >= std::min(i, 1); --j) {
        if (!Inherits(path, kPathKernels[j])) continue;
        const KernelTable table = kPathKernels[j].table();
        for (int k = 0; k < table.count; ++k) {
          const Kernel& kernel = table.kernels[k];
          if ((kernel.kind == KernelKind::kNarrowInPlace) == in_place &&
              visit(path.path, kPathKernels[j].path, kernel)) {
            return;
          }
        }
      }
    }
  }
}

// True if the path has a kernel of bits of its own for two operands of these
// types, which then is the only one for them.
bool HasOwnRounding(Path path, const KernelQuery& query) {
  const Scalar scalar = AsBFloat16(query.scalar.lhs);
  if (!Is16BitFloat(scalar) || scalar != AsBFloat16(query.scalar.rhs)) {
    return false;
  }
  bool found = false;
  WalkKernels(path, [&](Path, Path, const Kernel& kernel) {
    found = kernel.rounds_otherwise && kernel.lhs.scalar == scalar;
    return found;
  });
  return found;
}

// True if a kernel serves the query as it is or with its sides swapped.
bool Serves(const Kernel& kernel, const KernelQuery& query,
            const KernelQuery& swapped, bool* swap_sides) {
  // The narrow side should be packed; otherwise dst's order decides.
  bool try_swapped_first = kernel.kind == KernelKind::kRhsInPlace
                               ? query.cols < query.rows
                               : query.rows < query.cols;
  if (NeedsInt7(kernel) && !IsNarrow(kernel)) {
    try_swapped_first = !query.dst_col_major;
  }
  for (const bool swap : {try_swapped_first, !try_swapped_first}) {
    const KernelQuery& seen = swap ? swapped : query;
    *swap_sides = swap;
    if (!IsTooSmallFor(kernel, seen) && Obstacle(kernel, seen) == nullptr) {
      return true;
    }
  }
  return false;
}

// True if another kernel that the path permits is faster than this narrow one
// (Kernel::narrow_cols): it reads the wide side in place, or packs both.
bool WideIsFaster(Path path, const Kernel& narrow, const KernelQuery& query,
                  const KernelQuery& swapped) {
  if (narrow.kind != KernelKind::kNarrowInPlace || narrow.any_order) {
    return false;
  }
  bool found = false;
  WalkKernels(path, [&](Path, Path, const Kernel& kernel) {
    bool swap;
    if (kernel.narrow_cols == kernels::kNoLimit ||
        !Serves(kernel, query, swapped, &swap)) {
      return false;
    }
    const KernelQuery& seen = swap ? swapped : query;
    const int twice = kernel.multiplies_tiles && !seen.dst_col_major ? 2 : 1;
    return found = (!kernel.rhs.in_place || seen.rows <= seen.cols) &&
                   std::min(seen.rows, seen.cols) > twice * kernel.narrow_cols;
  });
  return found;
}

// Why not, with sides as they are or swapped, whichever suits the kernel
// better: without a limit of columns it writes one of the two orders of dst,
// else it wants the narrow side on the right.
const char* WhyNotEither(const Kernel& kernel, const KernelQuery& query,
                         const KernelQuery& swapped) {
  const bool swap =
      IsNarrow(kernel) ? query.rows < query.cols : !query.dst_col_major;
  const KernelQuery& seen = swap ? swapped : query;
  if (IsTooSmallFor(kernel, seen)) return "setting it up takes longer";
  return Obstacle(kernel, seen);
}

// Once for a kernel that several paths inherit; `reason` null: WhyNotEither's.
// Those for other types are no news.
void AddRejection(const Kernel& kernel, Path owner, const KernelQuery& query,
                  const KernelQuery& swapped, const char* reason,
                  std::vector<Rejection>* rejections) {
  if (kernel.family != query.family && kernel.family != swapped.family) return;
  for (const Rejection& rejection : *rejections) {
    if (rejection.kernel == &kernel) return;
  }
  if (reason == nullptr) reason = WhyNotEither(kernel, query, swapped);
  rejections->push_back({owner, &kernel, reason});
}

// True if the operands' product, were none of them packed, would run on a
// kernel whose sums have bits of their own: then it must, for they may not
// depend on packing.
bool RoundsOtherwise(const KernelQuery& query, Path permitted) {
  if (!IsNarrowFloat(query.scalar.lhs) || !IsNarrowFloat(query.scalar.rhs)) {
    return false;
  }
  KernelQuery plain = query;
  plain.packed = {nullptr, nullptr};
  return SelectKernel(plain, permitted).kernel->rounds_otherwise;
}

}  // namespace

KernelQuery Swapped(const KernelQuery& query) {
  KernelQuery result = query;
  result.family = InfoOf(query.family).swapped;
  std::swap(result.rows, result.cols);
  std::swap(result.scalar.lhs, result.scalar.rhs);
  std::swap(result.depth_contiguous.lhs, result.depth_contiguous.rhs);
  std::swap(result.cached.lhs, result.cached.rhs);
  std::swap(result.range.lhs, result.range.rhs);
  std::swap(result.packed.lhs, result.packed.rhs);
  result.dst_col_major = !query.dst_col_major;
  result.post_op_needs = SwappedNeeds(query.post_op_needs);
  return result;
}

KernelTable KernelsOf(Path path) {
  for (const PathKernels& entry : kPathKernels) {
    if (entry.path == path) return entry.table();
  }
  return KernelTable{nullptr, 0};
}

KernelChoice SelectKernel(const KernelQuery& query, Path permitted,
                          std::vector<Rejection>* rejections) {
  const KernelQuery swapped = Swapped(query);
  KernelChoice choice = {nullptr, Path::kNone, false};
  WalkKernels(permitted, [&](Path path, Path owner, const Kernel& kernel) {
    if (!kernel.rounds_otherwise && HasOwnRounding(path, query)) {
      if (rejections != nullptr) {
        AddRejection(kernel, owner, query, swapped,
                     "its sums have other bits than the path's", rejections);
      }
      return false;
    }
    bool swap;
    const bool serves = Serves(kernel, query, swapped, &swap);
    if (serves && !WideIsFaster(path, kernel, query, swapped)) {
      choice = {&kernel, path, swap};
      return true;
    }
    if (rejections != nullptr) {
      AddRejection(kernel, owner, query, swapped,
                   serves ? "a kernel for more columns is faster" : nullptr,
                   rejections);
    }
    return false;
  });
  return choice;
}

KernelTable RoutinesOf(Path path) {
  const auto is_path = [path](const PathKernels& p) { return p.path == path; };
  const PathKernels& of =
      *std::find_if(std::begin(kPathKernels), std::end(kPathKernels), is_path);
  // The path itself or the best one that it inherits; portable has them.
  KernelTable best = {};
  for (const PathKernels& from : kPathKernels) {
    const KernelTable table = from.table();
    if (table.post_ops != nullptr && (&from == &of || Inherits(of, from))) {
      best = table;
    }
    if (&from == &of) break;
  }
  return best;
}

Path OwnerOf(const Kernel& kernel) {
  for (const PathKernels& path : kPathKernels) {
    const KernelTable table = path.table();
    if (&kernel >= table.kernels && &kernel < table.kernels + table.count) {
      return path.path;
    }
  }
  return Path::kNone;
}

bool HasKernelsOf(Path permitted, Path owner) {
  bool found = false;
  WalkKernels(permitted, [&](Path, Path candidate, const Kernel&) {
    return found = candidate == owner;
  });
  return found;
}

KernelChoice SelectKernelToPackFor(Family family, Path permitted, Side side,
                                   const Elements& own, const Elements& other) {
  const auto holds = [](const kernels::PanelFormat& format,
                        const Elements& elements) {
    return CanHold(format, elements.scalar) &&
           (format.range == ValueRange::kFull ||
            format.range == elements.range);
  };
  KernelChoice choice = {nullptr, Path::kNone, false};
  WalkKernels(permitted, [&](Path, Path owner, const Kernel& kernel) {
    if (kernel.family != family || kernel.kind != KernelKind::kPanels ||
        (kernel.for_kept_lhs && side == Side::kRhs) ||
        (side == Side::kLhs && own.count < kernel.min_lhs_elements) ||
        !holds(FormatOf(kernel, side), own) ||
        !holds(FormatOf(kernel, Other(side)), other)) {
      return false;
    }
    choice = {&kernel, owner, false};
    return true;
  });
  return choice;
}

PackedLayout LayoutFor(const KernelChoice& choice, Side side,
                       Side kernel_side) {
  const Kernel& kernel = *choice.kernel;
  PackedLayout layout = {
      choice.path,
      side == kernel_side ? kernel.family : InfoOf(kernel.family).swapped,
      kernel_side, FormatOf(kernel, kernel_side),
      &FormatOf(kernel, kernel_side)};
  layout.format.depth_multiple = static_cast<int>(DepthMultiple(kernel));
  if (kernel.packed_lhs != nullptr && kernel_side == Side::kLhs) {
    layout.path = Path::kNone;
    layout.format = *kernel.packed_lhs;
  }
  return layout;
}

KernelChoice SelectKernelForPacked(const KernelQuery& query,
                                   const SidePair<const PackedLayout*>& packed,
                                   Path permitted,
                                   std::vector<Rejection>* rejections) {
  const Side given = packed.lhs != nullptr ? Side::kLhs : Side::kRhs;
  const bool swap = packed[given]->kernel_side != given;
  const bool rounds_otherwise = RoundsOtherwise(query, permitted);
  KernelQuery seen = swap ? Swapped(query) : query;
  // Every epilogue stores to either order, one of them faster: that which the
  // operand was packed for.
  seen.dst_col_major = true;
  const auto reads = [&](const Kernel& kernel, Path owner) {
    if (kernel.rounds_otherwise != rounds_otherwise) return false;
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
  Path told = Path::kNone;
  WalkKernels(permitted, [&](Path path, Path owner, const Kernel& kernel) {
    if (owner != packed[given]->path && packed[given]->path != Path::kNone) {
      if (rejections != nullptr && (told & owner) == Path::kNone) {
        told |= owner;
        rejections->push_back(
            {owner, nullptr, "an operand is packed for another"});
      }
      return false;
    }
    if (!reads(kernel, owner)) {
      if (rejections != nullptr && packed[given]->path == Path::kNone &&
          kernel.family == seen.family &&
          *kernel.packed_lhs == packed[given]->format) {
        AddRejection(kernel, owner, seen, seen, Obstacle(kernel, seen),
                     rejections);
      }
      return false;
    }
    // One for which the product is too small if there is no other.
    const bool is_too_small = IsTooSmallFor(kernel, seen);
    if (choice.kernel == nullptr || !is_too_small) {
      choice = {&kernel, path, swap};
    }
    return !is_too_small;
  });
  return choice;
}

}  // namespace ruy_like
