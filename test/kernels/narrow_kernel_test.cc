// Every kernel that reads the lhs in place, against kernels/kernel.h's formulas
// written out as plain loops: integers exactly, floats as a chain of fused
// multiply-adds in order of depth.
//
// The lhs, its rows apart from each other, ends at a page that cannot be
// accessed, and so do per-channel arrays and dst. The rhs, if it is not read in
// place, is packed here, by the layout that the kernel's table line states.
// Requantization has its test in panel_kernel_test.cc, with the same epilogue;
// here it is one case.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/path.h"
#include "ruy_like/registry/cpu_features.h"
#include "ruy_like/registry/registry.h"
#include "test/support/guarded_buffer.h"
#include "test/support/kernel_test.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace kernels {
namespace {

// ## Parameters: the narrow kernels of the paths that this machine has

std::vector<KernelUnderTest> NarrowKernels(bool (*wanted)(const Kernel&)) {
  return KernelsUnderTest([wanted](const Kernel& kernel) {
    return kernel.lhs.in_place && wanted(kernel);
  });
}

// ## Problems

enum Fill { kRandom, kLowest, kHighest, kAlternating };

struct Problem {
  ptrdiff_t rows, cols, depth;
  ptrdiff_t lhs_gap = 0;  // elements between lhs rows
  bool dst_col_major = true;
  bool quantized = false;  // int8 dst instead of int32
  bool bias = true;
  int32_t lhs_zero_point = 0, rhs_zero_point = 0;
  Fill lhs_fill = kRandom, rhs_fill = kRandom;
};

void PrintTo(const Problem& p, std::ostream* os) {
  *os << p.rows << "x" << p.depth << "x" << p.cols << ", lhs gap " << p.lhs_gap
      << ", dst " << (p.dst_col_major ? "col" : "row") << "-major"
      << (p.quantized ? ", quantized" : "") << (p.bias ? ", bias" : "")
      << ", zero points " << p.lhs_zero_point << " " << p.rhs_zero_point
      << ", fills " << p.lhs_fill << " " << p.rhs_fill;
}

// Integers over all of the type's range (or int8's, where that is what the
// packed type was made of), floats of a few magnitudes.
template <typename T>
T DrawElement(Fill fill, bool odd, bool made_of_int8, Rng& random) {
  if constexpr (std::is_integral_v<T>) {
    const int low = made_of_int8 ? -128 : std::numeric_limits<T>::lowest();
    const int high = made_of_int8 ? 127 : std::numeric_limits<T>::max();
    if (fill == kRandom) return static_cast<T>(UniformInt(random, low, high));
    return static_cast<T>(
        fill == kHighest || (fill == kAlternating && odd) ? high : low);
  } else {
    const float x = static_cast<float>(random.Signed());
    return std::ldexp(x, UniformInt(random, -9, 9));
  }
}

// Lhs and Rhs are the element types as the kernel reads them.
template <typename Lhs, typename Rhs, typename Dst>
class Execution {
 public:
  static constexpr bool kFloat = std::is_floating_point_v<Lhs>;
  typedef std::conditional_t<kFloat, float, int32_t> Bias;

  Execution(const Kernel& kernel, const Problem& problem, Rng& random)
      : kernel_(kernel),
        p_(problem),
        lhs_stride_(p_.depth + p_.lhs_gap),
        lhs_(lhs_stride_ * (p_.rows - 1) + p_.depth),
        rhs_(p_.depth * p_.cols),
        padded_depth_(kernel.rhs.in_place
                          ? p_.depth
                          : RoundUp(p_.depth, kernel.rhs.depth_multiple)),
        panels_(kernel.rhs.in_place
                    ? 0
                    : RoundUp(p_.cols, kernel.rhs.width) * padded_depth_,
                64),
        bias_(p_.rows),
        fixedpoint_(p_.rows),
        exponent_(p_.rows),
        rhs_sums_(p_.cols),
        dst_stride_((p_.dst_col_major ? p_.rows : p_.cols) + 3),
        dst_(dst_stride_ * (p_.dst_col_major ? p_.cols : p_.rows) - 3) {
    for (size_t i = 0; i < lhs_.size(); ++i) {
      lhs_[i] = DrawElement<Lhs>(p_.lhs_fill, i % 2 == 1, false, random);
    }
    const bool made_of_int8 =
        std::is_same_v<Rhs, int16_t> && kernel.family != Family::k8x16;
    for (ptrdiff_t i = 0; i < p_.depth * p_.cols; ++i) {
      SetRhs(i % p_.depth, i / p_.depth,
             DrawElement<Rhs>(p_.rhs_fill, i % 2 == 1, made_of_int8, random));
    }
    for (ptrdiff_t r = 0; r < p_.rows; ++r) {
      bias_[r] = static_cast<Bias>(UniformInt(random, -9999, 9999));
      fixedpoint_[r] = UniformInt(random, 1 << 30, INT32_MAX);
      exponent_[r] = UniformInt(random, -20, 0);
    }
  }

  GuardedArray<Lhs>& lhs() { return lhs_; }
  Dst Result(ptrdiff_t row, ptrdiff_t col) { return dst_[DstIndex(row, col)]; }

  void SetRhs(ptrdiff_t k, ptrdiff_t w, Rhs value) {
    const ptrdiff_t width = kernel_.rhs.width;
    const ptrdiff_t group = kernel_.rhs.group;
    rhs_[w * p_.depth + k] = value;
    if (kernel_.rhs.in_place) return;
    panels_[w / width * width * padded_depth_ + k / group * width * group +
            w % width * group + k % group] = value;
  }

  void Execute() {
    for (size_t i = 0; i < dst_.size(); ++i) dst_[i] = kUntouched;
    for (ptrdiff_t c = 0; c < p_.cols; ++c) rhs_sums_[c] = RhsSum(c);
    EpilogueArgs e = {};
    e.dst = dst_.data();
    e.dst_row_stride = p_.dst_col_major ? 1 : dst_stride_;
    e.dst_col_stride = p_.dst_col_major ? dst_stride_ : 1;
    e.dst_scalar = kFloat         ? Scalar::kF32
                   : p_.quantized ? Scalar::kI8
                                  : Scalar::kI32;
    e.channels_are_rows = true;
    e.per_channel = true;
    e.max_exponent = 0;
    e.bias = p_.bias ? bias_.data() : nullptr;
    e.bias_scalar = kFloat ? Scalar::kF32 : Scalar::kI32;
    e.fixedpoint = fixedpoint_.data();
    e.exponent = exponent_.data();
    e.lhs_sums = nullptr;
    e.rhs_sums = p_.lhs_zero_point != 0 && !kernel_.rhs.in_place
                     ? rhs_sums_.data()
                     : nullptr;
    e.lhs_zero_point = p_.lhs_zero_point;
    e.rhs_zero_point = p_.rhs_zero_point;
    e.zero_point_product =
        static_cast<int32_t>(static_cast<uint32_t>(p_.depth) *
                             static_cast<uint32_t>(p_.lhs_zero_point) *
                             static_cast<uint32_t>(p_.rhs_zero_point));
    e.dst_zero_point = p_.quantized ? -3 : 0;
    e.clamp_min = p_.quantized ? -100 : INT32_MIN;
    e.clamp_max = p_.quantized ? 110 : INT32_MAX;
    e.clamp_min_f = -std::numeric_limits<float>::infinity();
    e.clamp_max_f = std::numeric_limits<float>::infinity();

    KernelArgs args;
    args.lhs = lhs_.data();
    args.rhs = kernel_.rhs.in_place ? rhs_.data() : panels_.data();
    args.lhs_stride_bytes = lhs_stride_ * sizeof(Lhs);
    args.rhs_stride_bytes = (kernel_.rhs.in_place ? 1 : kernel_.rhs.width) *
                            padded_depth_ * sizeof(Rhs);
    args.rows = p_.rows;
    args.cols = p_.cols;
    args.depth = p_.depth;
    args.first_pass = true;
    args.last_pass = true;
    args.accum = nullptr;
    args.epilogue = &e;
    kernel_.run(&args);
  }

  // All of dst is as kernel.h says, and what lies between is as before.
  void Check() {
    std::vector<Dst> expected(dst_.size(), kUntouched);
    for (ptrdiff_t c = 0; c < p_.cols; ++c) {
      for (ptrdiff_t r = 0; r < p_.rows; ++r) {
        expected[DstIndex(r, c)] = Expected(r, c);
      }
    }
    for (size_t i = 0; i < dst_.size(); ++i) {
      ASSERT_EQ(dst_[i], expected[i])
          << "at " << i / dst_stride_ << ", " << i % dst_stride_ << " of "
          << testing::PrintToString(p_);
    }
  }

 private:
  static constexpr Dst kUntouched = 77;

  static ptrdiff_t RoundUp(ptrdiff_t x, ptrdiff_t multiple) {
    return (x + multiple - 1) / multiple * multiple;
  }
  ptrdiff_t DstIndex(ptrdiff_t row, ptrdiff_t col) const {
    return p_.dst_col_major ? row + col * dst_stride_ : row * dst_stride_ + col;
  }

  int32_t RhsSum(ptrdiff_t col) {
    uint32_t sum = 0;
    if constexpr (!kFloat) {
      const Rhs* column = rhs_.data() + col * p_.depth;
      for (ptrdiff_t k = 0; k < p_.depth; ++k) {
        sum += static_cast<uint32_t>(int32_t{column[k]});
      }
    }
    return static_cast<int32_t>(sum);
  }

  Dst Expected(ptrdiff_t row, ptrdiff_t col) {
    const Lhs* a = lhs_.data() + row * lhs_stride_;
    const Rhs* b = rhs_.data() + col * p_.depth;
    if constexpr (kFloat) {
      float sum = 0;
      for (ptrdiff_t k = 0; k < p_.depth; ++k) sum = std::fma(a[k], b[k], sum);
      return p_.bias ? sum + bias_[row] : sum;
    } else {
      // Unlike the kernels: zero points are taken off the operands.
      uint64_t sum = 0;
      for (ptrdiff_t k = 0; k < p_.depth; ++k) {
        sum += static_cast<uint64_t>(
            (static_cast<int64_t>(a[k]) - p_.lhs_zero_point) *
            (static_cast<int64_t>(b[k]) - p_.rhs_zero_point));
      }
      if (p_.bias) sum += static_cast<uint64_t>(int64_t{bias_[row]});
      int64_t value = static_cast<int32_t>(static_cast<uint32_t>(sum));
      if (!p_.quantized) return static_cast<Dst>(value);
      value =
          (value * fixedpoint_[row] + (int64_t{1} << (30 - exponent_[row]))) >>
          (31 - exponent_[row]);
      return static_cast<Dst>(std::clamp<int64_t>(value - 3, -100, 110));
    }
  }

  const Kernel& kernel_;
  const Problem p_;
  const ptrdiff_t lhs_stride_;
  GuardedArray<Lhs> lhs_;
  GuardedArray<Rhs> rhs_;
  const ptrdiff_t padded_depth_;
  GuardedArray<Rhs> panels_;
  GuardedArray<Bias> bias_;
  GuardedArray<int32_t> fixedpoint_, exponent_, rhs_sums_;
  const ptrdiff_t dst_stride_;
  GuardedArray<Dst> dst_;
};

template <typename Lhs, typename Rhs>
void RunAndCheckAs(const Kernel& kernel, const Problem& p, Rng& random) {
  if constexpr (std::is_floating_point_v<Lhs>) {
    Execution<Lhs, Rhs, float> run(kernel, p, random);
    run.Execute();
    run.Check();
  } else if (p.quantized) {
    Execution<Lhs, Rhs, int8_t> run(kernel, p, random);
    run.Execute();
    run.Check();
  } else {
    Execution<Lhs, Rhs, int32_t> run(kernel, p, random);
    run.Execute();
    run.Check();
  }
}

void RunAndCheck(const Kernel& kernel, const Problem& p, Rng& random) {
  const Scalar lhs = kernel.lhs.scalar, rhs = kernel.rhs.scalar;
  if (lhs == Scalar::kF32) {
    RunAndCheckAs<float, float>(kernel, p, random);
  } else if (lhs == Scalar::kI8 && rhs == Scalar::kU8) {
    RunAndCheckAs<int8_t, uint8_t>(kernel, p, random);
  } else if (lhs == Scalar::kU8 && rhs == Scalar::kI8) {
    RunAndCheckAs<uint8_t, int8_t>(kernel, p, random);
  } else if (lhs == Scalar::kI8 && rhs == Scalar::kI8) {
    RunAndCheckAs<int8_t, int8_t>(kernel, p, random);
  } else if (lhs == Scalar::kU8 && rhs == Scalar::kU8) {
    RunAndCheckAs<uint8_t, uint8_t>(kernel, p, random);
  } else if (lhs == Scalar::kI8 && rhs == Scalar::kI16) {
    RunAndCheckAs<int8_t, int16_t>(kernel, p, random);
  } else if (lhs == Scalar::kU8 && rhs == Scalar::kI16) {
    RunAndCheckAs<uint8_t, int16_t>(kernel, p, random);
  } else if (lhs == Scalar::kI16 && rhs == Scalar::kI16) {
    RunAndCheckAs<int16_t, int16_t>(kernel, p, random);
  } else {
    FAIL() << "operand types that this test does not know";
  }
}

// ## Tests

class NarrowKernelTest : public testing::TestWithParam<KernelUnderTest> {
 protected:
  const Kernel& kernel() const { return *GetParam().kernel; }

  // A problem of the given size, or of fewer columns if the kernel serves no
  // more, with everything else drawn.
  Problem Draw(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t depth) {
    const auto coin = [this] { return UniformInt(random_, 0, 1) == 1; };
    Problem p;
    p.rows = rows;
    p.cols = std::min<ptrdiff_t>(cols, kernel().max_cols);
    p.depth = depth;
    p.lhs_gap = coin() ? UniformInt(random_, 1, 70) : 0;
    p.dst_col_major = coin();
    p.bias = coin();
    if (!IsFloat(kernel())) p.quantized = coin();
    if (kernel().family == Family::k8x8) {
      if (coin()) p.lhs_zero_point = UniformInt(random_, -128, 255);
      if (coin()) p.rhs_zero_point = UniformInt(random_, -128, 255);
    }
    return p;
  }
  void RunDrawn(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t depth) {
    RunAndCheck(kernel(), Draw(rows, cols, depth), random_);
  }

  Rng random_{20240607};
};

class IntNarrowKernelTest : public NarrowKernelTest {};
class FloatNarrowKernelTest : public NarrowKernelTest {};

// A number of columns is served by one path through the kernel, with and
// without sums of the lhs.
TEST_P(NarrowKernelTest, EveryColumnCount) {
  for (ptrdiff_t cols = 1; cols <= kernel().max_cols; ++cols) {
    for (int draw = 0; draw < 8 && !HasFatalFailure(); ++draw) {
      RunDrawn(UniformInt(random_, 1, 40), cols, UniformInt(random_, 1, 300));
    }
  }
}

TEST_P(NarrowKernelTest, EveryRowCount) {
  for (ptrdiff_t rows = 1; rows <= 70 && !HasFatalFailure(); ++rows) {
    RunDrawn(rows, UniformInt(random_, 1, 4), UniformInt(random_, 1, 99));
    RunDrawn(rows, UniformInt(random_, 5, 16), UniformInt(random_, 1, 99));
  }
}

// Rows that are far apart from each other in a tile (narrow_row_groups.h), and
// what remains below them.
TEST_P(NarrowKernelTest, ManyRows) {
  for (const ptrdiff_t rows : {127, 192, 193, 511, 512, 515, 1100, 2049}) {
    for (const ptrdiff_t cols : {1, 2, 4, 7, 16}) {
      RunDrawn(rows, cols, UniformInt(random_, 1, 40));
    }
  }
}

TEST_P(NarrowKernelTest, EveryDepth) {
  for (ptrdiff_t depth = 1; depth <= 300 && !HasFatalFailure(); ++depth) {
    RunDrawn(UniformInt(random_, 1, 20), UniformInt(random_, 1, 4), depth);
    RunDrawn(UniformInt(random_, 16, 35), UniformInt(random_, 1, 16), depth);
  }
}

TEST_P(NarrowKernelTest, DeepRows) {
  for (const ptrdiff_t depth : {2047, 2048, 4096, 4099, 9001, 16500}) {
    RunDrawn(21, 1, depth);
    RunDrawn(18, 3, depth);
    RunDrawn(5, 16, depth);
  }
}

// Sums that leave 16 bits, and 32, in a lane or in all.
TEST_P(IntNarrowKernelTest, ExtremeValues) {
  for (const Fill lhs_fill : {kLowest, kHighest, kAlternating}) {
    for (const Fill rhs_fill : {kLowest, kHighest, kAlternating}) {
      for (const ptrdiff_t depth : {1, 2, 63, 128, 5000}) {
        Problem p{/*rows=*/9, std::min(5, kernel().max_cols), depth};
        p.lhs_fill = lhs_fill;
        p.rhs_fill = rhs_fill;
        RunAndCheck(kernel(), p, random_);
        if (kernel().family != Family::k8x8) continue;
        p.lhs_zero_point = 255;
        for (const int32_t zero_point : {-129, -128, 127, 128, 255}) {
          p.rhs_zero_point = zero_point;
          RunAndCheck(kernel(), p, random_);
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
      Problem p{/*rows=*/6, /*cols=*/1, /*depth=*/2000};
      p.rhs_zero_point = zero_point;
      p.lhs_fill = draw % 2 == 0 ? kLowest : kHighest;
      RunAndCheck(kernel(), p, random_);
    }
  }
}

// A NaN or an infinity reaches its own row or column, and no other.
TEST_P(FloatNarrowKernelTest, NanAndInfinityStayInTheirRowAndColumn) {
  for (const ptrdiff_t depth : {1, 15, 16, 40, 70}) {
    Problem p{/*rows=*/19, /*cols=*/7, depth};
    Execution<float, float, float> run(kernel(), p, random_);
    const ptrdiff_t k = depth - 1;
    run.lhs()[17 * depth + k] = std::numeric_limits<float>::quiet_NaN();
    run.SetRhs(k, 3, std::numeric_limits<float>::infinity());
    run.Execute();
    for (ptrdiff_t r = 0; r < p.rows; ++r) {
      for (ptrdiff_t c = 0; c < p.cols; ++c) {
        const float result = run.Result(r, c);
        EXPECT_EQ(std::isnan(result), r == 17) << r << ", " << c;
        EXPECT_EQ(std::isinf(result), r != 17 && c == 3) << r << ", " << c;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, NarrowKernelTest,
                         testing::ValuesIn(NarrowKernels(IsAny)),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NarrowKernelTest);
INSTANTIATE_TEST_SUITE_P(Paths, IntNarrowKernelTest,
                         testing::ValuesIn(NarrowKernels(IsInteger)),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(IntNarrowKernelTest);
INSTANTIATE_TEST_SUITE_P(Paths, FloatNarrowKernelTest,
                         testing::ValuesIn(NarrowKernels(IsFloat)),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FloatNarrowKernelTest);

}  // namespace
}  // namespace kernels
}  // namespace ruy_like
