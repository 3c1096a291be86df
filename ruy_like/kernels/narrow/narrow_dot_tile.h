// Back-end: a tile of narrow_dots.h: kDotRows rows by a few columns, lanes
// along depth.
//
// Used by narrow_dots.h, with its operations (narrow_ops.h). Does not know the
// epilogue.
//
// Reading the lhs bounds a single column. Every instruction per cache line then
// costs time, although the core could run far more of them meanwhile: perhaps
// its reorder window limits the lines in flight. Hence two vectors of a row at
// once, and no software prefetch.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_DOT_TILE_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_DOT_TILE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Rows of a tile: each vector of the rhs is used for all of them.
constexpr int kDotRows = 4;

// Steps after which sums in 16-bit lanes move to 32-bit ones: a lane holds 128
// 8-bit elements, 128 * 255 < 2^15.
constexpr int kStepsPerFlush = 128;

template <typename Accum>
struct DotArgs {
  const char* rhs;       // the first of the tile's columns
  ptrdiff_t rhs_stride;  // bytes from one to the next
  // The same of the elements after the last whole step, padded with zeros to
  // one.
  const char* rest;
  ptrdiff_t rest_stride;
  ptrdiff_t depth;
  const char* prefetch[kDotRows];  // addresses ahead of the rows
  Accum* result;                   // column-major; four rows are stored
  ptrdiff_t result_stride;         // elements from one column to the next
  Accum* sums;                     // of the rows, when wanted
  int32_t rhs_zero_point;          // of a single column
};

// Rows of a tile whose accumulators fit the registers: four columns of floats
// have more vectors than those of integers.
template <class Op, int kCols>
constexpr int kTileRows =
    kCols* kDotRows > Op::Simd::kDotVectors ? 2 : kDotRows;

// The accumulators of a tile, and one step of its dot products.
template <class Op, int kCols, bool kSums>
struct DotTile {
  typedef typename Op::Vector Vector;
  typedef typename Op::Simd V;
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Rhs Rhs;
  static constexpr int kRows = kTileRows<Op, kCols>;
  static constexpr int kRowVectors = kCols == 1 ? 2 : 1;  // at once
  // Sums of floats have one vector for each of these.
  static constexpr int kParts = Op::kIsFloat ? kRowVectors : 1;

  Vector acc[kParts][kCols][kRows];
  Vector sums[kRows], sums16[kRows];

  RUY_LIKE_ALWAYS_INLINE void Clear() {
    RUY_LIKE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if constexpr (kSums) sums[r] = sums16[r] = Vector{};
      RUY_LIKE_UNROLL
      for (int c = 0; c < kParts * kCols; ++c) {
        acc[c / kCols][c % kCols][r] = Vector{};
      }
    }
  }

  static RUY_LIKE_ALWAYS_INLINE void LoadRhs(const Rhs* const* columns,
                                             ptrdiff_t k, Vector (&y)[kCols]) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      y[c] = Op::LoadRhs(columns[c] + k);
      // Held: compilers would load it anew for each row.
      if constexpr (Op::kIsFloat && kCols > 1) V::HoldInRegister(y[c]);
    }
  }

  // Adds row r's products; called for one row after the other, so that one
  // register holds the lhs.
  RUY_LIKE_ALWAYS_INLINE void Step(int part, int r, Vector lhs,
                                   const Vector (&y)[kCols]) {
    if constexpr (Op::kIsFloat ? kCols > 1 : kCols == 1) {
      V::HoldInRegister(lhs);
    } else if constexpr (!Op::kIsFloat) {
      V::HoldLoaded(lhs);
    }
    if constexpr (kSums && Op::kSumsIn16) {
      sums16[r] = V::Add16(sums16[r], lhs);
      V::HoldInRegister(sums16[r]);
    } else if constexpr (kSums) {
      sums[r] = Op::MultiplyAdd(sums[r], lhs, Op::One());
      V::HoldInRegister(sums[r]);
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      acc[part][c][r] = Op::MultiplyAdd(acc[part][c][r], lhs, y[c]);
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[part][c][r]);
  }

  // To be called every kStepsPerFlush steps, and at the end.
  RUY_LIKE_ALWAYS_INLINE void FlushSums16() {
    if constexpr (kSums && Op::kSumsIn16) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kRows; ++r) {
        sums[r] = Op::MultiplyAdd(sums[r], sums16[r], Op::One());
        sums16[r] = V::Zero();
      }
    }
  }

  RUY_LIKE_ALWAYS_INLINE void AddParts() {
    RUY_LIKE_UNROLL
    for (int r = 0; kParts > 1 && r < kRows; ++r) {
      if constexpr (kParts > 1) {
        acc[0][0][r] = V::AddFloat(acc[0][0][r], acc[1][0][r]);
      }
    }
  }

  RUY_LIKE_ALWAYS_INLINE void SubtractSums(int32_t rhs_zero_point) {
    RUY_LIKE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      acc[0][0][r] =
          V::Sub(acc[0][0][r], V::Mul(sums[r], V::Set(rhs_zero_point)));
    }
  }
};

// The main loop of a tile. narrow_bytes_neon.h specialises it.
template <class Op, int kCols, bool kSums>
struct DotLoop {
  typedef typename Op::Lhs Lhs;
  typedef DotTile<Op, kCols, kSums> Tile;

  // Adds whole steps from depth 0 on; returns their depth.
  template <int kPrefetched>
  static RUY_LIKE_ALWAYS_INLINE ptrdiff_t
  Run(const Lhs* const* rows, const typename Op::Rhs* const* rhs,
      const DotArgs<typename Op::Accum>& args, Tile* tile) {
    constexpr ptrdiff_t kDepth = Tile::kRowVectors * Op::kStep;
    constexpr ptrdiff_t kStretch = kStepsPerFlush * Op::kStep;
    constexpr int kLocality = Op::kIsFloat ? 2 : 3;
    const Lhs* prefetch[kDotRows];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kPrefetched; ++r) {
      prefetch[r] = reinterpret_cast<const Lhs*>(args.prefetch[r]);
    }
    const ptrdiff_t whole = args.depth / kDepth * kDepth;
    for (ptrdiff_t k = 0; k < whole;) {
      const ptrdiff_t end =
          kSums && Op::kSumsIn16 && whole - k > kStretch ? k + kStretch : whole;
      for (; k < end; k += kDepth) {
        typename Op::Vector y[Tile::kRowVectors][kCols];
        RUY_LIKE_UNROLL
        for (int v = 0; Op::kIsFloat && v < Tile::kRowVectors; ++v) {
          Tile::LoadRhs(rhs, k + v * Op::kStep, y[v]);
        }
        RUY_LIKE_UNROLL
        for (int r = 0; r < Tile::kRows; ++r) {
          RUY_LIKE_UNROLL
          for (int v = 0; v < Tile::kRowVectors; ++v) {
            const ptrdiff_t at = k + v * Op::kStep;
            if constexpr (kPrefetched > 0) {
              if (r < kPrefetched) {
                __builtin_prefetch(prefetch[r] + at, /*rw=*/0, kLocality);
              }
            }
            if constexpr (!Op::kIsFloat) Tile::LoadRhs(rhs, at, y[v]);
            tile->Step(v % Tile::kParts, r, Op::LoadLhs(rows[r] + at), y[v]);
          }
        }
      }
      tile->FlushSums16();
    }
    return whole;
  }
};

// Multiplies a tile. kPrefetched: the number of rows to prefetch. With the
// rows' sums: none of a single column, from whose products rhs_zero_point *
// sums is subtracted here.
template <class Op, int kCols, bool kSums, int kPrefetched>
RUY_LIKE_ALWAYS_INLINE void MultiplyRows(
    const char* const (&tile_rows)[kDotRows],
    const DotArgs<typename Op::Accum>& args) {
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Rhs Rhs;
  typedef DotTile<Op, kCols, kSums> Tile;
  const Lhs* rows[Tile::kRows];
  RUY_LIKE_UNROLL
  for (int r = 0; r < Tile::kRows; ++r) {
    rows[r] = reinterpret_cast<const Lhs*>(tile_rows[r]);
  }
  const Rhs* rhs[kCols];
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    rhs[c] = reinterpret_cast<const Rhs*>(args.rhs + c * args.rhs_stride);
  }
  Tile tile;
  tile.Clear();
  ptrdiff_t k = DotLoop<Op, kCols, kSums>::template Run<kPrefetched>(
      rows, rhs, args, &tile);
  typename Op::Vector y[kCols];
  while (Tile::kRowVectors > 1 && k + Op::kStep <= args.depth) {
    Tile::LoadRhs(rhs, k, y);
    RUY_LIKE_UNROLL
    for (int r = 0; r < Tile::kRows; ++r) {
      tile.Step(0, r, Op::LoadLhs(rows[r] + k), y);
    }
    k += Op::kStep;
  }
  if (k < args.depth) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      y[c] = Op::LoadRhs(
          reinterpret_cast<const Rhs*>(args.rest + c * args.rest_stride));
    }
    const int left = static_cast<int>(args.depth - k);
    RUY_LIKE_UNROLL
    for (int r = 0; r < Tile::kRows; ++r) {
      tile.Step(0, r, Op::LoadFirstLhs(rows[r] + k, left), y);
    }
  }
  tile.FlushSums16();
  tile.AddParts();
  if constexpr (kSums && kPrefetched == 0) {
    tile.SubtractSums(args.rhs_zero_point);
  }
  constexpr int kLast = Tile::kRows - 1;
  RUY_LIKE_UNROLL
  for (int c = 0; c < kCols; ++c) {
    const auto& sums = tile.acc[0][c];
    Op::Simd::StoreLaneSums(args.result + c * args.result_stride, sums[0],
                            sums[1], sums[Min(2, kLast)], sums[kLast]);
  }
  if constexpr (kSums && kPrefetched != 0) {
    Op::Simd::StoreLaneSums(args.sums, tile.sums[0], tile.sums[1], tile.sums[2],
                            tile.sums[3]);
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_DOT_TILE_H_
