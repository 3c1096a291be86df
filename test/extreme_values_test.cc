// Elements and zero points at the ends of their types, where an intermediate
// that saturates or lacks a bit would show.
#include <gtest/gtest.h>

#include <vector>

#include "test/support/mul_problem.h"
#include "test/support/mul_runner.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

constexpr Fill kFills[] = {Fill::kRandom, Fill::kLowest, Fill::kHighest,
                           Fill::kAlternating};

// Zero points to try on an operand of this type.
std::vector<std::int32_t> ZeroPoints(Scalar scalar) {
  if (!Is8Bit(scalar)) return {0};
  const std::int32_t low = static_cast<std::int32_t>(LowestOf(scalar));
  const std::int32_t high = static_cast<std::int32_t>(HighestOf(scalar));
  // The ends; those that the flip to the other signedness turns into 0 and the
  // ends; and plain 0.
  if (scalar == Scalar::kI8) return {low, 0, high};
  return {low, 128, high};
}

class ExtremeValuesTest : public PathTest {};
RUY_LIKE_INSTANTIATE_PER_PATH(ExtremeValuesTest);

TEST_P(ExtremeValuesTest, FillsAndZeroPoints) {
  // Depth odd and beyond any group; a second shape for kernels that are narrow.
  constexpr Shape kShapes[] = {{17, 67, 9}, {9, 66, 1}, {1, 67, 9}};
  for (const Types& types : IntegerTypes()) {
    if (types.dst != Scalar::kI32) continue;
    for (const Fill lhs_fill : kFills) {
      for (const Fill rhs_fill : kFills) {
        for (const std::int32_t lhs_zero_point : ZeroPoints(types.lhs)) {
          for (const std::int32_t rhs_zero_point : ZeroPoints(types.rhs)) {
            for (const auto& shape : kShapes) {
              MulProblem p = MakeProblem(types, shape);
              p.lhs.fill = lhs_fill;
              p.rhs.fill = rhs_fill;
              p.lhs.zero_point = lhs_zero_point;
              p.rhs.zero_point = rhs_zero_point;
              // Depth is contiguous or not: the alternation runs along it or
              // across.
              SetOrders(static_cast<int>(lhs_fill) + shape.cols, &p);
              ASSERT_TRUE(CheckProblem(p, &context_));
            }
          }
        }
      }
    }
  }
}

// Depth 4096 is the most of which NEON's int8 tiles keep sums in 16 bits.
TEST_P(ExtremeValuesTest, DeepSums) {
  constexpr Shape kShapes[] = {{8, 4096, 4}, {4, 4096, 12}, {7, 4112, 9}};
  for (const Types& types : IntegerTypes()) {
    if (types.dst != Scalar::kI32 || !Is8Bit(types.lhs) || !Is8Bit(types.rhs)) {
      continue;
    }
    for (const Fill lhs_fill : kFills) {
      for (const Fill rhs_fill : kFills) {
        for (const auto& shape : kShapes) {
          MulProblem p = MakeProblem(types, shape);
          p.lhs.fill = lhs_fill;
          p.rhs.fill = rhs_fill;
          ASSERT_TRUE(CheckProblem(p, &context_));
        }
      }
    }
  }
}

TEST_P(ExtremeValuesTest, ZeroPointsOfDst) {
  for (const Types& types : IntegerTypes()) {
    for (const std::int64_t zero_point :
         {LowestOf(types.dst), HighestOf(types.dst)}) {
      for (const std::ptrdiff_t cols : {1, 9}) {
        MulProblem p = MakeProblem(types, {17, 20, cols});
        p.dst.zero_point = static_cast<std::int32_t>(zero_point);
        ASSERT_TRUE(CheckProblem(p, &context_));
        // Sums all over int32 push value + zero point beyond it.
        p.bias = BiasKind::kExtreme;
        p.min_exponent = p.max_exponent = 1;
        ASSERT_TRUE(CheckProblem(p, &context_));
      }
    }
  }
}

// Every int8 with every int8, and the same for other signs: all products that a
// multiplier can be asked for.
TEST_P(ExtremeValuesTest, AllPairsOf8BitElements) {
  for (const Types& types : IntegerTypes()) {
    if (types.dst != Scalar::kI32 || !Is8Bit(types.lhs) || !Is8Bit(types.rhs)) {
      continue;
    }
    // Depth 1: dst is the table of products, for a zero point of each kind.
    for (const std::int32_t zero_point : ZeroPoints(types.lhs)) {
      MulProblem p = MakeProblem(types, {256, 1, 256});
      p.lhs.fill = p.rhs.fill = Fill::kAllValues;
      p.lhs.zero_point = zero_point;
      ASSERT_TRUE(CheckProblem(p, &context_));
    }
  }
}

}  // namespace
}  // namespace ruy_like
