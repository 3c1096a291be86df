// Test support: memory between two guard pages.
//
// Used for every buffer that tests hand to the library. A payload rarely fills
// whole pages, so one of its ends touches a guard page (any access beyond it
// faults) and the slack at the other end is painted, for SlackIsIntact to look
// at.
//
//   | PROT_NONE | slack (painted) | payload | PROT_NONE |     Flush::kEnd
//   | PROT_NONE | payload | slack (painted) | PROT_NONE |     Flush::kStart
#ifndef RUY_LIKE_TEST_SUPPORT_GUARDED_BUFFER_H_
#define RUY_LIKE_TEST_SUPPORT_GUARDED_BUFFER_H_

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "test/support/pages.h"

namespace ruy_like {

// Mappings of former buffers: inaccessible, as unmapped ones are, until another
// buffer takes them. Mapping, unmapping and the first touch of pages took a
// quarter of the time of the tests of kernels and products. Allocates nothing
// itself, since tests count allocations.
class FormerMappings final {
 public:
  // Pages to map for so many: of a size that others can use, a power of two.
  static std::size_t Capacity(std::size_t pages) {
    std::size_t capacity = 4;
    while (capacity < pages) capacity *= 2;
    return capacity > kLargest ? pages : capacity;
  }
  // Null if there is none of this capacity.
  char* Take(std::size_t capacity) {
    if (capacity > kLargest) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    Kept& kept = kept_[ClassOf(capacity)];
    return kept.count == 0 ? nullptr : kept.mappings[--kept.count];
  }
  // False if it is not kept.
  bool Keep(char* mapping, std::size_t capacity) {
    if (capacity > kLargest) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    Kept& kept = kept_[ClassOf(capacity)];
    if (kept.count == kOfAClass) return false;
    kept.mappings[kept.count++] = mapping;
    return true;
  }

 private:
  static constexpr std::size_t kLargest = 1024;
  static constexpr int kOfAClass = 12;
  struct Kept {
    char* mappings[kOfAClass] = {};
    int count = 0;
  };

  static int ClassOf(std::size_t capacity) {
    int result = 0;
    for (; capacity > 4; capacity /= 2) ++result;
    return result;
  }

  std::mutex mutex_;
  Kept kept_[9];  // of 4 to kLargest pages
};
inline FormerMappings former_mappings;

// The end of the payload that touches a guard page.
enum class Flush { kStart, kEnd };

// Owns the memory, which is not initialised to anything in particular. A
// payload of 0 bytes has an address at which every access faults.
class GuardedBuffer final {
 public:
  GuardedBuffer(std::size_t bytes, Flush flush) : bytes_(bytes) {
    const std::size_t page = PageBytes();
    body_bytes_ = (bytes + page - 1) / page * page;
    capacity_ = FormerMappings::Capacity(body_bytes_ / page + 2);
    mapped_ = former_mappings.Take(capacity_);
    if (mapped_ == nullptr) mapped_ = MapPages(capacity_ * page);
    if (mapped_ == nullptr) Die("mapping pages");
    // Before the last page; those in front of it are inaccessible, too.
    body_ = mapped_ + (capacity_ - 1) * page - body_bytes_;
    if (body_bytes_ != 0 &&
        !ProtectPages(body_, body_bytes_, PageAccess::kReadWrite)) {
      Die("protecting pages");
    }
    data_ = flush == Flush::kStart ? body_ : body_ + body_bytes_ - bytes;
    slack_ = flush == Flush::kStart ? body_ + bytes : body_;
    if (body_bytes_ != bytes_) {
      std::memset(slack_, kPaint, body_bytes_ - bytes_);
    }
  }
  ~GuardedBuffer() {
    const bool is_closed =
        body_bytes_ == 0 || ProtectPages(body_, body_bytes_, PageAccess::kNone);
    if (!is_closed || !former_mappings.Keep(mapped_, capacity_)) {
      UnmapPages(mapped_, capacity_ * PageBytes());
    }
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  char* data() { return data_; }
  const char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }

  // From here on a write faults, too.
  void MakeReadOnly() {
    if (body_bytes_ != 0 &&
        !ProtectPages(body_, body_bytes_, PageAccess::kRead)) {
      Die("protecting pages");
    }
  }

  bool SlackIsIntact() const {
    // Each byte is like the one before it. memcmp, for this may be compiled
    // without optimisation.
    const std::size_t count = body_bytes_ - bytes_;
    return count == 0 || (slack_[0] == kPaint &&
                          std::memcmp(slack_, slack_ + 1, count - 1) == 0);
  }

 private:
  static constexpr char kPaint = 0x5a;

  static void Die(const char* what) {
    std::perror(what);
    std::abort();
  }

  std::size_t bytes_, body_bytes_;
  std::size_t capacity_;  // pages
  char* mapped_;
  char* body_;
  char* data_;
  char* slack_;
};

// Zeroed elements before a guard page. Their address is a multiple of
// `alignment` (bytes), so that up to one less than that may lie between the
// last element and the page.
template <typename T>
class GuardedArray final {
 public:
  explicit GuardedArray(std::size_t size, std::size_t alignment = alignof(T))
      : size_(size),
        buffer_((size * sizeof(T) + alignment - 1) / alignment * alignment,
                Flush::kEnd) {
    std::memset(buffer_.data(), 0, buffer_.bytes());
  }

  T* data() { return buffer_.as<T>(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data()[i]; }

 private:
  std::size_t size_;
  GuardedBuffer buffer_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_GUARDED_BUFFER_H_
