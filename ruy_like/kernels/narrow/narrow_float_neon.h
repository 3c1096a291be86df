// Back-end: the float kernel for narrow products on Arm, the lhs read in place.
//
// Included by kernels/neon.cc and neon32.cc, which list NarrowFloatNeon in
// front of their panel kernel; called by run/blocks.cc through the table for
// products of at most kMaxCols columns, depth-contiguous lhs and depth that is
// not split into passes. narrow_float.h says why rows have to be transposed on
// their way.
//
// A tile is 8 rows by all columns, in steps of depth four. The rhs is packed
// into panels of one column, so that a load brings four elements of it, which
// then multiply by lane:
//
//      lhs, in place          registers                 rhs column
//      row 0   |a b c d|     |a e i m| depth 0  x lane 0  |p q r s|
//      row 1   |e f g h| --> |b f j n| depth 1  x lane 1
//      row 2   |i j k l|     |c g k o| depth 2  x lane 2
//      row 3   |m n o p|     |d h l p| depth 3  x lane 3
//
// For one column, 32 multiply-adds take 8 loads of the lhs, one of the rhs, 16
// permutations and 8 multiplications.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_NEON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_NEON_H_

#include <stddef.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

constexpr int kFloatTileRows = 8;  // in two vectors
// Rows whose sums are collected for one call of the epilogue, which costs as
// much for one vector as for several.
constexpr int kCollectedFloatRows = 64;

template <int kCols>
struct NarrowFloatTile {
  // Sums of the rows from `row` on. Rows beyond the block repeat its last one;
  // their sums are not used.
  static void Run(const KernelArgs& args, ptrdiff_t row, float* sums) {
    const float* rows[kFloatTileRows];
    for (int r = 0; r < kFloatTileRows; ++r) {
      const ptrdiff_t present = row + r < args.rows ? row + r : args.rows - 1;
      rows[r] = reinterpret_cast<const float*>(
          static_cast<const char*>(args.lhs) + present * args.lhs_stride_bytes);
    }
    const float* columns[kCols];
    for (int c = 0; c < kCols; ++c) {
      columns[c] = reinterpret_cast<const float*>(
          static_cast<const char*>(args.rhs) + c * args.rhs_stride_bytes);
    }
    float32x4_t acc[kCols][2];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) acc[c][0] = acc[c][1] = vdupq_n_f32(0);
    const ptrdiff_t whole = args.depth / 4 * 4;
    for (ptrdiff_t k = 0; k < whole; k += 4) {
      float32x4_t x[2][4];
      RUY_LIKE_UNROLL
      for (int g = 0; g < 2; ++g) {
        RUY_LIKE_UNROLL
        for (int r = 0; r < 4; ++r) x[g][r] = vld1q_f32(rows[4 * g + r] + k);
        Transpose(x[g]);
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        const float32x4_t rhs = vld1q_f32(columns[c] + k);
        MultiplyAddDepth<0>(x, rhs, acc[c]);
        MultiplyAddDepth<1>(x, rhs, acc[c]);
        MultiplyAddDepth<2>(x, rhs, acc[c]);
        MultiplyAddDepth<3>(x, rhs, acc[c]);
      }
    }
    if (whole < args.depth) {
      const int rest = static_cast<int>(args.depth - whole);
      float32x4_t x[2][4];
      RUY_LIKE_UNROLL
      for (int g = 0; g < 2; ++g) {
        RUY_LIKE_UNROLL
        for (int r = 0; r < 4; ++r) {
          x[g][r] = SimdNeon::LoadMasked(rows[4 * g + r] + whole, rest);
        }
        Transpose(x[g]);
      }
      // Missing elements are skipped, not added as zeros: -0 would become 0.
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        const float32x4_t rhs = SimdNeon::LoadMasked(columns[c] + whole, rest);
        MultiplyAddDepth<0>(x, rhs, acc[c]);
        if (rest > 1) MultiplyAddDepth<1>(x, rhs, acc[c]);
        if (rest > 2) MultiplyAddDepth<2>(x, rhs, acc[c]);
      }
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      vst1q_f32(sums + c * kCollectedFloatRows, acc[c][0]);
      vst1q_f32(sums + c * kCollectedFloatRows + 4, acc[c][1]);
    }
  }

 private:
  static RUY_LIKE_ALWAYS_INLINE void Transpose(float32x4_t (&x)[4]) {
    int32x4_t m[4];
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) m[r] = SimdNeon::BitsOf(x[r]);
    SimdNeon::Transpose(m);
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) x[r] = SimdNeon::AsFloat(m[r]);
  }

  // x[g][i]: element i of a vector of rows.
  template <int kDepth>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAddDepth(
      const float32x4_t (&x)[2][4], float32x4_t rhs, float32x4_t (&acc)[2]) {
    acc[0] = SimdNeon::MulAddLane<kDepth>(x[0][kDepth], rhs, acc[0]);
    acc[1] = SimdNeon::MulAddLane<kDepth>(x[1][kDepth], rhs, acc[1]);
  }
};

typedef void NarrowFloatTileFn(const KernelArgs& args, ptrdiff_t row,
                               float* sums);

// For 1, 2 ... kMaxCols columns.
template <int kMaxCols>
constexpr auto kNarrowFloatTiles = TableOf<NarrowFloatTileFn, kMaxCols>(
    [](auto cols) { return NarrowFloatTile<cols()>::Run; });

struct NarrowFloatNeon {
  // As many as there are registers for.
  static constexpr int kMaxCols = RUY_LIKE_NEON_64 ? 8 : 3;

  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel =
        NarrowFloatEntry(name, /*rhs_width=*/1, kFloatTileRows, pack_rhs, Run);
    kernel.tile_cols = kernel.max_cols = kMaxCols;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    alignas(64) float sums[kMaxCols * kCollectedFloatRows];
    for (ptrdiff_t row = 0; row < args->rows; row += kCollectedFloatRows) {
      const ptrdiff_t left = args->rows - row;
      const int rows = left < kCollectedFloatRows ? static_cast<int>(left)
                                                  : kCollectedFloatRows;
      for (int r = 0; r < rows; r += kFloatTileRows) {
        kNarrowFloatTiles<kMaxCols>.fns[args->cols - 1](*args, row + r,
                                                        sums + r);
      }
      StoreTile<SimdNeon>({sums, kCollectedFloatRows, rows,
                           static_cast<int>(args->cols), row, 0},
                          *args->epilogue);
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_NEON_H_
