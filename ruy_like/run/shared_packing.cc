// Tested in test/threads_test.cc.
#include "ruy_like/run/shared_packing.h"

#include <chrono>
#include <new>

#include "ruy_like/base/hot.h"
#include "ruy_like/base/wait.h"
#include "ruy_like/diagnostics/trace.h"

namespace ruy_like {
namespace {

enum : std::uint8_t { kNotStarted, kInProgress, kDone };

}  // namespace

void SharedPacking::Init(const PackedSide* side, std::ptrdiff_t parts,
                         void* status, bool is_shared) {
  side_ = side;
  status_ = static_cast<Status*>(status);
  is_shared_ = is_shared;
  for (std::ptrdiff_t i = 0; i < parts; ++i) {
    new (&status_[i]) Status(kNotStarted);
  }
}

RUY_LIKE_HOT bool SharedPacking::TryPack(std::ptrdiff_t part,
                                         std::ptrdiff_t start,
                                         std::ptrdiff_t end, char* scratch) {
  Status& status = status_[part];
  std::uint8_t seen = status.load(std::memory_order_relaxed);
  // A thread alone need not lock the bus.
  if (seen != kNotStarted ||
      (is_shared_ && !status.compare_exchange_strong(
                         seen, kInProgress, std::memory_order_relaxed))) {
    return false;
  }
  side_->Pack(start, end, scratch);
  status.store(kDone, std::memory_order_release);
  return true;
}

void SharedPacking::WaitFor(std::ptrdiff_t part) const {
  if (status_[part].load(std::memory_order_acquire) == kDone) return;
  const TraceSpan span(TraceSpan::kWait, "wait for packing", 1);
  SpinPacer pacer(std::chrono::hours(1));
  while (status_[part].load(std::memory_order_acquire) != kDone) pacer.Pause();
}

}  // namespace ruy_like
