#include "ruy_like/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/count_allocations.h"
#include "test/support/on_threads.h"

namespace ruy_like {
namespace {

// A derived class larger than Task: Execute must step by its size.
struct CountingTask : Task {
  void Run() override {
    runs++;
    thread = std::this_thread::get_id();
  }
  int runs = 0;  // not atomic: Execute's return must make it visible
  std::thread::id thread;
  char padding[40] = {};
};

// Task is not at the start of the object.
struct Base {
  virtual ~Base() = default;
  int base_member = 1;
};
struct SecondBaseTask : Base, Task {
  void Run() override { runs += base_member; }
  int runs = 0;
};

class ThreadPoolTest : public testing::TestWithParam<float> {
 protected:
  ThreadPoolTest() { pool_.set_spin_milliseconds(GetParam()); }
  ThreadPool pool_;
};

INSTANTIATE_TEST_SUITE_P(
    Spin, ThreadPoolTest, testing::Values(0.0f, 0.05f, 2.0f),
    [](const auto& info) {
      return std::to_string(static_cast<int>(info.param * 1000)) + "us";
    });

TEST_P(ThreadPoolTest, RunsEachTaskOnce) {
  for (int round = 0; round < 200; round++) {
    for (const int count : {0, 1, 2, 3, 4, 8, 5, 2}) {
      std::vector<CountingTask> tasks(count);
      pool_.Execute(count, tasks.data());
      for (const CountingTask& task : tasks) ASSERT_EQ(task.runs, 1);
      if (count > 0) {
        ASSERT_EQ(tasks[0].thread, std::this_thread::get_id());
      }
    }
  }
}

// Tasks go along a tree of workers: three levels of it.
TEST_P(ThreadPoolTest, RunsEachTaskOnceOnManyWorkers) {
  for (int round = 0; round < 50; round++) {
    for (const int count : {5, 6, 21, 22, 40, 90}) {
      std::vector<CountingTask> tasks(count);
      EXPECT_GE(pool_.Execute(count, tasks.data()), 1);
      for (const CountingTask& task : tasks) ASSERT_EQ(task.runs, 1);
    }
  }
}

// Also where work is long enough for workers to be woken by workers.
TEST_P(ThreadPoolTest, RunsLongTasksOfManySleepingWorkers) {
  struct LongTask : CountingTask {
    void Run() override {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      CountingTask::Run();
    }
  };
  for (int round = 0; round < 10; round++) {
    std::vector<LongTask> tasks(40);
    pool_.Execute(40, tasks.data());
    for (const LongTask& task : tasks) ASSERT_EQ(task.runs, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
}

TEST_P(ThreadPoolTest, StepsFromABaseInsideTheObject) {
  std::vector<SecondBaseTask> tasks(4);
  pool_.Execute(4, tasks.data());
  for (const SecondBaseTask& task : tasks) EXPECT_EQ(task.runs, 1);
}

TEST_P(ThreadPoolTest, WorkersSleepAndWakeUp) {
  std::vector<CountingTask> tasks(3);
  for (int round = 1; round <= 20; round++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 5));
    pool_.Execute(3, tasks.data());
    for (const CountingTask& task : tasks) ASSERT_EQ(task.runs, round);
  }
}

// Occupies its thread until every task of the call has begun, or for a second.
struct MeetingTask : Task {
  void Run() override {
    begun->fetch_add(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (begun->load() < expected && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    met = begun->load() == expected;
  }
  std::atomic<int>* begun = nullptr;
  int expected = 0;
  bool met = false;
};

// Four of them, as they are afterwards.
std::vector<MeetingTask> Meet(ThreadPool* pool) {
  std::atomic<int> begun{0};
  std::vector<MeetingTask> tasks(4);
  for (MeetingTask& task : tasks) {
    task.begun = &begun;
    task.expected = 4;
  }
  pool->Execute(4, tasks.data());
  return tasks;
}

TEST_P(ThreadPoolTest, TasksRunSideBySide) {
  for (const MeetingTask& task : Meet(&pool_)) EXPECT_TRUE(task.met);
}

struct SlowTask : Task {
  void Run() override {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    done = true;
  }
  int microseconds = 0;
  bool done = false;
};

TEST_P(ThreadPoolTest, WaitsForASlowWorker) {
  // Long enough for the caller to sleep, whatever the spin.
  std::vector<SlowTask> tasks(2);
  tasks[0].microseconds = 200;  // so that the worker takes task 1 first
  tasks[1].microseconds = 8000;
  for (int round = 0; round < 5; round++) {
    tasks[1].done = false;
    pool_.Execute(2, tasks.data());
    ASSERT_TRUE(tasks[1].done);
  }
}

TEST_P(ThreadPoolTest, CallersTakeTurns) {
  std::atomic<int> wrong{0};
  OnThreads(4, [this, &wrong](int caller) {
    std::vector<CountingTask> tasks(2 + caller);
    for (int round = 1; round <= 200; round++) {
      pool_.Execute(2 + caller, tasks.data());
      for (const CountingTask& task : tasks) wrong += task.runs != round;
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

struct NestingTask : Task {
  void Run() override {
    std::vector<CountingTask> inner(3);
    pool->Execute(3, inner.data());
    for (const CountingTask& task : inner) {
      good += task.runs == 1 && task.thread == std::this_thread::get_id();
    }
  }
  ThreadPool* pool = nullptr;
  int good = 0;
};

TEST_P(ThreadPoolTest, NestedCallsRunInline) {
  std::vector<NestingTask> tasks(3);
  for (NestingTask& task : tasks) task.pool = &pool_;
  pool_.Execute(3, tasks.data());
  for (const NestingTask& task : tasks) EXPECT_EQ(task.good, 3);
}

TEST_P(ThreadPoolTest, SteadyStateAllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "cannot count here";
  std::vector<CountingTask> tasks(4);
  pool_.Execute(4, tasks.data());
  const long before = allocation_count.load();
  for (int i = 0; i < 100; i++) pool_.Execute(4, tasks.data());
  EXPECT_EQ(allocation_count.load(), before);
}

TEST_P(ThreadPoolTest, EndsWhileWorkersSpinOrSleep) {
  for (const int milliseconds : {0, 5}) {
    ThreadPool pool;
    pool.set_spin_milliseconds(GetParam());
    EXPECT_EQ(pool.EnsureWorkers(3), 3);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
}

TEST(ThreadPoolLimitsTest, EnsureWorkersNeverShrinks) {
  ThreadPool pool;
  EXPECT_EQ(pool.EnsureWorkers(0), 0);
  EXPECT_EQ(pool.EnsureWorkers(-5), 0);
  EXPECT_EQ(pool.EnsureWorkers(2), 2);
  EXPECT_EQ(pool.EnsureWorkers(1), 2);
}

TEST(ThreadPoolLimitsTest, SpinTimeIsBounded) {
  ThreadPool pool;
  EXPECT_EQ(pool.spin_milliseconds(), ThreadPool::kDefaultSpinMilliseconds);
  pool.set_spin_milliseconds(0.5f);
  EXPECT_EQ(pool.spin_milliseconds(), 0.5f);
  pool.set_spin_milliseconds(-1.0f);
  EXPECT_EQ(pool.spin_milliseconds(), 0.0f);
  pool.set_spin_milliseconds(__builtin_nanf(""));
  EXPECT_EQ(pool.spin_milliseconds(), 0.0f);
  pool.set_spin_milliseconds(1e30f);
  EXPECT_LT(pool.spin_milliseconds(), 1e9f);
  CountingTask tasks[2];
  pool.Execute(2, tasks);
  EXPECT_EQ(tasks[1].runs, 1);
}

#ifdef __linux__

// While it lives, new threads ask for a stack that no machine has.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &stack_bytes_);
    pthread_attr_destroy(&attributes);
    // 1 PiB, or 3 of 4 GiB.
    Set(sizeof(std::size_t) < 8 ? SIZE_MAX / 4 * 3 : SIZE_MAX >> 14);
  }
  ~NoMoreThreads() { Set(stack_bytes_); }

 private:
  static void Set(std::size_t bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
  }
  std::size_t stack_bytes_ = 0;
};

TEST(ThreadPoolLimitsTest, FewerThreadsRunAllTasks) {
  for (const int started : {0, 1, 2, 3}) {
    SCOPED_TRACE(started);
    ThreadPool pool;
    pool.EnsureWorkers(started);
    NoMoreThreads no_more_threads;
    for (int count = 1; count < 12; count++) {
      std::vector<CountingTask> tasks(count);
      for (int round = 1; round <= 5; round++) {
        pool.Execute(count, tasks.data());
        for (const CountingTask& task : tasks) ASSERT_EQ(task.runs, round);
      }
    }
    EXPECT_EQ(pool.EnsureWorkers(8), started);
  }
}

TEST(ThreadPoolLimitsTest, StartsMoreOnceThatWorksAgain) {
  ThreadPool pool;
  std::vector<CountingTask> tasks(3);
  {
    NoMoreThreads no_more_threads;
    pool.Execute(3, tasks.data());
  }
  for (int i = 0; i < 2000; i++) pool.Execute(3, tasks.data());
  EXPECT_EQ(pool.EnsureWorkers(0), 2);
}

#endif  // __linux__

// ThreadSanitizer does not support threads started after a fork.
#if !RUY_LIKE_TEST_TSAN

// Returns what `run` does, in a child process; or -1.
template <typename Run>
int ResultInAChild(const Run& run) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Sees to it that the workers are not just starting: a fork at such a moment
// may leave locks of the C library or of a sanitizer held in the child.
void WarmUp(ThreadPool* pool) { Meet(pool); }

// Uses an inherited pool in a child process; returns its exit code.
int UsePool(ThreadPool* pool) {
  std::vector<CountingTask> tasks(4);
  for (int i = 0; i < 50; i++) pool->Execute(4, tasks.data());
  for (const CountingTask& task : tasks) {
    if (task.runs != 50) return 1;
  }
  return pool->EnsureWorkers(0) == 3 ? 0 : 2;
}

TEST(ThreadPoolForkTest, AChildStartsItsOwnWorkers) {
  auto pool = std::make_unique<ThreadPool>();
  WarmUp(pool.get());
  EXPECT_EQ(ResultInAChild([&] {
              const int result = UsePool(pool.get());
              pool.reset();
              return result;
            }),
            0);
  EXPECT_EQ(UsePool(pool.get()), 0);
}

TEST(ThreadPoolForkTest, AChildMayEndAnUnusedPool) {
  auto pool = std::make_unique<ThreadPool>();
  WarmUp(pool.get());
  EXPECT_EQ(ResultInAChild([&] {
              pool.reset();
              return 0;
            }),
            0);
}

TEST(ThreadPoolForkTest, ForkWhileAnotherThreadExecutes) {
  ThreadPool pool;
  WarmUp(&pool);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    std::vector<CountingTask> tasks(4);
    while (!stop.load()) pool.Execute(4, tasks.data());
  });
  for (int i = 0; i < 20; i++) {
    EXPECT_EQ(ResultInAChild([&] { return UsePool(&pool); }), 0);
  }
  stop.store(true);
  busy.join();
}

#endif  // !RUY_LIKE_TEST_TSAN

// ## Signals

std::atomic<bool> signal_was_handled{false};
pthread_t signal_was_handled_by;

bool IsBlocked(int signal) {
  sigset_t mask;
  return pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 &&
         sigismember(&mask, signal) == 1;
}

void Block(int how, int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ASSERT_EQ(pthread_sigmask(how, &set, nullptr), 0);
}

// A handler of the host's runs on a thread of the host's.
TEST(ThreadPoolSignalTest, WorkersHandleNoSignals) {
  ThreadPool pool;
  ASSERT_GE(pool.EnsureWorkers(2), 1);
  EXPECT_FALSE(IsBlocked(SIGUSR1)) << "the creator's mask is as it was";
  struct sigaction action = {}, old;
  action.sa_handler = [](int) {
    signal_was_handled_by = pthread_self();
    signal_was_handled = true;
  };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  signal_was_handled = false;
  Block(SIG_BLOCK, SIGUSR1);
  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(signal_was_handled);
  Block(SIG_UNBLOCK, SIGUSR1);
  EXPECT_TRUE(signal_was_handled);
  EXPECT_TRUE(pthread_equal(signal_was_handled_by, pthread_self()));
  ASSERT_EQ(sigaction(SIGUSR1, &old, nullptr), 0);
}

// The caller's, which gives a worker time to take the other one.
struct WaitingTask : Task {
  void Run() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};

struct SignalMaskTask : Task {
  void Run() override {
    thread = std::this_thread::get_id();
    for (int signal = 1; signal < 32; ++signal) {
      if (!IsBlocked(signal)) unblocked.insert(signal);
    }
  }
  std::thread::id thread;
  std::set<int> unblocked;
};

// What a worker's own fault raises comes to it: sanitizers and crash reporters
// handle it, and blocked it would end the process at once.
TEST(ThreadPoolSignalTest, FaultsAreNotBlocked) {
  ThreadPool pool;
  Block(SIG_BLOCK, SIGFPE);  // the creator's own mask
  ASSERT_GE(pool.EnsureWorkers(1), 1);
  EXPECT_TRUE(IsBlocked(SIGFPE));
  Block(SIG_UNBLOCK, SIGFPE);
  struct Either : Task {
    void Run() override { task->Run(); }
    Task* task;
  };
  SignalMaskTask mask;
  WaitingTask waiting;
  Either tasks[2];
  tasks[0].task = &waiting;
  tasks[1].task = &mask;
  do {
    mask.unblocked.clear();
    pool.Execute(2, tasks);
  } while (mask.thread == std::this_thread::get_id());
  EXPECT_EQ(mask.unblocked,
            (std::set<int>{SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS,
                           // Which nothing can block.
                           SIGKILL, SIGSTOP}));
}

}  // namespace
}  // namespace ruy_like
