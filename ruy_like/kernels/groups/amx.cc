// Back-end: the AMX path has no kernel of its own for group-scaled weights and
// runs that of AVX-512-VNNI.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"

namespace ruy_like {
namespace kernels {

const GroupKernel* AmxGroupKernel() { return nullptr; }

}  // namespace kernels
}  // namespace ruy_like
