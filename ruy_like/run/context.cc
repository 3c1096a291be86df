// Tested in test/executor_test.cc.
#include "ruy_like/context.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ruy_like/base/no_memory.h"
#include "ruy_like/machine/processor.h"
#include "ruy_like/plan/context_impl.h"
#include "ruy_like/run/parallel.h"

namespace ruy_like {

Context::Context() : Context(nullptr) {}
Context::Context(std::shared_ptr<ThreadPool> pool)
    : impl_(std::make_unique<ContextImpl>(
          pool != nullptr ? std::move(pool) : std::make_shared<ThreadPool>())) {
}
Context::~Context() = default;

int Context::max_num_threads() const { return PermittedThreads(*impl_); }

void Context::set_max_num_threads(int value) {
  MutexLock lock(&impl_->mutex);
  impl_->max_num_threads = std::max(value, 1);
}

Executor* Context::executor() const { return impl_->executor; }

void Context::set_executor(Executor* executor) {
  MutexLock lock(&impl_->mutex);
  impl_->executor = executor;
}

NumThreadsStrategy Context::num_threads_strategy() const {
  return impl_->num_threads_strategy;
}

void Context::set_num_threads_strategy(NumThreadsStrategy value) {
  MutexLock lock(&impl_->mutex);
  impl_->num_threads_strategy = value;
  impl_->plans.StartGeneration();
}

FloatSums Context::float_sums() const { return impl_->float_sums; }

void Context::set_float_sums(FloatSums value) {
  MutexLock lock(&impl_->mutex);
  impl_->float_sums =
      value == FloatSums::kAnyOrder ? value : FloatSums::kInOrder;
  impl_->plans.StartGeneration();
}

Tuning Context::tuning() const { return impl_->tuning; }

void Context::set_tuning(Tuning value) {
  MutexLock lock(&impl_->mutex);
  impl_->tuning = value;
  impl_->in_order =
      value == Tuning::kAuto ? IssuesInOrder() : value == Tuning::kInOrder;
  impl_->plans.StartGeneration();
}

Path Context::runtime_enabled_paths() const { return impl_->permitted_paths; }

void Context::set_runtime_enabled_paths(Path paths) {
  MutexLock lock(&impl_->mutex);
  const Path detected = MachinePaths();
  impl_->permitted_paths =
      paths == Path::kNone ? detected : (paths & detected) | Path::kPortable;
  impl_->plans.StartGeneration();
}

Path Context::last_used_path() const { return impl_->last_path; }

const char* Context::last_used_kernel() const { return impl_->last_kernel; }

int Context::last_used_num_threads() const { return impl_->last_num_threads; }

PerformanceAdvisory Context::performance_advisories() {
  return impl_->advisor.Take();
}

std::size_t Context::prepacked_cache_bytes() const {
  return impl_->prepacked_cache.bytes();
}

std::size_t Context::prepacked_cache_limit_bytes() const {
  return impl_->prepacked_cache.limit_bytes();
}

void Context::set_prepacked_cache_limit_bytes(std::size_t bytes) {
  MutexLock lock(&impl_->mutex);
  impl_->prepacked_cache.set_limit_bytes(bytes);
}

void Context::ClearPrepackedCache() {
  MutexLock lock(&impl_->mutex);
  impl_->prepacked_cache.Clear();
}

absl::Status Context::ParallelFor(int count,
                                  void (*function)(void* argument, int i),
                                  void* argument) {
  return CatchNoMemory([&]() -> absl::Status {
    if (function == nullptr) {
      return absl::InvalidArgumentError("function is null");
    }
    if (count <= 0) return absl::OkStatus();
    ContextImpl* const impl = impl_.get();
    RUY_LIKE_LOCK_FOR_CALL(impl);
    int threads;
    return RunParallel(count, function, argument, impl, &threads);
  });
}

ThreadPool* Context::mutable_thread_pool() { return impl_->thread_pool.get(); }

}  // namespace ruy_like
