// macOS, FreeBSD and others with POSIX's functions, beyond what unix.cc has.
// Tested in test/base/cpu_limits_test.cc.
#include <sys/types.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#if __has_include(<os/os_sync_wait_on_address.h>)
#include <os/os_sync_wait_on_address.h>
#define RUY_LIKE_HAVE_OS_SYNC 1
#endif
#elif defined(__FreeBSD__)
#include <sys/cpuset.h>
#include <sys/param.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif
#endif

#include <climits>
#include <cstddef>
#include <cstdlib>
#include <limits>

#include "ruy_like/os/process.h"
#include "ruy_like/os/processors.h"
#include "ruy_like/os/wait.h"

namespace ruy_like::os {

const char* GetEnvironment(const char* name) {
  return issetugid() != 0 ? nullptr : std::getenv(name);
}

int CurrentCpu() { return -1; }

void MoveOff(const std::uint64_t*, int) {}

int CountPermittedCpus() {
#if defined(__FreeBSD__)
  cpuset_t set;
  if (cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof(set),
                         &set) == 0) {
    return CPU_COUNT(&set);
  }
#endif
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 && count < INT_MAX ? static_cast<int>(count) : INT_MAX;
}

double CpuQuota() { return std::numeric_limits<double>::infinity(); }

// A guess could end in an illegal instruction.
bool RequestAmx() { return false; }

bool GetHwcaps(std::uint64_t* hwcap, std::uint64_t* hwcap2) {
#if defined(__FreeBSD__) && defined(__aarch64__)
  // Its bits are Linux's.
  unsigned long low = 0, high = 0;
  if (elf_aux_info(AT_HWCAP, &low, sizeof(low)) != 0) return false;
  elf_aux_info(AT_HWCAP2, &high, sizeof(high));
  *hwcap = low;
  *hwcap2 = high;
  return true;
#else
  static_cast<void>(hwcap);
  static_cast<void>(hwcap2);
  return false;
#endif
}

bool HasSysctl(const char* name) {
#if defined(__APPLE__)
  int value = 0;
  std::size_t size = sizeof(value);
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
#else
  static_cast<void>(name);
  return false;
#endif
}

bool ProcessorsAreDescribed() { return true; }

bool HasWindowsFeature(int) { return false; }

#if defined(RUY_LIKE_HAVE_OS_SYNC)

// From macOS 14.4 on.
void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  if (__builtin_available(macOS 14.4, iOS 17.4, *)) {
    os_sync_wait_on_address(const_cast<std::atomic<std::uint32_t>*>(word),
                            value, sizeof(value), OS_SYNC_WAIT_ON_ADDRESS_NONE);
  } else {
    SleepOnCondition(word, value);
  }
}

void WakeOne(const std::atomic<std::uint32_t>* word) {
  if (__builtin_available(macOS 14.4, iOS 17.4, *)) {
    os_sync_wake_by_address_any(const_cast<std::atomic<std::uint32_t>*>(word),
                                sizeof(std::uint32_t),
                                OS_SYNC_WAKE_BY_ADDRESS_NONE);
  } else {
    WakeByCondition(word);
  }
}

#else

void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  SleepOnCondition(word, value);
}

void WakeOne(const std::atomic<std::uint32_t>* word) { WakeByCondition(word); }

#endif

}  // namespace ruy_like::os
