#include "test/support/heap.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#if RUY_LIKE_TEST_OWNS_HEAP
#include <malloc.h>
#include <pthread.h>
#if defined(__MINGW32__)
#include <windows.h>
#elif defined(__GLIBC__)
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace {

// Constant-initialised: malloc is called before any constructor runs.
std::atomic<long> allocation_count{0};
std::atomic<long> live_bytes{0};

// Allocations or threads that may still be had; negative without a limit.
struct Budget {
  std::atomic<long> left{-1};
  std::atomic<long> failed{0};
  std::atomic<bool> stays_empty{false};

  // True if this one is to fail.
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

// The name under which the program's calls come here, and that of what they
// would have called.
#if defined(__GLIBC__)
#define OWN(name) name
#define REAL(name) __libc_##name
#else  // by the linker's --wrap: test/CMakeLists.txt
#define OWN(name) __wrap_##name
#define REAL(name) __real_##name
#endif

using PthreadCreateFn = int(pthread_t*, const pthread_attr_t*, void* (*)(void*),
                            void*);

extern "C" {
void* REAL(malloc)(std::size_t bytes);
void* REAL(calloc)(std::size_t count, std::size_t bytes);
void* REAL(realloc)(void* memory, std::size_t bytes);
void REAL(free)(void* memory);
#if !defined(__GLIBC__)
PthreadCreateFn REAL(pthread_create);
#endif
#if defined(__MINGW32__)
void* REAL(__emutls_get_address)(void* variable);
extern decltype(&VirtualAlloc) REAL(__imp_VirtualAlloc);
extern decltype(&VirtualFree) REAL(__imp_VirtualFree);
#else
void* REAL(memalign)(std::size_t alignment, std::size_t bytes);
#endif
}

namespace {

// Threads within what may not fail, and comes once in a thread's life: it does
// not count.
std::atomic<int> spared{0};

// Emscripten takes a thread's memory without a look at whether it got any, and
// gives it back by a function that does not come here.
#if defined(__EMSCRIPTEN__)
thread_local bool starts_a_thread = false;
#else
constexpr bool starts_a_thread = false;
#endif

bool AllocationFails() {
  if (spared != 0 || starts_a_thread || !allocation_budget.Fails()) {
    return false;
  }
  errno = ENOMEM;
  return true;
}

long UsableBytes(void* memory) {
#if defined(__MINGW32__)
  return memory == nullptr ? 0 : static_cast<long>(_msize(memory));
#else
  return static_cast<long>(malloc_usable_size(memory));
#endif
}

// Counts what the C library gave.
void* Counted(void* memory) {
  if (memory == nullptr || starts_a_thread) return memory;
  if (spared == 0) ++allocation_count;
  live_bytes += UsableBytes(memory);
  return memory;
}

}  // namespace

extern "C" {

void* OWN(malloc)(std::size_t bytes) {
  return AllocationFails() ? nullptr : Counted(REAL(malloc)(bytes));
}
void* OWN(calloc)(std::size_t count, std::size_t bytes) {
  return AllocationFails() ? nullptr : Counted(REAL(calloc)(count, bytes));
}
void* OWN(realloc)(void* memory, std::size_t bytes) {
  if (AllocationFails()) return nullptr;
  live_bytes -= UsableBytes(memory);
  return Counted(REAL(realloc)(memory, bytes));
}
void OWN(free)(void* memory) {
  live_bytes -= UsableBytes(memory);
  REAL(free)(memory);
}

}  // extern "C"

#if defined(__EMSCRIPTEN__)

// Names that the linker has lost by renaming. What JavaScript takes, as memory
// for exceptions, does not fail: it would not notice.
extern "C" {
__attribute__((export_name("malloc"))) void* MallocForJavaScript(
    std::size_t bytes) {
  return REAL(malloc)(bytes);
}
__attribute__((export_name("free"))) void FreeForJavaScript(void* memory) {
  REAL(free)(memory);
}
}

#endif

#if defined(__MINGW32__)

namespace {

// The C library's own are in a DLL, whose calls of malloc do not come here. A
// pointer to what is to be freed lies in front of the memory.
void* AlignedMalloc(std::size_t bytes, std::size_t alignment) {
  const std::size_t extra = alignment + sizeof(void*);
  if (bytes > SIZE_MAX - extra) return nullptr;
  void* const memory = OWN(malloc)(bytes + extra);
  if (memory == nullptr) return nullptr;
  const auto start = reinterpret_cast<std::uintptr_t>(memory) + extra;
  void** const aligned = reinterpret_cast<void**>(start & ~(alignment - 1));
  aligned[-1] = memory;
  return aligned;
}
void AlignedFree(void* memory) {
  if (memory != nullptr) OWN(free)(static_cast<void**>(memory)[-1]);
}

void* WINAPI CountedVirtualAlloc(void* address, SIZE_T bytes, DWORD type,
                                 DWORD protection) {
  if (AllocationFails()) return nullptr;
  void* const pages =
      REAL(__imp_VirtualAlloc)(address, bytes, type, protection);
  if (pages == nullptr) return nullptr;
  ++allocation_count;
  live_bytes += static_cast<long>(bytes);
  return pages;
}
BOOL WINAPI CountedVirtualFree(void* pages, SIZE_T bytes, DWORD type) {
  // The size that was counted, in whole pages.
  MEMORY_BASIC_INFORMATION info;
  if (VirtualQuery(pages, &info, sizeof(info)) != 0) {
    live_bytes -= static_cast<long>(info.RegionSize);
  }
  return REAL(__imp_VirtualFree)(pages, bytes, type);
}

}  // namespace

extern "C" {

// Where a thread's first use of a thread_local variable, or its first
// exception, finds no memory, libgcc ends the program.
void* OWN(__emutls_get_address)(void* variable) {
  ++spared;
  void* const address = REAL(__emutls_get_address)(variable);
  --spared;
  return address;
}

// Functions of DLLs are called by these pointers to them.
decltype(&AlignedMalloc) OWN(__imp__aligned_malloc) = AlignedMalloc;
decltype(&AlignedFree) OWN(__imp__aligned_free) = AlignedFree;
decltype(&VirtualAlloc) OWN(__imp_VirtualAlloc) = CountedVirtualAlloc;
decltype(&VirtualFree) OWN(__imp_VirtualFree) = CountedVirtualFree;

}  // extern "C"

#else

extern "C" {

void* OWN(memalign)(std::size_t alignment, std::size_t bytes) {
  return AllocationFails() ? nullptr
                           : Counted(REAL(memalign)(alignment, bytes));
}
void* OWN(aligned_alloc)(std::size_t alignment, std::size_t bytes) {
  return OWN(memalign)(alignment, bytes);
}
int OWN(posix_memalign)(void** memory, std::size_t alignment,
                        std::size_t bytes) {
  void* const result = OWN(memalign)(alignment, bytes);
  if (result == nullptr) return ENOMEM;
  *memory = result;
  return 0;
}

}  // extern "C"

#endif

#if defined(__GLIBC__)

namespace {

// Looked up before main, while allocations succeed.
PthreadCreateFn* const real_pthread_create =
    reinterpret_cast<PthreadCreateFn*>(dlsym(RTLD_NEXT, "pthread_create"));

}  // namespace

extern "C" {

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

}  // extern "C"

#else
static constexpr auto real_pthread_create = REAL(pthread_create);
#endif

extern "C" int OWN(pthread_create)(pthread_t* thread,
                                   const pthread_attr_t* attributes,
                                   void* (*function)(void*), void* argument) {
  if (thread_budget.Fails()) return EAGAIN;
#if defined(__EMSCRIPTEN__)
  starts_a_thread = true;
  const int error = real_pthread_create(thread, attributes, function, argument);
  starts_a_thread = false;
  return error;
#else
  return real_pthread_create(thread, attributes, function, argument);
#endif
}

#endif

namespace ruy_like {

long AllocationCount() { return allocation_count; }
long LiveBytes() { return live_bytes; }

#if defined(__MINGW32__)
namespace {

// libstdc++'s reserve for exceptions has a mutex, for which winpthreads takes
// memory when it is first locked; without that, throwing does not end.
bool UseReserveForExceptions() {
  allocation_budget.Set(0, false);
  try {
    throw 0;
  } catch (int) {
  }
  return true;
}

}  // namespace
#endif

FailureScope::FailureScope(const Failures& failures) {
#if defined(__MINGW32__)
  static const bool used = UseReserveForExceptions();
  static_cast<void>(used);
#endif
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
