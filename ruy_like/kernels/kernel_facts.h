// Facts of a kernel, for the layers above.
//
// Separate from kernel.h, since per-ISA files, which include that, must not
// share functions that run.
#ifndef RUY_LIKE_KERNELS_KERNEL_FACTS_H_
#define RUY_LIKE_KERNELS_KERNEL_FACTS_H_

#include <algorithm>
#include <cstddef>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/side.h"

namespace ruy_like::kernels {

inline const PanelFormat& FormatOf(const Kernel& kernel, Side side) {
  return side == Side::kLhs ? kernel.lhs : kernel.rhs;
}

// Null for a side that is read in place.
inline PackFn* PackRoutineOf(const Kernel& kernel, Side side) {
  return side == Side::kLhs ? kernel.pack_lhs : kernel.pack_rhs;
}

// The multiple that both sides' depth is padded to; a side that is read in
// place is not padded.
inline std::ptrdiff_t DepthMultiple(const Kernel& kernel) {
  return std::max(kernel.lhs.in_place ? 1 : kernel.lhs.depth_multiple,
                  kernel.rhs.in_place ? 1 : kernel.rhs.depth_multiple);
}

// Bytes of a panel of depth `depth`.
inline std::ptrdiff_t PanelBytes(const PanelFormat& format,
                                 std::ptrdiff_t depth) {
  const std::ptrdiff_t bytes = BytesOf(format.scalar, depth * format.width);
  return format.code_bits == 0 ? bytes : bytes * format.code_bits / 8;
}

// True if the kernel is exact only for operands within a range that callers
// promise (PanelFormat::range).
inline bool ReliesOnRanges(const Kernel& kernel) {
  return kernel.lhs.range != ValueRange::kFull ||
         kernel.rhs.range != ValueRange::kFull;
}

// True if pack_lhs widens a lhs that the caller has packed, before `run`.
inline bool WidensLhs(const Kernel& kernel) {
  return kernel.packed_lhs != nullptr && kernel.pack_lhs != nullptr;
}

// True if it serves products of few columns only.
inline bool IsNarrow(const Kernel& kernel) {
  return kernel.kind == KernelKind::kNarrowInPlace ||
         kernel.kind == KernelKind::kNarrowPanels;
}

// From column to column, or row to row, of a tile that post-ops follow.
inline std::ptrdiff_t TileStride(std::ptrdiff_t length) {
  return (length + 15) / 16 * 16;
}

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_KERNEL_FACTS_H_
