// Back-end contract: how one side of a product lies in memory when a kernel
// reads it.
//
// Part of kernel.h; also what the layers above need to know of packed operands
// (sizes, cache keys, files). Plain data only, like kernel.h.
//
// ## Packed panels
//
// A packed operand, a depth x columns matrix (kernel.h, Sides), is a sequence
// of panels of `width` columns, each one holding the whole (padded) depth.
// Inside a panel g = `dot_width` elements of one column lie together, a dot:
//
//    offset(k, w) = (k / g) * width * g + w * g + k % g
//
//          w = 0        w = 1              w = width-1
//        +-----------+-----------+-- ... -+-----------+
//        |k=0..g-1   |k=0..g-1   |        |k=0..g-1   |   dot 0
//        +-----------+-----------+-- ... -+-----------+
//        |k=g..2g-1  |k=g..2g-1  |        |k=g..2g-1  |   dot 1
//        +-----------+-----------+-- ... -+-----------+
//
// In panels of BF16 on x86 (in dots of 2 or, for AMX, 32 elements)
// each pair's later element comes first: VDPBF16PS adds the product of the
// upper halves of 32 bits first, so that sums are in order of depth. Kernels
// that widen such a lhs read the same panels.
//
// Depth is padded with zero elements to a multiple of `depth_multiple`, the
// last panel's missing columns are zero too. (Rhs panels of BF16 pairs, and of
// floats for a lhs of such pairs, are padded with -0: pack_common.h.) The
// buffer starts 64-byte aligned; panel p starts at element p * width *
// padded_depth.
#ifndef RUY_LIKE_KERNELS_PANEL_FORMAT_H_
#define RUY_LIKE_KERNELS_PANEL_FORMAT_H_

#include "ruy_like/scalar.h"

namespace ruy_like::kernels {

struct PanelFormat {
  // Element type inside the panels: an 8-bit operand may be widened (kI16) or
  // shifted to the other signedness by flipping its top bit.
  Scalar scalar;
  // The kernel reads this side where the caller left it: depth-contiguous
  // columns (or see by_depth) of exactly type `scalar`, any stride. Width,
  // dot_width and depth_multiple do not apply. When the other side's zero
  // point is not 0, the kernel makes the sums of this side itself (its sums
  // pointer is null).
  bool in_place;
  int width;           // columns per panel
  int dot_width;       // elements of one column that lie together
  int depth_multiple;  // depth is padded to a multiple of this
  // The elements for which the kernel is exact.
  ValueRange range = ValueRange::kFull;
  // In place, but contiguous along the width: the columns at one depth are
  // adjacent.
  bool by_depth = false;
  // Weights with group scales (groups/group_args.h): codes of so many bits.
  // Else 0.
  int code_bits = 0;
  // Codes are indices into a table of values.
  bool by_table = false;
};

// For the layers above: whether the elements of each pair are exchanged.
constexpr bool SwapsPairs(const PanelFormat& format) {
  return format.scalar == Scalar::kBF16 && format.dot_width != 4;
}
constexpr bool operator==(const PanelFormat& a, const PanelFormat& b) {
  return a.scalar == b.scalar && a.in_place == b.in_place &&
         a.width == b.width && a.dot_width == b.dot_width &&
         a.depth_multiple == b.depth_multiple && a.range == b.range &&
         a.by_depth == b.by_depth && a.code_bits == b.code_bits &&
         a.by_table == b.by_table;
}

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_FORMAT_H_
