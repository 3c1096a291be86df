// Drop-in for ruy: aligned memory.
#ifndef RUY_LIKE_DROPIN_RUY_SYSTEM_ALIGNED_ALLOC_H_
#define RUY_LIKE_DROPIN_RUY_SYSTEM_ALIGNED_ALLOC_H_

#include <cstddef>

#include "ruy/dropin_visibility.h"

namespace ruy::detail {

constexpr std::ptrdiff_t kMinimumBlockAlignment = 64;  // bytes

// `num_bytes` of memory aligned to kMinimumBlockAlignment, to be freed with
// SystemAlignedFree; null if there is no such memory.
RUY_LIKE_DROPIN_EXPORT void* SystemAlignedAlloc(std::ptrdiff_t num_bytes);
RUY_LIKE_DROPIN_EXPORT void SystemAlignedFree(void* ptr);

}  // namespace ruy::detail

#endif  // RUY_LIKE_DROPIN_RUY_SYSTEM_ALIGNED_ALLOC_H_
