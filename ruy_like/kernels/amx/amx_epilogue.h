// Back-end: the AMX kernel's epilogue in units, any but the common 8-bit one.
//
// Used by amx_pending.h, which decides when a unit runs, and which routine.
// This file walks over a block's accumulators; the arithmetic is epilogue.h's.
// The common 8-bit dst is amx_epilogue_bytes.h's.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_EPILOGUE_H_
#define RUY_LIKE_KERNELS_AMX_AMX_EPILOGUE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/simd/always_inline.h"
#include "ruy_like/kernels/simd/simd_avx512.h"

namespace ruy_like {
namespace kernels {
namespace {

// The multipliers of 16 rows, kept from one portion to the next.
union KeptScaler {
  Scaler<Simd512, Scaling::kIdentity> identity;
  Scaler<Simd512, Scaling::kSmall> small;
  Scaler<Simd512, Scaling::kUpToZero> up_to_zero;
  Scaler<Simd512, Scaling::kSaturating> saturating;
};

template <Scaling kScaling>
RUY_LIKE_ALWAYS_INLINE Scaler<Simd512, kScaling>& Get(KeptScaler& kept) {
  if constexpr (kScaling == Scaling::kIdentity) {
    return kept.identity;
  } else if constexpr (kScaling == Scaling::kSmall) {
    return kept.small;
  } else if constexpr (kScaling == Scaling::kUpToZero) {
    return kept.up_to_zero;
  } else {
    return kept.saturating;
  }
}

// A block's accumulators.
struct EpilogueBlock {
  // Set once per kernel call.
  const EpilogueArgs* epilogue;  // with neither integer bias nor sums
  bool per_col;                  // multipliers are an array along columns
  // Set per block.
  int32_t* acc;  // column-major, `acc_rows` apart, 64-byte aligned
  int acc_rows;
  int rows, cols;
  ptrdiff_t row0, col0;
  int row, col;       // first element that is not done, relative to the block
  KeptScaler scaler;  // of rows row..row+15
  // Row-major dst: columns of 32-bit values that wait for their square's rest.
  alignas(64) int32_t square[256];
};

// The block at (row0, col0) of the call's.
inline void SetEpilogueBlock(int32_t* acc, int acc_rows, int rows, int cols,
                             ptrdiff_t row0, ptrdiff_t col0, EpilogueBlock* b) {
  b->acc = acc;
  b->acc_rows = acc_rows;
  b->rows = rows;
  b->cols = cols;
  b->row0 = row0;
  b->col0 = col0;
  b->row = 0;
  b->col = 0;
}

// The multipliers of rows row..row+15, at the first of their columns.
template <Scaling kScaling>
RUY_LIKE_ALWAYS_INLINE void PrepareRows(EpilogueBlock* b, int n) {
  // With kIdentity there is nothing to prepare, and pointers may be null.
  if (kScaling == Scaling::kIdentity || b->col != 0) return;
  const EpilogueArgs& e = *b->epilogue;
  Scaler<Simd512, kScaling>& scaler = Get<kScaling>(b->scaler);
  if (e.per_channel) {
    const ptrdiff_t row = b->row0 + b->row;
    scaler.Prepare(e.fixedpoint + row, e.exponent + row,
                   Simd512::FirstLanes(n));
  } else {
    scaler.PrepareOne(e.fixedpoint, e.exponent);
  }
}

// Down the columns of one vector of rows, then on to the next 16 rows.
template <typename Dst, Scaling kScaling>
void RunVectors(EpilogueBlock* b, int units) {
  typedef Simd512 V;
  const EpilogueArgs& e = *b->epilogue;
  const Clamp<V> clamp(e);
  while (units > 0) {
    const int rows_left = b->rows - b->row;
    const int n = rows_left < V::kLanes ? rows_left : V::kLanes;
    PrepareRows<kScaling>(b, n);
    const Scaler<V, kScaling> scaler = Get<kScaling>(b->scaler);
    const int cols_left = b->cols - b->col;
    const int cols = cols_left < units ? cols_left : units;
    const int32_t* acc = b->acc + b->col * b->acc_rows + b->row;
    const ptrdiff_t acc_rows = b->acc_rows;
    const ptrdiff_t dst_stride = e.dst_col_stride;
    Dst* dst = static_cast<Dst*>(e.dst) + b->row0 + b->row +
               (b->col0 + b->col) * dst_stride;
    for (int c = 0; c < cols; ++c) {
      V::Store(dst, clamp.Apply(scaler.Apply(V::LoadAligned(acc))), n);
      acc += acc_rows;
      dst += dst_stride;
    }
    units -= cols;
    b->col += cols;
    if (b->col == b->cols) {
      b->col = 0;
      b->row += V::kLanes;
    }
  }
}

// Four columns of 16 rows of a row-major dst; the last of a square transposes
// it.
template <Scaling kScaling>
void RunQuads(EpilogueBlock* b, int units) {
  typedef Simd512 V;
  const EpilogueArgs& e = *b->epilogue;
  const Clamp<V> clamp(e);
  const ptrdiff_t element_bytes = kScalarBytes[static_cast<int>(e.dst_scalar)];
  for (; units > 0; --units) {
    const int rows_left = b->rows - b->row;
    const int n = rows_left < V::kLanes ? rows_left : V::kLanes;
    if (!b->per_col) PrepareRows<kScaling>(b, n);
    Scaler<V, kScaling> scaler = Get<kScaling>(b->scaler);
    const int next = b->cols - b->col < 4 ? b->cols : b->col + 4;
    for (int c = b->col; c < next; ++c) {
      if (b->per_col) {
        scaler.PrepareOne(e.fixedpoint + b->col0 + c, e.exponent + b->col0 + c);
      }
      V::StoreAligned(b->square + c % V::kLanes * V::kLanes,
                      clamp.Apply(scaler.Apply(
                          V::LoadAligned(b->acc + c * b->acc_rows + b->row))));
    }
    if (next % V::kLanes == 0 || next == b->cols) {
      const int first = b->col / V::kLanes * V::kLanes;
      const ptrdiff_t offset =
          (b->row0 + b->row) * e.dst_row_stride + b->col0 + first;
      StoreTransposed<V>(b->square, n, next - first,
                         static_cast<char*>(e.dst) + offset * element_bytes,
                         e.dst_row_stride * element_bytes, element_bytes);
    }
    b->col = next == b->cols ? 0 : next;
    if (next == b->cols) b->row += V::kLanes;
  }
}

// Squares, for a dst that has to be read or converted to float, or is
// column-major with a multiplier that changes from column to column.
inline void RunSquares(EpilogueBlock* b, int units) {
  constexpr int kLanes = Simd512::kLanes;
  for (; units > 0; --units) {
    const int rows_left = b->rows - b->row;
    const int cols_left = b->cols - b->col;
    StoreIntTile<Simd512>(b->acc + b->col * b->acc_rows + b->row, b->acc_rows,
                          rows_left < kLanes ? rows_left : kLanes,
                          cols_left < kLanes ? cols_left : kLanes,
                          b->row0 + b->row, b->col0 + b->col, *b->epilogue);
    b->col += kLanes;
    if (b->col >= b->cols) {
      b->col = 0;
      b->row += kLanes;
    }
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_EPILOGUE_H_
