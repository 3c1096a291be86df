#include "test/support/kernel_harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "ruy_like/erased_call.h"
#include "ruy_like/float16.h"
#include "ruy_like/fused_multiply_add.h"
#include "ruy_like/machine/cpu_features.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/path.h"
#include "ruy_like/reference_mul.h"
#include "ruy_like/registry/registry.h"
#include "test/support/panels.h"
#include "test/support/visit_scalar.h"

namespace ruy_like::kernels {
namespace {

KernelShape ShapeOf(const Kernel& kernel) {
  if (kernel.multiplies_tiles) return KernelShape::kTiles;
  return kernel.lhs.in_place ? KernelShape::kNarrow : KernelShape::kPanels;
}

template <typename Wanted>
std::vector<KernelUnderTest> KernelsWhere(Wanted wanted) {
  std::vector<KernelUnderTest> result;
  for (const Path path : PathsBestFirst(DetectedPaths())) {
    const KernelTable table = KernelsOf(path);
    for (int i = 0; i < table.count; ++i) {
      const Kernel& kernel = table.kernels[i];
      // Those of group scales, whose operands are of another kind, have tests
      // of their own.
      if (kernel.family == Family::kGroupScaled || !wanted(kernel)) continue;
      const auto add = [&](KernelFn* run, const char* suffix) {
        if (run == nullptr) return;
        const auto copy = std::make_shared<Kernel>(kernel);
        copy->run = run;
        result.push_back({std::string(PathName(path)) + "_" +
                              InfoOf(kernel.family).name + "_" + kernel.name +
                              suffix,
                          copy});
      };
      add(kernel.run, "");
      add(kernel.run_in_order, "_in_order");
    }
  }
  return result;
}

// The type whose values one side's elements are: those of an 8-bit operand may
// be packed as 16-bit ones.
Scalar ValuesOf(const PanelFormat& format, bool is_8bit) {
  return is_8bit && format.scalar == Scalar::kI16 ? Scalar::kI8 : format.scalar;
}

// The least and the greatest value to draw.
struct Range {
  int low, high;
};
Range RangeOf(Scalar scalar, ValueRange range) {
  if (range == ValueRange::kInt7) {
    const int zero = PackedZero(scalar, range);
    return {zero - 63, zero + 63};
  }
  Range result = {-8, 8};
  VisitScalar(scalar, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      result = {static_cast<int>(std::numeric_limits<T>::lowest()),
                static_cast<int>(std::numeric_limits<T>::max())};
    }
  });
  return result;
}

double DrawValue(Fill fill, Range range, bool odd, Rng* rng) {
  switch (fill) {
    case Fill::kRandom:
      return static_cast<double>(rng->Between(range.low, range.high));
    case Fill::kLowest:
      return range.low;
    case Fill::kHighest:
      return range.high;
    case Fill::kAlternating:
      return odd ? range.low : range.high;
    case Fill::kZero:
      return 0;
    case Fill::kFractions:
      return std::ldexp(rng->Signed(), static_cast<int>(rng->Between(-9, 9)));
  }
  return 0;
}

std::int32_t DrawFixedpoint(Rng* rng) {
  static const std::int32_t kExtreme[] = {0, 1, 1 << 30, (1 << 30) + 1,
                                          INT32_MAX};
  if (rng->OneIn(3)) return kExtreme[rng->Next() % 5];
  return static_cast<std::int32_t>(
      rng->Between(rng->OneIn(8) ? 0 : 1 << 30, INT32_MAX));
}

std::int32_t DrawExponent(const Exponents& exponents, Rng* rng) {
  const bool far = exponents.far && rng->OneIn(4);
  return static_cast<std::int32_t>(
      rng->Between(far ? -31 : exponents.min, exponents.max));
}

std::int32_t DrawZeroPoint(Rng* rng) {
  static const std::int32_t kExtreme[] = {-128, 127, 128, 255};
  if (rng->OneIn(2)) return 0;
  return rng->OneIn(3) ? kExtreme[rng->Next() % 4]
                       : static_cast<std::int32_t>(rng->Between(-128, 255));
}

// ## Runs with types

template <typename Accum, typename Dst>
class TypedRun final : public KernelRun {
 public:
  using Params = MulParams<Accum, Dst>;
  using Bias = typename Params::BiasScalar;

  TypedRun(const Kernel& kernel, const KernelProblem& problem, Rng* rng)
      : KernelRun(kernel, problem, rng),
        bias_(channels_),
        dst_(DstIndex(problem_.rows - 1, problem_.cols - 1) + 1),
        old_dst_(dst_.size()) {
    for (std::ptrdiff_t i = 0; i < channels_; ++i) {
      SetBias(i, problem_.wide_bias ? static_cast<std::int32_t>(rng->Next())
                                    : rng->Between(-5000, 5000));
    }
    params_.set_bias(problem_.bias ? bias_.data() : nullptr);
    const double low =
        std::is_integral_v<Dst>
            ? static_cast<double>(std::numeric_limits<Dst>::lowest())
            : -std::numeric_limits<double>::infinity();
    const double high =
        std::is_integral_v<Dst>
            ? static_cast<double>(std::numeric_limits<Dst>::max())
            : std::numeric_limits<double>::infinity();
    params_.set_clamp_min(
        static_cast<Dst>(std::clamp(problem_.clamp_min, low, high)));
    params_.set_clamp_max(
        static_cast<Dst>(std::clamp(problem_.clamp_max, low, high)));
    params_.set_channel_dimension(problem_.channels_are_rows != IsTransposed()
                                      ? ChannelDimension::kRow
                                      : ChannelDimension::kCol);
  }

  void SetBias(std::ptrdiff_t channel, double value) override {
    bias_[channel] = static_cast<Bias>(value);
  }

  void Execute() override {
    for (std::size_t i = 0; i < dst_.size(); ++i) {
      old_dst_[i] =
          static_cast<Dst>(internal::IsFloatType<Dst>()
                               ? rng_->Between(-99, 99)
                               : static_cast<std::int32_t>(rng_->Next()));
      dst_[i] = old_dst_[i];
    }
    EpilogueArgs e = MakeEpilogue(Params::kQuantized);
    e.dst = dst_.data();
    e.dst_scalar = internal::ScalarOf<Dst>();
    if (Is16BitFloat(e.dst_scalar)) e.needs_general = true;
    if constexpr (Params::kScaled) {
      scales_ = {lhs_scales_.data(), rhs_scales_.data(),
                 problem_.lhs_scale_per_row, problem_.rhs_scale_per_col,
                 problem_.rhs_scale_first};
      e.scales = &scales_;
    }
    e.output = Params::kScaled      ? Output::kScaled
               : Params::kQuantized ? Output::kFixedPoint
               : IsFloat(kernel_)   ? Output::kFloat
                                    : Output::kRaw;
    e.bias = params_.bias();
    e.bias_scalar = internal::ScalarOf<Bias>();
    if constexpr (std::is_integral_v<Dst>) {
      e.clamp_min = params_.clamp_min();
      e.clamp_max = params_.clamp_max();
    } else {
      e.clamp_min_f = static_cast<double>(params_.clamp_min());
      e.clamp_max_f = static_cast<double>(params_.clamp_max());
    }
    RunPasses(e);
  }

  double Result(std::ptrdiff_t row, std::ptrdiff_t col) override {
    return static_cast<double>(dst_[DstIndex(row, col)]);
  }

  testing::AssertionResult Check() override {
    SetMultipliers();
    std::vector<Dst> expected = old_dst_;
    std::vector<double> radius(expected.size(), 0);
    for (std::ptrdiff_t c = 0; c < problem_.cols; ++c) {
      const std::vector<Accum> sums = Sums(c);
      for (std::ptrdiff_t r = 0; r < problem_.rows; ++r) {
        const std::ptrdiff_t i = DstIndex(r, c);
        if (kernel_.any_order) radius[i] = Radius(r, c);
        expected[i] = internal::ReferenceEpilogue<Accum, Dst>(
            sums[r], params_, IsTransposed() ? c : r, IsTransposed() ? r : c,
            problem_.dst_zero_point, &expected[i]);
      }
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (dst_[i] == expected[i]) continue;
      if (dst_[i] != dst_[i] && expected[i] != expected[i]) continue;
      if (kernel_.any_order && IsWithin(radius[i], dst_[i], expected[i])) {
        continue;
      }
      return testing::AssertionFailure()
             << "element " << i / dst_stride_ << ", " << i % dst_stride_
             << " is " << +dst_[i] << ", expected " << +expected[i] << ": "
             << testing::PrintToString(problem_);
    }
    return testing::AssertionSuccess();
  }

 private:
  // Scales are multiplied in this order where a product is computed with its
  // sides swapped: the oracle is asked for the transposed one.
  bool IsTransposed() const { return problem_.rhs_scale_first; }

  void SetMultipliers() {
    if constexpr (Params::kQuantized) {
      if (problem_.rounds_twice) {
        params_.set_multiplier_rounding(MultiplierRounding::kTwice);
      }
      if (problem_.per_channel) {
        params_.set_multiplier_fixedpoint_perchannel(fixedpoint_.data());
        params_.set_multiplier_exponent_perchannel(exponent_.data());
      } else {
        params_.set_multiplier_fixedpoint(fixedpoint_[0]);
        params_.set_multiplier_exponent(exponent_[0]);
      }
    } else if constexpr (Params::kScaled) {
      const float* lhs = lhs_scales_.data();
      const float* rhs = rhs_scales_.data();
      bool lhs_many = problem_.lhs_scale_per_row;
      bool rhs_many = problem_.rhs_scale_per_col;
      if (IsTransposed()) {
        std::swap(lhs, rhs);
        std::swap(lhs_many, rhs_many);
      }
      params_.set_lhs_scale(*lhs);
      params_.set_rhs_scale(*rhs);
      if (lhs_many) params_.set_lhs_scale_perrow(lhs);
      if (rhs_many) params_.set_rhs_scale_percol(rhs);
    }
  }

  // Either may have been rounded to fewer bits than the sum had.
  static bool IsWithin(double radius, Dst actual, Dst expected) {
    const double right = static_cast<double>(expected);
    const double rounding =
        static_cast<double>(std::numeric_limits<Dst>::epsilon()) *
            std::fabs(right) +
        static_cast<double>(std::numeric_limits<Dst>::min());
    return std::isfinite(right) &&
           std::fabs(static_cast<double>(actual) - right) <= radius + rounding;
  }

  // How far a float sum in another order may be from the expected element,
  // which has an error of its own. The bound is Higham's (Accuracy and
  // Stability of Numerical Algorithms, section 3.1).
  double Radius(std::ptrdiff_t row, std::ptrdiff_t col) {
    const double* a = lhs_.Column(row);
    const double* b = rhs_.Column(col);
    double magnitude = 0;
    if (problem_.bias) {
      magnitude += std::fabs(
          static_cast<double>(bias_[problem_.channels_are_rows ? row : col]));
    }
    for (std::ptrdiff_t k = 0; k < problem_.depth; ++k) {
      magnitude += std::fabs(a[k] * b[k]);
    }
    return static_cast<double>(problem_.depth + 5) *
           std::numeric_limits<float>::epsilon() * magnitude;
  }

#if defined(__arm__)
  static constexpr bool kFuses = false;
#else
  static constexpr bool kFuses = true;
#endif

  // A column's sums of products, zero points taken off. Sums of doubles are
  // exact, by the choice of values; floats are a chain of multiply-adds in
  // order of depth, fused ones but on 32-bit Arm.
  std::vector<Accum> Sums(std::ptrdiff_t col) {
    // Side by side, so that a chain does not wait for itself alone.
    constexpr std::ptrdiff_t kChains = 4;
    std::vector<Accum> sums(RoundUp(problem_.rows, kChains));
    for (std::ptrdiff_t row = 0; row < problem_.rows; row += kChains) {
      std::ptrdiff_t rows[kChains];
      for (std::ptrdiff_t i = 0; i < kChains; ++i) {
        rows[i] = std::min(row + i, problem_.rows - 1);
      }
      AddProducts(rows, col, &sums[row]);
    }
    return sums;
  }

  template <std::size_t kCount>
  void AddProducts(const std::ptrdiff_t (&rows)[kCount], std::ptrdiff_t col,
                   Accum* sums) {
    if constexpr (std::is_integral_v<Accum>) {
      const std::int32_t* const b = rhs_.Integers(col);
      for (std::size_t i = 0; i < kCount; ++i) {
        const std::int32_t* const a = lhs_.Integers(rows[i]);
        std::uint32_t sum = 0;
        for (std::ptrdiff_t k = 0; k < problem_.depth; ++k) {
          sum += static_cast<std::uint32_t>(a[k] - problem_.lhs_zero_point) *
                 static_cast<std::uint32_t>(b[k] - problem_.rhs_zero_point);
        }
        sums[i] = static_cast<std::int32_t>(sum);
      }
    } else {
      const double* const b = rhs_.Column(col);
      const double* a[kCount];
      for (std::size_t i = 0; i < kCount; ++i) a[i] = lhs_.Column(rows[i]);
      if (SumsAreExact()) {
        AddChains<double>(a, b, sums, [](double x, double y, double sum) {
          return sum + x * y;
        });
      } else {
        AddChains<Accum>(a, b, sums, [](Accum x, Accum y, Accum sum) {
          if constexpr (kFuses && std::is_same_v<Accum, float>) {
            return FusedMultiplyAdd(x, y, sum);
          } else {
            return sum + x * y;
          }
        });
      }
    }
  }

  // Products of integers of up to 8 whose sums are floats, too: each way to add
  // gives the same, and doubles' takes the least time.
  bool SumsAreExact() const {
    return problem_.lhs_fill != Fill::kFractions &&
           problem_.rhs_fill != Fill::kFractions && problem_.depth <= 1 << 18;
  }

  template <typename Real, std::size_t kCount, typename Add>
  void AddChains(const double* const (&a)[kCount], const double* b, Accum* sums,
                 Add add) {
    Real sum[kCount] = {};
    for (std::ptrdiff_t k = 0; k < problem_.depth; ++k) {
      const Real y = static_cast<Real>(b[k]);
      for (std::size_t i = 0; i < kCount; ++i) {
        sum[i] = add(static_cast<Real>(a[i][k]), y, sum[i]);
      }
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      sums[i] = static_cast<Accum>(sum[i]);
    }
  }

  Params params_;
  GuardedArray<Bias> bias_;
  GuardedArray<Dst> dst_;
  std::vector<Dst> old_dst_;
};

}  // namespace

// ## Kernels

std::vector<KernelUnderTest> KernelsUnderTest(KernelShape shape) {
  return KernelsWhere(
      [shape](const Kernel& kernel) { return ShapeOf(kernel) == shape; });
}

std::vector<KernelUnderTest> KernelsUnderTest(KernelShape shape, bool floats) {
  return KernelsWhere([shape, floats](const Kernel& kernel) {
    return ShapeOf(kernel) == shape && IsFloat(kernel) == floats;
  });
}

std::vector<Scalar> DstScalars(const Kernel& kernel) {
  switch (kernel.family) {
    case Family::kF32:
      return {Scalar::kBF16, Scalar::kF16, Scalar::kF32};
    case Family::kF64:
      return {Scalar::kF32, Scalar::kF64};
    case Family::k8x8:
      return {Scalar::kI8, Scalar::kU8, Scalar::kI16, Scalar::kI32,
              Scalar::kF32};
    default:
      return {Scalar::kI8, Scalar::kU8, Scalar::kI16, Scalar::kI32};
  }
}

// ## Problems

void PrintTo(const KernelProblem& p, std::ostream* os) {
  *os << p.rows << "x" << p.depth << "x" << p.cols << " passes"
      << testing::PrintToString(p.passes) << " fills "
      << static_cast<int>(p.lhs_fill) << " " << static_cast<int>(p.rhs_fill)
      << " gaps " << p.lhs_gap << " " << p.rhs_gap << " " << p.dst_gap
      << " dst " << ScalarName(p.dst_scalar)
      << (p.col_major ? " col-major" : " row-major") << " channels "
      << (p.channels_are_rows ? "rows" : "cols")
      << (p.per_channel ? ", per channel" : "") << (p.bias ? ", bias" : "")
      << (p.wide_bias ? ", wide" : "") << ", zero points " << p.lhs_zero_point
      << " " << p.rhs_zero_point << " " << p.dst_zero_point << ", exponents "
      << p.exponents.min << ".." << p.exponents.max
      << (p.unit_multiplier ? ", unit" : "")
      << (p.rounds_twice ? ", rounded twice" : "") << ", clamp " << p.clamp_min
      << ".." << p.clamp_max << (p.lhs_scale_per_row ? ", lhs scales" : "")
      << (p.rhs_scale_per_col ? ", rhs scales" : "")
      << (p.rhs_scale_first ? ", rhs first" : "");
}

KernelProblem DrawProblem(const Kernel& kernel, std::ptrdiff_t rows,
                          std::ptrdiff_t cols, std::ptrdiff_t depth, Rng* rng) {
  static const Exponents kExponents[] = {
      kSmall, kNegative, kUpToZero, kAny, {-31, 30}, {-31, -20}, {1, 8}, {0, 0},
  };
  const auto coin = [rng] { return rng->OneIn(2); };
  const std::vector<Scalar> dst_scalars = DstScalars(kernel);
  KernelProblem p;
  p.rows = rows;
  p.cols = kernel.lhs.in_place ? std::min<std::ptrdiff_t>(cols, kernel.max_cols)
                               : cols;
  p.depth = depth;
  if (!kernel.lhs.in_place) {
    p.passes = EvenPasses(kernel, depth, static_cast<int>(rng->Between(1, 3)));
  }
  if (coin()) p.lhs_gap = rng->Between(1, 70);
  if (coin()) p.rhs_gap = rng->Between(1, 130);
  if (coin()) p.dst_gap = rng->Between(0, 70);
  p.dst_scalar = dst_scalars[rng->Next() % dst_scalars.size()];
  p.col_major = coin();
  p.channels_are_rows = coin();
  p.per_channel = coin();
  p.bias = coin();
  p.exponents = kExponents[rng->Next() % 8];
  p.unit_multiplier = rng->OneIn(12);
  if (coin()) p.clamp_min = static_cast<double>(rng->Between(-60, 20));
  if (coin()) p.clamp_max = static_cast<double>(rng->Between(21, 120));
  if (kernel.family == Family::k8x8) {
    p.lhs_zero_point = DrawZeroPoint(rng);
    p.rhs_zero_point = DrawZeroPoint(rng);
  }
  if (!IsFloat(kernel)) p.dst_zero_point = DrawZeroPoint(rng);
  p.lhs_scale_per_row = coin();
  p.rhs_scale_per_col = coin();
  p.rhs_scale_first = coin();
  p.rounds_twice = rng->OneIn(4);
  return p;
}

std::vector<std::ptrdiff_t> EvenPasses(const Kernel& kernel,
                                       std::ptrdiff_t depth, int count) {
  const std::ptrdiff_t step = kernel.lhs.depth_multiple;
  const std::ptrdiff_t most =
      std::max(step, RoundUp(depth, step) / count / step * step);
  std::vector<std::ptrdiff_t> passes;
  for (; depth > 0; depth -= most) passes.push_back(std::min(depth, most));
  return passes;
}

// ## Runs

KernelOperand::KernelOperand(const PanelFormat& format, Scalar values_of,
                             Fill fill, std::ptrdiff_t width,
                             std::ptrdiff_t depth, std::ptrdiff_t gap, Rng* rng)
    : format_(format),
      depth_(depth),
      stride_((format.by_depth ? width : depth) + gap),
      padded_depth_(format.in_place ? depth
                                    : RoundUp(depth, format.depth_multiple)),
      panels_(
          ElementBytes() * (format.by_depth ? depth * stride_ - gap
                            : format.in_place
                                ? width * stride_ - gap
                                : RoundUp(width, format.width) * padded_depth_),
          format.in_place ? ElementBytes() : 64),
      values_(width * depth),
      integers_(ruy_like::IsFloat(format.scalar) ? 0 : width * depth) {
  if (format.in_place) {
    for (std::size_t i = 0; i < panels_.size(); i += sizeof(std::uint64_t)) {
      const std::uint64_t garbage = rng->Next();
      std::memcpy(panels_.data() + i, &garbage,
                  std::min(sizeof(garbage), panels_.size() - i));
    }
  }
  const auto offset = [&](std::ptrdiff_t k, std::ptrdiff_t w) {
    return format.by_depth ? k * stride_ + w
           : format.in_place
               ? w * stride_ + k
               : PanelOffset(format.scalar, format.width, format.dot_width,
                             padded_depth_, k, w);
  };
  for (std::ptrdiff_t k = 0; k < depth; ++k) {
    depth_offsets_.push_back(offset(k, 0));
  }
  for (std::ptrdiff_t w = 0; w < width; ++w) {
    column_offsets_.push_back(offset(0, w) - offset(0, 0));
  }
  const Range range = RangeOf(values_of, format.range);
  VisitScalar(format.scalar, [&](auto zero) {
    for (std::ptrdiff_t w = 0; w < width; ++w) {
      for (std::ptrdiff_t k = 0; k < depth; ++k) {
        SetAs<decltype(zero)>(k, w,
                              DrawValue(fill, range, (k + w) % 2 == 1, rng));
      }
    }
  });
}

template <typename T>
void KernelOperand::SetAs(std::ptrdiff_t k, std::ptrdiff_t w, double value) {
  if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, double>) {
    value = static_cast<float>(T(static_cast<float>(value)));
  }
  values_[w * depth_ + k] = value;
  if (!integers_.empty()) {
    integers_[w * depth_ + k] = static_cast<std::int32_t>(value);
  }
  const T element = static_cast<T>(value);
  std::memcpy(panels_.data() + (depth_offsets_[k] + column_offsets_[w]) *
                                   static_cast<std::ptrdiff_t>(sizeof(T)),
              &element, sizeof(T));
}

void KernelOperand::Set(std::ptrdiff_t k, std::ptrdiff_t w, double value) {
  VisitScalar(format_.scalar,
              [&](auto zero) { SetAs<decltype(zero)>(k, w, value); });
}

std::int32_t KernelOperand::Sum(std::ptrdiff_t w) const {
  std::uint32_t sum = 0;
  for (std::ptrdiff_t k = 0; k < depth_; ++k) {
    sum += static_cast<std::uint32_t>(Integers(w)[k]);
  }
  return static_cast<std::int32_t>(sum);
}

std::ptrdiff_t KernelOperand::panel_stride_bytes() const {
  return (format_.in_place ? stride_ : format_.width * padded_depth_) *
         ElementBytes();
}

const char* KernelOperand::PanelsFrom(std::ptrdiff_t k) {
  const std::ptrdiff_t step = format_.by_depth   ? stride_
                              : format_.in_place ? 1
                                                 : format_.width;
  return panels_.data() + k * step * ElementBytes();
}

KernelRun::KernelRun(const Kernel& kernel, const KernelProblem& problem,
                     Rng* rng)
    : kernel_(kernel),
      problem_(problem),
      rng_(rng),
      lhs_(kernel.lhs, ValuesOf(kernel.lhs, kernel.family != Family::k16x8),
           problem.lhs_fill, problem.rows, problem.depth, problem.lhs_gap, rng),
      rhs_(kernel.rhs, ValuesOf(kernel.rhs, kernel.family != Family::k8x16),
           problem.rhs_fill, problem.cols, problem.depth, problem.rhs_gap, rng),
      channels_(problem.channels_are_rows ? problem.rows : problem.cols),
      fixedpoint_(problem.per_channel ? channels_ : 1),
      exponent_(fixedpoint_.size()),
      lhs_sums_(problem.rows),
      rhs_sums_(problem.cols),
      lhs_scales_(problem.lhs_scale_per_row ? problem.rows : 1),
      rhs_scales_(problem.rhs_scale_per_col ? problem.cols : 1),
      scales_(),
      dst_stride_((problem.col_major ? problem.rows : problem.cols) +
                  problem.dst_gap) {
  for (std::size_t i = 0; i < fixedpoint_.size(); ++i) {
    const bool unit = problem.unit_multiplier;
    fixedpoint_[i] = unit ? 1 << 30 : DrawFixedpoint(rng);
    exponent_[i] = unit ? 1 : DrawExponent(problem.exponents, rng);
  }
  for (GuardedArray<float>* scales : {&lhs_scales_, &rhs_scales_}) {
    for (std::size_t i = 0; i < scales->size(); ++i) {
      (*scales)[i] = static_cast<float>(rng->Signed() / 16);
    }
  }
}

EpilogueArgs KernelRun::MakeEpilogue(bool quantized) {
  const KernelProblem& p = problem_;
  if (!IsFloat(kernel_)) {
    for (std::ptrdiff_t r = 0; r < p.rows; ++r) lhs_sums_[r] = lhs_.Sum(r);
    for (std::ptrdiff_t c = 0; c < p.cols; ++c) rhs_sums_[c] = rhs_.Sum(c);
  }
  EpilogueArgs e = {};
  e.dst_row_stride = p.col_major ? 1 : dst_stride_;
  e.dst_col_stride = p.col_major ? dst_stride_ : 1;
  e.channels_are_rows = p.channels_are_rows;
  e.per_channel = p.per_channel;
  if (quantized) {
    if (p.rounds_twice) e.rounds_twice = e.needs_general = true;
    e.fixedpoint = fixedpoint_.data();
    e.exponent = exponent_.data();
    // A bound, often the best one.
    int bound = rng_->OneIn(4) ? p.exponents.max : -31;
    for (std::size_t i = 0; i < exponent_.size(); ++i) {
      bound = std::max(bound, exponent_[i]);
    }
    e.max_exponent = static_cast<std::int8_t>(bound);
  }
  if (p.rhs_zero_point != 0 && !kernel_.lhs.in_place) {
    e.lhs_sums = lhs_sums_.data();
  }
  if (p.lhs_zero_point != 0 && !kernel_.rhs.in_place) {
    e.rhs_sums = rhs_sums_.data();
  }
  e.lhs_zero_point = p.lhs_zero_point;
  e.rhs_zero_point = p.rhs_zero_point;
  e.zero_point_product =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(p.depth) *
                                static_cast<std::uint32_t>(p.lhs_zero_point) *
                                static_cast<std::uint32_t>(p.rhs_zero_point));
  e.dst_zero_point = p.dst_zero_point;
  return e;
}

void KernelRun::RunPasses(const EpilogueArgs& epilogue) {
  const KernelProblem& p = problem_;
  const bool padded = !kernel_.lhs.in_place && !kernel_.rhs.in_place;
  const std::vector<std::ptrdiff_t> passes =
      p.passes.empty() ? std::vector<std::ptrdiff_t>{p.depth} : p.passes;
  GuardedArray<char> accum(RoundUp(p.rows, kernel_.tile_rows) *
                               RoundUp(p.cols, kernel_.tile_cols) *
                               BytesOf(InfoOf(kernel_.family).accum, 1),
                           64);
  // Sums are complete in the last pass only.
  const std::vector<std::int32_t> incomplete(std::max(p.rows, p.cols), 12345);
  KernelArgs args = {};
  args.lhs_stride_bytes = lhs_.panel_stride_bytes();
  args.rhs_stride_bytes = rhs_.panel_stride_bytes();
  args.rows = p.rows;
  args.cols = p.cols;
  args.accum = passes.size() == 1 ? nullptr : accum.data();
  std::ptrdiff_t k = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    EpilogueArgs e = epilogue;
    args.lhs = lhs_.PanelsFrom(k);
    args.rhs = rhs_.PanelsFrom(k);
    args.first_pass = i == 0;
    args.last_pass = i + 1 == passes.size();
    args.depth = padded && args.last_pass ? lhs_.padded_depth() - k : passes[i];
    if (!args.last_pass) {
      if (e.lhs_sums != nullptr) e.lhs_sums = incomplete.data();
      if (e.rhs_sums != nullptr) e.rhs_sums = incomplete.data();
    }
    args.epilogue = &e;
    kernel_.run(&args);
    k += passes[i];
  }
}

std::unique_ptr<KernelRun> KernelRun::Make(const Kernel& kernel,
                                           const KernelProblem& problem,
                                           Rng* rng) {
  const auto make = [&](auto accum, auto dst) -> std::unique_ptr<KernelRun> {
    return std::make_unique<TypedRun<decltype(accum), decltype(dst)>>(
        kernel, problem, rng);
  };
  if (kernel.family == Family::kF32) {
    return problem.dst_scalar == Scalar::kBF16  ? make(float{}, BFloat16())
           : problem.dst_scalar == Scalar::kF16 ? make(float{}, Float16())
                                                : make(float{}, float{});
  }
  if (kernel.family == Family::kF64) {
    return problem.dst_scalar == Scalar::kF64 ? make(double{}, double{})
                                              : make(double{}, float{});
  }
  switch (problem.dst_scalar) {
    case Scalar::kI8:
      return make(std::int32_t{}, std::int8_t{});
    case Scalar::kU8:
      return make(std::int32_t{}, std::uint8_t{});
    case Scalar::kI16:
      return make(std::int32_t{}, std::int16_t{});
    case Scalar::kF32:
      return make(std::int32_t{}, float{});
    default:
      return make(std::int32_t{}, std::int32_t{});
  }
}

// ## Suites

void KernelTest::Check(const KernelProblem& problem) {
  if (HasFatalFailure()) return;
  const auto run = KernelRun::Make(kernel(), problem, &rng_);
  run->Execute();
  ASSERT_TRUE(run->Check());
}

void KernelTest::CheckSizes(const std::vector<std::ptrdiff_t>& rows,
                            const std::vector<std::ptrdiff_t>& cols,
                            const std::vector<std::ptrdiff_t>& depths) {
  for (const std::ptrdiff_t r : rows) {
    for (const std::ptrdiff_t c : cols) {
      for (const std::ptrdiff_t k : depths) Check(Draw(r, c, k));
    }
  }
}

void KernelTest::CheckSpecialValues(KernelProblem problem) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::ptrdiff_t last = problem.depth - 1;
  const auto run = KernelRun::Make(kernel(), problem, &rng_);
  run->lhs().Set(last, 0, std::nan(""));
  run->lhs().Set(last, problem.rows - 2, std::nan(""));
  run->lhs().Set(last / 2, problem.rows - 1, kInfinity);
  run->rhs().Set(last, problem.cols / 2, kInfinity);
  run->rhs().Set(last / 2, problem.cols - 1, -kInfinity);
  run->Execute();
  ASSERT_TRUE(run->Check());
}

}  // namespace ruy_like::kernels
