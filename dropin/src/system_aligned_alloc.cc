#include "ruy/system_aligned_alloc.h"

#include <algorithm>
#include <cstddef>

#include "ruy_like/os/memory.h"

namespace ruy::detail {

void* SystemAlignedAlloc(std::ptrdiff_t num_bytes) {
  // Its type is unsigned: a negative size is too large to allocate.
  const std::size_t bytes =
      std::max(static_cast<std::size_t>(num_bytes), std::size_t{1});
  return ruy_like::os::AllocateAligned(kMinimumBlockAlignment, bytes);
}

void SystemAlignedFree(void* ptr) { ruy_like::os::FreeAligned(ptr); }

}  // namespace ruy::detail
