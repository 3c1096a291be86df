// Back-end: products with group-scaled weights on the avx512 path.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like {
namespace kernels {
namespace {

using Ops = X86GroupOps<Simd512, MaddDot4<Simd512>, MaddDot8<Simd512>,
                        MaddNibbles<Simd512>, 2, 6>;
constexpr GroupKernel kKernel = GroupKernelOf<Ops>("Avx512_Groups_32x6");

}  // namespace

const GroupKernel* Avx512GroupKernel() { return &kKernel; }

}  // namespace kernels
}  // namespace ruy_like
