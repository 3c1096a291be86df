// Back-end: the loop of narrow_column.h for int8 on Arm without dot products.
//
// Included by kernels/neon.cc: a specialisation of ColumnLoop<>. It reads 64
// levels of each row at once and, as panel_tile_bytes_neon.h does, adds up two
// products in 16 bits, of which one comes from a complement so that
// (-128) * (-128) twice does not overflow:
//
//    SMULL   p,      lhs[k],        rhs[k]
//    SMLSL   p,      lhs[k + 16],  ~rhs[k + 16]     + l * r + l
//    SADALP  acc,    p
//    SADALP  excess, lhs[k + 16]                    + l, for 16 levels at once
//
// Every second vector is complemented as a whole: the sum to be subtracted then
// takes one instruction for 32 levels of a row; 64 levels take 15, with the
// load.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_NEON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/narrow/narrow_column.h"
#include "ruy_like/kernels/narrow/narrow_simd_neon.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

template <bool kSums>
struct ColumnLoop<NarrowBytesOp<NarrowSimdNeon, NeonDots, int8_t>, kSums>
    : ColumnSteps<NarrowBytesOp<NarrowSimdNeon, NeonDots, int8_t>, kSums> {
  RUY_LIKE_ALWAYS_INLINE ptrdiff_t AddLevels(const char* const* tile_rows,
                                             const int8_t* rhs,
                                             ptrdiff_t depth) {
    const int8_t* rows[kStreams];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kStreams; ++r) {
      rows[r] = reinterpret_cast<const int8_t*>(tile_rows[r]);
    }
    const ptrdiff_t whole = depth & -kLevels;
    for (ptrdiff_t k = 0; k < whole; k += kStretch) {
      AddStretch(rows, rhs, whole - k < kStretch ? whole - k : kStretch);
      rhs += kStretch;
    }
    return whole;
  }

 private:
  static constexpr ptrdiff_t kLevels = 64;
  // Levels whose elements are summed in 16-bit lanes. Each lane adds four of 64
  // levels, and 64 * 4 * -128 = -2^15 still fits.
  static constexpr ptrdiff_t kStretch = 64 * kLevels;

  // Where registers suffice, two accumulators of products, so that four
  // additions are not one chain.
  static constexpr int kAccumulators = kSums ? 1 : 2;
  struct Row {
    int32x4_t products[kAccumulators];
    int16x8_t excess, others;
  };

  // `levels` is a multiple of kLevels, at least one. Advances the rows.
  RUY_LIKE_ALWAYS_INLINE void AddStretch(const int8_t* (&rows)[kStreams],
                                         const int8_t* rhs, ptrdiff_t levels) {
    Row acc[kStreams];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kStreams; ++r) {
      acc[r].products[0] = this->products[r];
      if constexpr (!kSums) acc[r].products[1] = vdupq_n_s32(0);
      acc[r].excess = acc[r].others = vdupq_n_s16(0);
    }
    const int8_t* const end = rhs + levels;
    do {
      int8x16x4_t column = vld1q_s8_x4(rhs);
      column.val[1] = vmvnq_s8(column.val[1]);
      column.val[3] = vmvnq_s8(column.val[3]);
      Move(&rhs);
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        AddRow(vld1q_s8_x4(rows[r]), column, &acc[r]);
        Move(&rows[r]);
      }
    } while (rhs != end);
    RUY_LIKE_UNROLL
    for (int r = 0; r < kStreams; ++r) {
      int32x4_t products = acc[r].products[0];
      if constexpr (kAccumulators == 2)
        products = vaddq_s32(products, acc[r].products[1]);
      const int32x4_t excess = vpaddlq_s16(acc[r].excess);
      this->products[r] = vsubq_s32(products, excess);
      if constexpr (kSums) {
        this->sums[r] =
            vpadalq_s16(vaddq_s32(this->sums[r], excess), acc[r].others);
      }
    }
  }

  // Without the barrier gcc computes all pointers anew from one of them in each
  // iteration.
  static RUY_LIKE_ALWAYS_INLINE void Move(const int8_t** p) {
    *p += kLevels;
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
      p[i] = i % 2 == 0 ? vmull_s8(vget_low_s8(l), vget_low_s8(r))
                        : vmull_high_s8(l, r);
      SimdNeon::KeepInOrder(p[i]);
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const int8x16_t l = row.val[i / 2 * 2 + 1];
      const int8x16_t r = column.val[i / 2 * 2 + 1];
      p[i] = i % 2 == 0 ? vmlsl_s8(p[i], vget_low_s8(l), vget_low_s8(r))
                        : vmlsl_high_s8(p[i], l, r);
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

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_NEON_H_
