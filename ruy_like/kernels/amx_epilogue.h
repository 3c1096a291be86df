// Back-end: the epilogue of the AMX kernel, in portions.
//
// Included by amx_kernel.h. The vector units are idle while the tile unit
// multiplies, so the epilogue of one block of tiles runs in small portions
// between the products of the next block. This file cuts the work; the
// arithmetic is epilogue.h's.
//
// Bias, sums and zero points are not added here: they are in the start values
// of the accumulator tiles (amx_terms.h), where they cost no vector work.
#ifndef RUY_LIKE_KERNELS_AMX_EPILOGUE_H_
#define RUY_LIKE_KERNELS_AMX_EPILOGUE_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/always_inline.h"
#include "ruy_like/kernels/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/simd_avx512.h"

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

// A block's accumulators that wait for their epilogue. The work is counted in
// units: vectors of 16 rows of one column where dst's rows are contiguous and
// one multiplier serves a row, else 16 x 16 squares.
struct PendingBlock {
  // Set once per kernel call.
  EpilogueArgs epilogue;  // with neither integer bias nor sums
  void (*run)(PendingBlock* p, int units);
  bool by_vectors;
  // Set per block.
  int32_t* acc;  // column-major, `acc_rows` apart, 64-byte aligned
  int acc_rows;
  int rows, cols;
  ptrdiff_t row0, col0;
  int units_left;
  int portion;        // units per RunPortion()
  int row, col;       // first element that is not done, relative to the block
  KeptScaler scaler;  // of rows row..row+15
};

// Down the columns of one vector of rows, then on to the next 16 rows.
template <typename Dst, Scaling kScaling>
void RunVectors(PendingBlock* p, int units) {
  typedef Simd512 V;
  const EpilogueArgs& e = p->epilogue;
  const Clamp<V> clamp(e);
  while (units > 0) {
    const int rows_left = p->rows - p->row;
    const int n = rows_left < V::kLanes ? rows_left : V::kLanes;
    if (p->col == 0) {
      Scaler<V, kScaling>& scaler = Get<kScaling>(p->scaler);
      if (kScaling == Scaling::kIdentity) {
        // Nothing to prepare, and the pointers may be null.
      } else if (e.per_channel) {
        const ptrdiff_t row = p->row0 + p->row;
        scaler.Prepare(e.fixedpoint + row, e.exponent + row, V::FirstLanes(n));
      } else {
        scaler.PrepareOne(e.fixedpoint, e.exponent);
      }
    }
    const Scaler<V, kScaling> scaler = Get<kScaling>(p->scaler);
    const int cols_left = p->cols - p->col;
    const int cols = cols_left < units ? cols_left : units;
    const int32_t* acc = p->acc + p->col * p->acc_rows + p->row;
    const ptrdiff_t acc_rows = p->acc_rows;
    const ptrdiff_t dst_stride = e.dst_col_stride;
    Dst* dst = static_cast<Dst*>(e.dst) + p->row0 + p->row +
               (p->col0 + p->col) * dst_stride;
    for (int c = 0; c < cols; ++c) {
      V::Store(dst, clamp.Apply(scaler.Apply(V::LoadAligned(acc))), n);
      acc += acc_rows;
      dst += dst_stride;
    }
    units -= cols;
    p->col += cols;
    if (p->col == p->cols) {
      p->col = 0;
      p->row += V::kLanes;
    }
  }
}

// Squares, for a dst that has to be transposed, read or converted to float, or
// whose multiplier changes from column to column.
inline void RunSquares(PendingBlock* p, int units) {
  constexpr int kLanes = Simd512::kLanes;
  for (; units > 0; --units) {
    const int rows_left = p->rows - p->row;
    const int cols_left = p->cols - p->col;
    StoreIntTile<Simd512>(p->acc + p->col * p->acc_rows + p->row, p->acc_rows,
                          rows_left < kLanes ? rows_left : kLanes,
                          cols_left < kLanes ? cols_left : kLanes,
                          p->row0 + p->row, p->col0 + p->col, p->epilogue);
    p->col += kLanes;
    if (p->col >= p->cols) {
      p->col = 0;
      p->row += kLanes;
    }
  }
}

typedef void RunUnitsFn(PendingBlock* p, int units);

template <typename Dst>
RunUnitsFn* ChooseRunVectors(Scaling scaling) {
  switch (scaling) {
    case Scaling::kIdentity:
      return RunVectors<Dst, Scaling::kIdentity>;
    case Scaling::kSmall:
      return RunVectors<Dst, Scaling::kSmall>;
    case Scaling::kUpToZero:
      return RunVectors<Dst, Scaling::kUpToZero>;
    default:
      return RunVectors<Dst, Scaling::kSaturating>;
  }
}

// Makes `p` ready for a kernel call with this epilogue; no block waits yet.
inline void InitPending(const EpilogueArgs& e, PendingBlock* p) {
  p->epilogue = e;
  p->epilogue.bias = nullptr;
  p->epilogue.lhs_sums = nullptr;
  p->epilogue.rhs_sums = nullptr;
  p->epilogue.zero_point_product = 0;
  p->units_left = 0;
  const Scaling scaling = ChooseScaling(e);
  p->by_vectors =
      e.dst_row_stride == 1 && e.dst_scalar != Scalar::kF32 && !e.accumulates &&
      (scaling == Scaling::kIdentity || !e.per_channel || e.channels_are_rows);
  if (!p->by_vectors) {
    p->run = RunSquares;
  } else if (e.dst_scalar == Scalar::kI8) {
    p->run = ChooseRunVectors<int8_t>(scaling);
  } else if (e.dst_scalar == Scalar::kU8) {
    p->run = ChooseRunVectors<uint8_t>(scaling);
  } else if (e.dst_scalar == Scalar::kI16) {
    p->run = ChooseRunVectors<int16_t>(scaling);
  } else {
    p->run = RunVectors<int32_t, Scaling::kIdentity>;
  }
}

// Hands over a finished block. All of the one before must be done.
inline void SetPending(int32_t* acc, int acc_rows, int rows, int cols,
                       ptrdiff_t row0, ptrdiff_t col0, PendingBlock* p) {
  p->acc = acc;
  p->acc_rows = acc_rows;
  p->rows = rows;
  p->cols = cols;
  p->row0 = row0;
  p->col0 = col0;
  p->row = 0;
  p->col = 0;
  const int row_vectors = (rows + 15) / 16;
  p->units_left = row_vectors * (p->by_vectors ? cols : (cols + 15) / 16);
}

// Spreads what is left over `steps` calls of RunPortion().
RUY_LIKE_ALWAYS_INLINE void SpreadPending(ptrdiff_t steps, PendingBlock* p) {
  p->portion = steps >= p->units_left
                   ? 1
                   : static_cast<int>((p->units_left + steps - 1) / steps);
}

RUY_LIKE_ALWAYS_INLINE void RunPortion(PendingBlock* p) {
  if (p->units_left == 0) return;
  const int units = p->portion < p->units_left ? p->portion : p->units_left;
  p->units_left -= units;
  p->run(p, units);
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_EPILOGUE_H_
