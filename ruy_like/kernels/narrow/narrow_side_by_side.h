// Back-end: float products of more columns than an rhs panel has, the lhs read
// in place: rows are transposed during the product of those before.
//
// Used by narrow_float.h, which says why rows have to be transposed. Where
// there are several rhs panels, each would do that again for its own registers;
// here a block of lhs goes to a buffer in L1 once, in the layout of packed
// panels, and all panels' tiles read it there:
//
//     lhs, in place           buffer, two of them in turn
//     kBlockLevels levels     |row 0..n-1, level 0|row 0..n-1, level 1| ...
//     of 2 vectors of rows -> |row n..2n-1, level 0|                  ...
//                                  |
//             tile of 2 vectors x rhs panel, while the next block is
//             transposed: its first vector of rows during the first panel's
//             tile, its second during the second's
//
// For 16 levels on AVX-512, 16 columns: 256 multiply-adds, 240 loads, so that
// transposing fits between them instead of adding its time.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_SIDE_BY_SIDE_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_SIDE_BY_SIDE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/simd/loops.h"
namespace ruy_like::kernels {
namespace {

// An rhs panel of a narrow product from some level on, and its accumulators.
struct NarrowRhsPanel {
  const float* rhs;
  float* accum;
  int col, cols;
};

template <int kRhsWidth>
RUY_LIKE_ALWAYS_INLINE int CountRhsPanels(const KernelArgs& args) {
  return (static_cast<int>(args.cols) + kRhsWidth - 1) / kRhsWidth;
}

// Panel i from level k on; accumulators of a column are `accum_stride` apart.
template <int kRhsWidth>
RUY_LIKE_ALWAYS_INLINE NarrowRhsPanel GetRhsPanel(const KernelArgs& args, int i,
                                                  ptrdiff_t k, float* accum,
                                                  int accum_stride) {
  const int col = i * kRhsWidth;
  return {reinterpret_cast<const float*>(static_cast<const char*>(args.rhs) +
                                         i * args.rhs_stride_bytes) +
              k * kRhsWidth,
          accum + col * accum_stride, col, Min(args.cols - col, kRhsWidth)};
}

constexpr int kBlockLevels = 64;

// A vector of rows, kBlockLevels of whose levels are to be transposed.
struct RowsAhead {
  const char* rows;
  ptrdiff_t stride;      // in bytes
  const char* prefetch;  // a share of what will be transposed later
  float* dst;            // null: none

  RUY_LIKE_ALWAYS_INLINE bool IsEmpty() const { return dst == nullptr; }
};

// Transposes them in steps of four levels. MultiplyTile() runs these between
// its products, in place of the steps of a deferred epilogue.
template <class V>
struct TransposeSteps {
  static constexpr bool kOneStart = false;
  static constexpr int Count(int) { return kBlockLevels / 4; }

  const RowsAhead& ahead;

  explicit RUY_LIKE_ALWAYS_INLINE TransposeSteps(const RowsAhead& rows_ahead)
      : ahead(rows_ahead) {}

  RUY_LIKE_ALWAYS_INLINE void Run(int step) const {
    // Prefetches one row after the other, 16 lines of each.
    constexpr int kLines = V::kLanes / 4;
    const int line = step * kLines;
    const char* const prefetch =
        ahead.prefetch + line / 16 * ahead.stride + line % 16 * 64;
    RUY_LIKE_UNROLL
    for (int i = 0; i < kLines; ++i) __builtin_prefetch(prefetch + 64 * i);
    typename V::Float x[4];
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      x[i] = V::LoadFourWords(ahead.rows + i * ahead.stride + 16 * step,
                              ahead.stride);
    }
    // Four words of rows i, i + 4, ... become level i of all rows.
    V::TransposeParts(x);
    RUY_LIKE_UNROLL
    for (int i = 0; i < 4; ++i) {
      V::StoreAligned(ahead.dst + (4 * step + i) * V::kLanes, x[i]);
    }
  }
};

typedef void SideBySideFn(const TileArgs& args, const RowsAhead& ahead);

template <class V, int kRhsWidth, int kCols>
void RunSideBySide(const TileArgs& args, const RowsAhead& ahead) {
  typedef FloatOp<typename V::Base> Op;
  MultiplyTile<Op, PackedRhs<Op, kRhsWidth>, 2, kCols, TransposeSteps<V>,
               /*kCopiesLhs=*/false>(args, ahead);
}

// RunSideBySide() for 1, 2 ... columns.
template <class V, int kRhsWidth>
constexpr auto kRunSideBySide = TableOf<SideBySideFn, kRhsWidth>([](auto cols) {
  return RunSideBySide<V, kRhsWidth, cols()>;
});

// Products of whole tiles of rows, in the order of rows. kAheadLevels: how many
// levels ahead of the transposition lines are prefetched.
template <class V, int kRhsWidth, int kAheadLevels>
class SideBySideRunner {
 public:
  static constexpr int kTileRows = 2 * V::kLanes;

  explicit SideBySideRunner(const KernelArgs& args)
      : args_(args),
        levels_(args.depth / kBlockLevels * kBlockLevels),
        current_(0) {}

  // The levels that are multiplied here: whole blocks.
  ptrdiff_t levels() const { return levels_; }

  // Transposes the first block of the first tile, whose rows begin at `lhs`.
  RUY_LIKE_ALWAYS_INLINE void Begin(const char* lhs) {
    if (levels_ == 0) return;
    for (int vector = 0; vector < 2; ++vector) {
      const RowsAhead ahead = Ahead(lhs, 0, vector);
      const TransposeSteps<V> steps(ahead);
      for (int i = 0; i < kBlockLevels / 4; ++i) steps.Run(i);
    }
  }

  // Adds the product of a tile's rows to `accum`: column-major, kTileRows
  // apart. `next`: the next tile's rows, null if there is none.
  RUY_LIKE_ALWAYS_INLINE void Run(const char* lhs, const char* next,
                                  float* accum) {
    for (ptrdiff_t k = 0; k < levels_; k += kBlockLevels) {
      const bool is_last = k + kBlockLevels == levels_;
      const char* const ahead_rows = is_last ? next : lhs;
      TileArgs tile;
      tile.lhs = blocks_[current_];
      tile.lhs_stride_bytes = kBlockLevels * V::kLanes * sizeof(float);
      tile.steps = kBlockLevels;
      tile.column_start = nullptr;
      tile.start_col_stride = kTileRows;
      current_ = 1 - current_;
      for (int i = 0; i < CountRhsPanels<kRhsWidth>(args_); ++i) {
        const NarrowRhsPanel panel =
            GetRhsPanel<kRhsWidth>(args_, i, k, accum, kTileRows);
        tile.rhs = {panel.rhs, args_.rhs_stride_bytes};
        tile.start = panel.accum;
        tile.result = panel.accum;
        RowsAhead ahead = {nullptr, 0, nullptr, nullptr};
        if (ahead_rows != nullptr && i < 2) {
          ahead = Ahead(ahead_rows, is_last ? 0 : k + kBlockLevels, i);
        }
        kRunSideBySide<V, kRhsWidth>.fns[panel.cols - 1](tile, ahead);
      }
    }
  }

 private:
  // One of a tile's two vectors of rows, from level k on.
  RUY_LIKE_ALWAYS_INLINE RowsAhead Ahead(const char* lhs, ptrdiff_t k,
                                         int vector) {
    const ptrdiff_t stride = args_.lhs_stride_bytes;
    // The next kAheadLevels are prefetched while as many are transposed: each
    // block and vector prefetches its share of the rows.
    const ptrdiff_t stretch = k / kAheadLevels * kAheadLevels;
    const ptrdiff_t next = stretch + kAheadLevels;
    const ptrdiff_t share = (k - stretch) / kBlockLevels * 2 + vector;
    const char* const prefetch =
        next < levels_ ? lhs + next * sizeof(float) : lhs + kTileRows * stride;
    return {lhs + vector * V::kLanes * stride + k * sizeof(float), stride,
            prefetch + share * (V::kLanes / 4) * stride,
            blocks_[current_] + vector * V::kLanes * kBlockLevels};
  }

  alignas(64) float blocks_[2][kTileRows * kBlockLevels];
  const KernelArgs& args_;
  const ptrdiff_t levels_;
  int current_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_SIDE_BY_SIDE_H_
