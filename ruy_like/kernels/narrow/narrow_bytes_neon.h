// Back-end: int8 on Arm without dot products: one column by a lhs that is read
// in place, and a few columns of a packed one.
//
// Included by kernels/neon.cc: a specialisation of DotLoop<>
// (narrow_dot_tile.h) and an operation of NarrowPanelKernel<>
// (narrow_panels.h). As panel_tile_bytes_neon.h does, they add up two products
// in 16 bits, of which one comes from a complement so that (-128) * (-128)
// twice does not overflow. Here every second 16 elements of the rhs are
// complemented as a whole, not upper halves: then a row's sum of these
// elements, which is to be subtracted, takes one instruction for 32 elements,
// and no pass of its own over the lhs.
//
//    SMULL   p,      lhs[k],        rhs[k]
//    SMLSL   p,      lhs[k + 16],  ~rhs[k + 16]     + l * r + l
//    SADALP  acc,    p
//    SADALP  excess, lhs[k + 16]                    + l, for 16 at once
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_BYTES_NEON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_BYTES_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/narrow/narrow_dot_tile.h"
#include "ruy_like/kernels/narrow/narrow_panels.h"
#include "ruy_like/kernels/narrow/narrow_simd_neon.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

template <bool kUpper>
RUY_LIKE_ALWAYS_INLINE int16x8_t MultiplyHalf(int8x16_t a, int8x16_t b) {
  return kUpper ? vmull_high_s8(a, b)
                : vmull_s8(vget_low_s8(a), vget_low_s8(b));
}
template <bool kUpper>
RUY_LIKE_ALWAYS_INLINE int16x8_t SubtractProductOfHalf(int16x8_t p, int8x16_t a,
                                                       int8x16_t b) {
  return kUpper ? vmlsl_high_s8(p, a, b)
                : vmlsl_s8(p, vget_low_s8(a), vget_low_s8(b));
}

// ## A column, the lhs read in place: 64 elements of each row take 15
// instructions, with the load

template <bool kSums>
struct DotLoop<NarrowBytesOp<NarrowSimdNeon, NeonDots, int8_t>, 1, kSums> {
  typedef DotTile<NarrowBytesOp<NarrowSimdNeon, NeonDots, int8_t>, 1, kSums>
      Tile;

  template <int kPrefetched>
  static RUY_LIKE_ALWAYS_INLINE ptrdiff_t Run(const int8_t* const* tile_rows,
                                              const int8_t* const* columns,
                                              const DotArgs<int32_t>& args,
                                              Tile* tile) {
    const int8_t* rows[kDotRows];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kDotRows; ++r) rows[r] = tile_rows[r];
    const int8_t* rhs = columns[0];
    const ptrdiff_t whole = args.depth & -kDepth;
    for (ptrdiff_t k = 0; k < whole; k += kStretch) {
      AddStretch(rows, rhs, whole - k < kStretch ? whole - k : kStretch, tile);
      rhs += kStretch;
    }
    return whole;
  }

 private:
  static constexpr ptrdiff_t kDepth = 64;
  // Depth that is summed in 16-bit lanes. Each lane adds four of 64
  // elements, and 64 * 4 * -128 = -2^15 still fits.
  static constexpr ptrdiff_t kStretch = 64 * kDepth;

  // Where registers suffice, two accumulators of products, so that four
  // additions are not one chain.
  static constexpr int kAccumulators = kSums ? 1 : 2;
  struct Row {
    int32x4_t products[kAccumulators];
    int16x8_t excess, others;
  };

  // `depth` is a multiple of kDepth, at least one. Advances the rows.
  static RUY_LIKE_ALWAYS_INLINE void AddStretch(const int8_t* (&rows)[kDotRows],
                                                const int8_t* rhs,
                                                ptrdiff_t depth, Tile* tile) {
    Row acc[kDotRows];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kDotRows; ++r) {
      for (int i = 0; i < kAccumulators; ++i) {
        acc[r].products[i] = vdupq_n_s32(0);
      }
      acc[r].excess = acc[r].others = vdupq_n_s16(0);
    }
    const int8_t* const end = rhs + depth;
    do {
      int8x16x4_t column = vld1q_s8_x4(rhs);
      column.val[1] = vmvnq_s8(column.val[1]);
      column.val[3] = vmvnq_s8(column.val[3]);
      Move(&rhs);
      RUY_LIKE_UNROLL
      for (int r = 0; r < kDotRows; ++r) {
        AddRow(vld1q_s8_x4(rows[r]), column, &acc[r]);
        Move(&rows[r]);
      }
    } while (rhs != end);
    RUY_LIKE_UNROLL
    for (int r = 0; r < kDotRows; ++r) {
      int32x4_t products = acc[r].products[0];
      if constexpr (kAccumulators == 2)
        products = vaddq_s32(products, acc[r].products[1]);
      const int32x4_t excess = vpaddlq_s16(acc[r].excess);
      tile->acc[0][0][r] =
          vaddq_s32(tile->acc[0][0][r], vsubq_s32(products, excess));
      if constexpr (kSums) {
        tile->sums[r] =
            vpadalq_s16(vaddq_s32(tile->sums[r], excess), acc[r].others);
      }
    }
  }

  // Without the barrier gcc computes all pointers anew from one of them in each
  // iteration.
  static RUY_LIKE_ALWAYS_INLINE void Move(const int8_t** p) {
    *p += kDepth;
    asm("" : "+r"(*p));
  }

  // Dependent instructions stand apart, for cores that issue in order.
  static RUY_LIKE_ALWAYS_INLINE void AddRow(const int8x16x4_t& row,
                                            const int8x16x4_t& column,
                                            Row* acc) {
    int16x8_t p[4];
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int8x16_t l = row.val[i / 2 * 2];
      const int8x16_t r = column.val[i / 2 * 2];
      p[i] = i % 2 == 0 ? MultiplyHalf<false>(l, r) : MultiplyHalf<true>(l, r);
      SimdNeon::KeepInOrder(p[i]);
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int8x16_t l = row.val[i / 2 * 2 + 1];
      const int8x16_t r = column.val[i / 2 * 2 + 1];
      p[i] = i % 2 == 0 ? SubtractProductOfHalf<false>(p[i], l, r)
                        : SubtractProductOfHalf<true>(p[i], l, r);
      SimdNeon::KeepInOrder(p[i]);
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      if (i % 2 == 0) {
        acc->excess = vpadalq_s8(acc->excess, row.val[i + 1]);
        SimdNeon::KeepInOrder(acc->excess);
      } else if constexpr (kSums) {
        acc->others = vpadalq_s8(acc->others, row.val[i - 1]);
        SimdNeon::KeepInOrder(acc->others);
      }
      int32x4_t& products = acc->products[i % kAccumulators];
      products = vpadalq_s16(products, p[i]);
      SimdNeon::KeepInOrder(products);
    }
  }
};

// ## A few columns, the lhs packed: NeonBytesKernel's panels

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
    if (args.steps % 2 != 0) AddLastDot(lhs, columns, acc);
    End(args, acc, excess);
  }

 private:
  // Pairs of dots whose elements are summed in 16-bit lanes, two
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

  // The lower or upper eight elements of both dots. Dependent instructions
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
      p[r] = MultiplyHalf<kUpper>(first[r], column);
      SimdNeon::KeepInOrder(p[r]);
    }
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) {
      p[r] = SubtractProductOfHalf<kUpper>(p[r], second[r], complement);
      SimdNeon::KeepInOrder(p[r]);
    }
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) {
      acc[r] = vpadalq_s16(acc[r], p[r]);
      SimdNeon::KeepInOrder(acc[r]);
    }
  }
  // A dot without a second one: each product goes to 32 bits by itself.
  static RUY_LIKE_ALWAYS_INLINE void AddLastDot(
      const int8_t* lhs, const int8_t* const (&columns)[kCols],
      int32x4_t (&acc)[kCols][4]) {
    const int8x16x4_t rows = vld1q_s8_x4(lhs);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const int8x16_t column = vld1q_s8(columns[c]);
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; ++r) {
        acc[c][r] =
            vpadalq_s16(acc[c][r], MultiplyHalf<false>(rows.val[r], column));
        acc[c][r] =
            vpadalq_s16(acc[c][r], MultiplyHalf<true>(rows.val[r], column));
      }
    }
  }

  static RUY_LIKE_ALWAYS_INLINE int32x4_t AddLanes(const int32x4_t (&a)[4]) {
    return SimdNeon::LaneSums(a[0], a[1], a[2], a[3]);
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

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_BYTES_NEON_H_
