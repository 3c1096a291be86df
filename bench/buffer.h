// Benchmarks: memory for operands, aligned to cache lines.
#ifndef RUY_LIKE_BENCH_BUFFER_H_
#define RUY_LIKE_BENCH_BUFFER_H_

#include <cstddef>
#include <new>

namespace ruy_like::bench {

// Uninitialized bytes. Plain heap memory, as callers of the library have it: no
// huge pages are asked for. Throws std::bad_alloc.
class Buffer final {
 public:
  explicit Buffer(std::ptrdiff_t bytes)
      : data_(::operator new(static_cast<std::size_t>(bytes), kAlignment)) {}
  ~Buffer() { ::operator delete(data_, kAlignment); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() { return data_; }
  const void* data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  void* data_;
};

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_BUFFER_H_
