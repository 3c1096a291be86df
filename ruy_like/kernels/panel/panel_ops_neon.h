// Back-end: the multiplications of Arm's panel kernels.
//
// Template arguments of PanelKernel<> (panel_kernel.h), chosen by the Arm
// per-ISA files; panel_ops.h says what an operation is. Those here multiply by
// a lane of the rhs (panel_lanes.h). Those with tiles of their own are in the
// panel_tile_*_neon.h headers.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_OPS_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_OPS_NEON_H_

#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/panel/panel_epilogue_neon.h"
#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Base of NEON's integer operations: kDepth elements a step.
template <typename Element, int kDepth>
struct NeonIntOp : IntOp<SimdNeon, Element, Element, kDepth> {
  typedef NeonIntEpilogue Epilogue;
  static constexpr bool kFinishesTiles = true;
  static constexpr bool kPointsToLhsPanels = !RUY_LIKE_NEON_64;
};

// float times float.
struct NeonFloatOp : FloatOp<SimdNeon> {
  static constexpr TileKind kTileKind = TileKind::kByLane;
  static constexpr bool kPointsToLhsPanels = !RUY_LIKE_NEON_64;
  typedef float32x4_t RhsVector;
  static constexpr int kRhsLanes = 4;
  static RUY_LIKE_ALWAYS_INLINE RhsVector LoadRhsVector(const float* p) {
    return vld1q_f32(p);
  }
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAddLane(Vector acc, Vector lhs,
                                                       RhsVector rhs) {
    return SimdNeon::MulAddLane<kLane>(lhs, rhs, acc);
  }
};

// int16 times int16, an element a step. Products have 32 bits, so a step takes
// four elements of the lhs, half a vector.
struct NeonWordsOp : NeonIntOp<int16_t, 1> {
  static constexpr TileKind kTileKind = TileKind::kByLane;
  typedef int16x4_t RhsVector;
  static constexpr int kRhsLanes = 4;
  // Fills only the lower half of the vector.
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const int16_t* p) {
    const int16x4_t words = vld1_s16(p);
    return vreinterpretq_s32_s16(vcombine_s16(words, vdup_n_s16(0)));
  }
  static RUY_LIKE_ALWAYS_INLINE RhsVector LoadRhsVector(const int16_t* p) {
    return vld1_s16(p);
  }
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAddLane(Vector acc, Vector lhs,
                                                       RhsVector rhs) {
    return vmlal_lane_s16(acc, vget_low_s16(vreinterpretq_s16_s32(lhs)), rhs,
                          kLane);
  }
};

// int8 times int8, four elements a step: Dot::QuadsByLane<>() is SDOT.
template <class Dot>
struct NeonQuadsOp : QuadsOp<SimdNeon, Dot, int8_t> {
  typedef NeonIntEpilogue Epilogue;
  static constexpr TileKind kTileKind = TileKind::kByLane;
  static constexpr bool kFinishesTiles = true;
  typedef int32x4_t Vector;
  typedef int32x4_t RhsVector;
  static constexpr int kRhsLanes = 4;
  static RUY_LIKE_ALWAYS_INLINE RhsVector LoadRhsVector(const int8_t* p) {
    return vreinterpretq_s32_s8(vld1q_s8(p));
  }
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAddLane(Vector acc, Vector lhs,
                                                       RhsVector rhs) {
    return Dot::template QuadsByLane<kLane>(acc, lhs, rhs);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_OPS_NEON_H_
