// Test support: the program's heap and its starting of threads, counted, and
// failing on demand.
//
// Replaces malloc and its kin, pthread_create and mmap or VirtualAlloc of the
// program that links ruy_like_test_heap; operator new and std::thread end there
// too. Not for sanitizer builds, which bring a malloc of their own.
#ifndef RUY_LIKE_TEST_SUPPORT_HEAP_H_
#define RUY_LIKE_TEST_SUPPORT_HEAP_H_

#include <cstdlib>  // __GLIBC__

#include "test/support/sanitizers.h"

// glibc has names for its own malloc; the linkers of mingw-w64 and Emscripten
// give it one.
#if !RUY_LIKE_TEST_ASAN && !RUY_LIKE_TEST_TSAN &&                            \
    ((defined(__GLIBC__) && defined(__LP64__)) || defined(__EMSCRIPTEN__) || \
     defined(__MINGW32__))
#define RUY_LIKE_TEST_OWNS_HEAP 1
#else
#define RUY_LIKE_TEST_OWNS_HEAP 0
#endif

namespace ruy_like {

// Where false, nothing is counted and nothing fails.
constexpr bool kTestOwnsHeap = RUY_LIKE_TEST_OWNS_HEAP != 0;

// Since the start, by any thread: successful allocations and mappings, and the
// bytes of them that were not given back.
long AllocationCount();
long LiveBytes();

// The allocations that fail: number `first` (0 is the next one) of those that
// come while a FailureScope lives, on any thread; or that one and all after it.
enum class Failing { kOne, kAllFrom };
struct Failures {
  static constexpr long kNever = -1;
  long first_allocation = kNever;
  long first_thread = kNever;
  Failing failing = Failing::kOne;
};

// One at a time. Allocates nothing itself.
class FailureScope final {
 public:
  explicit FailureScope(const Failures& failures);
  ~FailureScope();
  FailureScope(const FailureScope&) = delete;
  FailureScope& operator=(const FailureScope&) = delete;

  // How many have failed so far.
  long failed() const;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_HEAP_H_
