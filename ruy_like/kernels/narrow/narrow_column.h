// Back-end: one column of a narrow integer kernel, the lhs read in place.
//
// Used by NarrowIntKernel<> (narrow_int.h), with its operations, for a single
// column, where reading the lhs bounds the time. A tile is a row of each of
// narrow_row_streams.h's streams. It does not know the epilogue.
//
// The column is packed, padded with zeros to whole steps, or in place too
// (narrow_column_in_place_neon.h).
//
// Every instruction per cache line costs time, although the core could run far
// more of them meanwhile: perhaps its reorder window limits the lines in
// flight. Hence two vectors of a row at once, and no software prefetch.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_row_streams.h"
#include "ruy_like/simd/loops.h"
namespace ruy_like::kernels {
namespace {

// The sums of a tile, and one step of them.
template <class Op, bool kSums>
struct ColumnSteps {
  typedef typename Op::Simd V;
  typedef typename Op::Vector Vector;

  Vector products[kStreams], sums[kStreams];

  RUY_LIKE_ALWAYS_INLINE void Clear() {
    RUY_LIKE_UNROLL
    for (int r = 0; r < kStreams; ++r) products[r] = sums[r] = V::Zero();
  }
  RUY_LIKE_ALWAYS_INLINE void Step(int r, Vector lhs, Vector rhs) {
    V::HoldInRegister(lhs);
    products[r] = Op::MultiplyAdd(products[r], lhs, rhs);
    V::HoldInRegister(products[r]);
    if constexpr (kSums) {
      sums[r] = Op::MultiplyAdd(sums[r], lhs, Op::One());
      V::HoldInRegister(sums[r]);
    }
  }
};

// The main loop over them; narrow_column_neon.h specialises it.
template <class Op, bool kSums>
struct ColumnLoop : ColumnSteps<Op, kSums> {
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Rhs Rhs;
  static constexpr int kRowVectors = 2;  // vectors of a row at once

  // Adds whole steps from level 0 on; returns the number of levels.
  RUY_LIKE_ALWAYS_INLINE ptrdiff_t AddLevels(const char* const* rows,
                                             const Rhs* rhs, ptrdiff_t depth) {
    ptrdiff_t k = 0;
    for (; k + kRowVectors * Op::kStep <= depth; k += kRowVectors * Op::kStep) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        RUY_LIKE_UNROLL
        for (int v = 0; v < kRowVectors; ++v) {
          const ptrdiff_t level = k + v * Op::kStep;
          this->Step(r,
                     Op::LoadLhs(reinterpret_cast<const Lhs*>(rows[r]) + level),
                     Op::Simd::Load(rhs + level));
        }
      }
    }
    return k;
  }
};

// Tiles for RowStreamRunner<>. kSums: there is an rhs zero point, and the sums
// of the rows are needed.
template <class Op, bool kSums>
struct ColumnTiles {
  typedef typename Op::Simd V;
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Rhs Rhs;

  const KernelArgs& args;
  // The levels after the last whole step, padded with zeros to one.
  const Rhs* rest;

  RUY_LIKE_NOINLINE void Run(const TileRange& range, int32_t* sums) const {
    const char* rows[kStreams];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kStreams; ++r) rows[r] = range.Row(args, r);
    // Copied: compilers would read them again after each store.
    const ptrdiff_t segment_rows = range.segments->rows;
    const ptrdiff_t stride = args.lhs_stride_bytes;
    const ptrdiff_t depth = args.depth;
    const Rhs* const rhs = static_cast<const Rhs*>(args.rhs);
    for (int32_t* const end = sums + (range.end - range.begin); sums != end;
         ++sums) {
      alignas(16) int32_t results[kStreams];
      RunTile(rows, rhs, depth, results);
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        sums[r * segment_rows] = results[r];
        rows[r] += stride;
      }
    }
  }

 private:
  RUY_LIKE_ALWAYS_INLINE void RunTile(const char* const* rows, const Rhs* rhs,
                                      ptrdiff_t depth, int32_t* results) const {
    ColumnLoop<Op, kSums> acc;
    acc.Clear();
    ptrdiff_t k = acc.AddLevels(rows, rhs, depth);
    for (; k < depth; k += Op::kStep) {
      const ptrdiff_t left = depth - k;
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        const Lhs* const lhs = reinterpret_cast<const Lhs*>(rows[r]) + k;
        acc.Step(r,
                 left >= Op::kStep
                     ? Op::LoadLhs(lhs)
                     : Op::LoadFirstLhs(lhs, static_cast<int>(left)),
                 V::Load(left >= Op::kStep ? rhs + k : rest));
      }
    }
    if constexpr (kSums) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        acc.products[r] =
            V::Sub(acc.products[r],
                   V::Mul(acc.sums[r], V::Set(args.epilogue->rhs_zero_point)));
      }
    }
    V::StoreLaneSums(results, acc.products[0], acc.products[1], acc.products[2],
                     acc.products[3]);
  }
};

// A block of one column.
template <class Op>
void RunColumn(const KernelArgs& args, const typename Op::Rhs* rest) {
  typedef typename Op::Simd V;
  if (args.epilogue->rhs_zero_point != 0) {
    ColumnTiles<Op, true> tiles = {args, rest};
    RowStreamRunner<V, ColumnTiles<Op, true>>(args, &tiles).Run();
  } else {
    ColumnTiles<Op, false> tiles = {args, rest};
    RowStreamRunner<V, ColumnTiles<Op, false>>(args, &tiles).Run();
  }
}

template <class Op>
void RunPackedColumn(const KernelArgs& args) {
  RunColumn<Op>(args, static_cast<const typename Op::Rhs*>(args.rhs) +
                          args.depth / Op::kStep * Op::kStep);
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_H_
