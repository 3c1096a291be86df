// libxsmm: float products of at most 64^3, all column-major, by a kernel that
// it compiles for the shape; a batch is a loop over that. The compilation is
// not timed.
#include <libxsmm.h>

#include "bench/peers/peer.h"

namespace {

using ruy_like::bench::PeerProblem;
using ruy_like::bench::PeerRunner;
using ruy_like::bench::PeerTypes;

class LibxsmmRunner final : public PeerRunner {
 public:
  LibxsmmRunner(const PeerProblem& problem, libxsmm_smmfunction kernel)
      : problem_(problem), kernel_(kernel) {}

  void Run() override {
    const float* lhs = static_cast<const float*>(problem_.lhs);
    const float* rhs = static_cast<const float*>(problem_.rhs);
    float* dst = static_cast<float*>(problem_.dst);
    for (std::ptrdiff_t i = 0; i < problem_.count; ++i) {
      kernel_(lhs, rhs, dst);
      lhs += problem_.rows * problem_.depth;
      rhs += problem_.depth * problem_.cols;
      dst += problem_.rows * problem_.cols;
    }
  }

 private:
  const PeerProblem problem_;
  const libxsmm_smmfunction kernel_;
};

PeerRunner* Prepare(const PeerProblem& problem) {
  constexpr std::ptrdiff_t kMost = 64;
  if (problem.types != PeerTypes::kF32 || problem.threads > 1 ||
      problem.lhs_row_major || problem.rhs_row_major || problem.dst_row_major ||
      problem.rows > kMost || problem.depth > kMost || problem.cols > kMost) {
    return nullptr;
  }
  const float alpha = 1, beta = 0;
  const int flags = LIBXSMM_GEMM_FLAG_NONE;
  const libxsmm_smmfunction kernel = libxsmm_smmdispatch(
      static_cast<libxsmm_blasint>(problem.rows),
      static_cast<libxsmm_blasint>(problem.cols),
      static_cast<libxsmm_blasint>(problem.depth), /*lda=*/nullptr,
      /*ldb=*/nullptr, /*ldc=*/nullptr, &alpha, &beta, &flags,
      /*prefetch=*/nullptr);
  return kernel == nullptr ? nullptr : new LibxsmmRunner(problem, kernel);
}

const char* Describe() { return LIBXSMM_VERSION; }

const ruy_like::bench::Peer kPeer = {"libxsmm",
                                     Describe,
                                     /*adds_float_bias=*/false,
                                     Prepare,
                                     /*integer_tolerance=*/1,
                                     /*has_batches=*/true};

}  // namespace

const ruy_like::bench::Peer* RuyLikeBenchPeer() { return &kPeer; }
