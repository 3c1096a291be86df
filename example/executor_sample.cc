// Multiplies on threads that are the host's: through an Executor, and by a
// MulPlan on threads that call by themselves.
#include <iostream>
#include <thread>
#include <vector>

#include "ruy_like/ruy_like.h"

// Stands for the host's pool; example/executors/ has real ones.
class HostPool final : public ruy_like::Executor {
 public:
  int max_concurrency() const override { return 2; }
  void ParallelFor(int count, void (*function)(void* argument, int i),
                   void* argument) override {
    std::vector<std::thread> threads;
    for (int i = 1; i < count; ++i) threads.emplace_back(function, argument, i);
    function(argument, 0);
    for (std::thread& thread : threads) thread.join();
  }
};

int main() {
  constexpr int kSize = 300;
  const std::vector<float> ones(kSize * kSize, 1.0f);
  std::vector<float> sums(kSize * kSize);
  ruy_like::Matrix<float> lhs, rhs, dst;
  using ruy_like::Order;
  MakeSimpleLayout(kSize, kSize, Order::kRowMajor, lhs.mutable_layout());
  MakeSimpleLayout(kSize, kSize, Order::kColMajor, rhs.mutable_layout());
  MakeSimpleLayout(kSize, kSize, Order::kColMajor, dst.mutable_layout());
  lhs.set_data(ones.data());
  rhs.set_data(ones.data());
  dst.set_data(sums.data());
  const ruy_like::MulParams<float, float> mul_params;

  HostPool pool;
  ruy_like::Context context;
  context.set_executor(&pool);
  absl::Status status = ruy_like::Mul(lhs, rhs, mul_params, &context, &dst);
  std::cout << status << " " << sums.front() << "\n";  // OK 300

  // This call alone: on one thread.
  ruy_like::MulOptions options;
  options.max_num_threads = 1;
  status = ruy_like::Mul(lhs, rhs, mul_params, &context, &dst, options);
  std::cout << status << " " << sums.back() << "\n";  // OK 300

  // Two threads of the host, which need not be in any pool.
  ruy_like::MulPlan plan;
  status = plan.Prepare(lhs, rhs, mul_params, 2, &context, &dst);
  if (status.ok()) {
    std::thread other([&plan] { (void)plan.Run(1); });
    (void)plan.Run(0);
    other.join();
    status = plan.Finish();
  }
  std::cout << status << " " << sums[kSize] << "\n";  // OK 300
  return status.ok() ? 0 : 1;
}
