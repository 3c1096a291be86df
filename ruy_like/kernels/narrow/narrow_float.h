// Back-end: the float kernel for narrow products, the lhs read in place.
//
// Used by tables_x86.h and avx512bf16.cc, which list NarrowFloatKernel<> in
// front of their panel kernel; called by run/blocks.cc through the table for
// products of at most kMaxNarrowCols columns. It handles depth-contiguous lhs
// only, and depth that is not split into passes.
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
// The transposition moves 32-bit words. In a lhs of 16-bit floats a word is two
// levels, which are widened afterwards, or multiplied as they are if there is
// an instruction for it: half of the memory traffic and shuffles.
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

namespace ruy_like::kernels {
namespace {

constexpr int kLineWords = 16;  // of 32 bits, in a line of memory

// How words are multiplied: their levels, floats or 16-bit ones that are
// widened, by elements of a float rhs. Another such type: avx512bf16.cc.
template <class V, Scalar kLhs>
struct WidenedWords {
  typedef FloatOp<typename V::Base> Op;  // of tiles with the same sums
  static constexpr Scalar kScalar = kLhs;
  static constexpr Scalar kRhsScalar = Scalar::kF32;
  // Levels in a word of the lhs and 32-bit words of a rhs column for them.
  static constexpr int kLevels = kLhs == Scalar::kF32 ? 1 : 2;
  static constexpr int kRhsWords = kLevels;

  // acc[c][v] for all columns; rhs: the words of column 0, kRhsWidth apart.
  template <int kRhsWidth, int kCols, int kVectors>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyAdd(
      typename V::Float words, const float* rhs, int v,
      typename V::Float (&acc)[kCols][kVectors]) {
    typename V::Float levels[kLevels];
    if constexpr (kLhs == Scalar::kF32) {
      levels[0] = words;
    } else {
      V::template WidenPairs<kLhs>(words, levels);
    }
    RUY_LIKE_UNROLL
    for (int j = 0; j < kLevels; ++j) {
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        acc[c][v] = V::MulAddFloat(
            levels[j], V::SetFloat(rhs[j * kRhsWidth + c]), acc[c][v]);
      }
    }
  }
};

// Levels of a row in a cache line; and levels of a stretch, which is prefetched
// while the one before it is multiplied: 16 lines of each row, far enough ahead
// for memory and few enough for L1.
template <class Words>
constexpr int kLineLevels = kLineWords* Words::kLevels;
template <class Words>
constexpr int kStretchLevels = 16 * kLineLevels<Words>;
template <class Words>
constexpr ptrdiff_t kElementBytes = sizeof(float) / Words::kLevels;

struct RowsArgs {
  const char* lhs;       // the first row
  ptrdiff_t lhs_stride;  // in bytes
  const float* rhs;      // panel
  ptrdiff_t levels;      // whole lines, <= kStretchLevels
  const char* prefetch;  // as many rows and levels, likewise strided
  float* accum;          // column-major, of kVectors vectors
};

typedef void RowsFn(const RowsArgs& args);

// Multiplies kVectors vectors of rows and kCols columns of a rhs panel.
//
// kWholeLines: for one 512-bit vector of rows, and for a lhs that comes from
// memory: each line is read by one load, so it need not stay in L1, whose 8
// ways can not hold lines of 16 rows that are a multiple of 4096 bytes apart.
// For the same reason it prefetches to L2. With the lhs in a cache it is
// slower, since more of its shuffles cross 128 bits.
//
// Two loops: gcc keeps less in registers with both bodies in one.
template <class V, class Words, int kRhsWidth, int kCols, int kVectors,
          bool kWholeLines>
void RunRows(const RowsArgs& args) {
  typedef typename V::Float Float;
  constexpr int kLanes = V::kLanes;
  constexpr int kFours = V::kRowWords / 4;
  constexpr int kRhsStep = Words::kRhsWords * kRhsWidth;
  Float acc[kCols][kVectors];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kVectors; ++i) {
    acc[i / kVectors][i % kVectors] = V::LoadAligned(args.accum + i * kLanes);
  }
  const ptrdiff_t stride = args.lhs_stride;
  const char* lhs = args.lhs;
  const char* same_levels_ahead = args.prefetch;
  const float* rhs = args.rhs;
  if constexpr (kWholeLines) {
    for (ptrdiff_t level = 0; level < args.levels;
         level += kLineLevels<Words>) {
      Float x[kLineWords];
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLineWords; ++i) {
        x[i] = V::InRegister(V::AsFloat(V::Load(lhs + i * stride)));
        __builtin_prefetch(same_levels_ahead + i * stride, /*rw=*/0,
                           /*locality=*/2);
      }
      V::TransposeLines(x);
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLineWords; ++i) {
        Words::template MultiplyAdd<kRhsWidth>(x[i], rhs + i * kRhsStep, 0,
                                               acc);
      }
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[c][0]);
      lhs += kLineWords * sizeof(float);
      same_levels_ahead += kLineWords * sizeof(float);
      rhs += kLineWords * kRhsStep;
    }
  } else {
    for (ptrdiff_t level = 0; level < args.levels;
         level += kLineLevels<Words>) {
      // Prefetches as many lines as are read here, row after row.
      const ptrdiff_t line = level / kLineLevels<Words> * (kVectors * kLanes);
      const char* const prefetch =
          args.prefetch + line / 16 * stride + line % 16 * 64;
      RUY_LIKE_UNROLL
      for (int i = 0; i < kVectors * kLanes; ++i) {
        __builtin_prefetch(prefetch + 64 * i);
      }
      for (int part = 0; part < kLineWords; part += V::kRowWords) {
        RUY_LIKE_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          const char* const rows = lhs + v * kLanes * stride;
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
              Words::template MultiplyAdd<kRhsWidth>(
                  x[f][i], rhs + (4 * f + i) * kRhsStep, v, acc);
            }
          }
          RUY_LIKE_UNROLL
          for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[c][v]);
        }
        lhs += V::kRowWords * sizeof(float);
        rhs += V::kRowWords * kRhsStep;
      }
    }
  }
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kVectors; ++i) {
    V::StoreAligned(args.accum + i * kLanes, acc[i / kVectors][i % kVectors]);
  }
}

// RunRows() for 1, 2 ... kMaxCols columns.
template <class V, class Words, int kRhsWidth, int kMaxCols, int kVectors,
          bool kWholeLines = false>
constexpr auto kRunRows = TableOf<RowsFn, kMaxCols>([](auto cols) {
  return RunRows<V, Words, kRhsWidth, cols(), kVectors, kWholeLines>;
});

// The counterpart of PanelKernel<Words::Op, kMaxVectors, kRhsWidth>; kPackRows
// packs that one's lhs.
template <class V, int kMaxVectors, int kRhsWidth, PackFn* kPackRows,
          class Words>
struct NarrowFloatKernel {
  typedef typename Words::Op Op;
  static constexpr int kLanes = V::kLanes;
  static constexpr int kMaxPanels =
      (kMaxNarrowCols + kRhsWidth - 1) / kRhsWidth;
  static constexpr int kPieceLevels = 64;

  // Vectors of rows at a time. Additions to a sum are 4 cycles apart, so a
  // 256-bit vector reads 32 bytes of lhs in 4 cycles: too slow while there are
  // few columns. Two vectors of 512 bits would be 32 rows, more than the
  // prefetchers follow.
  static constexpr int kMostVectors = kLanes == 8 ? 2 : 1;
  static constexpr int kFewCols = kMostVectors == 2 ? 3 : kRhsWidth;
  static RUY_LIKE_ALWAYS_INLINE int Vectors(const KernelArgs& args) {
    return args.cols <= kFewCols ? kMostVectors : 1;
  }

  // From this many columns on narrow_side_by_side.h's tiles are used.
  static constexpr int kMinSideBySideCols = kLanes == 8 ? kRhsWidth + 1 : 11;
  typedef SideBySideRunner<V, kRhsWidth,
                           kStretchLevels<WidenedWords<V, Scalar::kF32>>>
      SideBySide;
  static_assert(kMinSideBySideCols > kRhsWidth);

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel =
        NarrowFloatEntry(name, kRhsWidth, /*tile_rows=*/16, pack_rhs, Run);
    kernel.tile_cols = kMaxPanels * kRhsWidth;
    kernel.stream_cols = kRhsWidth;  // more read the lhs several times
    kernel.rhs.scalar = Words::kRhsScalar;
    kernel.rhs.depth_group = Op::kDepthGroup;
    kernel.rhs.depth_multiple = Op::kDepthMultiple;
    if constexpr (Words::kScalar != Scalar::kF32) {
      // With more columns the lhs is packed, which widens it once for all of
      // them.
      kernel.lhs.scalar = Words::kScalar;
      kernel.tile_cols = kernel.max_cols = kRhsWidth;
    }
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    if constexpr (Words::kScalar == Scalar::kF32) {
      if (args->cols >= kMinSideBySideCols) {
        RunSideBySideTiles(*args);
        return;
      }
    }
    RunTiles(*args);
  }

 private:
  // Tiles of rows that are transposed in registers.
  static RUY_LIKE_ALWAYS_INLINE void RunTiles(const KernelArgs& args) {
    const int vectors = Vectors(args);
    const int tile_rows = vectors * kLanes;
    const char* lhs = static_cast<const char*>(args.lhs);
    alignas(64) float accum[kMaxPanels * kRhsWidth * kMostVectors * kLanes];
    for (ptrdiff_t row = 0; row < args.rows; row += tile_rows) {
      const int rows = Min(args.rows - row, tile_rows);
      Clear(args.cols * kMostVectors, accum);
      const ptrdiff_t whole =
          rows < tile_rows
              ? 0
              : args.depth / kLineLevels<Words> * kLineLevels<Words>;
      for (ptrdiff_t k = 0; k < whole; k += kStretchLevels<Words>) {
        MultiplyStretch(args, lhs, k, whole, row + 2 * tile_rows <= args.rows,
                        accum);
      }
      Finish<kMostVectors>(args, lhs, row, rows, whole, accum);
      lhs += tile_rows * args.lhs_stride_bytes;
    }
  }

  // narrow_side_by_side.h's tiles. Not inlined: its frame is larger.
  static RUY_LIKE_NOINLINE void RunSideBySideTiles(const KernelArgs& args) {
    constexpr int kTileRows = SideBySide::kTileRows;
    const char* lhs = static_cast<const char*>(args.lhs);
    const ptrdiff_t tile_bytes = kTileRows * args.lhs_stride_bytes;
    alignas(64) float accum[kMaxPanels * kRhsWidth * kTileRows];
    SideBySide runner(args);
    if (args.rows >= kTileRows) runner.Begin(lhs);
    for (ptrdiff_t row = 0; row < args.rows; row += kTileRows) {
      const ptrdiff_t left = args.rows - row;
      const int rows = Min(left, kTileRows);
      Clear(args.cols * 2, accum);
      ptrdiff_t whole = 0;
      if (rows == kTileRows) {
        whole = runner.levels();
        runner.Run(lhs, left < 2 * kTileRows ? nullptr : lhs + tile_bytes,
                   accum);
      }
      Finish<2>(args, lhs, row, rows, whole, accum);
      lhs += tile_bytes;
    }
  }

  // Levels from `level` on, and the epilogue. Accumulators are kVectors vectors
  // a column.
  template <int kVectors>
  static RUY_LIKE_ALWAYS_INLINE void Finish(const KernelArgs& args,
                                            const char* lhs, ptrdiff_t row,
                                            int rows, ptrdiff_t level,
                                            float* accum) {
    for (; level < args.depth; level += kPieceLevels) {
      MultiplyPiece<kVectors>(args, lhs, rows, level, accum);
    }
    for (int i = 0; i < CountRhsPanels<kRhsWidth>(args); ++i) {
      const NarrowRhsPanel panel =
          GetRhsPanel<kRhsWidth>(args, i, 0, accum, kVectors * kLanes);
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

  // A stretch of a tile of whole vectors, from level `k` on; `end` is the last
  // stretch's end, `has_next` whether a whole tile follows. Whole lines
  // prefetch the same levels of that one: 4096x4096x1 about 1.3 times as fast
  // as with the next stretch of these rows (doc/tuning.md).
  static RUY_LIKE_ALWAYS_INLINE void MultiplyStretch(const KernelArgs& args,
                                                     const char* lhs,
                                                     ptrdiff_t k, ptrdiff_t end,
                                                     bool has_next,
                                                     float* accum) {
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const ptrdiff_t left = end - k;
    const int vectors = Vectors(args);
    const bool whole_lines = UsesWholeLines(args);
    RowsArgs rows;
    rows.lhs = lhs + k * kElementBytes<Words>;
    rows.lhs_stride = stride;
    rows.levels = Min(left, kStretchLevels<Words>);
    const ptrdiff_t tile_bytes = vectors * kLanes * stride;
    if (whole_lines && has_next) {
      rows.prefetch = rows.lhs + tile_bytes;
    } else {
      rows.prefetch =
          left > kStretchLevels<Words>
              ? rows.lhs + kStretchLevels<Words> * kElementBytes<Words>
              : lhs + tile_bytes;
    }
    for (int i = 0; i < CountRhsPanels<kRhsWidth>(args); ++i) {
      const NarrowRhsPanel panel = GetRhsPanel<kRhsWidth>(
          args, i, RhsWord(k), accum, kMostVectors * kLanes);
      rows.rhs = panel.rhs;
      rows.accum = panel.accum;
      RowsOf(whole_lines, vectors, panel.cols)(rows);
      rows.prefetch = rows.lhs;
    }
  }

  // Where the rhs's words for level k begin, in words of a column.
  static constexpr RUY_LIKE_ALWAYS_INLINE ptrdiff_t RhsWord(ptrdiff_t k) {
    return k / Words::kLevels * Words::kRhsWords;
  }

  // Whole lines are for one rhs panel and a lhs larger than L2.
  static RUY_LIKE_ALWAYS_INLINE bool UsesWholeLines(const KernelArgs& args) {
    constexpr ptrdiff_t kCached = 8 << 20;
    return V::kRowWords == kLineWords && args.cols <= kRhsWidth &&
           args.rows * args.lhs_stride_bytes > kCached;
  }

  static RUY_LIKE_ALWAYS_INLINE RowsFn* RowsOf(bool whole_lines, int vectors,
                                               int cols) {
    if constexpr (V::kRowWords == kLineWords) {
      if (whole_lines) {
        return kRunRows<V, Words, kRhsWidth, kRhsWidth, 1,
                        /*kWholeLines=*/true>.fns[cols - 1];
      }
    }
    return (
        vectors == 1
            ? kRunRows<V, Words, kRhsWidth, kRhsWidth, 1>.fns
            : kRunRows<V, Words, kRhsWidth, kFewCols, kMostVectors>.fns)[cols -
                                                                         1];
  }

  // Any number of rows up to a tile's, kPieceLevels levels from `k` on.
  template <int kVectors>
  static RUY_LIKE_ALWAYS_INLINE void MultiplyPiece(const KernelArgs& args,
                                                   const char* lhs, int rows,
                                                   ptrdiff_t k, float* accum) {
    constexpr const auto& tiles =
        kTileTable<Op, PackedRhs<Op, kRhsWidth>, kMaxVectors, kRhsWidth>.fns;
    alignas(64) float piece[kVectors * kLanes * kPieceLevels];
    const ptrdiff_t levels = Min(args.depth - k, kPieceLevels);
    const ptrdiff_t padded =
        (levels + Op::kDepthGroup - 1) / Op::kDepthGroup * Op::kDepthGroup;
    PackArgs pack;
    pack.src = lhs + k * kElementBytes<Words>;
    pack.src_scalar = Words::kScalar;
    pack.depth_contiguous = true;
    pack.src_stride = args.lhs_stride_bytes / kElementBytes<Words>;
    pack.depth = levels;
    pack.width = rows;
    pack.dst = piece;
    pack.padded_depth = padded;
    pack.sums = nullptr;
    kPackRows(&pack);
    TileArgs tile;
    tile.lhs = piece;
    tile.lhs_stride_bytes = padded * kLanes * sizeof(typename Op::Lhs);
    tile.steps = padded / Op::kStepLevels;
    tile.column_start = nullptr;
    for (int i = 0; i < CountRhsPanels<kRhsWidth>(args); ++i) {
      const NarrowRhsPanel panel =
          GetRhsPanel<kRhsWidth>(args, i, RhsWord(k), accum, kVectors * kLanes);
      tile.rhs = {panel.rhs, args.rhs_stride_bytes};
      tile.start = panel.accum;
      tile.start_col_stride = Vectors(rows) * kLanes;
      tile.result = panel.accum;
      tiles[Vectors(rows) - 1][panel.cols - 1](tile);
    }
  }

  static RUY_LIKE_ALWAYS_INLINE int Vectors(int rows) {
    return (rows + kLanes - 1) / kLanes;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_FLOAT_H_
