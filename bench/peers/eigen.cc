// Eigen: float products; the instruction set is that of this file's flags.
#include <Eigen/Core>

#include "bench/peers/peer.h"

namespace {

using ruy_like::bench::PeerProblem;
using ruy_like::bench::PeerRunner;
using ruy_like::bench::PeerTypes;

using RowMajor =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ColMajor =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor>;

class EigenRunner final : public PeerRunner {
 public:
  explicit EigenRunner(const PeerProblem& problem) : problem_(problem) {}

  void Run() override {
    if (problem_.lhs_row_major) {
      RunWithLhs<RowMajor>();
    } else {
      RunWithLhs<ColMajor>();
    }
  }

 private:
  // Eigen has products of its own for vectors.
  template <typename Lhs>
  void RunWithLhs() {
    const Eigen::Map<const Lhs> lhs(static_cast<const float*>(problem_.lhs),
                                    problem_.rows, problem_.depth);
    if (problem_.cols == 1) {
      const Eigen::Map<const Eigen::VectorXf> rhs(
          static_cast<const float*>(problem_.rhs), problem_.depth);
      Eigen::Map<Eigen::VectorXf> dst(static_cast<float*>(problem_.dst),
                                      problem_.rows);
      dst.noalias() = lhs * rhs;
      return;
    }
    if (problem_.rhs_row_major) {
      RunWithRhs<RowMajor>(lhs);
    } else {
      RunWithRhs<ColMajor>(lhs);
    }
  }

  template <typename Rhs, typename Lhs>
  void RunWithRhs(const Lhs& lhs) {
    const Eigen::Map<const Rhs> rhs(static_cast<const float*>(problem_.rhs),
                                    problem_.depth, problem_.cols);
    float* const dst = static_cast<float*>(problem_.dst);
    if (problem_.rows == 1) {
      const Eigen::Map<const Eigen::RowVectorXf> row(
          static_cast<const float*>(problem_.lhs), problem_.depth);
      Eigen::Map<Eigen::RowVectorXf>(dst, problem_.cols).noalias() = row * rhs;
    } else if (problem_.dst_row_major) {
      Eigen::Map<RowMajor>(dst, problem_.rows, problem_.cols).noalias() =
          lhs * rhs;
    } else {
      Eigen::Map<ColMajor>(dst, problem_.rows, problem_.cols).noalias() =
          lhs * rhs;
    }
  }

  const PeerProblem problem_;
};

// Threads would need OpenMP, and do not change its single-threaded kernels.
PeerRunner* Prepare(const PeerProblem& problem) {
  if (problem.types != PeerTypes::kF32 || problem.threads > 1) return nullptr;
  return new EigenRunner(problem);
}

#define RUY_LIKE_STRINGIZE_(x) #x
#define RUY_LIKE_STRINGIZE(x) RUY_LIKE_STRINGIZE_(x)
const char* Describe() {
  return RUY_LIKE_STRINGIZE(EIGEN_WORLD_VERSION) "." RUY_LIKE_STRINGIZE(
      EIGEN_MAJOR_VERSION) "." RUY_LIKE_STRINGIZE(EIGEN_MINOR_VERSION) ", "
#if defined(EIGEN_VECTORIZE_AVX512)
      "AVX-512";
#elif defined(EIGEN_VECTORIZE_AVX2)
      "AVX2";
#else
      "baseline";
#endif
}

const ruy_like::bench::Peer kPeer = {"eigen", Describe, false, Prepare};

}  // namespace

const ruy_like::bench::Peer* RuyLikeBenchPeer() { return &kPeer; }
