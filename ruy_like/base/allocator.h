// Base: memory for packed operands (AlignedBuffer) and for one product's
// scratch (ScratchArena).
//
// Packed operands and their images are AlignedBuffers; a Context and a MulPlan
// have an arena each. Nothing here throws or touches the memory that it
// returns: a large buffer costs address space until it is written.
#ifndef RUY_LIKE_BASE_ALLOCATOR_H_
#define RUY_LIKE_BASE_ALLOCATOR_H_

#include <cassert>
#include <cstddef>

namespace ruy_like {

// Alignment of every buffer, and of every piece taken from an arena, in bytes:
// a cache line, and the widest vector.
constexpr std::size_t kBufferAlignment = 64;

// Owns uninitialised, aligned memory. Move-only; as thread-safe as a pointer.
class AlignedBuffer final {
 public:
  AlignedBuffer() = default;
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;

  // Replaces *buffer by `bytes` of memory (0: an empty buffer). False, with
  // *buffer as before, if there is no such memory.
  [[nodiscard]] static bool Allocate(std::size_t bytes, AlignedBuffer* buffer);

  // Null when empty.
  void* data() { return data_; }
  const void* data() const { return data_; }
  // The size that was asked for.
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Bump allocator for the scratch of one call of Mul at a time: panels packed
// for this call alone, partial accumulators. One call goes
//
//   total = sum of ScratchArena::Footprint(piece)
//   if (!arena.Reserve(total)) -> no memory
//   arena.Take(piece) ...
//
// The block behind it grows to the largest call seen, so repeated calls
// allocate nothing. A single huge call does not pin its memory: when a
// block of at least kShrinkFloorBytes was used to less than a quarter by
// kShrinkAfterCalls calls in a row, it is replaced by one of the size of the
// largest of those.
//
// Not thread-safe: the Context's lock covers it. (Threads may use the pieces
// taken, of course.)
class ScratchArena final {
 public:
  static constexpr std::size_t kShrinkFloorBytes = std::size_t{4} << 20;
  static constexpr int kShrinkAfterCalls = 256;

  // Bytes that Take(bytes) uses up: `bytes` rounded up to the alignment.
  // Saturates at the largest multiple of the alignment (for which Reserve then
  // fails).
  static constexpr std::size_t Footprint(std::size_t bytes) {
    return bytes > ~std::size_t{0} - (kBufferAlignment - 1)
               ? ~(kBufferAlignment - 1)
               : (bytes + (kBufferAlignment - 1)) & ~(kBufferAlignment - 1);
  }

  // Starts a call that takes `total_bytes`: invalidates all pieces taken
  // before. False if there is no such memory; the arena then stays usable for
  // smaller calls.
  [[nodiscard]] bool Reserve(std::size_t total_bytes) {
    used_ = 0;
    reserved_ = total_bytes;
    return (total_bytes <= block_.bytes() &&
            block_.bytes() < kShrinkFloorBytes) ||
           ReserveLarge(total_bytes);
  }

  // The next piece, 64-byte aligned, uninitialised, valid until the next
  // Reserve. Never fails within what was reserved; null beyond.
  void* Take(std::size_t bytes) {
    const std::size_t footprint = Footprint(bytes);
    if (footprint > reserved_ - used_) {
      assert(false && "took more than was reserved");
      return nullptr;
    }
    void* const piece = static_cast<char*>(block_.data()) + used_;
    used_ += footprint;
    return piece;
  }

  // Size of the block held.
  std::size_t capacity_bytes() const { return block_.bytes(); }

 private:
  bool Replace(std::size_t bytes);
  bool ReserveLarge(std::size_t bytes);

  AlignedBuffer block_;
  std::size_t reserved_ = 0;
  std::size_t used_ = 0;
  // Calls in a row that needed less than a quarter of the block, and the most
  // bytes that one of them needed.
  int small_calls_ = 0;
  std::size_t small_peak_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_ALLOCATOR_H_
