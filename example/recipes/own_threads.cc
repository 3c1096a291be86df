// Products, and the host's own loop, on the threads of the host.
#include <iostream>
#include <thread>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

// In the place of the host's pool; example/executors/ has four real ones.
class HostPool final : public rl::Executor {
 public:
  int max_concurrency() const override { return 2; }
  void ParallelFor(int count, void (*function)(void* argument, int i),
                   void* argument) override {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(function, argument, i);
    for (std::thread& thread : threads) thread.join();
  }
};

int main() {
  constexpr int kSize = 300;
  std::vector<float> x(kSize * kSize), y(kSize * kSize);
  HostPool pool;
  rl::Context context;
  context.set_executor(&pool);
  const auto fill = [](void* x, int i) {  // a half of x
    for (int k = 0; k < kSize * kSize / 2; ++k) {
      static_cast<float*>(x)[i * kSize * kSize / 2 + k] = 1;
    }
  };
  absl::Status status = context.ParallelFor(2, fill, x.data());
  auto dst = rl::RowMajor(y, kSize, kSize);
  status.Update(Mul(rl::RowMajor(x, kSize, kSize),
                    rl::RowMajor(x, kSize, kSize),
                    rl::MulParams<float, float>(), &context, &dst));
  std::cout << status << " " << y.front() << " " << y.back() << "\n";
}
