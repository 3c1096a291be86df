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

// A vector of rows, on its way through depth.
struct RowsGroup {
  const char* lhs;       // the first row, from some level on
  const float* rhs;      // the panel, from the same level on
  const char* prefetch;  // as many rows, likewise strided
  unsigned prefetched;   // lines of these; row after row, 16 of each
  float* accum;          // column-major, all groups' rows apart
};

struct RowsArgs {
  RowsGroup groups[2];
  ptrdiff_t lhs_stride;  // in bytes
  ptrdiff_t levels;      // whole lines
};

typedef void RowsFn(const RowsArgs& args);

// Multiplies kGroups vectors of rows and kCols columns of a rhs panel, each
// group from a level of its own on.
//
// kIsFar: the lhs comes from memory. Prefetches the same levels of the next
// rows to L2, which are much farther ahead than the next lines of these rows.
// 512 bits then read each line by one load, so that it need not stay in L1; in
// a cache that is slower, since more of its shuffles cross 128 bits.
template <class V, class Words, int kRhsWidth, int kCols, int kGroups,
          bool kIsFar>
void RunRows(const RowsArgs& args) {
  typedef typename V::Float Float;
  constexpr int kLanes = V::kLanes;
  constexpr bool kWholeLines = kIsFar && kLanes == kLineWords;
  constexpr int kWords = V::kRowWords;
  constexpr int kRhsStep = Words::kRhsWords * kRhsWidth;
  // All of it in one function, without a lambda: else gcc keeps sums in memory.
  Float acc[kCols][kGroups];
  const char* lhs[kGroups];
  const float* rhs[kGroups];
  const char* prefetch[kGroups];
  unsigned prefetched[kGroups];
  RUY_LIKE_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    lhs[g] = args.groups[g].lhs;
    rhs[g] = args.groups[g].rhs;
    prefetch[g] = args.groups[g].prefetch;
    prefetched[g] = args.groups[g].prefetched;
  }
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kGroups; ++i) {
    acc[i / kGroups][i % kGroups] = V::LoadAligned(
        args.groups[i % kGroups].accum + i / kGroups * kGroups * kLanes);
  }
  const ptrdiff_t stride = args.lhs_stride;
  for (ptrdiff_t level = 0; level < args.levels; level += kLineLevels<Words>) {
    RUY_LIKE_UNROLL
    for (int g = 0; g < kGroups && !kIsFar; ++g) {
      const char* const lines =
          prefetch[g] + prefetched[g] / 16 * stride + prefetched[g] % 16 * 64;
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLanes; ++i) __builtin_prefetch(lines + 64 * i);
      prefetched[g] += kLanes;
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < kGroups * kLanes && kIsFar && !kWholeLines; ++i) {
      __builtin_prefetch(prefetch[i / kLanes] + i % kLanes * stride, /*rw=*/0,
                         /*locality=*/2);
    }
    RUY_LIKE_UNROLL_BY(2)
    for (int words = 0; words < kLineWords; words += kWords) {
      RUY_LIKE_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        Float x[kWords];
        if constexpr (kWholeLines) {
          RUY_LIKE_UNROLL
          for (int i = 0; i < kWords; ++i) {
            x[i] = V::InRegister(V::AsFloat(V::Load(lhs[g] + i * stride)));
            __builtin_prefetch(prefetch[g] + i * stride, /*rw=*/0,
                               /*locality=*/2);
          }
          V::TransposeLines(x);
        } else {
          RUY_LIKE_UNROLL
          for (int i = 0; i < kWords; ++i) {
            const int f = i % (kWords / 4) * 4;  // all of a row, one by one
            const int row = i / (kWords / 4);
            x[f + row] = V::InRegister(
                V::LoadFourWords(lhs[g] + row * stride + 4 * f, stride));
          }
          // Four words of rows i, i + 4, ... become word i of all rows.
          RUY_LIKE_UNROLL
          for (int f = 0; f < kWords; f += 4) V::TransposeParts(x + f);
        }
        RUY_LIKE_UNROLL
        for (int i = 0; i < kWords; ++i) {
          Words::template MultiplyAdd<kRhsWidth>(x[i], rhs[g] + i * kRhsStep, g,
                                                 acc);
        }
        RUY_LIKE_UNROLL
        for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[c][g]);
        lhs[g] += kWords * sizeof(float);
        rhs[g] += kWords * kRhsStep;
      }
    }
    RUY_LIKE_UNROLL
    for (int g = 0; g < kGroups && kIsFar; ++g) {
      prefetch[g] += kLineWords * sizeof(float);
    }
  }
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kGroups; ++i) {
    V::StoreAligned(
        args.groups[i % kGroups].accum + i / kGroups * kGroups * kLanes,
        acc[i / kGroups][i % kGroups]);
  }
}

// RunRows() for 1, 2 ... kMaxCols columns.
template <class V, class Words, int kRhsWidth, int kMaxCols, int kGroups,
          bool kIsFar>
constexpr auto kRunRows = TableOf<RowsFn, kMaxCols>([](auto cols) {
  return RunRows<V, Words, kRhsWidth, cols(), kGroups, kIsFar>;
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
  static constexpr int kMostGroups = kLanes == 8 ? 2 : 1;
  static constexpr int kFewCols = kMostGroups == 2 ? 3 : kRhsWidth;

  static constexpr int kTileRows = kMostGroups * kLanes;

  // How rows go through depth: in `groups` vectors, by `fns`; of two the second
  // one `lag` levels behind.
  struct Walk {
    RowsFn* const* fns;  // by columns less 1
    int groups;
    ptrdiff_t lag;
    bool is_far;
  };
  static RUY_LIKE_ALWAYS_INLINE Walk WalkOf(const KernelArgs& args) {
    const bool aliases = SharesSets(args.lhs_stride_bytes);
    // A larger lhs comes from beyond L2. Rows of 512 bits gain by whole lines
    // earlier if L1 cannot hold what is prefetched.
    const ptrdiff_t cached = kLanes == 16 && aliases ? 4 << 20 : 8 << 20;
    const bool is_far =
        args.rows * args.lhs_stride_bytes > cached && args.cols <= kRhsWidth;
    if (args.cols > kFewCols || kMostGroups == 1) {
      return {is_far ? kRunRows<V, Words, kRhsWidth, kRhsWidth, 1, true>.fns
                     : kRunRows<V, Words, kRhsWidth, kRhsWidth, 1, false>.fns,
              1, 0, is_far};
    }
    // Half of the sets that a way of L1 has.
    constexpr ptrdiff_t kLag = 2 * kStretchLevels<Words>;
    const ptrdiff_t half =
        args.depth / (2 * kLineLevels<Words>)*kLineLevels<Words>;
    return {
        is_far
            ? kRunRows<V, Words, kRhsWidth, kFewCols, kMostGroups, true>.fns
            : kRunRows<V, Words, kRhsWidth, kFewCols, kMostGroups, false>.fns,
        kMostGroups, aliases ? Least(half, kLag) : 0, is_far};
  }
  // True if 16 rows have their lines in one or two sets of L1, which may have 8
  // ways: rows (nearly) a multiple of 4096 bytes apart.
  static RUY_LIKE_ALWAYS_INLINE bool SharesSets(ptrdiff_t stride) {
    return ((stride + 7) & 4095) < 15;
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
  // A group of rows, the level that it has reached, and its sums.
  struct Place {
    const char* rows;
    ptrdiff_t level;
    float* accum;
  };

  // Tiles of rows that are transposed in registers.
  static RUY_LIKE_ALWAYS_INLINE void RunTiles(const KernelArgs& args) {
    const Walk walk = WalkOf(args);
    const int tile_rows = walk.groups * kLanes;
    const ptrdiff_t tile_bytes = tile_rows * args.lhs_stride_bytes;
    const ptrdiff_t group_bytes = kLanes * args.lhs_stride_bytes;
    const ptrdiff_t whole =
        args.depth / kLineLevels<Words> * kLineLevels<Words>;
    const char* lhs = static_cast<const char*>(args.lhs);
    ptrdiff_t row = 0;
    if (walk.lag > 0) row = RunLagging(args, walk, whole);
    lhs += row * args.lhs_stride_bytes;
    alignas(64) float accum[kMaxPanels * kRhsWidth * kTileRows];
    for (; row < args.rows; row += tile_rows) {
      const int rows = Min(args.rows - row, tile_rows);
      const ptrdiff_t levels = rows < tile_rows ? 0 : whole;
      Clear(args.cols * kTileRows, accum);
      for (ptrdiff_t k = 0; k < levels; k += kStretchLevels<Words>) {
        const Place places[2] = {{lhs, k, accum},
                                 {lhs + group_bytes, k, accum + kLanes}};
        Multiply(args, walk, places, whole,
                 Min(levels - k, kStretchLevels<Words>));
      }
      Finish<kMostGroups>(args, lhs, row, rows, levels, accum);
      lhs += tile_bytes;
    }
  }

  // Whole tiles of two groups, the second one lag levels behind: each goes
  // through all tiles by itself, and a tile is complete when the second one has
  // passed. Returns the number of rows. Not inlined: its frame is larger.
  static RUY_LIKE_NOINLINE ptrdiff_t RunLagging(const KernelArgs& args,
                                                const Walk& walk,
                                                ptrdiff_t whole) {
    const ptrdiff_t tiles = args.rows / kTileRows;
    const ptrdiff_t group_bytes = kLanes * args.lhs_stride_bytes;
    const char* const lhs = static_cast<const char*>(args.lhs);
    // Of two tiles in turn; and for a group that has not begun or is through,
    // which repeats what the other one does.
    alignas(64) float accum[3][kRhsWidth * kTileRows];
    for (float(&sums)[kRhsWidth * kTileRows] : accum) {
      Clear(args.cols * kTileRows, sums);
    }
    struct {
      ptrdiff_t tile, level;
    } at[2] = {};
    ptrdiff_t wait = walk.lag;
    while (at[1].tile < tiles) {
      const bool runs[2] = {at[0].tile < tiles, wait == 0};
      ptrdiff_t levels = wait == 0 ? whole : wait;
      Place places[2];
      for (int g = 0; g < 2; ++g) {
        const auto& from = at[runs[g] ? g : 1 - g];
        const int group = runs[g] ? g : 1 - g;
        places[g] = {lhs + (2 * from.tile + group) * group_bytes, from.level,
                     accum[runs[g] ? from.tile % 2 : 2] + group * kLanes};
        levels = Least(levels, NextStretch(from.level) - from.level);
        levels = Least(levels, whole - from.level);
      }
      Multiply(args, walk, places, whole, levels);
      for (int g = 0; g < 2; ++g) {
        if (!runs[g] || (at[g].level += levels) < whole) continue;
        at[g].level = 0;
        const ptrdiff_t tile = at[g].tile++;
        if (g == 0) continue;
        const ptrdiff_t row = tile * kTileRows;
        Finish<kMostGroups>(args, lhs + row * args.lhs_stride_bytes, row,
                            kTileRows, whole, accum[tile % 2]);
        Clear(args.cols * kTileRows, accum[tile % 2]);
      }
      if (wait > 0) wait -= levels;
    }
    return tiles * kTileRows;
  }
  static RUY_LIKE_ALWAYS_INLINE ptrdiff_t Least(ptrdiff_t a, ptrdiff_t b) {
    return a < b ? a : b;
  }
  static RUY_LIKE_ALWAYS_INLINE ptrdiff_t NextStretch(ptrdiff_t level) {
    return (level | (kStretchLevels<Words> - 1)) + 1;
  }

  // Adds some levels, within a stretch, to the groups' sums of all columns.
  static RUY_LIKE_ALWAYS_INLINE void Multiply(const KernelArgs& args,
                                              const Walk& walk,
                                              const Place (&places)[2],
                                              ptrdiff_t whole,
                                              ptrdiff_t levels) {
    RowsArgs rows;
    rows.lhs_stride = args.lhs_stride_bytes;
    rows.levels = levels;
    const ptrdiff_t tile_bytes = walk.groups * kLanes * args.lhs_stride_bytes;
    for (int g = 0; g < walk.groups; ++g) {
      const Place& place = places[g];
      const ptrdiff_t next = NextStretch(place.level);
      RowsGroup& group = rows.groups[g];
      group.lhs = place.rows + place.level * kElementBytes<Words>;
      group.prefetch = walk.is_far    ? group.lhs + tile_bytes
                       : next < whole ? place.rows + next * kElementBytes<Words>
                                      : place.rows + tile_bytes;
      group.prefetched =
          static_cast<unsigned>((place.level & (kStretchLevels<Words> - 1)) /
                                kLineLevels<Words> * kLanes);
    }
    for (int i = 0; i < CountRhsPanels<kRhsWidth>(args); ++i) {
      int cols = 0;
      for (int g = 0; g < walk.groups; ++g) {
        const NarrowRhsPanel panel = GetRhsPanel<kRhsWidth>(
            args, i, RhsWord(places[g].level), places[g].accum, kTileRows);
        rows.groups[g].rhs = panel.rhs;
        rows.groups[g].accum = panel.accum;
        cols = panel.cols;
      }
      walk.fns[cols - 1](rows);
      // Once for all panels.
      for (RowsGroup& group : rows.groups) group.prefetch = group.lhs;
    }
  }

  // narrow_side_by_side.h's tiles. Not inlined: its frame is larger.
  static RUY_LIKE_NOINLINE void RunSideBySideTiles(const KernelArgs& args) {
    constexpr int kSideRows = SideBySide::kTileRows;
    const char* lhs = static_cast<const char*>(args.lhs);
    const ptrdiff_t tile_bytes = kSideRows * args.lhs_stride_bytes;
    alignas(64) float accum[kMaxPanels * kRhsWidth * kSideRows];
    SideBySide runner(args);
    if (args.rows >= kSideRows) runner.Begin(lhs);
    for (ptrdiff_t row = 0; row < args.rows; row += kSideRows) {
      const ptrdiff_t left = args.rows - row;
      const int rows = Min(left, kSideRows);
      Clear(args.cols * kSideRows, accum);
      ptrdiff_t whole = 0;
      if (rows == kSideRows) {
        whole = runner.levels();
        runner.Run(lhs, left < 2 * kSideRows ? nullptr : lhs + tile_bytes,
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

  // Clears only what is in use: for one column the whole array takes 7 ns more.
  static RUY_LIKE_ALWAYS_INLINE void Clear(ptrdiff_t count, float* accum) {
    for (ptrdiff_t i = 0; i < count; i += kLanes) {
      V::StoreAligned(accum + i, V::SetFloat(0));
    }
  }

  // Where the rhs's words for level k begin, in words of a column.
  static constexpr RUY_LIKE_ALWAYS_INLINE ptrdiff_t RhsWord(ptrdiff_t k) {
    return k / Words::kLevels * Words::kRhsWords;
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
