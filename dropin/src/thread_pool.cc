#include "ruy/thread_pool.h"

#include "absl/container/fixed_array.h"
#include "ruy_like/base/float_state.h"
#include "ruy_like/thread_pool.h"

namespace ruy {
namespace {

// A task of the caller's as a task of ruy_like.
struct Runner final : ruy_like::Task {
  void Run() override {
    if (is_first) {
      task->Run();
    } else {
      // Whichever thread it runs on, so that results do not depend on that.
      const ruy_like::ScopedFloatState flushed(
          ruy_like::FloatState::kOnlyFlushDenormals);
      task->Run();
    }
  }
  ruy::Task* task;  // not the base class
  bool is_first;
};

}  // namespace

Task::~Task() = default;

ThreadPool::ThreadPool()
    : own_pool_(std::make_unique<ruy_like::ThreadPool>()),
      pool_(own_pool_.get()) {}
ThreadPool::ThreadPool(ruy_like::ThreadPool* pool) : pool_(pool) {}
ThreadPool::~ThreadPool() = default;

float ThreadPool::spin_milliseconds() const {
  return pool_->spin_milliseconds();
}

void ThreadPool::set_spin_milliseconds(float milliseconds) {
  pool_->set_spin_milliseconds(milliseconds);
}

void ThreadPool::ExecuteImpl(int task_count, std::size_t stride, Task* tasks) {
  if (task_count <= 0) return;
  // Up to this many without an allocation.
  constexpr std::size_t kInlineTasks = 64;
  absl::FixedArray<Runner, kInlineTasks> runners(
      static_cast<std::size_t>(task_count));
  char* const base = reinterpret_cast<char*>(tasks);
  for (int i = 0; i < task_count; ++i) {
    runners[i].task =
        reinterpret_cast<Task*>(base + static_cast<std::size_t>(i) * stride);
    runners[i].is_first = i == 0;
  }
  pool_->Execute(task_count, runners.data());
}

}  // namespace ruy
