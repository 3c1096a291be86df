// Back-end: kernels of the neon32 path, any 32-bit Arm processor's with NEON.
//
// The same sources as the neon path's, with tiles for 16 registers. Sums of
// floats are not fused: NEON as such has no fused multiply-add there.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/kernel_names.h"
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

constexpr Kernel kList[] = {
    NarrowDotsKernel<S8S8Op>::ColumnEntry("S8InPlaceS8InPlace"),
    NarrowDotsKernel<U8U8Op>::ColumnEntry("U8InPlaceU8InPlace"),
    NarrowDotsKernel<S8S8Op>::Entry("S8InPlaceS8", Family::k8x8,
                                    PackNeon32_8_S8_1x1, /*max_cols=*/2),
    NarrowDotsKernel<U8U8Op>::Entry("U8InPlaceU8", Family::k8x8,
                                    PackNeon32_8_U8_1x1, /*max_cols=*/2),
    NeonBytesKernel::Entry("S8S8", Family::k8x8, PackNeon32_8_S8_4x16,
                           PackNeon32_8_S8_4x16),
    S8S16InPlace::Entry("S8InPlaceS16", Family::k8x16, PackNeon32_16_S16_1x1),
    S16S16::Entry("W16S16", Family::k8x16, PackNeon32_8_S16_4x1,
                  PackNeon32_16_S16_4x1),
    S16S16InPlace::Entry("S16InPlaceW16", Family::k16x8, PackNeon32_8_S16_1x1),
    S16S16::Entry("S16W16", Family::k16x8, PackNeon32_16_S16_4x1,
                  PackNeon32_8_S16_4x1),
    NarrowFloatNeon::Entry("F32InPlaceF32", PackNeon32_F32_F32_1x1),
    F32F32::Entry("F32F32", Family::kF32, PackNeon32_F32_F32_4x1,
                  PackNeon32_F32_F32_4x1),
};
constexpr NamedKernels kTable("Neon32", kList);

}  // namespace

KernelTable Neon32Kernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
