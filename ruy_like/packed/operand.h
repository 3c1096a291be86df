// Packed: an operand of a product, be it an lhs or an rhs.
//
// Made by the front-end (make_call.h) of a validated matrix, read by all below
// it. Plain values that own nothing.
#ifndef RUY_LIKE_PACKED_OPERAND_H_
#define RUY_LIKE_PACKED_OPERAND_H_

#include <cstddef>
#include <cstdint>

#include "ruy_like/matrix.h"
#include "ruy_like/scalar.h"

namespace ruy_like {

// A packed operand: packed_operand.h.
struct PackedOperand;

// One operand as a depth x width matrix.
struct Operand {
  const void* data;
  Scalar scalar;
  CachePolicy cache_policy;
  std::int32_t zero_point;
  // True: the elements of one column are adjacent and columns are `stride`
  // elements apart; false: the reverse.
  bool depth_contiguous;
  std::ptrdiff_t depth, width, stride;
  // Not null when the caller has packed it. Then data, depth_contiguous and
  // stride mean nothing.
  const PackedOperand* packed = nullptr;
  // The caller's promise until it is verified, then the verified range.
  ValueRange value_range = ValueRange::kFull;
  // The promised value range turned out to be wrong.
  bool broke_promise = false;
};

}  // namespace ruy_like

#endif  // RUY_LIKE_PACKED_OPERAND_H_
