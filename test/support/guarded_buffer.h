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

#include "test/support/pages.h"

namespace ruy_like {

// The end of the payload that touches a guard page.
enum class Flush { kStart, kEnd };

// Owns the memory, which is not initialised to anything in particular. A
// payload of 0 bytes has an address at which every access faults.
class GuardedBuffer final {
 public:
  GuardedBuffer(std::size_t bytes, Flush flush) : bytes_(bytes) {
    const std::size_t page = PageBytes();
    body_bytes_ = (bytes + page - 1) / page * page;
    mapped_bytes_ = body_bytes_ + 2 * page;
    mapped_ = MapPages(mapped_bytes_);
    if (mapped_ == nullptr) Die("mapping pages");
    body_ = mapped_ + page;
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
  ~GuardedBuffer() { UnmapPages(mapped_, mapped_bytes_); }
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
    for (std::size_t i = 0; i < body_bytes_ - bytes_; ++i) {
      if (slack_[i] != kPaint) return false;
    }
    return true;
  }

 private:
  static constexpr char kPaint = 0x5a;

  static void Die(const char* what) {
    std::perror(what);
    std::abort();
  }

  std::size_t bytes_, body_bytes_, mapped_bytes_;
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
