// Back-end: the kernel of one column with both operands in place.
//
// Chosen by Arm's per-ISA files, for operations that take the rhs's elements as
// they are (NarrowBytesOp<>); the loop is narrow_column.h's. Packing the column
// took 401 of 5576 instructions for a lhs of 64 x 256 (SDOT). The column's sum,
// which packing makes elsewhere, is made here where the lhs has a zero point.
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_IN_PLACE_NEON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_IN_PLACE_NEON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/narrow/narrow_column.h"
#include "ruy_like/kernels/narrow/narrow_common.h"
#include "ruy_like/kernels/narrow/narrow_row_streams.h"

namespace ruy_like::kernels {
namespace {

template <class Op>
struct ColumnInPlace {
  typedef typename Op::Simd V;
  typedef typename Op::Rhs Rhs;

  // The kernel's line in its path's table.
  static constexpr Kernel Entry(const char* name, Family family) {
    Kernel kernel =
        NarrowInPlaceEntry(name, family, Op::kLhsScalar,
                           {Op::kRhsScalar, /*in_place=*/true, 0, 0, 0},
                           kStreams, /*pack_rhs=*/nullptr, Run);
    kernel.tile_cols = kernel.max_cols = 1;
    return kernel;
  }

  static void Run(const KernelArgs* args) {
    const Rhs* const rhs = static_cast<const Rhs*>(args->rhs);
    const ptrdiff_t whole = args->depth / Op::kStep * Op::kStep;
    alignas(64) int32_t padded[Op::kStep * sizeof(Rhs) / sizeof(int32_t)] = {};
    if (whole < args->depth) {
      V::StoreAligned(
          padded,
          Op::LoadFirstLhs(rhs + whole, static_cast<int>(args->depth - whole)));
    }
    const Rhs* const rest = reinterpret_cast<const Rhs*>(padded);
    const EpilogueArgs& epilogue = *args->epilogue;
    if (epilogue.lhs_zero_point == 0) return RunColumn<Op>(*args, rest);
    // A column in place comes without its sum.
    EpilogueArgs with_sum = epilogue;
    with_sum.zero_point_product = static_cast<int32_t>(
        static_cast<uint32_t>(epilogue.zero_point_product) -
        static_cast<uint32_t>(epilogue.lhs_zero_point) *
            static_cast<uint32_t>(Sum(rhs, whole, args->depth, rest)));
    KernelArgs with_epilogue = *args;
    with_epilogue.epilogue = &with_sum;
    RunColumn<Op>(with_epilogue, rest);
  }

 private:
  static int32_t Sum(const Rhs* rhs, ptrdiff_t whole, ptrdiff_t depth,
                     const Rhs* rest) {
    typename Op::Vector sum = V::Zero();
    for (ptrdiff_t k = 0; k < depth; k += Op::kStep) {
      sum =
          Op::MultiplyAdd(sum, V::Load(k < whole ? rhs + k : rest), Op::One());
    }
    alignas(16) int32_t sums[4];
    V::StoreLaneSums(sums, sum, sum, sum, sum);
    return sums[0];
  }
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_COLUMN_IN_PLACE_NEON_H_
