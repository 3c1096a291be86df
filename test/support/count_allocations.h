// Test support: counts what the program takes from the heap.
//
// Replaces the global operator new, so it is to be included by exactly one
// source file of a test program.
#ifndef RUY_LIKE_TEST_SUPPORT_COUNT_ALLOCATIONS_H_
#define RUY_LIKE_TEST_SUPPORT_COUNT_ALLOCATIONS_H_

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "test/support/sanitizers.h"

namespace ruy_like {

inline std::atomic<long> allocation_count{0};

// ThreadSanitizer has an operator new of its own, which cannot be replaced.
constexpr bool kCountsAllocations = !kThreadSanitizer;

}  // namespace ruy_like

#if !RUY_LIKE_TEST_TSAN

// Not inlined: gcc would warn of new's memory being given to free.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  ruy_like::allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes > 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}

__attribute__((noinline)) void operator delete(void* p) noexcept {
  std::free(p);
}

__attribute__((noinline)) void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

#endif  // !RUY_LIKE_TEST_TSAN

#endif  // RUY_LIKE_TEST_SUPPORT_COUNT_ALLOCATIONS_H_
