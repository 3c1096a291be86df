#include "ruy_like/base/cpu_placement.h"

#include <algorithm>
#include <climits>

#ifdef __linux__
#include <sched.h>
#include <unistd.h>
#endif

namespace ruy_like {

#ifdef __linux__

int CurrentCpu() { return sched_getcpu(); }

namespace {

// Has the kernel move this thread to one of `cpus`, and then lets it run where
// it could before.
void MoveTo(const cpu_set_t& cpus, const cpu_set_t& permitted) {
  if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) return;
  sched_setaffinity(0, sizeof(permitted), &permitted);
}

}  // namespace

int CountPermittedCpus() {
  int count = 0;
  for (const pid_t thread : {getpid(), pid_t{0}}) {
    cpu_set_t permitted;
    if (sched_getaffinity(thread, sizeof(permitted), &permitted) == 0) {
      count = std::max(count, CPU_COUNT(&permitted));
    }
  }
  return count > 0 ? count : INT_MAX;
}

int CpuPlacement::Enter() {
  int cpu = CurrentCpu();
  if (!IsKnown(cpu)) return -1;
  if (Contains(cpu) || IsLeader(cpu)) {
    cpu_set_t permitted;
    if (sched_getaffinity(0, sizeof(permitted), &permitted) == 0) {
      cpu_set_t free;
      CPU_ZERO(&free);
      for (int i = 0; i < kMaxCpus; ++i) {
        if (CPU_ISSET(i, &permitted) && !Contains(i) && !IsLeader(i)) {
          CPU_SET(i, &free);
        }
      }
      if (CPU_COUNT(&free) > 0) {
        MoveTo(free, permitted);
        cpu = CurrentCpu();
        if (!IsKnown(cpu)) return -1;
      }
    }
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

#else

int CurrentCpu() { return -1; }
int CountPermittedCpus() { return INT_MAX; }
int CpuPlacement::Enter() { return -1; }
void CpuPlacement::Leave(int) {}

#endif

int PermittedCpus() {
  static const int count = CountPermittedCpus();
  return count;
}

}  // namespace ruy_like
