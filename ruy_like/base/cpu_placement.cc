#include "ruy_like/base/cpu_placement.h"

namespace ruy_like {

int CpuPlacement::Enter() {
  int cpu = os::CurrentCpu();
  if (!IsKnown(cpu)) return -1;
  const int leader = leader_.load(std::memory_order_relaxed);
  if (Contains(cpu) || cpu == leader) {
    std::uint64_t avoided[kMaxCpus / kBits];
    for (int i = 0; i < kMaxCpus / kBits; ++i) {
      avoided[i] = taken_[i].load(std::memory_order_relaxed);
    }
    if (IsKnown(leader)) {
      avoided[leader / kBits] |= std::uint64_t{1} << (leader % kBits);
    }
    os::MoveOff(avoided, kMaxCpus);
    cpu = os::CurrentCpu();
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
