// Back-end: the tiles of narrow_by_level_bytes.h: a few rows of bytes over all
// of depth, whose sums stay in registers.
//
// If levels lie close to each other in memory, reading a tile of rows over all
// levels is as fast as any other order, and saves loading and storing sums.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_TILES_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_TILES_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Levels of a depth group; also the vectors of sums for one vector of rows. A
// depth group of a rhs column has 32 bits.
template <class Op>
constexpr int kDepthGroup = Op::kStep / Op::Simd::kLanes;

// A depth group whose first `levels` elements are 1, the others 0.
template <class Op>
constexpr int32_t DepthGroupOfOnes(int levels) {
  constexpr int kBits = 32 / kDepthGroup<Op>;
  return (kBits == 8 ? 0x01010101 : 0x00010001) >>
         kBits * (kDepthGroup<Op> - levels);
}

// Whether the operation takes the packed rhs with its top bits flipped.
template <class Op>
constexpr bool kFlipsRhs = false;

// A depth group of the packed rhs in the form that the operation multiplies;
// levels from `levels` on are 0.
template <class Op>
RUY_LIKE_ALWAYS_INLINE int32_t RhsDepthGroup(int32_t packed, int levels) {
  if constexpr (!kFlipsRhs<Op>) return packed;
  return packed ^ (DepthGroupOfOnes<Op>(levels) << 7);
}

// kTiles tiles of rows over all of depth; their sums stay in registers.
struct TilesArgs {
  const char* lhs;
  ptrdiff_t lhs_stride;  // bytes from one level to the next
  const char* rhs;       // the first column
  ptrdiff_t rhs_stride;  // bytes from one column to the next
  ptrdiff_t depth;
  int rows;       // if there is one tile, it may be an incomplete one
  int32_t* sums;  // of the first column, tiles one after the other
};

typedef void TilesFn(const TilesArgs& args);

// The sums of a few tiles. kSums: the last of kCols columns is one of ones, for
// the lhs's row sums.
template <class Op, int kCols, int kTiles, bool kSums>
struct TileSums {
  typedef typename Op::Simd V;
  typedef typename V::Int Int;
  typedef typename Op::Lhs Lhs;
  static constexpr int kLevels = kDepthGroup<Op>;

  Int acc[kCols][kTiles][kLevels];

  RUY_LIKE_ALWAYS_INLINE void Clear() {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kCols * kTiles * kLevels; ++i) {
      acc[i / kLevels / kTiles][i / kLevels % kTiles][i % kLevels] = V::Zero();
    }
  }

  // Adds a depth group of `levels` levels; missing ones repeat the first one,
  // times 0. kAllRows: whole tiles; else the first `rows` rows of a single one.
  template <bool kAllRows>
  RUY_LIKE_ALWAYS_INLINE void Add(const char* lhs, ptrdiff_t stride, int rows,
                                  const char* rhs, ptrdiff_t rhs_stride,
                                  int levels) {
    Int b[kCols];
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      int32_t elements = DepthGroupOfOnes<Op>(levels);
      if (!kSums || c < kCols - 1) {
        __builtin_memcpy(&elements, rhs + c * rhs_stride, sizeof(elements));
        elements = RhsDepthGroup<Op>(elements, levels);
      }
      b[c] = V::InRegister(V::SetLevels(elements));
    }
    RUY_LIKE_UNROLL
    for (int t = 0; t < kTiles; ++t) {
      Int x[kLevels];
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels; ++i) {
        const Lhs* const p =
            reinterpret_cast<const Lhs*>(lhs + (i < levels ? i : 0) * stride) +
            t * Op::kStep;
        x[i] = kAllRows ? Op::LoadLhs(p) : Op::LoadFirstLhs(p, rows);
      }
      V::InterleaveLevels(x);
      RUY_LIKE_UNROLL
      for (int i = 0; i < kLevels * kCols; ++i) {
        Int& sum = acc[i / kLevels][t][i % kLevels];
        sum = Op::MultiplyAdd(sum, x[i % kLevels], b[i / kLevels]);
        V::HoldInRegister(sum);
      }
    }
  }

  template <bool kAllRows>
  RUY_LIKE_ALWAYS_INLINE void AddAll(const TilesArgs& args) {
    const ptrdiff_t stride = args.lhs_stride;
    const ptrdiff_t rhs_stride = args.rhs_stride;
    const int rows = args.rows;
    const char* lhs = args.lhs;
    const char* rhs = args.rhs;
    ptrdiff_t left = args.depth;
    for (; left >= kLevels; left -= kLevels) {
      Add<kAllRows>(lhs, stride, rows, rhs, rhs_stride, kLevels);
      lhs += kLevels * stride;
      rhs += sizeof(int32_t);
    }
    if (left > 0) {
      Add<kAllRows>(lhs, stride, rows, rhs, rhs_stride, static_cast<int>(left));
    }
  }

  RUY_LIKE_ALWAYS_INLINE void Store(int32_t* sums) const {
    RUY_LIKE_UNROLL
    for (int i = 0; i < kCols * kTiles * kLevels; ++i) {
      V::StoreAligned(
          sums + i * V::kLanes,
          acc[i / kLevels / kTiles][i / kLevels % kTiles][i % kLevels]);
    }
  }
};

template <class Op, int kCols, int kTiles, bool kSums>
void MultiplyTiles(const TilesArgs& args) {
  TileSums<Op, kCols, kTiles, kSums> sums;
  sums.Clear();
  if (kTiles > 1 || args.rows == Op::kStep) {
    sums.template AddAll<true>(args);
  } else {
    sums.template AddAll<false>(args);
  }
  sums.Store(args.sums);
}

// The most tiles whose sums fit the registers.
template <class Op, int kCols>
constexpr int kMostTiles =
    (Op::Simd::kLanes == 8 ? 8 : 16) / kDepthGroup<Op> / kCols;
// The tiles of kCols columns: as many as possible, half as many, ... one.
template <class Op, int kCols, bool kSums>
constexpr TilesFn* TilesOf(int tiles) {
  constexpr int kMost = kMostTiles<Op, kCols>;
  if (tiles == kMost) return MultiplyTiles<Op, kCols, kMost, kSums>;
  if constexpr (kMost >= 4) {
    if (tiles == kMost / 2) return MultiplyTiles<Op, kCols, kMost / 2, kSums>;
  }
  if constexpr (kMost >= 8) {
    if (tiles == kMost / 4) return MultiplyTiles<Op, kCols, kMost / 4, kSums>;
  }
  return MultiplyTiles<Op, kCols, 1, kSums>;
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_BY_LEVEL_TILES_H_
