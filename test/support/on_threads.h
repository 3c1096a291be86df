// Test support: what several threads do at the same time.
#ifndef RUY_LIKE_TEST_SUPPORT_ON_THREADS_H_
#define RUY_LIKE_TEST_SUPPORT_ON_THREADS_H_

#include <thread>
#include <vector>

namespace ruy_like {

// run(i), for each i below `count`, on a thread of its own; returns when all
// have ended.
template <typename Run>
void OnThreads(int count, const Run& run) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&run, i] { run(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_ON_THREADS_H_
