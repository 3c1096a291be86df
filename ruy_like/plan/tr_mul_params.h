// Plan: one product as plan and run see it, both operands alike.
//
// Made by the front-end (make_call.h) of a validated call. "TrMul" is
// transpose-multiply: the lhs counts as transposed, so that both operands are
// depth x width matrices. Nothing from here on is templated on an element type.
#ifndef RUY_LIKE_PLAN_TR_MUL_PARAMS_H_
#define RUY_LIKE_PLAN_TR_MUL_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/post_ops.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/packed/operand.h"
#include "ruy_like/scalar.h"
#include "ruy_like/side.h"

namespace ruy_like {

// dst is described by the epilogue, whose pointers are those of the whole dst.
// The epilogue's zero points, its sums of operands and its pointer to `scales`
// depend on the kernel: product.cc sets them once that is chosen.
struct TrMulParams {
  SidePair<Operand> side;
  Family family;
  FloatSums float_sums;  // kOfContext until product.cc sets it
  bool in_order;         // for cores that issue in order; set by product.cc
  kernels::EpilogueArgs epilogue;
  kernels::ScaleArgs scales;  // if scaled(), those of the whole dst
  // The same of zero points, if post_op_needs asks for sums; product.cc sets
  // all but the arrays.
  kernels::ZeroPointArgs zeros;
  // Steps that kernels leave to post-ops, which then add the epilogue's bias
  // and clamp to its bounds, too; of the whole dst, not set if there is
  // nothing.
  std::uint8_t post_op_needs;  // kernels::PostOpNeeds
  kernels::PostOpTerms post_ops;
  // Family kGroupScaled: how the activations are quantized; the scales of int8
  // ones per group and column, or null; their zero points per column or null,
  // and then the sums of the weights' rows.
  bool scales_per_group;
  const float* group_scales;
  const std::int8_t* column_zeros;
  const float* row_sums;

  bool scaled() const {
    return epilogue.output == kernels::Output::kRounded ||
           epilogue.output == kernels::Output::kScaled;
  }
  std::ptrdiff_t rows() const { return side.lhs.width; }
  std::ptrdiff_t cols() const { return side.rhs.width; }
  std::ptrdiff_t depth() const { return side.lhs.depth; }
};

// The same product seen as dst^T = rhs^T * lhs^T.
void SwapSides(TrMulParams* params);

// The epilogue of the part of dst that begins at (row, col) of the part that
// `args` is for. What it points to, if anything, is written to *sides, which
// must live as long as the result.
struct EpilogueSides {
  kernels::ScaleArgs scales;
  kernels::ZeroPointArgs zeros;
};
kernels::EpilogueArgs EpilogueAt(const kernels::EpilogueArgs& args,
                                 std::ptrdiff_t row, std::ptrdiff_t col,
                                 EpilogueSides* sides);

// The same of post-ops.
kernels::PostOpTerms PostOpsAt(const kernels::PostOpTerms& terms,
                               std::ptrdiff_t row, std::ptrdiff_t col);

}  // namespace ruy_like

#endif  // RUY_LIKE_PLAN_TR_MUL_PARAMS_H_
