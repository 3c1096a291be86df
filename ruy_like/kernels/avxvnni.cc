// Back-end: kernels of the AVX-VNNI path. Families not listed are the AVX2
// path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/narrow/narrow_int.h"
#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/simd_avx2.h"

namespace ruy_like {
namespace kernels {
namespace {

struct Dot {
  // Sums four products without saturation.
  static RUY_LIKE_ALWAYS_INLINE __m256i Quads(__m256i acc, __m256i u8,
                                              __m256i s8) {
    return _mm256_dpbusd_avx_epi32(acc, u8, s8);
  }
  static RUY_LIKE_ALWAYS_INLINE __m256i Pairs(__m256i acc, __m256i a,
                                              __m256i b) {
    return _mm256_dpwssd_avx_epi32(acc, a, b);
  }
};

using S8U8 = PanelKernel<QuadsOp<Simd256, Dot>, 2, 6>;
using S8U8Narrow = NarrowPanelKernel<QuadsOp<Simd256, Dot>, 6, 4, 2>;
using S8S16 = PanelKernel<PairsOp<Simd256, Dot, int8_t>, 2, 6>;
using S8S16Narrow = NarrowPanelKernel<PairsOp<Simd256, Dot, int8_t>, 6, 4, 2>;
using S16S16 = PanelKernel<PairsOp<Simd256, Dot, int16_t>, 2, 6>;
using S16S16Narrow = NarrowPanelKernel<PairsOp<Simd256, Dot, int16_t>, 6, 4, 2>;
using S8U8InPlace = NarrowIntKernel<NarrowQuadsOp<Simd256, Dot, int8_t>>;
using U8S8InPlace = NarrowIntKernel<NarrowQuadsOp<Simd256, Dot, uint8_t>>;
using S8S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd256, Dot, int8_t>>;
using S16S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd256, Dot, int16_t>>;

constexpr Kernel kKernels[] = {
    S8U8InPlace::Entry("AvxVnni_S8InPlaceU8_16x16x16", Family::k8x8,
                       PackAvx2_8_U8_1x1),
    U8S8InPlace::Entry("AvxVnni_U8InPlaceS8_16x16x16", Family::k8x8,
                       PackAvx2_8_S8_1x1),
    S8U8Narrow::Entry("AvxVnni_S8U8_32x2x4", Family::k8x8, PackAvx2_8_S8_8x4,
                      PackAvx2_8_U8_1x1),
    S8U8::Entry("AvxVnni_S8U8_16x6x4", Family::k8x8, PackAvx2_8_S8_8x4,
                PackAvx2_8_U8_6x4),
    S8S16InPlace::Entry("AvxVnni_S8InPlaceS16_16x16x16", Family::k8x16,
                        PackAvx2_16_S16_1x1),
    S8S16Narrow::Entry("AvxVnni_S8S16_32x2x2", Family::k8x16, PackAvx2_8_S8_8x2,
                       PackAvx2_16_S16_1x1),
    S8S16::Entry("AvxVnni_S8S16_16x6x2", Family::k8x16, PackAvx2_8_S8_8x2,
                 PackAvx2_16_S16_6x2),
    S16S16InPlace::Entry("AvxVnni_S16InPlaceW16_16x16x16", Family::k16x8,
                         PackAvx2_8_S16_1x1),
    S16S16Narrow::Entry("AvxVnni_S16W16_32x2x2", Family::k16x8,
                        PackAvx2_16_S16_8x2, PackAvx2_8_S16_1x1),
    S16S16::Entry("AvxVnni_S16W16_16x6x2", Family::k16x8, PackAvx2_16_S16_8x2,
                  PackAvx2_8_S16_6x2),
};

}  // namespace

KernelTable AvxVnniKernels() { return TableOf(kKernels); }

}  // namespace kernels
}  // namespace ruy_like
