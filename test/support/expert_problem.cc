#include "test/support/expert_problem.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <type_traits>
#include <vector>

#include "ruy_like/mul_experts.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_group_mul.h"
#include "test/support/group_problem.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

// Spans' elements at a guard page; an empty span of none.
template <typename T>
class GuardedSpan {
 public:
  explicit GuardedSpan(const std::vector<T>& values)
      : buffer_(values.size() * sizeof(T), Flush::kEnd), size_(values.size()) {
    std::copy(values.begin(), values.end(), buffer_.template as<T>());
  }
  absl::Span<const T> get() { return {buffer_.template as<T>(), size_}; }

 private:
  GuardedBuffer buffer_;
  std::size_t size_;
};

// Experts, what they are multiplied by, and single products of them.
struct Sizes {
  ptrdiff_t experts, rows, depth, columns;
  static Sizes Draw(Rng* rng) {
    const auto up_to = [rng](int most) {
      return static_cast<ptrdiff_t>(rng->Between(1, most));
    };
    return {up_to(6), up_to(rng->OneIn(4) ? 150 : 40),
            up_to(rng->OneIn(4) ? 300 : 70), up_to(rng->OneIn(4) ? 20 : 5)};
  }
};

template <typename ActivationT, typename DstT>
struct ByGroups {
  using Activation = ActivationT;
  using Dst = DstT;
  using Params = GroupMulParams;

  // The oracle's bits are those of every path.
  static constexpr bool kDependsOnContext = false;

  std::deque<RandomGroupWeights> plain;
  std::vector<PackedGroupWeights> experts;
  Params params;
  std::vector<float> scales;
  std::vector<std::int8_t> zeros;

  ByGroups(const Sizes& sizes, Rng* rng) {
    constexpr int kBits[] = {8, 4, 4, 2};
    const int bits = kBits[rng->Between(0, 3)];
    const ptrdiff_t group = 16 * rng->Between(0, 4);
    const bool has_zeros = rng->OneIn(3);
    const bool has_table = bits == 4 && rng->OneIn(3);
    const bool by_group =
        !std::is_same<Activation, std::int8_t>::value && rng->OneIn(2);
    if (by_group) params.quantize = ActivationScales::kPerGroup;
    for (ptrdiff_t e = 0; e < sizes.experts; ++e) {
      plain.emplace_back(sizes.rows, sizes.depth, bits, group, Scalar::kF16,
                         has_zeros, 0, 1.0f, rng, has_table);
      if (!by_group && rng->OneIn(4)) plain.back().Shuffle(rng);
    }
    for (ptrdiff_t i = 0; i < sizes.columns; ++i) {
      scales.push_back(RandomFloat(rng));
      zeros.push_back(static_cast<std::int8_t>(rng->Between(-128, 127)));
    }
    if (std::is_same<Activation, std::int8_t>::value) {
      if (rng->OneIn(2)) params.activation_scales = scales.data();
      if (rng->OneIn(3)) params.activation_zero_points = zeros.data();
    }
    if (rng->OneIn(3)) params.clamp_max = 0.5f;
  }
  void PackFor(Context* context) {
    experts.clear();
    for (const RandomGroupWeights& weights : plain) {
      const auto packed = PackGroupWeights(weights.description, context);
      EXPECT_TRUE(packed.ok()) << packed.status();
      experts.push_back(*packed);
    }
  }
  void SetBias(const float* bias) { params.bias = bias; }
  void SetBeta(float beta) { params.beta = beta; }
  template <typename T>
  void Single(ptrdiff_t expert, ptrdiff_t source, const float* bias, float beta,
              const Matrix<Activation>& column, Context* /*context*/,
              Matrix<T>* result) {
    Params one = params;
    one.bias = bias;
    one.beta = beta;
    if (one.activation_scales != nullptr) one.activation_scales += source;
    if (one.activation_zero_points != nullptr) {
      one.activation_zero_points += source;
    }
    ReferenceGroupMul(plain[static_cast<std::size_t>(expert)].description,
                      column, one, result);
  }
};

template <typename T, typename DstT>
struct ByMatrices {
  using Activation = T;
  using Dst = DstT;
  static constexpr bool kIsInt8 = std::is_same<T, std::int8_t>::value;
  using Accum = std::conditional_t<kIsInt8, std::int32_t, float>;
  using Params = MulParams<Accum, Dst>;
  static constexpr bool kDependsOnContext = true;

  std::deque<GuardedMatrix<T>> plain;
  std::vector<PackedMatrix<T>> experts;
  Params params;
  std::vector<float> scales;

  ByMatrices(const Sizes& sizes, Rng* rng) {
    for (ptrdiff_t e = 0; e < sizes.experts; ++e) {
      plain.emplace_back(sizes.rows, sizes.depth, OrderOf(1, 0), 0);
      FillActivations(&plain.back().matrix, rng, 1.0f);
    }
    for (ptrdiff_t i = 0; i < sizes.columns; ++i) {
      scales.push_back(RandomFloat(rng));
    }
    if constexpr (kIsInt8) {
      params.set_lhs_scale(0.25f);
      if (rng->OneIn(2)) params.set_rhs_scale_percol(scales.data());
    }
  }
  void PackFor(Context* context) {
    experts.clear();
    for (const GuardedMatrix<T>& expert : plain) {
      const auto packed =
          Pack(expert.matrix, Side::kLhs, PackOptions(), context);
      EXPECT_TRUE(packed.ok()) << packed.status();
      experts.push_back(*packed);
    }
  }
  // A scaled product's is float, too.
  void SetBias(const float* bias) { params.set_bias(bias); }
  void SetBeta(float beta) { params.set_beta(static_cast<Dst>(beta)); }
  template <typename R>
  void Single(ptrdiff_t expert, ptrdiff_t source, const float* bias, float beta,
              const Matrix<Activation>& column, Context* context,
              Matrix<R>* result) {
    MulParams<Accum, R> one;
    one.set_bias(bias);
    one.set_beta(static_cast<R>(beta));
    if constexpr (kIsInt8) {
      one.set_lhs_scale(params.lhs_scale());
      if (params.rhs_scale_percol() != nullptr) {
        one.set_rhs_scale_percol(params.rhs_scale_percol() + source);
      }
    }
    const absl::Status status = Mul(experts[static_cast<std::size_t>(expert)],
                                    column, one, context, result);
    EXPECT_TRUE(status.ok()) << status;
  }
};

template <typename Problem>
void Check(Rng* rng, const std::vector<Context*>& contexts, std::string* what) {
  using Dst = typename Problem::Dst;
  Sizes sizes = Sizes::Draw(rng);
  std::vector<std::int32_t> counts;
  std::int32_t pairs = 0;
  for (ptrdiff_t e = 0; e < sizes.experts; ++e) {
    counts.push_back(static_cast<std::int32_t>(
        rng->OneIn(3) ? 0 : rng->Between(0, rng->OneIn(4) ? 20 : 4)));
    pairs += counts.back();
  }
  const bool gathers = rng->OneIn(2) && pairs != 0;
  const bool has_targets = rng->OneIn(2) && pairs != 0;
  const bool has_factors = rng->OneIn(2) && pairs != 0;
  const bool sums = has_targets || has_factors || pairs == 0;
  if (!gathers) sizes.columns = pairs;
  const ptrdiff_t targets = has_targets  ? rng->Between(1, 9)
                            : pairs == 0 ? rng->Between(0, 3)
                                         : pairs;
  *what = std::string(gathers ? ", gathered" : "") + (has_targets ? ", summed"
                                                      : sums ? ", times factors"
                                                             : "");

  Problem problem(sizes, rng);
  std::vector<std::int32_t> source_of, target_of;
  std::vector<float> factor_of;
  for (std::int32_t i = 0; i < pairs; ++i) {
    source_of.push_back(
        gathers ? static_cast<std::int32_t>(rng->Between(0, sizes.columns - 1))
                : i);
    target_of.push_back(
        has_targets ? static_cast<std::int32_t>(rng->Between(0, targets - 1))
                    : i);
    factor_of.push_back(has_factors ? RandomFloat(rng) : 1);
  }
  GuardedSpan<std::int32_t> source_span(source_of), target_span(target_of),
      count_span(counts);
  GuardedSpan<float> factor_span(factor_of);
  ExpertRouting routing;
  routing.counts = count_span.get();
  if (gathers) routing.sources = source_span.get();
  if (has_targets) routing.targets = target_span.get();
  if (has_factors) routing.factors = factor_span.get();

  const bool one_bias = rng->OneIn(2);
  GuardedBuffer bias(
      (one_bias ? 1 : sizes.experts) * sizes.rows * sizeof(float), Flush::kEnd);
  for (std::size_t i = 0; i < bias.bytes() / sizeof(float); ++i) {
    bias.as<float>()[i] = RandomFloat(rng);
  }
  const bool has_bias = rng->OneIn(2);
  if (has_bias) {
    problem.SetBias(bias.as<float>());
    routing.bias_stride = one_bias ? 0 : sizes.rows;
  }
  const float beta = rng->OneIn(3) ? 0.75f : 0;
  problem.SetBeta(beta);

  const auto order = [rng](bool by_column) {
    return by_column || rng->OneIn(2) ? Order::kColMajor : Order::kRowMajor;
  };
  GuardedMatrix<typename Problem::Activation> activations(
      sizes.depth, sizes.columns, order(gathers), rng->Between(0, 3));
  FillActivations(&activations.matrix, rng, 1.0f);
  const Order dst_order = order(sums);
  const ptrdiff_t gap = rng->Between(0, 3);
  GuardedMatrix<Dst> dst(sizes.rows, targets, dst_order, gap);
  GuardedMatrix<Dst> expected(sizes.rows, targets, dst_order, gap);

  MulOptions options;
  options.max_num_threads = static_cast<int>(rng->Between(0, 4));
  const auto set_expected = [&](Context* context) {
    expected.Paint();
    std::vector<float> sum(static_cast<std::size_t>(sizes.rows * targets));
    for (ptrdiff_t e = 0, i = 0; e < sizes.experts; ++e) {
      for (std::int32_t n = 0; n < counts[static_cast<std::size_t>(e)];
           ++n, ++i) {
        const auto at = static_cast<std::size_t>(i);
        std::vector<typename Problem::Activation> values;
        for (ptrdiff_t k = 0; k < sizes.depth; ++k) {
          values.push_back(Element(activations.matrix, k, source_of[at]));
        }
        const auto column =
            MakeMatrix(values.data(), sizes.depth, 1, Order::kColMajor);
        const float* const its_bias =
            has_bias ? bias.as<float>() + e * routing.bias_stride : nullptr;
        const auto single = [&](float its_beta, auto* result) {
          problem.Single(e, source_of[at], its_bias, its_beta, column, context,
                         result);
        };
        if (!sums) {
          std::vector<Dst> result;
          for (ptrdiff_t row = 0; row < sizes.rows; ++row) {
            result.push_back(Element(expected.matrix, row, i));
          }
          auto matrix =
              MakeMatrix(result.data(), sizes.rows, 1, Order::kColMajor);
          single(beta, &matrix);
          for (ptrdiff_t row = 0; row < sizes.rows; ++row) {
            *ElementPtr(&expected.matrix, row, i) = Element(matrix, row, 0);
          }
          continue;
        }
        std::vector<float> result(static_cast<std::size_t>(sizes.rows));
        auto matrix =
            MakeMatrix(result.data(), sizes.rows, 1, Order::kColMajor);
        single(0, &matrix);
        for (ptrdiff_t row = 0; row < sizes.rows; ++row) {
          float& to =
              sum[static_cast<std::size_t>(target_of[at] * sizes.rows + row)];
          to = internal::RoundedSum(
              to,
              internal::RoundedProduct(factor_of[at], Element(matrix, row, 0)));
        }
      }
    }
    for (ptrdiff_t col = 0; sums && col < targets; ++col) {
      for (ptrdiff_t row = 0; row < sizes.rows; ++row) {
        Dst* const to = ElementPtr(&expected.matrix, row, col);
        float x = sum[static_cast<std::size_t>(col * sizes.rows + row)];
        if (beta != 0) {
          x = internal::RoundedSum(
              x, internal::RoundedProduct(beta, internal::Widened(*to)));
        }
        *to = static_cast<Dst>(x);
      }
    }
  };
  for (Context* const context : contexts) {
    problem.PackFor(context);
    dst.Paint();
    const absl::Status status =
        MulExperts(problem.experts, activations.matrix, routing, problem.params,
                   context, &dst.matrix, options);
    ASSERT_TRUE(status.ok()) << status;
    if (Problem::kDependsOnContext || context == contexts.front()) {
      set_expected(context);
    }
    for (ptrdiff_t i = 0; i < SpanOf(dst.matrix.layout()); ++i) {
      ASSERT_TRUE(SameFloat(dst.matrix.data()[i], expected.matrix.data()[i]))
          << "element " << i << " of " << sizes.rows << "x" << targets
          << ", depth " << sizes.depth << ", " << sizes.experts << " experts, "
          << pairs << " pairs" << *what << ", beta " << beta << ": "
          << static_cast<float>(dst.matrix.data()[i]) << ", not "
          << static_cast<float>(expected.matrix.data()[i]) << " ("
          << PathName(context->last_used_path()) << ")";
    }
    EXPECT_TRUE(dst.buffer.SlackIsIntact());
  }
}

struct Types {
  const char* name;
  void (*check)(Rng* rng, const std::vector<Context*>& contexts,
                std::string* what);
};
constexpr Types kTypes[] = {
    {"float by groups -> float", Check<ByGroups<float, float>>},
    {"bf16 by groups -> bf16", Check<ByGroups<BFloat16, BFloat16>>},
    {"int8 by groups -> float", Check<ByGroups<std::int8_t, float>>},
    {"float by float -> float", Check<ByMatrices<float, float>>},
    {"bf16 by bf16 -> bf16", Check<ByMatrices<BFloat16, BFloat16>>},
    {"int8 by int8 -> float", Check<ByMatrices<std::int8_t, float>>},
};

}  // namespace

void CheckExperts(std::uint64_t seed, const std::vector<Context*>& contexts,
                  std::string* what) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  const Types& types = kTypes[rng.Between(0, 5)];
  std::string routed;
  types.check(&rng, contexts, &routed);
  if (what != nullptr) *what = types.name + routed;
}

}  // namespace ruy_like
