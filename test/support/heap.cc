#include "test/support/heap.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

// Constant-initialised: malloc is called before any constructor runs.
std::atomic<long> allocation_count{0};
std::atomic<long> live_bytes{0};

// Allocations or threads that may still be had; negative without a limit.
struct Budget {
  std::atomic<long> left{-1};
  std::atomic<long> failed{0};
  std::atomic<bool> stays_empty{false};

  // Whether this one is to fail.
  bool Fails() {
    if (left.load(std::memory_order_relaxed) < 0) return false;
    const long before = left.fetch_sub(1, std::memory_order_relaxed);
    if (before > 0) return false;
    if (before < 0 && !stays_empty.load(std::memory_order_relaxed)) {
      return false;
    }
    if (stays_empty.load(std::memory_order_relaxed)) {
      left.store(0, std::memory_order_relaxed);
    }
    failed.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void Set(long first, bool stays) {
    failed.store(0, std::memory_order_relaxed);
    stays_empty.store(stays, std::memory_order_relaxed);
    left.store(first, std::memory_order_relaxed);
  }
};
Budget allocation_budget;
Budget thread_budget;

}  // namespace

#if RUY_LIKE_TEST_OWNS_HEAP
namespace {

bool AllocationFails() {
  if (!allocation_budget.Fails()) return false;
  errno = ENOMEM;
  return true;
}

// Counts what the C library gave.
void* Counted(void* memory) {
  if (memory == nullptr) return nullptr;
  ++allocation_count;
  live_bytes += static_cast<long>(malloc_usable_size(memory));
  return memory;
}

using PthreadCreateFn = int(pthread_t*, const pthread_attr_t*, void* (*)(void*),
                            void*);
// Looked up before main, while allocations succeed.
PthreadCreateFn* const real_pthread_create =
    reinterpret_cast<PthreadCreateFn*>(dlsym(RTLD_NEXT, "pthread_create"));

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);

void* malloc(std::size_t bytes) {
  return AllocationFails() ? nullptr : Counted(__libc_malloc(bytes));
}
void* calloc(std::size_t count, std::size_t bytes) {
  return AllocationFails() ? nullptr : Counted(__libc_calloc(count, bytes));
}
void* realloc(void* memory, std::size_t bytes) {
  if (AllocationFails()) return nullptr;
  live_bytes -= static_cast<long>(malloc_usable_size(memory));
  return Counted(__libc_realloc(memory, bytes));
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return AllocationFails() ? nullptr
                           : Counted(__libc_memalign(alignment, bytes));
}
void free(void* memory) {
  live_bytes -= static_cast<long>(malloc_usable_size(memory));
  __libc_free(memory);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* const result = memalign(alignment, bytes);
  if (result == nullptr) return ENOMEM;
  *memory = result;
  return 0;
}
void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd,
           off_t offset) noexcept {
  if (AllocationFails()) return MAP_FAILED;
  ++allocation_count;
  live_bytes += static_cast<long>(bytes);
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, bytes, protection, flags, fd, offset));
}
int munmap(void* address, std::size_t bytes) noexcept {
  live_bytes -= static_cast<long>(bytes);
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*function)(void*), void* argument) {
  if (thread_budget.Fails()) return EAGAIN;
  return real_pthread_create(thread, attributes, function, argument);
}

}  // extern "C"
#endif

namespace ruy_like {

long AllocationCount() { return allocation_count; }
long LiveBytes() { return live_bytes; }

FailureScope::FailureScope(const Failures& failures) {
  const bool stays = failures.failing == Failing::kAllFrom;
  thread_budget.Set(failures.first_thread, stays);
  allocation_budget.Set(failures.first_allocation, stays);
}

FailureScope::~FailureScope() {
  allocation_budget.Set(Failures::kNever, false);
  thread_budget.Set(Failures::kNever, false);
}

long FailureScope::failed() const {
  return allocation_budget.failed + thread_budget.failed;
}

}  // namespace ruy_like
