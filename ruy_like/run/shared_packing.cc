// Tested in test/threads_test.cc.
#include "ruy_like/run/shared_packing.h"

#include <chrono>
#include <new>

#include "ruy_like/base/wait.h"

namespace ruy_like {

SharedPacking::SharedPacking(const PackedSide& side, const Cuts& cuts,
                             std::ptrdiff_t parts, void* status)
    : side_(side), cuts_(cuts), status_(static_cast<AtomicStatus*>(status)) {
  for (std::ptrdiff_t i = 0; i < parts; ++i) {
    new (&status_[i]) AtomicStatus(kNotStarted);
  }
}

bool SharedPacking::TryPack(std::ptrdiff_t part) {
  AtomicStatus& status = status_[part];
  std::uint8_t seen = status.load(std::memory_order_relaxed);
  if (seen != kNotStarted ||
      !status.compare_exchange_strong(seen, kInProgress,
                                      std::memory_order_relaxed)) {
    return false;
  }
  side_.Pack(cuts_.Start(part), cuts_.Start(part + 1));
  status.store(kDone, std::memory_order_release);
  return true;
}

void SharedPacking::EnsurePacked(std::ptrdiff_t part) {
  TryPack(part);
  SpinPacer pacer(std::chrono::hours(1));
  while (status_[part].load(std::memory_order_acquire) != kDone) pacer.Pause();
}

}  // namespace ruy_like
