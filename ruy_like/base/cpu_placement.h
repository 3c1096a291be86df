// Base: keeps threads that work together on different processors.
//
// Used by thread_pool.cc. A thread that is woken may be put on the processor of
// the thread that woke it, although others are free: kernels of virtual
// machines mistake an idle processor for one that the host has taken away, and
// need milliseconds to correct that. This leaves no affinity behind, and does
// nothing where the host or its container has restricted one: they decide where
// threads may run.
#ifndef RUY_LIKE_BASE_CPU_PLACEMENT_H_
#define RUY_LIKE_BASE_CPU_PLACEMENT_H_

#include <atomic>
#include <cstdint>

#include "ruy_like/os/processors.h"

namespace ruy_like {

// Processors of threads that work together. Safe to use from any thread; wrong
// for threads that come at once or are moved by the kernel, which costs speed.
class CpuPlacement final {
 public:
  // Sets the thread whose processor the others avoid first of all.
  void SetLeader() {
    leader_.store(os::CurrentCpu(), std::memory_order_relaxed);
  }

  // Registers this thread; if another one is on the same processor, moves it to
  // a free one, if it may run on all (six system calls). Returns its processor,
  // for Leave().
  int Enter();
  void Leave(int cpu);

 private:
  // CPU numbers from here on are ignored.
  static constexpr int kMaxCpus = 1024;
  static constexpr int kBits = 64;

  static bool IsKnown(int cpu) { return cpu >= 0 && cpu < kMaxCpus; }
  bool Contains(int cpu) const {
    return (taken_[cpu / kBits].load(std::memory_order_relaxed) >>
                (cpu % kBits) &
            1) != 0;
  }

  std::atomic<int> leader_{-1};
  std::atomic<std::uint64_t> taken_[kMaxCpus / kBits] = {};
};

}  // namespace ruy_like

#endif  // RUY_LIKE_BASE_CPU_PLACEMENT_H_
