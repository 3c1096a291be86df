// entry_points: what the other ways to a product cost over the plain call of
// Mul.
//
// For each entry point, its time over the time of the plain call that does the
// same, the two alternating in one process: the median of the ratios. One
// thread by CPU time; the executor by wall time on two threads.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <type_traits>
#include <vector>

#include "bench/stopwatch.h"
#include "ruy/ruy.h"
#include "ruy_like/ruy_like.h"

namespace ruy_like::bench {
namespace {

constexpr int kRounds = 31;
constexpr double kTurnSeconds = 2e-3;

// The host's pool that the executor stands for: ours, for want of another.
class PoolExecutor final : public Executor {
 public:
  int max_concurrency() const override { return 2; }
  void ParallelFor(int count, void (*function)(void*, int),
                   void* argument) override {
    std::vector<Call> calls(count);
    for (int i = 0; i < count; ++i) calls[i].Set(function, argument, i);
    pool_.Execute(count, calls.data());
  }

 private:
  class Call final : public Task {
   public:
    void Set(void (*function)(void*, int), void* argument, int i) {
      function_ = function;
      argument_ = argument;
      i_ = i;
    }
    void Run() override { function_(argument_, i_); }

   private:
    void (*function_)(void*, int) = nullptr;
    void* argument_ = nullptr;
    int i_ = 0;
  };

  ThreadPool pool_;
};

double TurnSeconds(const std::function<void()>& call, int calls, bool wall) {
  const Stopwatch stopwatch;
  for (int i = 0; i < calls; ++i) call();
  const Seconds seconds = stopwatch.Elapsed();
  return wall ? seconds.wall : seconds.cpu;
}

double MedianRatio(const std::function<void()>& entry_point,
                   const std::function<void()>& plain, bool wall) {
  entry_point();
  plain();
  const double one = TurnSeconds(plain, 1, /*wall=*/true);
  const int calls = 1 + static_cast<int>(kTurnSeconds / (one + 1e-9));
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const double entry_point_seconds = TurnSeconds(entry_point, calls, wall);
    ratios.push_back(entry_point_seconds / TurnSeconds(plain, calls, wall));
  }
  return Median(ratios);
}

template <typename T>
std::vector<T> RandomData(std::size_t size, int seed) {
  std::minstd_rand random(seed);
  std::vector<T> data(size);
  for (T& x : data) x = static_cast<T>(static_cast<int>(random() % 200) - 100);
  return data;
}

template <typename Matrix>
Matrix MakeMatrix(int rows, int cols, bool col_major) {
  Matrix matrix;
  using Order = typename std::decay<decltype(matrix.layout().order())>::type;
  MakeSimpleLayout(rows, cols, col_major ? Order::kColMajor : Order::kRowMajor,
                   matrix.mutable_layout());
  return matrix;
}

template <typename T, typename Accum>
void Measure(const char* type, int m, int k, int n) {
  const std::vector<T> lhs_data = RandomData<T>(std::size_t(m) * k, 1);
  const std::vector<T> rhs_data = RandomData<T>(std::size_t(k) * n, 2);
  std::vector<Accum> dst_data(std::size_t(m) * n);
  auto lhs = MakeMatrix<Matrix<T>>(m, k, false);
  auto rhs = MakeMatrix<Matrix<T>>(k, n, true);
  auto dst = MakeMatrix<Matrix<Accum>>(m, n, true);
  lhs.set_data(lhs_data.data());
  rhs.set_data(rhs_data.data());
  dst.set_data(dst_data.data());
  Matrix<T> cached_lhs = lhs;
  cached_lhs.set_cache_policy(CachePolicy::kAlwaysCache);
  const MulParams<Accum, Accum> params;
  Context context;
  const auto plain = [&] { (void)Mul(lhs, rhs, params, &context, &dst); };

  const auto packed_lhs = Pack(lhs, Side::kLhs, PackOptions(), &context);
  if (!packed_lhs.ok()) {
    std::printf("%s\n", packed_lhs.status().ToString().c_str());
    return;
  }
  const double packed =
      MedianRatio([&] { (void)Mul(*packed_lhs, rhs, params, &context, &dst); },
                  [&] { (void)Mul(cached_lhs, rhs, params, &context, &dst); },
                  /*wall=*/false);

  MulPlan plan;
  const double planned = MedianRatio(
      [&] {
        (void)plan.Prepare(lhs, rhs, params, 1, &context, &dst);
        (void)plan.Run(0);
        (void)plan.Finish();
      },
      plain, /*wall=*/false);

  auto ruy_lhs = MakeMatrix<ruy::Matrix<T>>(m, k, false);
  auto ruy_rhs = MakeMatrix<ruy::Matrix<T>>(k, n, true);
  auto ruy_dst = MakeMatrix<ruy::Matrix<Accum>>(m, n, true);
  ruy_lhs.set_data(lhs_data.data());
  ruy_rhs.set_data(rhs_data.data());
  ruy_dst.set_data(dst_data.data());
  const ruy::MulParams<Accum, Accum> ruy_params;
  ruy::Context ruy_context;
  const double dropin = MedianRatio(
      [&] { ruy::Mul(ruy_lhs, ruy_rhs, ruy_params, &ruy_context, &ruy_dst); },
      plain, /*wall=*/false);

  PoolExecutor executor;
  Context host_context, own_context;
  host_context.set_executor(&executor);
  host_context.set_max_num_threads(2);
  own_context.set_max_num_threads(2);
  const double executed = MedianRatio(
      [&] { (void)Mul(lhs, rhs, params, &host_context, &dst); },
      [&] { (void)Mul(lhs, rhs, params, &own_context, &dst); }, /*wall=*/true);

  std::printf("| %s %dx%dx%d | %.3f | %.3f | %.3f | %.3f |\n", type, m, k, n,
              packed, planned, dropin, executed);
  std::fflush(stdout);
}

}  // namespace
}  // namespace ruy_like::bench

int main() {
  std::printf(
      "Time over that of the plain call\n"
      "| M x K x N | PackedMatrix (over cached) | MulPlan | drop-in | "
      "Executor, "
      "2 threads |\n|---|---|---|---|---|\n");
  const int shapes[][3] = {{16, 16, 16},    {64, 64, 64},    {256, 256, 256},
                           {512, 512, 196}, {768, 768, 128}, {1024, 1024, 1}};
  for (const auto& shape : shapes) {
    ruy_like::bench::Measure<std::int8_t, std::int32_t>("int8", shape[0],
                                                        shape[1], shape[2]);
    ruy_like::bench::Measure<float, float>("f32", shape[0], shape[1], shape[2]);
  }
}
