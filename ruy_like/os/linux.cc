// Linux, Android among them, beyond what unix.cc has.
// Tested in test/base/cpu_limits_test.cc.
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "ruy_like/os/process.h"
#include "ruy_like/os/processors.h"
#include "ruy_like/os/wait.h"

namespace ruy_like::os {
namespace {

// 0 if not known. Machines may have more processors than cpu_set_t has bits.
int CountAffinity(pid_t thread) {
  constexpr int kMaxCpus = 1 << 16;
  for (int cpus = CPU_SETSIZE; cpus <= kMaxCpus; cpus *= 4) {
    cpu_set_t* const set = CPU_ALLOC(cpus);
    if (set == nullptr) return 0;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    const bool is_known = sched_getaffinity(thread, bytes, set) == 0;
    const int count = is_known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (is_known) return count;
  }
  return 0;
}

// True if the set has every processor that is online. Asked of the kernel: some
// C libraries' sysconf counts the thread's own set.
bool HasAllOnline(const cpu_set_t& set) {
  char ranges[1024];  // as "0-3,8-11,16"
  const int file = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t bytes = read(file, ranges, sizeof(ranges) - 1);
  close(file);
  ranges[bytes > 0 ? bytes : 0] = '\0';
  char* rest = ranges;
  do {
    char* const number = rest;
    const long first = std::strtol(number, &rest, 10);
    if (rest == number) return false;
    const long last = *rest == '-' ? std::strtol(rest + 1, &rest, 10) : first;
    for (long cpu = first; cpu <= last; ++cpu) {
      if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &set)) return false;
    }
  } while (*rest++ == ',');
  return true;
}

}  // namespace

// Not secure_getenv, which Android's C library lacks.
const char* GetEnvironment(const char* name) {
  return getauxval(AT_SECURE) != 0 ? nullptr : std::getenv(name);
}

int CountPermittedCpus() {
  const int count = std::max(CountAffinity(getpid()), CountAffinity(0));
  return count > 0 ? count : INT_MAX;
}

int CurrentCpu() { return sched_getcpu(); }

void MoveOff(const std::uint64_t* avoided, int count) {
  cpu_set_t permitted, free;
  if (sched_getaffinity(0, sizeof(permitted), &permitted) != 0) return;
  CPU_ZERO(&free);
  for (int i = 0; i < std::min(count, CPU_SETSIZE); ++i) {
    if (CPU_ISSET(i, &permitted) && (avoided[i / 64] >> (i % 64) & 1) == 0) {
      CPU_SET(i, &free);
    }
  }
  if (CPU_COUNT(&free) == 0 || !HasAllOnline(permitted) ||
      sched_setaffinity(0, sizeof(free), &free) != 0) {
    return;
  }
  // Not `permitted`: since Linux 6.2 a thread keeps the set that it asked for,
  // and would not follow a cpuset that grows. The set of all is the same as
  // none.
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof(all));
  sched_setaffinity(0, sizeof(all), &all);
}

double CpuQuota() {
  try {
    return CgroupCpuQuota("");
  } catch (const std::bad_alloc&) {
    return std::numeric_limits<double>::infinity();
  }
}

bool RequestAmx() {
#if defined(__x86_64__)
  constexpr int kXfeatureTileData = 18;      // the tile data's number
  constexpr int kArchReqXcompPerm = 0x1023;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureTileData) == 0;
#else
  return false;
#endif
}

bool GetHwcaps(std::uint64_t* hwcap, std::uint64_t* hwcap2) {
  *hwcap = getauxval(AT_HWCAP);
  *hwcap2 = getauxval(AT_HWCAP2);
  return true;
}

bool HasSysctl(const char*) { return false; }

bool ProcessorsAreDescribed() { return access("/proc/cpuinfo", R_OK) == 0; }

bool HasWindowsFeature(int) { return false; }

void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void WakeOne(const std::atomic<std::uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace ruy_like::os
