// Windows, from 8 on.
// Tested in test/base/cpu_limits_test.cc.
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <windows.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "ruy_like/os/memory.h"
#include "ruy_like/os/mutex.h"
#include "ruy_like/os/process.h"
#include "ruy_like/os/processors.h"
#include "ruy_like/os/wait.h"

namespace ruy_like::os {
namespace {

int ErrnoOf(DWORD error) {
  switch (error) {
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return EWOULDBLOCK;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return ENOENT;
    default:
      return EACCES;
  }
}

// True if the file may be written: one on a disk that is no link, or a device
// that neither blocks nor has a reader, as NUL. Empties the former.
bool Prepare(HANDLE file) {
  const DWORD type = GetFileType(file);
  if (type == FILE_TYPE_CHAR) return true;
  BY_HANDLE_FILE_INFORMATION info;
  if (type != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &info) ||
      (info.dwFileAttributes &
       (FILE_ATTRIBUTE_REPARSE_POINT | FILE_ATTRIBUTE_DIRECTORY)) != 0) {
    errno = ENOTSUP;
    return false;
  }
  if (!SetEndOfFile(file)) {
    errno = ErrnoOf(GetLastError());
    return false;
  }
  return true;
}

}  // namespace

void* AllocateAligned(std::size_t alignment, std::size_t bytes) {
  return _aligned_malloc(bytes, alignment);
}

void FreeAligned(void* data) { _aligned_free(data); }

// On a boundary of 64 KiB. Large pages would need a privilege that programs do
// not have by default.
void* MapLarge(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return nullptr;
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void UnmapLarge(void* data, std::size_t) { VirtualFree(data, 0, MEM_RELEASE); }

const char* GetEnvironment(const char* name) { return std::getenv(name); }

std::FILE* OpenForWriting(const char* name) {
  // Shared with readers only: that is the lock.
  const HANDLE file = CreateFileA(
      name, GENERIC_WRITE, FILE_SHARE_READ, nullptr, OPEN_ALWAYS,
      FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    errno = ErrnoOf(GetLastError());
    return nullptr;
  }
  if (!Prepare(file)) {
    const int error = errno;
    CloseHandle(file);
    errno = error;
    return nullptr;
  }
  // Each takes over what it is given.
  const int descriptor = _open_osfhandle(reinterpret_cast<std::intptr_t>(file),
                                         _O_WRONLY | _O_NOINHERIT);
  if (descriptor == -1) {
    CloseHandle(file);
    errno = EMFILE;
    return nullptr;
  }
  std::FILE* const stream = _fdopen(descriptor, "w");
  if (stream == nullptr) _close(descriptor);
  return stream;
}

long ProcessId() { return static_cast<long>(GetCurrentProcessId()); }

int ForkCount() { return 0; }

void CallWithSignalsBlocked(void (*function)(void* argument), void* argument) {
  function(argument);
}

bool CanStartThreads() { return true; }

int CurrentCpu() { return -1; }

void MoveOff(const std::uint64_t*, int) {}

int CountPermittedCpus() {
  DWORD_PTR process_mask = 0, system_mask = 0;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &process_mask,
                              &system_mask)) {
    return INT_MAX;
  }
  // All processors of its group: from Windows 11 on its threads then run on
  // those of other groups too. No mask: threads of it are in several groups.
  if (process_mask == system_mask) {
    const DWORD all = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return all > 0 && all < INT_MAX ? static_cast<int>(all) : INT_MAX;
  }
  int count = 0;
  for (; process_mask != 0; process_mask &= process_mask - 1) ++count;
  return count;
}

// The quota of the job that the process is in, as containers are.
double CpuQuota() {
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION info = {};
  constexpr DWORD kHardCap =
      JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if (!QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation,
                                 &info, sizeof(info), nullptr) ||
      (info.ControlFlags & kHardCap) != kHardCap) {
    return std::numeric_limits<double>::infinity();
  }
  // In hundredths of a percent of all processors.
  return info.CpuRate * 1e-4 * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

// A guess could end in an illegal instruction.
bool RequestAmx() { return false; }

bool GetHwcaps(std::uint64_t*, std::uint64_t*) { return false; }

bool HasSysctl(const char*) { return false; }

bool ProcessorsAreDescribed() { return true; }

bool HasWindowsFeature(int number) {
  return IsProcessorFeaturePresent(static_cast<DWORD>(number)) != 0;
}

void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  WaitOnAddress(const_cast<std::atomic<std::uint32_t>*>(word), &value,
                sizeof(value), INFINITE);
}

void WakeOne(const std::atomic<std::uint32_t>* word) {
  WakeByAddressSingle(const_cast<std::atomic<std::uint32_t>*>(word));
}

void YieldThread() { SwitchToThread(); }

static_assert(sizeof(SRWLOCK) == sizeof(void*), "a null pointer is unlocked");

void NativeMutex::lock() {
  AcquireSRWLockExclusive(reinterpret_cast<SRWLOCK*>(&srw_lock_));
}
bool NativeMutex::try_lock() {
  return TryAcquireSRWLockExclusive(reinterpret_cast<SRWLOCK*>(&srw_lock_)) !=
         0;
}
void NativeMutex::unlock() {
  ReleaseSRWLockExclusive(reinterpret_cast<SRWLOCK*>(&srw_lock_));
}

}  // namespace ruy_like::os
