// batch_bench: MulBatch and what it replaces.
//
// For each batch, its time on one and on two threads, that of single calls, and
// that of one product of as many multiply-adds; the ways alternate in one
// process, and the median is printed. One thread by CPU time, two by wall time.
#include <cstddef>
#include <cstdio>
#include <vector>

#include "bench/stopwatch.h"
#include "ruy_like/ruy_like.h"

namespace ruy_like::bench {
namespace {

constexpr int kRounds = 31;
constexpr double kTurnSeconds = 4e-3;

struct Case {
  const char* name;
  std::ptrdiff_t count, rows, depth, cols;
};
constexpr Case kCases[] = {
    {"heads, Q K^T", 12, 128, 64, 128},
    {"heads, P V", 12, 128, 128, 64},
    {"tiny", 1000, 16, 16, 16},
    {"small", 1000, 32, 32, 32},
};

void Run(const Case& c, int threads) {
  const std::ptrdiff_t lhs_size = c.rows * c.depth;
  const std::ptrdiff_t rhs_size = c.depth * c.cols;
  const std::ptrdiff_t dst_size = c.rows * c.cols;
  const std::vector<float> lhs(c.count * lhs_size, 0.5f);
  const std::vector<float> rhs(c.count * rhs_size, 0.25f);
  std::vector<float> result(c.count * dst_size);
  const MulParams<float, float> params;
  Context context;
  context.set_max_num_threads(threads);
  const Batch batch = {c.count, lhs_size, rhs_size, dst_size};
  const auto mul = [&](std::ptrdiff_t i, std::ptrdiff_t rows) {
    auto dst = ColMajor(result.data() + i * dst_size, rows, c.cols);
    (void)Mul(RowMajor(lhs.data() + i * lhs_size, rows, c.depth),
              ColMajor(rhs.data() + i * rhs_size, c.depth, c.cols), params,
              &context, &dst);
  };
  const std::vector<Way> ways = {
      [&] {
        auto dst = ColMajor(result.data(), c.rows, c.cols);
        (void)MulBatch(RowMajor(lhs.data(), c.rows, c.depth),
                       ColMajor(rhs.data(), c.depth, c.cols), params, batch,
                       &context, &dst);
      },
      [&] {
        for (std::ptrdiff_t i = 0; i < c.count; ++i) mul(i, c.rows);
      },
      [&] { mul(0, c.count * c.rows); }};
  std::vector<double> ns;
  for (const std::vector<double>& seconds :
       TakeTurns(ways, kRounds, kTurnSeconds, threads > 1)) {
    ns.push_back(1e9 * Median(seconds));
  }
  const double ops = 2.0 * static_cast<double>(c.count * c.rows * c.depth) *
                     static_cast<double>(c.cols);
  std::printf("%-14s %5td x (%tdx%tdx%td) %7d %9.1f %9.1f %9.1f %10.1f\n",
              c.name, c.count, c.rows, c.depth, c.cols, threads, ops / ns[0],
              ops / ns[1], ops / ns[2], ns[0] / static_cast<double>(c.count));
}

void RunAll() {
  std::printf(
      "GOP/s of              products   threads     batch     calls"
      "   product ns/product\n");
  for (const Case& c : kCases) {
    for (const int threads : {1, 2}) Run(c, threads);
  }
}

}  // namespace
}  // namespace ruy_like::bench

int main() { ruy_like::bench::RunAll(); }
