// Quantization toolkit, public: Workspace, the scratch memory of the network
// operations.
//
// Callers make one per thread that runs operations, and pass it to all of them:
// it grows to what the largest needs, after which nothing is allocated.
#ifndef RUY_LIKE_QUANTIZE_WORKSPACE_H_
#define RUY_LIKE_QUANTIZE_WORKSPACE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "ruy_like/export.h"

namespace ruy_like {

// For one operation at a time. What an operation leaves in it means nothing to
// the next.
class RUY_LIKE_EXPORT Workspace final {
 public:
  Workspace() = default;
  // The other one is empty afterwards, and may be used again.
  Workspace(Workspace&& other) noexcept { *this = std::move(other); }
  Workspace& operator=(Workspace&& other) noexcept {
    memory_ = std::move(other.memory_);
    capacity_bytes_ = std::exchange(other.capacity_bytes_, 0);
    return *this;
  }

  // Bytes held.
  std::size_t capacity_bytes() const { return capacity_bytes_; }

  // For the operations: uninitialised memory, aligned to 64 bytes, valid until
  // the next call. Null, and the old memory stays, if there is none.
  void* Reserve(std::size_t bytes);

 private:
  struct Free {
    void operator()(void* memory) const;
  };

  std::unique_ptr<void, Free> memory_;
  std::size_t capacity_bytes_ = 0;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_QUANTIZE_WORKSPACE_H_
