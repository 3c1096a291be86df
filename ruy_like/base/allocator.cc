#include "ruy_like/base/allocator.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ruy_like/os/memory.h"

namespace ruy_like {
namespace {

// From this size on a buffer is mapped by itself and asks for huge pages:
// walking over packed weights with 4 KiB pages misses the TLB on every panel.
// It is given back to the system as a whole, too.
constexpr std::size_t kMapFromBytes = std::size_t{4} << 20;

// A block in small steps would be replaced more often than needed.
constexpr std::size_t kArenaGranularity = 4096;

void Free(void* data, std::size_t bytes) {
  if (bytes >= kMapFromBytes) {
    os::UnmapLarge(data, bytes);
  } else {
    os::FreeAligned(data);
  }
}

}  // namespace

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) Free(data_, bytes_);
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

bool AlignedBuffer::Allocate(std::size_t bytes, AlignedBuffer* buffer) {
  AlignedBuffer fresh;
  if (bytes >= kMapFromBytes) {
    fresh.data_ = os::MapLarge(bytes);
  } else if (bytes > 0) {
    fresh.data_ = os::AllocateAligned(kBufferAlignment, bytes);
  }
  if (fresh.data_ == nullptr && bytes > 0) return false;
  fresh.bytes_ = bytes;
  *buffer = std::move(fresh);
  return true;
}

bool ScratchArena::Replace(std::size_t bytes) {
  if (bytes > SIZE_MAX - kArenaGranularity) return false;
  const std::size_t rounded =
      (bytes + kArenaGranularity - 1) & ~(kArenaGranularity - 1);
  // First give the old block back: the two are never needed together.
  block_ = AlignedBuffer();
  small_calls_ = 0;
  small_peak_ = 0;
  return AlignedBuffer::Allocate(rounded, &block_);
}

bool ScratchArena::ReserveLarge(std::size_t bytes) {
  bool succeeds = true;
  if (bytes > block_.bytes()) {
    succeeds = Replace(bytes);
  } else if (bytes >= block_.bytes() / 4) {
    small_calls_ = 0;
    small_peak_ = 0;
  } else {
    small_peak_ = std::max(small_peak_, bytes);
    succeeds = ++small_calls_ < kShrinkAfterCalls || Replace(small_peak_);
  }
  if (!succeeds) reserved_ = 0;
  return succeeds;
}

}  // namespace ruy_like
