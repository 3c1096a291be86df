// Front-end to middle-end: one product, with types erased and both operands
// seen alike.
//
// Two forms of the same call. MulCall is what the caller said (rows, columns,
// orders); validation and error messages speak of it. TrMulParams is what the
// middle-end works on: "transpose-multiply", where the lhs counts as transposed
// so that both operands are depth x width matrices. Nothing below here is
// templated on an element type.
#ifndef RUY_LIKE_MIDDLE_TR_MUL_PARAMS_H_
#define RUY_LIKE_MIDDLE_TR_MUL_PARAMS_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"

namespace ruy_like {

// Operands are often kept in arrays of two, indexed by Side.
enum class Side : std::uint8_t { kLhs, kRhs };

template <typename T>
struct SidePair {
  T lhs;
  T rhs;
  T& operator[](Side side) { return side == Side::kLhs ? lhs : rhs; }
  const T& operator[](Side side) const {
    return side == Side::kLhs ? lhs : rhs;
  }
};

// A packed operand: packed_operand.h.
struct PackedOperand;

// Bytes of one element.
constexpr std::ptrdiff_t ScalarBytes(Scalar scalar) {
  switch (scalar) {
    case Scalar::kI8:
    case Scalar::kU8:
      return 1;
    case Scalar::kI16:
      return 2;
    case Scalar::kI32:
    case Scalar::kF32:
      return 4;
    case Scalar::kF64:
      return 8;
  }
  return 0;
}

// "int8", "uint8", "int16", "int32", "float", "double".
const char* ScalarName(Scalar scalar);

constexpr bool IsFloat(Scalar scalar) {
  return scalar == Scalar::kF32 || scalar == Scalar::kF64;
}
constexpr bool Is8Bit(Scalar scalar) {
  return scalar == Scalar::kI8 || scalar == Scalar::kU8;
}

// A Matrix<T> without T. Of a packed one, the layout has shape alone.
struct ErasedMatrix {
  const void* data;
  Scalar scalar;
  bool data_is_const;
  CachePolicy cache_policy;
  std::int32_t zero_point;
  // False when a float operand's zero point is not 0 (it does not fit the
  // integer field).
  bool zero_point_is_integer;
  Layout layout;
  // Null for a Matrix; else what there is instead of data.
  const PackedOperand* packed = nullptr;
};

// Mul's arguments without their types.
struct MulCall {
  ErasedMatrix lhs, rhs, dst;
  ChannelDimension channel_dimension;
  bool quantized;
  Scalar accum_scalar;
  const void* bias;
  // Per-tensor values, used where the array is null.
  std::int32_t fixedpoint;
  std::int32_t exponent;
  const std::int32_t* fixedpoint_perchannel;
  const std::int32_t* exponent_perchannel;
  // Of a scaled dst; the single values are used where the array is null.
  float lhs_scale, rhs_scale;
  const float* lhs_scale_perrow;
  const float* rhs_scale_percol;
  double beta;  // exact, like the bounds
  // Clamp bounds: every dst type's values are exact in a double.
  double clamp_min, clamp_max;
  // Upper bound for this call; 0: none but the Context's.
  int max_num_threads = 0;
};

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
};

// A product as the middle-end sees it. dst is described by the epilogue, whose
// pointers are those of the whole dst. What depends on the kernel, the
// operands' zero points and sums, and `scales` are zero and null until
// tr_mul.cc fills them in.
struct TrMulParams {
  SidePair<Operand> side;
  kernels::Family family;
  kernels::EpilogueArgs epilogue;
  bool scaled = false;
  kernels::ScaleArgs scales;  // if so, those of the whole dst

  std::ptrdiff_t rows() const { return side.lhs.width; }
  std::ptrdiff_t cols() const { return side.rhs.width; }
  std::ptrdiff_t depth() const { return side.lhs.depth; }
};

// The kernel family of a product; operands may be given in either order, which
// then is that of the family's sides.
kernels::Family FamilyOf(Scalar lhs, Scalar rhs, Scalar accum, Scalar dst);

// The same family with its sides swapped.
kernels::Family SwappedFamily(kernels::Family family);

// One operand of a validated call.
Operand MakeOperand(const ErasedMatrix& matrix, Side side);

// The same product seen as dst^T = rhs^T * lhs^T.
void SwapSides(TrMulParams* params);

// Erases a validated call. Single multipliers and scales are referred to in
// place, so `call` must outlive *params.
void MakeTrMulParams(const MulCall& call, TrMulParams* params);

// The epilogue of that part of dst that begins at (row, col) of the part that
// `args` is for. If there are scales, the new ones are put into *scales, which
// must live as long.
kernels::EpilogueArgs EpilogueAt(const kernels::EpilogueArgs& args,
                                 std::ptrdiff_t row, std::ptrdiff_t col,
                                 kernels::ScaleArgs* scales);

}  // namespace ruy_like

#endif  // RUY_LIKE_MIDDLE_TR_MUL_PARAMS_H_
