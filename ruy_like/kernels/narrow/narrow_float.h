// Back-end: the float kernel for narrow products, the lhs read in place.
//
// Included by the x86 per-ISA files, which instantiate NarrowFloatKernel<> and
// list it in front of their panel kernel; called by run/blocks.cc through the
// table for products of at most kMaxNarrowCols columns. It handles
// depth-contiguous lhs only, and depth that is not split into passes.
//
// A float sum runs over depth one level after the other, as in the panel kernel
// (panel_kernel.h), so that a result does not depend on which of the two made
// it. Lanes can't run along depth then, they hold different rows; what is
// contiguous in memory has to be transposed on its way:
//
//      lhs, in place                 registers              accumulators
//      row 0   |a b c d ...|        |a e i m ...|  level 0
//      row 1   |e f g h ...|   -->  |b f j n ...|  level 1  x rhs -->  |....|
//      row 2   |i j k l ...|        |c g k o ...|  level 2             rows
//      row 3   |m n o p ...|        |d h l p ...|  level 3
//
// What is transposed are 32-bit words. Of a lhs of 16-bit floats a word is two
// levels, which are widened after it: half of the memory traffic and shuffles.
//
// Rows and levels that do not fill registers are packed into a small piece of
// panels instead, which the panel kernel's tiles multiply.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_side_by_side.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like {
namespace kernels {
namespace {

constexpr int kLineWords = 16;  // of 32 bits, in a line of memory

// Levels of a row in a word, in a line of memory, and those whose lhs is asked
// for while as many before them are multiplied: 16 lines of each row, far
// enough ahead for memory and few enough for L1.
template <Scalar kLhs>
constexpr int kWordLevels = kLhs == Scalar::kF32 ? 1 : 2;
template <Scalar kLhs>
constexpr int kLineLevels = kLhs == Scalar::kF32 ? 16 : 32;
template <Scalar kLhs>
constexpr int kStretchLevels = 16 * kLineLevels<kLhs>;
template <Scalar kLhs>
constexpr ptrdiff_t kElementBytes = sizeof(float) / kWordLevels<kLhs>;

// The levels of a word of each row.
template <class V, Scalar kLhs>
RUY_LIKE_ALWAYS_INLINE void LevelsOfWords(
    typename V::Float words, typename V::Float (&levels)[kWordLevels<kLhs>]) {
  if constexpr (kLhs == Scalar::kF32) {
    levels[0] = words;
  } else {
    V::template WidenPairs<kLhs>(words, levels);
  }
}

struct RowsArgs {
  const char* lhs;       // the first row
  ptrdiff_t lhs_stride;  // in bytes
  const float* rhs;      // panel
  ptrdiff_t levels;      // whole lines, <= kStretchLevels
  const char* prefetch;  // as many rows and levels, likewise strided
  float* accum;          // column-major, of kGroups vectors
};

typedef void RowsFn(const RowsArgs& args);

// The same as RunRows() below for one vector of rows, with 512 bits and for
// memory: a line of a row is one load, so that it does not matter that of 16
// rows a multiple of 4096 bytes apart an L1 cache of 8 ways holds 8 lines. For
// the same reason prefetching is to L2. Out of a cache it is slower, since more
// of its shuffles cross 128 bits.
template <class V, Scalar kLhs, int kRhsWidth, int kCols>
void RunWholeLines(const RowsArgs& args) {
  typedef typename V::Float Float;
  constexpr int kPerWord = kWordLevels<kLhs>;
  Float acc[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    acc[c] = V::LoadAligned(args.accum + c * V::kLanes);
  }
  const ptrdiff_t stride = args.lhs_stride;
  const char* lhs = args.lhs;
  const char* prefetch = args.prefetch;
  const float* rhs = args.rhs;
  for (ptrdiff_t level = 0; level < args.levels; level += kLineLevels<kLhs>) {
    Float x[kLineWords];
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLineWords; ++i) {
      x[i] = V::InRegister(V::AsFloat(V::Load(lhs + i * stride)));
      __builtin_prefetch(prefetch + i * stride, /*rw=*/0, /*locality=*/2);
    }
    V::TransposeLines(x);
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLineWords; ++i) {
      Float levels[kPerWord];
      LevelsOfWords<V, kLhs>(x[i], levels);
      RUY_LIKE_UNROLL
      for (int j = 0; j < kPerWord; ++j) {
        RUY_LIKE_UNROLL
        for (int c = 0; c < kCols; ++c) {
          acc[c] = V::MulAddFloat(
              levels[j], V::SetFloat(rhs[(i * kPerWord + j) * kRhsWidth + c]),
              acc[c]);
        }
      }
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[c]);
    lhs += kLineWords * sizeof(float);
    prefetch += kLineWords * sizeof(float);
    rhs += kLineLevels<kLhs> * kRhsWidth;
  }
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    V::StoreAligned(args.accum + c * V::kLanes, acc[c]);
  }
}

// Multiplies kGroups vectors of rows and kCols columns of a rhs panel.
template <class V, Scalar kLhs, int kRhsWidth, int kCols, int kGroups>
void RunRows(const RowsArgs& args) {
  typedef typename V::Float Float;
  constexpr int kLanes = V::kLanes;
  constexpr int kFours = V::kRowWords / 4;
  constexpr int kPerWord = kWordLevels<kLhs>;
  Float acc[kCols][kGroups];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kGroups; ++i) {
    acc[i / kGroups][i % kGroups] = V::LoadAligned(args.accum + i * kLanes);
  }
  const ptrdiff_t stride = args.lhs_stride;
  const char* lhs = args.lhs;
  const float* rhs = args.rhs;
  for (ptrdiff_t level = 0; level < args.levels; level += kLineLevels<kLhs>) {
    // Prefetches as many lines as are read here, row after row.
    const ptrdiff_t line = level / kLineLevels<kLhs> * (kGroups * kLanes);
    const char* const prefetch =
        args.prefetch + line / 16 * stride + line % 16 * 64;
    RUY_LIKE_UNROLL
    for (int i = 0; i < kGroups * kLanes; ++i) {
      __builtin_prefetch(prefetch + 64 * i);
    }
    for (int part = 0; part < kLineWords; part += V::kRowWords) {
      RUY_LIKE_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        const char* const rows = lhs + g * kLanes * stride;
        Float x[kFours][4];
        RUY_LIKE_UNROLL
        for (int i = 0; i < 4; ++i) {
          RUY_LIKE_UNROLL
          for (int f = 0; f < kFours; ++f) {
            x[f][i] = V::LoadFourWords(rows + i * stride + 16 * f, stride);
            V::HoldInRegister(x[f][i]);
          }
        }
        RUY_LIKE_UNROLL
        for (int f = 0; f < kFours; ++f) {
          // Four words of rows i, i + 4, ... become word i of all rows.
          V::TransposeParts(x[f]);
          RUY_LIKE_UNROLL
          for (int i = 0; i < 4; ++i) {
            Float levels[kPerWord];
            LevelsOfWords<V, kLhs>(x[f][i], levels);
            RUY_LIKE_UNROLL
            for (int j = 0; j < kPerWord; ++j) {
              const float* const b =
                  rhs + ((4 * f + i) * kPerWord + j) * kRhsWidth;
              RUY_LIKE_UNROLL
              for (int c = 0; c < kCols; ++c) {
                acc[c][g] =
                    V::MulAddFloat(levels[j], V::SetFloat(b[c]), acc[c][g]);
              }
            }
          }
        }
        RUY_LIKE_UNROLL
        for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[c][g]);
      }
      lhs += V::kRowWords * sizeof(float);
      rhs += V::kRowWords * kPerWord * kRhsWidth;
    }
  }
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kGroups; ++i) {
    V::StoreAligned(args.accum + i * kLanes, acc[i / kGroups][i % kGroups]);
  }
}

// The counterpart of PanelKernel<FloatOp<V>, kMaxVectors, kRhsWidth>; kPackRows
// packs that one's lhs. kLhs: float or one of 16 bits.
template <class V, int kMaxVectors, int kRhsWidth, PackFn* kPackRows,
          Scalar kLhs = Scalar::kF32>
struct NarrowFloatKernel {
  typedef FloatOp<typename V::Base> Op;
  typedef TileTable<Op, PackedRhs<Op, kRhsWidth>, kRhsWidth,
                    typename MakeIndices<kMaxVectors>::Type>
      PanelTiles;
  static constexpr int kLanes = V::kLanes;
  static constexpr int kMaxPanels =
      (kMaxNarrowCols + kRhsWidth - 1) / kRhsWidth;
  static constexpr int kPieceLevels = 64;

  // Vectors of rows at a time. A sum's additions follow each other with 4
  // cycles in between, which for a vector of 256 bits is 32 bytes of lhs per 4
  // cycles: too slow alone while there are few columns. Two vectors of 512 bits
  // would be 32 rows, more than the prefetchers follow.
  static constexpr int kMaxGroups = kLanes == 8 ? 2 : 1;
  static constexpr int kMaxGroupsCols = kMaxGroups == 2 ? 3 : kRhsWidth;
  static RUY_LIKE_ALWAYS_INLINE int Groups(const KernelArgs& args) {
    return args.cols <= kMaxGroupsCols ? kMaxGroups : 1;
  }

  // From so many columns on, rows are transposed beside the product.
  static constexpr int kMinSideBySideCols = kLanes == 8 ? kRhsWidth + 1 : 11;
  typedef SideBySideRunner<V, kRhsWidth, kStretchLevels<Scalar::kF32>>
      SideBySide;
  static_assert(kMinSideBySideCols > kRhsWidth);

  // RunRows() for 1, 2 ... columns.
  template <int kGroups, class ColumnIndices>
  struct Table;
  template <int kGroups, int... kI>
  struct Table<kGroups, Indices<kI...>> {
    static constexpr RowsFn* kRows[] = {
        RunRows<V, kLhs, kRhsWidth, kI + 1, kGroups>...};
  };
  typedef Table<1, typename MakeIndices<kRhsWidth>::Type> OneGroup;
  typedef Table<kMaxGroups, typename MakeIndices<kMaxGroupsCols>::Type>
      MaxGroups;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel =
        NarrowFloatEntry(name, kRhsWidth, /*tile_rows=*/16, pack_rhs, Run);
    kernel.tile_cols = kMaxPanels * kRhsWidth;
    if constexpr (kLhs != Scalar::kF32) {
      // More columns are packed, which widens once for all of them.
      kernel.lhs.scalar = kLhs;
      kernel.tile_cols = kernel.max_cols = kRhsWidth;
    }
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    if constexpr (kLhs == Scalar::kF32) {
      if (args->cols >= kMinSideBySideCols) {
        RunSideBySideTiles(*args);
        return;
      }
    }
    RunTiles(*args);
  }

 private:
  // Registers' worth of rows at a time.
  static RUY_LIKE_ALWAYS_INLINE void RunTiles(const KernelArgs& args) {
    const int groups = Groups(args);
    const int tile_rows = groups * kLanes;
    const char* lhs = static_cast<const char*>(args.lhs);
    alignas(64) float accum[kMaxPanels * kRhsWidth * kMaxGroups * kLanes];
    for (ptrdiff_t row = 0; row < args.rows; row += tile_rows) {
      const int rows = AtMost(args.rows - row, tile_rows);
      Clear(args.cols * kMaxGroups, accum);
      const ptrdiff_t whole =
          rows < tile_rows ? 0
                           : args.depth / kLineLevels<kLhs> * kLineLevels<kLhs>;
      for (ptrdiff_t k = 0; k < whole; k += kStretchLevels<kLhs>) {
        MultiplyStretch(args, lhs, k, whole, row + 2 * tile_rows <= args.rows,
                        accum);
      }
      Finish<kMaxGroups>(args, lhs, row, rows, whole, accum);
      lhs += tile_rows * args.lhs_stride_bytes;
    }
  }

  // narrow_side_by_side.h's tiles. Not inlined: its frame is larger.
  static RUY_LIKE_NOINLINE void RunSideBySideTiles(const KernelArgs& args) {
    constexpr int kTileRows = SideBySide::kTileRows;
    const char* lhs = static_cast<const char*>(args.lhs);
    const ptrdiff_t tile_bytes = kTileRows * args.lhs_stride_bytes;
    alignas(64) float accum[kMaxPanels * kRhsWidth * kTileRows];
    SideBySide beside(args);
    if (args.rows >= kTileRows) beside.Begin(lhs);
    for (ptrdiff_t row = 0; row < args.rows; row += kTileRows) {
      const ptrdiff_t left = args.rows - row;
      const int rows = AtMost(left, kTileRows);
      Clear(args.cols * 2, accum);
      ptrdiff_t whole = 0;
      if (rows == kTileRows) {
        whole = beside.levels();
        beside.Run(lhs, left < 2 * kTileRows ? nullptr : lhs + tile_bytes,
                   accum);
      }
      Finish<2>(args, lhs, row, rows, whole, accum);
      lhs += tile_bytes;
    }
  }

  // Levels from `level` on, and the epilogue. Accumulators are kGroups vectors
  // a column.
  template <int kGroups>
  static RUY_LIKE_ALWAYS_INLINE void Finish(const KernelArgs& args,
                                            const char* lhs, ptrdiff_t row,
                                            int rows, ptrdiff_t level,
                                            float* accum) {
    for (; level < args.depth; level += kPieceLevels) {
      MultiplyPiece<kGroups>(args, lhs, rows, level, accum);
    }
    for (int i = 0; i < CountRhsPanels<kRhsWidth>(args); ++i) {
      const NarrowRhsPanel panel =
          GetRhsPanel<kRhsWidth>(args, i, 0, accum, kGroups * kLanes);
      StoreTile<typename Op::Simd>({panel.accum, Vectors(rows) * kLanes, rows,
                                    panel.cols, row, panel.col},
                                   *args.epilogue);
    }
  }

  // Clears only the vectors in use: for one column the whole array takes 7 ns
  // more.
  static RUY_LIKE_ALWAYS_INLINE void Clear(ptrdiff_t vectors, float* accum) {
    for (ptrdiff_t i = 0; i < vectors; ++i) {
      V::StoreAligned(accum + i * kLanes, V::SetFloat(0));
    }
  }

  // A tile of whole vectors, from level `k` on; `end` is the last stretch's,
  // `has_next` whether such a tile follows. Whole lines ask for the same levels
  // of that one: 4096x4096x1 about 1.3 times as fast as with the next stretch
  // of these rows (doc/tuning.md).
  static RUY_LIKE_ALWAYS_INLINE void MultiplyStretch(const KernelArgs& args,
                                                     const char* lhs,
                                                     ptrdiff_t k, ptrdiff_t end,
                                                     bool has_next,
                                                     float* accum) {
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const ptrdiff_t left = end - k;
    const int groups = Groups(args);
    const bool whole_lines = UsesWholeLines(args);
    RowsArgs rows;
    rows.lhs = lhs + k * kElementBytes<kLhs>;
    rows.lhs_stride = stride;
    rows.levels = AtMost(left, kStretchLevels<kLhs>);
    const ptrdiff_t tile_bytes = groups * kLanes * stride;
    if (whole_lines && has_next) {
      rows.prefetch = rows.lhs + tile_bytes;
    } else {
      rows.prefetch =
          left > kStretchLevels<kLhs>
              ? rows.lhs + kStretchLevels<kLhs> * kElementBytes<kLhs>
              : lhs + tile_bytes;
    }
    for (int i = 0; i < CountRhsPanels<kRhsWidth>(args); ++i) {
      const NarrowRhsPanel panel =
          GetRhsPanel<kRhsWidth>(args, i, k, accum, kMaxGroups * kLanes);
      rows.rhs = panel.rhs;
      rows.accum = panel.accum;
      RowsOf(whole_lines, groups, panel.cols)(rows);
      rows.prefetch = rows.lhs;
    }
  }

  // Whole lines are for one or two columns of a lhs that no cache holds.
  static RUY_LIKE_ALWAYS_INLINE bool UsesWholeLines(const KernelArgs& args) {
    constexpr ptrdiff_t kCached = 16 << 20;
    return V::kRowWords == kLineWords && args.cols <= 2 &&
           args.rows * args.lhs_stride_bytes > kCached;
  }

  static RUY_LIKE_ALWAYS_INLINE RowsFn* RowsOf(bool whole_lines, int groups,
                                               int cols) {
    if constexpr (V::kRowWords == kLineWords) {
      if (whole_lines) {
        return cols == 1 ? RunWholeLines<V, kLhs, kRhsWidth, 1>
                         : RunWholeLines<V, kLhs, kRhsWidth, 2>;
      }
    }
    return (groups == 1 ? OneGroup::kRows : MaxGroups::kRows)[cols - 1];
  }

  // Any number of rows up to a tile's, kPieceLevels levels from `k` on.
  template <int kGroups>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyPiece(const KernelArgs& args,
                                                   const char* lhs, int rows,
                                                   ptrdiff_t k, float* accum) {
    alignas(64) float piece[kGroups * kLanes * kPieceLevels];
    const ptrdiff_t levels = AtMost(args.depth - k, kPieceLevels);
    PackArgs pack;
    pack.src = lhs + k * kElementBytes<kLhs>;
    pack.src_scalar = kLhs;
    pack.depth_contiguous = true;
    pack.src_stride = args.lhs_stride_bytes / kElementBytes<kLhs>;
    pack.depth = levels;
    pack.width = rows;
    pack.dst = piece;
    pack.padded_depth = levels;
    pack.sums = nullptr;
    kPackRows(&pack);
    TileArgs tile;
    tile.lhs = piece;
    tile.lhs_stride_bytes = levels * kLanes * sizeof(float);
    tile.steps = levels;
    tile.column_start = nullptr;
    for (int i = 0; i < CountRhsPanels<kRhsWidth>(args); ++i) {
      const NarrowRhsPanel panel =
          GetRhsPanel<kRhsWidth>(args, i, k, accum, kGroups * kLanes);
      tile.rhs = {panel.rhs, args.rhs_stride_bytes};
      tile.start = panel.accum;
      tile.start_col_stride = Vectors(rows) * kLanes;
      tile.result = panel.accum;
      PanelTiles::kTiles[Vectors(rows) - 1][panel.cols - 1](tile);
    }
  }

  static RUY_LIKE_ALWAYS_INLINE int Vectors(int rows) {
    return (rows + kLanes - 1) / kLanes;
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_H_
