#include "test/support/random_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "ruy_like/float16.h"
#include "ruy_like/group_weights.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "test/support/batch_problem.h"
#include "test/support/group_problem.h"
#include "test/support/guarded_buffer.h"
#include "test/support/test_util.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

// From one product to the next, and from one batch of them to the next.
struct Steps {
  ptrdiff_t inner = 0, outer = 0;
};

// The products of a batch, and from where they begin.
struct Counts {
  ptrdiff_t inner, outer;
  ptrdiff_t Last(const Steps& steps) const {
    return (inner - 1) * steps.inner + (outer - 1) * steps.outer;
  }
  ptrdiff_t Offset(const Steps& steps, ptrdiff_t i) const {
    return i % inner * steps.inner + i / inner * steps.outer;
  }
};

// Each level by itself: shared, overlapping or apart.
Steps DrawSteps(ptrdiff_t span, const Counts& counts, Rng* rng) {
  const auto draw = [rng](ptrdiff_t apart) -> ptrdiff_t {
    if (rng->OneIn(3)) return 0;
    return rng->OneIn(3) ? rng->Between(1, 40) : apart + rng->Between(0, 3);
  };
  Steps steps;
  steps.inner = draw(span);
  steps.outer = draw(rng->OneIn(2) ? span : counts.inner * steps.inner);
  return steps;
}

template <typename T>
void FillRandomly(Rng* rng, GuardedBuffer* buffer) {
  const ptrdiff_t count = buffer->bytes() / sizeof(T);
  const auto values = Values<T>(count, rng->Next());
  std::copy(values.begin(), values.end(), buffer->as<T>());
}

// An operand of each product.
template <typename T>
struct Operand {
  Operand(ptrdiff_t rows, ptrdiff_t cols, const Counts& counts, Rng* rng)
      : matrix(MakeMatrix(static_cast<T*>(nullptr), rows, cols,
                          kOrders[rng->Between(0, 1)],
                          rng->OneIn(2) ? 0 : rng->Between(1, 20))),
        steps(DrawSteps(SpanOf(matrix.layout()), counts, rng)),
        buffer((SpanOf(matrix.layout()) + counts.Last(steps)) * sizeof(T),
               Flush::kEnd) {
    matrix.set_data(buffer.template as<T>());
    FillRandomly<T>(rng, &buffer);
  }
  Matrix<T> Of(ptrdiff_t product, const Counts& counts) const {
    Matrix<T> result = matrix;
    result.set_data(matrix.data() + counts.Offset(steps, product));
    return result;
  }

  Matrix<T> matrix;
  Steps steps;
  GuardedBuffer buffer;
};

// The same one for all.
template <typename Packed>
struct PackedOperand {
  const Packed& Of(ptrdiff_t, const Counts&) const { return matrix; }

  Packed matrix;
  Steps steps;
};

// A matrix after the other, or side by side in the rows (or columns) of a
// larger one: at one level, at the other or at both.
Steps DrawDst(const Counts& counts, Rng* rng, Layout* layout) {
  const bool is_col_major = layout->order() == Order::kColMajor;
  const ptrdiff_t inner = is_col_major ? layout->rows() : layout->cols();
  const ptrdiff_t outer = is_col_major ? layout->cols() : layout->rows();
  ptrdiff_t width = inner + rng->Between(0, 2);
  Steps steps;
  const bool inner_is_beside = rng->OneIn(2), outer_is_beside = rng->OneIn(2);
  if (inner_is_beside) {
    steps.inner = width;
    width *= counts.inner;
  }
  if (outer_is_beside) {
    steps.outer = width;
    width *= counts.outer;
  }
  layout->set_stride(width);
  ptrdiff_t size = width * outer;
  if (!inner_is_beside) {
    steps.inner = size + rng->Between(0, 2);
    size = steps.inner * counts.inner;
  }
  if (!outer_is_beside) steps.outer = size;
  return steps;
}

template <typename Accum, typename Dst>
void SetBias(const typename MulParams<Accum, Dst>::BiasScalar* bias,
             MulParams<Accum, Dst>* params) {
  params->set_bias(bias);
}
void SetBias(const float* bias, GroupMulParams* params) { params->bias = bias; }

// Lhs and Rhs are operands as above.
template <typename Lhs, typename Rhs, typename Bias, typename Params,
          typename Dst>
class BatchCheck {
 public:
  BatchCheck(Lhs* lhs, Rhs* rhs, const Params& params, const Counts& counts,
             const Matrix<Dst>& dst, Rng* rng)
      : lhs_(lhs),
        rhs_(rhs),
        params_(params),
        counts_(counts),
        dst_(dst),
        rng_(rng),
        dst_steps_(DrawDst(counts, rng, dst_.mutable_layout())),
        bias_steps_(DrawSteps(dst.layout().rows(), counts, rng)),
        bias_(Bytes<Bias>(dst.layout().rows() + counts.Last(bias_steps_)),
              Flush::kEnd),
        result_(Bytes<Dst>(SpanOf(dst_.layout()) + counts.Last(dst_steps_)),
                Flush::kEnd) {
    FillBias();
    SetBias(bias_.as<Bias>(), &params_);
    batch_.count = counts.inner;
    batch_.lhs_stride = lhs->steps.inner;
    batch_.rhs_stride = rhs->steps.inner;
    batch_.dst_stride = dst_steps_.inner;
    batch_.bias_stride = bias_steps_.inner;
    batch_.outer_count = counts.outer;
    batch_.lhs_outer_stride = lhs->steps.outer;
    batch_.rhs_outer_stride = rhs->steps.outer;
    batch_.dst_outer_stride = dst_steps_.outer;
    batch_.bias_outer_stride = bias_steps_.outer;
  }

  void Run(Context* context) {
    std::vector<char> expected = Expected(context->runtime_enabled_paths());
    dst_.set_data(result_.as<Dst>());
    Wipe();
    ASSERT_OK(
        MulBatch(lhs_->matrix, rhs_->matrix, params_, batch_, context, &dst_));
    ASSERT_TRUE(Holds(expected)) << "MulBatch" << Description();
    MulPlan plan;
    const int threads = 1 + static_cast<int>(rng_->Between(0, 3));
    ASSERT_OK(plan.PrepareBatch(lhs_->matrix, rhs_->matrix, params_, batch_,
                                threads, context, &dst_));
    for (const bool repeated : {false, true}) {
      if (repeated) {
        Refill(lhs_);
        Refill(rhs_);
        FillBias();
        expected = Expected(context->runtime_enabled_paths());
        ASSERT_OK(plan.Repeat());
      }
      Wipe();
      for (int i = threads - 1; i >= 0; --i) ASSERT_OK(plan.Run(i));
      ASSERT_OK(plan.Finish());
      ASSERT_TRUE(Holds(expected))
          << (repeated ? "a plan repeated" : "a plan") << Description();
    }
  }

 private:
  template <typename T>
  static std::size_t Bytes(ptrdiff_t elements) {
    return static_cast<std::size_t>(elements) * sizeof(T);
  }
  template <typename T>
  void Refill(Operand<T>* operand) {
    FillRandomly<T>(rng_, &operand->buffer);
  }
  template <typename Packed>
  void Refill(PackedOperand<Packed>*) {}
  void FillBias() {
    const ptrdiff_t count = bias_.bytes() / sizeof(Bias);
    for (ptrdiff_t i = 0; i < count; ++i) {
      bias_.as<Bias>()[i] = static_cast<Bias>(rng_->Between(-1000, 1000));
    }
  }
  void Wipe() { std::memset(result_.data(), 77, result_.bytes()); }
  bool Holds(const std::vector<char>& expected) const {
    return std::memcmp(result_.data(), expected.data(), expected.size()) == 0;
  }

  // All of dst's memory.
  std::vector<char> Expected(Path paths) {
    Wipe();
    Context context;
    context.set_runtime_enabled_paths(paths);
    for (ptrdiff_t i = 0; i < counts_.inner * counts_.outer; ++i) {
      Matrix<Dst> dst = dst_;
      dst.set_data(result_.as<Dst>() + counts_.Offset(dst_steps_, i));
      Params params = params_;
      SetBias(bias_.as<Bias>() + counts_.Offset(bias_steps_, i), &params);
      EXPECT_OK(Mul(lhs_->Of(i, counts_), rhs_->Of(i, counts_), params,
                    &context, &dst));
    }
    const char* const first = static_cast<const char*>(result_.data());
    return {first, first + result_.bytes()};
  }
  std::string Description() const {
    std::ostringstream text;
    text << " of " << counts_.inner << " by " << counts_.outer
         << " products, dst " << dst_.layout().rows() << "x"
         << dst_.layout().cols() << ", strides of lhs " << lhs_->steps.inner
         << ", " << lhs_->steps.outer << ", of rhs " << rhs_->steps.inner
         << ", " << rhs_->steps.outer << ", of dst " << dst_steps_.inner << ", "
         << dst_steps_.outer;
    return text.str();
  }

  Lhs* lhs_;
  Rhs* rhs_;
  Params params_;
  Counts counts_;
  Matrix<Dst> dst_;
  Rng* rng_;
  Steps dst_steps_, bias_steps_;
  GuardedBuffer bias_, result_;
  Batch batch_;
};

struct Draw {
  explicit Draw(std::uint64_t seed) : rng(seed) {
    const auto up_to = [this](int most) {
      return static_cast<ptrdiff_t>(rng.Between(1, most));
    };
    const auto size = [&] { return up_to(rng.OneIn(4) ? 80 : 20); };
    shape = {size(), rng.OneIn(20) ? 0 : size(), size()};
    counts = {up_to(5), rng.OneIn(3) ? 1 : up_to(4)};
  }
  template <typename T>
  Matrix<T> Dst() {
    return MakeMatrix(static_cast<T*>(nullptr), shape.rows, shape.cols,
                      kOrders[rng.Between(0, 1)]);
  }
  template <typename Bias, typename Lhs, typename Rhs, typename Params,
            typename Dst>
  void Check(Lhs lhs, Rhs rhs, const Params& params, const Matrix<Dst>& dst) {
    BatchCheck<std::remove_pointer_t<Lhs>, std::remove_pointer_t<Rhs>, Bias,
               Params, Dst>
        check(lhs, rhs, params, counts, dst, &rng);
    for (Context* const context : contexts) {
      check.Run(context);
      if (testing::Test::HasFatalFailure()) {
        ADD_FAILURE() << context->last_used_kernel();
        return;
      }
    }
  }

  Rng rng;
  Shape shape;
  Counts counts;
  std::vector<Context*> contexts;
};

// An operand that is packed for the context's path, where that is one.
template <typename T>
void Pack(const Operand<T>& operand, Side side, Order dst_order,
          bool other_is_int16, Context* context,
          PackedOperand<PackedMatrix<T>>* packed) {
  PackOptions options;
  options.dst_order = dst_order;
  if (other_is_int16) options.pack_for = PackFor::kInt16Operand;
  ASSERT_VALUE(packed->matrix, Pack(operand.matrix, side, options, context));
}

template <typename Types>
void CheckTypes(Draw* draw) {
  using Lhs = typename Types::Lhs;
  using Rhs = typename Types::Rhs;
  using Accum = typename Types::Accum;
  using Problem = BatchProblem<Types>;
  using Bias = typename Problem::Bias;
  Rng* const rng = &draw->rng;
  const Shape& shape = draw->shape;
  Operand<Lhs> lhs(shape.rows, shape.depth, draw->counts, rng);
  Operand<Rhs> rhs(shape.depth, shape.cols, draw->counts, rng);
  const auto dst = draw->Dst<typename Types::Dst>();
  MulParams<Accum, typename Types::Dst> params;
  if constexpr (Problem::kIsQuantized) {
    params.set_multiplier_fixedpoint(1 << 30);
    params.set_multiplier_exponent(-8);
  }
  const auto change = [rng](auto* matrix) {
    if constexpr (sizeof(*matrix->data()) == 1) {
      if (rng->OneIn(2)) matrix->set_zero_point(3);
      // A promise that random values break.
      if (rng->OneIn(3)) matrix->set_value_range(ValueRange::kInt7);
    }
  };
  change(&lhs.matrix);
  change(&rhs.matrix);
  // A packed operand is for one path.
  const int packed =
      std::is_same_v<Accum, double> ? 2 : static_cast<int>(rng->Between(0, 4));
  if (packed > 1) return draw->Check<Bias>(&lhs, &rhs, params, dst);
  const std::vector<Context*> contexts = draw->contexts;
  for (Context* const context : contexts) {
    draw->contexts = {context};
    const Order order = dst.layout().order();
    if (packed == 0) {
      PackedOperand<PackedMatrix<Lhs>> packed_lhs;
      Pack(lhs, Side::kLhs, order, std::is_same_v<Rhs, std::int16_t>, context,
           &packed_lhs);
      draw->Check<Bias>(&packed_lhs, &rhs, params, dst);
    } else {
      PackedOperand<PackedMatrix<Rhs>> packed_rhs;
      Pack(rhs, Side::kRhs, order, std::is_same_v<Lhs, std::int16_t>, context,
           &packed_rhs);
      draw->Check<Bias>(&lhs, &packed_rhs, params, dst);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

// The weights are the lhs or, transposed, the rhs.
template <typename Activation>
void CheckGroups(Draw* draw) {
  Rng* const rng = &draw->rng;
  const Shape& shape = draw->shape;
  const bool are_lhs = rng->OneIn(2);
  RandomGroupWeights weights(are_lhs ? shape.rows : shape.cols, shape.depth,
                             rng->OneIn(2) ? 4 : 8, 16 * rng->Between(0, 3),
                             Scalar::kF32, rng->OneIn(2), 0, 1, rng);
  if (rng->OneIn(3)) weights.Shuffle(rng);
  Context context;
  PackedOperand<PackedGroupWeights> packed;
  ASSERT_VALUE(packed.matrix, PackGroupWeights(weights.description, &context));
  const auto dst = draw->Dst<float>();
  GroupMulParams params;
  if (!std::is_same_v<Activation, std::int8_t> && rng->OneIn(3)) {
    params.quantize = ActivationScales::kPerGroup;
  }
  if (are_lhs) {
    Operand<Activation> rhs(shape.depth, shape.cols, draw->counts, rng);
    draw->Check<float>(&packed, &rhs, params, dst);
  } else {
    Operand<Activation> lhs(shape.rows, shape.depth, draw->counts, rng);
    draw->Check<float>(&lhs, &packed, params, dst);
  }
}

constexpr struct {
  const char* name;
  void (*check)(Draw* draw);
} kKinds[] = {
    {"int8 x int8 -> int8", CheckTypes<Int8>},
    {"uint8 x int8 -> int32", CheckTypes<Raw>},
    {"int8 x uint8 -> float", CheckTypes<Scaled>},
    {"int8 x int16 -> int16", CheckTypes<Wide>},
    {"int16 x int8 -> int32", CheckTypes<WideLhs>},
    {"float x float -> float", CheckTypes<Float>},
    {"double x double -> double", CheckTypes<Double>},
    {"float x double -> float", CheckTypes<Mixed>},
    {"bfloat16 x bfloat16 -> bfloat16", CheckTypes<BFloat>},
    {"float16 x float -> float", CheckTypes<HalfByFloat>},
    {"groups and int8", CheckGroups<std::int8_t>},
    {"groups and float", CheckGroups<float>},
    {"groups and bfloat16", CheckGroups<BFloat16>},
};

}  // namespace

void CheckBatch(std::uint64_t seed, const std::vector<Context*>& contexts,
                std::string* types) {
  Draw draw(seed);
  draw.contexts = contexts;
  const auto& kind = kKinds[draw.rng.Next() % std::size(kKinds)];
  if (types != nullptr) *types = kind.name;
  kind.check(&draw);
}

}  // namespace ruy_like
