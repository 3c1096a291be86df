// Back-end: kernels of the path with NEON's 8-bit matrix multiplication.
// Narrow products that pack would be the dot-product path's, families not
// listed are the NEON path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/groups/group_squares_neon.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_tile_squares_neon.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

using S8S8 = PanelKernel<NeonSquaresOp, 3, 8>;

using S8S8RhsInPlace =
    PanelKernel<NeonSquaresColumnsOp, 2, 8, InPlaceRhs<NeonSquaresColumnsOp>>;

constexpr Kernel kKernels[] = {
    WithLimits(S8S8RhsInPlace::Entry("NeonI8mm_S8S8InPlace_8x8x8", Family::k8x8,
                                     PackNeon_8_S8_4x8, nullptr),
               /*narrow_cols=*/1, /*row_major_depth=*/1000),
    WithLimits(S8S8::Entry("NeonI8mm_S8S8_12x8x8", Family::k8x8,
                           PackNeon_8_S8_4x8, PackNeon_8_S8_8x8),
               /*narrow_cols=*/3),
    // Few columns of group-scaled weights go to dot products, whose lanes they
    // fill.
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonSdotNibbles>>(
        "NeonI8mm_G4S8_16x2x8", kPackedCodes4, nullptr, 40, /*max_cols=*/2),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSquaresDot, 6>>(
        "NeonI8mm_G4W8S8_16x6x8", kPackedCodes4,
        PackNibbles<WidenNibblesOfRowPairs>, 80),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonFlippedBytes<NeonSdot>>>(
        "NeonI8mm_G8S8_16x2x8", kPackedCodes8, nullptr, 40, /*max_cols=*/2),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSquaresDot, 6>>(
        "NeonI8mm_G8W8S8_16x6x8", kPackedCodes8,
        PackSignedCodes<MakeRowPairsSigned>, 80),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonByTable<NeonSdotNibbles, 4>>>(
        "NeonI8mm_T4S8_16x2x8", kPackedTable4, nullptr, 40, /*max_cols=*/2),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonByTable<NeonSdotNibbles, 2>>>(
        "NeonI8mm_T2S8_16x2x16", kPackedTable2, nullptr, 40, /*max_cols=*/2),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSquaresDot, 6>>(
        "NeonI8mm_T4W8S8_16x6x8", kPackedTable4,
        PackByTable<NeonLookup<4>, NeonRowPairs>, 80),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonSquaresDot, 6>>(
        "NeonI8mm_T2W8S8_16x6x8", kPackedTable2,
        PackByTable<NeonLookup<2>, NeonRowPairs>, 80),
};

}  // namespace

KernelTable NeonI8mmKernels() { return TableOf(kKernels); }

}  // namespace ruy_like::kernels
