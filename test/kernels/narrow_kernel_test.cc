// Every kernel that reads the lhs in place. Requantization has its test in
// panel_kernel_test.cc, with the same epilogue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/support/kernel_harness.h"
#include "test/support/sanitizers.h"

namespace ruy_like::kernels {
namespace {

class NarrowKernelTest : public KernelTest {
 protected:
  void CheckDrawn(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t depth) {
    KernelProblem p = Draw(rows, cols, depth);
    if (IsFloat(kernel())) p.lhs_fill = p.rhs_fill = Fill::kFractions;
    Check(p);
  }
};
class IntNarrowKernelTest : public NarrowKernelTest {};
class FloatNarrowKernelTest : public NarrowKernelTest {};

// A number of columns is served by one path through the kernel, with and
// without sums of the lhs.
TEST_P(NarrowKernelTest, EveryColumnCount) {
  for (ptrdiff_t cols = 1; cols <= kernel().max_cols; ++cols) {
    for (int draw = 0; draw < 8; ++draw) {
      CheckDrawn(Between(1, 40), cols, Between(1, 300));
    }
  }
}

TEST_P(NarrowKernelTest, EveryRowCount) {
  for (ptrdiff_t rows = 1; rows <= 70; rows += kThinning) {
    CheckDrawn(rows, Between(1, 4), Between(1, 99));
    CheckDrawn(rows, Between(5, 16), Between(1, 99));
  }
}

// Rows that are far apart from each other in a tile (narrow_row_streams.h), and
// what remains below them.
TEST_P(NarrowKernelTest, ManyRows) {
  for (const ptrdiff_t rows : {127, 192, 193, 511, 512, 515, 1100, 2049}) {
    for (const ptrdiff_t cols : {1, 2, 4, 7, 16}) {
      CheckDrawn(rows, cols, Between(1, 40));
    }
  }
}

TEST_P(NarrowKernelTest, EveryDepth) {
  for (ptrdiff_t depth = 1; depth <= 300; depth += kThinning) {
    CheckDrawn(Between(1, 20), Between(1, 4), depth);
    CheckDrawn(Between(16, 35), Between(1, 16), depth);
  }
}

TEST_P(NarrowKernelTest, DeepRows) {
  for (const ptrdiff_t depth : {2047, 2048, 4096, 4099, 9001, 16500}) {
    CheckDrawn(21, 1, depth);
    CheckDrawn(18, 3, depth);
    CheckDrawn(5, 16, depth);
  }
}

// Sums that leave 16 bits, and 32, in a lane or in all.
TEST_P(IntNarrowKernelTest, ExtremeValues) {
  const Fill kFills[] = {Fill::kLowest, Fill::kHighest, Fill::kAlternating};
  for (const Fill lhs_fill : kFills) {
    for (const Fill rhs_fill : kFills) {
      for (const ptrdiff_t depth : {1, 2, 63, 128, 5000}) {
        KernelProblem p = {9, std::min(5, kernel().max_cols), depth};
        p.lhs_fill = lhs_fill;
        p.rhs_fill = rhs_fill;
        p.dst_scalar = Scalar::kI32;
        Check(p);
        if (kernel().family != Family::k8x8) continue;
        p.lhs_zero_point = 255;
        for (const int32_t zero_point : {-129, -128, 127, 128, 255}) {
          p.rhs_zero_point = zero_point;
          Check(p);
        }
      }
    }
  }
}

// Zero points within and beyond int8, against the lhs values that are largest.
TEST_P(IntNarrowKernelTest, ManyZeroPoints) {
  if (kernel().family != Family::k8x8) return;  // has no zero points
  for (int zero_point = -130; zero_point <= 130; zero_point += 5) {
    for (int draw = 0; draw < 4; ++draw) {
      KernelProblem p = {/*rows=*/6, /*cols=*/1, /*depth=*/2000};
      p.rhs_zero_point = zero_point;
      p.lhs_fill = draw % 2 == 0 ? Fill::kLowest : Fill::kHighest;
      p.dst_scalar = Scalar::kI32;
      Check(p);
    }
  }
}

// A lhs that spans more than any cache holds may be read in another way.
TEST_P(FloatNarrowKernelTest, RowsFarApart) {
  if (kernel().lhs.by_depth) return;  // has no rows apart
  for (ptrdiff_t cols = 1; cols <= std::min(kernel().max_cols, 9); ++cols) {
    KernelProblem p = Draw(51, cols, 275);
    p.lhs_gap = (17 << 20) / BytesOf(kernel().lhs.scalar, 1) / 48;
    Check(p);
  }
}

// Rows whose lines share one set of L1, a multiple of 4096 bytes apart, go
// through depth one group behind the other.
TEST_P(FloatNarrowKernelTest, RowsThatShareSets) {
  const ptrdiff_t multiple = 4096 / BytesOf(kernel().lhs.scalar, 1);
  for (const ptrdiff_t depth : {16, 31, 40, 300, 700, 1100, 2500}) {
    for (const ptrdiff_t rows : {7, 16, 40, 53}) {
      for (ptrdiff_t cols = 1; cols <= std::min(kernel().max_cols, 4); ++cols) {
        KernelProblem p = Draw(rows, cols, depth);
        p.lhs_fill = p.rhs_fill = Fill::kFractions;
        const ptrdiff_t inner = kernel().lhs.by_depth ? rows : depth;
        p.lhs_gap = (multiple - inner % multiple) % multiple;
        Check(p);
      }
    }
  }
}

// Rows are added up alike wherever in a tile or block they are: blocks depend
// on the number of threads.
TEST_P(FloatNarrowKernelTest, ARowsPlaceDoesNotMatter) {
  for (const ptrdiff_t depth : {1, 3, 17, 40, 131, 1000}) {
    for (ptrdiff_t cols = 1; cols <= std::min(kernel().max_cols, 5); ++cols) {
      KernelProblem p = {/*rows=*/141, cols, depth};
      p.lhs_fill = p.rhs_fill = Fill::kFractions;
      p.dst_scalar = Scalar::kF32;
      p.bias = false;
      std::vector<double> first_row;
      for (const ptrdiff_t rows : {141, 2, 67, 66, 1, 5, 32, 3, 7}) {
        p.rows = rows;
        const auto run = KernelRun::Make(kernel(), p, &rng_);
        for (ptrdiff_t k = 0; k < depth; ++k) {
          for (ptrdiff_t c = 0; c < cols; ++c) {
            run->rhs().Set(k, c, std::sin(static_cast<double>(7 * k + c)));
          }
          const double value = std::cos(static_cast<double>(k));
          for (ptrdiff_t r = 0; r < rows; ++r) run->lhs().Set(k, r, value);
        }
        run->Execute();
        for (ptrdiff_t c = 0; c < cols; ++c) {
          if (rows == 141) first_row.push_back(run->Result(0, c));
          for (ptrdiff_t r = 0; r < rows; ++r) {
            ASSERT_EQ(run->Result(r, c), first_row[c])
                << "row " << r << " of " << rows << ", column " << c << " of "
                << cols << ", depth " << depth;
          }
        }
      }
    }
  }
}

TEST_P(FloatNarrowKernelTest, NanAndInfinity) {
  for (const ptrdiff_t depth : {1, 15, 16, 40, 70}) {
    CheckSpecialValues(
        {/*rows=*/19, std::min<ptrdiff_t>(7, kernel().max_cols), depth});
  }
}

RUY_LIKE_INSTANTIATE_PER_KERNEL(NarrowKernelTest, KernelShape::kNarrow);
RUY_LIKE_INSTANTIATE_PER_KERNEL(IntNarrowKernelTest, KernelShape::kNarrow,
                                /*floats=*/false);
RUY_LIKE_INSTANTIATE_PER_KERNEL(FloatNarrowKernelTest, KernelShape::kNarrow,
                                /*floats=*/true);

}  // namespace
}  // namespace ruy_like::kernels
