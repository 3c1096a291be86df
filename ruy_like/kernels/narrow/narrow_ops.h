// Back-end: the operations of narrow kernels that read the lhs in place.
//
// Template arguments of narrow_dots.h and narrow_by_depth.h, chosen by the
// per-ISA files. An operation says what a step of a dot product does: element
// types, kStep elements to a vector, loads, the multiplication, and how the
// lhs is summed: by multiplying it by One(), or first by additions in 16-bit
// lanes (kSumsIn16), which are cheaper where multiplications are slow.
//
// ## By depth
//
// narrow_by_depth.h's rows lie side by side. A step then has kStep rows of a
// few elements, a dot, of which a rhs column has one 32-bit word.
// Interleaving brings a row's elements to one lane:
//
//      depth k    |r0 r1 r2 ... r63|        |r0 x 4|r1 x 4|r2 x 4|r3 x 4| ...
//      depth k+1  |r0 r1 r2 ... r63|   -->  |r4 x 4| ...
//      depth k+2  |r0 r1 r2 ... r63|        |r8 x 4| ...
//      depth k+3  |r0 r1 r2 ... r63|        |r12 x 4| ...
//
// for bytes; of words, which 8-bit loads are widened to, a dot is two elements,
// of floats one. It works in each 128 bits, so that vector i of four (or two)
// has rows 4i to 4i + 3 of every 16 (or 8): sums are put in order at the end.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_OPS_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_OPS_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Members of all operations on integers.
template <class V>
struct NarrowIntegers {
  typedef V Simd;
  typedef typename V::Int Vector;
  typedef int32_t Accum;
  static constexpr bool kIsFloat = false;
  static constexpr bool kFlips = false;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const void* p) {
    return V::Load(p);
  }
};

// Members of all operations on bytes.
template <class V>
struct NarrowQuads : NarrowIntegers<V> {
  typedef typename V::Int Vector;
  static constexpr int kStep = 4 * V::kLanes;
  static constexpr bool kSumsIn16 = false;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const void* p) {
    return V::Load(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadFirstLhs(const void* p, int n) {
    return V::LoadFirst(p, n);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector One() { return V::Set(0x01010101); }
};

// The rhs is packed with the other signedness. Dot::Quads(acc, u8, s8) must not
// saturate.
template <class V, class Dot, typename LhsType>
struct NarrowQuadsOp : NarrowQuads<V> {
  typedef typename V::Int Vector;
  typedef LhsType Lhs;
  typedef int8_t Rhs;  // bytes of either kind
  static constexpr Scalar kLhsScalar = internal::ScalarOf<Lhs>();
  static constexpr bool kLhsIsUnsigned = kLhsScalar == Scalar::kU8;
  static constexpr Scalar kRhsScalar =
      kLhsIsUnsigned ? Scalar::kI8 : Scalar::kU8;
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return kLhsIsUnsigned ? Dot::Quads(acc, lhs, rhs)
                          : Dot::Quads(acc, rhs, lhs);
  }
};

// int8, uint8 or int16 times int16, two elements to a lane. An 8-bit lhs is
// widened by its load.
template <class V, class Dot, typename LhsType>
struct NarrowPairsOp : NarrowIntegers<V> {
  typedef typename V::Int Vector;
  typedef LhsType Lhs;
  typedef int16_t Rhs;
  static constexpr Scalar kLhsScalar = internal::ScalarOf<Lhs>();
  static constexpr Scalar kRhsScalar = Scalar::kI16;
  static constexpr int kStep = 2 * V::kLanes;
  static constexpr bool kSumsIn16 = sizeof(Lhs) == 1;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const Lhs* p) {
    return V::LoadTo16(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadFirstLhs(const Lhs* p, int n) {
    return V::LoadFirstTo16(p, n);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector One() { return V::Set(0x00010001); }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Pairs(acc, lhs, rhs);
  }
};

// Floats, or 16-bit floats that are widened, by floats.
template <class V, Scalar kLhs>
struct NarrowFloatsOp {
  typedef V Simd;
  typedef typename V::Float Vector;
  typedef std::conditional_t<kLhs == Scalar::kF32, float, uint16_t> Lhs;
  typedef float Rhs;
  typedef float Accum;
  static constexpr bool kIsFloat = true;
  static constexpr bool kFlips = false;
  static constexpr bool kSumsIn16 = false;
  static constexpr Scalar kLhsScalar = kLhs;
  static constexpr Scalar kRhsScalar = Scalar::kF32;
  static constexpr int kStep = V::kLanes;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const Lhs* p) {
    if constexpr (kLhs == Scalar::kF32) {
      return V::LoadVector(p);
    } else {
      return V::template LoadWidened<kLhs>(p);
    }
  }
  // n may be all lanes for floats, fewer for other types.
  static RUY_LIKE_ALWAYS_INLINE Vector LoadFirstLhs(const Lhs* p, int n) {
    if constexpr (kLhs == Scalar::kF32) {
      return V::LoadMasked(p, V::FirstLanes(n));
    } else {
      return V::template Widen<kLhs>(V::LoadFirstOfHalf(p, 2 * n));
    }
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const void* p) {
    return V::LoadVector(static_cast<const float*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return V::MulAddFloat(lhs, rhs, acc);
  }
};

// int8 by int8 where the instruction multiplies uint8 by int8. The rhs is
// packed as uint8, for any lhs: an int8 rhs whose zero point is 0 then has zero
// point 128, and the product needs the lhs's own sums, which cost as much as
// another column. Here the top bits of both sides are flipped in registers
// instead, which makes the lhs the unsigned side:
//
//   sum(lhs * rhs) = sum((lhs + 128) * rhs) - 128 * sum(rhs)
//   rhs = packed - 128
template <class V, class Dot>
struct FlippedQuadsOp : NarrowQuadsOp<V, Dot, int8_t> {
  typedef typename V::Int Vector;
  static constexpr bool kFlips = true;
  static constexpr int32_t kTopBits = INT32_MIN | 0x808080;
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Quads(acc, V::Xor(lhs, V::Set(kTopBits)), rhs);
  }
};

// How an operation multiplies the elements of its rows' dots.
template <class Op>
struct DepthOf {
  typedef typename Op::Simd V;
  typedef typename Op::Vector Vector;
  typedef typename Op::Accum Accum;
  // Elements of a dot: vectors of sums for one step of rows.
  static constexpr int kDepth = Op::kStep / V::kLanes;
  // True if the load of the first n rows is no slower than another.
  static constexpr bool kMasks = Op::kLhsScalar == Scalar::kF32;
  // True if a rhs zero point is subtracted from the rhs: words have room for
  // it, and floats have none. Else it takes the lhs's row sums, products with a
  // column of ones.
  static constexpr bool kCentres = kDepth <= 2;

  // A dot of a packed rhs column, for all lanes.
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const void* p,
                                               int32_t zero_point) {
    Accum dot;
    __builtin_memcpy(&dot, p, sizeof(dot));
    if constexpr (Op::kFlips) {
      return V::Set(dot ^ Op::kTopBits);
    } else if constexpr (kDepth == 2) {
      return V::Add16(V::SetDepth(dot),
                      V::Set16(static_cast<int16_t>(-zero_point)));
    } else if constexpr (kDepth == 4) {
      return V::SetDepth(dot);
    } else {
      return V::SetFloat(dot);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE Vector SetAll(Accum x) {
    if constexpr (Op::kIsFloat) {
      return V::SetFloat(x);
    } else {
      return V::Set(x);
    }
  }
  static RUY_LIKE_ALWAYS_INLINE void Interleave(Vector (&x)[kDepth]) {
    if constexpr (kDepth > 1) V::InterleaveDepth(x);
  }
  static RUY_LIKE_ALWAYS_INLINE void Store(Accum* to, Vector x) {
    V::Store(to, x, V::kLanes);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_OPS_H_
