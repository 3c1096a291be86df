// Back-end: the tile of floats whose rhs is read in place, for Arm.
//
// Template argument of PanelKernel<> (panel_kernel.h), with InPlaceRhs; chosen
// by kernels/neon.cc. A column of the rhs is contiguous along depth, so that a
// vector of it is four levels, of which the multiply-add takes one lane after
// the other:
//
//      rhs vector of column c:      | k | k+1 | k+2 | k+3 |
//                                     |
//      lhs panel p, level k:  lp  x lane 0  ->  acc[c][p], and so on
//
// Four levels of a tile of 8 x 8 are 64 multiply-adds and 16 loads, which is as
// good as packed panels. Without packing, 16 x 32 x 16 takes 4947 instructions
// instead of 5777; at 256^3 there is no difference.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_COLUMNS_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_COLUMNS_H_

#include <arm_neon.h>
#include <stddef.h>

#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/panel/panel_lanes.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/kernels/simd/loops.h"
#include "ruy_like/kernels/simd/simd_neon.h"

namespace ruy_like {
namespace kernels {
namespace {

template <int kVectors, int kCols>
struct FloatColumnsTile {
  typedef float32x4_t Accumulators[kCols][kVectors];

  static void Run(const TileArgs& args) {
    Accumulators acc;
    StartTile<NeonFloatOp, /*kOneStart=*/false>(args, acc);
    const char* columns[kCols];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      columns[c] =
          static_cast<const char*>(args.rhs.data) + c * args.rhs.stride_bytes;
    }
    const char* lhs = static_cast<const char*>(args.lhs);
    const ptrdiff_t lhs_stride = args.lhs_stride_bytes;
    const ptrdiff_t end = args.steps * kLevelBytes;
    ptrdiff_t k = 0;
    for (; k <= end - 4 * kLevelBytes; k += 4 * kLevelBytes) {
      float32x4_t rhs[kCols];
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) rhs[c] = Load(columns[c] + k);
      MultiplyAddTwoLevels<0>(lhs, lhs_stride, rhs, acc);
      MultiplyAddTwoLevels<2>(lhs + 32, lhs_stride, rhs, acc);
      lhs += 64;
    }
    for (; k < end; k += kLevelBytes) {
      float32x4_t lhs_vectors[kVectors];
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        lhs_vectors[v] = Load(lhs + v * lhs_stride);
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        const float32x4_t rhs =
            vld1q_dup_f32(reinterpret_cast<const float*>(columns[c] + k));
        MultiplyAddLane<NeonFloatOp, kVectors, 0>(lhs_vectors, rhs, acc[c]);
      }
      lhs += 16;
    }
    EndTile<NeonFloatOp>(args, acc);
  }

 private:
  // Of a column of the rhs.
  static constexpr ptrdiff_t kLevelBytes = sizeof(float);

  static RUY_LIKE_ALWAYS_INLINE float32x4_t Load(const char* p) {
    return vld1q_f32(reinterpret_cast<const float*>(p));
  }

  // Two levels of the lhs, loaded as pairs of vectors, by that lane of the
  // rhs's columns and the next one.
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAddTwoLevels(
      const char* lhs, ptrdiff_t lhs_stride, const float32x4_t (&rhs)[kCols],
      Accumulators& acc) {
    float32x4_t first[kVectors], second[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      first[v] = Load(lhs + v * lhs_stride);
      second[v] = Load(lhs + v * lhs_stride + 16);
    }
    MultiplyAddLevel<kLane>(first, rhs, acc);
    MultiplyAddLevel<kLane + 1>(second, rhs, acc);
  }

  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAddLevel(
      const float32x4_t (&lhs)[kVectors], const float32x4_t (&rhs)[kCols],
      Accumulators& acc) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      MultiplyAddLane<NeonFloatOp, kVectors, kLane>(lhs, rhs[c], acc[c]);
      // Else gcc 12 has two accumulators change registers in each turn, which
      // lengthens the chain of additions: 80% of the peak on Neoverse V1.
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) SimdNeon::KeepInOrder(acc[c][v]);
    }
  }
};

// float times float.
struct NeonFloatColumnsOp : FloatOp<SimdNeon> {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  static constexpr bool kFinishesTiles = true;
  static constexpr int kLonePanels = 1;
  // Four tiles. The more tiles of rows read a column again, the less packing
  // costs beside them, and the more it may cost that a tile's columns can lie a
  // power of two apart, where they compete for the same sets of the L1 cache.
  static constexpr int kMaxRows = 32;
  template <class RhsSource, int kVectors, int kCols>
  using Tile = FloatColumnsTile<kVectors, kCols>;
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_COLUMNS_H_
