// Back-end: products with group-scaled weights on the avx2 path.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_ops_x86.h"
#include "ruy_like/kernels/groups/group_tile.h"
#include "ruy_like/simd/simd_avx2.h"

namespace ruy_like {
namespace kernels {
namespace {

using Ops = X86GroupOps<Simd256, MaddDot4<Simd256>, MaddDot8<Simd256>,
                        MaddNibbles<Simd256>, 1, 4>;
constexpr GroupKernel kKernel = GroupKernelOf<Ops>("Avx2_Groups_16x4");

}  // namespace

const GroupKernel* Avx2GroupKernel() { return &kKernel; }

}  // namespace kernels
}  // namespace ruy_like
