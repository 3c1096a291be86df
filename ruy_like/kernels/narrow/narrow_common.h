// Back-end: what the narrow kernels have in common (narrow_dots.h and
// narrow_float.h say what those are).
#ifndef RUY_LIKE_KERNELS_NARROW_NARROW_COMMON_H_
#define RUY_LIKE_KERNELS_NARROW_NARROW_COMMON_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/kernel.h"
#include "ruy_like/pack/pack.h"
#include "ruy_like/scalar.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// Columns of the widest product that counts as narrow.
constexpr int kMaxNarrowCols = 16;

// Kernel::macs_per_ns for an 8-bit lhs: a single column is bound by reading it
// at 50 GB/s.
constexpr int kNarrowMacsPerNs = 50;

// The table line of a kernel of bytes that reads its lhs in place, tile_rows
// rows at a time, with up to kMaxNarrowCols columns.
constexpr Kernel NarrowInPlaceEntry(const char* name, Family family, Scalar lhs,
                                    const PanelFormat& rhs, int tile_rows,
                                    PackFn* pack_rhs, KernelFn* run) {
  Kernel kernel = {};
  kernel.name = name;
  kernel.family = family;
  kernel.kind = KernelKind::kNarrowInPlace;
  kernel.lhs = {lhs, /*in_place=*/true, 0, 0, 0};
  kernel.rhs = rhs;
  kernel.tile_rows = tile_rows;
  kernel.tile_cols = kMaxNarrowCols;
  kernel.row_granularity = tile_rows;
  kernel.max_cols = kMaxNarrowCols;
  kernel.row_major_depth = 0;  // single elements are stored
  kernel.macs_per_ns = kNarrowMacsPerNs;
  kernel.pack_rhs = pack_rhs;
  kernel.run = run;
  return kernel;
}

// The same for floats.
constexpr Kernel NarrowFloatEntry(const char* name, int rhs_width,
                                  int tile_rows, PackFn* pack_rhs,
                                  KernelFn* run) {
  Kernel kernel = NarrowInPlaceEntry(
      name, Family::kF32, Scalar::kF32,
      {Scalar::kF32, /*in_place=*/false, rhs_width, /*dot_width=*/1,
       /*depth_multiple=*/1},
      tile_rows, pack_rhs, run);
  kernel.macs_per_ns /= static_cast<int>(sizeof(float));
  return kernel;
}

// The sum of a column's first elements, contiguous.
template <class Op>
RUY_LIKE_NOINLINE int32_t SumColumn(const void* column, ptrdiff_t depth) {
  typedef typename Op::Simd V;
  constexpr ptrdiff_t kStepBytes = Op::kStep * sizeof(typename Op::Rhs);
  const ptrdiff_t bytes = depth * sizeof(typename Op::Rhs);
  const char* const p = static_cast<const char*>(column);
  typename Op::Vector sum = V::Zero();
  ptrdiff_t at = 0;
  for (; at + kStepBytes <= bytes; at += kStepBytes) {
    sum = Op::MultiplyAdd(sum, Op::One(), V::Load(p + at));
  }
  if (at < bytes) {
    alignas(64) char rest[kStepBytes] = {};
    __builtin_memcpy(rest, p + at, static_cast<size_t>(bytes - at));
    sum = Op::MultiplyAdd(sum, Op::One(), V::Load(rest));
  }
  alignas(16) int32_t sums[4];
  V::StoreLaneSums(sums, sum, sum, sum, sum);
  return sums[0];
}

// Subtracts rhs_zero_point * row_sums from columns of accumulators, for kernels
// that make the sums themselves: these exist for the rows at hand alone, and
// the epilogue gets none.
template <class V>
RUY_LIKE_ALWAYS_INLINE void SubtractRowSums(int32_t rhs_zero_point,
                                            const int32_t* row_sums, int rows,
                                            int cols, int col_stride,
                                            int32_t* acc) {
  for (int r = 0; r < rows; r += V::kLanes) {
    const typename V::Int term =
        V::Mul(V::LoadAligned(row_sums + r), V::Set(rhs_zero_point));
    for (int c = 0; c < cols; ++c) {
      int32_t* const p = acc + c * col_stride + r;
      V::StoreAligned(p, V::Sub(V::LoadAligned(p), term));
    }
  }
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_NARROW_NARROW_COMMON_H_
