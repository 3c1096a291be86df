// Test support: kernels against kernels/kernel.h's formulas, one problem after
// the other. The suites are in test/kernels/, whose parameter is a kernel of
// the paths that this machine has.
//
// Panels are made here, by the layout that the kernel's table line states.
// Operands, per-channel arrays and saved accumulators end at a page that cannot
// be accessed; dst is compared as a whole, with the gaps between its columns.
// The sum of products is a plain loop that takes zero points off the operands,
// unlike the kernels; what follows it is reference_mul.h's epilogue.
#ifndef RUY_LIKE_TEST_SUPPORT_KERNEL_HARNESS_H_
#define RUY_LIKE_TEST_SUPPORT_KERNEL_HARNESS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "ruy_like/kernels/kernel.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like::kernels {

// ## Kernels

struct KernelUnderTest {
  std::string name;  // path_family_kernel, or that and _in_order
  std::shared_ptr<const Kernel> kernel;
};

inline void PrintTo(const KernelUnderTest& param, std::ostream* os) {
  *os << param.name;
}

inline bool IsFloat(const Kernel& kernel) {
  return ruy_like::IsFloat(kernel.rhs.scalar);
}

// Which of a kernel's tests: each kernel is of one kind.
enum class KernelShape { kPanels, kNarrow, kTiles };

// Those kernels of the machine's paths, best path first; each of a kernel's
// routines as one of its own, its `run`.
std::vector<KernelUnderTest> KernelsUnderTest(KernelShape shape);
std::vector<KernelUnderTest> KernelsUnderTest(KernelShape shape, bool floats);

// Types of dst that the family has.
std::vector<Scalar> DstScalars(const Kernel& kernel);

// ## Problems

// An operand's elements: for integers of all that the packed type
// holds (of int8, where wider elements were made of that), for floats of small
// integers, whose sums are exact, or of fractions of a few magnitudes.
enum class Fill { kRandom, kLowest, kHighest, kAlternating, kZero, kFractions };

// Exponents are drawn from here; where `far`, one in four from all below max.
// Fixed-point multipliers are often extreme ones.
struct Exponents {
  int min, max;
  bool far = false;
};
constexpr Exponents kSmall = {-11, -2, true}, kNegative = {-10, -1, true},
                    kUpToZero = {-9, 0, true}, kAny = {21, 30, true};

struct KernelProblem {
  std::ptrdiff_t rows, cols, depth;
  std::vector<std::ptrdiff_t> passes = {};  // depth of each; empty: all in one
  Fill lhs_fill = Fill::kRandom, rhs_fill = Fill::kRandom;
  std::ptrdiff_t lhs_gap = 0, rhs_gap = 0;  // elements between in-place columns
  Scalar dst_scalar = Scalar::kI8;
  bool col_major = true;
  std::ptrdiff_t dst_gap = 3;
  bool channels_are_rows = true;
  bool per_channel = true;
  bool bias = true;
  bool wide_bias = false;  // over all of int32
  std::int32_t lhs_zero_point = 0, rhs_zero_point = 0, dst_zero_point = 0;
  bool unit_multiplier = false;  // 1, as where no multiplier is set
  bool rounds_twice = false;
  Exponents exponents = kUpToZero;
  // Cut to the range of an integer dst.
  double clamp_min = -std::numeric_limits<double>::infinity();
  double clamp_max = std::numeric_limits<double>::infinity();
  // For a float dst of integers.
  bool lhs_scale_per_row = false, rhs_scale_per_col = false;
  bool rhs_scale_first = false;
};

void PrintTo(const KernelProblem& problem, std::ostream* os);

// A problem of the given size, or of fewer columns if the kernel serves no
// more, with all that the kernel's family has drawn, but fills.
KernelProblem DrawProblem(const Kernel& kernel, std::ptrdiff_t rows,
                          std::ptrdiff_t cols, std::ptrdiff_t depth, Rng* rng);

// Passes of about a `count`th of depth each.
std::vector<std::ptrdiff_t> EvenPasses(const Kernel& kernel,
                                       std::ptrdiff_t depth, int count);

// ## Runs

// A depth x width matrix of values as packed, and its panels; or, where it is
// read in place, its columns with garbage between them.
class KernelOperand {
 public:
  KernelOperand(const PanelFormat& format, Scalar values_of, Fill fill,
                std::ptrdiff_t width, std::ptrdiff_t depth, std::ptrdiff_t gap,
                Rng* rng);

  void Set(std::ptrdiff_t k, std::ptrdiff_t w, double value);
  const double* Column(std::ptrdiff_t w) const { return &values_[w * depth_]; }
  // The same of an integer type.
  const std::int32_t* Integers(std::ptrdiff_t w) const {
    return &integers_[w * depth_];
  }
  std::int32_t Sum(std::ptrdiff_t w) const;

  std::ptrdiff_t padded_depth() const { return padded_depth_; }
  std::ptrdiff_t panel_stride_bytes() const;
  // The first panel from depth k on.
  const char* PanelsFrom(std::ptrdiff_t k);

 private:
  std::ptrdiff_t ElementBytes() const { return BytesOf(format_.scalar, 1); }
  // Set for elements of type T.
  template <typename T>
  void SetAs(std::ptrdiff_t k, std::ptrdiff_t w, double value);

  PanelFormat format_;
  std::ptrdiff_t depth_, stride_, padded_depth_;  // stride: in place
  GuardedArray<char> panels_;
  // Where an element lies: a sum of what depth and width contribute.
  std::vector<std::ptrdiff_t> depth_offsets_, column_offsets_;
  std::vector<double> values_;
  std::vector<std::int32_t> integers_;  // as sums of these are fast
};

// A problem with its data, to be changed before it runs.
class KernelRun {
 public:
  static std::unique_ptr<KernelRun> Make(const Kernel& kernel,
                                         const KernelProblem& problem,
                                         Rng* rng);
  virtual ~KernelRun() = default;

  KernelOperand& lhs() { return lhs_; }
  KernelOperand& rhs() { return rhs_; }
  virtual void SetBias(std::ptrdiff_t channel, double value) = 0;
  void SetMultiplier(std::ptrdiff_t channel, std::int32_t fixedpoint,
                     int exponent) {
    fixedpoint_[channel] = fixedpoint;
    exponent_[channel] = exponent;
  }

  // Fills dst anew and runs the kernel.
  virtual void Execute() = 0;
  virtual double Result(std::ptrdiff_t row, std::ptrdiff_t col) = 0;
  // Success if all of dst is as kernel.h says, and what lies between is as
  // before; any NaN is like another.
  virtual testing::AssertionResult Check() = 0;

 protected:
  KernelRun(const Kernel& kernel, const KernelProblem& problem, Rng* rng);

  std::ptrdiff_t DstIndex(std::ptrdiff_t row, std::ptrdiff_t col) const {
    return problem_.col_major ? row + col * dst_stride_
                              : row * dst_stride_ + col;
  }
  // All but dst, bias, scales and clamp.
  EpilogueArgs MakeEpilogue(bool quantized);
  // Goes through the passes.
  void RunPasses(const EpilogueArgs& epilogue);

  const Kernel& kernel_;
  const KernelProblem problem_;
  Rng* const rng_;
  KernelOperand lhs_, rhs_;
  const std::ptrdiff_t channels_;
  GuardedArray<std::int32_t> fixedpoint_, exponent_, lhs_sums_, rhs_sums_;
  GuardedArray<float> lhs_scales_, rhs_scales_;
  ScaleArgs scales_;
  const std::ptrdiff_t dst_stride_;
};

// ## Suites

class KernelTest : public testing::TestWithParam<KernelUnderTest> {
 protected:
  const Kernel& kernel() const { return *GetParam().kernel; }
  KernelProblem Draw(std::ptrdiff_t rows, std::ptrdiff_t cols,
                     std::ptrdiff_t depth) {
    return DrawProblem(kernel(), rows, cols, depth, &rng_);
  }
  int Between(int low, int high) {
    return static_cast<int>(rng_.Between(low, high));
  }

  // A failure of these is fatal; later calls then do nothing.
  virtual void Check(const KernelProblem& problem);
  // A drawn problem of every combination.
  void CheckSizes(const std::vector<std::ptrdiff_t>& rows,
                  const std::vector<std::ptrdiff_t>& cols,
                  const std::vector<std::ptrdiff_t>& depths);

  // A NaN and infinities in one row and one column each reach only these. The
  // elements around them are 1.
  void CheckSpecialValues(KernelProblem problem);

  Rng rng_{20240607};
};

// Instantiates a suite for those of the kernels that this machine has, if any.
#define RUY_LIKE_INSTANTIATE_PER_KERNEL(Suite, ...)                           \
  INSTANTIATE_TEST_SUITE_P(Paths, Suite,                                      \
                           testing::ValuesIn(KernelsUnderTest(__VA_ARGS__)),  \
                           [](const auto& info) { return info.param.name; }); \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Suite)

}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_TEST_SUPPORT_KERNEL_HARNESS_H_
