// Back-end: the neoni8mm path has no kernel of its own for group-scaled weights
// and runs that of SDOT.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"

namespace ruy_like {
namespace kernels {

const GroupKernel* NeonI8mmGroupKernel() { return nullptr; }

}  // namespace kernels
}  // namespace ruy_like
