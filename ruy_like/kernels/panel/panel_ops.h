// Back-end: the multiplications that panel kernels are made of.
//
// Template arguments of PanelKernel<> (panel_kernel.h); chosen by the per-ISA
// files. An operation says what one step of a tile does: the element types,
// kGroup depth levels of a column in 32 bits, loads, the multiply-add, and
// which epilogue finishes its accumulators. It knows nothing of tiles, but
// names by how many products their additions lag (panel_sums.h).
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_OPS_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_OPS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_epilogue.h"
#include "ruy_like/kernels/simd/always_inline.h"

namespace ruy_like {
namespace kernels {
namespace {

template <typename Element>
constexpr Scalar kScalarOf = Scalar::kI8;
template <>
constexpr Scalar kScalarOf<uint8_t> = Scalar::kU8;
template <>
constexpr Scalar kScalarOf<int16_t> = Scalar::kI16;
template <>
constexpr Scalar kScalarOf<float> = Scalar::kF32;

// float times float.
template <class V>
struct FloatOp {
  typedef V Simd;
  typedef float Lhs;
  typedef float Rhs;
  typedef float Accum;
  typedef typename V::Float Vector;
  typedef FloatPanelEpilogue<V> Epilogue;
  static constexpr int kGroup = 1;
  static constexpr int kAddLag = 0;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const float* p) {
    return V::LoadAligned(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const float* p) {
    return V::SetFloat(*p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return V::MulAddFloat(lhs, rhs, acc);
  }
};

// What the integer operations have in common: 32 bits of a rhs column against
// vectors of 32-bit groups of the lhs.
template <class V>
struct IntOp {
  typedef V Simd;
  typedef int32_t Accum;
  typedef typename V::Int Vector;
  typedef IntPanelEpilogue<V> Epilogue;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const void* p) {
    int32_t group;
    __builtin_memcpy(&group, p, sizeof(group));
    return V::Set(group);
  }
};

// int8 times uint8, four levels a step. Dot::Quads(acc, u8, s8) must not
// saturate on the way.
template <class V, class Dot>
struct QuadsOp : IntOp<V> {
  typedef int8_t Lhs;
  typedef uint8_t Rhs;
  typedef typename V::Int Vector;
  static constexpr int kGroup = 4;
  static constexpr int kAddLag = 0;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int8_t* p) {
    return V::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Quads(acc, rhs, lhs);
  }
};

// int8 or int16 times int16, two levels a step. An int8 lhs is widened by the
// load: packed weights stay as small as they are, and a load is needed anyway.
// With kLag, Dot::Multiply() is a vpmaddwd and Simd::Add() follows that much
// later.
template <class V, class Dot, typename LhsType, int kLag = 0>
struct PairsOp : IntOp<V> {
  typedef LhsType Lhs;
  typedef int16_t Rhs;
  typedef typename V::Int Vector;
  static constexpr int kGroup = 2;
  static constexpr int kAddLag = kLag;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int8_t* p) {
    return V::LoadWidened(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int16_t* p) {
    return V::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Vector Multiply(Vector lhs, Vector rhs) {
    return Dot::Multiply(lhs, rhs);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Pairs(acc, lhs, rhs);
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_OPS_H_
