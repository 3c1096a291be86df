// Back-end: what the narrow kernels have in common (narrow_int.h and
// narrow_float.h say what those are).
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_COMMON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_COMMON_H_

#include "ruy_like/kernels/simd/unroll.h"

namespace ruy_like {
namespace kernels {
namespace {

// Columns of the widest product that counts as narrow.
constexpr int kMaxNarrowCols = 16;

// Kernel::macs_per_ns for an operand of bytes: reading them at 50 GB/s bounds
// the single column.
constexpr int kNarrowMacsPerNs = 50;

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_COMMON_H_
