// Back-end: the epilogue of the AMX kernel, in portions.
//
// Included by amx_kernel.h. The vector units are idle while the tile unit
// multiplies, so the epilogue of one block of tiles runs in small portions
// between the products of the next block. This file cuts the work and picks the
// routine, of amx_epilogue_bytes.h or amx_epilogue.h.
//
// Bias, sums and zero points are not added here: they are in the start values
// of the accumulator tiles (amx_terms.h), where they cost no vector work.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_PENDING_H_
#define RUY_LIKE_KERNELS_AMX_AMX_PENDING_H_

#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/amx/amx_epilogue.h"
#include "ruy_like/kernels/amx/amx_epilogue_bytes.h"
#include "ruy_like/kernels/epilogue/epilogue_bytes.h"
#include "ruy_like/kernels/epilogue/requantize.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/kernels/simd/always_inline.h"
#include "ruy_like/kernels/simd/simd_avx512.h"

namespace ruy_like {
namespace kernels {
namespace {

// How the work of a block is counted.
enum class Units {
  kVectors,      // 16 rows of one column
  kQuads,        // 16 rows of four columns
  kByteColumns,  // two columns of 32 rows, or four where 16 rows are left
  kSquares,      // 16 rows of 16 columns
};

// A block's accumulators that wait for their epilogue.
struct PendingBlock {
  // Set once per kernel call.
  EpilogueArgs epilogue;  // with neither integer bias nor sums
  Units unit;
  void (*run_bytes)(ByteBlock* b, int units);  // null: run_others
  void (*run_others)(EpilogueBlock* b, int units);
  // Set per block.
  int units_left;
  int portion;  // units per RunPortion()
  ByteBlock bytes;
  EpilogueBlock others;
};

typedef void RunUnitsFn(EpilogueBlock* b, int units);

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

RUY_LIKE_ALWAYS_INLINE RunUnitsFn* ChooseRunVectors(Scalar dst_scalar,
                                                    Scaling scaling) {
  switch (dst_scalar) {
    case Scalar::kI8:
      return ChooseRunVectors<int8_t>(scaling);
    case Scalar::kU8:
      return ChooseRunVectors<uint8_t>(scaling);
    case Scalar::kI16:
      return ChooseRunVectors<int16_t>(scaling);
    default:
      return RunVectors<int32_t, Scaling::kIdentity>;
  }
}

RUY_LIKE_ALWAYS_INLINE RunUnitsFn* ChooseRunQuads(Scaling scaling) {
  switch (scaling) {
    case Scaling::kIdentity:
      return RunQuads<Scaling::kIdentity>;
    case Scaling::kSmall:
      return RunQuads<Scaling::kSmall>;
    case Scaling::kUpToZero:
      return RunQuads<Scaling::kUpToZero>;
    default:
      return RunQuads<Scaling::kSaturating>;
  }
}

// For an 8-bit dst that amx_epilogue_bytes.h makes.
inline void InitPendingBytes(const EpilogueArgs& e, PendingBlock* p) {
  InitByteBlock(e, &p->bytes);
  const bool per_col = e.per_channel && !e.channels_are_rows;
  p->unit = Units::kQuads;
  if (e.dst_row_stride != 1) {
    p->run_bytes = per_col ? RunByteRowQuads<true> : RunByteRowQuads<false>;
  } else if (per_col) {
    p->run_bytes = RunByteColumnQuads;
  } else {
    p->unit = Units::kByteColumns;
    p->run_bytes = RunByteColumns;
  }
}

// For any other dst.
inline void InitPendingOthers(const EpilogueArgs& e, Scaling scaling,
                              PendingBlock* p) {
  const bool row_major = e.dst_row_stride != 1;
  const bool per_col =
      scaling != Scaling::kIdentity && e.per_channel && !e.channels_are_rows;
  p->others.epilogue = &p->epilogue;
  p->others.per_col = per_col;
  p->run_bytes = nullptr;
  if (e.dst_scalar == Scalar::kF32 || e.accumulates ||
      (per_col && !row_major)) {
    p->unit = Units::kSquares;
    p->run_others = RunSquares;
  } else if (row_major) {
    p->unit = Units::kQuads;
    p->run_others = ChooseRunQuads(scaling);
  } else {
    p->unit = Units::kVectors;
    p->run_others = ChooseRunVectors(e.dst_scalar, scaling);
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
  if (scaling == Scaling::kSmall && ByteBounds<Simd512>::Apply(e)) {
    InitPendingBytes(e, p);
  } else {
    InitPendingOthers(e, scaling, p);
  }
}

inline int CountUnits(Units unit, int rows, int cols) {
  const int row_vectors = (rows + 15) / 16;
  switch (unit) {
    case Units::kVectors:
      return row_vectors * cols;
    case Units::kQuads:
      return row_vectors * ((cols + 3) / 4);
    case Units::kByteColumns:
      return ByteColumnsUnits(rows, cols);
    default:
      return row_vectors * ((cols + 15) / 16);
  }
}

// Hands over a finished block. All of the one before must be done.
inline void SetPending(int32_t* acc, int acc_rows, int rows, int cols,
                       ptrdiff_t row0, ptrdiff_t col0, PendingBlock* p) {
  p->units_left = CountUnits(p->unit, rows, cols);
  if (p->run_bytes != nullptr) {
    SetByteBlock(p->epilogue, acc, acc_rows, rows, cols, row0, col0, &p->bytes);
  } else {
    SetEpilogueBlock(acc, acc_rows, rows, cols, row0, col0, &p->others);
  }
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
  if (p->run_bytes != nullptr) {
    p->run_bytes(&p->bytes, units);
  } else {
    p->run_others(&p->others, units);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace ruy_like

#endif  // RUY_LIKE_KERNELS_AMX_AMX_PENDING_H_
