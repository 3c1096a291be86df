// Back-end: kernels of the AVX-VNNI path. Families not listed are the AVX2
// path's.
//
// Tested in test/kernels/panel_kernel_test.cc.
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/tables_x86.h"
#include "ruy_like/kernels/tiles_avx2.h"

namespace ruy_like::kernels {
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

typedef VnniPath<Tiles256, Dot> Path;
constexpr NamedKernels kTable("AvxVnni", Path::kList.kernels,
                              VnniGroupKernels<Simd256, Dot, 1, 6>::kList);

}  // namespace

KernelTable AvxVnniKernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
