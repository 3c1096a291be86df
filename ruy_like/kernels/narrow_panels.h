// Back-end: narrow products of a lhs that is packed, for all x86 paths.
//
// Included by the per-ISA files, which instantiate NarrowPanelKernel<> beside
// their PanelKernel<> and list it in front of that; called by the middle-end
// through the table for products of a few columns whose lhs is in the prepacked
// cache, was packed by the caller, or can't be read in place. The lhs's panels
// are the ones of that PanelKernel: a cached operand serves both.
//
// Each byte of the lhs is used so seldom here that reading it is the bound, and
// two things of the wide kernel are in the way. With one column a tile of 2 or
// 3 panels has too few accumulators to hide the latency of the multiplications;
// this one has kMaxVectors. And of a rhs panel of 6 or 8 columns most is
// padding, which falls out of the L1 cache as the lhs streams through it; here
// rhs panels are one column wide:
//
//                      rhs columns:  c0   c1
//                                    |    |
//     lhs panel p:     l0  ->       a00  a01      up to kMaxVectors panels
//     lhs panel p + 1: l1  ->       a10  a11      by kMaxCols columns
//     ...
//
// At 4096x4096x1 on a Zen 5, GB/s with the wide kernel and with this one: int8
// on AVX-512-VNNI 101 and 111, AVX-512 85 and 95, AVX-VNNI 63 and 108, AVX2 51
// and 65; float on AVX-512 51 and 62, AVX2 31 and 51. Rejected: prefetching 8
// to 64 lines ahead in software (mostly slower, by up to 30%); 8 panels at once
// of 256 bits, which take more registers than there are where int8 is widened
// (43 GB/s).
#ifndef RUY_LIKE_KERNELS_NARROW_PANELS_H_
#define RUY_LIKE_KERNELS_NARROW_PANELS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow_common.h"
#include "ruy_like/kernels/panel_kernel.h"

namespace ruy_like {
namespace kernels {
namespace {

// kVectorsOfOne: panels at once where there is only one column.
template <class Op, int kVectorsOfOne, int kMaxVectors, int kMaxCols>
struct NarrowPanelKernel : private PanelKernel<Op, kMaxVectors, 1> {
  typedef PanelKernel<Op, kMaxVectors, 1> Base;
  static constexpr int kLanes = Op::Simd::kLanes;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    return {name,
            family,
            {kScalarOf<typename Op::Lhs>, /*in_place=*/false, kLanes,
             Op::kGroup, /*depth_multiple=*/Op::kGroup},
            PackedRhs<Op, 1>::kFormat,
            /*tile_rows=*/kMaxVectors * kLanes,
            /*tile_cols=*/kMaxCols,
            /*max_cols=*/kMaxCols,
            /*row_major_min_depth=*/0,
            kNarrowMacsPerNs / static_cast<int>(sizeof(typename Op::Lhs)),
            pack_lhs,
            pack_rhs,
            Run};
  }

  static void Run(const KernelArgs* args) {
    const ptrdiff_t vectors = (args->rows + kLanes - 1) / kLanes;
    if (args->cols == 1) {
      Base::template RunPanels<kVectorsOfOne, 1>(*args, 0, vectors);
    } else {
      Base::template RunPanels<kMaxVectors, kMaxCols>(*args, 0, vectors);
    }
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_PANELS_H_
