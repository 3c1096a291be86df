// Back-end: products with group-scaled weights on the avxvnni path.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/simd/simd_avx2.h"

namespace ruy_like {
namespace kernels {
namespace {

struct Dot {
  static RUY_LIKE_ALWAYS_INLINE __m256i Quads(__m256i acc, __m256i u8,
                                              __m256i s8) {
    return _mm256_dpbusd_avx_epi32(acc, u8, s8);
  }
};

using Ops = X86GroupOps<Simd256, VnniDot<Simd256, Dot>, VnniDot<Simd256, Dot>,
                        VnniNibbles<Simd256, Dot>, 1, 6>;
constexpr GroupKernel kKernel = GroupKernelOf<Ops>("AvxVnni_Groups_16x6");

}  // namespace

const GroupKernel* AvxVnniGroupKernel() { return &kKernel; }

}  // namespace kernels
}  // namespace ruy_like
