#include "test/support/group_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "ruy_like/reference_group_mul.h"

namespace ruy_like {

RandomGroupWeights::RandomGroupWeights(std::ptrdiff_t rows,
                                       std::ptrdiff_t depth, int bits,
                                       std::ptrdiff_t group_size,
                                       Scalar scale_type, bool has_zeros,
                                       std::ptrdiff_t gap, float magnitude,
                                       Rng* rng, bool has_table,
                                       std::ptrdiff_t groups)
    : levels(Bytes(rows, (depth * bits + 7) / 8, gap), Flush::kEnd),
      scales(Bytes(rows, groups, gap) * InfoOf(scale_type).bits / 8,
             Flush::kEnd),
      zeros(has_zeros ? Bytes(rows, groups, gap) : 0, Flush::kEnd),
      table(has_table ? std::size_t{1} << bits : 0, Flush::kEnd),
      depth_order(depth * sizeof(std::int32_t), Flush::kEnd) {
  description.rows = rows;
  description.depth = depth;
  description.bits = bits;
  description.group_size = group_size;
  description.levels = levels.data();
  if (gap != 0) {
    description.row_stride_bytes = description.RowBytes() + gap;
    description.scale_stride = groups + gap;
  }
  description.scales = scales.data();
  description.scale_type = scale_type;
  description.zero_points = has_zeros ? zeros.data() : nullptr;
  if (has_table) description.table = table.as<std::int8_t>();
  const bool is_narrow = rng->OneIn(2);
  for (std::size_t i = 0; i < table.bytes(); ++i) {
    table.as<std::int8_t>()[i] =
        static_cast<std::int8_t>(is_narrow       ? rng->Between(-12, 12)
                                 : rng->OneIn(3) ? (rng->OneIn(2) ? -128 : 127)
                                                 : rng->Between(-128, 127));
  }
  const auto zero_point = [&] {
    return static_cast<int>(description.LevelsAreInt8()
                                ? rng->Between(-128, 127)
                                : rng->Between(0, 15));
  };
  description.zero_point = zero_point();
  for (std::size_t i = 0; i < levels.bytes(); ++i) {
    levels.data()[i] = static_cast<char>(
        rng->OneIn(3) ? (rng->OneIn(2) ? 0xff : 0x80) : rng->Next());
  }
  for (std::size_t i = 0; i < zeros.bytes(); ++i) {
    zeros.data()[i] = static_cast<char>(zero_point());
  }
  const std::size_t count = scales.bytes() * 8 / InfoOf(scale_type).bits;
  for (std::size_t i = 0; i < count; ++i) {
    const float scale = rng->OneIn(10) ? 0 : RandomFloat(rng) * magnitude;
    if (scale_type == Scalar::kF32) {
      scales.as<float>()[i] = scale;
    } else if (scale_type == Scalar::kBF16) {
      scales.as<BFloat16>()[i] = static_cast<BFloat16>(scale);
    } else {
      scales.as<Float16>()[i] =
          static_cast<Float16>(std::max(-60000.0f, std::min(scale, 60000.0f)));
    }
  }
}

void RandomGroupWeights::Shuffle(Rng* rng) {
  auto* const order = depth_order.as<std::int32_t>();
  for (std::ptrdiff_t k = 0; k < description.depth; ++k) {
    const std::ptrdiff_t other = rng->Between(0, k);
    order[k] = order[other];
    order[other] = static_cast<std::int32_t>(k);
  }
  description.depth_order = order;
}

void FillActivations(Matrix<std::int8_t>* matrix, Rng* rng, float /*unit*/) {
  FillElements(matrix, [rng] {
    return rng->OneIn(3) ? (rng->OneIn(2) ? -128 : 127)
                         : rng->Between(-128, 127);
  });
}

namespace {

// The same elements with rows and columns exchanged.
template <typename T>
Matrix<T> Transposed(const Matrix<T>& matrix) {
  Matrix<T> result = matrix;
  Layout* const layout = result.mutable_layout();
  layout->set_rows(matrix.layout().cols());
  layout->set_cols(matrix.layout().rows());
  layout->set_order(matrix.layout().order() == Order::kColMajor
                        ? Order::kRowMajor
                        : Order::kColMajor);
  return result;
}

std::ptrdiff_t RandomGroupSize(std::ptrdiff_t depth, Rng* rng) {
  switch (rng->Between(0, 6)) {
    case 0:
      return 0;
    case 1:
      return 16;
    case 2:
      return 32;
    case 3:
      return 48;
    case 4:
      return 128;
    case 5:
      return (depth + 15) / 16 * 16;  // one group, or just so
    default:
      return 16 * rng->Between(1, 20);
  }
}

Order RandomOrder(Rng* rng) {
  return rng->OneIn(2) ? Order::kColMajor : Order::kRowMajor;
}

template <typename Activation, typename Dst>
void CheckProduct(const Shape& shape, Rng* rng,
                  const std::vector<Context*>& contexts,
                  std::string* weights_name) {
  constexpr Scalar kScaleTypes[] = {Scalar::kF32, Scalar::kBF16, Scalar::kF16};
  // The greatest and least scales overflow floats, and make denormals.
  const float magnitude =
      std::ldexp(1.0f, static_cast<int>(rng->OneIn(3) ? rng->Between(-140, 127)
                                                      : rng->Between(-8, 0)));
  constexpr int kBits[] = {8, 4, 4, 4, 2};
  const int bits = kBits[rng->Between(0, 4)];
  RandomGroupWeights weights(
      shape.rows, shape.depth, bits, RandomGroupSize(shape.depth, rng),
      kScaleTypes[rng->Between(0, 2)], rng->OneIn(2),
      rng->OneIn(2) ? rng->Between(1, 9) : 0, magnitude, rng,
      /*has_table=*/bits == 4 && rng->OneIn(2));
  *weights_name = std::to_string(bits) + " bits" +
                  (weights.description.table != nullptr ? ", table," : "") +
                  " by " + ScalarName(weights.description.scale_type);
  if (rng->OneIn(4)) weights.Shuffle(rng);

  const bool is_lhs = rng->OneIn(2);
  GuardedMatrix<Activation> activations(is_lhs ? shape.depth : shape.cols,
                                        is_lhs ? shape.cols : shape.depth,
                                        RandomOrder(rng), rng->Between(0, 3));
  FillActivations(
      &activations.matrix, rng,
      rng->OneIn(4)
          ? std::ldexp(1.0f, static_cast<int>(rng->Between(-130, 120)))
          : 1.0f);
  const std::ptrdiff_t gap = rng->Between(0, 3);
  GuardedMatrix<Dst> dst(is_lhs ? shape.rows : shape.cols,
                         is_lhs ? shape.cols : shape.rows, RandomOrder(rng),
                         gap);
  GuardedMatrix<Dst> expected(dst.matrix.layout().rows(),
                              dst.matrix.layout().cols(),
                              dst.matrix.layout().order(), gap);

  GroupMulParams params;
  params.channel_dimension =
      rng->OneIn(2) ? ChannelDimension::kRow : ChannelDimension::kCol;
  GuardedBuffer bias(
      sizeof(float) * (params.channel_dimension == ChannelDimension::kRow
                           ? dst.matrix.layout().rows()
                           : dst.matrix.layout().cols()),
      Flush::kEnd);
  for (std::size_t i = 0; i < bias.bytes() / sizeof(float); ++i) {
    bias.as<float>()[i] = RandomFloat(rng);
  }
  if (rng->OneIn(2)) params.bias = bias.as<float>();
  if (rng->OneIn(3)) {
    params.clamp_min = -1;
    params.clamp_max = 2;
  }
  GuardedBuffer scales(sizeof(float) * shape.cols, Flush::kEnd);
  GuardedBuffer zeros(shape.cols, Flush::kEnd);
  for (std::ptrdiff_t i = 0; i < shape.cols; ++i) {
    scales.as<float>()[i] = RandomFloat(rng);
    zeros.as<std::int8_t>()[i] =
        static_cast<std::int8_t>(rng->Between(-128, 127));
  }
  if (std::is_same<Activation, std::int8_t>::value) {
    if (rng->OneIn(2)) params.activation_scales = scales.as<float>();
    if (rng->OneIn(3)) params.activation_zero_points = zeros.as<std::int8_t>();
  } else if (rng->OneIn(2)) {
    params.quantize = ActivationScales::kPerGroup;
  }

  if (rng->OneIn(3)) params.beta = 0.75f;
  // An activation, a factor per channel, and a residual that is dst or apart.
  PostOps ops;
  GuardedMatrix<Dst> residual(dst.matrix.layout().rows(),
                              dst.matrix.layout().cols(), RandomOrder(rng), 1);
  const bool in_place = rng->OneIn(2);
  if (rng->OneIn(2)) {
    FillElements(&residual.matrix, [rng] { return RandomFloat(rng); });
    ops.activation = static_cast<ruy_like::Activation>(rng->Between(0, 7));
    ops.slope = 0.5f;
    if (rng->OneIn(2)) {
      ops.factor = PostOperand::PerChannel(
          absl::MakeConstSpan(bias.as<float>(), bias.bytes() / sizeof(float)));
    }
    ops.residual = in_place ? dst.matrix : residual.matrix;
    params.post_ops = &ops;
  }

  MulOptions options;
  options.max_num_threads = static_cast<int>(rng->Between(0, 8));
  Matrix<Dst> reference =
      is_lhs ? expected.matrix : Transposed(expected.matrix);
  GroupMulParams reference_params = params;
  if (!is_lhs) {
    reference_params.channel_dimension =
        params.channel_dimension == ChannelDimension::kRow
            ? ChannelDimension::kCol
            : ChannelDimension::kRow;
  }
  PostOps reference_ops = ops;
  if (params.post_ops != nullptr) {
    const Matrix<Dst>& own = in_place ? expected.matrix : residual.matrix;
    reference_ops.residual = is_lhs ? own : Transposed(own);
    reference_params.post_ops = &reference_ops;
  }
  ReferenceGroupMul(
      weights.description,
      is_lhs ? activations.matrix : Transposed(activations.matrix),
      reference_params, &reference);
  for (Context* const context : contexts) {
    dst.Paint();
    const auto packed = PackGroupWeights(weights.description, context);
    ASSERT_TRUE(packed.ok()) << packed.status();
    const absl::Status status = is_lhs
                                    ? Mul(*packed, activations.matrix, params,
                                          context, &dst.matrix, options)
                                    : Mul(activations.matrix, *packed, params,
                                          context, &dst.matrix, options);
    ASSERT_TRUE(status.ok()) << status;
    for (std::ptrdiff_t i = 0; i < SpanOf(dst.matrix.layout()); ++i) {
      ASSERT_TRUE(SameFloat(dst.matrix.data()[i], expected.matrix.data()[i]))
          << "element " << i << " of " << dst.matrix.layout().rows() << "x"
          << dst.matrix.layout().cols() << ", depth " << shape.depth
          << ", bits " << weights.description.bits << ", table "
          << (weights.description.table != nullptr) << ", group size "
          << weights.description.group_size << ", zero points "
          << (weights.description.zero_points != nullptr)
          << ", activation zeros " << (params.activation_zero_points != nullptr)
          << ", per group " << (params.quantize == ActivationScales::kPerGroup)
          << ", depth order " << (weights.description.depth_order != nullptr)
          << ": " << static_cast<float>(dst.matrix.data()[i]) << ", not "
          << static_cast<float>(expected.matrix.data()[i]) << " ("
          << PathName(context->last_used_path()) << ", "
          << context->last_used_num_threads() << " threads)";
    }
    EXPECT_TRUE(dst.buffer.SlackIsIntact());
  }
}

// A product of these types, and what they are called.
struct GroupTypes {
  const char* name;
  void (*check)(const Shape& shape, Rng* rng,
                const std::vector<Context*>& contexts,
                std::string* weights_name);
};
constexpr GroupTypes kGroupTypes[] = {
    {"int8 -> float", CheckProduct<std::int8_t, float>},
    {"int8 -> bf16", CheckProduct<std::int8_t, BFloat16>},
    {"float -> float", CheckProduct<float, float>},
    {"float -> bf16", CheckProduct<float, BFloat16>},
    {"bf16 -> float", CheckProduct<BFloat16, float>},
    {"bf16 -> bf16", CheckProduct<BFloat16, BFloat16>},
};

}  // namespace

std::vector<float> GroupReference(const GroupWeights& weights,
                                  const Matrix<std::int8_t>& activations,
                                  const GroupMulParams& params) {
  const std::ptrdiff_t cols = activations.layout().cols();
  std::vector<float> result(weights.rows * cols);
  Matrix<float> dst =
      MakeMatrix(result.data(), weights.rows, cols, Order::kColMajor);
  ReferenceGroupMul(weights, activations, params, &dst);
  return result;
}

Shape RandomGroupShape(std::uint64_t seed) {
  Rng rng(seed + 1000000);
  const auto up_to = [&rng](int most) {
    return static_cast<std::ptrdiff_t>(rng.Between(1, most));
  };
  return {up_to(rng.OneIn(4) ? 150 : 40), up_to(rng.OneIn(4) ? 600 : 80),
          up_to(rng.OneIn(4) ? 45 : 15)};
}

void CheckGroupProduct(const Shape& shape, std::uint64_t seed,
                       const std::vector<Context*>& contexts,
                       std::string* types) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  const GroupTypes& drawn = kGroupTypes[rng.Between(0, 5)];
  std::string weights_name;
  drawn.check(shape, &rng, contexts, &weights_name);
  if (types != nullptr) *types = weights_name + " x " + drawn.name;
}

}  // namespace ruy_like
