// Back-end: products with group-scaled weights on the avx512vnni path.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like {
namespace kernels {
namespace {

struct Dot {
  static RUY_LIKE_ALWAYS_INLINE __m512i Quads(__m512i acc, __m512i u8,
                                              __m512i s8) {
    return _mm512_dpbusd_epi32(acc, u8, s8);
  }
};

using Ops = X86GroupOps<Simd512, VnniDot<Simd512, Dot>, VnniDot<Simd512, Dot>,
                        VnniNibbles<Simd512, Dot>, 2, 6>;
constexpr GroupKernel kKernel = GroupKernelOf<Ops>("Avx512Vnni_Groups_32x6");

}  // namespace

const GroupKernel* Avx512VnniGroupKernel() { return &kKernel; }

}  // namespace kernels
}  // namespace ruy_like
