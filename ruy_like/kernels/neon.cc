// Back-end: kernels of the NEON path, any 64-bit Arm processor's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/epilogue/post_loops.h"
#include "ruy_like/kernels/groups/group_ops_neon.h"
#include "ruy_like/kernels/kernel_names.h"
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

// By counts of instructions, streaming 4-bit codes always takes fewer.
using Groups =
    NeonGroupKernels<NeonWidenDot, NeonTileForm<NeonWidenDot, 2>, 12, 12,
                     /*kMaxCols=*/4, /*kMaxNibbleCols=*/32, NeonWidenNibbles>;

constexpr Kernel kList[] = {
    NarrowDotsKernel<S8S8Op>::ColumnEntry("S8InPlaceS8InPlace",
                                          /*dot_width=*/64),
    NarrowDotsKernel<U8U8Op>::ColumnEntry("U8InPlaceU8InPlace"),
    // With more columns packing the lhs takes fewer instructions. A later path,
    // which inherits these kernels, must allow at least as many.
    NarrowDotsKernel<S8S8Op>::Entry("S8InPlaceS8", Family::k8x8,
                                    PackNeon_8_S8_1x1, /*max_cols=*/3),
    NarrowDotsKernel<U8U8Op>::Entry("U8InPlaceU8", Family::k8x8,
                                    PackNeon_8_U8_1x1, /*max_cols=*/3),
    NarrowByDepthKernel<S8S8Op, /*kMaxCols=*/2>::Entry(
        "S8ByDepthS8", Family::k8x8, PackNeon_8_S8_1x1),
    NarrowByDepthKernel<U8U8Op, /*kMaxCols=*/2>::Entry(
        "U8ByDepthU8", Family::k8x8, PackNeon_8_U8_1x1),
    NarrowNeonBytesKernel::Entry("S8S8", Family::k8x8, PackNeon_8_S8_4x16,
                                 PackNeon_8_S8_1x1),
    NeonBytesKernel::Entry("S8S8", Family::k8x8, PackNeon_8_S8_4x16,
                           PackNeon_8_S8_4x16),
    S8S16InPlace::Entry("S8InPlaceS16", Family::k8x16, PackNeon_16_S16_1x1,
                        /*max_cols=*/5),
    S16S16::Entry("W16S16", Family::k8x16, PackNeon_8_S16_4x1,
                  PackNeon_16_S16_8x1),
    S16S16InPlace::Entry("S16InPlaceW16", Family::k16x8, PackNeon_8_S16_1x1,
                         /*max_cols=*/5),
    S16S16::Entry("S16W16", Family::k16x8, PackNeon_16_S16_4x1,
                  PackNeon_8_S16_8x1),
    F32AnyOrder::ColumnEntry("F32InPlaceF32InPlace"),
    F32AnyOrder::AnyOrderEntry("F32InPlaceF32", PackNeon_F32_F32_1x1),
    NarrowFloatNeon::Entry("F32InPlaceF32", PackNeon_F32_F32_1x1),
    F32ByDepth::Entry("F32ByDepthF32", Family::kF32, PackNeon_F32_F32_1x1),
    F32F32Narrow::Entry("F32F32", Family::kF32, PackNeon_F32_F32_4x1,
                        PackNeon_F32_F32_1x1),
    WithLimits(F32F32InPlace::Entry("F32F32InPlace", Family::kF32,
                                    PackNeon_F32_F32_4x1, nullptr),
               /*narrow_cols=*/2, /*row_major_depth=*/40),
    WithLimits(WithInOrderLoop<NeonFloatOp, FloatsInOrder>(
                   F32F32::Entry("F32F32", Family::kF32, PackNeon_F32_F32_4x1,
                                 PackNeon_F32_F32_8x1)),
               /*narrow_cols=*/6),
};
constexpr NamedKernels kTable("Neon", kList, Groups::kList);

}  // namespace

KernelTable NeonKernels() {
  return TableOf(kTable.kernels, PostLoops<SimdNeon>::Run,
                 QuantizeColumns<NeonGroupOps>);
}

}  // namespace ruy_like::kernels
