// Code that Linux and the other Unix systems share.
// Tested in test/base/allocator_test.cc.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "ruy_like/os/memory.h"
#include "ruy_like/os/process.h"
#include "ruy_like/os/wait.h"

namespace ruy_like::os {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Length of the mapping behind a buffer: whole pages, of any size that Linux
// has as its base page, so that cutting and unmapping agree on where it ends.
constexpr std::size_t MappedBytes(std::size_t bytes) {
  constexpr std::size_t kLargestBasePage = 65536;
  return (bytes + kLargestBasePage - 1) & ~(kLargestBasePage - 1);
}

// True if no other process writes the file. Where the file system knows no
// locks, that is not known.
bool Lock(int file) {
  return flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

// Forks between the process that started and this one.
std::atomic<int> fork_count{0};

}  // namespace

void* AllocateAligned(std::size_t alignment, std::size_t bytes) {
  void* data = nullptr;
  return posix_memalign(&data, alignment, bytes) == 0 ? data : nullptr;
}

void FreeAligned(void* data) { std::free(data); }

// Walking over packed weights with 4 KiB pages misses the TLB on every panel,
// hence the huge ones.
void* MapLarge(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX - 2 * kHugePageBytes) return nullptr;
  const std::size_t mapping_bytes = MappedBytes(bytes);
  void* const mapped =
      mmap(nullptr, mapping_bytes + kHugePageBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  // Cut off what lies before the boundary and after the end.
  char* const base = static_cast<char*>(mapped);
  const std::size_t before =
      -reinterpret_cast<std::uintptr_t>(mapped) & (kHugePageBytes - 1);
  char* const data = base + before;
  if (before != 0) munmap(base, before);
  munmap(data + mapping_bytes, kHugePageBytes - before);
#ifdef MADV_HUGEPAGE
  madvise(data, mapping_bytes, MADV_HUGEPAGE);  // Advice: failing is harmless.
#endif
  return data;
}

void UnmapLarge(void* data, std::size_t bytes) {
  munmap(data, MappedBytes(bytes));
}

std::FILE* OpenForWriting(const char* name) {
  const int file = open(
      name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file == -1) return nullptr;
  struct stat status;
  if (fstat(file, &status) == 0) {
    const bool is_regular = S_ISREG(status.st_mode);
    if (!is_regular && !S_ISCHR(status.st_mode)) {
      errno = ENOTSUP;
    } else if (!is_regular || (Lock(file) && ftruncate(file, 0) == 0)) {
      std::FILE* const stream = fdopen(file, "w");
      if (stream != nullptr) return stream;
    }
  }
  const int error = errno;
  close(file);
  errno = error;
  return nullptr;
}

long ProcessId() { return static_cast<long>(getpid()); }

int ForkCount() {
  static const bool registered =
      pthread_atfork(nullptr, nullptr, [] {
        fork_count.fetch_add(1, std::memory_order_relaxed);
      }) == 0;
  // Without memory for the handler, the process's number does as well; it costs
  // a system call.
  return registered ? fork_count.load(std::memory_order_relaxed)
                    : static_cast<int>(getpid());
}

void CallWithSignalsBlocked(void (*function)(void* argument), void* argument) {
  sigset_t blocked, old;
  sigfillset(&blocked);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&blocked, signal);
  }
  // Not in addition to the caller's: it may block one of those.
  pthread_sigmask(SIG_SETMASK, &blocked, &old);
  function(argument);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

bool CanStartThreads() { return true; }

void YieldThread() { sched_yield(); }

}  // namespace ruy_like::os
