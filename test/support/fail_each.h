// Test support: one call again and again, each allocation (or start of a
// thread) failing in turn, alone and with all after it.
#ifndef RUY_LIKE_TEST_SUPPORT_FAIL_EACH_H_
#define RUY_LIKE_TEST_SUPPORT_FAIL_EACH_H_

#include <gtest/gtest.h>

#include <new>

#include "absl/status/status.h"
#include "test/support/heap.h"

namespace ruy_like {

// kind.call(world) under these failures. Expects the kind's code or, if
// something failed, ResourceExhausted, and no exception. Sets *failed to the
// number of failures.
template <class Kind, class World>
absl::Status CallWithFailures(const Kind& kind, const Failures& failures,
                              World* world, long* failed) {
  absl::Status status;
  bool escaped = false;
  {
    const FailureScope scope(failures);
    try {
      status = kind.call(world);
    } catch (const std::bad_alloc&) {
      escaped = true;
    }
    *failed = scope.failed();
  }
  EXPECT_FALSE(escaped) << "std::bad_alloc";
  EXPECT_TRUE(
      status.code() == kind.code ||
      (*failed > 0 && status.code() == absl::StatusCode::kResourceExhausted))
      << status;
  return status;
}

// try_once(failures) makes the call and checks it; false once nothing failed.
// Expects that calls leak nothing. Returns how many there were to fail.
template <typename TryOnce>
long FailEach(const char* name, long Failures::*first,
              const TryOnce& try_once) {
  long n = 0;
  for (const Failing failing : {Failing::kOne, Failing::kAllFrom}) {
    for (n = 0;; ++n) {
      SCOPED_TRACE(testing::Message()
                   << name << ", failure " << n
                   << (failing == Failing::kOne ? "" : " and all after it"));
      Failures failures;
      failures.*first = n;
      failures.failing = failing;
      // What the C library keeps of threads that have ended grows for some
      // calls, a leak with each call.
      bool more = true;
      bool grows = true;
      for (int repeat = 0; grows && repeat < 10; ++repeat) {
        const long live_bytes = LiveBytes();
        more = try_once(failures);
        grows = LiveBytes() > live_bytes;
      }
      EXPECT_FALSE(grows) << "leaks";
      if (!more || testing::Test::HasFailure()) break;
      EXPECT_LT(n, 1000);
    }
  }
  return n;
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_FAIL_EACH_H_
