// Run: threads that pack one side together, part by part, each part once.
//
// Used by products (product.h) for what they pack for the cache or for a kernel
// of few columns, and for packing ahead (packed_matrix.cc). Allocates nothing
// and starts no threads.
//
// Any thread packs any part that nobody has begun; a thread that needs a part
// which another one is packing spins until it is done. So there is no barrier
// between packing and multiplying.
#ifndef RUY_LIKE_RUN_SHARED_PACKING_H_
#define RUY_LIKE_RUN_SHARED_PACKING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ruy_like/packed/packed_side.h"

namespace ruy_like {

class SharedPacking final {
 public:
  using Status = std::atomic<std::uint8_t>;

  // `side` (its panels' place is set) and `status` (memory for `parts`
  // Statuses) must outlive this. `is_shared`: several threads may pack.
  void Init(const PackedSide* side, std::ptrdiff_t parts, void* status,
            bool is_shared);

  // Packs the part, columns [start, end), where `start` is the first of a
  // panel, unless another thread has begun it. Returns whether it packed.
  bool TryPack(std::ptrdiff_t part, std::ptrdiff_t start, std::ptrdiff_t end,
               char* scratch = nullptr);
  // Returns once the part is packed.
  void EnsurePacked(std::ptrdiff_t part, std::ptrdiff_t start,
                    std::ptrdiff_t end, char* scratch = nullptr) {
    if (!TryPack(part, start, end, scratch)) WaitFor(part);
  }
  void WaitFor(std::ptrdiff_t part) const;

 private:
  const PackedSide* side_;
  Status* status_;
  bool is_shared_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_SHARED_PACKING_H_
