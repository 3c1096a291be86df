// Tested in test/mul_test.cc.
#include "ruy_like/front/make_call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/base/attributes.h"
#include "ruy_like/base/hot.h"
#include "ruy_like/front/validate_batch.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/packed/group_image.h"
#include "ruy_like/packed/packed_operand.h"
#include "ruy_like/post_ops.h"

namespace ruy_like {
namespace {

inline kernels::Output OutputOf(const MulCall& call) {
  if (call.family == Family::kGroupScaled) return kernels::Output::kScaled;
  if (call.accum_scalar != Scalar::kI32) return kernels::Output::kFloat;
  if (IsFloat(call.dst.scalar)) return kernels::Output::kScaled;
  if (!call.quantized) return kernels::Output::kRaw;
  return call.rounding == MultiplierRounding::kFloat
             ? kernels::Output::kRounded
             : kernels::Output::kFixedPoint;
}

// These three functions set each field of the epilogue once, without zeroing
// the struct first: GCC zeroes a struct of this size by `rep stos`, 6 of the
// 110 ns of a 1x1x1 call on Zen 5. Fields that depend on the kernel are set
// later (run/product.cc).
inline void SetDst(const MulCall& call, kernels::EpilogueArgs* epilogue) {
  const Layout& dst = call.dst.layout;
  // A dst without gaps that is a single row or column has unit stride along
  // its length whatever its order is called.
  bool col_major = dst.order() == Order::kColMajor;
  if (dst.stride() == 1 && (col_major ? dst.rows() : dst.cols()) == 1) {
    col_major = !col_major;
  }
  const std::ptrdiff_t outer_stride =
      col_major == (dst.order() == Order::kColMajor)
          ? dst.stride()
          : (col_major ? dst.rows() : dst.cols());
  epilogue->dst_row_stride = col_major ? 1 : outer_stride;
  epilogue->dst_col_stride = col_major ? outer_stride : 1;
  epilogue->dst_scalar = call.dst.scalar;
  epilogue->output = OutputOf(call);
  epilogue->rounds_twice = call.rounding == MultiplierRounding::kTwice;
  epilogue->needs_general = call.rounding != MultiplierRounding::kOnce ||
                            Is16BitFloat(call.dst.scalar);
}

inline void SetChannels(const MulCall& call, std::int8_t max_exponent,
                        kernels::EpilogueArgs* epilogue) {
  epilogue->channels_are_rows =
      call.channel_dimension == ChannelDimension::kRow;
  epilogue->per_channel = call.fixedpoint_perchannel != nullptr;
  epilogue->bias_scalar = epilogue->output == kernels::Output::kScaled
                              ? Scalar::kF32
                              : call.accum_scalar;
  epilogue->max_exponent = max_exponent;
}

inline void SetBounds(const MulCall& call, kernels::EpilogueArgs* epilogue) {
  epilogue->dst_zero_point = call.dst.zero_point;
  const bool to_float = IsFloat(call.dst.scalar);
  epilogue->clamp_min =
      to_float ? 0 : static_cast<std::int32_t>(call.clamp_min);
  epilogue->clamp_max =
      to_float ? 0 : static_cast<std::int32_t>(call.clamp_max);
  epilogue->clamp_min_f = to_float ? call.clamp_min : 0;
  epilogue->clamp_max_f = to_float ? call.clamp_max : 0;
}

kernels::PostTerm TermOf(const PostOperand& operand, const void* data,
                         bool channels_are_rows) {
  if (operand.is_per_channel()) {
    return {data, Scalar::kF32, channels_are_rows ? 1 : 0,
            channels_are_rows ? 0 : 1};
  }
  const bool col_major = operand.layout().order() == Order::kColMajor;
  const std::ptrdiff_t stride = operand.layout().stride();
  return {data, operand.scalar(), col_major ? 1 : stride,
          col_major ? stride : 1};
}

// Not inlined: few calls have any.
ABSL_ATTRIBUTE_NOINLINE void SetPostOps(const MulCall& call,
                                        TrMulParams* params) {
  kernels::PostOpTerms& terms = params->post_ops;
  terms = {};
  terms.beta = call.beta;
  terms.accumulates = call.beta != 0;
  int needs = terms.accumulates ? kernels::kNeedsTile : kernels::kNeedsNothing;
  params->post_op_needs = static_cast<std::uint8_t>(needs);
  if (call.post_ops == nullptr) return;
  const PostOps& ops = *call.post_ops;
  if (ops.activation != Activation::kNone || !ops.factor.is_none() ||
      !ops.residual.is_none() || !ops.table.empty()) {
    needs |= kernels::kNeedsTile;
  }
  if (!ops.lhs_zero_points.empty()) needs |= kernels::kNeedsRhsSums;
  if (!ops.rhs_zero_points.empty()) needs |= kernels::kNeedsLhsSums;
  params->post_op_needs = static_cast<std::uint8_t>(needs);
  if (needs > kernels::kNeedsTile) {
    const auto array = [](absl::Span<const std::int32_t> values) {
      return values.empty() ? nullptr : values.data();
    };
    params->epilogue.needs_general = true;
    params->zeros.lhs = array(ops.lhs_zero_points);
    params->zeros.rhs = array(ops.rhs_zero_points);
  }
  terms.table = ops.table.empty() ? nullptr : ops.table.data();
  const bool by_row = params->epilogue.channels_are_rows;
  terms.activation = ops.activation;
  if (ops.activation == Activation::kLeakyRelu) {
    terms.slope = ops.slope_perchannel.empty()
                      ? kernels::PostTerm{&ops.slope, Scalar::kF32, 0, 0}
                      : TermOf(PostOperand::PerChannel(ops.slope_perchannel),
                               ops.slope_perchannel.data(), by_row);
  }
  if (!ops.factor.is_none()) {
    terms.factor = TermOf(ops.factor, call.factor, by_row);
  }
  if (!ops.residual.is_none()) {
    terms.residual = TermOf(ops.residual, call.residual, by_row);
  }
}

void SetGroups(const MulCall& call, TrMulParams* params) {
  const bool weights_are_lhs = params->side.lhs.packed != nullptr;
  Operand& activations = weights_are_lhs ? params->side.rhs : params->side.lhs;
  // Quantized activations are not kept, and no kernel asks for their range.
  activations.cache_policy = CachePolicy::kNeverCache;
  activations.value_range = ValueRange::kFull;
  params->scales_per_group =
      call.activation_scales == ActivationScales::kPerGroup;
  params->group_scales = call.activation_group_scales;
  const std::int8_t* const zeros = call.activation_zero_points;
  const bool has_zeros =
      zeros != nullptr &&
      std::any_of(zeros, zeros + activations.width,
                  [](std::int8_t zero) { return zero != 0; });
  params->column_zeros = has_zeros ? zeros : nullptr;
  params->row_sums =
      has_zeros
          ? GroupImageOf(
                *params->side[weights_are_lhs ? Side::kLhs : Side::kRhs].packed)
                .RowSums()
          : nullptr;
}

}  // namespace

Operand MakeOperand(const ErasedMatrix& matrix, Side side) {
  const Layout& layout = matrix.layout;
  Operand operand;
  operand.data = matrix.data;
  operand.scalar = matrix.scalar;
  operand.cache_policy = matrix.cache_policy;
  operand.value_range = matrix.value_range;
  operand.zero_point = matrix.zero_point;
  operand.depth = side == Side::kLhs ? layout.cols() : layout.rows();
  operand.width = side == Side::kLhs ? layout.rows() : layout.cols();
  operand.stride = layout.stride();
  operand.packed = matrix.packed;
  operand.depth_contiguous =
      layout.order() ==
      (side == Side::kLhs ? Order::kRowMajor : Order::kColMajor);
  // A vector without gaps is contiguous whatever its order is called.
  if (!operand.depth_contiguous && operand.width == 1 && operand.stride == 1) {
    operand.depth_contiguous = true;
    operand.stride = operand.depth;
  }
  return operand;
}

Addresses AddressesOf(const MulCall& call) {
  const bool has_post_ops = call.post_ops != nullptr;
  return {call.lhs.data,
          call.rhs.data,
          call.dst.data,
          call.bias,
          has_post_ops ? call.factor : nullptr,
          has_post_ops ? call.residual : nullptr};
}

RUY_LIKE_HOT void SetAddresses(const MulCall& call, bool swap_sides,
                               TrMulParams* params) {
  // Not by Addresses, which would take as many instructions as all of this.
  params->side.lhs.data = swap_sides ? call.rhs.data : call.lhs.data;
  params->side.rhs.data = swap_sides ? call.lhs.data : call.rhs.data;
  kernels::EpilogueArgs& epilogue = params->epilogue;
  epilogue.dst = const_cast<void*>(call.dst.data);
  epilogue.bias = call.bias;
  if (call.post_ops != nullptr) {
    params->post_ops.factor.data = call.factor;
    params->post_ops.residual.data = call.residual;
  }
  epilogue.fixedpoint = epilogue.exponent = nullptr;
  if (call.quantized) {
    epilogue.fixedpoint =
        epilogue.per_channel ? call.fixedpoint_perchannel : &call.fixedpoint;
    epilogue.exponent =
        epilogue.per_channel ? call.exponent_perchannel : &call.exponent;
  }
  if (!params->scaled()) return;
  const float* const lhs = call.lhs_scale_perrow != nullptr
                               ? call.lhs_scale_perrow
                               : &call.lhs_scale;
  const float* const rhs = call.rhs_scale_percol != nullptr
                               ? call.rhs_scale_percol
                               : &call.rhs_scale;
  params->scales.lhs = swap_sides ? rhs : lhs;
  params->scales.rhs = swap_sides ? lhs : rhs;
}

RUY_LIKE_HOT void MakeTrMulParams(const MulCall& call, std::int8_t max_exponent,
                                  TrMulParams* params) {
  params->side.lhs = MakeOperand(call.lhs, Side::kLhs);
  params->side.rhs = MakeOperand(call.rhs, Side::kRhs);
  params->family = call.family;
  params->float_sums = call.float_sums;
  SetDst(call, &params->epilogue);
  SetChannels(call, max_exponent, &params->epilogue);
  if (params->scaled()) {
    params->scales.lhs_per_row = call.lhs_scale_perrow != nullptr;
    params->scales.rhs_per_col = call.rhs_scale_percol != nullptr;
    params->scales.rhs_first = false;
  }
  SetBounds(call, &params->epilogue);
  params->post_op_needs = kernels::kNeedsNothing;
  if (call.beta != 0 || call.post_ops != nullptr) SetPostOps(call, params);
  SetAddresses(call, /*swap_sides=*/false, params);
  if (call.family == Family::kGroupScaled) SetGroups(call, params);
}

ProductStep StridesOf(const Batch& batch) {
  return {batch.lhs_stride,  batch.rhs_stride,    batch.dst_stride,
          batch.bias_stride, batch.factor_stride, batch.residual_stride};
}

ProductStep OuterStridesOf(const Batch& batch) {
  return {batch.lhs_outer_stride,    batch.rhs_outer_stride,
          batch.dst_outer_stride,    batch.bias_outer_stride,
          batch.factor_outer_stride, batch.residual_outer_stride};
}

void FillFromGroupCalls(const void* calls, std::ptrdiff_t product,
                        TrMulParams* params) {
  const GroupCall& call = static_cast<const GroupCall*>(calls)[product];
  MakeTrMulParams(call.call, call.max_exponent, params);
}

BatchSteps StepsOf(const MulCall& call, const Batch& batch) {
  static constexpr PostOps kNone;
  const PostOps& ops = call.post_ops == nullptr ? kNone : *call.post_ops;
  const Scalar scalars[kTerms] = {call.lhs.scalar,     call.rhs.scalar,
                                  call.dst.scalar,     call.accum_scalar,
                                  ops.factor.scalar(), ops.residual.scalar()};
  // The strides of a single product may have any value.
  const auto bytes = [&](std::ptrdiff_t count, const ProductStep& strides) {
    const Addresses first = AddressesOf(call);
    ProductStep step = {};
    for (int term = 0; term < kTerms; ++term) {
      if (count == 1 || first[term] == nullptr) continue;
      step[term] = BytesOf(scalars[term], strides[term]);
    }
    return step;
  };
  return {batch.count, bytes(batch.count, StridesOf(batch)),
          bytes(batch.outer_count, OuterStridesOf(batch))};
}

}  // namespace ruy_like
