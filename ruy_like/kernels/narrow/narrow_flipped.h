// Back-end: the operation of narrow_by_level_bytes.h for an lhs and an rhs of
// int8, where the instruction multiplies uint8 by int8.
//
// The rhs is packed as uint8, for any lhs: an int8 rhs whose zero point is 0
// then has zero point 128, and the product needs the lhs's own sums, which cost
// as much as another column. Here the top bits of both sides are flipped in
// registers instead, which makes the lhs the unsigned side:
//
//   sum(lhs * rhs) = sum((lhs + 128) * rhs) - 128 * sum(rhs)
//   rhs = packed - 128
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_FLIPPED_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_FLIPPED_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/narrow/narrow_by_level_tiles.h"
#include "ruy_like/kernels/narrow/narrow_int.h"

namespace ruy_like::kernels {
namespace {

// The top bits of a depth group's four bytes.
constexpr int32_t kTopBits = INT32_MIN | 0x808080;

template <class V, class Dot>
struct FlippedQuadsOp : NarrowQuadsOp<V, Dot, int8_t> {
  typedef typename V::Int Vector;
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Quads(acc, V::Xor(lhs, V::Set(kTopBits)), rhs);
  }
  // The excess of a column's products: 128 times the sum of its elements,
  // modulo 2^32.
  static int32_t Excess(const char* packed, ptrdiff_t depth) {
    uint32_t sum = 0;
    for (ptrdiff_t k = 0; k < depth; ++k) {
      sum += static_cast<uint8_t>(packed[k]) - 128u;
    }
    return static_cast<int32_t>(128 * sum);
  }
};

template <class V, class Dot>
constexpr bool kFlipsRhs<FlippedQuadsOp<V, Dot>> = true;

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_FLIPPED_H_
