// Test support: a thread with the least stack that the library promises to run
// on (doc/threading.md).
#ifndef RUY_LIKE_TEST_SUPPORT_SMALL_STACK_H_
#define RUY_LIKE_TEST_SUPPORT_SMALL_STACK_H_

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace ruy_like {

constexpr std::size_t kSmallStackBytes = 64 * 1024;

// run() on a thread of its own with that stack; more of it ends the program.
template <typename Run>
void RunOnSmallStack(const Run& run) {
  pthread_attr_t attributes;
  pthread_t thread;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  // 64-bit Arm's C library gives no thread less than 128 KiB.
  const std::size_t least = std::max<long>(sysconf(_SC_THREAD_STACK_MIN), 0);
  ASSERT_EQ(
      pthread_attr_setstacksize(&attributes, std::max(kSmallStackBytes, least)),
      0);
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  (*static_cast<const Run*>(argument))();
                  return nullptr;
                },
                const_cast<Run*>(&run)),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_SMALL_STACK_H_
