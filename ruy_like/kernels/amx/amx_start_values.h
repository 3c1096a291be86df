// Back-end: start values of the AMX kernel's accumulators.
//
// Included by amx_kernel.h. What the epilogue's formula adds to every
// accumulator (bias, zero points times sums) is loaded into the accumulator
// tiles before the first product, where it costs a tile load in place of
// zeroing, and saves two of the epilogue's fourteen instructions per 16
// elements.
//
//   only terms of rows     one vector per B tile, loaded with stride 0: all
//                          columns of the tile get the same
//   only terms of columns  one tile per A tile, made once per column slice
//   both                   their sums, made for each block
//
// Zero points of rows and columns (ZeroPointArgs) are terms of both: products
// of what a row and a column have.
//
// In a later depth pass the terms are added to the accumulators in memory.
// Row terms and terms of given column sums are added in the last pass; sums
// that the kernel makes of an in-place rhs cover the pass's depth, and are
// added in every pass.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_START_VALUES_H_
#define RUY_LIKE_KERNELS_AMX_AMX_START_VALUES_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_rhs.h"
#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

inline constexpr int kBlockElements = 1024;  // 32 x 32 or 64 rows x 16 columns
// Rows of a range. All columns are done for one range before the next, so that
// row terms are made once.
inline constexpr int kRangeRows = 512;

struct StartTerms {
  bool by_row, by_col;
  // The products row_zeros[r] * col_factors[c] are added, and row_sums[r] *
  // col_zeros[c] subtracted. Either needs by_row and by_col.
  bool has_row_zeros, has_col_zeros;
  alignas(64) int32_t cols[kSliceCols];
  int32_t col_factors[kSliceCols], col_zeros[kSliceCols];
  alignas(64) int32_t rows[kRangeRows];  // 0 behind the range's last row
  alignas(64) int32_t row_zeros[kRangeRows];
  alignas(64) int32_t row_sums[kRangeRows];
  alignas(64) int32_t values[kBlockElements];
};

// Where the accumulator tiles find their start values: column c of tile (a, b)
// at values + a * a_stride + b * b_stride + c * col_stride (elements). No
// values: zero.
struct StartValues {
  const int32_t* values;
  ptrdiff_t col_stride, a_stride, b_stride;
};

// The terms of rows row0..row0+rows-1, at most kRangeRows.
inline void SetRowTerms(const KernelArgs& args, ptrdiff_t row0, int rows,
                        StartTerms* t) {
  typedef Simd512 V;
  const EpilogueArgs& e = *args.epilogue;
  const int32_t* const bias = e.channels_are_rows ? IntBias(e) : nullptr;
  const ZeroPointArgs* const zeros = args.last_pass ? e.zeros : nullptr;
  t->has_row_zeros = zeros != nullptr && zeros->lhs != nullptr;
  t->has_col_zeros = zeros != nullptr && zeros->rhs != nullptr;
  t->by_row =
      args.last_pass && (bias != nullptr || e.lhs_sums != nullptr ||
                         e.zero_point_product != 0 || e.zeros != nullptr);
  // AddTerms() reads whole blocks of them, even if there are only column terms.
  for (int row = 0; row < (rows + 63) / 64 * 64; row += V::kLanes) {
    const int left = rows - row;
    const V::Int terms =
        t->by_row && left > 0
            ? Addends<V>(e.zero_point_product, bias, e.rhs_zero_point,
                         e.lhs_sums, row0 + row, Min(left, V::kLanes))
            : V::Zero();
    V::StoreAligned(t->rows + row, terms);
    const V::Mask mask = V::FirstLanes(left > 0 ? Min(left, V::kLanes) : 0);
    if (t->has_row_zeros) {
      V::StoreAligned(t->row_zeros + row,
                      V::LoadMasked(zeros->lhs + row0 + row, mask));
    }
    if (t->has_col_zeros) {
      V::StoreAligned(t->row_sums + row,
                      V::Sub(V::LoadMasked(zeros->lhs_sums + row0 + row, mask),
                             V::Set(zeros->lhs_base)));
    }
  }
}

// The terms of the column slice at `col0`.
template <RhsKind kKind>
void SetColumnTerms(const KernelArgs& args, const RhsSlice& slice,
                    ptrdiff_t col0, StartTerms* t) {
  typedef Simd512 V;
  const EpilogueArgs& e = *args.epilogue;
  const int32_t* bias = nullptr;
  const int32_t* sums = nullptr;
  if (args.last_pass) {
    if (!e.channels_are_rows) bias = IntBias(e);
    if (bias != nullptr) bias += col0;
    if (e.rhs_sums != nullptr) sums = e.rhs_sums + col0;
  }
  int32_t made_sums[kSliceCols];
  if (IsInPlace(kKind) && e.lhs_zero_point != 0) {
    for (int c = 0; c < slice.cols; ++c) {
      made_sums[c] = ColumnSum<kKind == RhsKind::kInPlaceU8>(
          ColumnAddress(slice, c, 0), args.depth);
    }
    sums = made_sums;
  }
  t->by_col = bias != nullptr || sums != nullptr || t->has_row_zeros ||
              t->has_col_zeros;
  if (!t->by_col) return;
  for (int c = 0; c < slice.cols; c += V::kLanes) {
    V::StoreAligned(t->cols + c, Addends<V>(0, bias, e.lhs_zero_point, sums, c,
                                            Min(slice.cols - c, V::kLanes)));
  }
  for (int c = 0; t->has_row_zeros && c < slice.cols; ++c) {
    t->col_factors[c] = RowZeroFactor(*e.zeros, col0 + c);
  }
  for (int c = 0; t->has_col_zeros && c < slice.cols; ++c) {
    t->col_zeros[c] = e.zeros->rhs[col0 + c];
  }
  if (t->by_row) return;
  for (int c = 0; c < slice.cols; ++c) {
    V::StoreAligned(t->values + c * V::kLanes, V::Set(t->cols[c]));
  }
}

// values = terms, or values += terms, for a whole block from row `row` of the
// range on.
inline void AddTerms(const StartTerms& t, BlockShape shape, int row, int cols,
                     bool accumulate, int32_t* values) {
  typedef Simd512 V;
  if (!t.by_row && !t.by_col) return;
  const int rows = RowsOf(shape);
  for (int c = 0; c < cols; ++c) {
    const V::Int col_term = t.by_col ? V::Set(t.cols[c]) : V::Zero();
    for (int r = 0; r < rows; r += V::kLanes) {
      V::Int x = V::Add(col_term, V::LoadAligned(t.rows + row + r));
      if (t.has_row_zeros) {
        x = V::Add(x, V::Mul(V::LoadAligned(t.row_zeros + row + r),
                             V::Set(t.col_factors[c])));
      }
      if (t.has_col_zeros) {
        x = V::Sub(x, V::Mul(V::LoadAligned(t.row_sums + row + r),
                             V::Set(t.col_zeros[c])));
      }
      if (accumulate) x = V::Add(x, V::LoadAligned(values));
      V::StoreAligned(values, x);
      values += V::kLanes;
    }
  }
}

// Start values of the first pass, of the block from row `row` of the range on.
inline StartValues MakeStart(BlockShape shape, int row, int cols,
                             StartTerms* t) {
  if (!t->by_row && !t->by_col) return {nullptr, 0, 0, 0};
  if (!t->by_row) return {t->values, 16, 256, 0};
  if (!t->by_col) return {t->rows + row, 0, 0, 16};
  AddTerms(*t, shape, row, cols, /*accumulate=*/false, t->values);
  return {t->values, RowsOf(shape), 16 * RowsOf(shape), 16};
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_START_VALUES_H_
