#include "ruy_like/base/cpu_placement.h"

#include "ruy_like/os/processors.h"

namespace ruy_like {

int CurrentCpu() { return os::CurrentCpu(); }

int CpuPlacement::Enter() {
  int cpu = CurrentCpu();
  if (!IsKnown(cpu)) return -1;
  if (Contains(cpu) || IsLeader(cpu)) {
    std::uint64_t avoided[kMaxCpus / kBits];
    for (int i = 0; i < kMaxCpus / kBits; ++i) {
      avoided[i] = taken_[i].load(std::memory_order_relaxed);
    }
    const int leader = leader_.load(std::memory_order_relaxed);
    if (IsKnown(leader)) {
      avoided[leader / kBits] |= std::uint64_t{1} << (leader % kBits);
    }
    os::MoveOff(avoided, kMaxCpus);
    cpu = CurrentCpu();
    if (!IsKnown(cpu)) return -1;
  }
  taken_[cpu / kBits].fetch_or(std::uint64_t{1} << (cpu % kBits),
                               std::memory_order_relaxed);
  return cpu;
}

void CpuPlacement::Leave(int cpu) {
  if (cpu < 0) return;
  taken_[cpu / kBits].fetch_and(~(std::uint64_t{1} << (cpu % kBits)),
                                std::memory_order_relaxed);
}

}  // namespace ruy_like
