// Back-end: a few columns of packed int8 on Arm without dot products.
//
// An operation of NarrowPanelKernel<> (narrow_panels.h), chosen by
// kernels/neon.cc. The lhs panels are NeonBytesKernel's
// (panel_tile_bytes_neon.h), whose complemented rhs needs the sums of the lhs's
// upper-half levels: a pass over the lhs, too costly for few columns. Here
// every second depth group (16 levels) of the rhs is complemented instead, so
// that the sums of a row's products with it, and of its levels, come from the
// same registers:
//
//    SMULL   p,      lhs[k],        rhs[k]
//    SMLSL   p,      lhs[k + 16],  ~rhs[k + 16]     + l * r + l
//    SADALP  acc,    p
//    SADALP  excess, lhs[k + 16]                    + l, for 16 levels at once
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_PANELS_NEON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_PANELS_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// One lhs panel of four rows by kCols columns.
template <class Op, class RhsSource, int kCols>
struct NarrowBytesTile {
  static void Run(const TileArgs& args) {
    const int8_t* lhs = static_cast<const int8_t*>(args.lhs);
    const int8_t* columns[kCols];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      columns[c] =
          static_cast<const int8_t*>(args.rhs.data) + c * args.rhs.stride_bytes;
    }
    int32x4_t acc[kCols][4];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; ++r) acc[c][r] = vdupq_n_s32(0);
    }
    int32x4_t excess[4];
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) excess[r] = vdupq_n_s32(0);
    for (ptrdiff_t pairs = args.steps / 2; pairs > 0; pairs -= kStretch) {
      AddStretch(pairs < kStretch ? pairs : kStretch, &lhs, columns, acc,
                 excess);
    }
    if (args.steps % 2 != 0) AddLastGroup(lhs, columns, acc);
    End(args, acc, excess);
  }

 private:
  // Pairs of depth groups whose elements are summed in 16-bit lanes, two
  // elements of a pair in each.
  static constexpr ptrdiff_t kStretch = 64;

  // Advances lhs and columns.
  static RUY_LIKE_ALWAYS_INLINE void AddStretch(ptrdiff_t pairs,
                                                const int8_t** lhs,
                                                const int8_t* (&columns)[kCols],
                                                int32x4_t (&acc)[kCols][4],
                                                int32x4_t (&excess)[4]) {
    const int8_t* panel = *lhs;
    int16x8_t sums[4];
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) sums[r] = vdupq_n_s16(0);
    for (; pairs > 0; --pairs) {
      // Not vld1q_s8_x4(): gcc 12 spills around tuples.
      int8x16_t first[4], second[4];
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; ++r) {
        first[r] = vld1q_s8(panel + 16 * r);
        second[r] = vld1q_s8(panel + 64 + 16 * r);
        sums[r] = vpadalq_s8(sums[r], second[r]);
      }
      panel += 128;
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        const int8x16_t column = vld1q_s8(columns[c]);
        const int8x16_t complement = vmvnq_s8(vld1q_s8(columns[c] + 16));
        columns[c] += 32;
        AddHalf<false>(first, second, column, complement, acc[c]);
        AddHalf<true>(first, second, column, complement, acc[c]);
      }
    }
    *lhs = panel;
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) excess[r] = vpadalq_s16(excess[r], sums[r]);
  }

  // The lower or upper eight levels of both groups. Dependent instructions
  // stand apart, for cores that issue in order.
  template <bool kUpper>
  static RUY_LIKE_ALWAYS_INLINE void AddHalf(const int8x16_t (&first)[4],
                                             const int8x16_t (&second)[4],
                                             int8x16_t column,
                                             int8x16_t complement,
                                             int32x4_t (&acc)[4]) {
    int16x8_t p[4];
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) {
      p[r] = Multiply<kUpper>(first[r], column);
      SimdNeon::KeepInOrder(p[r]);
    }
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) {
      p[r] = kUpper ? vmlsl_high_s8(p[r], second[r], complement)
                    : vmlsl_s8(p[r], vget_low_s8(second[r]),
                               vget_low_s8(complement));
      SimdNeon::KeepInOrder(p[r]);
    }
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) {
      acc[r] = vpadalq_s16(acc[r], p[r]);
      SimdNeon::KeepInOrder(acc[r]);
    }
  }
  template <bool kUpper>
  static RUY_LIKE_ALWAYS_INLINE int16x8_t Multiply(int8x16_t a, int8x16_t b) {
    return kUpper ? vmull_high_s8(a, b)
                  : vmull_s8(vget_low_s8(a), vget_low_s8(b));
  }

  // A group without a second one: each product goes to 32 bits by itself.
  static RUY_LIKE_ALWAYS_INLINE void AddLastGroup(
      const int8_t* lhs, const int8_t* const (&columns)[kCols],
      int32x4_t (&acc)[kCols][4]) {
    const int8x16x4_t rows = vld1q_s8_x4(lhs);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const int8x16_t column = vld1q_s8(columns[c]);
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; ++r) {
        acc[c][r] =
            vpadalq_s16(acc[c][r], Multiply<false>(rows.val[r], column));
        acc[c][r] = vpadalq_s16(acc[c][r], Multiply<true>(rows.val[r], column));
      }
    }
  }

  static RUY_LIKE_ALWAYS_INLINE int32x4_t AddLanes(const int32x4_t (&a)[4]) {
    return vpaddq_s32(vpaddq_s32(a[0], a[1]), vpaddq_s32(a[2], a[3]));
  }
  static RUY_LIKE_ALWAYS_INLINE void End(const TileArgs& args,
                                         const int32x4_t (&acc)[kCols][4],
                                         const int32x4_t (&excess)[4]) {
    int32x4_t sums[kCols][1];
    StartTile<Op, /*kOneStart=*/false>(args, sums);
    const int32x4_t row_excess = AddLanes(excess);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      sums[c][0] =
          vaddq_s32(sums[c][0], vsubq_s32(AddLanes(acc[c]), row_excess));
    }
    EndTile<Op>(args, sums);
  }
};

struct NarrowNeonBytesOp : NeonIntOp<int8_t, 16> {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  template <class RhsSource, int kVectors, int kCols>
  using Tile = NarrowBytesTile<NarrowNeonBytesOp, RhsSource, kCols>;
};

// Registers suffice for two columns; with more, the wide tile's pass over the
// lhs costs no more than reading it twice.
using NarrowNeonBytesKernel = NarrowPanelKernel<NarrowNeonBytesOp, 1, 1, 2>;

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_PANELS_NEON_H_
