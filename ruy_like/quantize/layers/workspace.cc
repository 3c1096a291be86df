#include "ruy_like/quantize/workspace.h"

#include <algorithm>
#include <new>

namespace ruy_like {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

void Workspace::Free::operator()(void* memory) const {
  ::operator delete(memory, kAlignment);
}

void* Workspace::Reserve(std::size_t bytes) {
  bytes = std::max<std::size_t>(bytes, 1);
  if (bytes > capacity_bytes_) {
    void* const memory = ::operator new(bytes, kAlignment, std::nothrow);
    if (memory == nullptr) return nullptr;
    memory_.reset(memory);
    capacity_bytes_ = bytes;
  }
  return memory_.get();
}

}  // namespace ruy_like
