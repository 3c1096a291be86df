// Back-end: the multiplications that panel kernels are made of.
//
// Template arguments of PanelKernel<> (panel_kernel.h); chosen by the per-ISA
// files. An operation says what one step of a tile does: the element types,
// kDotWidth elements of a column in 32 bits, loads, the multiply-add, and
// which epilogue finishes its accumulators. It knows nothing of tiles.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_OPS_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_OPS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_epilogue.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// How a tile gets at the rhs.
enum class TileKind {
  kBroadcast,  // an element or dot of the rhs at a time, in all lanes
  kByLane,     // vectors of the rhs, by one lane after the other: Arm
  kOwn         // Op::Tile<RhsSource, vectors, columns>::Run(TileArgs)
};
struct BroadcastOp {
  static constexpr TileKind kTileKind = TileKind::kBroadcast;
  // Columns of a tile of a single lhs panel, in rhs panels.
  static constexpr int kSinglePanelWidth = 2;
  // True if the instruction set has FinishTile(acc, Epilogue::Finish), which
  // finishes tiles in registers.
  static constexpr bool kFinishesTiles = false;
  static constexpr bool kMultipliesHalves = false;  // WithHalves
  static constexpr int kMaxRows = kNoLimit;
  // Sub-steps of a step, each by kDotWidth elements of the rhs. If there are
  // several, LoadLhs(p, sub_step) loads the lhs of one of them, and the lhs's
  // dots have that many times the elements of the rhs's.
  static constexpr int kSubSteps = 1;
  // True if tiles hold a pointer to each lhs panel: for instruction sets whose
  // loads take no offset, but advance the pointer.
  static constexpr bool kPointsToLhsPanels = false;
};

// float times float.
template <class V>
struct FloatOp : BroadcastOp {
  typedef V Simd;
  typedef float Lhs;
  typedef float Rhs;
  typedef float Accum;
  typedef typename V::Float Vector;
  typedef Vector LhsVector;
  typedef Vector RhsVector;
  typedef FloatPanelEpilogue<V> Epilogue;
  static constexpr bool kFinishesTiles = true;
  static constexpr ValueRange kLhsRange = ValueRange::kFull;
  static constexpr ValueRange kRhsRange = ValueRange::kFull;
  static constexpr int kDotWidth = 1, kStepDepth = 1, kDepthMultiple = 1;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const float* p) {
    return V::LoadAligned(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const float* p, ptrdiff_t) {
    return V::SetFloat(*p);
  }
  // Whole vectors, or halves.
  template <class Any>
  static RUY_LIKE_ALWAYS_INLINE Any MultiplyAdd(Any acc, Any lhs, Any rhs) {
    return V::MulAddFloat(lhs, rhs, acc);
  }
};

// 16-bit floats times float, the lhs widened by its loads: packed weights stay
// as small as they are. BFloat16 lies in pairs along depth (panel_format.h), of
// which one instruction widens either half; elements of adjacent columns would
// take a shuffle as well. Float16 lies singly, as its conversion needs.
template <class Base, Scalar kLhs>
struct WidenedLhsOp : Base {
  typedef typename Base::Simd Simd;
  typedef int16_t Lhs;  // a 16-bit float's bits
  static constexpr int kSubSteps = kLhs == Scalar::kBF16 ? 2 : 1;
  static constexpr int kStepDepth = kSubSteps, kDepthMultiple = kSubSteps;
  static RUY_LIKE_ALWAYS_INLINE typename Base::Vector LoadLhs(
      const int16_t* p, int sub_step = 0) {
    if constexpr (kLhs == Scalar::kBF16) {
      const typename Simd::Int pairs =
          Simd::LoadAligned(reinterpret_cast<const int32_t*>(p));
      return Simd::AsFloat(sub_step == 0 ? Simd::UpperHalves(pairs)
                                         : Simd::LowerHalvesAbove(pairs));
    } else {
      return Simd::template LoadWidened<kLhs>(
          reinterpret_cast<const uint16_t*>(p));
    }
  }
  // Both sub-steps of bfloat16 by one load.
  static RUY_LIKE_ALWAYS_INLINE void LoadSubSteps(
      const int16_t* p, typename Base::Vector (&vectors)[kSubSteps]) {
    typename Base::Vector halves[kSubSteps];
    Simd::template WidenPairs<kLhs>(
        Simd::InRegister(Simd::LoadAligned(reinterpret_cast<const float*>(p))),
        halves);
    vectors[0] = halves[1];
    vectors[1] = halves[0];
  }
};

// Base of the integer operations: 32 bits of a rhs column against
// vectors of the lhs's dots, kDot elements a step.
template <class V, typename LhsType, typename RhsType, int kDot>
struct IntOp : BroadcastOp {
  typedef V Simd;
  typedef LhsType Lhs;
  typedef RhsType Rhs;
  typedef int32_t Accum;
  typedef typename V::Int Vector;
  typedef Vector LhsVector;
  typedef Vector RhsVector;
  typedef IntPanelEpilogue<V> Epilogue;
  static constexpr int kDotWidth = kDot, kStepDepth = kDot;
  static constexpr int kDepthMultiple = kDot;
  static constexpr ValueRange kLhsRange = ValueRange::kFull;
  static constexpr ValueRange kRhsRange = ValueRange::kFull;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadRhs(const void* p,
                                               ptrdiff_t /*dot_bytes*/ = 0) {
    int32_t dot;
    __builtin_memcpy(&dot, p, sizeof(dot));
    return V::Set(dot);
  }
};

// The multiply-adds of x86 without VNNI.
template <class V>
struct MaddDot {
  typedef typename V::Int Vector;
  // The one sum that exceeds int32, 2 * (-2^15 * -2^15), wraps as the contract
  // wants.
  static RUY_LIKE_ALWAYS_INLINE Vector Pairs(Vector acc, Vector a, Vector b) {
    return V::Add(acc, V::MultiplyWords(a, b));
  }
  // For an int7 s8: no sum of two products saturates.
  static RUY_LIKE_ALWAYS_INLINE Vector Quads(Vector acc, Vector u8, Vector s8) {
    return Pairs(acc, V::MultiplyBytes(u8, s8), V::Set16(1));
  }
  // For int7 on both sides, with 64 added to the u8.
  static RUY_LIKE_ALWAYS_INLINE Vector TwoQuads(Vector acc, Vector u8a,
                                                Vector s8a, Vector u8b,
                                                Vector s8b) {
    return Pairs(
        acc, V::Add16(V::MultiplyBytes(u8a, s8a), V::MultiplyBytes(u8b, s8b)),
        V::Set16(1));
  }
};

// int8 times uint8 (on Arm int8), four elements a step. Dot::Quads(acc, rhs,
// lhs) must not saturate.
template <class V, class Dot, typename RhsType = uint8_t>
struct QuadsOp : IntOp<V, int8_t, RhsType, 4> {
  typedef typename V::Int Vector;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int8_t* p) {
    return V::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  template <class Any>
  static RUY_LIKE_ALWAYS_INLINE Any MultiplyAdd(Any acc, Any lhs, Any rhs) {
    return Dot::Quads(acc, rhs, lhs);
  }
};

// An int7 lhs (ValueRange::kInt7) by any uint8: the products of two elements
// add up in 16 bits without saturation. Its panels are those of the operation
// below, so that int7 weights have one packed form.
template <class V, class Dot>
struct Int7QuadsOp : QuadsOp<V, Dot> {
  static constexpr ValueRange kLhsRange = ValueRange::kInt7;
  static constexpr int kDepthMultiple = 8;
};

// An int7 lhs by an int7 rhs, of which 64 was added to each element. The
// products of four elements then add up in 16 bits, 4 * 63 * 127 = 32004, so
// that eight of them take one widening addition:
//
//    depth 0-3 of both panels     l0 * r0 --> 16 bits --+--> 16 bits --> 32
//    depth 4-7                    l1 * r1 --> 16 bits --+
//
// Dot::TwoQuads(acc, u8, s8, u8, s8) does that.
template <class V, class Dot>
struct Int7TwoQuadsOp : IntOp<V, int8_t, uint8_t, 4> {
  typedef IntOp<V, int8_t, uint8_t, 4> Base;
  typedef typename V::Int Vector;
  struct LhsVector {
    Vector first, second;
  };
  typedef LhsVector RhsVector;
  static constexpr ValueRange kLhsRange = ValueRange::kInt7;
  static constexpr ValueRange kRhsRange = ValueRange::kInt7;
  static constexpr int kStepDepth = 8, kDepthMultiple = 8;
  static RUY_LIKE_ALWAYS_INLINE LhsVector LoadLhs(const int8_t* p) {
    return {
        V::LoadAligned(reinterpret_cast<const int32_t*>(p)),
        V::LoadAligned(reinterpret_cast<const int32_t*>(p + 4 * V::kLanes))};
  }
  static RUY_LIKE_ALWAYS_INLINE RhsVector LoadRhs(const void* p,
                                                  ptrdiff_t dot_bytes) {
    return {Base::LoadRhs(p),
            Base::LoadRhs(static_cast<const char*>(p) + dot_bytes)};
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc,
                                                   const LhsVector& lhs,
                                                   const RhsVector& rhs) {
    return Dot::TwoQuads(acc, rhs.first, lhs.first, rhs.second, lhs.second);
  }
};

// int8 or int16 times int16, two elements a step. An int8 lhs is widened by the
// load: packed weights stay as small as they are, and a load is needed anyway.
template <class V, class Dot, typename LhsType>
struct PairsOp : IntOp<V, LhsType, int16_t, 2> {
  typedef typename V::Int Vector;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int8_t* p) {
    return V::LoadTo16(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int16_t* p) {
    return V::LoadAligned(reinterpret_cast<const int32_t*>(p));
  }
  template <class Any>
  static RUY_LIKE_ALWAYS_INLINE Any MultiplyAdd(Any acc, Any lhs, Any rhs) {
    return Dot::Pairs(acc, lhs, rhs);
  }
};

// An operation that multiplies half vectors where those suffice: processors
// that run 512 bits in two steps then need half the time.
template <class Op>
struct WithHalves : Op {
  static constexpr bool kMultipliesHalves = true;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_OPS_H_
