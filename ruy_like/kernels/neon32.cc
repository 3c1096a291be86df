// Back-end: kernels of the neon32 path, any 32-bit Arm processor's with NEON.
//
// The same sources as the neon path's, with tiles for 16 registers. Sums of
// floats are not fused: NEON as such has no fused multiply-add there.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/narrow/narrow_dots.h"
#include "ruy_like/kernels/narrow/narrow_float_neon.h"
#include "ruy_like/kernels/narrow/narrow_simd_neon.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile_bytes_neon.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

using S16S16 = PanelKernel<NeonWordsOp, 3, 4>;
using F32F32 = PanelKernel<NeonFloatOp, 3, 4>;
using S8S8Op = NarrowBytesOp<NarrowSimdNeon, NeonDots, int8_t>;
using U8U8Op = NarrowBytesOp<NarrowSimdNeon, NeonDots, uint8_t>;
using S8S16InPlace =
    NarrowDotsKernel<NarrowPairsOp<NarrowSimdNeon, NeonDots, int8_t>>;
using S16S16InPlace =
    NarrowDotsKernel<NarrowPairsOp<NarrowSimdNeon, NeonDots, int16_t>>;

constexpr Kernel kKernels[] = {
    NarrowDotsKernel<S8S8Op>::ColumnEntry("Neon32_S8InPlaceS8InPlace_4x1x16"),
    NarrowDotsKernel<U8U8Op>::ColumnEntry("Neon32_U8InPlaceU8InPlace_4x1x16"),
    NarrowDotsKernel<S8S8Op>::Entry("Neon32_S8InPlaceS8_16x2x16", Family::k8x8,
                                    PackNeon32_8_S8_1x1, /*max_cols=*/2),
    NarrowDotsKernel<U8U8Op>::Entry("Neon32_U8InPlaceU8_16x2x16", Family::k8x8,
                                    PackNeon32_8_U8_1x1, /*max_cols=*/2),
    NeonBytesKernel::Entry("Neon32_S8S8_4x4x16", Family::k8x8,
                           PackNeon32_8_S8_4x16, PackNeon32_8_S8_4x16),
    S8S16InPlace::Entry("Neon32_S8InPlaceS16_16x16x8", Family::k8x16,
                        PackNeon32_16_S16_1x1),
    S16S16::Entry("Neon32_W16S16_12x4x1", Family::k8x16, PackNeon32_8_S16_4x1,
                  PackNeon32_16_S16_4x1),
    S16S16InPlace::Entry("Neon32_S16InPlaceW16_16x16x8", Family::k16x8,
                         PackNeon32_8_S16_1x1),
    S16S16::Entry("Neon32_S16W16_12x4x1", Family::k16x8, PackNeon32_16_S16_4x1,
                  PackNeon32_8_S16_4x1),
    NarrowFloatNeon::Entry("Neon32_F32InPlaceF32_8x3x1",
                           PackNeon32_F32_F32_1x1),
    F32F32::Entry("Neon32_F32F32_12x4x1", Family::kF32, PackNeon32_F32_F32_4x1,
                  PackNeon32_F32_F32_4x1),
};

}  // namespace

KernelTable Neon32Kernels() { return TableOf(kKernels); }

}  // namespace ruy_like::kernels
