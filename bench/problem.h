// Benchmarks: one product, or a batch of one shape, with random operands and a
// full epilogue.
//
// Used by mul_bench and compare, which run it many times. Unless orders are
// given, the layout is the one that inference engines have: row-major lhs
// (weights, a channel a row), column-major rhs and dst (a pixel or token a
// column).
#ifndef RUY_LIKE_BENCH_PROBLEM_H_
#define RUY_LIKE_BENCH_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/buffer.h"
#include "bench/shapes.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/ruy_like.h"

namespace ruy_like::bench {

struct Problem;

// A problem's matrices and parameters, made once: what is timed is the call, as
// in a framework that keeps them.
class BoundProblem {
 public:
  virtual ~BoundProblem() = default;
  // Mul, or MulBatch, to the problem's dst.
  virtual absl::Status Mul(Context* context) = 0;
  // To `dst` instead of the problem's: a Mul for each product; ReferenceMul.
  virtual absl::Status Calls(void* dst, Context* context) = 0;
  virtual void Reference(void* dst) = 0;
};

// A combination of element types that can be benchmarked.
struct Types {
  const char* name;
  const char* description;
  kernels::Family family;
  Scalar lhs, rhs, dst;
  // As frameworks have them: weights that are int8 have 0.
  std::int32_t lhs_zero_point = 0, rhs_zero_point = 0, dst_zero_point = 0;
  std::unique_ptr<BoundProblem> (*bind)(const Problem& problem) = nullptr;
  // Float products only: whether they have a bias and a clamp.
  bool has_epilogue = true;
  // Weights with a scale of 16 bits for each group: bits of a level, levels of
  // a group, and the values of codes or null (GroupWeights::table). The
  // weights' values are the lhs, as floats, row-major; they are packed ahead in
  // any case.
  int level_bits = 0;
  std::ptrdiff_t group_size = 0;
  const std::int8_t* table = nullptr;
};

// All of them.
const std::vector<Types>& AllTypes();

// Null for a name that is none.
const Types* FindTypes(const std::string& name);

struct Orders {
  Order lhs = Order::kRowMajor;
  Order rhs = Order::kColMajor;
  Order dst = Order::kColMajor;
  // Bytes between the lhs's rows or columns; only of a single product.
  std::ptrdiff_t lhs_gap_bytes = 0;
};

// The operand whose policy is CachePolicy::kAlwaysCache; that of others is
// kNeverCache.
enum class Cached { kNone, kLhs, kRhs };

// lhs, rhs, bias and multipliers are random: integers over all values of their
// type, floats in [-1, 1). Multipliers bring dst to about a quarter of its
// range; each channel has its own, with exponents <= 0. The products of a
// batch lie one after the other and share bias and multipliers.
struct Problem {
  Problem(const Types& types_arg, const Shape& shape_arg, Cached cached_arg,
          const Orders& orders_arg = {});

  // Size of lhs, rhs and dst together: the least that must be moved.
  double Bytes() const;
  // With gaps, of which there are as many as rows or columns.
  std::ptrdiff_t LhsBytes() const {
    return BytesOf(types->lhs, shape.count * shape.rows * shape.depth) +
           orders.lhs_gap_bytes *
               (orders.lhs == Order::kRowMajor ? shape.rows : shape.depth);
  }
  std::ptrdiff_t DstBytes() const {
    return BytesOf(types->dst, shape.count * shape.rows * shape.cols);
  }
  absl::Status Mul(Context* context) const { return bound_->Mul(context); }
  absl::Status Calls(void* to, Context* context) const {
    return bound_->Calls(to, context);
  }
  void Reference(void* to) const { bound_->Reference(to); }

  const Types* types;
  Shape shape;
  Cached cached;
  Orders orders;
  Buffer lhs, rhs, dst;
  std::vector<std::int32_t> bias;  // for integers
  std::vector<std::int32_t> fixedpoint;
  std::vector<int> exponent;
  std::vector<float> bias_f32;  // for floats; empty if they have no epilogue

 private:
  std::unique_ptr<BoundProblem> bound_;
};

}  // namespace ruy_like::bench

#endif  // RUY_LIKE_BENCH_PROBLEM_H_
