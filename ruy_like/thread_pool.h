// Public: ThreadPool, persistent workers that run tasks next to the caller.
//
// Called by the library (parallel.cc) with one task per thread, and by host
// frameworks with tasks of their own, between products.
//
// It does not schedule: a task runs on one thread from start to end, nothing is
// queued and there are no priorities. Finer-grained balancing is for the tasks
// themselves to do, with a shared counter from which they draw work.
#ifndef RUY_LIKE_THREAD_POOL_H_
#define RUY_LIKE_THREAD_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ruy_like/export.h"

namespace ruy_like {

// Work for one thread.
struct Task {
  virtual ~Task() = default;
  // Must not throw, and must not wait for another task of the same Execute:
  // they may all run on one thread, one after the other.
  virtual void Run() = 0;
};

// Tasks find workers in the default floating-point environment (rounding to
// nearest, nothing traps) unless an earlier task has changed it; the caller's
// thread is as the caller has it.
//
// Workers block all signals but those of their own faults (SIGSEGV, SIGBUS,
// SIGFPE, SIGILL, SIGTRAP, SIGSYS): handlers of the host's run on its threads.
//
// Threads: safe to use from several at once; Executes take turns. A task may
// call Execute (of any pool): it then runs those tasks inline, one after the
// other.
//
// fork(): the child has no workers. Its first Execute on an inherited pool
// starts new ones; the parent's are forgotten (a few hundred bytes each). This
// also holds when another thread was inside Execute at the time of the fork. A
// child forked by a task, though, may only exec or exit.
class RUY_LIKE_EXPORT ThreadPool final {
 public:
  // Starts no thread. Throws std::bad_alloc without memory.
  ThreadPool();
  // Ends the workers. No Execute may be running.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs tasks[0].Run() ... tasks[task_count - 1].Run(), each exactly once, and
  // returns when all are done; what they wrote is then visible to the caller.
  // The caller runs task 0, then every task that has been handed over and that
  // no worker has begun; so a worker that is slow to wake up delays nobody.
  // Worker i prefers task i + 1 in every call, which keeps its caches warm.
  //
  // `tasks` is an array of a class derived from Task, stepped by its own size.
  // Starts up to task_count - 1 workers as needed, the first time; where
  // threads cannot be started, those that exist (at least the caller) run all
  // tasks. Allocates nothing once the workers exist.
  //
  // Returns how many threads there were to run them on, the caller included.
  template <typename TaskType>
  int Execute(int task_count, TaskType* tasks) {
    static_assert(std::is_base_of<Task, TaskType>::value,
                  "tasks must derive from ruy_like::Task");
    return ExecuteImpl(task_count, sizeof(TaskType), tasks);
  }

  // True inside a task that an Execute of this pool runs in parallel: what
  // waits for this pool waits for that task.
  bool RunsThisThread() const;

  // Starts workers until there are `count`, as far as possible (never more than
  // kMaxWorkers), and returns how many there are.
  int EnsureWorkers(int count);

  // How long a worker without work, or a caller waiting for workers, spins
  // before it sleeps. Longer saves wake-ups (some 5 to 50 microseconds each)
  // between products, and burns power. 0: sleep at once. While spinning, a
  // thread offers its core to others about every microsecond.
  float spin_milliseconds() const;
  void set_spin_milliseconds(float milliseconds);

  static constexpr int kMaxWorkers = 1023;
  static constexpr float kDefaultSpinMilliseconds = 2.0f;

 private:
  struct State;

  int ExecuteImpl(int task_count, std::size_t stride, Task* tasks) noexcept;
  // Null in a forked child without memory for one: it works without workers.
  State* CurrentState();

  std::atomic<State*> state_;
  std::atomic<float> spin_milliseconds_{kDefaultSpinMilliseconds};
  // The same as an integer, which is what is used: no float arithmetic in the
  // host's float environment.
  std::atomic<std::int64_t> spin_nanoseconds_{
      static_cast<std::int64_t>(1e6f * kDefaultSpinMilliseconds)};
};

// How many threads this process can keep busy: the processors that its affinity
// permits, and no more than the processor time that its container may use
// (Linux control groups of both versions, a Windows job's hard limit), rounded
// down, but at least 1. 1 where threads cannot be started. Asks the system anew
// at every call, which on Linux reads a few files: for a start-up,
// context.set_max_num_threads(DefaultThreadCount()), not for each product.
// Throws nothing.
RUY_LIKE_EXPORT int DefaultThreadCount();

}  // namespace ruy_like

#endif  // RUY_LIKE_THREAD_POOL_H_
