// Back-end: float products of up to four columns whose sums may be taken in any
// order; the lhs is contiguous along depth and read in place.
//
// Included by tables_x86.h and neon.cc, which list NarrowAlongDepthKernel<> in
// front of other kernels for floats; called by run/blocks.cc through the table
// for products that permit any order (FloatSums::kAnyOrder). Depth is not
// split.
//
// Lanes run along depth, as both operands lie, so nothing is transposed. Each
// sum has kParts vectors of partial sums:
//
//              part 0  part 1  part 0  part 1  rest
//      row 0  |a a a a|b b b b|c c c c|d d d d|e e    |    kRows rows at once,
//      row 1  | ...                                        kCols columns
//
//      part 0 = a * rhs + c * rhs + e * rhs        lanes that the rest does not
//      part 1 = b * rhs + d * rhs                  have count as 0
//      sum    = the lanes of (part 0 + part 1), added pairwise
//
// What is added in which order follows from the depth and the number of columns
// alone: not from the row's place in a block, nor from blocks and threads.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_ALONG_DEPTH_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_ALONG_DEPTH_H_

#include <stddef.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

struct AlongDepthArgs {
  const char* lhs;       // the first row
  ptrdiff_t lhs_stride;  // bytes from one row to the next
  const char* rhs;       // the first column, contiguous along depth
  ptrdiff_t rhs_stride;  // bytes from one column to the next
  ptrdiff_t depth;
  ptrdiff_t ahead;        // bytes from what is read to what is prefetched
  float* sums;            // of the first column; four rows of each are stored
  ptrdiff_t sums_stride;  // elements from one column to the next
};

typedef void AlongDepthFn(const AlongDepthArgs& args);

// Adds the products of a vector of levels, or of its first ones, to a part's
// sums.
template <class V, int kRows, int kCols, class LoadFn>
RUY_LIKE_ALWAYS_INLINE void AddVector(const char* const (&lhs)[kRows],
                                      const char* const (&rhs)[kCols],
                                      ptrdiff_t offset, LoadFn load,
                                      typename V::Float (&acc)[kRows][kCols]) {
  // Held: compilers would load an operand anew for each of its uses.
  typename V::Float y[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    y[c] = load(rhs[c] + offset);
    if constexpr (kCols > 1 && kRows > 1) V::HoldInRegister(y[c]);
  }
  RUY_LIKE_UNROLL
  for (int r = 0; r < kRows; ++r) {
    typename V::Float x = load(lhs[r] + offset);
    if constexpr (kCols > 1) V::HoldInRegister(x);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      acc[r][c] = V::MulAddFloat(x, y[c], acc[r][c]);
    }
  }
}

// Prefetches kLevels levels of each row, from `offset` bytes on, to L2.
template <int kLevels, int kRows>
RUY_LIKE_ALWAYS_INLINE void PrefetchRows(const char* const (&lhs)[kRows],
                                         ptrdiff_t offset) {
  constexpr int kLine = 64;
  constexpr int kBytes = kLevels * static_cast<int>(sizeof(float));
  RUY_LIKE_UNROLL
  for (int r = 0; r < kRows; ++r) {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kBytes; i += kLine) {
      __builtin_prefetch(lhs[r] + offset + i, /*rw=*/0, /*locality=*/2);
    }
  }
}

// The sums of kRows rows and kCols columns.
template <class V, int kRows, int kCols, int kParts, bool kPrefetch>
void SumAlongDepth(const AlongDepthArgs& args) {
  typedef typename V::Float Float;
  constexpr ptrdiff_t kBytes = V::kLanes * sizeof(float);
  const char* lhs[kRows];
  RUY_LIKE_UNROLL
  for (int r = 0; r < kRows; ++r) lhs[r] = args.lhs + r * args.lhs_stride;
  const char* rhs[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) rhs[c] = args.rhs + c * args.rhs_stride;
  Float acc[kParts][kRows][kCols];
  RUY_LIKE_UNROLL
  for (int i = 0; i < kParts * kRows * kCols; ++i) {
    acc[i / kCols / kRows][i / kCols % kRows][i % kCols] = V::SetFloat(0);
  }
  const auto load = [](const char* p) {
    return V::LoadFloats(reinterpret_cast<const float*>(p));
  };
  const ptrdiff_t end = args.depth * static_cast<ptrdiff_t>(sizeof(float));
  ptrdiff_t offset = 0;
  for (; offset + kParts * kBytes <= end; offset += kParts * kBytes) {
    if constexpr (kPrefetch) {
      PrefetchRows<kParts * V::kLanes>(lhs, offset + args.ahead);
    }
    RUY_LIKE_UNROLL
    for (int p = 0; p < kParts; ++p) {
      AddVector<V>(lhs, rhs, offset + p * kBytes, load, acc[p]);
    }
  }
  // Fewer than kParts whole vectors, and the rest.
  for (; offset + kBytes <= end; offset += kBytes) {
    AddVector<V>(lhs, rhs, offset, load, acc[0]);
  }
  if (offset < end) {
    const typename V::Mask mask =
        V::FirstLanes(static_cast<int>((end - offset) / sizeof(float)));
    AddVector<V>(
        lhs, rhs, offset,
        [mask](const char* p) {
          return V::LoadMasked(reinterpret_cast<const float*>(p), mask);
        },
        acc[0]);
  }
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    Float sums[4];
    RUY_LIKE_UNROLL
    for (int r = 0; r < 4; ++r) {
      const int row = r < kRows ? r : 0;
      sums[r] = acc[0][row][c];
      RUY_LIKE_UNROLL
      for (int p = 1; p < kParts; ++p) {
        sums[r] = V::AddFloat(sums[r], acc[p][row][c]);
      }
    }
    V::StoreLaneSums(args.sums + c * args.sums_stride, sums[0], sums[1],
                     sums[2], sums[3]);
  }
}

template <class V>
struct NarrowAlongDepthKernel {
  static constexpr int kMaxCols = 4;

  // The kernel's lines in its path's table: with a rhs that pack_rhs packs into
  // panels of one column, and with a single column read in place.
  static constexpr Kernel Entry(const char* name, PackFn* pack_rhs) {
    Kernel kernel =
        NarrowFloatEntry(name, /*rhs_width=*/1, kTileRows, pack_rhs, Run);
    kernel.lhs.depth_group = V::kLanes;  // of levels; only for the name
    kernel.any_order = true;
    kernel.tile_cols = kernel.max_cols = kernel.stream_cols = kMaxCols;
    return kernel;
  }
  static constexpr Kernel ColumnEntry(const char* name) {
    Kernel kernel = Entry(name, /*pack_rhs=*/nullptr);
    kernel.rhs = {Scalar::kF32, /*in_place=*/true, 0, 0, 0};
    kernel.tile_cols = kernel.max_cols = kernel.stream_cols = 1;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const int cols = static_cast<int>(args->cols);
    const Sizes& sizes = kSizes[cols - 1];
    const ptrdiff_t stride = args->lhs_stride_bytes;
    const bool is_far = args->rows * stride > kCached;
    alignas(64) float sums[kMaxCols * kSumsStride];
    AlongDepthArgs along;
    along.lhs = static_cast<const char*>(args->lhs);
    along.lhs_stride = stride;
    along.rhs = static_cast<const char*>(args->rhs);
    along.rhs_stride = args->rhs_stride_bytes;
    along.depth = args->depth;
    along.ahead = sizes.rows * stride;
    along.sums_stride = kSumsStride;
    for (ptrdiff_t first = 0; first < args->rows; first += kStripRows) {
      const int rows = Min(args->rows - first, kStripRows);
      for (int row = 0; row < rows; row += sizes.rows) {
        along.sums = sums + row;
        const int count = Min(rows - row, sizes.rows);
        const bool next_is_whole =
            args->rows - first - row >= 2 * ptrdiff_t{sizes.rows};
        (is_far && next_is_whole ? sizes.sum_far : sizes.sum[count - 1])(along);
        along.lhs += count * stride;
      }
      StoreTile<V>({sums, kSumsStride, rows, cols, first, 0}, *args->epilogue);
    }
  }

 private:
  static constexpr int kTileRows = 4;
  // Rows whose sums are collected for one call of the epilogue, which costs as
  // much for one vector as for several.
  static constexpr int kStripRows = 64;
  // Sums of two rows are stored as four, so two may lie beyond the strip;
  // columns are whole vectors apart.
  static constexpr int kSumsStride = kStripRows + 16;
  // For a lhs of more bytes the next rows are prefetched to L2 during the
  // product; for fewer that is slower (doc/tuning.md).
  static constexpr ptrdiff_t kCached = 6 << 20;

  // At least 8 accumulators, as two multiply-adds start in a cycle and end four
  // cycles later; 12 of 16 registers at most.
  static constexpr int RowsOf(int cols) {
    return cols == kMaxCols && V::kLanes == 8 ? 2 : kTileRows;
  }
  static constexpr int PartsOf(int cols) { return cols == 1 ? 2 : 1; }

  struct Sizes {
    int rows;
    AlongDepthFn* sum_far;         // of a whole tile
    AlongDepthFn* sum[kTileRows];  // by the number of rows, less 1
  };
  template <int kCols>
  static constexpr Sizes MakeSizes() {
    constexpr int kRows = RowsOf(kCols);
    constexpr int kParts = PartsOf(kCols);
    return {kRows,
            SumAlongDepth<V, kRows, kCols, kParts, true>,
            {SumAlongDepth<V, 1, kCols, kParts, false>,
             SumAlongDepth<V, 2, kCols, kParts, false>, SumAlongDepth < V,
             kRows == 2 ? 2 : 3, kCols, kParts, false >,
             SumAlongDepth<V, kRows, kCols, kParts, false>}};
  }
  static constexpr Sizes kSizes[kMaxCols] = {MakeSizes<1>(), MakeSizes<2>(),
                                             MakeSizes<3>(), MakeSizes<4>()};
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_ALONG_DEPTH_H_
