// WebAssembly, compiled by Emscripten, with and without -pthread.
// Tested in test/base/cpu_limits_test.cc.
#include <emscripten/threading.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "ruy_like/os/memory.h"
#include "ruy_like/os/process.h"
#include "ruy_like/os/processors.h"
#include "ruy_like/os/wait.h"

namespace ruy_like::os {

void* AllocateAligned(std::size_t alignment, std::size_t bytes) {
  // aligned_alloc wants a multiple of the alignment.
  if (bytes > PTRDIFF_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment,
                            (bytes + alignment - 1) & ~(alignment - 1));
}

void FreeAligned(void* data) { std::free(data); }

// There are no pages to map: mmap is malloc here, and munmap of a part fails.
void* MapLarge(std::size_t bytes) { return AllocateAligned(64, bytes); }

void UnmapLarge(void* data, std::size_t) { FreeAligned(data); }

const char* GetEnvironment(const char* name) { return std::getenv(name); }

std::FILE* OpenForWriting(const char* name) { return std::fopen(name, "w"); }

long ProcessId() { return 1; }

int ForkCount() { return 0; }

void CallWithSignalsBlocked(void (*function)(void* argument), void* argument) {
  function(argument);
}

bool CanStartThreads() { return emscripten_has_threading_support() != 0; }

int CurrentCpu() { return -1; }

void MoveOff(const std::uint64_t*, int) {}

int CountPermittedCpus() {
  return CanStartThreads() ? std::max(1, emscripten_num_logical_cores()) : 1;
}

double CpuQuota() { return std::numeric_limits<double>::infinity(); }

bool RequestAmx() { return false; }

bool GetHwcaps(std::uint64_t*, std::uint64_t*) { return false; }

bool HasSysctl(const char*) { return false; }

bool ProcessorsAreDescribed() { return true; }

bool HasWindowsFeature(int) { return false; }

void SleepWhileEquals(const std::atomic<std::uint32_t>* word,
                      std::uint32_t value) {
  emscripten_futex_wait(const_cast<std::atomic<std::uint32_t>*>(word), value,
                        HUGE_VAL);
}

void WakeOne(const std::atomic<std::uint32_t>* word) {
  emscripten_futex_wake(const_cast<std::atomic<std::uint32_t>*>(word), 1);
}

void YieldThread() { sched_yield(); }

}  // namespace ruy_like::os
