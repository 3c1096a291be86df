#include "ruy/system_aligned_alloc.h"

#include <cstdlib>

namespace ruy {
namespace detail {

void* SystemAlignedAlloc(std::ptrdiff_t num_bytes) {
  void* memory = nullptr;
  // Its type is unsigned: a negative size is too large to allocate.
  if (posix_memalign(&memory, kMinimumBlockAlignment,
                     static_cast<std::size_t>(num_bytes)) != 0) {
    return nullptr;
  }
  return memory;
}

void SystemAlignedFree(void* ptr) { std::free(ptr); }

}  // namespace detail
}  // namespace ruy
