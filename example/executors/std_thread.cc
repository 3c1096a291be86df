// An Executor over threads that are started for each product: the shortest one
// there is. Starting a thread takes some ten microseconds, so it is for large
// products only.
#include <algorithm>
#include <thread>
#include <vector>

#include "example/executors/try_executor.h"

class StdThreadExecutor final : public ruy_like::Executor {
 public:
  explicit StdThreadExecutor(int threads) : threads_(threads) {}
  int max_concurrency() const override { return threads_; }
  void ParallelFor(int count, void (*function)(void* argument, int i),
                   void* argument) override {
    std::vector<std::thread> others;
    for (int i = 1; i < count; ++i) others.emplace_back(function, argument, i);
    function(argument, 0);
    for (std::thread& other : others) other.join();
  }

 private:
  const int threads_;
};

int main() {
  StdThreadExecutor executor(
      std::max(2, static_cast<int>(std::thread::hardware_concurrency())));
  return TryExecutor("std::thread", &executor);
}
