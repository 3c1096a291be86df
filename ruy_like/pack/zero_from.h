// Back-end: what pack routines of all processors share below the level of
// panels. Anonymous namespace.
#ifndef RUY_LIKE_PACK_ZERO_FROM_H_
#define RUY_LIKE_PACK_ZERO_FROM_H_

#include <stddef.h>

#include "ruy_like/kernels/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

// Zeros the bytes [written, size) of dst, if there are any.
RUY_LIKE_ALWAYS_INLINE void ZeroFrom(char* dst, ptrdiff_t written,
                                     ptrdiff_t size) {
  if (written < size) {
    __builtin_memset(dst + written, 0, static_cast<size_t>(size - written));
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_PACK_ZERO_FROM_H_
