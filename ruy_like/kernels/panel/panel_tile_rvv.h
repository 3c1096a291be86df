// Back-end: tiles of integers with RISC-V's vector extension.
//
// Included by kernels/rvv128.cc. vwmacc.vx adds the products of a vector of
// words and a scalar to 32-bit accumulators, which take twice the registers:
//
//    lhs panels 0-3, 4 rows of each: 16 words        2 registers of 128 bits
//    accumulators of one column of the rhs           4
//    four columns                                    16 of 32
//
// In the compiler's vector types multiplication and addition come apart, which
// takes five times the instructions (bench/RESULTS.md). One strided load brings
// a depth position of all four panels, since their rows are 32 bits, or 64 as
// words. Where registers are longer, a tile takes less of them: instructions
// are told the number of rows.
#ifndef RUY_LIKE_KERNELS_PANEL_PANEL_TILE_RVV_H_
#define RUY_LIKE_KERNELS_PANEL_PANEL_TILE_RVV_H_

#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>

#include "ruy_like/kernels/panel/panel_ops.h"
#include "ruy_like/kernels/panel/panel_tile.h"
#include "ruy_like/simd/loops.h"

namespace ruy_like::kernels {
namespace {

// A depth position of so many lhs panels, as words.
RUY_LIKE_ALWAYS_INLINE vint16m2_t LoadDepth(const int8_t* p, ptrdiff_t stride,
                                            size_t panels) {
  const vint32m1_t rows = __riscv_vlse32_v_i32m1(
      reinterpret_cast<const int32_t*>(p), stride, panels);
  return __riscv_vsext_vf2_i16m2(__riscv_vreinterpret_v_i32m1_i8m1(rows),
                                 4 * panels);
}
RUY_LIKE_ALWAYS_INLINE vint16m2_t LoadDepth(const int16_t* p, ptrdiff_t stride,
                                            size_t panels) {
  return __riscv_vreinterpret_v_i64m2_i16m2(__riscv_vlse64_v_i64m2(
      reinterpret_cast<const int64_t*>(p), stride, panels));
}

// The start of a column's accumulators.
RUY_LIKE_ALWAYS_INLINE vint32m4_t StartColumn(const TileArgs& args, int column,
                                              size_t rows) {
  const vint32m4_t start = __riscv_vle32_v_i32m4(
      static_cast<const int32_t*>(args.start) + column * args.start_col_stride,
      rows);
  return args.column_start == nullptr
             ? start
             : __riscv_vadd_vx_i32m4(start, args.column_start[column], rows);
}

// kCols columns of a rhs panel of four. Its vectors are no array's elements,
// since the compiler does not know their size.
template <int kCols, typename Lhs, typename Rhs>
RUY_LIKE_NOINLINE void MultiplyPanels(const TileArgs& args, size_t panels) {
  constexpr int kWidth = 4;
  static_assert(kCols >= 1 && kCols <= kWidth);
  const size_t rows = 4 * panels;
  const ptrdiff_t stride = args.lhs_stride_bytes;
  vint32m4_t a = StartColumn(args, 0, rows), b = a, c = a, d = a;
  if constexpr (kCols > 1) b = StartColumn(args, 1, rows);
  if constexpr (kCols > 2) c = StartColumn(args, 2, rows);
  if constexpr (kCols > 3) d = StartColumn(args, 3, rows);
  const Lhs* lhs = static_cast<const Lhs*>(args.lhs);
  const Rhs* rhs = static_cast<const Rhs*>(args.rhs.data);
#define RUY_LIKE_DEPTH(words, elements)                                      \
  a = __riscv_vwmacc_vx_i32m4(a, (elements)[0], words, rows);                \
  if (kCols > 1) b = __riscv_vwmacc_vx_i32m4(b, (elements)[1], words, rows); \
  if (kCols > 2) c = __riscv_vwmacc_vx_i32m4(c, (elements)[2], words, rows); \
  if (kCols > 3) d = __riscv_vwmacc_vx_i32m4(d, (elements)[3], words, rows);
  for (ptrdiff_t step = args.steps; step > 0; --step) {
    const vint16m2_t first = LoadDepth(lhs, stride, panels);
    const vint16m2_t second = LoadDepth(lhs + 4, stride, panels);
    RUY_LIKE_DEPTH(first, rhs)
    RUY_LIKE_DEPTH(second, rhs + kWidth)
    lhs += 2 * 4;
    rhs += 2 * kWidth;
  }
#undef RUY_LIKE_DEPTH
  int32_t* const result = static_cast<int32_t*>(args.result);
  __riscv_vse32_v_i32m4(result, a, rows);
  if (kCols > 1) __riscv_vse32_v_i32m4(result + rows, b, rows);
  if (kCols > 2) __riscv_vse32_v_i32m4(result + 2 * rows, c, rows);
  if (kCols > 3) __riscv_vse32_v_i32m4(result + 3 * rows, d, rows);
}

// 8 or 16 bits times 8 or 16 bits, two elements a step.
template <class V, typename LhsType, typename RhsType>
struct RvvOp : IntOp<V, LhsType, RhsType, 1> {
  static constexpr TileKind kTileKind = TileKind::kOwn;
  static constexpr int kSinglePanelWidth = 1;
  static constexpr int kStepDepth = 2, kDepthMultiple = 2;

  template <class RhsSource, int kVectors, int kCols>
  struct Tile {
    static void Run(const TileArgs& args) {
      MultiplyPanels<kCols, LhsType, RhsType>(args, kVectors);
    }
  };
};

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_PANEL_PANEL_TILE_RVV_H_
