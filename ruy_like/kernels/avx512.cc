// Back-end: kernels of the AVX-512 path (F, BW, DQ, VL; no VNNI).
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
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like {
namespace kernels {
namespace {

using Dot = MaddDot<Simd512>;
using S8S16 = WideningPanelKernel<Simd512, Dot, 3, 8>;
using S16S16 = PanelKernel<PairsOp<Simd512, Dot, int16_t>, 3, 8>;
using S7U7 = PanelKernel<Int7TwoQuadsOp<Simd512, Dot>, 3, 8>;
using S7U8 = PanelKernel<Int7QuadsOp<Simd512, Dot>, 3, 8>;
using S7U8Narrow = NarrowPanelKernel<Int7QuadsOp<Simd512, Dot>, 4, 4, 4>;
using S8S16Narrow = NarrowPanelKernel<PairsOp<Simd512, Dot, int8_t>, 4, 4, 4>;
using S16S16Narrow = NarrowPanelKernel<PairsOp<Simd512, Dot, int16_t>, 4, 4, 4>;

// Its broadcasts are those of integers: Zen 4 makes VBROADCASTSS to 512 bits in
// two steps, one of them in the pipes of the multiplications (doc/tuning.md).
struct F32Op : WithHalves<FloatOp<Simd512>> {
  static RUY_LIKE_ALWAYS_INLINE __m512 LoadRhs(const float* p, ptrdiff_t) {
    int32_t bits;
    __builtin_memcpy(&bits, p, sizeof(bits));
    return _mm512_castsi512_ps(_mm512_set1_epi32(bits));
  }
};
using F32F32 = PanelKernel<F32Op, 3, 8>;
using F32F32InPlaceRhs = PanelKernel<F32Op, 3, 8, InPlaceRhs<F32Op>>;
using F32F32Narrow = NarrowPanelKernel<FloatOp<Simd512>, 4, 4, 4>;
using S8S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd512, Dot, int8_t>>;
using U8S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd512, Dot, uint8_t>>;
using S8DigitsInPlace = NarrowDigitsKernel<Simd512, Dot, int8_t>;
using U8DigitsInPlace = NarrowDigitsKernel<Simd512, Dot, uint8_t>;
using S16S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd512, Dot, int16_t>>;
using F32F32InPlace = NarrowFloatKernel<Simd512, 3, 8, PackAvx512_F32_F32_16x1>;
using F32ByLevel = NarrowByLevelKernel<Simd512>;
using F32AlongDepth = NarrowAlongDepthKernel<Simd512>;

constexpr Kernel kKernels[] = {
    S8DigitsInPlace::Entry("Avx512_S8InPlaceW16_16x1x16", PackAvx2_8_S16_1x1),
    U8DigitsInPlace::Entry("Avx512_U8InPlaceW16_16x1x16", PackAvx2_8_S16_1x1),
    S8S16InPlace::Entry("Avx512_S8InPlaceW16_16x16x16", Family::k8x8,
                        PackAvx2_8_S16_1x1),
    U8S16InPlace::Entry("Avx512_U8InPlaceW16_16x16x16", Family::k8x8,
                        PackAvx2_8_S16_1x1),
    S7U8Narrow::Entry("Avx512_S7U8_64x4x4", Family::k8x8, PackAvx512_8_S8_16x4,
                      PackAvx2_8_U8_1x1),
    S7U7::Entry("Avx512_S7U7_48x8x4", Family::k8x8, PackAvx512_8_S8_16x4,
                PackAvx512_8_U7_8x4),
    S7U8::Entry("Avx512_S7U8_48x8x4", Family::k8x8, PackAvx512_8_S8_16x4,
                PackAvx512_8_U8_8x4),
    S8S16Narrow::Entry("Avx512_S8W16_64x4x2", Family::k8x8,
                       PackAvx512_8_S8_16x2, PackAvx2_8_S16_1x1),
    S8S16::Entry("Avx512_S8W16_48x8x2", Family::k8x8, PackAvx512_8_S8_16x2,
                 PackAvx512_8_S16_8x2),
    S8S16InPlace::Entry("Avx512_S8InPlaceS16_16x16x16", Family::k8x16,
                        PackAvx2_16_S16_1x1),
    S8S16Narrow::Entry("Avx512_S8S16_64x4x2", Family::k8x16,
                       PackAvx512_8_S8_16x2, PackAvx2_16_S16_1x1),
    S8S16::Entry("Avx512_S8S16_48x8x2", Family::k8x16, PackAvx512_8_S8_16x2,
                 PackAvx512_16_S16_8x2),
    S16S16InPlace::Entry("Avx512_S16InPlaceW16_16x16x16", Family::k16x8,
                         PackAvx2_8_S16_1x1),
    S16S16Narrow::Entry("Avx512_S16W16_64x4x2", Family::k16x8,
                        PackAvx512_16_S16_16x2, PackAvx2_8_S16_1x1),
    S16S16::Entry("Avx512_S16W16_48x8x2", Family::k16x8, PackAvx512_16_S16_16x2,
                  PackAvx512_8_S16_8x2),
    F32AlongDepth::ColumnEntry("Avx512_F32InPlaceF32InPlace_4x1x16"),
    F32AlongDepth::Entry("Avx512_F32InPlaceF32_4x4x16", PackAvx2_F32_F32_1x1),
    F32F32InPlace::Entry("Avx512_F32InPlaceF32_16x16x1",
                         PackAvx512_F32_F32_8x1),
    F32ByLevel::Entry("Avx512_F32ByLevelF32_64x16x1", PackAvx2_F32_F32_1x1),
    F32F32Narrow::Entry("Avx512_F32F32_64x4x1", Family::kF32,
                        PackAvx512_F32_F32_16x1, PackAvx2_F32_F32_1x1),
    F32F32InPlaceRhs::Entry("Avx512_F32F32InPlace_48x8x1", Family::kF32,
                            PackAvx512_F32_F32_16x1, nullptr),
    F32F32::Entry("Avx512_F32F32_48x8x1", Family::kF32, PackAvx512_F32_F32_16x1,
                  PackAvx512_F32_F32_8x1),
};

}  // namespace

KernelTable Avx512Kernels() { return TableOf(kKernels); }

}  // namespace kernels
}  // namespace ruy_like
