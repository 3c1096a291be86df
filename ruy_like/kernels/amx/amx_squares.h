// Back-end: the AMX kernel's epilogue to any dst that amx_byte_units.h does not
// serve: int16, int32 and float, exponents above 0; the
// uncertain lanes of an 8-bit dst; all products of bfloat16.
//
// Included by amx_kernel.h. Squares of 16 x 16 accumulators go through
// epilogue.h one by one, between the steps of a later block.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_SQUARES_H_
#define RUY_LIKE_KERNELS_AMX_AMX_SQUARES_H_

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

// A block of dst whose epilogue is not done; none if cols is 0.
struct Block {
  BlockShape shape;
  int rows, cols;
  ptrdiff_t row0, col0;   // in the call
  int range_row;          // row0 in the range of rows
  int slice;              // of the columns' multipliers
  int32_t* accumulators;  // column-major; the bits of floats for Output::kFloat
};

// The squares of a block that are not stored yet, in order of rows, then
// columns.
struct Squares {
  const EpilogueArgs* epilogue;  // with neither integer bias nor sums
  Block block;                   // 0 columns: nothing is left
  int row, col;                  // of the next square, in the block
};

// Up to 16 rows x `cols` columns of the block from (row, col) on; less, or
// nothing, where the block ends.
RUY_LIKE_NOINLINE void StorePart(const Squares& s, int row, int col, int cols) {
  constexpr int kLanes = Simd512::kLanes;
  const Block& b = s.block;
  if (row >= b.rows || col >= b.cols) return;
  const auto store = [&](auto* acc) {
    const SpilledTile<std::remove_pointer_t<decltype(acc)>> block = {
        acc, RowsOf(b.shape), b.rows, b.cols, b.row0, b.col0};
    StoreTile<Simd512>(block.Part(row, col, kLanes, cols), *s.epilogue);
  };
  if (s.epilogue->output == Output::kFloat) {
    store(reinterpret_cast<float*>(b.accumulators));
  } else {
    store(b.accumulators);
  }
}

inline void RunSquare(Squares* s) {
  constexpr int kLanes = Simd512::kLanes;
  StorePart(*s, s->row, s->col, kLanes);
  s->row += kLanes;
  if (s->row < s->block.rows) return;
  s->row = 0;
  s->col += kLanes;
  if (s->col >= s->block.cols) s->block.cols = 0;
}

inline void FinishSquares(Squares* s) {
  while (s->block.cols != 0) RunSquare(s);
}

// For amx_block.h, in place of ByteUnits: one square after each step.
class NoUnits {
 public:
  static constexpr bool kHasUnits = false;
  explicit RUY_LIKE_ALWAYS_INLINE NoUnits(Squares* squares)
      : squares_(squares) {}
  RUY_LIKE_ALWAYS_INLINE void EndStep() {
    if (squares_->block.cols != 0) RunSquare(squares_);
  }

 private:
  Squares* squares_;
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_SQUARES_H_
