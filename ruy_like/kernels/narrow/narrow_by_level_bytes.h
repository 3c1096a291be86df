// Back-end: 8-bit products of few columns whose lhs is contiguous along its
// rows instead of depth, read in place.
//
// narrow_by_level.h says for which products, and why strips of rows have their
// sums in memory. Here a depth group is interleaved in registers, so that
// each lane has as many levels of a row as an instruction multiplies: four of
// bytes, as drawn, or two that loads have widened to 16 bits.
//
//      level k    |r0 r1 r2 ... r63|        |r0 x 4|r1 x 4|r2 x 4|r3 x 4| ...
//      level k+1  |r0 r1 r2 ... r63|   -->  |r4 x 4| ...
//      level k+2  |r0 r1 r2 ... r63|        |r8 x 4| ...
//      level k+3  |r0 r1 r2 ... r63|        |r12 x 4| ...
//
// Interleaving works in each 128 bits, so that vector i of four (or two) has
// rows 4i to 4i + 3 of every 16 (or 8); sums are put in order once per strip.
// The lhs's row sums, if needed, are its products with a column of ones.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_BYTES_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_BYTES_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_by_level_tiles.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Some depth groups of a strip of rows.
struct DepthGroupsArgs {
  const char* level[4];   // of the first group: its levels
  ptrdiff_t group_bytes;  // from one group to the next
  const int32_t* rhs;     // a group of each column, then the next group
  ptrdiff_t rhs_stride;   // columns between the groups of a column
  ptrdiff_t rows;
  int32_t* sums;          // of the first column
  ptrdiff_t sums_stride;  // elements from one column to the next
};

typedef void DepthGroupsFn(const DepthGroupsArgs& args);

// Adds kDepthGroups depth groups to the sums of kCols columns.
template <class Op, int kCols, int kDepthGroups>
void AddDepthGroups(const DepthGroupsArgs& args) {
  typedef typename Op::Simd V;
  typedef typename V::Int Int;
  typedef typename Op::Lhs Lhs;
  constexpr int kLevels = kDepthGroup<Op>;
  Int rhs[kCols][kDepthGroups];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kDepthGroups; ++i) {
    rhs[i % kCols][i / kCols] = V::InRegister(
        V::SetLevels(args.rhs[i / kCols * args.rhs_stride + i % kCols]));
  }
  const DepthGroupsArgs a = args;
  const auto add = [&](ptrdiff_t row, const auto& load) {
    Int acc[kCols][kLevels];
    int32_t* const sums = a.sums + row;
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLevels * kCols; ++i) {
      acc[i / kLevels][i % kLevels] = V::LoadAligned(
          sums + i / kLevels * a.sums_stride + i % kLevels * V::kLanes);
    }
    RUY_LIKE_UNROLL
    for (int q = 0; q < kDepthGroups; ++q) {
      Int x[kLevels];
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels; ++i) {
        x[i] = load(
            reinterpret_cast<const Lhs*>(a.level[i] + q * a.group_bytes + row));
      }
      V::InterleaveLevels(x);
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels * kCols; ++i) {
        acc[i / kLevels][i % kLevels] = Op::MultiplyAdd(
            acc[i / kLevels][i % kLevels], x[i % kLevels], rhs[i / kLevels][q]);
      }
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLevels * kCols; ++i) {
      V::StoreAligned(
          sums + i / kLevels * a.sums_stride + i % kLevels * V::kLanes,
          acc[i / kLevels][i % kLevels]);
    }
  };
  ptrdiff_t row = 0;
  for (; row + Op::kStep <= a.rows; row += Op::kStep) {
    add(row, [](const Lhs* p) { return Op::LoadLhs(p); });
  }
  if (row < a.rows) {
    const int left = static_cast<int>(a.rows - row);
    add(row, [left](const Lhs* p) { return Op::LoadFirstLhs(p, left); });
  }
}

// Columns at once; one may be the column of ones.
constexpr int kColsAtOnce = 2;

// Depth groups at once, whose rhs stays in registers next to the sums, the
// levels and their interleaved form. At most 16 levels: prefetchers follow no
// more streams.
template <class Op>
constexpr int MostDepthGroups(int cols) {
  constexpr int kLevels = kDepthGroup<Op>;
  constexpr int kRegisters = Op::Simd::kLanes == 8 ? 16 : 32;
  const int groups = (kRegisters - 2 - kLevels * (cols + 2)) / cols;
  const int most = 16 / kLevels / cols;
  return groups < 1 ? 1 : groups > most ? most : groups;
}

// AddDepthGroups() by columns less 1, for `most` groups and for one.
struct DepthGroupsFns {
  int most;
  DepthGroupsFn* add_most[kColsAtOnce];
  DepthGroupsFn* add_one[kColsAtOnce];
};
template <class Op, int kMostDepthGroups>
constexpr DepthGroupsFns kDepthGroupsFnsOf = {
    kMostDepthGroups,
    {AddDepthGroups<Op, 1, kMostDepthGroups>,
     AddDepthGroups<Op, 2, kMostDepthGroups>},
    {AddDepthGroups<Op, 1, 1>, AddDepthGroups<Op, 2, 1>}};
template <class Op>
constexpr DepthGroupsFns kOneColumnFns = {
    MostDepthGroups<Op>(1),
    {AddDepthGroups<Op, 1, MostDepthGroups<Op>(1)>, nullptr},
    {AddDepthGroups<Op, 1, 1>, nullptr}};

// Op: NarrowQuadsOp or NarrowPairsOp (narrow_int.h), or Arm's NarrowBytesOp.
// FlippedOp: FlippedQuadsOp (narrow_flipped.h) where it saves the lhs's sums.
template <class Op, class FlippedOp = void>
struct NarrowByLevelBytesKernel {
  typedef typename Op::Simd V;
  static constexpr int kLevels = kDepthGroup<Op>;
  // Rows of a vector, whose sums are kLevels vectors.
  static constexpr int kRows = Op::kStep;
  // With more columns packing is faster: 4 in place took 1.4 times as long.
  static constexpr int kMaxCols = 2;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel = NarrowInPlaceEntry(
        name, Family::k8x8, Op::kLhsScalar,
        {Op::kRhsScalar, /*in_place=*/false, /*width=*/1, /*depth_group=*/1,
         /*depth_multiple=*/kLevels},
        kRows, pack_rhs, Run);
    kernel.lhs.by_level = true;
    kernel.tile_cols = kernel.max_cols = kernel.stream_cols = kMaxCols;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    if constexpr (kFlipsRhs<FlippedOp>) {
      if (args->epilogue->rhs_zero_point == 128) {
        return Multiply<FlippedOp>(*args, /*wants_sums=*/false);
      }
    }
    Multiply<Op>(*args, args->epilogue->rhs_zero_point != 0);
  }

 private:
  static constexpr int kMaxSums = (16 << 10) / sizeof(int32_t);
  // Levels at most this many bytes apart are read in tiles of a few rows
  // (narrow_by_level_tiles.h).
  static constexpr ptrdiff_t kMostTiledStride = 512;

  template <class O>
  static void Multiply(const KernelArgs& args, bool wants_sums) {
    alignas(64) int32_t sums[kMaxSums];
    const int cols = static_cast<int>(args.cols);
    const int all_cols = cols + (wants_sums ? 1 : 0);
    const int strip = kMaxSums / all_cols / kRows * kRows;
    int32_t excess[kMaxCols] = {};
    if constexpr (kFlipsRhs<O>) {
      for (int c = 0; c < cols; ++c) {
        excess[c] = O::Excess(
            static_cast<const char*>(args.rhs) + c * args.rhs_stride_bytes,
            args.depth);
      }
    }
    for (ptrdiff_t row = 0; row < args.rows; row += strip) {
      const int rows = Min(args.rows - row, strip);
      DepthGroupsArgs groups = {};
      groups.rows = rows;
      groups.sums = sums;
      groups.sums_stride = strip;
      AddStrip<O>(args, row, all_cols, groups);
      if (wants_sums) {
        // The lhs's sums lie behind those of the last column.
        SubtractRowSums<V>(args.epilogue->rhs_zero_point, sums + cols * strip,
                           rows, cols, strip, sums);
      }
      if (kFlipsRhs<O>) SubtractExcess(excess, cols, rows, strip, sums);
      StoreTile<typename V::Base>({sums, strip, rows, cols, row, 0},
                                  *args.epilogue);
    }
  }

  // All levels of a strip of rows.
  template <class O>
  static void AddStrip(const KernelArgs& args, ptrdiff_t row, int all_cols,
                       DepthGroupsArgs groups) {
    const DepthGroupsFns& fns =
        all_cols == 1 ? kOneColumnFns<O>
                      : kDepthGroupsFnsOf<O, MostDepthGroups<O>(2)>;
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const char* const lhs = static_cast<const char*>(args.lhs) + row;
    if (groups.rows <= kRows || stride <= kMostTiledStride) {
      return MultiplyInTiles<O>(args, lhs, all_cols, groups);
    }
    Clear(all_cols, groups);
    int32_t rhs[(kMaxCols + 1) * MostDepthGroups<Op>(1)];
    int32_t* const sums = groups.sums;
    groups.group_bytes = kLevels * stride;
    groups.rhs_stride = all_cols;
    for (ptrdiff_t k = 0; k < args.depth;) {
      const ptrdiff_t left = args.depth - k;
      const int count = left >= kLevels * fns.most ? fns.most : 1;
      for (int i = 0; i < kLevels; ++i) {
        // Beyond the depth the first level is repeated, times 0.
        groups.level[i] = lhs + (k + (i < left ? i : 0)) * stride;
      }
      for (int q = 0; q < count; ++q) {
        LoadRhs<O>(args, k + kLevels * q, all_cols, rhs + q * all_cols);
      }
      for (int col = 0; col < all_cols; col += kColsAtOnce) {
        const int cols = Min(all_cols - col, kColsAtOnce);
        groups.rhs = rhs + col;
        groups.sums = sums + col * groups.sums_stride;
        (count == 1 ? fns.add_one : fns.add_most)[cols - 1](groups);
      }
      k += kLevels * count;
    }
    for (int c = 0; c < all_cols; ++c) {
      PutInOrder(static_cast<int>(groups.rows), sums + c * groups.sums_stride);
    }
  }

  // Clears whole vectors of rows, since sums are in interleaved order.
  static void Clear(int all_cols, const DepthGroupsArgs& groups) {
    const ptrdiff_t end = (groups.rows + kRows - 1) / kRows * kRows;
    for (int c = 0; c < all_cols; ++c) {
      for (ptrdiff_t r = 0; r < end; r += V::kLanes) {
        V::StoreAligned(groups.sums + c * groups.sums_stride + r, V::Zero());
      }
    }
  }

  // All levels of a few rows at a time.
  template <class O>
  static void MultiplyInTiles(const KernelArgs& args, const char* lhs,
                              int all_cols, const DepthGroupsArgs& groups) {
    for (int col = 0; col < all_cols; col += kColsAtOnce) {
      const bool is_last = all_cols - col <= kColsAtOnce;
      const bool sums = all_cols > args.cols && is_last;
      int32_t* const to = groups.sums + col * groups.sums_stride;
      TilesArgs tiles;
      tiles.lhs = lhs;
      tiles.lhs_stride = args.lhs_stride_bytes;
      tiles.rhs =
          static_cast<const char*>(args.rhs) + col * args.rhs_stride_bytes;
      tiles.rhs_stride = args.rhs_stride_bytes;
      tiles.depth = args.depth;
      tiles.rows = static_cast<int>(groups.rows);
      if (all_cols - col >= 2) {
        RunTiles<2>(sums ? TilesOf<O, 2, true> : TilesOf<O, 2, false>, tiles,
                    to, groups.sums_stride);
      } else {
        RunTiles<1>(sums ? TilesOf<O, 1, true> : TilesOf<O, 1, false>, tiles,
                    to, groups.sums_stride);
      }
    }
  }

  template <int kCols>
  static void RunTiles(TilesFn* (*fn_of)(int tiles), TilesArgs args,
                       int32_t* to, ptrdiff_t to_stride) {
    constexpr int kMost = kMostTiles<Op, kCols>;
    alignas(64) int32_t sums[kMost * kCols * kRows];
    const char* const lhs = args.lhs;
    const int rows = args.rows;
    args.sums = sums;
    for (int row = 0, tiles = kMost; row < rows; row += tiles * kRows) {
      while (tiles > 1 && row + tiles * kRows > rows) tiles /= 2;
      // The last rows may be multiplied twice.
      if (row + kRows > rows && rows >= kRows) row = rows - kRows;
      args.lhs = lhs + row;
      args.rows = Min(rows - row, kRows);
      fn_of(tiles)(args);
      for (int i = 0; i < kCols * tiles; ++i) {
        int32_t* const tile = sums + i * kRows;
        PutInOrder(kRows, tile);
        __builtin_memcpy(to + i / tiles * to_stride + row + i % tiles * kRows,
                         tile, kRows * sizeof(int32_t));
      }
    }
  }

  // Copies each column's depth group from k on; beyond the depth it is
  // zero.
  template <class O>
  static void LoadRhs(const KernelArgs& args, ptrdiff_t k, int all_cols,
                      int32_t* to) {
    const ptrdiff_t left = args.depth - k;
    for (int c = 0; c < all_cols; ++c) {
      if (c < args.cols) {
        __builtin_memcpy(
            to + c,
            static_cast<const char*>(args.rhs) + c * args.rhs_stride_bytes +
                k * static_cast<ptrdiff_t>(sizeof(typename Op::Rhs)),
            sizeof(int32_t));
        to[c] = RhsDepthGroup<O>(to[c], Min(left, kLevels));
      } else {
        to[c] = DepthGroupOfOnes<Op>(Min(left, kLevels));
      }
    }
  }

  // A column's sums, from the order of interleaved levels to that of rows.
  static void PutInOrder(int rows, int32_t* sums) {
    constexpr int kParts = V::kLanes / 4;  // of a vector
    if constexpr (kParts == 1) return;
    struct Part {
      int32_t lanes[4];
    };
    for (int row = 0; row < rows; row += kRows) {
      Part parts[kLevels * kParts];
      __builtin_memcpy(parts, sums + row, sizeof(parts));
      for (int i = 0; i < kLevels * kParts; ++i) {
        __builtin_memcpy(sums + row + 4 * i,
                         parts + (i % kLevels * kParts + i / kLevels),
                         sizeof(Part));
      }
    }
  }

  // What flipping has added to each column.
  static void SubtractExcess(const int32_t* excess, int cols, int rows,
                             int strip, int32_t* sums) {
    for (int c = 0; c < cols; ++c) {
      const typename V::Int term = V::Set(excess[c]);
      for (int r = 0; r < rows; r += V::kLanes) {
        int32_t* const to = sums + c * strip + r;
        V::StoreAligned(to, V::Sub(V::LoadAligned(to), term));
      }
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_BYTES_H_
