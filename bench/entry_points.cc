// entry_points: what the other ways to a product cost over the plain call of
// Mul.
//
// For each entry point, its time over the time of the plain call that does the
// same, the two alternating in one process: the median of the ratios. One
// thread by CPU time; the executor by wall time on two threads.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench/buffer.h"
#include "bench/stopwatch.h"
#include "ruy/ruy.h"
#include "ruy_like/c/ruy_like.h"
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
    for (int i = 0; i < count; ++i) {
      calls[i].function = function;
      calls[i].argument = argument;
      calls[i].index = i;
    }
    pool_.Execute(count, calls.data());
  }

 private:
  struct Call final : public Task {
    void Run() override { function(argument, index); }
    void (*function)(void*, int) = nullptr;
    void* argument = nullptr;
    int index = 0;
  };

  ThreadPool pool_;
};

double OverPlain(const Way& entry_point, const Way& plain, bool by_wall) {
  const auto seconds =
      TakeTurns({entry_point, plain}, kRounds, kTurnSeconds, by_wall);
  return MedianRatio(seconds[0], seconds[1]);
}

template <typename T>
ruy::Matrix<T> RuyMatrix(T* data, int rows, int cols, ruy::Order order) {
  ruy::Matrix<T> matrix;
  ruy::MakeSimpleLayout(rows, cols, order, matrix.mutable_layout());
  matrix.set_data(data);
  return matrix;
}

// The C interface, whose library has the kernels once more.
template <typename T>
rl_matrix CMatrix(const Matrix<T>& matrix) {
  rl_matrix result = {};
  result.size = sizeof(result);
  result.data = const_cast<T*>(matrix.data());
  result.type = static_cast<int>(internal::ScalarOf<T>()) + 1;
  result.order = static_cast<int>(matrix.layout().order());
  result.rows = matrix.layout().rows();
  result.cols = matrix.layout().cols();
  return result;
}

template <typename T, typename Accum>
void Measure(const char* type, int m, int k, int n) {
  std::vector<T> lhs_data = RandomVector<T>(m * k, -100, 99);
  std::vector<T> rhs_data = RandomVector<T>(k * n, -100, 99);
  std::vector<Accum> dst_data(std::size_t(m) * n);
  const Matrix<T> lhs = RowMajor(lhs_data, m, k);
  const Matrix<T> rhs = ColMajor(rhs_data, k, n);
  auto dst = ColMajor(dst_data, m, n);
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
      OverPlain([&] { (void)Mul(*packed_lhs, rhs, params, &context, &dst); },
                [&] { (void)Mul(cached_lhs, rhs, params, &context, &dst); },
                /*by_wall=*/false);

  MulPlan plan;
  const double planned = OverPlain(
      [&] {
        (void)plan.Prepare(lhs, rhs, params, 1, &context, &dst);
        (void)plan.Run(0);
        (void)plan.Finish();
      },
      plain, /*by_wall=*/false);

  const auto ruy_lhs = RuyMatrix(lhs_data.data(), m, k, ruy::Order::kRowMajor);
  const auto ruy_rhs = RuyMatrix(rhs_data.data(), k, n, ruy::Order::kColMajor);
  auto ruy_dst = RuyMatrix(dst_data.data(), m, n, ruy::Order::kColMajor);
  const ruy::MulParams<Accum, Accum> ruy_params;
  ruy::Context ruy_context;
  const double dropin = OverPlain(
      [&] { ruy::Mul(ruy_lhs, ruy_rhs, ruy_params, &ruy_context, &ruy_dst); },
      plain, /*by_wall=*/false);

  PoolExecutor executor;
  Context host_context, own_context;
  host_context.set_executor(&executor);
  host_context.set_max_num_threads(2);
  own_context.set_max_num_threads(2);
  const double executed =
      OverPlain([&] { (void)Mul(lhs, rhs, params, &host_context, &dst); },
                [&] { (void)Mul(lhs, rhs, params, &own_context, &dst); },
                /*by_wall=*/true);

  const rl_matrix c_lhs = CMatrix(lhs), c_rhs = CMatrix(rhs);
  const rl_matrix c_dst = CMatrix(dst);
  rl_params c_params = {};
  c_params.size = sizeof(c_params);
  rl_context* c_context = nullptr;
  (void)rl_context_create(&c_context);
  const auto c_seconds = TakeTurns(
      {[&] { (void)rl_mul(&c_lhs, &c_rhs, &c_params, c_context, &c_dst); },
       plain},
      kRounds, kTurnSeconds, /*by_wall=*/false);
  rl_context_destroy(c_context);
  const double by_c = MedianRatio(c_seconds[0], c_seconds[1]);
  const double c_ns = 1e9 * (Median(c_seconds[0]) - Median(c_seconds[1]));

  std::printf("| %s %dx%dx%d | %.3f | %.3f | %.3f | %.3f (%.0f ns) | %.3f |\n",
              type, m, k, n, packed, planned, dropin, by_c, c_ns, executed);
  std::fflush(stdout);
}

}  // namespace
}  // namespace ruy_like::bench

int main() {
  std::printf(
      "Time over that of the plain call\n"
      "| M x K x N | PackedMatrix (over cached) | MulPlan | drop-in | C "
      "(more by) | Executor, 2 threads |\n|---|---|---|---|---|---|\n");
  const int shapes[][3] = {{1, 1, 1},       {16, 16, 16},    {64, 64, 64},
                           {256, 256, 256}, {512, 512, 196}, {768, 768, 128},
                           {1024, 1024, 1}};
  for (const auto& shape : shapes) {
    ruy_like::bench::Measure<std::int8_t, std::int32_t>("int8", shape[0],
                                                        shape[1], shape[2]);
    ruy_like::bench::Measure<float, float>("f32", shape[0], shape[1], shape[2]);
  }
}
