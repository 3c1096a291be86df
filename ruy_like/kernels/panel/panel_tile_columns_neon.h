// Back-end: tiles whose rhs is read in place, for Arm.
//
// Template arguments of PanelKernel<> (panel_kernel.h), with InPlaceRhs; chosen
// by the Arm per-ISA files. A column of the rhs is contiguous along depth, so
// that a vector of it has four dots (of one element for floats, of
// four for SDOT), of which the multiply-add takes one lane after the other:
//
//      rhs vector of column c:      |  dot g  | g+1 | g+2 | g+3 |
//                                     |
//      lhs panel p, dot g:  lp  x  lane 0  ->  acc[c][p], and so on
//
// Four dots of a tile of 8 x 8 are 64 multiply-adds and 16 loads, which is as
// good as packed panels. Without packing, 16 x 32 x 16 takes 4947 instructions
// instead of 5777 in float; at 256^3 there is no difference.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_COLUMNS_NEON_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_COLUMNS_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/panel/panel_lanes.h"
#include "ruy_like/kernels/panel/panel_ops_neon.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/neon.h"
#include "ruy_like/simd/simd_neon.h"

namespace ruy_like::kernels {
namespace {

// Bytes of a column's dot.
constexpr ptrdiff_t kDotBytes = 4;

// The dot of bytes at `p`. Reads at most `bytes` of them, at least one; the
// others are 0.
RUY_LIKE_ALWAYS_INLINE uint32_t FirstOfDot(const char* p, ptrdiff_t bytes) {
  if (bytes >= kDotBytes) {
    uint32_t dot;
    __builtin_memcpy(&dot, p, sizeof(dot));
    return dot;
  }
  // Three bytes, some of them the same one if there are fewer.
  const unsigned char* const byte = reinterpret_cast<const unsigned char*>(p);
  const ptrdiff_t middle = bytes / 2, last = bytes - 1;
  return byte[0] | uint32_t{byte[middle]} << 8 * middle |
         uint32_t{byte[last]} << 8 * last;
}

// Loads a dot into each lane; `bytes` as above.
RUY_LIKE_ALWAYS_INLINE void LoadDot(const float* p, ptrdiff_t /*bytes*/,
                                    float32x4_t* to) {
  *to = vld1q_dup_f32(p);
}
RUY_LIKE_ALWAYS_INLINE void LoadDot(const int8_t* p, ptrdiff_t bytes,
                                    int32x4_t* to) {
  *to = vreinterpretq_s32_u32(
      vdupq_n_u32(FirstOfDot(reinterpret_cast<const char*>(p), bytes)));
}

// The last dot may be incomplete: the lhs's panels are padded with
// zeros.
template <class Op, int kVectors, int kCols>
struct ColumnsTile {
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Rhs Rhs;
  typedef typename Op::Vector Accumulators[kCols][kVectors];

  static void Run(const TileArgs& args) {
    Accumulators acc;
    StartTile<Op, /*kOneStart=*/false>(args, acc);
    const char* columns[kCols];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      columns[c] =
          static_cast<const char*>(args.rhs.data) + c * args.rhs.stride_bytes;
    }
    const char* lhs = static_cast<const char*>(args.lhs);
    const ptrdiff_t lhs_stride = args.lhs_stride_bytes;
    const ptrdiff_t end = args.steps * static_cast<ptrdiff_t>(sizeof(Rhs));
    ptrdiff_t k = 0;
    for (; k <= end - 4 * kDotBytes; k += 4 * kDotBytes) {
      typename Op::RhsVector rhs[kCols];
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        rhs[c] = Op::LoadRhsVector(RhsAt(columns[c] + k));
      }
      MultiplyAddTwoDots<0>(lhs, lhs_stride, rhs, acc);
      MultiplyAddTwoDots<2>(lhs + 32, lhs_stride, rhs, acc);
      lhs += 64;
    }
    if (sizeof(Rhs) == 1 && k != 0 && k < end) {
      MultiplyAddTail(lhs, lhs_stride, columns, end, acc);
      k = end;
    }
    for (; k < end; k += kDotBytes) {
      typename Op::LhsVector lhs_vectors[kVectors];
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        lhs_vectors[v] = LoadLhs(lhs + v * lhs_stride);
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        typename Op::RhsVector rhs;
        LoadDot(RhsAt(columns[c] + k), end - k, &rhs);
        MultiplyAddLane<Op, kVectors, 0>(lhs_vectors, rhs, acc[c]);
      }
      lhs += 16;
    }
    EndTile<Op>(args, acc);
  }

 private:
  static RUY_LIKE_ALWAYS_INLINE const Rhs* RhsAt(const char* p) {
    return reinterpret_cast<const Rhs*>(p);
  }
  static RUY_LIKE_ALWAYS_INLINE typename Op::LhsVector LoadLhs(const char* p) {
    return Op::LoadLhs(reinterpret_cast<const Lhs*>(p));
  }

  // Up to four dots, of columns that have 16 bytes before `end`: those are
  // loaded and shifted down, with zeros behind them.
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAddTail(
      const char* lhs, ptrdiff_t lhs_stride,
      const char* const (&columns)[kCols], ptrdiff_t end, Accumulators& acc) {
    const int left = static_cast<int>(end % (4 * kDotBytes));
    alignas(16) static constexpr uint8_t kFirst[16] = {
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    // TBL makes 0 of indices beyond the vector.
    const uint8x16_t order =
        vaddq_u8(vld1q_u8(kFirst), vdupq_n_u8(static_cast<uint8_t>(16 - left)));
    typename Op::RhsVector rhs[kCols];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const uint8x16_t bytes = vqtbl1q_u8(
          vld1q_u8(reinterpret_cast<const uint8_t*>(columns[c] + end - 16)),
          order);
      __builtin_memcpy(&rhs[c], &bytes, sizeof(bytes));
    }
    MultiplyAddTwoDots<0>(lhs, lhs_stride, rhs, acc, left > kDotBytes);
    if (left > 2 * kDotBytes) {
      MultiplyAddTwoDots<2>(lhs + 32, lhs_stride, rhs, acc,
                            left > 3 * kDotBytes);
    }
  }

  // Two dots of the lhs, loaded as pairs of vectors, by lanes kLane and kLane
  // + 1 of the rhs's columns; or the first one alone.
  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAddTwoDots(
      const char* lhs, ptrdiff_t lhs_stride,
      const typename Op::RhsVector (&rhs)[kCols], Accumulators& acc,
      bool both = true) {
    typename Op::LhsVector first[kVectors], second[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      first[v] = LoadLhs(lhs + v * lhs_stride);
      if (both) second[v] = LoadLhs(lhs + v * lhs_stride + 16);
    }
    MultiplyAddDot<kLane>(first, rhs, acc);
    if (both) MultiplyAddDot<kLane + 1>(second, rhs, acc);
  }

  template <int kLane>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAddDot(
      const typename Op::LhsVector (&lhs)[kVectors],
      const typename Op::RhsVector (&rhs)[kCols], Accumulators& acc) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      MultiplyAddLane<Op, kVectors, kLane>(lhs, rhs[c], acc[c]);
      // Without it gcc 12 swaps the registers of two accumulators in each
      // iteration, which lengthens the chain of additions: 80% of the peak on
      // Neoverse V1.
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) SimdNeon::KeepInOrder(acc[c][v]);
    }
  }
};

// The epilogue of bytes read in place, for which no column sums are given: in
// each pass over depth the accumulators start with the terms of that pass's
// elements.
class ColumnSumsEpilogue : public NeonIntEpilogue {
 public:
  typedef NeonIntEpilogue Base;
  static constexpr bool kColumnStartInEveryPass = true;

  ColumnSumsEpilogue(const KernelArgs& args, ptrdiff_t row0, ptrdiff_t rows)
      : Base(args, row0, rows), args_(args) {}

  RUY_LIKE_ALWAYS_INLINE const int32_t* ColumnStart(ptrdiff_t col, int cols) {
    const int32_t* const given = Base::ColumnStart(col, cols);
    if (args_.epilogue->lhs_zero_point == 0) return given;
    return SubtractSums(given, col, cols);
  }

 private:
  RUY_LIKE_NOINLINE const int32_t* SubtractSums(const int32_t* given,
                                                ptrdiff_t col, int cols) {
    for (int c = 0; c < cols; ++c) {
      const uint32_t term =
          static_cast<uint32_t>(args_.epilogue->lhs_zero_point) *
          Sum(static_cast<const int8_t*>(args_.rhs) +
              (col + c) * args_.rhs_stride_bytes);
      start_[c] = static_cast<int32_t>(
          (given == nullptr ? 0 : static_cast<uint32_t>(given[c])) - term);
    }
    return start_;
  }

  RUY_LIKE_ALWAYS_INLINE uint32_t Sum(const int8_t* column) const {
    int32x4_t lanes = vdupq_n_s32(0);
    ptrdiff_t k = 0;
    for (; k + 16 <= args_.depth; k += 16) {
      lanes = vpadalq_s16(lanes, vpaddlq_s8(vld1q_s8(column + k)));
    }
    uint32_t sum = static_cast<uint32_t>(vaddvq_s32(lanes));
    for (; k < args_.depth; ++k) sum += static_cast<uint32_t>(column[k]);
    return sum;
  }

  const KernelArgs& args_;
  int32_t start_[kMaxTileCols];
};

// By counts of instructions. A row-major dst costs bytes in place 1000 levels
// if multipliers are along dst's columns, with one multiplier less than half.
constexpr Kernel WithLimits(Kernel kernel, int narrow_cols,
                            int row_major_depth = kNotRowMajor) {
  kernel.narrow_cols = narrow_cols;
  kernel.row_major_depth = row_major_depth;
  return kernel;
}

// PackedOp with the rhs in place; reads the same lhs panels.
template <class PackedOp>
struct InPlaceColumnsOp : PackedOp {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  static constexpr int kStepDepth = 1;
  static constexpr int kSinglePanelWidth = 1;
  // Four tiles. With more, packing pays, since each tile of rows reads the
  // columns again; and columns a power of two apart compete for the same sets
  // of L1.
  static constexpr int kMaxRows = 32;
};

struct NeonFloatColumnsOp : InPlaceColumnsOp<NeonFloatOp> {
  template <class RhsSource, int kVectors, int kCols>
  using Tile = ColumnsTile<NeonFloatColumnsOp, kVectors, kCols>;
};

template <class Dot>
struct NeonQuadsColumnsOp : InPlaceColumnsOp<NeonQuadsOp<Dot>> {
  typedef ColumnSumsEpilogue Epilogue;
  template <class RhsSource, int kVectors, int kCols>
  using Tile = ColumnsTile<NeonQuadsColumnsOp, kVectors, kCols>;
  // In this order: otherwise gcc 12 copies accumulators in each iteration.
  static RUY_LIKE_ALWAYS_INLINE int32x4_t LoadLhs(const int8_t* p) {
    int32x4_t lhs = NeonQuadsOp<Dot>::LoadLhs(p);
    SimdNeon::KeepInOrder(lhs);
    return lhs;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_COLUMNS_NEON_H_
