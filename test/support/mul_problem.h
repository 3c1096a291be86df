// Test support: a product as plain data.
//
// MulProblem says everything about a product, so that a test is a loop over
// problems and a failure prints in one line; mul_runner.h runs it. Used by the
// tests of the public API; not for kernels or pack routines alone.
#ifndef RUY_LIKE_TEST_SUPPORT_MUL_PROBLEM_H_
#define RUY_LIKE_TEST_SUPPORT_MUL_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/scalar.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {

// Element types of a product; one line of the README's type table.
struct Types {
  Scalar lhs, rhs, accum, dst;
};

// Every combination that compiles (scalar.h): all; those of integers, of
// integers scaled to float, of floating point.
const std::vector<Types>& AllTypes();
const std::vector<Types>& IntegerTypes();
const std::vector<Types>& ScaledTypes();
const std::vector<Types>& FloatTypes();

// Products whose types are all the same, apart from the accumulator.
constexpr Types kInt8 = {Scalar::kI8, Scalar::kI8, Scalar::kI32, Scalar::kI8};
constexpr Types kFloat = {Scalar::kF32, Scalar::kF32, Scalar::kF32,
                          Scalar::kF32};

// An operand's elements. For floats lowest and highest are -1 and 1.
// kAllValues counts up from the lowest, again and again.
enum class Fill { kRandom, kLowest, kHighest, kAlternating, kAllValues };

// The promise that an 8-bit operand is int7, and its truth.
enum class Int7 { kNotPromised, kKept, kBroken };

struct MatrixSpec {
  Scalar scalar;
  Order order = Order::kColMajor;
  std::ptrdiff_t gap = 0;  // stride minus the inner dimension, in elements
  std::int32_t zero_point = 0;
  CachePolicy cache_policy = CachePolicy::kNeverCache;  // of an operand
  Fill fill = Fill::kRandom;                            // of an operand
  Flush flush = Flush::kEnd;
  Int7 int7 = Int7::kNotPromised;  // of an operand
};

// Bias: kExtreme uses all of int32, so that sums wrap.
enum class BiasKind { kNone, kModerate, kExtreme };
// Multipliers: kDefault sets none.
enum class MultiplierKind { kDefault, kPerTensor, kPerChannel };
// Scales of one operand, alike: kPerChannel is per row of lhs, per column of
// rhs.
using ScaleKind = MultiplierKind;

// The ways into the library.
enum class EntryPoint { kMul, kPackedLhs, kPackedRhs, kPackedBoth, kPlan };

struct MulProblem {
  std::ptrdiff_t rows, depth, cols;
  MatrixSpec lhs, rhs, dst;
  Scalar accum;
  ChannelDimension channel_dimension = ChannelDimension::kRow;
  BiasKind bias = BiasKind::kNone;
  MultiplierKind multiplier = MultiplierKind::kPerTensor;
  int min_exponent, max_exponent;  // exponents are drawn from here
  // Multipliers are drawn from here.
  std::int32_t min_fixedpoint = 1 << 30, max_fixedpoint = INT32_MAX;
  MultiplierRounding rounding = MultiplierRounding::kOnce;
  // Used where HasScales().
  ScaleKind lhs_scale = ScaleKind::kPerChannel;
  ScaleKind rhs_scale = ScaleKind::kPerChannel;
  double beta = 0;                             // where Accumulates()
  FloatSums float_sums = FloatSums::kInOrder;  // unless IsInteger()
  bool clamp = false;
  double clamp_min = 0, clamp_max = 0;
  int num_threads = 1;
  std::uint64_t data_seed = 1;  // of all values
  EntryPoint entry_point = EntryPoint::kMul;
  // The dst order that packed operands are told of.
  Order packed_for = Order::kColMajor;

  bool IsInteger() const { return accum == Scalar::kI32; }
  bool IsScaled() const { return IsInteger() && IsFloat(dst.scalar); }
  bool IsQuantized() const {
    return IsInteger() && dst.scalar != accum && !IsScaled();
  }
  bool HasScales() const {
    return IsScaled() ||
           (IsQuantized() && rounding == MultiplierRounding::kFloat);
  }
  // True if products of these types can be added to dst.
  bool Accumulates() const { return !IsQuantized() && !IsScaled(); }
  // The type of the bias.
  Scalar BiasScalar() const { return IsScaled() ? dst.scalar : accum; }
};

// The plainest product of these types and sizes: row-major lhs, column-major
// rhs and dst, no gaps, no zero points, no bias, random values, per-tensor
// multipliers that spread the results over dst's range.
MulProblem MakeProblem(const Types& types, const Shape& shape);

// The orders of lhs, rhs and dst from the three low bits.
void SetOrders(int bits, MulProblem* problem);

// Anything goes; small shapes much more often than large ones.
MulProblem RandomProblem(std::uint64_t seed);

// One line with all that reproduces the problem.
std::string Describe(const MulProblem& problem);

// "int8 x uint8 -> int16", with the accumulator where it is not the usual one.
std::string TypesName(const MulProblem& problem);

// A type's least and greatest value; -1 and 1 for floats.
std::int64_t LowestOf(Scalar scalar);
std::int64_t HighestOf(Scalar scalar);

}  // namespace ruy_like

#endif  // RUY_LIKE_TEST_SUPPORT_MUL_PROBLEM_H_
