// Back-end: kernels of the AVX-512-VNNI path. Families not listed are the
// AVX-512 path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/narrow/narrow_by_level_bytes.h"
#include "ruy_like/kernels/narrow/narrow_int.h"
#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/pack/pack_routines.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like {
namespace kernels {
namespace {

struct Dot {
  // Sums four products without saturation.
  static RUY_LIKE_ALWAYS_INLINE __m512i Quads(__m512i acc, __m512i u8,
                                              __m512i s8) {
    return _mm512_dpbusd_epi32(acc, u8, s8);
  }
  static RUY_LIKE_ALWAYS_INLINE __m512i Pairs(__m512i acc, __m512i a,
                                              __m512i b) {
    return _mm512_dpwssd_epi32(acc, a, b);
  }
  // Halves of vectors.
  static RUY_LIKE_ALWAYS_INLINE __m256i Quads(__m256i acc, __m256i u8,
                                              __m256i s8) {
    return _mm256_dpbusd_epi32(acc, u8, s8);
  }
  static RUY_LIKE_ALWAYS_INLINE __m256i Pairs(__m256i acc, __m256i a,
                                              __m256i b) {
    return _mm256_dpwssd_epi32(acc, a, b);
  }
};

using S8U8 = PanelKernel<WithHalves<QuadsOp<Simd512, Dot>>, 3, 8>;
using S8U8Narrow = NarrowPanelKernel<QuadsOp<Simd512, Dot>, 4, 4, 4>;
using S8S16 = PanelKernel<WithHalves<PairsOp<Simd512, Dot, int8_t>>, 3, 8>;
using S8S16Narrow = NarrowPanelKernel<PairsOp<Simd512, Dot, int8_t>, 4, 4, 4>;
using S16S16 = PanelKernel<WithHalves<PairsOp<Simd512, Dot, int16_t>>, 3, 8>;
using S16S16Narrow = NarrowPanelKernel<PairsOp<Simd512, Dot, int16_t>, 4, 4, 4>;
using S8U8InPlace = NarrowIntKernel<NarrowQuadsOp<Simd512, Dot, int8_t>>;
using U8S8InPlace = NarrowIntKernel<NarrowQuadsOp<Simd512, Dot, uint8_t>>;
using S8U8ByLevel =
    NarrowByLevelBytesKernel<NarrowQuadsOp<Simd512, Dot, int8_t>>;
using U8S8ByLevel =
    NarrowByLevelBytesKernel<NarrowQuadsOp<Simd512, Dot, uint8_t>>;
using S8S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd512, Dot, int8_t>>;
using S16S16InPlace = NarrowIntKernel<NarrowPairsOp<Simd512, Dot, int16_t>>;

constexpr Kernel PackingSmallPieces(Kernel kernel) {
  kernel.packs_small_pieces = true;
  return kernel;
}

constexpr Kernel kKernels[] = {
    S8U8InPlace::Entry("Avx512Vnni_S8InPlaceU8_16x16x16", Family::k8x8,
                       PackAvx2_8_U8_1x1),
    U8S8InPlace::Entry("Avx512Vnni_U8InPlaceS8_16x16x16", Family::k8x8,
                       PackAvx2_8_S8_1x1),
    S8U8ByLevel::Entry("Avx512Vnni_S8ByLevelU8_64x2x1", PackAvx2_8_U8_1x1),
    U8S8ByLevel::Entry("Avx512Vnni_U8ByLevelS8_64x2x1", PackAvx2_8_S8_1x1),
    S8U8Narrow::Entry("Avx512Vnni_S8U8_64x4x4", Family::k8x8,
                      PackAvx512_8_S8_16x4, PackAvx2_8_U8_1x1),
    PackingSmallPieces(S8U8::Entry("Avx512Vnni_S8U8_48x8x4", Family::k8x8,
                                   PackAvx512_8_S8_16x4, PackAvx512_8_U8_8x4)),
    S8S16InPlace::Entry("Avx512Vnni_S8InPlaceS16_16x16x16", Family::k8x16,
                        PackAvx2_16_S16_1x1),
    S8S16Narrow::Entry("Avx512Vnni_S8S16_64x4x2", Family::k8x16,
                       PackAvx512_8_S8_16x2, PackAvx2_16_S16_1x1),
    S8S16::Entry("Avx512Vnni_S8S16_48x8x2", Family::k8x16, PackAvx512_8_S8_16x2,
                 PackAvx512_16_S16_8x2),
    S16S16InPlace::Entry("Avx512Vnni_S16InPlaceW16_16x16x16", Family::k16x8,
                         PackAvx2_8_S16_1x1),
    S16S16Narrow::Entry("Avx512Vnni_S16W16_64x4x2", Family::k16x8,
                        PackAvx512_16_S16_16x2, PackAvx2_8_S16_1x1),
    S16S16::Entry("Avx512Vnni_S16W16_48x8x2", Family::k16x8,
                  PackAvx512_16_S16_16x2, PackAvx512_8_S16_8x2),
};

}  // namespace

void RunAvx512Vnni_S8U8_64x4x4(const KernelArgs* args) {
  S8U8Narrow::Run(args);
}

void RunAvx512Vnni_S8U8_48x8x4(const KernelArgs* args) { S8U8::Run(args); }

KernelTable Avx512VnniKernels() { return TableOf(kKernels); }

}  // namespace kernels
}  // namespace ruy_like
