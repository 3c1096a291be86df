// Back-end: the panel kernel's tile for SMMLA and BFMMLA, whose accumulators
// are squares.
//
// Included by the Arm per-ISA files with these instructions, as an operation of
// PanelKernel<> (panel_kernel.h). They multiply two rows by two columns over
// eight bytes along depth:
//
//      lhs vector                rhs vector                 accumulator
//    | row 0, 8 bytes |        | col 0, 8 bytes |        | 0,0 0,1 1,0 1,1 |
//    | row 1, 8 bytes |    x   | col 1, 8 bytes |    ->     (row, column)
//
// A lhs panel of four rows is two such vectors, a rhs panel of eight columns
// four: 3 panels by 8 columns take 24 accumulators, 4 rhs vectors and 2 lhs
// vectors of 32 registers. Where tiles begin and end, a pair of columns is
// zipped into squares and back, so that everything else sees columns.
//
// With an int8 rhs in place a tile is 2 panels by 8 columns, 16 elements a
// step: each pair of columns is two loads, and two zips make its two rhs
// vectors.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_SQUARES_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_SQUARES_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/kernels/panel/panel_tile_columns_neon.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Op::LoadPair() loads an Op::Pair, eight bytes of two rows or columns, and
// Op::MultiplyPairs(square, lhs, rhs) multiplies.
template <class Op, class RhsSource, int kVectors, int kCols>
struct SquaresTile {
  typedef typename Op::Pair Pair;
  typedef typename Op::Vector Vector;
  static constexpr int kPairs = (kCols + 1) / 2;
  typedef Vector Squares[kPairs][kVectors][2];

  static void Run(const TileArgs& args) {
    Squares acc;
    Begin(args, acc);
    if constexpr (RhsSource::kFormat.in_place) {
      MultiplyInPlace(args, acc);
    } else {
      const char* lhs = static_cast<const char*>(args.lhs);
      typename RhsSource::template Cursor<kCols> rhs(args.rhs);
      for (ptrdiff_t step = args.steps; step > 0; --step) {
        Pair rhs_vectors[kPairs];
        RUY_LIKE_UNROLL
        for (int p = 0; p < kPairs; ++p) {
          rhs_vectors[p] = Op::LoadPair(rhs.Column(2 * p));
        }
        MultiplyAddStep(lhs, args.lhs_stride_bytes, rhs_vectors, acc);
        lhs += kStepBytes;
        rhs.Advance();
      }
    }
    End(acc, args);
  }

 private:
  // A step of a lhs panel: eight bytes of four rows.
  static constexpr ptrdiff_t kStepBytes = 32;

  // Eight bytes of all rows, `lhs` on, and columns.
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAddStep(const char* lhs,
                                                     ptrdiff_t lhs_stride,
                                                     const Pair (&rhs)[kPairs],
                                                     Squares& acc) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const char* const panel = lhs + v * lhs_stride;
      const Pair low = Op::LoadPair(panel);
      const Pair high = Op::LoadPair(panel + 16);
      RUY_LIKE_UNROLL
      for (int p = 0; p < kPairs; ++p) {
        acc[p][v][0] = Op::MultiplyPairs(acc[p][v][0], low, rhs[p]);
        acc[p][v][1] = Op::MultiplyPairs(acc[p][v][1], high, rhs[p]);
      }
    }
  }

  // int8. Missing ones of the last eight elements are 0, as in the lhs's
  // panels.
  static void MultiplyInPlace(const TileArgs& args, Squares& acc) {
    const char* columns[2 * kPairs];
    RUY_LIKE_UNROLL
    for (int c = 0; c < 2 * kPairs; ++c) {
      // An odd last column is read twice.
      columns[c] = static_cast<const char*>(args.rhs.data) +
                   (c < kCols ? c : c - 1) * args.rhs.stride_bytes;
    }
    const char* lhs = static_cast<const char*>(args.lhs);
    const ptrdiff_t depth = args.steps;
    ptrdiff_t k = 0;
    for (; k + 16 <= depth; k += 16) {
      int8x16_t low[kPairs], high[kPairs];
      RUY_LIKE_UNROLL
      for (int p = 0; p < kPairs; ++p) {
        const int64x2_t even =
            vreinterpretq_s64_s8(Op::LoadPair(columns[2 * p] + k));
        const int64x2_t odd =
            vreinterpretq_s64_s8(Op::LoadPair(columns[2 * p + 1] + k));
        low[p] = vreinterpretq_s8_s64(vzip1q_s64(even, odd));
        high[p] = vreinterpretq_s8_s64(vzip2q_s64(even, odd));
      }
      MultiplyAddStep(lhs, args.lhs_stride_bytes, low, acc);
      KeepInRegisters(acc);
      MultiplyAddStep(lhs + kStepBytes, args.lhs_stride_bytes, high, acc);
      lhs += 2 * kStepBytes;
    }
    for (; k < depth; k += 8) {
      int8x16_t rhs[kPairs];
      RUY_LIKE_UNROLL
      for (int p = 0; p < kPairs; ++p) {
        rhs[p] = vcombine_s8(FirstOfEight(columns[2 * p] + k, depth - k),
                             FirstOfEight(columns[2 * p + 1] + k, depth - k));
      }
      MultiplyAddStep(lhs, args.lhs_stride_bytes, rhs, acc);
      lhs += kStepBytes;
    }
  }

  // Without it gcc 12 moves accumulators to other registers and back in each
  // iteration.
  static RUY_LIKE_ALWAYS_INLINE void KeepInRegisters(Squares& acc) {
    RUY_LIKE_UNROLL
    for (int p = 0; p < kPairs; ++p) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        SimdNeon::KeepInOrder(acc[p][v][0]);
        SimdNeon::KeepInOrder(acc[p][v][1]);
      }
    }
  }

  // The eight elements at `p`. Reads at most `left` of them; the others are 0.
  static RUY_LIKE_ALWAYS_INLINE int8x8_t FirstOfEight(const char* p,
                                                      ptrdiff_t left) {
    if (left >= 8) return vld1_s8(reinterpret_cast<const int8_t*>(p));
    uint64_t bytes = FirstOfDot(p, left);
    // The last four, some of them once more.
    if (left > 4) {
      bytes |= uint64_t{FirstOfDot(p + left - 4, 4)} << 8 * (left - 4);
    }
    return vcreate_s8(bytes);
  }

  static RUY_LIKE_ALWAYS_INLINE void Begin(const TileArgs& args, Squares& acc) {
    Vector columns[kCols][kVectors];
    StartTile<Op, /*kOneStart=*/false>(args, columns);
    RUY_LIKE_UNROLL
    for (int p = 0; p < kPairs; ++p) {
      // A missing odd column may start from anything.
      const int odd = 2 * p + 1 < kCols ? 2 * p + 1 : 2 * p;
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vector first = columns[2 * p][v], second = columns[odd][v];
        acc[p][v][0] = __builtin_shufflevector(first, second, 0, 4, 1, 5);
        acc[p][v][1] = __builtin_shufflevector(first, second, 2, 6, 3, 7);
      }
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void End(const Squares& acc,
                                         const TileArgs& args) {
    Vector columns[kCols][kVectors];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const Vector first = acc[c / 2][v][0], second = acc[c / 2][v][1];
        columns[c][v] =
            c % 2 == 0 ? __builtin_shufflevector(first, second, 0, 2, 4, 6)
                       : __builtin_shufflevector(first, second, 1, 3, 5, 7);
      }
    }
    EndTile<Op>(args, columns);
  }
};

// int8 times int8, eight elements a step.
struct NeonSquaresOp : NeonIntOp<int8_t, 8> {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  template <class RhsSource, int kVectors, int kCols>
  using Tile = SquaresTile<NeonSquaresOp, RhsSource, kVectors, kCols>;

  typedef int8x16_t Pair;
  static RUY_LIKE_ALWAYS_INLINE Pair LoadPair(const void* p) {
    return vld1q_s8(static_cast<const int8_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyPairs(Vector square, Pair lhs,
                                                     Pair rhs) {
    return vmmlaq_s32(square, lhs, rhs);
  }
};

// With the rhs in place, whose vectors are zipped in registers: a zip for every
// four multiplications, repeated by each tile of rows, so at most two of them.
struct NeonSquaresColumnsOp : InPlaceColumnsOp<NeonSquaresOp> {
  typedef ColumnSumsEpilogue Epilogue;
  static constexpr int kMaxRows = 16;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_SQUARES_NEON_H_
