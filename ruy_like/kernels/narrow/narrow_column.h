// Back-end: one column of a narrow integer kernel, the lhs read in place.
//
// Used by NarrowIntKernel<> (narrow_int.h), with its operations, where there is
// but one column and reading the lhs is all that takes time. A tile is a row of
// each of narrow_row_groups.h's streams. It does not know the epilogue.
//
// Each instruction more for a line of memory counts, though far fewer than the
// processor could run meanwhile; as if its window were what limits the lines in
// flight. Hence steps of two lines where there are lhs sums to make, and no
// software prefetch.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_row_groups.h"
#include "ruy_like/kernels/simd/loops.h"
namespace ruy_like {
namespace kernels {
namespace {

// Tiles for RowGroupRunner<>. kSums: there is an rhs zero point, and the sums
// of the rows are needed.
template <class Op, bool kSums>
struct ColumnTiles {
  typedef typename Op::Simd V;
  typedef typename Op::Vector Vector;
  typedef typename Op::Lhs Lhs;
  typedef typename Op::Rhs Rhs;
  static constexpr int kLines = 2;  // of a row at once

  struct Accumulators {
    Vector products[kStreams], sums[kStreams];

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

  const KernelArgs& args;

  __attribute__((noinline)) void Run(const TileRange& range,
                                     int32_t* sums) const {
    const char* rows[kStreams];
    RUY_LIKE_UNROLL
    for (int r = 0; r < kStreams; ++r) rows[r] = range.Row(args, r);
    for (int i = range.begin; i < range.end; ++i, ++sums) {
      alignas(16) int32_t results[kStreams];
      RunTile(rows, results);
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        sums[r * range.groups->rows] = results[r];
        rows[r] += args.lhs_stride_bytes;
      }
    }
  }

 private:
  RUY_LIKE_ALWAYS_INLINE void RunTile(const char* const* rows,
                                      int32_t* results) const {
    const Rhs* const rhs = static_cast<const Rhs*>(args.rhs);
    const auto row = [rows](int r) {
      return reinterpret_cast<const Lhs*>(rows[r]);
    };
    Accumulators acc;
    RUY_LIKE_UNROLL
    for (int r = 0; r < kStreams; ++r) {
      acc.products[r] = acc.sums[r] = V::Zero();
    }
    ptrdiff_t k = 0;
    for (; k + kLines * Op::kStep <= args.depth; k += kLines * Op::kStep) {
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        RUY_LIKE_UNROLL
        for (int line = 0; line < kLines; ++line) {
          const ptrdiff_t level = k + line * Op::kStep;
          acc.Step(r, Op::LoadLhs(row(r) + level), V::Load(rhs + level));
        }
      }
    }
    for (; k < args.depth; k += Op::kStep) {
      const ptrdiff_t left = args.depth - k;
      RUY_LIKE_UNROLL
      for (int r = 0; r < kStreams; ++r) {
        acc.Step(r,
                 left >= Op::kStep
                     ? Op::LoadLhs(row(r) + k)
                     : Op::LoadFirstLhs(row(r) + k, static_cast<int>(left)),
                 V::Load(rhs + k));
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
void RunColumn(const KernelArgs& args) {
  typedef typename Op::Simd V;
  if (args.epilogue->rhs_zero_point != 0) {
    ColumnTiles<Op, true> tiles = {args};
    RowGroupRunner<V, ColumnTiles<Op, true>>(args, &tiles).Run();
  } else {
    ColumnTiles<Op, false> tiles = {args};
    RowGroupRunner<V, ColumnTiles<Op, false>>(args, &tiles).Run();
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_H_
