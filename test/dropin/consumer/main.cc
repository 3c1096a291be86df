// A program written for ruy. Exit code 0 if its products are right.
#include <ruy/context.h>
#include <ruy/profiler/instrumentation.h>
#include <ruy/ruy.h>
#include <ruy/thread_pool.h>

#include <cstdio>

namespace {

struct CountTask : ruy::Task {
  void Run() override { ++count; }
  int count = 0;
};

}  // namespace

int main() {
  ruy::profiler::ScopeLabel label("main");
  const float a[] = {1, 2, 3, 4};
  const float b[] = {5, 6, 7, 8};
  const float expected[] = {19, 22, 43, 50};
  float c[4] = {};
  ruy::Matrix<float> lhs, rhs, dst;
  ruy::MakeSimpleLayout(2, 2, ruy::Order::kRowMajor, lhs.mutable_layout());
  ruy::MakeSimpleLayout(2, 2, ruy::Order::kRowMajor, rhs.mutable_layout());
  ruy::MakeSimpleLayout(2, 2, ruy::Order::kRowMajor, dst.mutable_layout());
  lhs.set_data(a);
  rhs.set_data(b);
  dst.set_data(c);
  ruy::Context context;
  context.set_max_num_threads(2);
  ruy::MulParams<float, float> mul_params;
  ruy::Mul(lhs, rhs, mul_params, &context, &dst);
  CountTask tasks[2];
  context.mutable_thread_pool()->Execute(2, tasks);
  for (int i = 0; i < 4; ++i) {
    if (c[i] != expected[i]) {
      std::printf("element %d is %g, not %g\n", i, c[i], expected[i]);
      return 1;
    }
  }
  return tasks[0].count == 1 && tasks[1].count == 1 ? 0 : 1;
}
