// Back-end: products with group-scaled weights on the neon path.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_ops_neon.h"
#include "ruy_like/kernels/groups/group_tile.h"

namespace ruy_like {
namespace kernels {
namespace {

using Ops = NeonGroupOps<NeonWidenDot, NeonWidenNibbles, 2>;
constexpr GroupKernel kKernel = GroupKernelOf<Ops>("Neon_Groups_16x2");

}  // namespace

const GroupKernel* NeonGroupKernel() { return &kKernel; }

}  // namespace kernels
}  // namespace ruy_like
