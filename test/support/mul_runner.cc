#include "test/support/mul_runner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"
#include "test/support/typed_mul.h"
#include "test/support/visit_scalar.h"

namespace ruy_like {
namespace {

// Turns elements of this machine into bytes with each one's lowest first, and
// the other way round: problems are the same on machines of either byte order.
void LowestByteFirst(Scalar scalar, std::vector<char>* bytes) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  const std::ptrdiff_t size = BytesOf(scalar, 1);
  for (auto element = bytes->begin(); element != bytes->end();
       element += size) {
    std::reverse(element, element + size);
  }
#else
  static_cast<void>(scalar);
  static_cast<void>(bytes);
#endif
}

void Store(Scalar scalar, void* data, std::ptrdiff_t index, double value) {
  VisitScalar(scalar, [&](auto zero) {
    using T = decltype(zero);
    static_cast<T*>(data)[index] = static_cast<T>(value);
  });
}

double Load(Scalar scalar, const void* data, std::ptrdiff_t index) {
  return VisitScalar(scalar, [&](auto zero) {
    return static_cast<double>(static_cast<const decltype(zero)*>(data)[index]);
  });
}

// How far from a value of this magnitude a 16-bit float is that is nearest to
// it; 0 for other types, where rounding counts as one of a sum's.
double RoundingOf(Scalar scalar, double magnitude) {
  if (!Is16BitFloat(scalar)) return 0;
  return VisitScalar(scalar, [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    return static_cast<double>(Limits::epsilon()) * magnitude / 2 +
           static_cast<double>(Limits::denorm_min()) / 2;
  });
}

Layout LayoutOf(const MatrixSpec& spec, std::ptrdiff_t rows,
                std::ptrdiff_t cols) {
  return MakeMatrix<char>(static_cast<char*>(nullptr), rows, cols, spec.order,
                          spec.gap)
      .layout();
}

std::size_t BytesOf(const MatrixSpec& spec, std::ptrdiff_t rows,
                    std::ptrdiff_t cols) {
  return BytesOf(spec.scalar, SpanOf(LayoutOf(spec, rows, cols)));
}

// Fills gaps like elements: a kernel that reads a gap by mistake gets a wrong
// result rather than a harmless zero.
void FillOperand(const MatrixSpec& spec, Rng* rng, GuardedBuffer* buffer) {
  const std::ptrdiff_t count = buffer->bytes() / BytesOf(spec.scalar, 1);
  std::int64_t low = LowestOf(spec.scalar);
  std::int64_t high = HighestOf(spec.scalar);
  if (spec.int7 != Int7::kNotPromised) {
    low += 65;
    high -= 64;
  }
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    double value = 0;
    switch (spec.fill) {
      case Fill::kRandom:
        value = IsFloat(spec.scalar) ? rng->Signed() : rng->Between(low, high);
        break;
      case Fill::kLowest:
        value = low;
        break;
      case Fill::kHighest:
        value = high;
        break;
      case Fill::kAlternating:
        value = i % 2 == 0 ? low : high;
        break;
      case Fill::kAllValues:
        value = low + i % (high - low + 1);
        break;
    }
    Store(spec.scalar, buffer->data(), i, value);
  }
  if (spec.int7 == Int7::kBroken && count > 0) {
    // The first element or the last: never one of a gap. Drawn one after the
    // other: compilers evaluate arguments in different orders.
    const std::int64_t value = rng->OneIn(2) ? low - 1 : high + 1;
    const std::ptrdiff_t index = rng->OneIn(2) ? 0 : count - 1;
    Store(spec.scalar, buffer->data(), index, static_cast<double>(value));
  }
}

std::ptrdiff_t Channels(const MulProblem& problem) {
  return problem.channel_dimension == ChannelDimension::kRow ? problem.rows
                                                             : problem.cols;
}

std::size_t MultiplierCount(const MulProblem& problem) {
  if (!problem.IsQuantized()) return 0;
  switch (problem.multiplier) {
    case MultiplierKind::kDefault:
      return 0;
    case MultiplierKind::kPerTensor:
      return 1;
    case MultiplierKind::kPerChannel:
      return Channels(problem);
  }
  return 0;
}

std::size_t BiasBytes(const MulProblem& problem) {
  return problem.bias == BiasKind::kNone
             ? 0
             : BytesOf(problem.BiasScalar(), Channels(problem));
}

std::size_t ScaleBytes(const MulProblem& problem, ScaleKind kind,
                       std::ptrdiff_t channels) {
  if (!problem.HasScales() || kind == ScaleKind::kDefault) return 0;
  return (kind == ScaleKind::kPerTensor ? 1 : channels) * sizeof(float);
}

}  // namespace

struct MulRunner::State {
  explicit State(const MulProblem& p)
      : problem(p),
        product(&FindTypedProduct(p)),
        lhs(BytesOf(p.lhs, p.rows, p.depth), p.lhs.flush),
        rhs(BytesOf(p.rhs, p.depth, p.cols), p.rhs.flush),
        dst(BytesOf(p.dst, p.rows, p.cols), p.dst.flush),
        bias(BiasBytes(p), p.dst.flush),
        fixedpoints(MultiplierCount(p) * sizeof(std::int32_t), p.dst.flush),
        exponents(MultiplierCount(p) * sizeof(int), p.dst.flush),
        lhs_scales(ScaleBytes(p, p.lhs_scale, p.rows), p.dst.flush),
        rhs_scales(ScaleBytes(p, p.rhs_scale, p.cols), p.dst.flush) {}

  void FillInputs();
  // dst before and after a right Mul.
  void Expect();
  // To the precision of Result, by sums of type Real.
  template <typename Result, typename Real>
  void ExpectFloats();
  Call CallOn(void* dst_data);
  testing::AssertionResult CompareIntegers();
  testing::AssertionResult CompareFloats();

  MulProblem problem;
  const TypedProduct* product;
  GuardedBuffer lhs, rhs, dst, bias, fixedpoints, exponents;
  GuardedBuffer lhs_scales, rhs_scales;
  std::vector<char> before;
  std::vector<char> expected;  // of floats: the gaps alone count
  // For floats: what is right, row by row.
  struct Interval {
    long double middle, radius;
  };
  std::vector<Interval> floats;
};

void MulRunner::State::FillInputs() {
  Rng rng(problem.data_seed);
  FillOperand(problem.lhs, &rng, &lhs);
  FillOperand(problem.rhs, &rng, &rhs);
  const std::int64_t bias_limit =
      problem.bias == BiasKind::kExtreme ? std::int64_t{1} << 31 : 10000;
  for (std::ptrdiff_t i = 0;
       i < static_cast<std::ptrdiff_t>(BiasBytes(problem)) /
               BytesOf(problem.BiasScalar(), 1);
       ++i) {
    const double value = IsFloat(problem.BiasScalar())
                             ? 4 * rng.Signed()
                             : rng.Between(-bias_limit, bias_limit - 1);
    Store(problem.BiasScalar(), bias.data(), i, value);
  }
  for (GuardedBuffer* scales : {&lhs_scales, &rhs_scales}) {
    for (std::size_t i = 0; i < scales->bytes() / sizeof(float); ++i) {
      // Powers of two make ties.
      const bool is_power = problem.IsQuantized() && rng.OneIn(2);
      scales->as<float>()[i] =
          (is_power ? 1 : static_cast<float>(rng.Signed())) / 64;
    }
  }
  for (std::size_t i = 0; i < MultiplierCount(problem); ++i) {
    fixedpoints.as<std::int32_t>()[i] = static_cast<std::int32_t>(
        rng.Between(problem.min_fixedpoint, problem.max_fixedpoint));
    exponents.as<int>()[i] = static_cast<int>(
        rng.Between(problem.min_exponent, problem.max_exponent));
  }
  before.resize(dst.bytes());
  for (char& byte : before) byte = static_cast<char>(rng.Next());
  LowestByteFirst(problem.dst.scalar, &before);
  if (problem.beta != 0 && IsFloat(problem.dst.scalar)) {
    // Garbage might be infinite. Gaps may be like elements.
    const std::ptrdiff_t bytes = BytesOf(problem.dst.scalar, 1);
    for (std::size_t i = 0; i < before.size() / bytes; ++i) {
      Store(problem.dst.scalar, before.data(), i, 8 * rng.Signed());
    }
  }
  for (GuardedBuffer* buffer : {&lhs, &rhs, &bias, &fixedpoints, &exponents,
                                &lhs_scales, &rhs_scales}) {
    buffer->MakeReadOnly();
  }
}

Call MulRunner::State::CallOn(void* dst_data) {
  Call call;
  call.problem = &problem;
  call.lhs = lhs.data();
  call.rhs = rhs.data();
  call.bias = problem.bias == BiasKind::kNone ? nullptr : bias.data();
  call.dst = dst_data;
  call.fixedpoint = fixedpoints.as<std::int32_t>();
  call.exponent = exponents.as<int>();
  call.lhs_scales = lhs_scales.as<float>();
  call.rhs_scales = rhs_scales.as<float>();
  return call;
}

void MulRunner::State::Expect() {
  expected = before;
  if (problem.IsInteger()) {
    product->reference_mul(CallOn(expected.data()));
  } else {
    // The rounding of double's sums is far below float's interval. x87
    // arithmetic would take most of the tests' time.
    problem.accum == Scalar::kF32 || problem.dst.scalar == Scalar::kF32
        ? ExpectFloats<float, double>()
        : ExpectFloats<double, long double>();
  }
}

testing::AssertionResult MulRunner::State::CompareIntegers() {
  if (std::equal(expected.begin(), expected.end(), dst.data())) {
    return testing::AssertionSuccess();
  }
  const Layout layout = LayoutOf(problem.dst, problem.rows, problem.cols);
  for (std::ptrdiff_t row = 0; row < problem.rows; ++row) {
    for (std::ptrdiff_t col = 0; col < problem.cols; ++col) {
      const std::ptrdiff_t at = ElementOffset(layout, row, col);
      const double actual = Load(problem.dst.scalar, dst.data(), at);
      const double right = Load(problem.dst.scalar, expected.data(), at);
      if (actual != right) {
        return testing::AssertionFailure()
               << "dst(" << row << ", " << col << ") is " << actual << ", not "
               << right;
      }
    }
  }
  return testing::AssertionFailure() << "a gap in dst was written to";
}

template <typename Result, typename Real>
void MulRunner::State::ExpectFloats() {
  const Layout lhs_layout = LayoutOf(problem.lhs, problem.rows, problem.depth);
  const Layout rhs_layout = LayoutOf(problem.rhs, problem.depth, problem.cols);
  const Layout dst_layout = LayoutOf(problem.dst, problem.rows, problem.cols);
  const Real epsilon = std::numeric_limits<Result>::epsilon();
  // Each flushed denormal loses less than this.
  const Real flushed = std::numeric_limits<Result>::min();
  const Real terms = static_cast<Real>(problem.depth) + 5;
  // One after the other along depth, since looking each up in its layout again
  // and again takes several times as long as the sums.
  std::vector<double> lhs_rows, rhs_cols;
  for (std::ptrdiff_t row = 0; row < problem.rows; ++row) {
    for (std::ptrdiff_t k = 0; k < problem.depth; ++k) {
      lhs_rows.push_back(Load(problem.lhs.scalar, lhs.data(),
                              ElementOffset(lhs_layout, row, k)));
    }
  }
  for (std::ptrdiff_t col = 0; col < problem.cols; ++col) {
    for (std::ptrdiff_t k = 0; k < problem.depth; ++k) {
      rhs_cols.push_back(Load(problem.rhs.scalar, rhs.data(),
                              ElementOffset(rhs_layout, k, col)));
    }
  }
  for (std::ptrdiff_t row = 0; row < problem.rows; ++row) {
    for (std::ptrdiff_t col = 0; col < problem.cols; ++col) {
      const double* const l = lhs_rows.data() + row * problem.depth;
      const double* const r = rhs_cols.data() + col * problem.depth;
      Real sum = 0;
      Real magnitude = 0;
      const auto add = [&](Real term) {
        sum += term;
        magnitude += std::fabs(term);
      };
      for (std::ptrdiff_t k = 0; k < problem.depth; ++k) {
        add(static_cast<Real>(l[k]) * r[k]);
      }
      if (problem.beta != 0) {
        add(problem.beta *
            static_cast<Real>(Load(problem.dst.scalar, before.data(),
                                   ElementOffset(dst_layout, row, col))));
      }
      if (problem.bias != BiasKind::kNone) {
        add(Load(
            problem.accum, bias.data(),
            problem.channel_dimension == ChannelDimension::kRow ? row : col));
      }
      if (problem.clamp) {
        sum = std::min<Real>(std::max<Real>(sum, problem.clamp_min),
                             problem.clamp_max);
      }
      // The error of a sum in any order, fused or not (Higham, Accuracy and
      // Stability of Numerical Algorithms, section 3.1); the clamp does not
      // increase it.
      const Real error = terms * (epsilon * magnitude + flushed);
      floats.push_back({sum, error + RoundingOf(problem.dst.scalar,
                                                std::fabs(sum) + error)});
    }
  }
}

testing::AssertionResult MulRunner::State::CompareFloats() {
  const Layout layout = LayoutOf(problem.dst, problem.rows, problem.cols);
  const std::ptrdiff_t bytes = BytesOf(problem.dst.scalar, 1);
  std::size_t i = 0;
  for (std::ptrdiff_t row = 0; row < problem.rows; ++row) {
    for (std::ptrdiff_t col = 0; col < problem.cols; ++col) {
      const Interval& right = floats[i++];
      const std::ptrdiff_t at = ElementOffset(layout, row, col);
      const double actual = Load(problem.dst.scalar, dst.data(), at);
      if (!(std::fabs(actual - right.middle) <= right.radius)) {
        return testing::AssertionFailure()
               << "dst(" << row << ", " << col << ") is " << actual << ", not "
               << right.middle << " +- " << right.radius;
      }
      std::memcpy(expected.data() + at * bytes, dst.data() + at * bytes, bytes);
    }
  }
  if (!std::equal(expected.begin(), expected.end(), dst.data())) {
    return testing::AssertionFailure() << "a gap in dst was written to";
  }
  return testing::AssertionSuccess();
}

MulRunner::MulRunner(const MulProblem& problem)
    : state_(std::make_unique<State>(problem)) {
  state_->FillInputs();
  state_->Expect();
}

MulRunner::~MulRunner() = default;

testing::AssertionResult MulRunner::CheckBy(const MulFn& mul) {
  State& state = *state_;
  std::copy(state.before.begin(), state.before.end(), state.dst.data());
  const absl::Status status = mul(state.CallOn(state.dst.data()));
  testing::AssertionResult result =
      !status.ok() ? testing::AssertionFailure() << status.ToString()
      : state.problem.IsInteger() ? state.CompareIntegers()
                                  : state.CompareFloats();
  if (result && !state.dst.SlackIsIntact()) {
    result = testing::AssertionFailure() << "written beyond dst";
  }
  if (!result) result << "; " << Describe(state.problem);
  return result;
}

testing::AssertionResult MulRunner::Check(Context* context) {
  testing::AssertionResult result = CheckBy(
      [&](const Call& call) { return state_->product->mul(call, context); });
  if (!result) {
    result << "; kernel " << context->last_used_kernel() << " of path "
           << PathName(context->last_used_path()) << ", "
           << context->last_used_num_threads() << " threads";
  }
  return result;
}

std::vector<char> MulRunner::DstBytes() const {
  const GuardedBuffer& dst = state_->dst;
  std::vector<char> bytes(dst.data(), dst.data() + dst.bytes());
  LowestByteFirst(state_->problem.dst.scalar, &bytes);
  return bytes;
}

testing::AssertionResult CheckProblem(const MulProblem& problem,
                                      Context* context) {
  MulRunner runner(problem);
  context->set_max_num_threads(problem.num_threads);
  testing::AssertionResult result = runner.Check(context);
  const auto cached = [](const MatrixSpec& spec) {
    return spec.cache_policy != CachePolicy::kNeverCache;
  };
  const bool is_cached = cached(problem.lhs) || cached(problem.rhs);
  constexpr std::ptrdiff_t kSmall = 64 * 64;
  const bool is_small =
      problem.rows * problem.cols <= kSmall && problem.depth <= kSmall;
  // Once more, out of the cache, or as a small call that is kept.
  if (result && (is_cached || is_small)) result = runner.Check(context);
  // The next problem's data may lie at the same address.
  if (is_cached) context->ClearPrepackedCache();
  return result;
}

}  // namespace ruy_like
