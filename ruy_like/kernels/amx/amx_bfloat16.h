// Back-end: the AMX kernel of bfloat16 by bfloat16.
//
// Included by kernels/amx.cc. Both sides are packed: lhs panels of 16 rows by
// pairs of levels are the tile product's second operand, rhs panels of 16
// columns by 32 levels its first one. A block of dst is 2 x 2 tiles:
//
//                      lhs panels      tmm6   tmm7
//    rhs panels tmm4                 | tmm0 | tmm1 |    16 columns of dst
//               tmm5                 | tmm2 | tmm3 |    by 16 rows each
//
// A tile product sums 32 levels before it adds them to the accumulators
// (doc/numerics.md), so every pass has a multiple of 32 levels. Every product
// of two bfloat16 operands uses this kernel, so that its bits do not depend on
// its size.
#ifndef RUY_LIKE_KERNELS_AMX_AMX_BFLOAT16_H_
#define RUY_LIKE_KERNELS_AMX_AMX_BFLOAT16_H_

#include <stddef.h>

#include "ruy_like/kernels/amx/amx_tile.h"
#include "ruy_like/kernels/epilogue/epilogue.h"
#include "ruy_like/kernels/kernel.h"
#include "ruy_like/simd/loops.h"
#include "ruy_like/simd/simd_avx512.h"

namespace ruy_like::kernels {
namespace {

constexpr int kBFloat16Levels = 32;        // of a tile product
constexpr int kBFloat16Block = 32;         // rows and columns of dst
constexpr ptrdiff_t kBFloat16Tile = 1024;  // bytes, lhs or rhs
constexpr ptrdiff_t kAccumulatorStride = kBFloat16Block * sizeof(float);

// Adds the pass's products of kLhs lhs panels and kRhs rhs panels to `acc`,
// which is column-major, kBFloat16Block elements from column to column. The
// first pass starts from zero.
template <int kRhs, int kLhs>
RUY_LIKE_ALWAYS_INLINE void MultiplyBlock(const KernelArgs& args,
                                          const char* lhs, const char* rhs,
                                          float* acc) {
  float* const right = acc + 16 * kBFloat16Block;
  if (args.first_pass) {
    Tiles::Zero<0>();
    if constexpr (kLhs == 2) Tiles::Zero<1>();
    if constexpr (kRhs == 2) Tiles::Zero<2>();
    if constexpr (kRhs == 2 && kLhs == 2) Tiles::Zero<3>();
  } else {
    Tiles::Load<0>(acc, kAccumulatorStride);
    if constexpr (kLhs == 2) Tiles::Load<1>(acc + 16, kAccumulatorStride);
    if constexpr (kRhs == 2) Tiles::Load<2>(right, kAccumulatorStride);
    if constexpr (kRhs == 2 && kLhs == 2) {
      Tiles::Load<3>(right + 16, kAccumulatorStride);
    }
  }
  for (ptrdiff_t k = 0; k < args.depth; k += kBFloat16Levels) {
    Tiles::Load<4>(rhs, 64);
    Tiles::Load<6>(lhs, 64);
    Tiles::MultiplyBFloat16<0, 4, 6>();
    if constexpr (kLhs == 2) {
      Tiles::Load<7>(lhs + args.lhs_stride_bytes, 64);
      Tiles::MultiplyBFloat16<1, 4, 7>();
    }
    if constexpr (kRhs == 2) {
      Tiles::Load<5>(rhs + args.rhs_stride_bytes, 64);
      Tiles::MultiplyBFloat16<2, 5, 6>();
    }
    if constexpr (kRhs == 2 && kLhs == 2) Tiles::MultiplyBFloat16<3, 5, 7>();
    lhs += kBFloat16Tile;
    rhs += kBFloat16Tile;
  }
  Tiles::Store<0>(acc, kAccumulatorStride);
  if constexpr (kLhs == 2) Tiles::Store<1>(acc + 16, kAccumulatorStride);
  if constexpr (kRhs == 2) Tiles::Store<2>(right, kAccumulatorStride);
  if constexpr (kRhs == 2 && kLhs == 2) {
    Tiles::Store<3>(right + 16, kAccumulatorStride);
  }
}

// The kernel (KernelFn).
inline void RunAmxBFloat16(const KernelArgs* args) {
  alignas(64) float finished[kBFloat16Block * kBFloat16Block];
  Tiles::Configure(kTileConfigs.of[kBFloat16Block]);
  // In `accum`, blocks lie in the order in which they are visited.
  float* saved = static_cast<float*>(args->accum);
  for (ptrdiff_t col = 0; col < args->cols; col += kBFloat16Block) {
    const int cols = Min(args->cols - col, kBFloat16Block);
    const char* const rhs =
        static_cast<const char*>(args->rhs) + col / 16 * args->rhs_stride_bytes;
    for (ptrdiff_t row = 0; row < args->rows; row += kBFloat16Block) {
      const int rows = Min(args->rows - row, kBFloat16Block);
      const char* const lhs = static_cast<const char*>(args->lhs) +
                              row / 16 * args->lhs_stride_bytes;
      float* const acc = saved == nullptr ? finished : saved;
      if (cols > 16) {
        rows > 16 ? MultiplyBlock<2, 2>(*args, lhs, rhs, acc)
                  : MultiplyBlock<2, 1>(*args, lhs, rhs, acc);
      } else {
        rows > 16 ? MultiplyBlock<1, 2>(*args, lhs, rhs, acc)
                  : MultiplyBlock<1, 1>(*args, lhs, rhs, acc);
      }
      if (args->last_pass) {
        StoreTile<Simd512>({acc, kBFloat16Block, rows, cols, row, col},
                           *args->epilogue);
      }
      if (saved != nullptr) saved += kBFloat16Block * kBFloat16Block;
    }
  }
  Tiles::Release();
}

}  // namespace
}  // namespace ruy_like::kernels

#endif  // RUY_LIKE_KERNELS_AMX_AMX_BFLOAT16_H_
