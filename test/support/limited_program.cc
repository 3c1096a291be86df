// A process's first products where a resource is refused, for limits_test.cc.
//
//   limited_program allocation <n>   allocation n fails, counted from the first
//                                    use of the library, and n + 1 does not
//   limited_program memory           the address space ends 24 MiB from here
//   limited_program threads          no thread can be started
//
// Exit code: 0 if each product returned a Status or the right result, and those
// after it the right result; 3 if nothing failed; 77 if it cannot be set up.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "ruy_like/ruy_like.h"
#include "test/support/heap.h"
#include "test/support/unix.h"

#if RUY_LIKE_TEST_UNIX
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace {

using ruy_like::Context;
using ruy_like::Matrix;

// A product of ones.
struct Product {
  Product(int rows, int depth, int cols)
      : depth_(depth),
        lhs_data_(rows * depth, 1),
        rhs_data_(depth * cols, 1),
        result_(rows * cols, kPaint),
        lhs(ruy_like::RowMajor(lhs_data_, rows, depth)),
        rhs(ruy_like::ColMajor(rhs_data_, depth, cols)),
        dst(ruy_like::ColMajor(result_, rows, cols)) {
    lhs.set_cache_policy(ruy_like::CachePolicy::kAlwaysCache);
  }
  absl::Status Run(Context* context) {
    return Mul(lhs, rhs, ruy_like::MulParams<float, float>(), context, &dst);
  }
  // Right after OK, untouched after an error.
  bool Is(bool ok) {
    const float expected = ok ? static_cast<float>(depth_) : kPaint;
    for (float& value : result_) {
      if (value != expected) return false;
      value = kPaint;
    }
    return true;
  }

 private:
  static constexpr float kPaint = -7;
  int depth_;
  std::vector<float> lhs_data_, rhs_data_, result_;
  Matrix<float> lhs, rhs, dst;
};

void UseThreads(int count, Context* context) {
  context->set_max_num_threads(count);
  context->set_num_threads_strategy(
      ruy_like::NumThreadsStrategy::kForceMaxNumThreads);
}

int FailAllocation(long n) {
  Product product(70, 60, 50);
  ruy_like::Failures failures;
  failures.first_allocation = n;
  long failed = 0;
  absl::Status status;
  bool constructed = false;
  {
    const ruy_like::FailureScope scope(failures);
    try {
      Context context;
      constructed = true;
      UseThreads(2, &context);
      status = product.Run(&context);
    } catch (const std::bad_alloc&) {
      if (constructed) return 1;  // nothing but constructors throws
    }
    failed = scope.failed();
  }
  if (failed == 0) return 3;
  if (!product.Is(constructed && status.ok())) return 1;
  Context context;
  status = product.Run(&context);
  return status.ok() && product.Is(true) ? 0 : 1;
}

#if RUY_LIKE_TEST_UNIX

// Bytes of address space in use.
rlim_t AddressSpace() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

int LimitMemory() {
  Product large(3000, 3000, 100), small(20, 30, 40);
  const rlim_t limit = AddressSpace() + (rlim_t{24} << 20);
  const rlimit limits = {limit, limit};
  if (limit < (rlim_t{25} << 20) || setrlimit(RLIMIT_AS, &limits) != 0) {
    return 77;
  }
  Context context;
  UseThreads(8, &context);
  // 36 MB to be packed.
  const absl::Status status = large.Run(&context);
  if (status.code() != absl::StatusCode::kResourceExhausted) return 1;
  if (!large.Is(false)) return 1;
  return small.Run(&context).ok() && small.Is(true) ? 0 : 1;
}

int LimitThreads() {
  Product product(300, 300, 300);
  // Root may start as many as it likes.
  if (geteuid() == 0 && setuid(65534) != 0) return 77;
  const rlimit limits = {0, 0};
  if (setrlimit(RLIMIT_NPROC, &limits) != 0) return 77;
  Context context;
  UseThreads(4, &context);
  for (int i = 0; i < 3; ++i) {
    if (!product.Run(&context).ok() || !product.Is(true)) return 1;
  }
  return context.last_used_num_threads() == 1 ? 0 : 1;
}

#else

int LimitMemory() { return 77; }
int LimitThreads() { return 77; }

#endif

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "allocation" && argc == 3) return FailAllocation(atol(argv[2]));
  if (what == "memory") return LimitMemory();
  if (what == "threads") return LimitThreads();
  std::fprintf(stderr, "usage: see limited_program.cc\n");
  return 2;
}
