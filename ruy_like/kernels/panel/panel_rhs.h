// Back-end: where a tile of the panel kernel finds its columns of the rhs.
//
// Template arguments of PanelKernel<> (panel_kernel.h): PackedRhs reads panels,
// InPlaceRhs the caller's own columns. Either says how a tile walks along its
// columns; neither multiplies.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_RHS_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_RHS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Columns of the rhs from some depth position on.
struct RhsColumns {
  const void* data;  // the first column, or the panel that it begins
  ptrdiff_t
      stride_bytes;  // from one panel, or one in-place column, to the next
};

// The first columns of a panel, or of two, along depth.
template <class Op, int kRhsWidth>
struct PanelCursor {
  typedef typename Op::Rhs Rhs;
  // From a column's dot to its next one.
  static constexpr ptrdiff_t kDotBytes =
      kRhsWidth * Op::kDotWidth * sizeof(Rhs);
  const char* panel;
  ptrdiff_t stride_bytes;

  RUY_LIKE_ALWAYS_INLINE explicit PanelCursor(const RhsColumns& columns)
      : panel(static_cast<const char*>(columns.data)),
        stride_bytes(columns.stride_bytes) {}
  RUY_LIKE_ALWAYS_INLINE const Rhs* Column(int c) const {
    return reinterpret_cast<const Rhs*>(panel + c / kRhsWidth * stride_bytes) +
           c % kRhsWidth * Op::kDotWidth;
  }
  RUY_LIKE_ALWAYS_INLINE void Advance() {
    panel += kRhsWidth * Op::kStepDepth * sizeof(Rhs);
  }
};

template <class Op, int kRhsWidth>
struct PackedRhs {
  static constexpr PanelFormat kFormat = {
      internal::ScalarOf<typename Op::Rhs>(),
      /*in_place=*/false,
      kRhsWidth,
      Op::kDotWidth,
      Op::kDepthMultiple,
      Op::kRhsRange};
  template <int kCols>
  using Cursor = PanelCursor<Op, kRhsWidth>;

  // The columns from `col` on, a multiple of kRhsWidth.
  static RUY_LIKE_ALWAYS_INLINE RhsColumns Columns(const KernelArgs& args,
                                                   ptrdiff_t col) {
    return {static_cast<const char*>(args.rhs) +
                col / kRhsWidth * args.rhs_stride_bytes,
            args.rhs_stride_bytes};
  }
};

// kCols columns where they lie, depth-contiguous:
//
//    pointers[0] ->            | k0 k1 k2 ...     column 0
//      + stride_bytes          | k0 k1 k2 ...     column 1
//      + 2 * stride_bytes      | k0 k1 k2 ...     column 2
//    pointers[1] ->            | k0 k1 k2 ...     column 3, and so on
//
// Three columns share a pointer, since an address may add another register,
// once or doubled.
template <class Op, int kCols>
struct ColumnCursor {
  typedef typename Op::Rhs Rhs;
  static constexpr ptrdiff_t kDotBytes = sizeof(Rhs);
  static constexpr int kPointers = (kCols + 2) / 3;
  const char* pointers[kPointers];
  ptrdiff_t stride_bytes;

  RUY_LIKE_ALWAYS_INLINE explicit ColumnCursor(const RhsColumns& columns)
      : stride_bytes(columns.stride_bytes) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kPointers; ++i) {
      pointers[i] =
          static_cast<const char*>(columns.data) + 3 * i * stride_bytes;
      // Without the barrier GCC derives them from each other in every step.
      asm("" : "+r"(pointers[i]));
    }
  }
  RUY_LIKE_ALWAYS_INLINE const Rhs* Column(int c) const {
    return reinterpret_cast<const Rhs*>(pointers[c / 3] + c % 3 * stride_bytes);
  }
  RUY_LIKE_ALWAYS_INLINE void Advance() {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kPointers; ++i) pointers[i] += sizeof(Rhs);
  }
};

// For operations of one element a step, for which neither the end of depth nor
// sums need care, and for those whose own tile and epilogue handle both
// (panel_tile_columns_neon.h). Not for bytes on x86: VPDPBUSD needs one
// unsigned side, hence always one side's sums; made here, they cost as much as
// packing.
template <class Op>
struct InPlaceRhs {
  static_assert(Op::kStepDepth == 1, "");
  static constexpr PanelFormat kFormat = {
      internal::ScalarOf<typename Op::Rhs>(),
      /*in_place=*/true, 0, 0, 0};
  template <int kCols>
  using Cursor = ColumnCursor<Op, kCols>;

  static RUY_LIKE_ALWAYS_INLINE RhsColumns Columns(const KernelArgs& args,
                                                   ptrdiff_t col) {
    return {static_cast<const char*>(args.rhs) + col * args.rhs_stride_bytes,
            args.rhs_stride_bytes};
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_RHS_H_
