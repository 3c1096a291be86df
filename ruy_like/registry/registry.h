// Registry: chooses kernels; the only reader of the paths' kernel tables.
//
// Called by choose_plan.cc for each new product, by packed_matrix.cc for
// packing ahead, by tests and tools to enumerate. Selection is a pure function
// of the query and of the permitted paths, so that a test can pin its outcome
// on any host.
#ifndef RUY_LIKE_REGISTRY_REGISTRY_H_
#define RUY_LIKE_REGISTRY_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/attributes.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/post_ops.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/packed/packed_layout.h"
#include "ruy_like/path.h"
#include "ruy_like/scalar.h"
#include "ruy_like/side.h"

namespace ruy_like {

// A path's own kernels, without inherited ones, as compiled into this build;
// empty for a path that is not compiled in. `path` must be a single bit.
kernels::KernelTable KernelsOf(Path path);

// The table with the path's routines for post-ops and for quantizing, its own
// or one that it inherits. Their bits are those of every other path's.
kernels::KernelTable RoutinesOf(Path path);

// Post-ops' needs with the sides swapped.
inline std::uint8_t SwappedNeeds(std::uint8_t needs) {
  constexpr int kSums = kernels::kNeedsLhsSums | kernels::kNeedsRhsSums;
  const bool swaps = (needs & kSums) != 0 && (needs & kSums) != kSums;
  return static_cast<std::uint8_t>(swaps ? needs ^ kSums : needs);
}

// The facts that selection depends on. Rows, columns and sides are as the
// caller of Mul sees them.
struct KernelQuery {
  Family family;
  FloatSums float_sums = FloatSums::kInOrder;
  std::ptrdiff_t rows, cols, depth;
  SidePair<Scalar> scalar;
  SidePair<bool> depth_contiguous;
  // The operand's packed form is or will be in the prepacked cache.
  SidePair<bool> cached;
  // Known, not merely promised, range of the operand's values.
  SidePair<ValueRange> range = {ValueRange::kFull, ValueRange::kFull};
  // Adjacent dst elements: in a column (true) or in a row.
  bool dst_col_major;
  // kernels::PostOpNeeds. A side whose sums are needed is not read in place.
  std::uint8_t post_op_needs = 0;
  // PackedLayout's kernel_format of an operand that the caller has packed, else
  // null.
  SidePair<const kernels::PanelFormat*> packed = {nullptr, nullptr};
  // Depth of a group of weights with group scales (the last group may have
  // fewer); else 0.
  std::ptrdiff_t group_depth = 0;
  // How far a table's greatest value is from its least one.
  std::uint8_t table_span = 0;
};

// All fields of a query, the small ones in one number: queries are the same if
// their keys are. Made and compared for every product, in registers: fields
// that were just stored one by one stall a wider comparison on store
// forwarding.
struct QueryKey {
  std::ptrdiff_t rows, cols, depth, group_depth;
  std::uint64_t small_fields;
  SidePair<const kernels::PanelFormat*> packed;

  bool operator==(const QueryKey& other) const {
    return rows == other.rows && cols == other.cols && depth == other.depth &&
           group_depth == other.group_depth &&
           small_fields == other.small_fields &&
           packed.lhs == other.packed.lhs && packed.rhs == other.packed.rhs;
  }
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline QueryKey KeyOf(const KernelQuery& query) {
  std::uint64_t small = 0;
  const auto append = [&small](int bits, auto field) {
    small = small << bits | static_cast<std::uint64_t>(field);
  };
  append(8, query.family);
  append(8, query.scalar.lhs);
  append(8, query.scalar.rhs);
  append(8, query.range.lhs);
  append(8, query.range.rhs);
  append(8, query.float_sums);
  append(1, query.depth_contiguous.lhs);
  append(1, query.depth_contiguous.rhs);
  append(1, query.cached.lhs);
  append(1, query.cached.rhs);
  append(1, query.dst_col_major);
  append(8, query.table_span);
  append(3, query.post_op_needs);
  return {query.rows,        query.cols, query.depth,
          query.group_depth, small,      query.packed};
}

// The query as a kernel sees it when the sides are swapped.
KernelQuery Swapped(const KernelQuery& query);

struct KernelChoice {
  const kernels::Kernel* kernel;  // never null while kPortable is permitted
  Path path;
  // The product is to be computed as dst^T = rhs^T * lhs^T: kernels write
  // columns, and narrow kernels want the narrow side on the right.
  bool swap_sides;
};

// The best permitted path that has a kernel for the query, of its own or of a
// lower path whose instructions it includes (whether that one is permitted or
// not), and of its kernels the first one that applies; those that read the
// large side in place (kNarrowInPlace) come first. Portable kernels apply to
// everything.
//
// Appends rejected kernels to *rejections, if not null, in order of the search.
struct Rejection {
  Path path;                      // that the kernel belongs to
  const kernels::Kernel* kernel;  // null: all of them
  const char* reason;
};
KernelChoice SelectKernel(const KernelQuery& query, Path permitted,
                          std::vector<Rejection>* rejections = nullptr);

// The path that a kernel of the tables belongs to.
Path OwnerOf(const kernels::Kernel& kernel);

// True if one of the paths is `owner` or inherits its kernels.
bool HasKernelsOf(Path permitted, Path owner);

// The kernel into whose panels an operand is packed ahead of products: of kind
// kPanels, of the best permitted path that has one, of its own or inherited.
// The choice's path is the kernel's own. `family` and `side` are in the
// kernel's orientation; `own` describes the operand's elements, `other` those
// of the other operand.
struct Elements {
  Scalar scalar;
  ValueRange range;
  std::int64_t count;  // in the operand; that of `other` is not looked at
};
KernelChoice SelectKernelToPackFor(Family family, Path permitted, Side side,
                                   const Elements& own, const Elements& other);

// The layout that such a kernel gives an operand on the caller's side `side`.
PackedLayout LayoutFor(const KernelChoice& choice, Side side, Side kernel_side);

// As SelectKernel, with one or both operands packed; null for one that is not.
// The kernel belongs to the operands' path; dst may have either order. The
// kernel is null if no permitted path has one.
KernelChoice SelectKernelForPacked(
    const KernelQuery& query, const SidePair<const PackedLayout*>& packed,
    Path permitted, std::vector<Rejection>* rejections = nullptr);

// The kernel's routine for cores that issue in order, or for others.
inline kernels::KernelFn* RoutineFor(const kernels::Kernel& kernel,
                                     bool in_order) {
  return in_order && kernel.run_in_order != nullptr ? kernel.run_in_order
                                                    : kernel.run;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_REGISTRY_REGISTRY_H_
