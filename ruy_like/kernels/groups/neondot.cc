// Back-end: products with group-scaled weights on the neondot path.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"
#include "ruy_like/kernels/groups/group_ops_neon.h"
#include "ruy_like/kernels/groups/group_tile.h"

namespace ruy_like {
namespace kernels {
namespace {

using Ops = NeonGroupOps<NeonSdot, NeonSdotNibbles, 4>;
constexpr GroupKernel kKernel = GroupKernelOf<Ops>("NeonDot_Groups_16x4");

}  // namespace

const GroupKernel* NeonDotGroupKernel() { return &kKernel; }

}  // namespace kernels
}  // namespace ruy_like
