// Benchmarks: what compare knows of another library.
//
// Each peer is a shared object of its own, compare_peers/<peer>[.<path>].so,
// which compare opens: so libraries that export the same symbols, and code
// compiled for instruction sets that this machine may lack, do not meet. It
// exports one function, RuyLikeBenchPeer. Of several objects for one peer the
// one of the best permitted path is taken.
//
// A peer is to be seen at its best: it prepares what it can, and leaves out
// parts of the epilogue that would slow it down and that it does not have.
#ifndef RUY_LIKE_BENCH_PEERS_PEER_H_
#define RUY_LIKE_BENCH_PEERS_PEER_H_

#include <cstddef>
#include <cstdint>

namespace ruy_like::bench {

// As problem.h's Types.
enum class PeerTypes {
  kS8,
  kS8U8,
  kU8,
  kF32,
  kBF16,     // on both sides, into float
  kBF16F32,  // bfloat16 weights, float activations
  kF16F32,
  kS4G32,  // weights that are values of 4 bits with a scale for each 32
  kS4G128,
  kS8G32,
  kS2G64,  // ternary
  kS2G256,
  kIQ4NL,
  kMXFP4,
  kNVFP4
};

// The product of problem.h, or a batch that lies one after the other, without
// gaps. Pointers stay valid as long as the
// runner lives. A channel is a row.
struct PeerProblem {
  PeerTypes types;
  std::ptrdiff_t rows, depth, cols;
  std::ptrdiff_t count;  // above 1 only where the peer has_batches
  bool lhs_row_major, rhs_row_major, dst_row_major;
  const void* lhs;  // of weights in groups: their values as floats
  const void* rhs;
  void* dst;
  std::int32_t lhs_zero_point, rhs_zero_point, dst_zero_point;
  // Integers: per channel; null for floats.
  const std::int32_t* bias;
  const std::int32_t* fixedpoint;
  const int* exponent;
  const float* bias_f32;  // floats: per channel; null: no bias
  bool prepack;           // the lhs is constant: its packing is not to be timed
  int threads;
};

// True if operands have the orders that most peers expect.
inline bool HasUsualOrders(const PeerProblem& problem) {
  return problem.lhs_row_major && !problem.rhs_row_major &&
         !problem.dst_row_major;
}

// A product that is ready to be run, many times.
class PeerRunner {
 public:
  virtual ~PeerRunner() = default;
  virtual void Run() = 0;
  // After the last Run, and not timed: brings what is elsewhere to dst.
  virtual void Finish() {}
};

struct Peer {
  const char* name;
  // Version and what instruction set it thinks to be on. Null: the library is
  // not there.
  const char* (*describe)();
  // The peer adds the bias in float products.
  bool adds_float_bias;
  // Null if the peer has no such product. Does not throw.
  PeerRunner* (*prepare)(const PeerProblem& problem);
  // How far integer results may be from ours: 1 for another rounding.
  int integer_tolerance = 1;
  // The peer has a call for several products of one shape.
  bool has_batches = false;
};

}  // namespace ruy_like::bench

extern "C" __attribute__((visibility("default"))) const ruy_like::bench::Peer*
RuyLikeBenchPeer();

#endif  // RUY_LIKE_BENCH_PEERS_PEER_H_
