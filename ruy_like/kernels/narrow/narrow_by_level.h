// Back-end: products of few columns whose lhs is contiguous along its rows
// instead of depth, read in place.
//
// Included by tables_x86.h and the Arm per-ISA files, which list
// NarrowByLevelKernel<> in front of their panel kernels; called by
// run/blocks.cc through the table: a column-major lhs and a few columns, or,
// with sides swapped, a few rows and a row-major matrix, as the keys and values
// of attention lie in a cache. Depth is not split.
//
// Rows are in the lanes of a vector as they lie. Floats need no more; of bytes
// and words a few levels are interleaved in registers (narrow_level_ops.h).
// Float sums run in order of depth: results are the panel kernel's, bit for
// bit. What matters is the order in which memory is read. A vector of rows over
// the whole depth touches another page in every step. So a strip of rows has
// its sums in an array in L1, to which a few levels at a time are added:
//
//                     rows of the strip ->
//      sums          |s s s s|s s s s|s s s s| ...      loaded and stored
//                        ^
//      lhs, level k  |a a a a|a a a a|a a a a| ...  x b[k]      one stream
//           level k+1|a a a a|a a a a|a a a a| ...  x b[k+1]    each
//           ...                                             b: in registers
//
// At most 8 levels: where they are a multiple of 4096 bytes apart, their lines
// share one set of L1, which may have no more ways.
//
// If rows are so few that their sums fit registers, or if levels lie close to
// each other, tiles of rows keep their sums in registers over all of depth.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_level_ops.h"
#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

constexpr int kMostLevelCols = 4;  // at once

template <class V>
constexpr int kHalfOfRegisters = V::kLanes == 8 ? 8 : 16;

// Some levels of some rows, and some columns.
template <class Accum>
struct LevelsArgs {
  const char* lhs;       // the first level
  ptrdiff_t lhs_stride;  // bytes from one level to the next
  // The columns, contiguous along depth, and the bytes from one depth group to
  // the next: 4, or for the last column 0 if it is one of ones.
  const char* rhs[kMostLevelCols];
  ptrdiff_t last_rhs_step;
  int32_t rhs_zero_point;
  ptrdiff_t levels;
  int rows;
  Accum start[kMostLevelCols];  // of each column's sums
  Accum* sums;                  // of the first column, steps interleaved
  ptrdiff_t sums_stride;        // elements from one column to the next
};

template <class Op>
using LevelsArgsOf = LevelsArgs<typename LevelsOf<Op>::Accum>;
template <class Op>
using LevelsFn = void(LevelsArgsOf<Op>& args);

template <class Op>
constexpr ptrdiff_t kStepBytes = Op::kStep * sizeof(typename Op::Lhs);

// One depth group of one step of rows, of which only `levels` levels are there.
template <class Op, class Load>
RUY_LIKE_ALWAYS_INLINE void LoadLevels(
    const char* lhs, ptrdiff_t stride, int levels, const Load& load,
    typename Op::Vector (&x)[LevelsOf<Op>::kLevels]) {
  RUY_LIKE_UNROLL
  for (int i = 0; i < LevelsOf<Op>::kLevels; ++i) {
    x[i] =
        i < levels
            ? load(reinterpret_cast<const typename Op::Lhs*>(lhs + i * stride))
            : LevelsOf<Op>::SetAll(0);
  }
  LevelsOf<Op>::Interleave(x);
}

// Adds kGroups depth groups to the sums of kCols columns. A group of the
// depth's end may lack levels, and is then alone.
template <class Op, int kCols, int kGroups>
RUY_LIKE_NOINLINE void AddGroups(const LevelsArgsOf<Op>& args) {
  typedef LevelsOf<Op> Levels;
  typedef typename Op::Simd V;
  typedef typename Op::Vector Vector;
  constexpr int kLevels = Levels::kLevels;
  Vector rhs[kCols][kGroups];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    const ptrdiff_t step = c == kCols - 1 ? args.last_rhs_step : 4;
    RUY_LIKE_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      rhs[c][g] = Levels::LoadRhs(args.rhs[c] + g * step, args.rhs_zero_point);
      // Else they come from the stack.
      if constexpr (kCols * (kLevels + kGroups) + kLevels <=
                    2 * kHalfOfRegisters<V> - 2) {
        V::HoldInRegister(rhs[c][g]);
      }
    }
  }
  const char* lhs[kGroups];
  RUY_LIKE_UNROLL
  for (int g = 0; g < kGroups; ++g) {
    lhs[g] = args.lhs + g * kLevels * args.lhs_stride;
  }
  const ptrdiff_t stride = args.lhs_stride;
  const int levels =
      kLevels == 1 || kGroups > 1 ? kLevels : Min(args.levels, kLevels);
  const ptrdiff_t sums_stride = args.sums_stride;
  typename Levels::Accum* const sums = args.sums;
  const auto add = [&](ptrdiff_t row, const auto& load) {
    Vector acc[kCols][kLevels];
    RUY_LIKE_UNROLL
    for (int i = 0; i < kCols * kLevels; ++i) {
      acc[i / kLevels][i % kLevels] = V::LoadAligned(
          sums + i / kLevels * sums_stride + row + i % kLevels * V::kLanes);
    }
    RUY_LIKE_UNROLL
    for (int g = 0; g < kGroups; ++g) {
      Vector x[kLevels];
      LoadLevels<Op>(
          lhs[g] + row * static_cast<ptrdiff_t>(sizeof(typename Op::Lhs)),
          stride, levels, load, x);
      RUY_LIKE_UNROLL
      for (int i = 0; i < kCols * kLevels; ++i) {
        Vector& sum = acc[i / kLevels][i % kLevels];
        sum = Op::MultiplyAdd(sum, x[i % kLevels], rhs[i / kLevels][g]);
      }
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < kCols * kLevels; ++i) {
      V::StoreAligned(
          sums + i / kLevels * sums_stride + row + i % kLevels * V::kLanes,
          acc[i / kLevels][i % kLevels]);
    }
  };
  const int rows = args.rows;
  int row = 0;
  for (; row + Op::kStep <= rows; row += Op::kStep) {
    add(row, [](const typename Op::Lhs* p) { return Op::LoadLhs(p); });
  }
  if (row < rows) {
    const int left = rows - row;
    add(row, [left](const typename Op::Lhs* p) {
      return Op::LoadFirstLhs(p, left);
    });
  }
}

// Adds a depth group to a tile's sums. kRagged: of the last step there are only
// `last_rows` rows.
template <class Op, bool kRagged, int kCols, int kSteps, int kLevels>
RUY_LIKE_ALWAYS_INLINE void AddToTile(
    const char* lhs, ptrdiff_t stride, int last_rows,
    const char* const (&rhs)[kCols], int32_t zero_point, int levels,
    typename Op::Vector (&acc)[kCols][kSteps][kLevels]) {
  typedef typename Op::Simd V;
  typename Op::Vector y[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    y[c] = LevelsOf<Op>::LoadRhs(rhs[c], zero_point);
    if constexpr (kSteps * kLevels > 1) V::HoldInRegister(y[c]);
  }
  RUY_LIKE_UNROLL
  for (int s = 0; s < kSteps; ++s) {
    const auto load = [last_rows, s](const typename Op::Lhs* p) {
      return kRagged && s == kSteps - 1 ? Op::LoadFirstLhs(p, last_rows)
                                        : Op::LoadLhs(p);
    };
    typename Op::Vector x[kLevels];
    LoadLevels<Op>(lhs + s * kStepBytes<Op>, stride, levels, load, x);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels; ++i) {
        acc[c][s][i] = Op::MultiplyAdd(acc[c][s][i], x[i], y[c]);
        V::HoldInRegister(acc[c][s][i]);
      }
    }
  }
}

// All levels of at most kSteps steps of rows; the sums stay in registers. Only
// the last step may be incomplete: if loads of a part are cheap, or of a single
// one.
template <class Op, int kCols, int kSteps, bool kRagged>
RUY_LIKE_ALWAYS_INLINE void MultiplyTile(const LevelsArgsOf<Op>& args) {
  typedef LevelsOf<Op> Levels;
  constexpr int kLevels = Levels::kLevels;
  typename Op::Vector acc[kCols][kSteps][kLevels];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kSteps * kLevels; ++i) {
    acc[i / kLevels / kSteps][i / kLevels % kSteps][i % kLevels] =
        Levels::SetAll(args.start[i / kLevels / kSteps]);
  }
  const ptrdiff_t stride = args.lhs_stride;
  const ptrdiff_t last_step = args.last_rhs_step;
  const int32_t zero_point = args.rhs_zero_point;
  const int last_rows = args.rows - (kSteps - 1) * Op::kStep;
  const char* lhs = args.lhs;
  const char* rhs[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) rhs[c] = args.rhs[c];
  ptrdiff_t left = args.levels;
  for (; left >= kLevels; left -= kLevels) {
    AddToTile<Op, kRagged>(lhs, stride, last_rows, rhs, zero_point, kLevels,
                           acc);
    lhs += kLevels * stride;
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) rhs[c] += c == kCols - 1 ? last_step : 4;
  }
  if (kLevels > 1 && left > 0) {
    AddToTile<Op, kRagged>(lhs, stride, last_rows, rhs, zero_point,
                           static_cast<int>(left), acc);
  }
  typename Levels::Accum* const sums = args.sums;
  const ptrdiff_t sums_stride = args.sums_stride;
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kSteps * kLevels; ++i) {
    Levels::Store(sums + i / kLevels / kSteps * sums_stride +
                      i / kLevels % kSteps * Op::kStep +
                      i % kLevels * Op::Simd::kLanes,
                  acc[i / kLevels / kSteps][i / kLevels % kSteps][i % kLevels]);
  }
}
template <class Op, int kCols, int kSteps>
struct LevelsTile {
  static void Run(LevelsArgsOf<Op>& args) {
    if (LevelsOf<Op>::kMasks || (kSteps == 1 && args.rows < Op::kStep)) {
      MultiplyTile<Op, kCols, kSteps, true>(args);
    } else {
      MultiplyTile<Op, kCols, kSteps, false>(args);
    }
  }
};

constexpr int PowerOf2UpTo(int n) {
  return n < 2 ? 1 : 2 * PowerOf2UpTo(n / 2);
}

// The routines for an operation's number of columns.
template <class Op, int kCols>
struct LevelsFns {
  typedef typename Op::Simd V;
  static constexpr int kLevels = LevelsOf<Op>::kLevels;
  static constexpr int kHalf = kHalfOfRegisters<V>;
  // Depth groups at once. With floats their rhs and the sums are in registers.
  static constexpr int kGroups =
      kLevels > 1  ? (V::kLanes == 4 ? 16 / kCols : 8) / kLevels
      : kCols == 1 ? 8
      : kCols == 2 ? kHalf / 2
                   : kHalf / 4;
  // The most steps of rows whose sums are in registers.
  static constexpr int kMostSteps =
      kLevels == 1 && kCols == 1 && V::kLanes != 16
          ? 8
          : PowerOf2UpTo(kHalf / kLevels / kCols);
  static constexpr int StepsFor(int n) {
    return LevelsOf<Op>::kMasks ? n : PowerOf2UpTo(n);
  }

  // Adds all levels to sums in memory; moves on by them.
  static void AddAll(LevelsArgsOf<Op>& args) {
    const auto advance = [&args](int groups) {
      args.lhs += groups * kLevels * args.lhs_stride;
      for (int c = 0; c < kCols; ++c) {
        args.rhs[c] += groups * (c == kCols - 1 ? args.last_rhs_step : 4);
      }
      args.levels -= groups * kLevels;
    };
    while (args.levels >= kGroups * kLevels) {
      AddGroups<Op, kCols, kGroups>(args);
      advance(kGroups);
    }
    while (args.levels > 0) {
      AddGroups<Op, kCols, 1>(args);
      advance(1);
    }
  }
};

// The same by the number of columns less 1, for 1 to kMaxCols.
template <class Op>
struct LevelsFnsOf {
  int most_steps;
  LevelsFn<Op>* add;
  LevelsFn<Op>* const* tiles;  // by the number of steps less 1
};
template <class Op, int kCols>
constexpr auto kLevelsTiles = TableOf<
    LevelsFn<Op>, LevelsFns<Op, kCols>::kMostSteps>([](auto steps) {
  return LevelsTile<Op, kCols, LevelsFns<Op, kCols>::StepsFor(steps())>::Run;
});
template <class Op, int kCols>
constexpr LevelsFnsOf<Op> kLevelsFnsFor = {LevelsFns<Op, kCols>::kMostSteps,
                                           LevelsFns<Op, kCols>::AddAll,
                                           kLevelsTiles<Op, kCols>.fns};
template <class Op, int kMaxCols>
constexpr const LevelsFnsOf<Op>* kLevelsFns[] = {
    &kLevelsFnsFor<Op, 1>, &kLevelsFnsFor<Op, 2 <= kMaxCols ? 2 : 1>,
    &kLevelsFnsFor<Op, 3 <= kMaxCols ? 3 : 1>,
    &kLevelsFnsFor<Op, 4 <= kMaxCols ? 4 : 1>};

// Op: NarrowFloatsOp, or of bytes NarrowQuadsOp, NarrowPairsOp, or Arm's
// NarrowBytesOp. FlippedOp: FlippedQuadsOp where it saves the lhs's sums.
template <class Op, int kMaxCols = kMaxNarrowCols, class FlippedOp = Op>
struct NarrowByLevelKernel {
  typedef typename Op::Simd V;
  typedef LevelsOf<Op> Levels;
  typedef typename Levels::Accum Accum;
  static constexpr int kLevels = Levels::kLevels;
  // Columns at once, with the one of ones: their sums take half of the
  // registers.
  static constexpr int kColsAtOnce =
      Min(Min(kMaxCols, kMostLevelCols),
          kHalfOfRegisters<V> / (kLevels == 1 ? 2 : kLevels));

  // The kernel's line in its path's table. pack_rhs makes panels of one column.
  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_rhs) {
    Kernel kernel = NarrowInPlaceEntry(
        name, family, Op::kLhsScalar,
        {Op::kRhsScalar, /*in_place=*/false, /*width=*/1, /*depth_group=*/1,
         /*depth_multiple=*/kLevels},
        kTileRows, pack_rhs, Run);
    kernel.macs_per_ns /= static_cast<int>(sizeof(typename Op::Lhs));
    kernel.lhs.by_level = true;
    kernel.tile_cols = kernel.max_cols = kernel.stream_cols = kMaxCols;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const int32_t zero_point = args->epilogue->rhs_zero_point;
    if (LevelsOf<FlippedOp>::kFlips && zero_point == 128) {
      Multiply<FlippedOp>(*args, /*with_ones=*/false);
    } else {
      Multiply<Op>(*args, !Levels::kCentres && zero_point != 0);
    }
  }

 private:
  static constexpr int kTileRows =
      Op::kStep < 64 && kLevels == 1 ? 64 : Op::kStep;
  static constexpr int kMaxSums = 4096;
  static constexpr ptrdiff_t kGroupBytes = 4;  // of the rhs
  // Levels that are added for all columns before the next are read: with the
  // sums they fit L1.
  static constexpr int kStretchLevels = 8;
  // Levels at most this many bytes apart are read in tiles of a few rows.
  static constexpr ptrdiff_t kMostTiledStride = 512;

  template <class O>
  static void Multiply(const KernelArgs& args, bool with_ones) {
    alignas(64) Accum sums[kMaxSums];
    const int cols = static_cast<int>(args.cols);
    const int all_cols = cols + (with_ones ? 1 : 0);
    const int strip = kMaxSums / all_cols / kTileRows * kTileRows;
    Accum start[kMaxNarrowCols + 1] = {};
    if constexpr (LevelsOf<O>::kFlips) {
      for (int c = 0; c < cols; ++c) start[c] = FlippedStart(args, c);
    }
    for (ptrdiff_t row = 0; row < args.rows; row += strip) {
      const int rows = Min(args.rows - row, strip);
      RunStrip<O>(args, row, rows, strip, all_cols, start, sums);
      if constexpr (!Levels::kCentres) {
        if (with_ones) {
          // The lhs's sums lie behind those of the last column.
          SubtractRowSums<V>(args.epilogue->rhs_zero_point, sums + cols * strip,
                             rows, cols, strip, sums);
        }
      }
      StoreTile<typename V::Base>({sums, strip, rows, cols, row, 0},
                                  *args.epilogue);
    }
  }

  // What a column's sums with flipped bits begin with: -128 times the sum of
  // its elements, modulo 2^32. Of a group that lacks levels the rhs has zeros,
  // which become -128, and the lhs's zeros become 128.
  static RUY_LIKE_NOINLINE int32_t FlippedStart(const KernelArgs& args,
                                                int col) {
    const char* const packed =
        static_cast<const char*>(args.rhs) + col * args.rhs_stride_bytes;
    const ptrdiff_t padded = (args.depth + kLevels - 1) / kLevels * kLevels;
    typename V::Int sum = V::Zero();
    ptrdiff_t k = 0;
    for (; k + Op::kStep <= padded; k += Op::kStep) {
      sum = Op::MultiplyAdd(sum, Op::One(), V::Load(packed + k));
    }
    if (k < padded) {
      alignas(64) char rest[Op::kStep] = {};
      __builtin_memcpy(rest, packed + k, static_cast<size_t>(padded - k));
      sum = Op::MultiplyAdd(sum, Op::One(), V::Load(rest));
    }
    alignas(16) int32_t sums[4];
    V::StoreLaneSums(sums, sum, sum, sum, sum);
    return static_cast<int32_t>(128 * (128 * static_cast<uint32_t>(padded) -
                                       static_cast<uint32_t>(sums[0])));
  }

  // All levels of a strip of rows.
  template <class O>
  static void RunStrip(const KernelArgs& args, ptrdiff_t row, int rows,
                       int strip, int all_cols, const Accum* start,
                       Accum* sums) {
    static constexpr int32_t kOnes = 0x01010101;
    const auto& first_fns =
        *kLevelsFns<O, kColsAtOnce>[Min(all_cols, kColsAtOnce) - 1];
    const bool in_tiles = rows <= first_fns.most_steps * Op::kStep ||
                          (args.lhs_stride_bytes <= kMostTiledStride &&
                           (kLevels != 2 || first_fns.most_steps > 1));
    const ptrdiff_t stretch =
        in_tiles || all_cols <= kColsAtOnce ? args.depth : kStretchLevels;
    LevelsArgs<Accum> levels;
    levels.lhs_stride = args.lhs_stride_bytes;
    levels.rhs_zero_point = args.epilogue->rhs_zero_point;
    levels.rows = rows;
    levels.sums_stride = strip;
    if (!in_tiles) Clear(rows, strip, all_cols, start, sums);
    for (ptrdiff_t k = 0; k < args.depth; k += stretch) {
      for (int col = 0; col < all_cols; col += kColsAtOnce) {
        const int cols = Min(all_cols - col, kColsAtOnce);
        levels.levels = args.depth - k < stretch ? args.depth - k : stretch;
        levels.lhs = static_cast<const char*>(args.lhs) +
                     k * args.lhs_stride_bytes +
                     row * static_cast<ptrdiff_t>(sizeof(typename Op::Lhs));
        levels.last_rhs_step = kGroupBytes;
        for (int c = 0; c < cols; ++c) {
          levels.rhs[c] = static_cast<const char*>(args.rhs) +
                          (col + c) * args.rhs_stride_bytes +
                          k / kLevels * kGroupBytes;
          levels.start[c] = start[col + c];
        }
        if (col + cols > args.cols) {
          levels.rhs[cols - 1] = reinterpret_cast<const char*>(&kOnes);
          levels.last_rhs_step = 0;
        }
        levels.sums = sums + col * strip;
        const auto& fns = *kLevelsFns<O, kColsAtOnce>[cols - 1];
        if (in_tiles) {
          RunTiles<O>(fns, cols, levels);
        } else {
          fns.add(levels);
        }
      }
    }
    if (in_tiles) return;
    for (int c = 0; c < all_cols; ++c) PutInOrder(rows, sums + c * strip);
  }

  // Sums of whole steps of rows, as they are interleaved.
  static void Clear(int rows, int strip, int all_cols, const Accum* start,
                    Accum* sums) {
    const int end = (rows + Op::kStep - 1) / Op::kStep * Op::kStep;
    for (int c = 0; c < all_cols; ++c) {
      for (int r = 0; r < end; r += V::kLanes) {
        V::StoreAligned(sums + c * strip + r, Levels::SetAll(start[c]));
      }
    }
  }

  template <class O>
  static void RunTiles(const LevelsFnsOf<O>& fns, int cols,
                       const LevelsArgs<Accum>& strip) {
    LevelsArgs<Accum> args = strip;
    const int rows = strip.rows;
    for (int row = 0; row < rows;) {
      int steps = Min((rows - row + Op::kStep - 1) / Op::kStep, fns.most_steps);
      if constexpr (!Levels::kMasks) {
        // The last rows may be multiplied twice.
        steps = PowerOf2UpTo(Min((rows - row) / Op::kStep, fns.most_steps));
        if (row + Op::kStep > rows && rows >= Op::kStep) row = rows - Op::kStep;
      }
      args.lhs =
          strip.lhs + row * static_cast<ptrdiff_t>(sizeof(typename Op::Lhs));
      args.rows = Min(rows - row, steps * Op::kStep);
      args.sums = strip.sums + row;
      fns.tiles[steps - 1](args);
      row += steps * Op::kStep;
      for (int c = 0; c < cols; ++c) {
        PutInOrder(steps * Op::kStep, args.sums + c * strip.sums_stride);
      }
    }
  }

  // A column's sums, from the order of interleaved levels to that of rows.
  static void PutInOrder(int rows, Accum* sums) {
    constexpr int kParts = V::kLanes / 4;  // of a vector
    if constexpr (kParts == 1 || kLevels == 1) return;
    struct Part {
      Accum lanes[4];
    };
    for (int row = 0; row < rows; row += Op::kStep) {
      Part parts[kLevels * kParts];
      __builtin_memcpy(parts, sums + row, sizeof(parts));
      for (int i = 0; i < kLevels * kParts; ++i) {
        __builtin_memcpy(sums + row + 4 * i,
                         parts + (i % kLevels * kParts + i / kLevels),
                         sizeof(Part));
      }
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_H_
