// Back-end: float products of few columns whose lhs is contiguous along its
// rows instead of depth, read in place.
//
// Included by tables_x86.h and neon.cc, which list NarrowByLevelKernel<> in
// front of their panel kernels; called by run/blocks.cc through the table for
// products of at most kMaxNarrowCols columns: a column-major lhs and a vector,
// or, with sides swapped, one row and a row-major matrix, as the keys and
// values of attention lie in a cache. Depth is not split.
//
// Rows are in the lanes of a vector as they lie, so nothing is transposed or
// packed, and sums run in order of depth: results are the panel kernel's, bit
// for bit. What matters is the order in which memory is read. A vector of rows
// over the whole depth touches another page in every step. So a strip of rows
// has its sums in an array in L1, to which a few levels at a time are added:
//
//                     rows of the strip ->
//      sums          |s s s s|s s s s|s s s s| ...      loaded and stored
//                        ^
//      lhs, level k  |a a a a|a a a a|a a a a| ...  x b[k]      one stream
//           level k+1|a a a a|a a a a|a a a a| ...  x b[k+1]    each
//           ...                                             b: in registers
//
// If a strip has so few rows that its sums fit registers, they stay there.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_H_

#include <stddef.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/panel/indices.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Some levels of a strip of rows and some columns.
struct LevelsArgs {
  const float* lhs;      // the first level
  ptrdiff_t lhs_stride;  // elements from one level to the next
  const float* rhs;      // the first column, contiguous along depth
  ptrdiff_t rhs_stride;  // elements from one column to the next
  ptrdiff_t levels;      // to be added
  ptrdiff_t rows;
  float* sums;            // of the first column
  ptrdiff_t sums_stride;  // elements from one column to the next
};

typedef void LevelsFn(const LevelsArgs& args);

template <class V>
RUY_LIKE_ALWAYS_INLINE typename V::Float LoadRows(const float* p) {
  return V::AsFloat(V::Load(p));
}

// Adds kLevels levels to the sums of kCols columns.
template <class V, int kCols, int kLevels>
void AddLevels(const LevelsArgs& args) {
  typedef typename V::Float Float;
  Float rhs[kCols][kLevels];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLevels; ++i) {
      rhs[c][i] = V::InRegister(V::SetFloat(args.rhs[c * args.rhs_stride + i]));
    }
  }
  const float* lhs[kLevels];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kLevels; ++i) lhs[i] = args.lhs + i * args.lhs_stride;
  float* const sums = args.sums;
  const ptrdiff_t sums_stride = args.sums_stride;
  const auto add = [&](ptrdiff_t row, const auto& load) {
    Float acc[kCols];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      acc[c] = V::LoadAligned(sums + c * sums_stride + row);
    }
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLevels; ++i) {
      const Float x = load(lhs[i] + row);
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) {
        acc[c] = V::MulAddFloat(x, rhs[c][i], acc[c]);
      }
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      V::StoreAligned(sums + c * sums_stride + row, acc[c]);
    }
  };
  ptrdiff_t row = 0;
  for (; row + V::kLanes <= args.rows; row += V::kLanes) {
    add(row, [](const float* p) { return LoadRows<V>(p); });
  }
  if (row < args.rows) {
    const typename V::Mask mask =
        V::FirstLanes(static_cast<int>(args.rows - row));
    add(row, [mask](const float* p) { return V::LoadMasked(p, mask); });
  }
}

// All levels of at most kVectors vectors of rows, the last one maybe
// incomplete, by kCols columns; the sums start from 0.
template <class V, int kCols, int kVectors>
void MultiplyShortRows(const LevelsArgs& args) {
  typedef typename V::Float Float;
  Float acc[kCols][kVectors];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kVectors; ++i) {
    acc[i / kVectors][i % kVectors] = V::SetFloat(0);
  }
  const typename V::Mask mask =
      V::FirstLanes(static_cast<int>(args.rows - (kVectors - 1) * V::kLanes));
  const float* lhs = args.lhs;
  const float* rhs = args.rhs;
  const ptrdiff_t lhs_stride = args.lhs_stride;
  const ptrdiff_t rhs_stride = args.rhs_stride;
  for (ptrdiff_t level = args.levels; level > 0; --level) {
    Float x[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      x[v] = v == kVectors - 1 ? V::LoadMasked(lhs + v * V::kLanes, mask)
                               : LoadRows<V>(lhs + v * V::kLanes);
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const Float b = V::SetFloat(rhs[c * rhs_stride]);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[c][v] = V::MulAddFloat(x[v], b, acc[c][v]);
        V::HoldInRegister(acc[c][v]);
      }
    }
    lhs += lhs_stride;
    ++rhs;
  }
  RUY_LIKE_UNROLL
  for (int i = 0; i < kCols * kVectors; ++i) {
    V::StoreAligned(
        args.sums + i / kVectors * args.sums_stride + i % kVectors * V::kLanes,
        acc[i / kVectors][i % kVectors]);
  }
}

// Half of the registers: of 16 with 256 bits, of 32 elsewhere.
template <class V>
constexpr int kByLevelRegisters = V::kLanes == 8 ? 8 : 16;

// The levels that AddLevels() adds at once, and the most vectors of rows whose
// sums MultiplyShortRows() holds in registers, for kCols columns. With a single
// column AVX-512's multiply-adds read the lhs from memory, which leaves
// registers for 16.
template <class V, int kCols>
constexpr int kLevelsAtOnce = kCols == 1   ? 8
                              : kCols == 2 ? kByLevelRegisters<V> / 2
                                           : kByLevelRegisters<V> / 4;
template <class V, int kCols>
constexpr int kShortVectors =
    kCols == 1 && V::kLanes == 16 ? 16 : kLevelsAtOnce<V, kCols>;

// Adds args.levels levels to the sums of kCols columns.
template <class V, int kCols>
void AddAllLevels(const LevelsArgs& args_in) {
  LevelsArgs args = args_in;
  const auto add = [&args](LevelsFn* fn, int levels) {
    fn(args);
    args.lhs += levels * args.lhs_stride;
    args.rhs += levels;
    args.levels -= levels;
  };
  constexpr int kLevels = kLevelsAtOnce<V, kCols>;
  while (args.levels >= kLevels) add(AddLevels<V, kCols, kLevels>, kLevels);
  if constexpr (kLevels > 2) {
    while (args.levels >= 2) add(AddLevels<V, kCols, 2>, 2);
  }
  if (args.levels == 1) add(AddLevels<V, kCols, 1>, 1);
}

// MultiplyShortRows() for kCols columns and 1, 2 ... vectors of rows.
template <class V, int kCols>
constexpr auto kShortRows = TableOf<LevelsFn, kShortVectors<V, kCols>>(
    [](auto vectors) { return MultiplyShortRows<V, kCols, vectors()>; });

// The routines for a number of columns.
struct ByLevelFns {
  LevelsFn* add;
  LevelsFn* const* short_rows;
  int most_short_vectors;
};
template <class V, int kCols>
constexpr ByLevelFns kByLevelFnsOf = {
    AddAllLevels<V, kCols>, kShortRows<V, kCols>.fns, kShortVectors<V, kCols>};
template <class V>
constexpr ByLevelFns kByLevelFns[] = {kByLevelFnsOf<V, 1>, kByLevelFnsOf<V, 2>,
                                      kByLevelFnsOf<V, 3>, kByLevelFnsOf<V, 4>};

template <class V>
struct NarrowByLevelKernel {
  static constexpr int kLanes = V::kLanes;

  // The kernel's line in its path's table. pack_rhs makes panels of one column.
  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs,
                                int max_cols = kMaxNarrowCols) {
    Kernel kernel =
        NarrowFloatEntry(name, /*rhs_width=*/1, kTileRows, pack_rhs, Run);
    kernel.lhs.by_level = true;
    kernel.tile_cols = kernel.max_cols = kernel.stream_cols = max_cols;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    alignas(64) float sums[kMaxSums];
    const int cols = static_cast<int>(args->cols);
    // Whole vectors of rows.
    const int strip = kMaxSums / cols / kLanes * kLanes;
    for (ptrdiff_t row = 0; row < args->rows; row += strip) {
      const int rows = Min(args->rows - row, strip);
      RunStrip(*args, row, rows, strip, sums);
      StoreTile<V>({sums, strip, rows, cols, row, 0}, *args->epilogue);
    }
  }

 private:
  static constexpr int kTileRows = 64;
  static constexpr int kMaxSums = (16 << 10) / sizeof(float);
  static constexpr int kColsAtOnce = 4;
  // With more columns, this many levels are used for all of them before the
  // next are read: with the sums they fit L1.
  static constexpr ptrdiff_t kStretchLevels = 8;

  static void RunStrip(const KernelArgs& args, ptrdiff_t row, int rows,
                       int strip, float* sums) {
    const int cols = static_cast<int>(args.cols);
    const int vectors = (rows + kLanes - 1) / kLanes;
    const ByLevelFns& most = kByLevelFns<V>[Min(cols, kColsAtOnce) - 1];
    const bool is_short = vectors <= most.most_short_vectors;
    if (!is_short) {
      for (int i = 0; i < cols * strip; i += kLanes) {
        V::StoreAligned(sums + i, V::SetFloat(0));
      }
    }
    const ptrdiff_t stretch =
        is_short || cols <= kColsAtOnce ? args.depth : kStretchLevels;
    LevelsArgs levels;
    levels.lhs_stride =
        args.lhs_stride_bytes / static_cast<ptrdiff_t>(sizeof(float));
    levels.rhs_stride =
        args.rhs_stride_bytes / static_cast<ptrdiff_t>(sizeof(float));
    levels.rows = rows;
    levels.sums_stride = strip;
    for (ptrdiff_t k = 0; k < args.depth; k += stretch) {
      levels.levels = args.depth - k < stretch ? args.depth - k : stretch;
      levels.lhs =
          static_cast<const float*>(args.lhs) + row + k * levels.lhs_stride;
      for (int col = 0; col < cols; col += kColsAtOnce) {
        const ByLevelFns& fns =
            kByLevelFns<V>[Min(cols - col, kColsAtOnce) - 1];
        levels.rhs =
            static_cast<const float*>(args.rhs) + col * levels.rhs_stride + k;
        levels.sums = sums + col * strip;
        (is_short ? fns.short_rows[vectors - 1] : fns.add)(levels);
      }
    }
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_H_
