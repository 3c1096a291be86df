// Every kernel of vectors with packed panels of its lhs. Narrow kernels and AMX
// have tests of their own.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/support/kernel_harness.h"
#include "test/support/sanitizers.h"

namespace ruy_like::kernels {
namespace {

class PanelKernelTest : public KernelTest {
 protected:
  int lanes() const { return kernel().lhs.width; }
};
class IntPanelKernelTest : public PanelKernelTest {};
class FloatPanelKernelTest : public PanelKernelTest {};

TEST_P(PanelKernelTest, SizesAroundTileEdges) {
  std::vector<ptrdiff_t> rows, cols;
  for (const int panels : {0, 1, 2, 3, 4, 7}) {
    // Up to a half of the last vector some kernels multiply only that.
    for (const int more : {-1, 0, 1, lanes() / 2, lanes() / 2 + 1}) {
      if (panels * lanes() + more > 0) rows.push_back(panels * lanes() + more);
    }
  }
  for (int c = 1; c <= 2 * kernel().tile_cols + 1; c += kThinning) {
    cols.push_back(c);
  }
  const int group = kernel().lhs.depth_multiple;
  CheckSizes(rows, cols, {1, group, group + 1, 5 * group, 37});
}

// A kernel may go through a block in groups of panels and chunks of depth of
// its own choice; it was 8 or 32 panels and depth 256 or 512 when this was
// written.
TEST_P(PanelKernelTest, ManyPanelsAndDepths) {
  const ptrdiff_t width = kernel().tile_cols;
  CheckSizes({2 * lanes(), 4 * lanes() - 1, 5 * lanes()},
             {8 * width, 9 * width - 1, 33 * width + 1}, {256, 258, 513, 1030});
}

TEST_P(PanelKernelTest, EveryEpilogue) {
  for (const Scalar dst_scalar : DstScalars(kernel())) {
    for (int bits = 0; bits < 64; ++bits) {
      for (const Exponents& exponents :
           {Exponents{1, 1}, kSmall, kNegative, kUpToZero, kAny}) {
        KernelProblem p =
            Draw(kernel().tile_rows + 3, kernel().tile_cols + 1, 12);
        p.dst_scalar = dst_scalar;
        p.exponents = exponents;
        p.unit_multiplier = exponents.min == 1;
        p.col_major = bits & 1;
        p.channels_are_rows = bits & 2;
        p.per_channel = bits & 4;
        p.bias = bits & 8;
        if (kernel().family == Family::k8x8) {
          p.lhs_zero_point = bits & 16 ? -128 : 0;
          p.rhs_zero_point = bits & 32 ? 255 : 0;
        }
        Check(p);
      }
    }
  }
}

// Accumulators over all of int32, by way of the bias: rounding, ties, shifts,
// saturation.
TEST_P(IntPanelKernelTest, ScalesExactly) {
  for (int i = 0; i < 400; ++i) {
    KernelProblem p = Draw(kernel().tile_rows, 3, 1);
    p.dst_scalar = i % 2 == 0 ? Scalar::kI16 : Scalar::kI8;
    p.bias = p.wide_bias = true;
    p.per_channel = i % 3 != 0;
    if (i % 5 != 0) p.channels_are_rows = true;
    Check(p);
  }
}

// 8-bit columns are packed by way of 16 bits, with saturation: zero points on
// both sides of where that is given up, and accumulators over all of int32.
TEST_P(IntPanelKernelTest, PacksExactly) {
  for (const Scalar dst_scalar : {Scalar::kI8, Scalar::kU8}) {
    for (const int32_t zero_point :
         {-100000, -4097, -4096, -128, 0, 255, 4096, 4097, 100000}) {
      for (const ptrdiff_t rows :
           {lanes(), 2 * lanes() - 1, 2 * lanes(), 5 * lanes() + 3}) {
        for (const bool wide_bias : {false, true}) {
          KernelProblem p = Draw(rows, 2 * kernel().rhs.width + 3, 9);
          p.passes.clear();
          p.dst_scalar = dst_scalar;
          p.dst_zero_point = zero_point;
          p.col_major = p.channels_are_rows = p.bias = true;
          p.wide_bias = wide_bias;
          p.exponents = kSmall;
          p.unit_multiplier = false;
          Check(p);
        }
      }
    }
  }
}

// More rows than what is prepared for rows at once has room for.
TEST_P(PanelKernelTest, ManyRows) {
  for (const ptrdiff_t vectors : {50, 51, 52, 99, 101}) {
    KernelProblem p = Draw(vectors * lanes() - 1, kernel().rhs.width + 1, 3);
    p.col_major = p.channels_are_rows = true;
    p.exponents = kSmall;
    p.unit_multiplier = false;
    Check(p);
  }
}

// Sums that wrap, and clamps and zero points whose sums would.
TEST_P(IntPanelKernelTest, RawIntegersWrap) {
  struct Clamp {
    double min, max;
  };
  for (const int32_t zero_point : {0, 5, -5, INT32_MAX, INT32_MIN}) {
    for (const Clamp clamp : {Clamp{INT32_MIN, INT32_MAX},
                              {INT32_MIN, INT32_MIN},
                              {INT32_MAX, INT32_MAX},
                              {-1000, 1000}}) {
      KernelProblem p = Draw(21, 5, 9);
      p.dst_scalar = Scalar::kI32;
      p.bias = p.wide_bias = true;
      p.dst_zero_point = zero_point;
      p.clamp_min = clamp.min;
      p.clamp_max = clamp.max;
      Check(p);
    }
  }
}

TEST_P(PanelKernelTest, ExtremeOperands) {
  const Fill kFills[] = {Fill::kLowest, Fill::kHighest, Fill::kAlternating};
  for (const Fill lhs : kFills) {
    for (const Fill rhs : kFills) {
      // Deep enough for sums of int8 products to pass 2^31 and of int16
      // products to pass 2^32.
      for (const ptrdiff_t depth : {7, 140000}) {
        // Floats, which are small here, need that once.
        const bool once = lhs == Fill::kLowest && rhs == Fill::kAlternating;
        if (depth > 7 && IsFloat(kernel()) && !once) continue;
        KernelProblem p = Draw(lanes() + 1, 3, depth);
        p.lhs_fill = lhs;
        p.rhs_fill = rhs;
        Check(p);
      }
    }
  }
}

// An element of dst depends, to the last bit, on its row and its column alone.
TEST_P(FloatPanelKernelTest, DoesNotDependOnNeighboursOrPasses) {
  KernelProblem p =
      Draw(2 * kernel().tile_rows + 5, 2 * kernel().tile_cols + 1, 61);
  p.dst_scalar = DstScalars(kernel()).back();
  p.lhs_fill = p.rhs_fill = Fill::kFractions;
  p.bias = false;
  p.passes.clear();
  const auto whole = KernelRun::Make(kernel(), p, &rng_);
  whole->Execute();
  for (int i = 0; i < 30; ++i) {
    const ptrdiff_t row = rng_.Between(0, p.rows - 1);
    const ptrdiff_t col = rng_.Between(0, p.cols - 1);
    KernelProblem alone = p;
    alone.rows = Between(1, 40);
    alone.cols = Between(1, 9);
    alone.passes = EvenPasses(kernel(), p.depth, Between(1, 4));
    const auto part = KernelRun::Make(kernel(), alone, &rng_);
    const ptrdiff_t last_row = alone.rows - 1, last_col = alone.cols - 1;
    for (ptrdiff_t k = 0; k < p.depth; ++k) {
      part->lhs().Set(k, last_row, whole->lhs().Column(row)[k]);
      part->rhs().Set(k, last_col, whole->rhs().Column(col)[k]);
    }
    part->Execute();
    ASSERT_EQ(part->Result(last_row, last_col), whole->Result(row, col))
        << testing::PrintToString(alone);
  }
}

TEST_P(FloatPanelKernelTest, NanAndInfinity) {
  for (const bool col_major : {true, false}) {
    KernelProblem p = Draw(kernel().tile_rows + 3, kernel().tile_cols + 1, 3);
    p.col_major = col_major;
    p.dst_scalar = DstScalars(kernel()).back();
    p.clamp_min = -100;
    p.clamp_max = 100;
    CheckSpecialValues(p);
  }
}

RUY_LIKE_INSTANTIATE_PER_KERNEL(PanelKernelTest, KernelShape::kPanels);
RUY_LIKE_INSTANTIATE_PER_KERNEL(IntPanelKernelTest, KernelShape::kPanels,
                                /*floats=*/false);
RUY_LIKE_INSTANTIATE_PER_KERNEL(FloatPanelKernelTest, KernelShape::kPanels,
                                /*floats=*/true);

}  // namespace
}  // namespace ruy_like::kernels
