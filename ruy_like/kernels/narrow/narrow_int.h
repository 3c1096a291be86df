// Back-end: integer kernels for narrow products, the lhs read in place.
//
// Used by tables_x86.h and the Arm per-ISA files, which list NarrowIntKernel<>
// for their SIMD width and multiply instructions in front of the packed kernels
// of its family; called by run/blocks.cc through that table for products of at
// most kMaxNarrowCols columns. For so few columns packing the lhs would cost
// more than the product: here each of its elements comes from memory once,
// where it lies. It handles depth-contiguous lhs only, and depth that is not
// split into passes.
//
// ## Dot products
//
// Both sides are contiguous along depth, so that lanes run along depth, in
// steps of a vector. A tile is kDotRows rows by up to kMaxVectors columns; when
// the rows' own sums are wanted they take the place of one column:
//
//                     rhs column c:   [k .. k+n) [k+n .. k+2n) ...
//                                         |
//     lhs row r:  [k .. k+n) ...  ->  acc[c][r]    2 or 4 products a lane
//
// The sums over lanes are made for the rows of a tile together, at the end, and
// collected for the epilogue in a tile of kCollectedRows rows:
//
//            c = 0     c = 1   ...   c = cols-1   lhs sums
//     r = 0 |         |         |              |            |
//     ...   |         |         |              |            |
//     15    |         |         |              |            |
//
// The rhs is packed into panels of one column, padded to whole vectors with
// zeros, so that only the last vector of a lhs row needs care. A single column
// is narrow_column.h's, which reads rows in another order. Where a tile has
// more rows than the block, the last one is read again and its result dropped.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_INT_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_INT_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_column.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/simd/loops.h"
namespace ruy_like::kernels {
namespace {

// ## Operations
//
// An operation says what one step of a dot product does: element types, kStep
// depth levels to a vector, loads, the multiplication, and how the lhs is
// summed: by multiplying it by One(), or first by additions in 16-bit lanes
// (kSumsIn16), which are cheaper where multiplications are slow.

// What operations on bytes have in common.
template <class V>
struct NarrowQuads {
  typedef V Simd;
  typedef typename V::Int Vector;
  static constexpr int kStep = 4 * V::kLanes;
  static constexpr bool kSumsIn16 = false;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const void* p) {
    return V::Load(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadFirstLhs(const void* p, int n) {
    return V::LoadFirst(p, n);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector One() { return V::Set(0x01010101); }
};

// The rhs is packed with the other signedness. Dot::Quads(acc, u8, s8) must not
// saturate.
template <class V, class Dot, typename LhsType>
struct NarrowQuadsOp : NarrowQuads<V> {
  typedef typename V::Int Vector;
  typedef LhsType Lhs;
  typedef int8_t Rhs;  // bytes of either kind
  static constexpr Scalar kLhsScalar = internal::ScalarOf<Lhs>();
  static constexpr bool kLhsIsUnsigned = kLhsScalar == Scalar::kU8;
  static constexpr Scalar kRhsScalar =
      kLhsIsUnsigned ? Scalar::kI8 : Scalar::kU8;
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return kLhsIsUnsigned ? Dot::Quads(acc, lhs, rhs)
                          : Dot::Quads(acc, rhs, lhs);
  }
};

// int8, uint8 or int16 times int16, two levels to a lane. An 8-bit lhs is
// widened by its load.
template <class V, class Dot, typename LhsType>
struct NarrowPairsOp {
  typedef V Simd;
  typedef typename V::Int Vector;
  typedef LhsType Lhs;
  typedef int16_t Rhs;
  static constexpr Scalar kLhsScalar = internal::ScalarOf<Lhs>();
  static constexpr Scalar kRhsScalar = Scalar::kI16;
  static constexpr int kStep = 2 * V::kLanes;
  static constexpr bool kSumsIn16 = sizeof(Lhs) == 1;
  static RUY_LIKE_ALWAYS_INLINE Vector LoadLhs(const Lhs* p) {
    return V::LoadTo16(p);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector LoadFirstLhs(const Lhs* p, int n) {
    return V::LoadFirstTo16(p, n);
  }
  static RUY_LIKE_ALWAYS_INLINE Vector One() { return V::Set(0x00010001); }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyAdd(Vector acc, Vector lhs,
                                                   Vector rhs) {
    return Dot::Pairs(acc, lhs, rhs);
  }
};

// ## Tiles

// Rows of a tile: each vector of the rhs is used for all of them.
constexpr int kDotRows = 4;

// Rows whose results are collected for one call of the epilogue.
constexpr int kCollectedRows = 16;

// Steps after which sums in 16-bit lanes move to 32-bit ones: a lane holds 128
// 8-bit elements, 128 * 255 < 2^15.
constexpr int kStepsPerFlush = 128;

struct DotArgs {
  const void* rows[kDotRows];
  const void* rhs;             // the first of the tile's columns
  ptrdiff_t rhs_stride_bytes;  // from one to the next
  ptrdiff_t depth;
  const void* prefetch[kDotRows];  // addresses ahead of rows[]
  int32_t* result;                 // column-major, kCollectedRows apart
  int32_t* sums;                   // of the rows, when wanted
};

typedef void DotFn(const DotArgs& args);

// The accumulators of a tile, and one step of its dot products.
template <class Op, int kCols, bool kSums>
struct DotTile {
  typedef typename Op::Vector Vector;
  typedef typename Op::Simd V;
  typedef typename Op::Rhs Rhs;

  Vector acc[kCols][kDotRows];
  Vector sums[kDotRows];
  Vector sums16[kDotRows];
  const Rhs* rhs[kCols];

  RUY_LIKE_ALWAYS_INLINE void Init(const DotArgs& args) {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      rhs[c] = reinterpret_cast<const Rhs*>(static_cast<const char*>(args.rhs) +
                                            c * args.rhs_stride_bytes);
      RUY_LIKE_UNROLL
      for (int r = 0; r < kDotRows; ++r) acc[c][r] = V::Zero();
    }
    RUY_LIKE_UNROLL
    for (int r = 0; r < kDotRows; ++r) sums[r] = sums16[r] = V::Zero();
  }

  // Adds row r's vector from level k on; called for one row after the other, so
  // that one register holds the lhs.
  RUY_LIKE_ALWAYS_INLINE void Step(int r, Vector lhs, ptrdiff_t k) {
    if (kSums && Op::kSumsIn16) {
      sums16[r] = V::Add16(sums16[r], lhs);
    } else if (kSums) {
      sums[r] = Op::MultiplyAdd(sums[r], lhs, Op::One());
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      acc[c][r] = Op::MultiplyAdd(acc[c][r], lhs, V::Load(rhs[c] + k));
    }
  }

  // Holds row r's accumulators.
  RUY_LIKE_ALWAYS_INLINE void HoldInRegisters(int r) {
    if (kSums && Op::kSumsIn16) {
      V::HoldInRegister(sums16[r]);
    } else if (kSums) {
      V::HoldInRegister(sums[r]);
    }
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) V::HoldInRegister(acc[c][r]);
  }

  // To be called every kStepsPerFlush steps, and at the end.
  RUY_LIKE_ALWAYS_INLINE void FlushSums16() {
    if (!kSums || !Op::kSumsIn16) return;
    RUY_LIKE_UNROLL
    for (int r = 0; r < kDotRows; ++r) {
      sums[r] = Op::MultiplyAdd(sums[r], sums16[r], Op::One());
      sums16[r] = V::Zero();
    }
  }

  RUY_LIKE_ALWAYS_INLINE void Store(const DotArgs& args) const {
    RUY_LIKE_UNROLL
    for (int c = 0; c < kCols; ++c) {
      V::StoreLaneSums(args.result + c * kCollectedRows, acc[c][0], acc[c][1],
                       acc[c][2], acc[c][3]);
    }
    if (kSums) V::StoreLaneSums(args.sums, sums[0], sums[1], sums[2], sums[3]);
  }
};

// kPrefetched: the number of rows to prefetch.
template <class Op, int kCols, bool kSums, int kPrefetched>
void RunDots(const DotArgs& args) {
  typedef typename Op::Lhs Lhs;
  const Lhs* rows[kDotRows];
  const Lhs* prefetch[kDotRows];
  RUY_LIKE_UNROLL
  for (int r = 0; r < kDotRows; ++r) {
    rows[r] = static_cast<const Lhs*>(args.rows[r]);
    prefetch[r] = static_cast<const Lhs*>(args.prefetch[r]);
  }
  DotTile<Op, kCols, kSums> tile;
  tile.Init(args);
  constexpr ptrdiff_t kStretch = kStepsPerFlush * Op::kStep;
  const ptrdiff_t whole = args.depth / Op::kStep * Op::kStep;
  for (ptrdiff_t k = 0; k < whole;) {
    const ptrdiff_t end =
        kSums && Op::kSumsIn16 && whole - k > kStretch ? k + kStretch : whole;
    for (; k < end; k += Op::kStep) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kDotRows; ++r) {
        if (r < kPrefetched) __builtin_prefetch(prefetch[r] + k);
        typename Op::Vector lhs = Op::LoadLhs(rows[r] + k);
        Op::Simd::HoldLoaded(lhs);
        tile.Step(r, lhs, k);
        tile.HoldInRegisters(r);
      }
    }
    tile.FlushSums16();
  }
  const int rest = static_cast<int>(args.depth - whole);
  if (rest > 0) {
    RUY_LIKE_UNROLL
    for (int r = 0; r < kDotRows; ++r) {
      tile.Step(r, Op::LoadFirstLhs(rows[r] + whole, rest), whole);
    }
    tile.FlushSums16();
  }
  tile.Store(args);
}

// RunDots() for 1 .. kMaxCols columns.
template <class Op, bool kSums, int kPrefetched, int kMaxCols>
constexpr auto kDots = TableOf<DotFn, kMaxCols>([](auto cols) {
  return RunDots<Op, cols(), kSums, kPrefetched>;
});

// ## Blocks

template <class Op>
struct NarrowIntKernel {
  typedef typename Op::Simd V;
  static constexpr int kMaxVectors = V::kDotVectors / kDotRows;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, Family family,
                                PackFn* pack_rhs,
                                int max_cols = kMaxNarrowCols) {
    Kernel kernel =
        NarrowInPlaceEntry(name, family, Op::kLhsScalar,
                           {Op::kRhsScalar, /*in_place=*/false, /*width=*/1,
                            /*depth_group=*/Op::kStep < 16 ? Op::kStep : 16,
                            /*depth_multiple=*/Op::kStep},
                           kCollectedRows, pack_rhs, Run);
    kernel.tile_cols = kernel.max_cols = max_cols;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    if (args->cols == 1) {
      RunPackedColumn<Op>(*args);
      return;
    }
    alignas(64) int32_t collected[(kMaxNarrowCols + 1) * kCollectedRows] = {};
    int32_t* const sums = collected + kMaxNarrowCols * kCollectedRows;
    const EpilogueArgs& epilogue = *args->epilogue;
    const int cols = static_cast<int>(args->cols);
    for (ptrdiff_t row = 0; row < args->rows; row += kCollectedRows) {
      const int rows = Min(args->rows - row, kCollectedRows);
      for (int r = 0; r < rows; r += kDotRows) {
        RunRows(*args, row + r, collected + r, sums + r);
      }
      if (epilogue.rhs_zero_point != 0) {
        SubtractRowSums<V>(epilogue.rhs_zero_point, sums, kCollectedRows, cols,
                           kCollectedRows, collected);
      }
      StoreTile<typename V::Base>(
          {collected, kCollectedRows, rows, cols, row, 0}, epilogue);
    }
  }

 private:
  // kDotRows rows from `row` on, and all columns.
  static RUY_LIKE_ALWAYS_INLINE void RunRows(const KernelArgs& args,
                                             ptrdiff_t row, int32_t* result,
                                             int32_t* sums) {
    const bool wants_sums = args.epilogue->rhs_zero_point != 0;
    const int cols = static_cast<int>(args.cols);
    const int first =
        NextColumns(cols, wants_sums ? kMaxVectors - 1 : kMaxVectors);
    const bool one_tile = first == cols;
    DotArgs dots;
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const ptrdiff_t ahead = PrefetchDistance(stride);
    for (int r = 0; r < kDotRows; ++r) {
      const ptrdiff_t present = row + r < args.rows ? row + r : args.rows - 1;
      dots.rows[r] = static_cast<const char*>(args.lhs) + present * stride;
      dots.prefetch[r] = static_cast<const char*>(dots.rows[r]) + ahead;
    }
    dots.rhs = args.rhs;
    dots.rhs_stride_bytes = args.rhs_stride_bytes;
    dots.depth = args.depth;
    dots.result = result;
    dots.sums = sums;
    if (wants_sums) {
      (one_tile ? kDots<Op, true, kDotRows, kMaxVectors - 1>.fns
                : kDots<Op, true, 1, kMaxVectors - 1>.fns)[first - 1](dots);
    } else {
      (one_tile ? kDots<Op, false, kDotRows, kMaxVectors>.fns
                : kDots<Op, false, 1, kMaxVectors>.fns)[first - 1](dots);
    }
    int tile = 1;
    for (int col = first; col < cols; ++tile) {
      const int next = NextColumns(cols - col, kMaxVectors);
      // Prefetches are spread over the tiles, a row each.
      dots.prefetch[0] = tile < kDotRows ? dots.prefetch[tile] : dots.rows[0];
      dots.rhs =
          static_cast<const char*>(args.rhs) + col * args.rhs_stride_bytes;
      dots.result = result + col * kCollectedRows;
      kDots<Op, false, 1, kMaxVectors>.fns[next - 1](dots);
      col += next;
    }
  }

  // Columns of the next tile: the `left` ones are divided evenly.
  static RUY_LIKE_ALWAYS_INLINE int NextColumns(int left, int max) {
    const int tiles = (left + max - 1) / max;
    return (left + tiles - 1) / tiles;
  }

  // Hardware prefetchers stop at a row's end, or at the next 4 KiB, so what
  // lies about 16 KiB ahead is prefetched: the next four rows if they have 4
  // KiB each.
  static RUY_LIKE_ALWAYS_INLINE ptrdiff_t PrefetchDistance(ptrdiff_t stride) {
    constexpr ptrdiff_t kBytes = 16384;
    const ptrdiff_t tile_bytes = kDotRows * stride;
    if (tile_bytes >= 2 * kBytes) return kBytes / kDotRows;
    return tile_bytes >= kBytes
               ? tile_bytes
               : (kBytes + tile_bytes - 1) / tile_bytes * tile_bytes;
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_INT_H_
