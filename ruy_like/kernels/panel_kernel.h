// Back-end: the kernel over packed panels, one source for all x86 paths.
//
// Included by the per-ISA files, which instantiate PanelKernel<> for their SIMD
// width and multiply instructions and list the result in their table; called by
// the middle-end through that table with whole blocks (kernels/kernel.h). The
// lhs is packed, the rhs packed or in place (panel_rhs.h); narrow kernels,
// which read the lhs in place, are elsewhere.
//
// ## Register tile
//
// A lhs panel is as wide as a vector has 32-bit lanes: one row of dst per lane.
// A tile is up to kMaxVectors lhs panels by up to kRhsWidth columns, each of
// its accumulators one register. Per step of kGroup depth levels:
//
//                  rhs panel:  r0   r1   ...  r7     one 32-bit group of a
//                              |    |         |      column, broadcast
//     lhs panel p:     l0  ->  a00  a01  ...  a07
//     lhs panel p + 1: l1  ->  a10  a11  ...  a17
//     lhs panel p + 2: l2  ->  a20  a21  ...  a27
//
//    512 bits: 3 x 8 = 24 accumulators + 3 lhs + 1 rhs + 1 product = 29 of 32
//    256 bits: 2 x 6 = 12 accumulators + 2 lhs + 1 rhs + 1 product = 16 of 16
//
// A rhs panel stays in the L1 cache while the lhs panels of the block stream by
// from L2. A lhs panel that is left alone takes two rhs panels at once: with
// one it would have too few accumulators to hide the latency of the
// multiplication, and too many loads. Each element of dst is summed in order of
// depth in one accumulator, so that a float result depends on nothing but its
// own row and column.
//
// Of the multiply instruction's register-loop rate, a 192 x 64 block of depth
// 1024 with the whole epilogue reaches 94% (vpdpbusd), 96% (vpdpwssd), 97%
// (vfmadd) on a Zen 5. vpmaddwd with its vpaddd runs at 89% of vpmaddwd alone,
// even on registers: panel_sums.h; what an int8 lhs costs there is in
// panel_widen.h.
// Rejected: prefetching the lhs 1 KiB ahead in software (no clear change).
//
// ## Saved accumulators
//
// Between passes over depth, tiles lie in `accum` in the order in which they
// are visited, each one column-major, as the epilogue wants it.
#ifndef RUY_LIKE_KERNELS_PANEL_KERNEL_H_
#define RUY_LIKE_KERNELS_PANEL_KERNEL_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/always_inline.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/panel_ops.h"
#include "ruy_like/kernels/panel_rhs.h"
#include "ruy_like/kernels/panel_sums.h"
#include "ruy_like/kernels/unroll.h"

namespace ruy_like {
namespace kernels {
namespace {

// ## Tiles

struct TileArgs {
  const void* lhs;             // first of the tile's lhs panels
  ptrdiff_t lhs_stride_bytes;  // from one to the next
  RhsColumns rhs;
  ptrdiff_t steps;    // depth / kGroup
  const void* start;  // saved accumulators, or null to start from 0
  void* result;       // column-major, columns one below the other
  // Where a tile that keeps its lhs stores the vectors that it loads.
  void* kept;
  ptrdiff_t kept_stride_bytes;  // from one lhs panel to the next
};

typedef void TileFn(const TileArgs& args);

template <class Op, class RhsSource, int kVectors, int kCols,
          bool kKeepsLhs = false>
void RunTile(const TileArgs& args) {
  typedef typename Op::Vector Vector;
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Accum Accum;
  typedef typename Op::Simd V;
  Vector acc[kCols][kVectors];
  const Accum* start = static_cast<const Accum*>(args.start);
  if (start == nullptr) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[c][v] = Op::Zero();
    }
  } else {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[c][v] = V::LoadAligned(start + (c * kVectors + v) * V::kLanes);
      }
    }
  }
  const char* lhs = static_cast<const char*>(args.lhs);
  const ptrdiff_t lhs_stride = args.lhs_stride_bytes;
  typename RhsSource::template Cursor<kCols> rhs(args.rhs);
  char* kept = kKeepsLhs ? static_cast<char*>(args.kept) : nullptr;
  RUY_LIKE_UNROLL_STEPS
  for (ptrdiff_t step = args.steps; step > 0; --step) {
    Vector lhs_vectors[kVectors];
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      lhs_vectors[v] =
          Op::LoadLhs(reinterpret_cast<const Lhs*>(lhs + v * lhs_stride));
      if constexpr (kKeepsLhs) {
        V::StoreAligned(
            reinterpret_cast<Accum*>(kept + v * args.kept_stride_bytes),
            lhs_vectors[v]);
      }
    }
    if constexpr (kKeepsLhs) kept += sizeof(Vector);
    StepSums<Op, kCols, kVectors> sums(acc);
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      const Vector rhs_vector = Op::LoadRhs(rhs.Column(c));
      RUY_LIKE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        sums.MultiplyAdd(c, v, lhs_vectors[v], rhs_vector);
      }
    }
    RUY_LIKE_UNROLL
    for (int i = Op::kAddLag; i > 0; --i) sums.AddLast(i);
    lhs += V::kLanes * Op::kGroup * sizeof(Lhs);
    rhs.Advance();
  }
  Accum* result = static_cast<Accum*>(args.result);
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    RUY_LIKE_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      V::StoreAligned(result + (c * kVectors + v) * V::kLanes, acc[c][v]);
    }
  }
}

template <int... kI>
struct Indices {};
template <int kN, int... kI>
struct MakeIndices : MakeIndices<kN - 1, kN - 1, kI...> {};
template <int... kI>
struct MakeIndices<0, kI...> {
  typedef Indices<kI...> Type;
};

// RunTile() for kVectors lhs panels and every number of columns from 1 to
// kMaxCols.
template <class Op, class RhsSource, int kVectors, class ColumnIndices>
struct TilesOfHeight;
template <class Op, class RhsSource, int kVectors, int... kI>
struct TilesOfHeight<Op, RhsSource, kVectors, Indices<kI...>> {
  static constexpr TileFn* kTiles[] = {
      RunTile<Op, RhsSource, kVectors, kI + 1>...};
};

// The same for every height up to kMaxVectors.
template <class Op, class RhsSource, int kMaxCols, class HeightIndices>
struct TileTable;
template <class Op, class RhsSource, int kMaxCols, int... kI>
struct TileTable<Op, RhsSource, kMaxCols, Indices<kI...>> {
  static constexpr TileFn* const* kTiles[] = {
      TilesOfHeight<Op, RhsSource, kI + 1,
                    typename MakeIndices<kMaxCols>::Type>::kTiles...};
};

// ## Blocks

template <class Op, int kMaxVectors, int kRhsWidth,
          class RhsSource = PackedRhs<Op, kRhsWidth>>
struct PanelKernel {
  typedef typename Op::Accum Accum;
  static constexpr int kLanes = Op::Simd::kLanes;
  static constexpr int kTileRows = kMaxVectors * kLanes;
  static constexpr int kTileCols = kRhsWidth;
  // To store floats transposed takes as long as the product of some 20 levels.
  static constexpr int kMinRowMajorDepth = 256;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_lhs, PackFn* pack_rhs) {
    return {name,
            family,
            {kScalarOf<typename Op::Lhs>, /*in_place=*/false, kLanes,
             Op::kGroup, /*depth_multiple=*/Op::kGroup},
            RhsSource::kFormat,
            kTileRows,
            kTileCols,
            /*max_cols=*/0,
            RhsSource::kFormat.in_place ? kMinRowMajorDepth : kNotRowMajor,
            // Two instructions a cycle at 2.5 GHz.
            /*macs_per_ns=*/5 * kLanes * Op::kGroup,
            pack_lhs,
            pack_rhs,
            Run};
  }

  static void Run(const KernelArgs* args) {
    const ptrdiff_t vectors = (args->rows + kLanes - 1) / kLanes;
    const ptrdiff_t others = vectors - LeftAlone(vectors);
    if (others != 0) RunPanels<kMaxVectors, kRhsWidth>(*args, 0, others);
    if (others != vectors) RunPanels<1, 2 * kRhsWidth>(*args, others, 1);
  }

 protected:
  // How many of `vectors` lhs panels, the last one or none, make no tile with
  // others: an odd number can be 3 + 2 + 2 + ..., but not 2 + 2 + ....
  static RUY_LIKE_ALWAYS_INLINE int LeftAlone(ptrdiff_t vectors) {
    return vectors == 1 || (kMaxVectors == 2 && vectors % 2 == 1);
  }

  // How many of `left` lhs panels the next tile takes: as many as there are
  // registers for, unless that left one over alone.
  template <int kMost>
  static RUY_LIKE_ALWAYS_INLINE int VectorsOfNextTile(ptrdiff_t left) {
    if (left <= kMost) return static_cast<int>(left);
    return left == kMost + 1 ? (kMost + 1) / 2 : kMost;
  }

  // The lhs panels from first_vector on, in tiles of up to kMostVectors x
  // kMostCols.
  template <int kMostVectors, int kMostCols>
  static void RunPanels(const KernelArgs& args, ptrdiff_t first_vector,
                        ptrdiff_t vectors) {
    typedef TileTable<Op, RhsSource, kMostCols,
                      typename MakeIndices<kMostVectors>::Type>
        Table;
    const ptrdiff_t padded_cols =
        (args.cols + kRhsWidth - 1) / kRhsWidth * kRhsWidth;
    const char* lhs = static_cast<const char*>(args.lhs) +
                      first_vector * args.lhs_stride_bytes;
    Accum* saved = static_cast<Accum*>(args.accum);
    if (saved != nullptr) saved += first_vector * kLanes * padded_cols;
    alignas(64) Accum spilled[kMostVectors * kLanes * kMostCols];
    TileArgs tile;
    tile.lhs_stride_bytes = args.lhs_stride_bytes;
    tile.steps = args.depth / Op::kGroup;
    for (ptrdiff_t col = 0; col < args.cols; col += kMostCols) {
      const ptrdiff_t cols_left = args.cols - col;
      const int cols =
          cols_left < kMostCols ? static_cast<int>(cols_left) : kMostCols;
      tile.lhs = lhs;
      tile.rhs = RhsSource::Columns(args, col);
      for (ptrdiff_t vector = 0; vector < vectors;) {
        const int tile_vectors =
            VectorsOfNextTile<kMostVectors>(vectors - vector);
        tile.start = args.first_pass ? nullptr : saved;
        tile.result = args.last_pass ? spilled : saved;
        Table::kTiles[tile_vectors - 1][cols - 1](tile);
        if (args.last_pass) {
          const ptrdiff_t row = (first_vector + vector) * kLanes;
          const ptrdiff_t rows_left = args.rows - row;
          const int tile_rows = tile_vectors * kLanes;
          Op::Store(
              spilled, tile_rows,
              rows_left < tile_rows ? static_cast<int>(rows_left) : tile_rows,
              cols, row, col, *args.epilogue);
        }
        if (saved != nullptr) saved += tile_vectors * kLanes * cols;
        tile.lhs = static_cast<const char*>(tile.lhs) +
                   tile_vectors * args.lhs_stride_bytes;
        vector += tile_vectors;
      }
    }
  }
};

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_PANEL_KERNEL_H_
