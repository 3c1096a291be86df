// OS: memory, as the system hands it out.
//
// Called by base/allocator.cc and the drop-in's allocator. Nothing here throws
// or touches the memory that it returns.
#ifndef RUY_LIKE_OS_MEMORY_H_
#define RUY_LIKE_OS_MEMORY_H_

#include <cstddef>

#include "ruy_like/export.h"

namespace ruy_like::os {

// `bytes` (more than 0) of memory on a boundary of `alignment` bytes, a power
// of two and a multiple of a pointer's size; null without memory. For
// FreeAligned.
RUY_LIKE_EXPORT void* AllocateAligned(std::size_t alignment, std::size_t bytes);
RUY_LIKE_EXPORT void FreeAligned(void* data);

// The same for buffers of megabytes, which go back to the system as a whole
// when they are freed; on a boundary of 64 bytes at least. Where the system has
// transparent huge pages the buffer asks for them and starts on the boundary
// of one. For UnmapLarge, with the same `bytes`.
void* MapLarge(std::size_t bytes);
void UnmapLarge(void* data, std::size_t bytes);

}  // namespace ruy_like::os

#endif  // RUY_LIKE_OS_MEMORY_H_
