// Back-end: small float products that read both sides in place.
//
// Included by tables_x86.h, which lists SmallInPlaceKernel<> in front of the
// panel kernels; called by run/blocks.cc through the table for products of at
// most kMaxSize rows and columns whose lhs is contiguous along its rows, a
// column-major lhs as in BLAS. The rhs may be of either order. Depth is not
// split.
//
// Rows are in the lanes of a vector as they lie, and a panel's columns of the
// rhs are broadcast from wherever they lie, so packing would only make memory
// contiguous, which a product of this size does not need: 1.2 times as fast at
// 16x16x16 (doc/tuning.md). A tile is the panel kernel's (panel_kernel.h), and
// so are results, bit for bit: one accumulator per element, in order of depth.
//
//    rhs, in place                       r0   r1  ...  r7     broadcast
//    lhs, depth k  |l0 l1 l2|   ->  l0  a00  a01  ...  a07
//         depth k+1|l0 l1 l2|       l1  a10  a11  ...  a17    up to 3 x 8
//         ...                       l2  a20  a21  ...  a27    or 1 x 16
#ifndef RUY_LIKE_KERNELS_NARROW_SMALL_IN_PLACE_H_
#define RUY_LIKE_KERNELS_NARROW_SMALL_IN_PLACE_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/epilogue/float_output.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel/panel_rhs.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

struct SmallTile {
  const char* lhs;       // the first row at depth 0
  ptrdiff_t lhs_stride;  // bytes from one depth position to the next
  RhsColumns rhs;        // stride_bytes by depth: the same
  ptrdiff_t depth;       // > 0
  int rows;              // the last vector may be incomplete
  float* to;
  ptrdiff_t to_stride;  // elements from one column to the next
  // At most one is not null; from the tile's first row or column on.
  const float* row_bias;
  const float* col_bias;
  FloatBounds bounds;
  bool is_bounded;
};

typedef void SmallTileFn(const SmallTile& tile);

// The columns of a rhs that is contiguous along its width.
struct DepthCursor {
  static constexpr ptrdiff_t kDotBytes = sizeof(float);
  const char* row;
  ptrdiff_t stride_bytes;

  RUY_LIKE_ALWAYS_INLINE explicit DepthCursor(const RhsColumns& columns)
      : row(static_cast<const char*>(columns.data)),
        stride_bytes(columns.stride_bytes) {}
  RUY_LIKE_ALWAYS_INLINE const float* Column(int c) const {
    return reinterpret_cast<const float*>(row) + c;
  }
  RUY_LIKE_ALWAYS_INLINE void Advance() { row += stride_bytes; }
};

// The sums of kVectors vectors of rows and kCols columns.
template <class Op, bool kByDepth, int kVectors, int kCols>
void RunSmallTile(const SmallTile& tile) {
  typedef typename Op::Simd V;
  typedef typename V::Float Float;
  constexpr int kLast = kVectors - 1;
  const int last_rows = tile.rows - kLast * V::kLanes;
  const typename V::Mask mask = V::FirstLanes(last_rows);
  Float acc[kVectors][kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[v][c] = V::SetFloat(0);
  }
  const char* lhs = tile.lhs;
  const ptrdiff_t lhs_stride = tile.lhs_stride;
  std::conditional_t<kByDepth, DepthCursor, ColumnCursor<Op, kCols>> rhs(
      tile.rhs);
  for (ptrdiff_t left = tile.depth; left > 0; --left) {
    Float x[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const float* const rows =
          reinterpret_cast<const float*>(lhs) + v * V::kLanes;
      x[v] = v == kLast ? V::LoadMasked(rows, mask) : V::LoadVector(rows);
      V::HoldInRegister(x[v]);
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      // With one vector the multiply-add broadcasts its memory operand.
      const Float y = kVectors == 1 ? V::SetFloat(*rhs.Column(c))
                                    : Op::LoadRhs(rhs.Column(c), rhs.kDotBytes);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[v][c] = Op::MultiplyAdd(acc[v][c], x[v], y);
        V::HoldInRegister(acc[v][c]);
      }
    }
    lhs += lhs_stride;
    rhs.Advance();
  }
  if (tile.row_bias != nullptr) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const float* const p = tile.row_bias + v * V::kLanes;
      const Float bias = v == kLast ? V::LoadMasked(p, mask) : V::LoadVector(p);
      RUY_LIKE_UNROLL
      for (int c = 0; c < kCols; ++c) acc[v][c] = V::AddFloat(acc[v][c], bias);
    }
  } else if (tile.col_bias != nullptr) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const Float bias = V::SetFloat(tile.col_bias[c]);
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[v][c] = V::AddFloat(acc[v][c], bias);
      }
    }
  }
  if (tile.is_bounded) {
    const FloatOutput<V> output(tile.bounds);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[v][c] = output.Apply(acc[v][c]);
    }
  }
  float* to = tile.to;
  const ptrdiff_t to_stride = tile.to_stride;
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      V::Store(to + v * V::kLanes, acc[v][c],
               v == kLast ? last_rows : V::kLanes);
    }
    to += to_stride;
  }
}

// RunSmallTile() for 1, 2, 4, 8 and 16 columns, at most kMostCols.
template <class Op, bool kByDepth, int kVectors>
struct SmallTiles {
  static constexpr bool k512 = Op::Simd::kLanes == 16;
  static constexpr int kMostCols =
      kVectors == 1 ? (k512 ? 16 : 8) : (k512 ? 8 : 4);
  template <int kCols>
  static constexpr SmallTileFn* kOf =
      RunSmallTile<Op, kByDepth, kVectors,
                   kCols <= kMostCols ? kCols : kMostCols>;
  static constexpr SmallTileFn* kFns[] = {kOf<1>, kOf<2>, kOf<4>, kOf<8>,
                                          kOf<16>};
};

template <class Op, bool kByDepth>
struct SmallInPlaceKernel {
  typedef typename Op::Simd V;
  static constexpr int kLanes = V::kLanes;
  static constexpr int kMaxVectors = 3;
  static constexpr int kMaxSize = 64;

  static constexpr Kernel Entry(const char* name) {
    Kernel kernel = {};
    kernel.name = name;
    kernel.family = Family::kF32;
    kernel.kind = KernelKind::kBothInPlace;
    kernel.lhs = {Scalar::kF32, /*in_place=*/true, 0, /*dot_width=*/1, 0};
    kernel.lhs.by_depth = true;
    kernel.rhs = {Scalar::kF32, /*in_place=*/true, 0, /*dot_width=*/1, 0};
    kernel.rhs.by_depth = kByDepth;
    kernel.tile_rows = kMaxVectors * kLanes;
    kernel.tile_cols = kernel.max_cols = kernel.max_rows = kMaxSize;
    kernel.row_granularity = kLanes;
    kernel.macs_per_ns = 5 * kLanes;  // as the panel kernel's
    kernel.run = Run;
    return kernel;
  }

  RUY_LIKE_HOT_KERNEL static void Run(const KernelArgs* args) {
    const EpilogueArgs& e = *args->epilogue;
    const bool finishes = !e.needs_general && e.dst_row_stride == 1;
    const float* const bias =
        finishes ? static_cast<const float*>(e.bias) : nullptr;
    const ptrdiff_t rhs_col_bytes = kByDepth
                                        ? static_cast<ptrdiff_t>(sizeof(float))
                                        : args->rhs_stride_bytes;
    alignas(64) float sums[kMaxSums];
    SmallTile tile;
    tile.lhs = static_cast<const char*>(args->lhs);
    tile.lhs_stride = args->lhs_stride_bytes;
    tile.rhs.stride_bytes = args->rhs_stride_bytes;
    tile.depth = args->depth;
    tile.row_bias = tile.col_bias = nullptr;
    tile.bounds = FloatBounds::Of(e);
    tile.is_bounded = finishes && !FloatBounds::AreNone(e);
    for (ptrdiff_t row = 0; row < args->rows; row += tile.rows) {
      const ptrdiff_t left = args->rows - row;
      const int vectors = VectorsOfNextTile(left);
      tile.rows = Min(left, vectors * kLanes);
      tile.rhs.data = args->rhs;
      int log_cols = kMostLogCols[vectors - 1];
      for (ptrdiff_t col = 0; col < args->cols;) {
        while ((ptrdiff_t{1} << log_cols) > args->cols - col) --log_cols;
        const int cols = 1 << log_cols;
        if (bias != nullptr) {
          (e.channels_are_rows ? tile.row_bias : tile.col_bias) =
              bias + (e.channels_are_rows ? row : col);
        }
        if (finishes) {
          tile.to = static_cast<float*>(e.dst) + row + col * e.dst_col_stride;
          tile.to_stride = e.dst_col_stride;
        } else {
          tile.to = sums;
          tile.to_stride = vectors * kLanes;
        }
        kFns[vectors - 1][log_cols](tile);
        if (!finishes) {
          StoreSums({sums, vectors * kLanes, tile.rows, cols, row, col}, e);
        }
        tile.rhs.data =
            static_cast<const char*>(tile.rhs.data) + cols * rhs_col_bytes;
        col += cols;
      }
      tile.lhs += tile.rows * static_cast<ptrdiff_t>(sizeof(float));
    }
  }

 private:
  template <int kVectors>
  using Tiles = SmallTiles<Op, kByDepth, kVectors>;
  static constexpr int Log2(int n) { return n == 1 ? 0 : 1 + Log2(n / 2); }
  static constexpr SmallTileFn* const* kFns[kMaxVectors] = {
      Tiles<1>::kFns, Tiles<2>::kFns, Tiles<3>::kFns};
  static constexpr int kMostLogCols[kMaxVectors] = {Log2(Tiles<1>::kMostCols),
                                                    Log2(Tiles<2>::kMostCols),
                                                    Log2(Tiles<3>::kMostCols)};
  static constexpr int kMaxSums = kMaxVectors * kLanes * Tiles<3>::kMostCols;

  // Not inlined: it would take registers from calls that finish in registers.
  static RUY_LIKE_NOINLINE void StoreSums(const SpilledTile<float>& tile,
                                          const EpilogueArgs& e) {
    StoreTile<typename V::Base>(tile, e);
  }

  // kMaxVectors, unless that would leave a single one.
  static RUY_LIKE_ALWAYS_INLINE int VectorsOfNextTile(ptrdiff_t rows) {
    const ptrdiff_t vectors = (rows + kLanes - 1) / kLanes;
    return vectors == kMaxVectors + 1 ? 2 : Min(vectors, kMaxVectors);
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_SMALL_IN_PLACE_H_
