// Back-end: the panel kernels for an int7 operand where Arm has no dot
// products.
//
// Included by kernels/neon.cc, which lists NeonInt7Kernel<> in front of
// NeonBytesKernel; chosen for operands whose ValueRange is kInt7. The panels,
// of 16 elements of four columns, are those of panel_tile_bytes_neon.h, and so
// are the tile, 4 x 4 accumulators whose lanes run along depth, and its end.
//
// With |lhs| <= 63 more products add up in 16 bits before they are widened:
//
//    lhs int7, rhs any int8   4 * 63 * 128 = 32256   two steps of depth 16
//    both int7                8 * 63 * 63  = 31752   four steps
//
//    SMULL   p,   lhs[0..7],   rhs[0..7]      step 0
//    SMLAL2  p,   lhs[8..15],  rhs[8..15]
//    SMLAL   p,   lhs[16..23], rhs[16..23]    step 1
//    SMLAL2  p,   lhs[24..31], rhs[24..31]
//    SADALP  acc, p
//
// which are 2.5 and 2.25 instructions for 16 products, where any bytes take 3
// and a complemented rhs. Four steps of four rows and of four columns would not
// leave registers for 16 accumulators: they take two columns at a time.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_INT7_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_INT7_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile_bytes_neon.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"

namespace ruy_like::kernels {
namespace {

// kSteps steps of 16 elements add up in 16 bits.
template <int kSteps, class RhsSource, int kCols>
struct Int7BytesTile {
  static void Run(const TileArgs& args) {
    int32x4_t acc[kCols][4];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; ++r) acc[c][r] = vdupq_n_s32(0);
    }
    const int8_t* lhs = static_cast<const int8_t*>(args.lhs);
    Cursor rhs(args.rhs);
    ptrdiff_t steps = args.steps;
    for (; steps >= kSteps; steps -= kSteps) {
      AddSteps<kSteps>(lhs, rhs, acc);
      lhs += 64 * kSteps;
      RUY_LIKE_UNROLL
      for (int s = 0; s < kSteps; ++s) rhs.Advance();
    }
    for (; steps > 0; --steps) {
      AddSteps<1>(lhs, rhs, acc);
      lhs += 64;
      rhs.Advance();
    }
    int32x4_t sums[kCols][1];
    AddLanes(acc, sums);
    EndBytesTile(args, sums, /*result_col_stride=*/4);
  }

 private:
  typedef typename RhsSource::template Cursor<kCols> Cursor;
  static constexpr int kColsAtOnce = 2;

  template <int kCount>
  static RUY_LIKE_ALWAYS_INLINE void AddSteps(const int8_t* lhs,
                                              const Cursor& rhs,
                                              int32x4_t (&acc)[kCols][4]) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; c += kColsAtOnce) {
      if (c + 1 < kCols) {
        AddColumns<kCount, 2>(lhs, rhs, c, acc);
      } else {
        AddColumns<kCount, 1>(lhs, rhs, c, acc);
      }
    }
  }

  // The products of two rows. Dependent instructions stand apart, for cores
  // that issue in order; four rows at once would take so many registers that
  // gcc copies sums.
  template <int kColumns>
  static RUY_LIKE_ALWAYS_INLINE void AddTwoRows(
      const int8_t* lhs, const int8x16_t (&columns)[kColumns], bool first,
      int16x8_t (*products)[kColumns]) {
    const int8x16_t rows[2] = {vld1q_s8(lhs), vld1q_s8(lhs + 16)};
    RUY_LIKE_UNROLL
    for (int r = 0; r < 2; ++r) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        const int8x8_t row = vget_low_s8(rows[r]);
        const int8x8_t column = vget_low_s8(columns[c]);
        int16x8_t& p = products[r][c];
        p = first ? vmull_s8(row, column) : vmlal_s8(p, row, column);
        SimdNeon::KeepInOrder(p);
      }
    }
    RUY_LIKE_UNROLL
    for (int r = 0; r < 2; ++r) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        int16x8_t& p = products[r][c];
        p = vmlal_high_s8(p, rows[r], columns[c]);
        SimdNeon::KeepInOrder(p);
      }
    }
  }

  // Columns from `first` on.
  template <int kCount, int kColumns>
  static RUY_LIKE_ALWAYS_INLINE void AddColumns(const int8_t* lhs,
                                                const Cursor& rhs, int first,
                                                int32x4_t (&acc)[kCols][4]) {
    int16x8_t products[4][kColumns];
    RUY_LIKE_UNROLL
    for (int s = 0; s < kCount; ++s) {
      // Compiler barrier: otherwise loads are hoisted and accumulators spilled.
      asm volatile("" : : : "memory");
      int8x16_t columns[kColumns];
      RUY_LIKE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        columns[c] = vld1q_s8(rhs.Column(first + c) + 64 * s);
      }
      RUY_LIKE_UNROLL
      for (int r = 0; r < 4; r += 2) {
        AddTwoRows<kColumns>(lhs + 64 * s + 16 * r, columns, /*first=*/s == 0,
                             &products[r]);
      }
    }
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        int32x4_t& sum = acc[first + c][r];
        sum = vpadalq_s16(sum, products[r][c]);
        SimdNeon::KeepInOrder(sum);
      }
    }
  }
};

// An int7 lhs by an int7 rhs (kBoth), or by any int8.
template <bool kBoth>
struct NeonInt7Op : NeonIntOp<int8_t, 16> {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  static constexpr int kSinglePanelWidth = 1;
  static constexpr ValueRange kLhsRange = ValueRange::kInt7;
  static constexpr ValueRange kRhsRange =
      kBoth ? ValueRange::kInt7 : ValueRange::kFull;
  template <class RhsSource, int kVectors, int kCols>
  using Tile = Int7BytesTile<kBoth ? 4 : 2, RhsSource, kCols>;
};

template <bool kBoth>
struct NeonInt7Kernel : PanelKernel<NeonInt7Op<kBoth>, 1, 4> {
  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    Kernel kernel = PanelKernel<NeonInt7Op<kBoth>, 1, 4>::Entry(
        name, family, pack_lhs, pack_rhs);
    // Some ten multiply-adds a cycle at 2.5 GHz.
    kernel.macs_per_ns = 25;
    return kernel;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_INT7_NEON_H_
