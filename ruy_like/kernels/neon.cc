// Back-end: kernels of the NEON path, any 64-bit Arm processor's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/epilogue/post_loops.h"
#include "ruy_like/kernels/groups/group_ops_neon.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/narrow/narrow_by_depth.h"
#include "ruy_like/kernels/narrow/narrow_bytes_neon.h"
#include "ruy_like/kernels/narrow/narrow_dots.h"
#include "ruy_like/kernels/narrow/narrow_float_neon.h"
#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/narrow/narrow_simd_neon.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile_bytes_neon.h"
#include "ruy_like/kernels/panel/panel_tile_columns_neon.h"
#include "ruy_like/kernels/panel/panel_tile_in_order_neon.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

using S16S16 = PanelKernel<NeonWordsOp, 3, 8>;
using F32F32 = PanelKernel<NeonFloatOp, 3, 8>;
using F32F32InPlace =
    PanelKernel<NeonFloatColumnsOp, 2, 8, InPlaceRhs<NeonFloatColumnsOp>>;
using F32F32Narrow = NarrowPanelKernel<FloatOp<SimdNeon>, 6, 4, 2>;
using F32ByDepth =
    NarrowByDepthKernel<NarrowFloatsOp<NarrowSimdNeon, Scalar::kF32>,
                        /*kMaxCols=*/4>;
using F32AnyOrder =
    NarrowDotsKernel<NarrowFloatsOp<NarrowSimdNeon, Scalar::kF32>>;
using S8S8Op = NarrowBytesOp<NarrowSimdNeon, NeonDots, int8_t>;
using U8U8Op = NarrowBytesOp<NarrowSimdNeon, NeonDots, uint8_t>;
using S8S16InPlace =
    NarrowDotsKernel<NarrowPairsOp<NarrowSimdNeon, NeonDots, int8_t>>;
using S16S16InPlace =
    NarrowDotsKernel<NarrowPairsOp<NarrowSimdNeon, NeonDots, int16_t>>;

constexpr Kernel kKernels[] = {
    NarrowDotsKernel<S8S8Op>::ColumnEntry("Neon_S8InPlaceS8InPlace_4x1x64"),
    NarrowDotsKernel<U8U8Op>::ColumnEntry("Neon_U8InPlaceU8InPlace_4x1x16"),
    // With more columns packing the lhs takes fewer instructions. A later path,
    // which inherits these kernels, must allow at least as many.
    NarrowDotsKernel<S8S8Op>::Entry("Neon_S8InPlaceS8_16x3x16", Family::k8x8,
                                    PackNeon_8_S8_1x1, /*max_cols=*/3),
    NarrowDotsKernel<U8U8Op>::Entry("Neon_U8InPlaceU8_16x3x16", Family::k8x8,
                                    PackNeon_8_U8_1x1, /*max_cols=*/3),
    NarrowByDepthKernel<S8S8Op, /*kMaxCols=*/2>::Entry(
        "Neon_S8ByDepthS8_16x2x1", Family::k8x8, PackNeon_8_S8_1x1),
    NarrowByDepthKernel<U8U8Op, /*kMaxCols=*/2>::Entry(
        "Neon_U8ByDepthU8_16x2x1", Family::k8x8, PackNeon_8_U8_1x1),
    NarrowNeonBytesKernel::Entry("Neon_S8S8_4x2x16", Family::k8x8,
                                 PackNeon_8_S8_4x16, PackNeon_8_S8_1x1),
    NeonBytesKernel::Entry("Neon_S8S8_4x4x16", Family::k8x8, PackNeon_8_S8_4x16,
                           PackNeon_8_S8_4x16),
    S8S16InPlace::Entry("Neon_S8InPlaceS16_16x5x8", Family::k8x16,
                        PackNeon_16_S16_1x1, /*max_cols=*/5),
    S16S16::Entry("Neon_W16S16_12x8x1", Family::k8x16, PackNeon_8_S16_4x1,
                  PackNeon_16_S16_8x1),
    S16S16InPlace::Entry("Neon_S16InPlaceW16_16x5x8", Family::k16x8,
                         PackNeon_8_S16_1x1, /*max_cols=*/5),
    S16S16::Entry("Neon_S16W16_12x8x1", Family::k16x8, PackNeon_16_S16_4x1,
                  PackNeon_8_S16_8x1),
    F32AnyOrder::ColumnEntry("Neon_F32InPlaceF32InPlace_4x1x4"),
    F32AnyOrder::AnyOrderEntry("Neon_F32InPlaceF32_4x4x4",
                               PackNeon_F32_F32_1x1),
    NarrowFloatNeon::Entry("Neon_F32InPlaceF32_8x8x1", PackNeon_F32_F32_1x1),
    F32ByDepth::Entry("Neon_F32ByDepthF32_64x4x1", Family::kF32,
                      PackNeon_F32_F32_1x1),
    F32F32Narrow::Entry("Neon_F32F32_16x2x1", Family::kF32,
                        PackNeon_F32_F32_4x1, PackNeon_F32_F32_1x1),
    WithLimits(F32F32InPlace::Entry("Neon_F32F32InPlace_8x8x1", Family::kF32,
                                    PackNeon_F32_F32_4x1, nullptr),
               /*narrow_cols=*/2, /*row_major_depth=*/40),
    WithLimits(WithInOrderLoop<NeonFloatOp, FloatsInOrder>(
                   F32F32::Entry("Neon_F32F32_12x8x1", Family::kF32,
                                 PackNeon_F32_F32_4x1, PackNeon_F32_F32_8x1)),
               /*narrow_cols=*/6),
    // With group scales. By counts of instructions, streaming 4-bit codes
    // always takes fewer.
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonWidenNibbles>>(
        "Neon_G4S8_16x2x8", kPackedCodes4, nullptr, 12, /*max_cols=*/32),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonWidenDot, 2>>(
        "Neon_G4W8S8_16x2x8", kPackedCodes4, PackNibbles<WidenNibbles>, 12),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonFlippedBytes<NeonWidenDot>>>(
        "Neon_G8S8_16x2x8", kPackedCodes8, nullptr, 12, /*max_cols=*/4),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonWidenDot, 2>>(
        "Neon_G8W8S8_16x2x8", kPackedCodes8, PackSignedCodes<MakeCodesSigned>,
        12),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonByTable<NeonWidenHalves, 4>>>(
        "Neon_T4S8_16x2x8", kPackedTable4, nullptr, 12, /*max_cols=*/4),
    GroupEntry<NeonGroupOps, NeonStreamForm<NeonByTable<NeonWidenHalves, 2>>>(
        "Neon_T2S8_16x2x16", kPackedTable2, nullptr, 12, /*max_cols=*/4),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonWidenDot, 2>>(
        "Neon_T4W8S8_16x2x8", kPackedTable4, PackByTable<NeonLookup<4>>, 12),
    GroupEntry<NeonGroupOps, NeonTileForm<NeonWidenDot, 2>>(
        "Neon_T2W8S8_16x2x8", kPackedTable2, PackByTable<NeonLookup<2>>, 12),
};

}  // namespace

KernelTable NeonKernels() {
  return TableOf(kKernels, PostLoops<SimdNeon>::Run,
                 QuantizeColumns<NeonGroupOps>);
}

}  // namespace ruy_like::kernels
