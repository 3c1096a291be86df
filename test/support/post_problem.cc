#include "test/support/post_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <type_traits>
#include <vector>

#include "ruy_like/base/float_state.h"
#include "ruy_like/mul.h"
#include "ruy_like/mul_batch.h"
#include "ruy_like/mul_plan.h"
#include "ruy_like/packed_matrix.h"
#include "ruy_like/reference_mul.h"

namespace ruy_like {
namespace {

using std::ptrdiff_t;

constexpr const char* kActivationNames[] = {
    "none", "leaky ReLU", "GELU", "GELU by tanh",
    "SiLU", "sigmoid",    "tanh", "hard swish"};

Order RandomOrder(Rng* rng) {
  return rng->OneIn(2) ? Order::kColMajor : Order::kRowMajor;
}

template <typename T>
std::vector<T> RandomElements(ptrdiff_t count, Rng* rng) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(rng->Next());
    } else {
      value = static_cast<T>(2 * static_cast<float>(rng->Signed()));
    }
  }
  return values;
}

// `products` matrices of dst's shape, one after the other, or channels.
struct Operand {
  std::vector<float> floats;
  std::vector<BFloat16> bfloats;
  std::vector<Float16> halves;
  PostOperand operand;
  ptrdiff_t stride = 0;  // from product to product

  template <typename T>
  void MakeMatrix(std::vector<T>* values, ptrdiff_t rows, ptrdiff_t cols,
                  ptrdiff_t products, Rng* rng) {
    const auto matrix =
        ruy_like::MakeMatrix(static_cast<T*>(nullptr), rows, cols,
                             RandomOrder(rng), rng->Between(0, 3));
    stride = SpanOf(matrix.layout()) + rng->Between(0, 2);
    *values = RandomElements<T>(products * stride + 1, rng);
    Matrix<T> first = matrix;
    first.set_data(values->data());
    operand = first;
  }
  template <typename Dst>
  void Draw(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t channels,
            ptrdiff_t products, Rng* rng) {
    switch (rng->Between(0, 3)) {
      case 0:
        return;
      case 1:
        floats = RandomElements<float>(channels, rng);
        operand = PostOperand::PerChannel(floats);
        return;
      case 2:
        if constexpr (std::is_same_v<Dst, BFloat16>) {
          return MakeMatrix(&bfloats, rows, cols, products, rng);
        }
        if constexpr (std::is_same_v<Dst, Float16>) {
          return MakeMatrix(&halves, rows, cols, products, rng);
        }
        [[fallthrough]];
      default:
        return MakeMatrix(&floats, rows, cols, products, rng);
    }
  }
};

template <typename T>
PostOperand Moved(const PostOperand& operand, const T* data) {
  Matrix<T> matrix;
  *matrix.mutable_layout() = operand.layout();
  matrix.set_data(data);
  return matrix;
}
// The operand of a product of a batch.
PostOperand OfProduct(const PostOperand& operand, ptrdiff_t offset) {
  if (operand.is_none() || operand.is_per_channel()) return operand;
  switch (operand.scalar()) {
    case Scalar::kBF16:
      return Moved(operand,
                   static_cast<const BFloat16*>(operand.data()) + offset);
    case Scalar::kF16:
      return Moved(operand,
                   static_cast<const Float16*>(operand.data()) + offset);
    default:
      return Moved(operand, static_cast<const float*>(operand.data()) + offset);
  }
}

template <typename Lhs, typename Rhs, typename Accum, typename Dst>
void CheckTypes(const Shape& shape, Rng* rng, Context* context,
                std::string* what) {
  using Params = MulParams<Accum, Dst>;
  constexpr bool kIsFloat = internal::IsFloatType<Dst>();
  enum class Way { kMul, kPacked, kPlan, kBatch, kGroup };
  const Way way = static_cast<Way>(rng->OneIn(2) ? 0 : rng->Between(1, 4));
  const bool is_batch = way == Way::kBatch || way == Way::kGroup;
  const ptrdiff_t inner = is_batch ? rng->Between(1, 3) : 1;
  const ptrdiff_t outer = is_batch ? rng->Between(1, 2) : 1;
  const ptrdiff_t products = inner * outer;
  const ptrdiff_t rows = shape.rows, cols = shape.cols;

  const auto lhs_values = RandomElements<Lhs>(rows * shape.depth, rng);
  const auto rhs_values = RandomElements<Rhs>(shape.depth * cols, rng);
  auto lhs = MakeMatrix(lhs_values.data(), rows, shape.depth, RandomOrder(rng));
  auto rhs = MakeMatrix(rhs_values.data(), shape.depth, cols, RandomOrder(rng));
  PostOps ops;
  std::vector<std::int32_t> zero_points[2];
  const auto set_zero_points = [&](auto* operand, ptrdiff_t count,
                                   std::vector<std::int32_t>* values) {
    using T = std::decay_t<decltype(operand->zero_point())>;
    if constexpr (sizeof(T) == 1) {
      if (rng->OneIn(2)) {
        operand->set_zero_point(static_cast<T>(rng->Between(0, 9)));
        return absl::Span<const std::int32_t>();
      }
      *values = RandomElements<std::int32_t>(count, rng);
      for (std::int32_t& value : *values) {
        if (!rng->OneIn(50)) value = static_cast<T>(value);
      }
    }
    return absl::MakeConstSpan(*values);
  };
  ops.lhs_zero_points = set_zero_points(&lhs, rows, &zero_points[0]);
  ops.rhs_zero_points = set_zero_points(&rhs, cols, &zero_points[1]);
  Matrix<Dst> dst = MakeMatrix(static_cast<Dst*>(nullptr), rows, cols,
                               RandomOrder(rng), rng->Between(0, 3));
  const ptrdiff_t dst_stride = SpanOf(dst.layout()) + 3;
  std::vector<Dst> result = RandomElements<Dst>(products * dst_stride, rng);
  dst.set_data(result.data());

  Params params;
  params.set_channel_dimension(rng->OneIn(2) ? ChannelDimension::kRow
                                             : ChannelDimension::kCol);
  const ptrdiff_t channels =
      params.channel_dimension() == ChannelDimension::kRow ? rows : cols;
  const auto bias = RandomElements<typename Params::BiasScalar>(channels, rng);
  const auto lhs_scales = RandomElements<float>(rows, rng);
  const auto slopes = RandomElements<float>(channels, rng);
  if (rng->OneIn(2)) params.set_bias(bias);
  if (rng->OneIn(3)) {
    params.set_clamp_min(static_cast<Dst>(kIsFloat ? -0.5f : 10));
    params.set_clamp_max(static_cast<Dst>(kIsFloat ? 1.0f : 90));
  }
  if constexpr (!Params::kQuantized) {
    if (rng->OneIn(3)) params.set_beta(static_cast<Dst>(kIsFloat ? -0.75f : 3));
  }
  std::vector<std::uint8_t> table;
  if constexpr (Params::kQuantized) {
    params.set_multiplier_rounding(
        static_cast<MultiplierRounding>(rng->Between(0, 2)));
    params.set_multiplier_exponent(static_cast<int>(rng->Between(-26, -20)));
    dst.set_zero_point(static_cast<Dst>(rng->Between(0, 60)));
    if (sizeof(Dst) == 1 && rng->OneIn(2)) {
      table = RandomElements<std::uint8_t>(256, rng);
      ops.table = table;
    }
  }
  if constexpr (Params::kHasScales) {
    params.set_lhs_scale_perrow(lhs_scales);
    params.set_rhs_scale(Params::kQuantized ? 0x1p-24f : 0x1p-14f);
  } else if constexpr (kIsFloat) {
    // A packed operand may have another kernel, with another order.
    if (way != Way::kPacked && rng->OneIn(3)) {
      params.set_float_sums(FloatSums::kAnyOrder);
    }
  }
  Operand factor, residual;
  if constexpr (kIsFloat) {
    ops.activation = static_cast<Activation>(rng->Between(0, 7));
    ops.slope = -0.125f;
    if (rng->OneIn(2)) ops.slope_perchannel = slopes;
    factor.Draw<Dst>(rows, cols, channels, products, rng);
    residual.Draw<Dst>(rows, cols, channels, products, rng);
  }
  ops.factor = factor.operand;
  ops.residual = residual.operand;
  const bool in_place = kIsFloat && rng->OneIn(4);
  if (in_place) {
    ops.residual = dst;
    residual.stride = dst_stride;
  }
  params.set_post_ops(&ops);
  *what = std::string(NameOf(ops.activation)) + ", " +
          ScalarName(internal::ScalarOf<Dst>());

  // The path's sums, in a matrix like dst.
  constexpr bool kHasFloatSums = internal::IsFloatType<Accum>();
  using Sum = std::conditional_t<kHasFloatSums, float, Dst>;
  std::vector<Dst> expected = result;
  std::vector<Sum> sums(static_cast<std::size_t>(dst_stride));
  if constexpr (kHasFloatSums) {
    Matrix<float> sum =
        MakeMatrix(sums.data(), rows, cols, dst.layout().order());
    sum.mutable_layout()->set_stride(dst.layout().stride());
    MulParams<float, float> bare;
    bare.set_float_sums(params.float_sums());
    ASSERT_OK(Mul(lhs, rhs, bare, context, &sum));
  }
  for (ptrdiff_t product = 0; product < products; ++product) {
    PostOps product_ops = ops;
    product_ops.factor = OfProduct(ops.factor, product * factor.stride);
    product_ops.residual = OfProduct(ops.residual, product * residual.stride);
    Matrix<Dst> product_dst = dst;
    product_dst.set_data(expected.data() + product * dst_stride);
    if (in_place) product_ops.residual = product_dst;
    Params product_params = params;
    product_params.set_post_ops(&product_ops);
    if constexpr (!kHasFloatSums) {
      ReferenceMul(lhs, rhs, product_params, &product_dst);
    } else {
      const ScopedFloatState state(FloatState::kFlushDenormals);
      for (ptrdiff_t row = 0; row < rows; ++row) {
        for (ptrdiff_t col = 0; col < cols; ++col) {
          Dst* const element = ElementPtr(&product_dst, row, col);
          *element = internal::ReferenceEpilogue<float, Dst>(
              sums[static_cast<std::size_t>(
                  ElementOffset(dst.layout(), row, col))],
              product_params, row, col, 0, element);
        }
      }
    }
  }

  switch (way) {
    case Way::kMul:
      ASSERT_OK(Mul(lhs, rhs, params, context, &dst));
      break;
    case Way::kPacked: {
      // For this dst's order: another one may have another kernel.
      PackOptions options;
      options.dst_order = dst.layout().order();
      if constexpr (std::is_same_v<Lhs, Rhs> && !std::is_integral_v<Lhs>) {
        // Other kernels than the bare product's may run on some paths.
        ASSERT_OK(Mul(lhs, rhs, params, context, &dst));
      } else {
        ASSERT_VALUE(const auto packed,
                     Pack(lhs, Side::kLhs, options, context));
        ASSERT_OK(Mul(packed, rhs, params, context, &dst));
      }
      break;
    }
    case Way::kPlan: {
      MulPlan plan;
      const int threads = static_cast<int>(rng->Between(1, 3));
      ASSERT_OK(plan.Prepare(lhs, rhs, params, threads, context, &dst));
      for (int i = 0; i < threads; ++i) ASSERT_OK(plan.Run(i));
      ASSERT_OK(plan.Finish());
      break;
    }
    case Way::kBatch: {
      Batch batch;
      batch.count = inner;
      batch.outer_count = outer;
      batch.dst_stride = dst_stride;
      batch.dst_outer_stride = inner * dst_stride;
      batch.factor_stride = factor.stride;
      batch.factor_outer_stride = inner * factor.stride;
      batch.residual_stride = residual.stride;
      batch.residual_outer_stride = inner * residual.stride;
      ASSERT_OK(MulBatch(lhs, rhs, params, batch, context, &dst));
      break;
    }
    case Way::kGroup: {
      std::vector<PostOps> item_ops(static_cast<std::size_t>(products), ops);
      std::vector<BatchItem<Matrix<const Lhs>, Matrix<const Rhs>, Accum, Dst>>
          items;
      for (ptrdiff_t i = 0; i < products; ++i) {
        PostOps& own = item_ops[static_cast<std::size_t>(i)];
        own.factor = OfProduct(ops.factor, i * factor.stride);
        own.residual = OfProduct(ops.residual, i * residual.stride);
        items.push_back({lhs, rhs, params, dst});
        items.back().dst.set_data(result.data() + i * dst_stride);
        if (in_place) own.residual = items.back().dst;
        items.back().mul_params.set_post_ops(&own);
      }
      ASSERT_OK(MulGroup(items, context));
      break;
    }
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool is_same = [&] {
      if constexpr (kIsFloat) return SameFloat(result[i], expected[i]);
      return result[i] == expected[i];
    }();
    ASSERT_TRUE(is_same) << "element " << i << " of " << products << " "
                         << shape << ", stride " << dst_stride << ", " << *what
                         << ", way " << static_cast<int>(way) << ", beta "
                         << static_cast<float>(params.beta()) << ", factor "
                         << !ops.factor.is_none() << ", residual "
                         << !ops.residual.is_none() << ", zero points "
                         << ops.lhs_zero_points.size() << ", "
                         << ops.rhs_zero_points.size() << ", table "
                         << ops.table.size() << ", rounding "
                         << static_cast<int>(params.multiplier_rounding())
                         << ", in place " << in_place << ", kernel "
                         << context->last_used_kernel() << ": "
                         << static_cast<float>(result[i]) << ", not "
                         << static_cast<float>(expected[i]);
  }
}

}  // namespace

const char* NameOf(Activation activation) {
  return kActivationNames[static_cast<int>(activation)];
}

void CheckPostOps(const Shape& shape, std::uint64_t seed, Context* context,
                  std::string* what) {
  Rng rng(seed);
  std::string unused;
  if (what == nullptr) what = &unused;
  switch (rng.Between(0, 9)) {
    case 0:
      return CheckTypes<float, float, float, float>(shape, &rng, context, what);
    case 1:
      return CheckTypes<BFloat16, BFloat16, float, BFloat16>(shape, &rng,
                                                             context, what);
    case 2:
      return CheckTypes<Float16, Float16, float, Float16>(shape, &rng, context,
                                                          what);
    case 3:
      return CheckTypes<Float16, float, float, float>(shape, &rng, context,
                                                      what);
    case 4:
      return CheckTypes<std::int8_t, std::int8_t, std::int32_t, std::int8_t>(
          shape, &rng, context, what);
    case 5:
      return CheckTypes<std::uint8_t, std::int8_t, std::int32_t, std::uint8_t>(
          shape, &rng, context, what);
    case 6:
      return CheckTypes<std::int16_t, std::int8_t, std::int32_t, std::int16_t>(
          shape, &rng, context, what);
    case 7:
      return CheckTypes<std::uint8_t, std::uint8_t, std::int32_t, std::int32_t>(
          shape, &rng, context, what);
    default:
      return CheckTypes<std::int8_t, std::uint8_t, std::int32_t, float>(
          shape, &rng, context, what);
  }
}

}  // namespace ruy_like
