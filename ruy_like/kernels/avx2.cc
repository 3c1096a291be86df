// Back-end: kernels of the AVX2 + FMA path.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/narrow/narrow_along_depth.h"
#include "ruy_like/kernels/narrow/narrow_by_level.h"
#include "ruy_like/kernels/narrow/narrow_digits.h"
#include "ruy_like/kernels/narrow/narrow_float.h"
#include "ruy_like/kernels/narrow/narrow_int.h"
#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_widen.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/simd_avx2.h"

namespace ruy_like {
namespace kernels {
namespace {

using Dot = MaddDot<Simd256>;
using S8S16 = WideningPanelKernel<Simd256, Dot, 2, 6>;
using S7U7 = PanelKernel<Int7TwoQuadsOp<Simd256, Dot>, 2, 6>;
using S7U8 = PanelKernel<Int7QuadsOp<Simd256, Dot>, 2, 6>;
using S7U8Narrow = NarrowPanelKernel<Int7QuadsOp<Simd256, Dot>, 6, 4, 2>;
using S8S16Narrow = NarrowPanelKernel<PairsOp<Simd256, Dot, int8_t>, 6, 4, 2>;
using S16S16 = PanelKernel<PairsOp<Simd256, Dot, int16_t>, 2, 6>;
using S16S16Narrow = NarrowPanelKernel<PairsOp<Simd256, Dot, int16_t>, 6, 4, 2>;
using F32Op = FloatOp<Simd256>;
using F32F32 = PanelKernel<F32Op, 2, 6>;
using F32F32InPlaceRhs = PanelKernel<F32Op, 2, 6, InPlaceRhs<F32Op>>;
using F32F32Narrow = NarrowPanelKernel<F32Op, 4, 4, 2>;
using S8S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd256, Dot, int8_t>>;
using U8S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd256, Dot, uint8_t>>;
using S8DigitsInPlace = NarrowDigitsKernel<Simd256, Dot, int8_t>;
using U8DigitsInPlace = NarrowDigitsKernel<Simd256, Dot, uint8_t>;
using S16S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd256, Dot, int16_t>>;
using F32F32InPlace = NarrowFloatKernel<Simd256, 2, 6, PackAvx2_F32_F32_8x1>;
using F32ByLevel = NarrowByLevelKernel<Simd256>;
using F32AlongDepth = NarrowAlongDepthKernel<Simd256>;

constexpr Kernel kKernels[] = {
    S8DigitsInPlace::Entry("Avx2_S8InPlaceW16_16x1x16", PackAvx2_8_S16_1x1),
    U8DigitsInPlace::Entry("Avx2_U8InPlaceW16_16x1x16", PackAvx2_8_S16_1x1),
    S8S16InPlace::Entry("Avx2_S8InPlaceW16_16x16x16", Family::k8x8,
                        PackAvx2_8_S16_1x1),
    U8S16InPlace::Entry("Avx2_U8InPlaceW16_16x16x16", Family::k8x8,
                        PackAvx2_8_S16_1x1),
    S7U8Narrow::Entry("Avx2_S7U8_32x2x4", Family::k8x8, PackAvx2_8_S8_8x4,
                      PackAvx2_8_U8_1x1),
    S7U7::Entry("Avx2_S7U7_16x6x4", Family::k8x8, PackAvx2_8_S8_8x4,
                PackAvx2_8_U7_6x4),
    S7U8::Entry("Avx2_S7U8_16x6x4", Family::k8x8, PackAvx2_8_S8_8x4,
                PackAvx2_8_U8_6x4),
    S8S16Narrow::Entry("Avx2_S8W16_32x2x2", Family::k8x8, PackAvx2_8_S8_8x2,
                       PackAvx2_8_S16_1x1),
    S8S16::Entry("Avx2_S8W16_16x6x2", Family::k8x8, PackAvx2_8_S8_8x2,
                 PackAvx2_8_S16_6x2),
    S8S16InPlace::Entry("Avx2_S8InPlaceS16_16x16x16", Family::k8x16,
                        PackAvx2_16_S16_1x1),
    S8S16Narrow::Entry("Avx2_S8S16_32x2x2", Family::k8x16, PackAvx2_8_S8_8x2,
                       PackAvx2_16_S16_1x1),
    S8S16::Entry("Avx2_S8S16_16x6x2", Family::k8x16, PackAvx2_8_S8_8x2,
                 PackAvx2_16_S16_6x2),
    S16S16InPlace::Entry("Avx2_S16InPlaceW16_16x16x16", Family::k16x8,
                         PackAvx2_8_S16_1x1),
    S16S16Narrow::Entry("Avx2_S16W16_32x2x2", Family::k16x8,
                        PackAvx2_16_S16_8x2, PackAvx2_8_S16_1x1),
    S16S16::Entry("Avx2_S16W16_16x6x2", Family::k16x8, PackAvx2_16_S16_8x2,
                  PackAvx2_8_S16_6x2),
    F32AlongDepth::ColumnEntry("Avx2_F32InPlaceF32InPlace_4x1x8"),
    F32AlongDepth::Entry("Avx2_F32InPlaceF32_4x4x8", PackAvx2_F32_F32_1x1),
    F32F32InPlace::Entry("Avx2_F32InPlaceF32_16x18x1", PackAvx2_F32_F32_6x1),
    F32ByLevel::Entry("Avx2_F32ByLevelF32_64x16x1", PackAvx2_F32_F32_1x1),
    F32F32Narrow::Entry("Avx2_F32F32_32x2x1", Family::kF32,
                        PackAvx2_F32_F32_8x1, PackAvx2_F32_F32_1x1),
    F32F32InPlaceRhs::Entry("Avx2_F32F32InPlace_16x6x1", Family::kF32,
                            PackAvx2_F32_F32_8x1, nullptr),
    F32F32::Entry("Avx2_F32F32_16x6x1", Family::kF32, PackAvx2_F32_F32_8x1,
                  PackAvx2_F32_F32_6x1),
};

}  // namespace

KernelTable Avx2Kernels() { return TableOf(kKernels); }

}  // namespace kernels
}  // namespace ruy_like
