// An Executor over Eigen's ThreadPool, as TensorFlow and its kin have one.
#define EIGEN_USE_THREADS
#include <algorithm>
#include <thread>
#include <unsupported/Eigen/CXX11/ThreadPool>

#include "example/executors/try_executor.h"

class EigenExecutor final : public ruy_like::Executor {
 public:
  explicit EigenExecutor(Eigen::ThreadPoolInterface* pool) : pool_(pool) {}
  // The pool's threads, and the caller's.
  int max_concurrency() const override { return pool_->NumThreads() + 1; }
  void ParallelFor(int count, void (*function)(void* argument, int i),
                   void* argument) override {
    if (pool_->CurrentThreadId() >= 0) {
      // A thread of the pool must not wait for others, which may all be doing
      // the same: it does the work by itself.
      for (int i = 0; i < count; ++i) function(argument, i);
      return;
    }
    Eigen::Barrier done(count - 1);
    for (int i = 1; i < count; ++i) {
      pool_->Schedule([&done, function, argument, i] {
        function(argument, i);
        done.Notify();
      });
    }
    function(argument, 0);
    done.Wait();
  }

 private:
  Eigen::ThreadPoolInterface* const pool_;
};

int main() {
  Eigen::ThreadPool pool(
      std::max(2, static_cast<int>(std::thread::hardware_concurrency())));
  EigenExecutor executor(&pool);
  return TryExecutor("Eigen", &executor);
}
