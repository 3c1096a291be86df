// Drop-in for ruy: Task and ThreadPool.
//
// Calls ruy_like::ThreadPool, whose rules hold: in particular tasks of one
// Execute must not wait for each other, for they may run one after the other.
#ifndef RUY_LIKE_DROPIN_RUY_THREAD_POOL_H_
#define RUY_LIKE_DROPIN_RUY_THREAD_POOL_H_

#include <cstddef>
#include <memory>
#include <type_traits>

#include "ruy/dropin_visibility.h"

namespace ruy_like {
class ThreadPool;
}  // namespace ruy_like

namespace ruy {

// Work for one thread.
struct RUY_LIKE_DROPIN_EXPORT Task {
  // Emitted in each program that copies the class or derives from it.
  RUY_LIKE_LOCAL Task() = default;
  RUY_LIKE_LOCAL Task(const Task&) = default;
  RUY_LIKE_LOCAL Task& operator=(const Task&) = default;
  // In the library, and with it the virtual table.
  virtual ~Task();
  virtual void Run() = 0;
};

class RUY_LIKE_DROPIN_EXPORT ThreadPool final {
 public:
  // A pool of its own workers. The usual one is
  // Context::mutable_thread_pool().
  ThreadPool();
  // The workers of `pool`, which must outlive this.
  explicit ThreadPool(ruy_like::ThreadPool* pool);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Runs the tasks, the first on the calling thread, and returns when all are
  // done. `tasks` is an array of a class derived from Task, stepped by its own
  // size.
  //
  // As in ruy, denormals count as zero in all tasks but the first, which has
  // the caller's floating-point state.
  template <typename TaskType>
  RUY_LIKE_LOCAL void Execute(int task_count, TaskType* tasks) {
    static_assert(std::is_base_of<Task, TaskType>::value,
                  "tasks must derive from ruy::Task");
    ExecuteImpl(task_count, sizeof(TaskType), static_cast<Task*>(tasks));
  }

  // How long idle threads spin before they sleep.
  float spin_milliseconds() const;
  void set_spin_milliseconds(float milliseconds);

 private:
  void ExecuteImpl(int task_count, std::size_t stride, Task* tasks);

  std::unique_ptr<ruy_like::ThreadPool> own_pool_;
  ruy_like::ThreadPool* const pool_;
};

}  // namespace ruy

#endif  // RUY_LIKE_DROPIN_RUY_THREAD_POOL_H_
