// Middle-end: one product as it works on it, with both operands seen alike.
//
// Made by the front-end (make_call.h) of a validated call. "TrMul" is
// transpose-multiply: the lhs counts as transposed, so that both operands are
// depth x width matrices. Nothing from here on is templated on an element type.
#ifndef RUY_LIKE_MIDDLE_TR_MUL_PARAMS_H_
#define RUY_LIKE_MIDDLE_TR_MUL_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/matrix.h"
#include "ruy_like/scalar.h"
#include "ruy_like/side.h"

namespace ruy_like {

// A packed operand: packed_operand.h.
struct PackedOperand;

// One operand as a depth x width matrix.
struct Operand {
  const void* data;
  Scalar scalar;
  CachePolicy cache_policy;
  std::int32_t zero_point;
  // True: the levels of one column are adjacent and columns are `stride`
  // elements apart; false: the reverse.
  bool depth_contiguous;
  std::ptrdiff_t depth, width, stride;
  // Not null when the caller has packed it. Then data, depth_contiguous and
  // stride mean nothing.
  const PackedOperand* packed = nullptr;
  // As promised by the caller until somebody has looked; then what is true.
  ValueRange value_range = ValueRange::kFull;
  // The caller has promised what is not true.
  bool broke_promise = false;
};

// A product as the middle-end sees it. dst is described by the epilogue, whose
// pointers are those of the whole dst. What depends on the kernel there, the
// operands' zero points and sums, and the pointer to `scales`, is not set
// before there is one (product.cc).
struct TrMulParams {
  SidePair<Operand> side;
  Family family;
  kernels::EpilogueArgs epilogue;
  bool scaled = false;
  kernels::ScaleArgs scales;  // if so, those of the whole dst

  std::ptrdiff_t rows() const { return side.lhs.width; }
  std::ptrdiff_t cols() const { return side.rhs.width; }
  std::ptrdiff_t depth() const { return side.lhs.depth; }
};

// The same product seen as dst^T = rhs^T * lhs^T.
void SwapSides(TrMulParams* params);

// The epilogue of that part of dst that begins at (row, col) of the part that
// `args` is for. If there are scales, the new ones are put into *scales, which
// must live as long.
kernels::EpilogueArgs EpilogueAt(const kernels::EpilogueArgs& args,
                                 std::ptrdiff_t row, std::ptrdiff_t col,
                                 kernels::ScaleArgs* scales);

}  // namespace ruy_like

#endif  // RUY_LIKE_MIDDLE_TR_MUL_PARAMS_H_
