// Back-end: kernels of the AVX-512-VNNI path. Families not listed are the
// AVX-512 path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/tables_x86.h"
#include "ruy_like/kernels/tiles_avx512.h"

namespace ruy_like::kernels {
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

typedef VnniPath<Tiles512, Dot> Path;
constexpr NamedKernels kTable("Avx512Vnni", Path::kList.kernels,
                              VnniGroupKernels<Simd512, Dot, 2, 6>::kList);

}  // namespace

void RunAvx512Vnni_S8U8_64x4x4(const KernelArgs* args) {
  Path::Bytes::S8U8Narrow::Run(args);
}

void RunAvx512Vnni_S8U8_48x8x4(const KernelArgs* args) {
  Path::Bytes::S8U8::Run(args);
}

KernelTable Avx512VnniKernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
