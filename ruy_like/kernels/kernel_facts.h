// What the layers above ask of a kernel.
//
// Apart from kernel.h because these functions run, which nothing may that
// per-ISA files include.
#ifndef RUY_LIKE_KERNELS_KERNEL_FACTS_H_
#define RUY_LIKE_KERNELS_KERNEL_FACTS_H_

#include <algorithm>
#include <cstddef>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/side.h"

namespace ruy_like {
namespace kernels {

inline const PanelFormat& FormatOf(const Kernel& kernel, Side side) {
  return side == Side::kLhs ? kernel.lhs : kernel.rhs;
}

// Null for a side that is read in place.
inline PackFn* PackRoutineOf(const Kernel& kernel, Side side) {
  return side == Side::kLhs ? kernel.pack_lhs : kernel.pack_rhs;
}

// The multiple that both sides' depth is padded to; 1 for what is read in
// place.
inline std::ptrdiff_t DepthMultiple(const Kernel& kernel) {
  return std::max(kernel.lhs.in_place ? 1 : kernel.lhs.depth_multiple,
                  kernel.rhs.in_place ? 1 : kernel.rhs.depth_multiple);
}

// Bytes of so many levels of a panel.
inline std::ptrdiff_t PanelBytes(const PanelFormat& format,
                                 std::ptrdiff_t levels) {
  return BytesOf(format.scalar, levels * format.width);
}

// Whether the kernel is wrong for operands that are not what their callers
// promise (PanelFormat::range). Most rely on nothing.
inline bool ReliesOnRanges(const Kernel& kernel) {
  return kernel.lhs.range != ValueRange::kFull ||
         kernel.rhs.range != ValueRange::kFull;
}

// Whether it serves products of few columns only.
inline bool IsNarrow(const Kernel& kernel) {
  return kernel.kind == KernelKind::kNarrowInPlace ||
         kernel.kind == KernelKind::kNarrowPanels;
}

}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_KERNEL_FACTS_H_
