// Internal, but installed: one call of Mul without its types.
//
// Written by the templates of mul.h and packed_matrix.h in the caller's
// program, read by the front-end. It is what the caller said (rows, columns,
// orders): validation and error messages speak of it.
#ifndef RUY_LIKE_ERASED_CALL_H_
#define RUY_LIKE_ERASED_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ruy_like/matrix.h"
#include "ruy_like/mul_params.h"
#include "ruy_like/path.h"
#include "ruy_like/scalar.h"
#include "ruy_like/side.h"

namespace ruy_like {

// What a packed operand was made for, and where it lies: what there is to
// validate of it. The middle-end's PackedOperand (packed_operand.h) is one of
// these with panels.
struct PackedFacts {
  // The operand that it can be, as the caller of Mul sees it.
  Side side;
  // The side of the kernels that read it: the same for a column-major dst, the
  // other one for a row-major dst.
  Side kernel_side;
  // Of the products that it is for, sides as the caller of Mul sees them.
  Family family;
  // Whose kernels read it.
  Path path;
  // "S8 16x4".
  std::string layout_name;
  // All of its bytes, header included.
  const void* image;
  std::size_t image_bytes;
};

// A Matrix<T> without T. Of a packed one, the layout has shape alone.
struct ErasedMatrix {
  const void* data;
  Scalar scalar;
  bool data_is_const;
  CachePolicy cache_policy;
  ValueRange value_range = ValueRange::kFull;
  std::int32_t zero_point;
  // False when a float operand's zero point is not 0 (it does not fit the
  // integer field).
  bool zero_point_is_integer;
  Layout layout;
  // Null for a Matrix; else what there is instead of data.
  const PackedFacts* packed = nullptr;
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

}  // namespace ruy_like

#endif  // RUY_LIKE_ERASED_CALL_H_
