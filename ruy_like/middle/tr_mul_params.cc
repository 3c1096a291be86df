#include "ruy_like/middle/tr_mul_params.h"

#include <algorithm>
#include <utility>

namespace ruy_like {

Operand MakeOperand(const ErasedMatrix& matrix, Side side) {
  const Layout& layout = matrix.layout;
  Operand operand;
  operand.data = matrix.data;
  operand.scalar = matrix.scalar;
  operand.cache_policy = matrix.cache_policy;
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

kernels::Family FamilyOf(Scalar lhs, Scalar rhs, Scalar accum, Scalar dst) {
  if (IsFloat(lhs)) {
    const bool all_f32 = lhs == Scalar::kF32 && rhs == Scalar::kF32 &&
                         accum == Scalar::kF32 && dst == Scalar::kF32;
    return all_f32 ? kernels::Family::kF32 : kernels::Family::kF64;
  }
  if (lhs == Scalar::kI16) return kernels::Family::k16x8;
  if (rhs == Scalar::kI16) return kernels::Family::k8x16;
  return kernels::Family::k8x8;
}

kernels::Family SwappedFamily(kernels::Family family) {
  if (family == kernels::Family::k8x16) return kernels::Family::k16x8;
  if (family == kernels::Family::k16x8) return kernels::Family::k8x16;
  return family;
}

namespace {

std::int8_t MaxExponent(const MulCall& call) {
  if (call.exponent_perchannel == nullptr) {
    return static_cast<std::int8_t>(call.exponent);
  }
  const std::ptrdiff_t channels =
      call.channel_dimension == ChannelDimension::kRow ? call.dst.layout.rows()
                                                       : call.dst.layout.cols();
  return static_cast<std::int8_t>(*std::max_element(
      call.exponent_perchannel, call.exponent_perchannel + channels));
}

void MakeScales(const MulCall& call, kernels::ScaleArgs* scales) {
  scales->lhs_per_row = call.lhs_scale_perrow != nullptr;
  scales->rhs_per_col = call.rhs_scale_percol != nullptr;
  scales->rhs_first = false;
  scales->lhs = scales->lhs_per_row ? call.lhs_scale_perrow : &call.lhs_scale;
  scales->rhs = scales->rhs_per_col ? call.rhs_scale_percol : &call.rhs_scale;
  scales->bias = static_cast<const float*>(call.bias);
}

// Each field once, rather than all zeroed and some then set: GCC zeroes a
// struct of this size by `rep stos`, 6 of the 110 ns of a 1x1x1 call (Zen 5).
void MakeEpilogue(const MulCall& call, bool scaled,
                  kernels::EpilogueArgs* epilogue) {
  const Layout& dst = call.dst.layout;
  epilogue->dst = const_cast<void*>(call.dst.data);
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
  epilogue->accumulates = call.beta != 0;
  epilogue->beta = call.beta;
  epilogue->channels_are_rows =
      call.channel_dimension == ChannelDimension::kRow;
  epilogue->per_channel = call.fixedpoint_perchannel != nullptr;
  epilogue->bias = scaled ? nullptr : call.bias;
  epilogue->bias_scalar = call.accum_scalar;
  epilogue->max_exponent = call.quantized ? MaxExponent(call) : 0;
  epilogue->fixedpoint = !call.quantized         ? nullptr
                         : epilogue->per_channel ? call.fixedpoint_perchannel
                                                 : &call.fixedpoint;
  epilogue->exponent = !call.quantized         ? nullptr
                       : epilogue->per_channel ? call.exponent_perchannel
                                               : &call.exponent;
  epilogue->dst_zero_point = call.dst.zero_point;
  const bool to_float = IsFloat(call.dst.scalar);
  epilogue->clamp_min =
      to_float ? 0 : static_cast<std::int32_t>(call.clamp_min);
  epilogue->clamp_max =
      to_float ? 0 : static_cast<std::int32_t>(call.clamp_max);
  epilogue->clamp_min_f = to_float ? call.clamp_min : 0;
  epilogue->clamp_max_f = to_float ? call.clamp_max : 0;
  epilogue->lhs_sums = nullptr;
  epilogue->rhs_sums = nullptr;
  epilogue->scales = nullptr;
  epilogue->lhs_zero_point = 0;
  epilogue->rhs_zero_point = 0;
  epilogue->zero_point_product = 0;
}

}  // namespace

const char* ScalarName(Scalar scalar) {
  switch (scalar) {
    case Scalar::kI8:
      return "int8";
    case Scalar::kU8:
      return "uint8";
    case Scalar::kI16:
      return "int16";
    case Scalar::kI32:
      return "int32";
    case Scalar::kF32:
      return "float";
    case Scalar::kF64:
      return "double";
  }
  return "?";
}

void SwapSides(TrMulParams* params) {
  std::swap(params->side.lhs, params->side.rhs);
  params->family = SwappedFamily(params->family);
  kernels::EpilogueArgs& epilogue = params->epilogue;
  std::swap(epilogue.dst_row_stride, epilogue.dst_col_stride);
  epilogue.channels_are_rows = !epilogue.channels_are_rows;
  if (params->scaled) {
    kernels::ScaleArgs& scales = params->scales;
    std::swap(scales.lhs, scales.rhs);
    std::swap(scales.lhs_per_row, scales.rhs_per_col);
    // The order of rounding is the caller's.
    scales.rhs_first = !scales.rhs_first;
  }
}

void MakeTrMulParams(const MulCall& call, TrMulParams* params) {
  params->side.lhs = MakeOperand(call.lhs, Side::kLhs);
  params->side.rhs = MakeOperand(call.rhs, Side::kRhs);
  params->family = FamilyOf(call.lhs.scalar, call.rhs.scalar, call.accum_scalar,
                            call.dst.scalar);
  params->scaled =
      call.accum_scalar == Scalar::kI32 && IsFloat(call.dst.scalar);
  if (params->scaled) MakeScales(call, &params->scales);
  MakeEpilogue(call, params->scaled, &params->epilogue);
}

kernels::EpilogueArgs EpilogueAt(const kernels::EpilogueArgs& args,
                                 std::ptrdiff_t row, std::ptrdiff_t col,
                                 kernels::ScaleArgs* scales) {
  kernels::EpilogueArgs at = args;
  at.dst = static_cast<char*>(args.dst) +
           (row * args.dst_row_stride + col * args.dst_col_stride) *
               ScalarBytes(args.dst_scalar);
  const std::ptrdiff_t channel = args.channels_are_rows ? row : col;
  if (args.bias != nullptr) {
    at.bias = static_cast<const char*>(args.bias) +
              channel * ScalarBytes(args.bias_scalar);
  }
  if (args.per_channel) {
    at.fixedpoint = args.fixedpoint + channel;
    at.exponent = args.exponent + channel;
  }
  if (args.lhs_sums != nullptr) at.lhs_sums = args.lhs_sums + row;
  if (args.rhs_sums != nullptr) at.rhs_sums = args.rhs_sums + col;
  if (args.scales != nullptr) {
    *scales = *args.scales;
    if (scales->lhs_per_row) scales->lhs += row;
    if (scales->rhs_per_col) scales->rhs += col;
    if (scales->bias != nullptr) scales->bias += channel;
    at.scales = scales;
  }
  return at;
}

}  // namespace ruy_like
