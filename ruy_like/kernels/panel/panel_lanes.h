// Back-end: one step of a tile whose multiply-add takes a lane of the rhs.
//
// Used by MultiplyTile() (panel_tile.h), inlined into it, for operations of
// TileKind::kByLane: Arm's, whose multiply-add can take one operand from any
// lane of a vector. Four columns of the rhs are then one load:
//
//                  rhs vector:   | c0 | c1 | c2 | c3 |    a dot each
//                                   |
//     lhs vector p:      lp  x  lane 0  ->  acc[0][p]
//                        lp  x  lane 1  ->  acc[1][p], and so on
//
// Four broadcasting loads instead would take longer than a tile's products on
// Arm's larger cores.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_LANES_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_LANES_H_

#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

template <class Op, int kVectors, int kLane>
RUY_LIKE_ALWAYS_INLINE void MultiplyAddLane(
    const typename Op::LhsVector (&lhs)[kVectors], typename Op::RhsVector rhs,
    typename Op::Vector (&acc)[kVectors]) {
  RUY_LIKE_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    acc[v] = Op::template MultiplyAddLane<kLane>(acc[v], lhs[v], rhs);
  }
}

// The lane must be a constant at all levels of optimisation: hence no loop.
template <class Op, int kVectors, int kCols, int... kC>
RUY_LIKE_ALWAYS_INLINE void MultiplyAddLanes(
    const typename Op::LhsVector (&lhs)[kVectors],
    const typename Op::RhsVector* rhs,
    typename Op::Vector (&acc)[kCols][kVectors], Indices<kC...>) {
  (MultiplyAddLane<Op, kVectors, kC % Op::kRhsLanes>(
       lhs, rhs[kC / Op::kRhsLanes], acc[kC]),
   ...);
}

// Reads whole vectors: columns beyond kCols are the panel's padding.
template <class Op, int kCols, int kVectors, class Cursor>
RUY_LIKE_ALWAYS_INLINE void MultiplyAddByLanes(
    const Cursor& rhs, const typename Op::LhsVector (&lhs)[kVectors],
    typename Op::Vector (&acc)[kCols][kVectors]) {
  constexpr int kRhsVectors = (kCols + Op::kRhsLanes - 1) / Op::kRhsLanes;
  typename Op::RhsVector rhs_vectors[kRhsVectors];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kRhsVectors; ++i) {
    rhs_vectors[i] = Op::LoadRhsVector(rhs.Column(i * Op::kRhsLanes));
  }
  MultiplyAddLanes<Op>(lhs, rhs_vectors, acc,
                       typename MakeIndices<kCols>::Type());
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_LANES_H_
