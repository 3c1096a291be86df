// Every kernel with packed panels of its lhs, against kernels/kernel.h's
// formulas written out as plain loops.
//
// The panels are made here, by the layout that the kernel's table line states,
// so that a kernel and a pack routine that are wrong in the same way do not
// agree. Operands, per-channel arrays and saved accumulators end at a page that
// cannot be accessed; dst is compared as a whole, with the gaps between its
// columns. Narrow kernels and AMX have tests of their own.
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
#include "test/support/visit_scalar.h"

namespace ruy_like {
namespace kernels {
namespace {

// ## Parameters: the panel kernels of the paths that this machine has

std::vector<KernelUnderTest> PanelKernels(bool (*wanted)(const Kernel&)) {
  return KernelsUnderTest([wanted](const Kernel& kernel) {
    return !kernel.lhs.in_place && !kernel.multiplies_tiles && wanted(kernel);
  });
}

// ## Operands

// A depth x width matrix of values as packed, and its panels; or, where it is
// read in place, its columns with gaps between them.
class Side {
 public:
  enum Fill { kRandom, kLowest, kHighest, kAlternating };

  Side(const PanelFormat& format, bool is_8bit, ptrdiff_t width,
       ptrdiff_t depth, Fill fill, Rng& random)
      : format_(format),
        width_(width),
        depth_(depth),
        padded_depth_(format.in_place ? depth
                                      : RoundUp(depth, format.depth_multiple)),
        panels_(ElementSize() *
                    (format.in_place
                         ? width * (depth + kGap) - kGap
                         : RoundUp(width, format.width) * padded_depth_),
                format.in_place ? ElementSize() : 64),
        values_(width * depth) {
    int low = -8, high = 8;  // floats: sums of products stay exact
    if (!ruy_like::IsFloat(format.scalar)) {
      VisitScalar(is_8bit && format.scalar == Scalar::kI16 ? Scalar::kI8
                                                           : format.scalar,
                  [&](auto zero) {
                    using Limits = std::numeric_limits<decltype(zero)>;
                    if constexpr (Limits::is_integer) {
                      low = Limits::lowest();
                      high = Limits::max();
                    }
                  });
    }
    if (format.range == ValueRange::kInt7) {
      const int zero = format.scalar == Scalar::kU8 ? 64 : 0;
      low = zero - 63, high = zero + 63;
    }
    for (ptrdiff_t w = 0; w < width; ++w) {
      for (ptrdiff_t k = 0; k < depth; ++k) {
        const bool highest =
            fill == kHighest || (fill == kAlternating && (k + w) % 2 == 0);
        Set(k, w,
            fill == kRandom ? UniformInt(random, low, high)
                            : (highest ? high : low));
      }
    }
  }

  void Set(ptrdiff_t k, ptrdiff_t w, double value) {
    values_[w * depth_ + k] = value;
    char* element = panels_.data() + IndexOf(k, w) * ElementSize();
    VisitScalar(format_.scalar,
                [&](auto zero) { Store<decltype(zero)>(element, value); });
  }
  const double* Column(ptrdiff_t w) const { return &values_[w * depth_]; }
  int32_t Sum(ptrdiff_t w) const {
    uint32_t sum = 0;
    for (ptrdiff_t k = 0; k < depth_; ++k) {
      sum += static_cast<uint32_t>(static_cast<int32_t>(Column(w)[k]));
    }
    return static_cast<int32_t>(sum);
  }
  ptrdiff_t width() const { return width_; }
  ptrdiff_t depth() const { return depth_; }
  ptrdiff_t padded_depth() const { return padded_depth_; }
  ptrdiff_t panel_stride_bytes() const {
    return (format_.in_place ? depth_ + kGap : format_.width * padded_depth_) *
           ElementSize();
  }
  // The first panel from depth level k on.
  const char* PanelsFrom(ptrdiff_t k) {
    return panels_.data() +
           k * (format_.in_place ? 1 : format_.width) * ElementSize();
  }
  static ptrdiff_t RoundUp(ptrdiff_t x, ptrdiff_t multiple) {
    return (x + multiple - 1) / multiple * multiple;
  }

 private:
  static constexpr ptrdiff_t kGap = 5;

  ptrdiff_t IndexOf(ptrdiff_t k, ptrdiff_t w) const {
    if (format_.in_place) return w * (depth_ + kGap) + k;
    const ptrdiff_t group = format_.group;
    return w / format_.width * format_.width * padded_depth_ +
           k / group * format_.width * group + w % format_.width * group +
           k % group;
  }
  template <typename T>
  static void Store(char* element, double value) {
    const T typed = static_cast<T>(value);
    std::memcpy(element, &typed, sizeof(typed));
  }
  ptrdiff_t ElementSize() const { return BytesOf(format_.scalar, 1); }

  PanelFormat format_;
  ptrdiff_t width_, depth_, padded_depth_;
  GuardedArray<char> panels_;
  std::vector<double> values_;
};

// ## One problem and its outcome

enum class Multipliers { kOne, kSmall, kNegative, kUpToZero, kAny };

struct Problem {
  ptrdiff_t rows, cols, depth;
  Scalar dst_scalar = Scalar::kI8;
  bool col_major = true;
  bool channels_are_rows = true;
  bool per_channel = true;
  bool bias = true;
  bool wide_bias = false;  // over all of int32
  int32_t lhs_zero_point = 0, rhs_zero_point = 0, dst_zero_point = 0;
  Multipliers multipliers = Multipliers::kUpToZero;
  int64_t clamp_min = INT32_MIN, clamp_max = INT32_MAX;
  int passes = 1;
  Side::Fill lhs_fill = Side::kRandom, rhs_fill = Side::kRandom;
};

void PrintTo(const Problem& p, std::ostream* os) {
  *os << p.rows << "x" << p.depth << "x" << p.cols << " dst type "
      << static_cast<int>(p.dst_scalar) << (p.col_major ? " col" : " row")
      << "-major, channels " << (p.channels_are_rows ? "rows" : "cols")
      << (p.per_channel ? ", per channel" : "") << (p.bias ? ", bias" : "")
      << ", zero points " << p.lhs_zero_point << " " << p.rhs_zero_point << " "
      << p.dst_zero_point << ", multipliers " << static_cast<int>(p.multipliers)
      << ", clamp " << p.clamp_min << ".." << p.clamp_max << ", passes "
      << p.passes;
}

void DrawMultiplier(Multipliers kind, Rng& random, int32_t* fixedpoint,
                    int32_t* exponent) {
  static const int32_t kFixedpoints[] = {0, 1, 1 << 30, (1 << 30) + 1,
                                         INT32_MAX};
  if (kind == Multipliers::kOne) {
    *fixedpoint = 1 << 30;
    *exponent = 1;
    return;
  }
  const int pick = UniformInt(random, 0, 7);
  *fixedpoint =
      pick < 5 ? kFixedpoints[pick] : UniformInt(random, 1 << 30, INT32_MAX);
  const int highest = kind == Multipliers::kSmall      ? -2
                      : kind == Multipliers::kNegative ? -1
                      : kind == Multipliers::kUpToZero ? 0
                                                       : 30;
  // Mostly such that int8 sees something.
  *exponent = UniformInt(random, 0, 3) == 0
                  ? UniformInt(random, -31, highest)
                  : highest - UniformInt(random, 0, 9);
}

template <typename Dst, typename Accum>
class Run {
 public:
  typedef std::conditional_t<std::is_integral_v<Accum>, int32_t, Accum> Bias;

  Run(const Kernel& kernel, const Problem& problem, Rng& random)
      : kernel_(kernel),
        p_(problem),
        lhs_(kernel.lhs, kernel.family != Family::k16x8, p_.rows, p_.depth,
             p_.lhs_fill, random),
        rhs_(kernel.rhs, kernel.family != Family::k8x16, p_.cols, p_.depth,
             p_.rhs_fill, random),
        channels_(p_.channels_are_rows ? p_.rows : p_.cols),
        bias_(channels_),
        fixedpoint_(p_.per_channel ? channels_ : 1),
        exponent_(fixedpoint_.size()),
        lhs_sums_(p_.rows),
        rhs_sums_(p_.cols),
        dst_stride_((p_.col_major ? p_.rows : p_.cols) + 3),
        dst_(dst_stride_ * (p_.col_major ? p_.cols : p_.rows) - 3) {
    for (size_t i = 0; i < bias_.size(); ++i) {
      bias_[i] = p_.wide_bias
                     ? static_cast<Bias>(static_cast<int32_t>(random.Next()))
                     : static_cast<Bias>(UniformInt(random, -99, 99));
    }
    max_exponent_ = -31;
    for (size_t i = 0; i < fixedpoint_.size(); ++i) {
      DrawMultiplier(p_.multipliers, random, &fixedpoint_[i], &exponent_[i]);
      max_exponent_ = std::max(max_exponent_, exponent_[i]);
    }
    for (ptrdiff_t r = 0; r < p_.rows; ++r) lhs_sums_[r] = lhs_.Sum(r);
    for (ptrdiff_t c = 0; c < p_.cols; ++c) rhs_sums_[c] = rhs_.Sum(c);
  }

  Side& lhs() { return lhs_; }
  Side& rhs() { return rhs_; }
  GuardedArray<Bias>& bias() { return bias_; }
  Dst Result(ptrdiff_t row, ptrdiff_t col) { return dst_[DstIndex(row, col)]; }

  void Execute() {
    for (size_t i = 0; i < dst_.size(); ++i) dst_[i] = kUntouched;
    EpilogueArgs e = {};
    e.dst = dst_.data();
    e.dst_row_stride = p_.col_major ? 1 : dst_stride_;
    e.dst_col_stride = p_.col_major ? dst_stride_ : 1;
    e.dst_scalar = p_.dst_scalar;
    e.channels_are_rows = p_.channels_are_rows;
    e.per_channel = p_.per_channel;
    e.max_exponent = static_cast<int8_t>(max_exponent_);
    e.bias = p_.bias ? bias_.data() : nullptr;
    e.bias_scalar = std::is_same<Bias, double>::value  ? Scalar::kF64
                    : std::is_same<Bias, float>::value ? Scalar::kF32
                                                       : Scalar::kI32;
    e.fixedpoint = fixedpoint_.data();
    e.exponent = exponent_.data();
    e.lhs_sums = p_.rhs_zero_point != 0 ? lhs_sums_.data() : nullptr;
    e.rhs_sums = p_.lhs_zero_point != 0 && !kernel_.rhs.in_place
                     ? rhs_sums_.data()
                     : nullptr;
    e.lhs_zero_point = p_.lhs_zero_point;
    e.rhs_zero_point = p_.rhs_zero_point;
    e.zero_point_product = ZeroPointProduct();
    e.dst_zero_point = p_.dst_zero_point;
    e.clamp_min = static_cast<int32_t>(p_.clamp_min);
    e.clamp_max = static_cast<int32_t>(p_.clamp_max);
    e.clamp_min_f = static_cast<double>(p_.clamp_min);
    e.clamp_max_f = static_cast<double>(p_.clamp_max);

    GuardedArray<Accum> accum(Side::RoundUp(p_.rows, kernel_.tile_rows) *
                                  Side::RoundUp(p_.cols, kernel_.tile_cols),
                              64);
    const std::vector<int32_t> incomplete(std::max(p_.rows, p_.cols), 12345);
    const ptrdiff_t depth =
        kernel_.rhs.in_place ? p_.depth : lhs_.padded_depth();
    const ptrdiff_t step = kernel_.lhs.depth_multiple;
    const ptrdiff_t pass_depth =
        std::max(step, depth / p_.passes / step * step);
    for (ptrdiff_t k = 0; k < depth; k += pass_depth) {
      KernelArgs args;
      args.lhs = lhs_.PanelsFrom(k);
      args.rhs = rhs_.PanelsFrom(k);
      args.lhs_stride_bytes = lhs_.panel_stride_bytes();
      args.rhs_stride_bytes = rhs_.panel_stride_bytes();
      args.rows = p_.rows;
      args.cols = p_.cols;
      args.depth = std::min(pass_depth, depth - k);
      args.first_pass = k == 0;
      args.last_pass = k + pass_depth >= depth;
      args.accum = args.first_pass && args.last_pass ? nullptr : accum.data();
      // Sums are complete in the last pass only.
      EpilogueArgs pass_epilogue = e;
      if (!args.last_pass) {
        if (e.lhs_sums != nullptr) pass_epilogue.lhs_sums = incomplete.data();
        if (e.rhs_sums != nullptr) pass_epilogue.rhs_sums = incomplete.data();
      }
      args.epilogue = &pass_epilogue;
      kernel_.run(&args);
    }
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

  ptrdiff_t DstIndex(ptrdiff_t row, ptrdiff_t col) const {
    return p_.col_major ? row + col * dst_stride_ : row * dst_stride_ + col;
  }
  int32_t ZeroPointProduct() const {
    return static_cast<int32_t>(static_cast<uint32_t>(p_.depth) *
                                static_cast<uint32_t>(p_.lhs_zero_point) *
                                static_cast<uint32_t>(p_.rhs_zero_point));
  }

  Dst Expected(ptrdiff_t row, ptrdiff_t col) {
    const ptrdiff_t channel = p_.channels_are_rows ? row : col;
    const double* a = lhs_.Column(row);
    const double* b = rhs_.Column(col);
    if constexpr (!std::is_integral_v<Accum>) {
      double sum = 0;  // exact, by the choice of values
      for (ptrdiff_t k = 0; k < p_.depth; ++k) sum += a[k] * b[k];
      if (p_.bias) sum += bias_[channel];
      sum = std::max(sum, static_cast<double>(p_.clamp_min));
      return static_cast<Dst>(std::min(sum, static_cast<double>(p_.clamp_max)));
    } else {
      // Unlike the kernels: zero points are taken off the operands.
      uint64_t sum = 0;
      for (ptrdiff_t k = 0; k < p_.depth; ++k) {
        sum += static_cast<uint64_t>(
            (static_cast<int64_t>(a[k]) - p_.lhs_zero_point) *
            (static_cast<int64_t>(b[k]) - p_.rhs_zero_point));
      }
      if (p_.bias) sum += static_cast<uint64_t>(bias_[channel]);
      int64_t value = static_cast<int32_t>(static_cast<uint32_t>(sum));
      if (p_.dst_scalar != Scalar::kI32) {
        const ptrdiff_t m = p_.per_channel ? channel : 0;
        value =
            (value * fixedpoint_[m] + (int64_t{1} << (30 - exponent_[m]))) >>
            (31 - exponent_[m]);
        value = std::clamp<int64_t>(value, INT32_MIN, INT32_MAX);
      }
      return static_cast<Dst>(
          std::clamp(value + p_.dst_zero_point, p_.clamp_min, p_.clamp_max));
    }
  }

  const Kernel& kernel_;
  const Problem p_;
  Side lhs_, rhs_;
  const ptrdiff_t channels_;
  GuardedArray<Bias> bias_;
  GuardedArray<int32_t> fixedpoint_, exponent_, lhs_sums_, rhs_sums_;
  int32_t max_exponent_;
  const ptrdiff_t dst_stride_;
  GuardedArray<Dst> dst_;
};

template <typename Dst, typename Accum>
void RunAndCheckAs(const Kernel& kernel, Problem p, Rng& random) {
  if (std::is_integral_v<Accum>) {
    p.clamp_min = std::max<int64_t>(
        p.clamp_min,
        std::is_integral_v<Dst> ? std::numeric_limits<Dst>::lowest() : 0);
    p.clamp_max = std::min<int64_t>(
        p.clamp_max, static_cast<int64_t>(std::is_integral_v<Dst>
                                              ? std::numeric_limits<Dst>::max()
                                              : 0));
  }
  Run<Dst, Accum> run(kernel, p, random);
  run.Execute();
  run.Check();
}

void RunAndCheck(const Kernel& kernel, const Problem& p, Rng& random) {
  if (kernel.family == Family::kF32) {
    return RunAndCheckAs<float, float>(kernel, p, random);
  }
  if (kernel.family == Family::kF64) {
    return p.dst_scalar == Scalar::kF64
               ? RunAndCheckAs<double, double>(kernel, p, random)
               : RunAndCheckAs<float, double>(kernel, p, random);
  }
  switch (p.dst_scalar) {
    case Scalar::kI8:
      return RunAndCheckAs<int8_t, int32_t>(kernel, p, random);
    case Scalar::kU8:
      return RunAndCheckAs<uint8_t, int32_t>(kernel, p, random);
    case Scalar::kI16:
      return RunAndCheckAs<int16_t, int32_t>(kernel, p, random);
    default:
      return RunAndCheckAs<int32_t, int32_t>(kernel, p, random);
  }
}

std::vector<Scalar> DstScalars(const Kernel& kernel) {
  if (kernel.family == Family::kF32) return {Scalar::kF32};
  if (kernel.family == Family::kF64) return {Scalar::kF32, Scalar::kF64};
  return {Scalar::kI8, Scalar::kU8, Scalar::kI16, Scalar::kI32};
}

// A problem of the given size with everything else drawn.
Problem DrawProblem(const Kernel& kernel, ptrdiff_t rows, ptrdiff_t cols,
                    ptrdiff_t depth, Rng& random) {
  const std::vector<Scalar> dst_scalars = DstScalars(kernel);
  const auto coin = [&random] { return UniformInt(random, 0, 1) == 1; };
  Problem p;
  p.rows = rows;
  p.cols = cols;
  p.depth = depth;
  p.dst_scalar = dst_scalars[UniformInt(
      random, 0, static_cast<int>(dst_scalars.size()) - 1)];
  p.col_major = coin();
  p.channels_are_rows = coin();
  p.per_channel = coin();
  p.bias = coin();
  p.multipliers = static_cast<Multipliers>(UniformInt(random, 0, 4));
  p.passes = UniformInt(random, 1, 3);
  if (coin()) {
    p.clamp_min = UniformInt(random, -60, 20);
    p.clamp_max = UniformInt(random, 21, 120);
  }
  if (kernel.family == Family::k8x8) {
    if (coin()) p.lhs_zero_point = UniformInt(random, -128, 255);
    if (coin()) p.rhs_zero_point = UniformInt(random, -128, 255);
  }
  if (!IsFloat(kernel) && coin()) {
    p.dst_zero_point = UniformInt(random, -128, 255);
  }
  return p;
}

class PanelKernelTest : public testing::TestWithParam<KernelUnderTest> {
 protected:
  const Kernel& kernel() const { return *GetParam().kernel; }
  Rng random_{20240607};
};

class IntPanelKernelTest : public PanelKernelTest {};
class FloatPanelKernelTest : public PanelKernelTest {};

TEST_P(PanelKernelTest, SizesAroundTileEdges) {
  std::vector<ptrdiff_t> rows, cols, depths;
  const int lanes = kernel().lhs.width;
  for (int base : {0, lanes, 2 * lanes, 3 * lanes, 4 * lanes, 7 * lanes}) {
    for (int more : {-1, 0, 1}) {
      if (base + more > 0) rows.push_back(base + more);
    }
  }
  for (int c = 1; c <= 2 * kernel().tile_cols + 1; ++c) cols.push_back(c);
  const int group = kernel().lhs.depth_multiple;
  depths = {1, group, group + 1, 5 * group, 37};
  for (ptrdiff_t r : rows) {
    for (ptrdiff_t c : cols) {
      for (ptrdiff_t k : depths) {
        RunAndCheck(kernel(), DrawProblem(kernel(), r, c, k, random_), random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A kernel may go through a block in groups of panels and chunks of depth of
// its own choice; it was 8 or 32 panels and 256 or 512 levels when this was
// written.
TEST_P(PanelKernelTest, ManyPanelsAndLevels) {
  const ptrdiff_t lanes = kernel().lhs.width;
  const ptrdiff_t width = kernel().tile_cols;
  for (ptrdiff_t rows : {2 * lanes, 4 * lanes - 1, 5 * lanes}) {
    for (ptrdiff_t cols : {8 * width, 9 * width - 1, 33 * width + 1}) {
      for (ptrdiff_t depth : {256, 258, 513, 1030}) {
        RunAndCheck(kernel(), DrawProblem(kernel(), rows, cols, depth, random_),
                    random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(PanelKernelTest, EveryEpilogue) {
  const ptrdiff_t rows = kernel().tile_rows + 3;
  const ptrdiff_t cols = kernel().tile_cols + 1;
  for (Scalar dst_scalar : DstScalars(kernel())) {
    for (int bits = 0; bits < 64; ++bits) {
      for (Multipliers multipliers :
           {Multipliers::kOne, Multipliers::kSmall, Multipliers::kNegative,
            Multipliers::kUpToZero, Multipliers::kAny}) {
        Problem p = DrawProblem(kernel(), rows, cols, 12, random_);
        p.dst_scalar = dst_scalar;
        p.multipliers = multipliers;
        p.col_major = bits & 1;
        p.channels_are_rows = bits & 2;
        p.per_channel = bits & 4;
        p.bias = bits & 8;
        if (kernel().family == Family::k8x8) {
          p.lhs_zero_point = bits & 16 ? -128 : 0;
          p.rhs_zero_point = bits & 32 ? 255 : 0;
        }
        RunAndCheck(kernel(), p, random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Accumulators over all of int32, by way of the bias: rounding, ties, shifts,
// saturation.
TEST_P(IntPanelKernelTest, ScalesExactly) {
  for (int i = 0; i < 400; ++i) {
    Problem p = DrawProblem(kernel(), kernel().tile_rows, 3, 1, random_);
    p.dst_scalar = i % 2 == 0 ? Scalar::kI16 : Scalar::kI8;
    p.bias = p.wide_bias = true;
    p.per_channel = i % 3 != 0;
    if (i % 5 != 0) p.channels_are_rows = true;
    RunAndCheck(kernel(), p, random_);
    if (HasFatalFailure()) return;
  }
}

// 8-bit columns are packed by way of 16 bits, with saturation: zero points on
// both sides of where that is given up, and accumulators over all of int32.
TEST_P(IntPanelKernelTest, PacksExactly) {
  const ptrdiff_t lanes = kernel().lhs.width;
  for (Scalar dst_scalar : {Scalar::kI8, Scalar::kU8}) {
    for (int32_t zero_point :
         {-100000, -4097, -4096, -128, 0, 255, 4096, 4097, 100000}) {
      for (ptrdiff_t rows : {lanes, 2 * lanes - 1, 2 * lanes, 5 * lanes + 3}) {
        for (bool wide_bias : {false, true}) {
          const ptrdiff_t cols = 2 * kernel().rhs.width + 3;
          Problem p = DrawProblem(kernel(), rows, cols, 9, random_);
          p.dst_scalar = dst_scalar;
          p.dst_zero_point = zero_point;
          p.col_major = p.channels_are_rows = p.bias = true;
          p.wide_bias = wide_bias;
          p.multipliers = Multipliers::kSmall;
          p.passes = 1;
          RunAndCheck(kernel(), p, random_);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// More rows than what is prepared for rows at once has room for.
TEST_P(PanelKernelTest, ManyRows) {
  const ptrdiff_t lanes = kernel().lhs.width;
  for (ptrdiff_t vectors : {50, 51, 52, 99, 101}) {
    Problem p = DrawProblem(kernel(), vectors * lanes - 1,
                            kernel().rhs.width + 1, 3, random_);
    p.col_major = p.channels_are_rows = true;
    p.multipliers = Multipliers::kSmall;
    RunAndCheck(kernel(), p, random_);
    if (HasFatalFailure()) return;
  }
}

// Sums that wrap, and clamps and zero points whose sums would.
TEST_P(IntPanelKernelTest, RawIntegersWrap) {
  for (int32_t zero_point : {0, 5, -5, INT32_MAX, INT32_MIN}) {
    for (auto clamp : {std::pair<int64_t, int64_t>{INT32_MIN, INT32_MAX},
                       {INT32_MIN, INT32_MIN},
                       {INT32_MAX, INT32_MAX},
                       {-1000, 1000}}) {
      Problem p = DrawProblem(kernel(), 21, 5, 9, random_);
      p.dst_scalar = Scalar::kI32;
      p.bias = p.wide_bias = true;
      p.dst_zero_point = zero_point;
      p.clamp_min = clamp.first;
      p.clamp_max = clamp.second;
      RunAndCheck(kernel(), p, random_);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(PanelKernelTest, ExtremeOperands) {
  for (Side::Fill lhs : {Side::kLowest, Side::kHighest, Side::kAlternating}) {
    for (Side::Fill rhs : {Side::kLowest, Side::kHighest, Side::kAlternating}) {
      // Deep enough for sums of int8 products to pass 2^31 and of int16
      // products to pass 2^32.
      for (ptrdiff_t depth : {7, 140000}) {
        Problem p =
            DrawProblem(kernel(), kernel().lhs.width + 1, 3, depth, random_);
        p.lhs_fill = lhs;
        p.rhs_fill = rhs;
        RunAndCheck(kernel(), p, random_);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// ## Floats

template <typename T>
void FillWithFractions(Side& side, Rng& random) {
  for (ptrdiff_t w = 0; w < side.width(); ++w) {
    for (ptrdiff_t k = 0; k < side.depth(); ++k) {
      side.Set(k, w, static_cast<T>(random.Signed()));
    }
  }
}

template <typename T>
void CheckIndependence(const Kernel& kernel, Rng& random) {
  Problem p = DrawProblem(kernel, 2 * kernel.tile_rows + 5,
                          2 * kernel.tile_cols + 1, 61, random);
  p.dst_scalar = sizeof(T) == 4 ? Scalar::kF32 : Scalar::kF64;
  p.bias = false;
  p.passes = 1;
  Run<T, T> whole(kernel, p, random);
  FillWithFractions<T>(whole.lhs(), random);
  FillWithFractions<T>(whole.rhs(), random);
  whole.Execute();
  for (int i = 0; i < 30; ++i) {
    const ptrdiff_t row = UniformInt(random, 0, static_cast<int>(p.rows) - 1);
    const ptrdiff_t col = UniformInt(random, 0, static_cast<int>(p.cols) - 1);
    Problem alone = p;
    alone.rows = UniformInt(random, 1, 40);
    alone.cols = UniformInt(random, 1, 9);
    alone.passes = UniformInt(random, 1, 4);
    Run<T, T> part(kernel, alone, random);
    const ptrdiff_t part_row = alone.rows - 1, part_col = alone.cols - 1;
    for (ptrdiff_t k = 0; k < p.depth; ++k) {
      part.lhs().Set(k, part_row, whole.lhs().Column(row)[k]);
      part.rhs().Set(k, part_col, whole.rhs().Column(col)[k]);
    }
    part.Execute();
    ASSERT_EQ(part.Result(part_row, part_col), whole.Result(row, col))
        << testing::PrintToString(alone);
  }
}

// An element of dst depends, to the last bit, on its row and its column alone.
TEST_P(FloatPanelKernelTest, DoesNotDependOnNeighboursOrPasses) {
  if (kernel().family == Family::kF32)
    CheckIndependence<float>(kernel(), random_);
  if (kernel().family == Family::kF64)
    CheckIndependence<double>(kernel(), random_);
}

template <typename T>
void CheckSpecialValues(const Kernel& kernel, bool col_major, Rng& random) {
  const double inf = std::numeric_limits<double>::infinity();
  Problem p;
  p.rows = kernel.tile_rows + 1;
  p.cols = kernel.tile_cols + 1;
  p.depth = 3;
  p.col_major = col_major;
  p.dst_scalar = sizeof(T) == 4 ? Scalar::kF32 : Scalar::kF64;
  p.bias = false;
  p.clamp_min = -100;
  p.clamp_max = 100;
  Run<T, T> run(kernel, p, random);
  for (ptrdiff_t r = 0; r < p.rows; ++r) {
    for (ptrdiff_t k = 0; k < p.depth; ++k) run.lhs().Set(k, r, 1);
  }
  for (ptrdiff_t c = 0; c < p.cols; ++c) {
    for (ptrdiff_t k = 0; k < p.depth; ++k) run.rhs().Set(k, c, 1);
  }
  const ptrdiff_t last_row = p.rows - 1, last_col = p.cols - 1;
  run.lhs().Set(1, 0, std::nan(""));
  run.lhs().Set(1, last_row, inf);
  run.rhs().Set(2, last_col, -inf);
  run.Execute();
  for (ptrdiff_t r = 0; r < p.rows; ++r) {
    for (ptrdiff_t c = 0; c < p.cols; ++c) {
      const T result = run.Result(r, c);
      if (r == 0 || (r == last_row && c == last_col)) {
        ASSERT_TRUE(std::isnan(result)) << r << ", " << c;
      } else {
        const T expected = r == last_row ? 100 : c == last_col ? -100 : 3;
        ASSERT_EQ(result, expected) << r << ", " << c;
      }
    }
  }
}

TEST_P(FloatPanelKernelTest, NanAndInfinity) {
  for (bool col_major : {true, false}) {
    if (kernel().family == Family::kF32) {
      CheckSpecialValues<float>(kernel(), col_major, random_);
    } else {
      CheckSpecialValues<double>(kernel(), col_major, random_);
    }
    if (HasFatalFailure()) return;
  }
}

std::string NameOf(const testing::TestParamInfo<KernelUnderTest>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Paths, PanelKernelTest,
                         testing::ValuesIn(PanelKernels(IsAny)), NameOf);
INSTANTIATE_TEST_SUITE_P(Paths, IntPanelKernelTest,
                         testing::ValuesIn(PanelKernels(IsInteger)), NameOf);
INSTANTIATE_TEST_SUITE_P(Paths, FloatPanelKernelTest,
                         testing::ValuesIn(PanelKernels(IsFloat)), NameOf);

}  // namespace
}  // namespace kernels
}  // namespace ruy_like
