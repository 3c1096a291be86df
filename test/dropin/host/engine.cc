// A library that uses all of what ruy offers its users, compiled with every
// warning that its project may have as an error. Returns 0 if results are
// right.
#include <ruy/context_get_ctx.h>
#include <ruy/denormal.h>
#include <ruy/profiler/profiler.h>
#include <ruy/reference_mul.h>
#include <ruy/ruy.h>
#include <ruy/system_aligned_alloc.h>
#include <ruy/wait.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

// All of their members, called or not.
template class ruy::Matrix<float>;
template class ruy::Matrix<std::int8_t>;
template class ruy::MulParams<std::int32_t, std::int8_t>;

namespace host {

// With default visibility, as in most projects.
class Backend {
 public:
  ruy::Context context;
  ruy::Matrix<float>* matrix = nullptr;
};

struct CountTask : ruy::Task {
  void Run() override { ++count; }
  int count = 0;
};

template <typename Lhs, typename Rhs, typename Accum, typename Dst>
bool Multiply(ruy::Context* context) {
  ruy::profiler::ScopeLabel label("Multiply %d", 2);
  const std::vector<Lhs> lhs_data = {1, 2, 3, 4};
  const std::vector<Rhs> rhs_data = {5, 6, 7, 8};
  std::vector<Dst> dst_data(4), reference_data(4);
  ruy::Matrix<Lhs> lhs;
  ruy::Matrix<Rhs> rhs;
  ruy::Matrix<Dst> dst;
  ruy::MakeSimpleLayout(2, 2, ruy::Order::kRowMajor, lhs.mutable_layout());
  ruy::MakeSimpleLayout(2, 2, ruy::Order::kRowMajor, rhs.mutable_layout());
  ruy::MakeSimpleLayout(2, 2, ruy::Order::kRowMajor, dst.mutable_layout());
  lhs.set_data(lhs_data.data());
  rhs.set_data(rhs_data.data());
  RUY_CHECK_EQ(dst_data.size(), 4);
  const ruy::MulParams<Accum, Dst> mul_params;
  dst.set_data(reference_data.data());
  ruy::ReferenceMul(lhs, rhs, mul_params, &dst);
  dst.set_data(dst_data.data());
  ruy::Mul(lhs, rhs, mul_params, context, &dst);
  const std::vector<Dst> expected = {19, 22, 43, 50};
  return dst_data == expected && reference_data == expected &&
         Element(dst, 1, 1) == 50 && *ElementPtr(&dst, 0, 0) == 19;
}

bool Utilities(ruy::Context* context) {
  ruy::ScopedSuppressDenormals suppress_denormals;
  ruy::profiler::ScopeProfile profile;
  CountTask tasks[2];
  context->mutable_thread_pool()->Execute(2, tasks);
  std::mutex mutex;
  std::condition_variable condvar;
  ruy::Wait([] { return true; }, ruy::DurationFromSeconds(1), &condvar, &mutex);
  const ruy::Duration duration = ruy::DurationFromMilliseconds(1.5);
  void* const memory = ruy::detail::SystemAlignedAlloc(64);
  ruy::detail::SystemAlignedFree(memory);
  ruy::CpuInfo cpuinfo;
  const ruy::Path paths = context->get_runtime_enabled_paths();
  return tasks[0].count == 1 && tasks[1].count == 1 &&
         ruy::ToInt64Nanoseconds(duration) == 1500000 &&
         ruy::ToFloatSeconds(duration) < 1 && memory != nullptr &&
         cpuinfo.CacheParams().local_cache_size > 0 &&
         ruy::GetMostSignificantPath(paths) != ruy::Path::kNone &&
         !Disjoint(paths | ruy::Path::kNone, ruy::kNonArchPaths) &&
         ruy::get_ctx(context)->GetPrepackedCache()->BuffersBytes() == 0 &&
         (ruy::PerformanceAdvisory::kNone | ruy::PerformanceAdvisory::kNone) ==
             ruy::PerformanceAdvisory::kNone;
}

}  // namespace host

int EngineRun();

int EngineRun() {
  host::Backend backend;
  if (!host::Multiply<float, float, float, float>(&backend.context)) return 1;
  if (!host::Multiply<std::int8_t, std::int8_t, std::int32_t, std::int8_t>(
          &backend.context)) {
    return 2;
  }
  if (!host::Multiply<std::uint8_t, std::int8_t, std::int32_t, std::int32_t>(
          &backend.context)) {
    return 3;
  }
  return host::Utilities(&backend.context) ? 0 : 4;
}
