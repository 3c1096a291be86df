// Back-end: the wasm128 path has no products with group-scaled weights of its
// own: they are defined with fused multiply-adds, which SIMD128 lacks.
//
// Tested in test/group_weights_test.cc.
#include "ruy_like/kernels/groups/group_kernel.h"

namespace ruy_like::kernels {

const GroupKernel* Wasm128GroupKernel() { return nullptr; }

}  // namespace ruy_like::kernels
