// Benchmarks: float products through the C interface of a BLAS.
//
// Shared by openblas.cc and blis.cc; each is linked with its own library, which
// is where cblas_sgemm comes from. Declared here, for the two libraries'
// headers differ and are not needed otherwise.
#ifndef RUY_LIKE_BENCH_PEERS_CBLAS_RUNNER_H_
#define RUY_LIKE_BENCH_PEERS_CBLAS_RUNNER_H_

#include "bench/peers/peer.h"

extern "C" void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n,
                            int k, float alpha, const float* a, int lda,
                            const float* b, int ldb, float beta, float* c,
                            int ldc);
extern "C" void cblas_sgemv(int order, int trans, int m, int n, float alpha,
                            const float* a, int lda, const float* x, int incx,
                            float beta, float* y, int incy);

namespace ruy_like::bench {
namespace {

class CblasRunner final : public PeerRunner {
 public:
  explicit CblasRunner(const PeerProblem& problem) : problem_(problem) {}

  void Run() override {
    // A row-major matrix is the transpose of a column-major one. For a
    // row-major dst its transpose is computed, with the sides swapped.
    constexpr int kRowMajor = 101, kColMajor = 102;
    constexpr int kNoTrans = 111, kTrans = 112;
    const int rows = static_cast<int>(problem_.rows);
    const int depth = static_cast<int>(problem_.depth);
    const int cols = static_cast<int>(problem_.cols);
    const float* lhs = static_cast<const float*>(problem_.lhs);
    const float* rhs = static_cast<const float*>(problem_.rhs);
    float* dst = static_cast<float*>(problem_.dst);
    const int lhs_stride = problem_.lhs_row_major ? depth : rows;
    const int rhs_stride = problem_.rhs_row_major ? cols : depth;
    if (cols == 1) {
      cblas_sgemv(problem_.lhs_row_major ? kRowMajor : kColMajor, kNoTrans,
                  rows, depth, 1.0f, lhs, lhs_stride, rhs, 1, 0.0f, dst, 1);
    } else if (rows == 1) {
      cblas_sgemv(problem_.rhs_row_major ? kRowMajor : kColMajor, kTrans, depth,
                  cols, 1.0f, rhs, rhs_stride, lhs, 1, 0.0f, dst, 1);
    } else {
      const auto transposed = [&](bool row_major) {
        return row_major == problem_.dst_row_major ? kNoTrans : kTrans;
      };
      cblas_sgemm(problem_.dst_row_major ? kRowMajor : kColMajor,
                  transposed(problem_.lhs_row_major),
                  transposed(problem_.rhs_row_major), rows, cols, depth, 1.0f,
                  lhs, lhs_stride, rhs, rhs_stride, 0.0f, dst,
                  problem_.dst_row_major ? cols : rows);
    }
  }

 private:
  const PeerProblem problem_;
};

PeerRunner* PrepareCblas(const PeerProblem& problem) {
  if (problem.types != PeerTypes::kF32) return nullptr;
  return new CblasRunner(problem);
}

}  // namespace
}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_PEERS_CBLAS_RUNNER_H_
