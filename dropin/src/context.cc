#include "ruy/context.h"

#include "ruy/context_get_ctx.h"
#include "ruy/ctx.h"

namespace ruy {

Context::Context() : ctx_(std::make_unique<Ctx>()) {}
Context::~Context() = default;

Path Context::last_used_path() const { return ctx_->last_used_path(); }
Tuning Context::explicit_tuning() const { return ctx_->explicit_tuning(); }
void Context::set_explicit_tuning(Tuning value) {
  ctx_->set_explicit_tuning(value);
}
const ThreadPool& Context::thread_pool() const { return ctx_->thread_pool(); }
ThreadPool* Context::mutable_thread_pool() {
  return ctx_->mutable_thread_pool();
}
int Context::max_num_threads() const { return ctx_->max_num_threads(); }
void Context::set_max_num_threads(int value) {
  ctx_->set_max_num_threads(value);
}
NumThreadsStrategy Context::num_threads_strategy() const {
  return ctx_->num_threads_strategy();
}
void Context::set_num_threads_strategy(NumThreadsStrategy value) {
  ctx_->set_num_threads_strategy(value);
}
bool Context::performance_advisory(PerformanceAdvisory advisory) const {
  return ctx_->performance_advisory(advisory);
}
void Context::ClearPrepackedCache() { ctx_->ClearPrepackedCache(); }
Path Context::get_runtime_enabled_paths() {
  return ctx_->GetRuntimeEnabledPaths();
}
void Context::set_runtime_enabled_paths(Path paths) {
  ctx_->SetRuntimeEnabledPaths(paths);
}

const Ctx* get_ctx(const Context* context) { return context->ctx_.get(); }
Ctx* get_ctx(Context* context) { return context->ctx_.get(); }

}  // namespace ruy
