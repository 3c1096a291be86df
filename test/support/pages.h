// Test support: pages of memory, of the system that the tests run on.
#ifndef RUY_LIKE_TEST_SUPPORT_PAGES_H_
#define RUY_LIKE_TEST_SUPPORT_PAGES_H_

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
// Macros of 16-bit Windows.
#undef far
#undef near
#elif defined(__EMSCRIPTEN__)
#include <cstdlib>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstddef>

namespace ruy_like {

enum class PageAccess { kNone, kRead, kReadWrite };

#if defined(_WIN32)

inline std::size_t PageBytes() {
  SYSTEM_INFO info;
  GetSystemInfo(&info);
  return info.dwPageSize;
}

// Inaccessible; null on failure.
inline char* MapPages(std::size_t bytes) {
  return static_cast<char*>(
      VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_NOACCESS));
}

inline void UnmapPages(char* pages, std::size_t) {
  VirtualFree(pages, 0, MEM_RELEASE);
}

inline bool ProtectPages(char* pages, std::size_t bytes, PageAccess access) {
  const DWORD protection = access == PageAccess::kNone   ? PAGE_NOACCESS
                           : access == PageAccess::kRead ? PAGE_READONLY
                                                         : PAGE_READWRITE;
  DWORD old;
  return VirtualProtect(pages, bytes, protection, &old) != 0;
}

#elif defined(__EMSCRIPTEN__)

// There is no protection: accesses beyond a buffer go unnoticed, but writes to
// the slack around it.
inline std::size_t PageBytes() { return 4096; }
inline char* MapPages(std::size_t bytes) {
  return static_cast<char*>(std::aligned_alloc(PageBytes(), bytes));
}
inline void UnmapPages(char* pages, std::size_t) { std::free(pages); }
inline bool ProtectPages(char*, std::size_t, PageAccess) { return true; }

#else

inline std::size_t PageBytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

inline char* MapPages(std::size_t bytes) {
  void* const pages =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<char*>(pages);
}

inline void UnmapPages(char* pages, std::size_t bytes) { munmap(pages, bytes); }

inline bool ProtectPages(char* pages, std::size_t bytes, PageAccess access) {
  const int protection = access == PageAccess::kNone   ? PROT_NONE
                         : access == PageAccess::kRead ? PROT_READ
                                                       : PROT_READ | PROT_WRITE;
  return mprotect(pages, bytes, protection) == 0;
}

#endif

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_PAGES_H_
