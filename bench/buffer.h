// Benchmarks: memory for operands.
#ifndef RUY_LIKE_BENCH_BUFFER_H_
#define RUY_LIKE_BENCH_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace ruy_like::bench {

// Uninitialized bytes, aligned to cache lines. Plain heap memory, as callers of
// the library have it: no huge pages are asked for. Throws std::bad_alloc.
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

// Whole numbers in [low, high], the same in each run.
template <typename T>
std::vector<T> RandomVector(std::ptrdiff_t size, int low, int high) {
  std::vector<T> values(static_cast<std::size_t>(size));
  std::uint32_t state = 12345;
  for (T& value : values) {
    state = state * 1664525 + 1013904223;
    value =
        static_cast<T>(low + static_cast<int>(state >> 8) % (high - low + 1));
  }
  return values;
}

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_BUFFER_H_
