// Back-end: start values of the AMX kernel's accumulators.
//
// Included by amx_kernel.h. What the epilogue's formula adds to every
// accumulator (bias, zero points times sums) is loaded into the accumulator
// tiles before the first product, where it costs a tile load in place of a
// tile's zeroing and saves two vector additions of fourteen instructions per 16
// elements afterwards.
//
//   only terms of rows     one vector per B tile, loaded with stride 0: all
//                          columns of the tile get the same
//   only terms of columns  one tile per A tile, made once per column group
//   both                   the block's sums of both
//
// In a later depth pass the terms are added to the accumulators in memory.
// Row terms and those of given column sums belong to the last pass; the sums
// that the kernel makes of an in-place rhs are those of the pass's levels and
// belong to every pass.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_TERMS_H_
#define RUY_LIKE_KERNELS_AMX_AMX_TERMS_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_rhs.h"
#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/simd/simd_avx512.h"

namespace ruy_like {
namespace kernels {
namespace {

inline constexpr int kBlockElements = 1024;  // 32 x 32 or 64 rows x 16 columns

struct StartTerms {
  bool by_row, by_col;
  int32_t cols[kGroupCols];
  alignas(64) int32_t rows[64];
  alignas(64) int32_t values[kBlockElements];
};

// Where the accumulator tiles find their start values: column c of tile (a, b)
// at values + a * a_stride + b * b_stride + c * col_stride (elements). No
// values: zero.
struct StartValues {
  const int32_t* values;
  ptrdiff_t col_stride, a_stride, b_stride;
};

inline void InitTerms(const KernelArgs& args, StartTerms* t) {
  const EpilogueArgs& e = *args.epilogue;
  t->by_row =
      args.last_pass && ((e.bias != nullptr && e.channels_are_rows) ||
                         e.lhs_sums != nullptr || e.zero_point_product != 0);
}

// Once per column group.
template <RhsKind kKind>
void SetColumnTerms(const KernelArgs& args, const RhsGroup& group,
                    ptrdiff_t col0, StartTerms* t) {
  const EpilogueArgs& e = *args.epilogue;
  const bool makes_sums = kKind != RhsKind::kPackedS8 && e.lhs_zero_point != 0;
  const bool has_terms =
      args.last_pass &&
      ((e.bias != nullptr && !e.channels_are_rows) || e.rhs_sums != nullptr);
  t->by_col = makes_sums || has_terms;
  if (!t->by_col) return;
  for (int c = 0; c < group.cols; ++c) {
    uint32_t term = 0;
    if (makes_sums) {
      const int32_t sum = ColumnSum<kKind == RhsKind::kInPlaceU8>(
          ColumnAddress(group, c, 0), args.depth);
      term -=
          static_cast<uint32_t>(e.lhs_zero_point) * static_cast<uint32_t>(sum);
    }
    if (has_terms && e.rhs_sums != nullptr) {
      term -= static_cast<uint32_t>(e.lhs_zero_point) *
              static_cast<uint32_t>(e.rhs_sums[col0 + c]);
    }
    if (has_terms && e.bias != nullptr && !e.channels_are_rows) {
      term +=
          static_cast<uint32_t>(static_cast<const int32_t*>(e.bias)[col0 + c]);
    }
    t->cols[c] = static_cast<int32_t>(term);
    if (!t->by_row) {
      Simd512::StoreAligned(t->values + c * 16, Simd512::Set(t->cols[c]));
    }
  }
}

// Term of rows row..row+15 of the block, of which `rows` exist.
inline Simd512::Int RowAddends(const KernelArgs& args, const StartTerms& t,
                               ptrdiff_t row, int rows) {
  if (!t.by_row) return Simd512::Zero();
  const EpilogueArgs& e = *args.epilogue;
  return Addends<Simd512>(
      e.zero_point_product,
      e.channels_are_rows ? static_cast<const int32_t*>(e.bias) : nullptr,
      e.rhs_zero_point, e.lhs_sums, row,
      rows < Simd512::kLanes ? rows : Simd512::kLanes);
}

// acc = terms, or acc += terms; `acc` is column-major over `rows` rounded up to
// a multiple of 16.
inline void AddTerms(const KernelArgs& args, const StartTerms& t,
                     ptrdiff_t row0, int rows, int cols, bool accumulate,
                     int32_t* acc) {
  typedef Simd512 V;
  if (!t.by_row && !t.by_col) return;
  const ptrdiff_t acc_rows = (rows + 15) / 16 * 16;
  for (int r = 0; r < rows; r += V::kLanes) {
    const V::Int row_terms = RowAddends(args, t, row0 + r, rows - r);
    for (int c = 0; c < cols; ++c) {
      int32_t* p = acc + c * acc_rows + r;
      V::Int x = row_terms;
      if (t.by_col) x = V::Add(x, V::Set(t.cols[c]));
      if (accumulate) x = V::Add(x, V::LoadAligned(p));
      V::StoreAligned(p, x);
    }
  }
}

// Start values of the first pass.
inline StartValues MakeStart(const KernelArgs& args, int cols, ptrdiff_t row0,
                             int rows, StartTerms* t) {
  if (!t->by_row && !t->by_col) return {nullptr, 0, 0, 0};
  if (!t->by_row) return {t->values, 16, 256, 0};
  if (!t->by_col) {
    for (int r = 0; r < rows; r += Simd512::kLanes) {
      Simd512::StoreAligned(t->rows + r,
                            RowAddends(args, *t, row0 + r, rows - r));
    }
    return {t->rows, 0, 0, 16};
  }
  AddTerms(args, *t, row0, rows, cols, /*accumulate=*/false, t->values);
  const ptrdiff_t acc_rows = (rows + 15) / 16 * 16;
  return {t->values, acc_rows, 16 * acc_rows, 16};
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_TERMS_H_
