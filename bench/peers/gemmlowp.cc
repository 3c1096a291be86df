// gemmlowp: uint8 products with an output pipeline like our epilogue.
#include "gemmlowp/public/gemmlowp.h"

#include <cstdint>
#include <tuple>

#include "bench/peers/peer.h"

namespace {

using ruy_like::bench::PeerProblem;
using ruy_like::bench::PeerRunner;
using ruy_like::bench::PeerTypes;

class GemmlowpRunner final : public PeerRunner {
 public:
  explicit GemmlowpRunner(const PeerProblem& problem) : problem_(problem) {
    context_.set_max_num_threads(problem.threads);
  }

  void Run() override {
    using gemmlowp::MapOrder;
    using gemmlowp::VectorShape;
    const int rows = static_cast<int>(problem_.rows);
    const int depth = static_cast<int>(problem_.depth);
    const int cols = static_cast<int>(problem_.cols);
    const gemmlowp::MatrixMap<const std::uint8_t, MapOrder::RowMajor> lhs(
        static_cast<const std::uint8_t*>(problem_.lhs), rows, depth);
    const gemmlowp::MatrixMap<const std::uint8_t, MapOrder::ColMajor> rhs(
        static_cast<const std::uint8_t*>(problem_.rhs), depth, cols);
    gemmlowp::MatrixMap<std::uint8_t, MapOrder::ColMajor> dst(
        static_cast<std::uint8_t*>(problem_.dst), rows, cols);
    using Vector = gemmlowp::VectorMap<const std::int32_t, VectorShape::Col>;
    gemmlowp::OutputStageBiasAddition<Vector> bias;
    bias.bias_vector = Vector(problem_.bias, rows);
    gemmlowp::OutputStageScaleInt32ByFixedPointAndExponentPC<VectorShape::Col>
        scale;
    scale.result_fixedpoint_multiplier = Vector(problem_.fixedpoint, rows);
    scale.result_exponent = Vector(problem_.exponent, rows);
    scale.result_offset_after_shift = problem_.dst_zero_point;
    gemmlowp::OutputStageClamp clamp;
    clamp.min = 1;
    clamp.max = 254;
    const auto pipeline = std::make_tuple(
        bias, scale, clamp, gemmlowp::OutputStageSaturatingCastToUint8());
    gemmlowp::GemmWithOutputPipeline<std::uint8_t, std::uint8_t,
                                     gemmlowp::DefaultL8R8BitDepthParams>(
        &context_, lhs, rhs, &dst, -problem_.lhs_zero_point,
        -problem_.rhs_zero_point, pipeline);
  }

 private:
  const PeerProblem problem_;
  gemmlowp::GemmContext context_;
};

PeerRunner* Prepare(const PeerProblem& problem) {
  if (problem.types != PeerTypes::kU8 || !HasUsualOrders(problem)) {
    return nullptr;
  }
  return new GemmlowpRunner(problem);
}

const char* Describe() {
#if defined(GEMMLOWP_AVX2)
  return "AVX2";
#elif defined(GEMMLOWP_SSE4)
  return "SSE4";
#else
  return "portable";
#endif
}

const ruy_like::bench::Peer kPeer = {"gemmlowp", Describe, false, Prepare};

}  // namespace

const ruy_like::bench::Peer* RuyLikeBenchPeer() { return &kPeer; }
