// An Executor over pthreadpool, as XNNPACK's users have one.
#include <pthreadpool.h>

#include <algorithm>
#include <thread>

#include "example/executors/try_executor.h"

class PthreadpoolExecutor final : public ruy_like::Executor {
 public:
  explicit PthreadpoolExecutor(pthreadpool_t pool) : pool_(pool) {}
  // The caller is one of its threads.
  int max_concurrency() const override {
    return static_cast<int>(pthreadpool_get_threads_count(pool_));
  }
  void ParallelFor(int count, void (*function)(void* argument, int i),
                   void* argument) override {
    Job job = {function, argument};
    pthreadpool_parallelize_1d(pool_, &Job::Run, &job, count, /*flags=*/0);
  }

 private:
  struct Job {
    void (*function)(void* argument, int i);
    void* argument;
    static void Run(void* job, std::size_t i) {
      const Job& self = *static_cast<Job*>(job);
      self.function(self.argument, static_cast<int>(i));
    }
  };

  const pthreadpool_t pool_;
};

int main() {
  const pthreadpool_t pool = pthreadpool_create(std::max(
      std::size_t{2}, std::size_t{std::thread::hardware_concurrency()}));
  PthreadpoolExecutor executor(pool);
  const int code = TryExecutor("pthreadpool", &executor);
  pthreadpool_destroy(pool);
  return code;
}
