// Back-end: kernels of the path with NEON's BFMMLA: bfloat16 by bfloat16.
//
// BFMMLA adds the products of two rows by two columns over a depth of four, two
// elements after each other, with a rounding of its own: doc/numerics.md has
// the rule. All products of two bfloat16 operands run on the one kernel here,
// so that their bits do not depend on the number of columns. What is not listed
// is neoni8mm's and neon's.
//
// Tested in test/float16_mul_test.cc.
#include "ruy_like/kernels/epilogue/epilogue_neon.h"
#include "ruy_like/kernels/kernel_names.h"
#include "ruy_like/kernels/kernel_tables.h"
#include "ruy_like/kernels/panel/panel_kernel.h"
#include "ruy_like/kernels/panel/panel_tile_squares_neon.h"
#include "ruy_like/pack/pack_routines.h"

namespace ruy_like::kernels {
namespace {

struct BFloat16SquaresOp : FloatOp<SimdNeon> {
  typedef int16_t Lhs;  // a BFloat16's bits
  typedef int16_t Rhs;
  static constexpr int kDotWidth = 4, kStepDepth = 4, kDepthMultiple = 4;
  static constexpr TileKind kTileKind = TileKind::kOwn;
  template <class RhsSource, int kVectors, int kCols>
  using Tile = SquaresTile<BFloat16SquaresOp, RhsSource, kVectors, kCols>;

  typedef bfloat16x8_t Pair;
  static RUY_LIKE_ALWAYS_INLINE Pair LoadPair(const void* p) {
    return vld1q_bf16(static_cast<const bfloat16_t*>(p));
  }
  static RUY_LIKE_ALWAYS_INLINE Vector MultiplyPairs(Vector square, Pair lhs,
                                                     Pair rhs) {
    return vbfmmlaq_f32(square, lhs, rhs);
  }
};

constexpr Kernel BFloat16Entry() {
  Kernel kernel = PanelKernel<BFloat16SquaresOp, 3, 8>::Entry(
      "BF16BF16", Family::kF32, PackNeon_BF16_BF16_4x4, PackNeon_BF16_BF16_8x4);
  kernel.lhs.scalar = kernel.rhs.scalar = Scalar::kBF16;
  kernel.rounds_otherwise = true;
  return kernel;
}

constexpr Kernel kList[] = {BFloat16Entry()};
constexpr NamedKernels kTable("NeonBf16", kList);

}  // namespace

KernelTable NeonBf16Kernels() { return TableOf(kTable.kernels); }

}  // namespace ruy_like::kernels
