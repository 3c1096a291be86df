// A batch that is validated and planned once and multiplied again and again,
// by threads of the host's.
#include <iostream>
#include <thread>
#include <vector>

#include "ruy_like/ruy_like.h"

namespace rl = ruy_like;

int main() {
  constexpr int kCount = 100, kSize = 16, kElements = kSize * kSize;
  constexpr int kThreads = 2;
  std::vector<float> x(kCount * kElements, 1), y(kCount * kElements);
  rl::Context context;
  auto dst = rl::ColMajor(y.data(), kSize, kSize);
  rl::MulPlan plan;
  absl::Status status = plan.PrepareBatch(
      rl::ColMajor(x.data(), kSize, kSize),  // each product's square
      rl::ColMajor(x.data(), kSize, kSize), rl::MulParams<float, float>(),
      {kCount, kElements, kElements, kElements}, kThreads, &context, &dst);
  for (int step = 0; step < 3 && status.ok(); ++step) {
    std::vector<std::thread> threads;  // in the place of the host's
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&plan, i] { (void)plan.Run(i); });
    }
    for (std::thread& thread : threads) thread.join();
    status = plan.Finish();
    std::cout << status << " " << y.front() << " " << y.back() << "\n";
    for (float& value : x) value += 1;  // where they were: x is not moved
    status.Update(plan.Repeat());
  }
}
