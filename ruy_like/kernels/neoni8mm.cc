// Back-end: kernels of the path with NEON's 8-bit matrix multiplication.
// Narrow products that pack would be the dot-product path's, families not
// listed are the NEON path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/groups/group_squares_neon.h"
#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_tile_squares_neon.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

using S8S8 = PanelKernel<NeonSquaresOp, 3, 8>;

using S8S8RhsInPlace =
    PanelKernel<NeonSquaresColumnsOp, 2, 8, InPlaceRhs<NeonSquaresColumnsOp>>;

// Few columns of group-scaled weights go to dot products, whose lanes they
// fill.
using Groups = NeonGroupKernels<NeonSdot, NeonTileForm<NeonSquaresDot, 6>, 40,
                                80, /*kMaxCols=*/2, /*kMaxNibbleCols=*/2,
                                NeonNibbles<NeonSdot>, NeonRowPairs>;

constexpr Kernel kList[] = {
    WithLimits(S8S8RhsInPlace::Entry("S8S8InPlace", Family::k8x8,
                                     PackNeon_8_S8_4x8, nullptr),
               /*narrow_cols=*/1, /*row_major_depth=*/1000),
    WithLimits(
        S8S8::Entry("S8S8", Family::k8x8, PackNeon_8_S8_4x8, PackNeon_8_S8_8x8),
        /*narrow_cols=*/3),
};
constexpr NamedKernels kTable("NeonI8mm", kList, Groups::kList);

}  // namespace

KernelTable NeonI8mmKernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
