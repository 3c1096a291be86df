// Run: threads that pack one side together, part by part, each part
// once.
//
// Used by products (product.cc) for what they pack for the cache or for a
// kernel of few columns, and for packing ahead (packed_matrix.cc). Allocates
// nothing and starts no threads.
//
// Any thread packs any part that nobody has begun; one that needs a part that
// somebody else is at spins until it is done. So there is no barrier between
// packing and multiplying.
#ifndef RUY_LIKE_RUN_SHARED_PACKING_H_
#define RUY_LIKE_RUN_SHARED_PACKING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ruy_like/packed/packed_side.h"
#include "ruy_like/plan/block_map.h"

namespace ruy_like {

class SharedPacking final {
 public:
  enum Status : std::uint8_t { kNotStarted, kInProgress, kDone };
  using AtomicStatus = std::atomic<std::uint8_t>;

  // `side`, which knows where its panels are to lie, and `status`, memory for
  // one of each part, must outlive this. Parts begin at whole panels.
  SharedPacking(const PackedSide& side, const Cuts& cuts, std::ptrdiff_t parts,
                void* status);

  // Packs the part unless somebody has begun to; whether it did.
  bool TryPack(std::ptrdiff_t part);
  // Returns once the part is packed.
  void EnsurePacked(std::ptrdiff_t part);

 private:
  const PackedSide& side_;
  Cuts cuts_;
  AtomicStatus* status_;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_RUN_SHARED_PACKING_H_
